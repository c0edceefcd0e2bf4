create function identity.allow_and_audit_operator_read(table_name text)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.current_identity();
begin
  if me.role is distinct from 'l9_platform_admin' then
    return false;
  end if;
  -- The row goes with its transaction; what was seen in one that rolled back is at least in the log of the server.
  raise log 'l9-memory: platform admin % of tenant % looks at %', me.caller, me.tenant_id, table_name;
  perform audit.write_audit('READ', table_name, details => '{"look": "platform"}');
  return true;
end
$$;

comment on function identity.allow_and_audit_operator_read(text) is
  'True where the caller is an active platform admin, and then leaves an audit row READ: policies for l9_platform_admin call it inside (select …), so each query leaves one for each table it looks at. In a read-only transaction it fails, and so does the look. Definer: writes audit_log.';

grant execute on function identity.allow_and_audit_operator_read(text) to l9_platform_admin;
