create function audit.audit_refusal(operation text, row_id uuid, project_id text, scope text, sqlstate text, details jsonb)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform identity.require_identity();
  if sqlstate !~ '^[0-9A-Z]{5}$' then
    perform identity.raise_error('L9VAL', 'sqlstate: must be five capital letters or digits', 'sqlstate');
  end if;
  perform audit.write_audit(
    operation, 'packet_store', row_id, pg_catalog.left(project_id, 200), pg_catalog.left(scope, 63),
    case when pg_catalog.octet_length(details::text) <= 4096 then details - '{org_id,user_id,correlation_id,session_id,trace_id}'::text[] else '{"cut": true}' end, sqlstate);
end
$$;

comment on function audit.audit_refusal(text, uuid, text, text, text, jsonb) is
  'Audits a call that was refused or failed. The gateway calls it after the transaction of the call, with its audit row, was rolled back. A caller can only report its own failures. Definer: writes audit_log.';

grant execute on function audit.audit_refusal(text, uuid, text, text, text, jsonb)
  to l9_agent, l9_admin, l9_platform_admin;
