-- The audit row of a call that read a materialized view. The functions that read the views call it before they return.
create function views.audit_read_of_view(function_name text, table_name text, project_id text, row_count integer,
  ids uuid[] default null) returns void
language sql volatile set search_path = ''
begin atomic
  select audit.write_audit(
    'READ', table_name, project_id => left(audit_read_of_view.project_id, 200),
    details => pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
      'function', function_name, 'rows', row_count, 'ids', to_jsonb(audit_read_of_view.ids))));
end;
comment on function views.audit_read_of_view is 'Audits that a function returned rows from a materialized view.';
