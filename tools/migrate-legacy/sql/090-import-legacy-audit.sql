-- Imports the rows of the old audit tables. l9-memory migrate-legacy calls import_legacy_audit() after the memories,
-- so that audit rows refer to them.

-- A row about an old memory gets the id that the memory has here, if the list of old ids names exactly one.
create function legacy_import.import_legacy_audit(source text, source_table text, tenant_id uuid, records jsonb)
returns bigint
language plpgsql volatile set search_path = ''
as $$
declare
  rows jsonb;
begin
  perform legacy_import.require_legacy_import();
  -- An audit row about an old memory is attached to the memory it became.
  select jsonb_agg(e.record || jsonb_build_object(
    'audit_id', uuidv7(),
    'row_id', coalesce(
      (select (array_agg(i.new_id))[1] from legacy.legacy_ids i
        where i.source = import_legacy_audit.source
          and i.source_table = any (array(select jsonb_array_elements_text(e.record -> 'row_tables')))
          and i.source_id = e.record ->> 'row'
        having count(*) = 1),
      case when pg_input_is_valid(e.record ->> 'row', 'uuid') then (e.record ->> 'row')::uuid end)))
  into rows
  from jsonb_array_elements(records) as e (record);

  insert into public.audit_log (
    audit_id, occurred_at, operation, table_name, row_id, tenant_id, project_id, scope, status, sqlstate, details)
  select r.audit_id, r.occurred_at, r.operation, r.table_name, r.row_id, import_legacy_audit.tenant_id, r.project_id, r.scope,
    case when r.sqlstate is null then 'success' else 'error' end, r.sqlstate,
    coalesce(r.details, '{}') || jsonb_build_object(
      'caller', r.caller, 'creator', r.creator, 'source', r.source, 'tool_name', r.tool_name)
  from jsonb_to_recordset(rows) as r (
    audit_id uuid, occurred_at timestamptz, operation text, table_name text, row_id uuid, project_id text, scope text,
    caller text, creator text, source text, tool_name text, sqlstate text, details jsonb);
  insert into legacy.legacy_ids (source, source_table, source_id, new_id, outcome, source_hash)
  select import_legacy_audit.source, import_legacy_audit.source_table, r.source_id, r.audit_id, 'recorded', decode(r.hash, 'hex')
  from jsonb_to_recordset(rows) as r (source_id text, audit_id uuid, hash text);
  return jsonb_array_length(records);
end
$$;

comment on function legacy_import.import_legacy_audit is
  'Imports old audit rows into audit_log, with their times and callers, and records which, in one transaction. It works '
  'only if is_legacy_import().';
-- There is no grant on any function of this schema: l9_owner owns them.
