-- Audits what operators read. The policies platform_override of all tables call allow_and_audit_operator_read().
create function identity.allow_and_audit_operator_read(table_name text) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.current_identity();
begin
  if me.role is distinct from 'l9_platform_admin' then
    return false;
  end if;
  -- A rollback also removes the audit row, so the read is written to the server's log as well.
  raise log 'l9-memory: platform admin % of tenant % reads %', me.caller, me.tenant_id, table_name;
  perform audit.write_audit('READ', table_name, details => '{"reader": "operator"}');
  return true;
end $$;
comment on function identity.allow_and_audit_operator_read is 'True if the caller is an active platform admin, and then writes '
  'an audit row READ. Policies for l9_platform_admin call it inside (select …), so each query writes one row per table that it '
  'reads. Raises in a read-only transaction, because the read could not be audited. Definer: writes audit_log.';
grant execute on function identity.allow_and_audit_operator_read to l9_platform_admin;
