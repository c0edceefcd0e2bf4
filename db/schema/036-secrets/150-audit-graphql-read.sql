-- Audits what one GraphQL request read. The gateway calls it before it sends the answer.

create function audit.audit_graphql_read(
  operation_name text, tables jsonb, totals jsonb, ids uuid[], project_id text default null, scope text default null)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform identity.require_identity();
  if jsonb_typeof(tables) <> 'object' or jsonb_typeof(totals) <> 'object'
    or octet_length(tables::text) + octet_length(totals::text) > 8192 or cardinality(ids) > 10000 then
    perform identity.raise_error('L9VAL', 'tables, totals: must be objects of at most 8192 bytes; ids: at most 10000', 'tables');
  end if;
  perform audit.write_audit(
    'READ',
    case when tables ? 'packet_store' then 'packet_store'
      else coalesce((select left(min(t.name), 63) from jsonb_object_keys(tables) as t (name)), 'packet_store') end,
    case when cardinality(ids) = 1 then ids[1] end,
    left(secrets.for_audit(audit_graphql_read.project_id), 200), left(secrets.for_audit(audit_graphql_read.scope), 63),
    details => (secrets.redact_document(
        jsonb_build_object('operation_name', left(operation_name, 200), 'tables', tables)
          || case when totals <> '{}' then jsonb_build_object('totals', totals) else '{}' end, false)).document
      || jsonb_build_object('ids', to_jsonb(ids)));
end
$$;

comment on function audit.audit_graphql_read(text, jsonb, jsonb, uuid[], text, text) is
  'Audits what one GraphQL request read: the name of its operation, the number of rows per table, the totals that it returned, the ids of the memories that it returned, and the project and scope if it asked for one or these memories have only one. The gateway sends the answer only after this row was written. Definer: writes audit_log. A caller can only add rows about itself, and secrets in what it named are replaced.';

grant execute on function audit.audit_graphql_read(text, jsonb, jsonb, uuid[], text, text) to l9_agent, l9_admin, l9_platform_admin;
