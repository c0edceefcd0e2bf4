-- Revokes an API key. Admins call it in psql or GraphQL.
create function public.revoke_api_key(key_id uuid) returns public.api_keys
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_administrator(null);
  old_key public.api_keys;
  actor public.actors;
begin
  select k.* into old_key from public.api_keys k
  where k.key_id = revoke_api_key.key_id and (admin.is_operator or k.tenant_id = admin.target_tenant_id) for update;
  if not found then
    perform administration.raise_not_found('key_id');
  end if;
  select a.* into actor from public.actors a where a.tenant_id = old_key.tenant_id and a.caller = old_key.caller;
  perform administration.check_key_grantable(admin, actor, old_key.scopes, old_key.projects);
  update public.api_keys k set revoked_at = clock_timestamp()
  where k.key_id = old_key.key_id and k.revoked_at is null returning k.* into old_key;
  if not found then
    select k.* into old_key from public.api_keys k where k.key_id = revoke_api_key.key_id;
  end if;
  return old_key;
end $$;
comment on function public.revoke_api_key is 'From the next request on this key is refused. Revoking it again changes nothing. '
  'For admins of the tenant. Raises L9OWN if there is no such key. Definer: identity tables change through functions only.';
grant execute on function public.revoke_api_key to l9_admin, l9_platform_admin;
