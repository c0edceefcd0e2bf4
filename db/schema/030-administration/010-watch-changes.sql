create function administration.tg__audit_identity()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  is_now jsonb := to_jsonb(new);
  was jsonb := case tg_op when 'UPDATE' then to_jsonb(old) else '{}' end;
  id_column text := tg_argv[0];
  told text[] := tg_argv[1:];
begin
  if is_now = was then
    return null;
  end if;
  -- Names of people stay out: the audit log can't forget them.
  -- On the record of the tenant that it is about, also where an operator or the owner does it.
  perform audit.write_audit_of_tenant(
    (is_now ->> 'tenant_id')::uuid, tg_op, tg_table_name::text, (is_now ->> id_column)::uuid,
    scope => case tg_table_name when 'scopes' then is_now ->> 'scope' end,
    -- Within `row`: beside it details say who did it, in some of the same words.
    details => jsonb_build_object('row', (
      select jsonb_object_agg(t.name, t.value)
      from jsonb_each(is_now) as t (name, value)
      where t.name in ('tenant_id', 'caller', 'scope') or t.name = any (told) and t.value is distinct from was -> t.name)));
  return null;
end
$$;

comment on function administration.tg__audit_identity() is
  'An audit row for a row made or changed: what identifies it, and those of the columns named that are new.';

create trigger _500_audit after insert or update on public.tenants
  for each row execute function administration.tg__audit_identity('tenant_id', 'name', 'is_active', 'audits_query_text');
create trigger _500_audit after insert or update on public.orgs
  for each row execute function administration.tg__audit_identity('org_id', 'is_active');
create trigger _500_audit after insert or update on public.users
  for each row execute function administration.tg__audit_identity('user_id', 'org_id', 'is_active');
create trigger _500_audit after insert or update on public.scopes
  for each row execute function administration.tg__audit_identity('', 'is_project_scoped', 'is_active');
create trigger _500_audit after insert or update on public.actors
  for each row execute function administration.tg__audit_identity(
    '', 'creator', 'source', 'role', 'readable_scopes', 'writable_scopes', 'can_clean_up', 'login', 'is_active');
create trigger _500_audit after insert or update on public.api_keys
  for each row execute function administration.tg__audit_identity(
    'key_id', 'org_id', 'user_id', 'scopes', 'projects', 'expires_at', 'revoked_at');

create function administration.tg__notify()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform pg_notify(tg_argv[0], '');
  return null;
end
$$;

comment on function administration.tg__notify() is
  'Tells the running gateways, on the channel named, to read anew what they keep in mind. It says that something changed, never what.';

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
