-- Tells whether a caller has all scopes, also those to come. require_administrator() and the policies of scopes,
-- tasks and extraction call it.
create function identity.has_every_scope() returns boolean
language plpgsql stable parallel safe security definer set search_path = '' as $$
begin
  return '*' = any (identity.list_claim('scopes')) and exists (
    select from public.actors a, identity.current_identity() as me
    where a.tenant_id = me.tenant_id and a.caller = me.caller and '*' = any (a.readable_scopes)
      and '*' = any (a.writable_scopes));
end $$;
comment on function identity.has_every_scope is 'True if the caller can read and write every present and future scope of its '
  'tenant: its actor''s row says so, and its token is not limited to some scopes. Definer: reads actors.';
grant execute on function identity.has_every_scope to l9_agent, l9_admin, l9_platform_admin, l9_worker;
