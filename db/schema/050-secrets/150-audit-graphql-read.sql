-- Audits what one GraphQL request read. The gateway calls it before it sends the answer.
create function audit.audit_graphql_read(
  operation_name text, tables jsonb, totals jsonb, ids jsonb, project_id text default null, scope text default null) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  perform identity.require_identity();
  if jsonb_typeof(tables) <> 'object' or jsonb_typeof(totals) <> 'object' or jsonb_typeof(ids) <> 'array'
    or octet_length(tables::text) + octet_length(totals::text) > 8192 or jsonb_array_length(ids) > 100000
    or jsonb_path_exists(jsonb_build_array(tables, totals), '$[*].* ? (@.type() != "number")') then
    perform identity.raise_error('L9VAL',
      'tables, totals: must be objects of numbers, of at most 8192 bytes; ids: must be a list of at most 100000', 'tables');
  end if;
  perform audit.write_audit(
    'READ',
    case when tables ? 'packet_store' then 'packet_store'
      else coalesce(
        left(secrets.for_audit((select min(t.name) from jsonb_object_keys(tables) as t (name))), 63), 'packet_store') end,
    case when jsonb_array_length(ids) = 1 then identity.uuid_of(ids ->> 0) end,
    audit_graphql_read.project_id, audit_graphql_read.scope,
    jsonb_build_object('operation_name', left(operation_name, 200), 'tables', tables)
      || case when totals <> '{}' then jsonb_build_object('totals', totals) else '{}' end
      -- Rows of a tenant's settings are identified by names.
      || jsonb_build_object('ids', (
        select coalesce(jsonb_agg(
          case when pg_input_is_valid(i.id, 'uuid') then i.id else left(secrets.for_audit(i.id), 200) end), '[]')
        from jsonb_array_elements_text(ids) as i (id))));
end $$;
comment on function audit.audit_graphql_read is 'Audits what one GraphQL request read: the name of its operation, the number of '
  'rows per table, the totals that it returned, the ids of the rows that it returned or whose cursors it returned, and the '
  'project and scope if it asked for one or these rows have only one. The gateway sends the answer only after this row was '
  'written. Definer: writes audit_log. A caller can only add rows about itself, and secrets in what it named are replaced.';
grant execute on function audit.audit_graphql_read to l9_agent, l9_admin, l9_platform_admin;
