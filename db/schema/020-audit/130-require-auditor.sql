-- Requires an administrator, or a DBA in psql. verify_audit() and audit_head() begin with it.
create function audit.require_auditor(function_name text) returns identity.identity
language plpgsql stable set search_path = '' as $$
declare
  me identity.identity := identity.current_identity();
begin
  -- A database administrator has no claims and can read every row anyway.
  if identity.current_role_name() = any (identity.caller_roles() || 'l9_worker'::text) then
    me := identity.require_identity();
    if me.role not in ('l9_admin', 'l9_platform_admin') then
      perform identity.raise_error('L9SCP', pg_catalog.format('%s: only administrators can call this', function_name), '');
    end if;
  end if;
  return me;
end $$;
comment on function audit.require_auditor is 'Returns the identity of an admin or operator, or of a DBA in psql, who may have '
  'none; else raises L9AUT or L9SCP. function_name begins the error text.';
