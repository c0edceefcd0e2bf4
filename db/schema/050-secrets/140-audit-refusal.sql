-- Audits a call that was refused or failed. The gateway calls audit_refusal() after the rollback, and memory_store()
-- calls it for items that it refused.
create function secrets.for_audit(name text) returns text language sql stable set search_path = ''
return case
  when secrets.needs_look(name, secrets.own_test(identity.current_tenant_id()), false) then (secrets.redact_text(
    name, identity.current_tenant_id(), secrets.severities_for(identity.current_tenant_id(), false))).redacted
  else name
end;
comment on function secrets.for_audit is 'A name that a caller chose, each secret replaced, whatever the tenant does.';

-- It is here and not with the other functions that audit, because what a caller named may be a secret, which needs the patterns.
create function audit.audit_refusal(operation text, row_id uuid, project_id text, scope text, sqlstate text, details jsonb)
returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  perform identity.require_identity();
  if sqlstate !~ '^[0-9A-Z]{5}$' then
    perform identity.raise_error('L9VAL', 'sqlstate: must be five capital letters or digits');
  end if;
  perform audit.write_audit(
    operation, 'packet_store', row_id, audit_refusal.project_id, audit_refusal.scope,
    case when octet_length(details::text) <= 4096
      then (secrets.redact_document(details - '{org_id,user_id,correlation_id,session_id,trace_id}'::text[], false)).document
      else '{"cut": true}' end,
    sqlstate);
end $$;
comment on function audit.audit_refusal is 'Audits a call that was refused or failed. The gateway calls it after the transaction '
  'of the call, with its audit row, was rolled back. A caller can only report its own failures. Secrets in what it named are '
  'replaced. Definer: writes audit_log.';
grant execute on function audit.audit_refusal to l9_agent, l9_admin, l9_platform_admin;
