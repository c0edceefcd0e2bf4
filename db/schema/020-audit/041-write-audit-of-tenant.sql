create function audit.write_audit_of_tenant(
  tenant_id uuid,
  operation text,
  table_name text,
  row_id uuid default null,
  project_id text default null,
  scope text default null,
  details jsonb default '{}'
)
returns void
language sql
volatile
security definer
set search_path = ''
begin atomic
  insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
  values (
    write_audit_of_tenant.operation, write_audit_of_tenant.table_name, write_audit_of_tenant.row_id,
    write_audit_of_tenant.tenant_id, write_audit_of_tenant.project_id, write_audit_of_tenant.scope,
    coalesce(write_audit_of_tenant.details, '{}') || audit.audit_actor());
end;

comment on function audit.write_audit_of_tenant(uuid, text, text, uuid, text, text, jsonb) is
  'As write_audit(), on the record of the tenant whose rows they were: for jobs, which have none, and for operators, who may work in another''s. Definer: callers can''t insert into audit_log. Not executable by callers.';
