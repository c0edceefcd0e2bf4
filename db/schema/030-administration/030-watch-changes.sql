-- Triggers that audit each change of tenants, orgs, users, scopes, actors and keys, and tell the running gateways to
-- reload. Tables of settings use tg__audit_identity(), too.
create function administration.tg__audit_identity() returns trigger language plpgsql set search_path = '' as $$
declare
  new_row jsonb := to_jsonb(new);
  old_row jsonb := case tg_op when 'UPDATE' then to_jsonb(old) else '{}' end;
  id_column text := tg_argv[0];
  audited_columns text[] := tg_argv[1:];
begin
  if new_row = old_row then
    return null;
  end if;
  -- Names of people are left out, because the audit log cannot erase them. The audit row belongs to the tenant that was changed,
  -- even if an operator or the owner changed it.
  perform audit.write_audit_of_tenant(
    (new_row ->> 'tenant_id')::uuid, tg_op, tg_table_name::text, (new_row ->> id_column)::uuid,
    scope => case tg_table_name when 'scopes' then new_row ->> 'scope' end,
    -- The columns are nested in `row`, because details itself has keys of the same names for the caller.
    details => jsonb_build_object('row', (
      select jsonb_object_agg(t.name, t.value)
      from jsonb_each(new_row) as t (name, value)
      where t.name in ('tenant_id', 'caller', 'scope')
        or t.name = any (audited_columns) and t.value is distinct from old_row -> t.name)));
  return null;
end $$;
comment on function administration.tg__audit_identity is 'Audits a written row: its keys, and the named columns that changed.';

create trigger _500_audit after insert or update on public.tenants
  for each row execute function administration.tg__audit_identity(
    'tenant_id', 'name', 'is_active', 'audits_query_text', 'reads_per_minute', 'writes_per_minute', 'register_unknown_clients',
    'route');
create trigger _500_audit after insert or update on public.orgs
  for each row execute function administration.tg__audit_identity('org_id', 'is_active');
create trigger _500_audit after insert or update on public.users
  for each row execute function administration.tg__audit_identity('user_id', 'org_id', 'is_active');
create trigger _500_audit after insert or update on public.scopes
  for each row execute function administration.tg__audit_identity('', 'is_project_scoped', 'is_active');
create trigger _500_audit after insert or update on public.actors
  for each row execute function administration.tg__audit_identity(
    '', 'creator', 'source', 'role', 'readable_scopes', 'writable_scopes', 'can_clean_up', 'reads_per_minute',
    'writes_per_minute',
    'login', 'default_project', 'is_active', 'registered_by');
create trigger _500_audit after insert or update on public.api_keys
  for each row execute function administration.tg__audit_identity(
    'key_id', 'org_id', 'user_id', 'scopes', 'projects', 'default_project', 'expires_at', 'revoked_at');

create function administration.notified_channels() returns text[] language sql stable set search_path = ''
return coalesce(string_to_array(nullif(current_setting('l9.notified_channels', true), ''), ','), '{}');
comment on function administration.notified_channels is 'The channels that this transaction notifies: its gateway need not wait.';
grant execute on function administration.notified_channels to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create function administration.tg__notify() returns trigger language plpgsql set search_path = '' as $$
begin
  perform pg_notify(tg_argv[0], '');
  perform set_config('l9.notified_channels', (
    select string_agg(distinct c.name, ',')
    from unnest(administration.notified_channels() || tg_argv[0]) as c (name)), true);
  return null;
end $$;
comment on function administration.tg__notify is 'Tells the gateways, on the channel given, to reload what they cache.';

create trigger _900_notify after insert or update or delete or truncate on public.tenants
  for each statement execute function administration.tg__notify('l9_identity');
create trigger _900_notify after insert or update or delete or truncate on public.orgs
  for each statement execute function administration.tg__notify('l9_identity');
create trigger _900_notify after insert or update or delete or truncate on public.users
  for each statement execute function administration.tg__notify('l9_identity');
create trigger _900_notify after insert or update or delete or truncate on public.scopes
  for each statement execute function administration.tg__notify('l9_identity');
create trigger _900_notify after insert or update or delete or truncate on public.actors
  for each statement execute function administration.tg__notify('l9_identity');
create trigger _900_notify after insert or update or delete or truncate on public.api_keys
  for each statement execute function administration.tg__notify('l9_identity');
