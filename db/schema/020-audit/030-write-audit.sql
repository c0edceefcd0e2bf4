create function audit.current_tool()
returns text
language sql
stable
parallel safe
set search_path = ''
return coalesce(nullif(pg_catalog.left(pg_catalog.current_setting('l9.tool_name', true), 100), ''), 'sql');

comment on function audit.current_tool() is
  'Tool, query or mutation that the gateway says it is running; sql in a database session.';

create function audit.audit_actor()
returns jsonb
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select pg_catalog.jsonb_build_object(
      'caller', coalesce(me.caller, 'db:' || identity.current_role_name()),
      'creator', me.creator,
      'source', me.source,
      'tool_name', audit.current_tool())
    || case when coalesce(me.org_id, me.user_id) is null then '{}' else
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('org_id', me.org_id, 'user_id', me.user_id)) end
  from identity.current_identity() as me;
end;

comment on function audit.audit_actor() is
  'The caller as the details of every audit row name it: caller, creator, source and tool_name, and org_id and user_id if the caller acts for them.';

create function audit.add_audit_row(
  audit_id uuid,
  operation text,
  table_name text,
  row_id uuid,
  project_id text,
  scope text,
  details jsonb,
  sqlstate text
)
returns void
language sql
volatile
set search_path = ''
begin atomic
  insert into public.audit_log (audit_id, operation, table_name, row_id, tenant_id, project_id, scope, status, sqlstate, details)
  values (
    add_audit_row.audit_id, add_audit_row.operation, add_audit_row.table_name, add_audit_row.row_id,
    identity.current_tenant_id(), add_audit_row.project_id, add_audit_row.scope,
    case when add_audit_row.sqlstate is null then 'success' else 'error' end, add_audit_row.sqlstate,
    coalesce(add_audit_row.details, '{}') || audit.audit_actor());
end;

comment on function audit.add_audit_row(uuid, text, text, uuid, text, text, jsonb, text) is
  'Inserts an audit row under the given id. Not executable by callers, and callers could not insert.';

create function audit.write_audit(
  operation text,
  table_name text,
  row_id uuid default null,
  project_id text default null,
  scope text default null,
  details jsonb default '{}',
  sqlstate text default null
)
returns void
language sql
volatile
security definer
set search_path = ''
begin atomic
  select audit.add_audit_row(uuidv7(), operation, table_name, row_id, project_id, scope, details, sqlstate);
end;

comment on function audit.write_audit(text, text, uuid, text, text, jsonb, text) is
  'Inserts an audit row about the current caller, whose name overrides any caller in details. Definer: callers cannot insert into audit_log. Not executable by callers: functions of the owner call it.';

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
  'Like write_audit(), but the audit row belongs to the given tenant: for jobs, which have no tenant, and for operators, who can work in other tenants. Definer: callers cannot insert into audit_log. Not executable by callers.';

grant execute on function audit.current_tool() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
-- No grant on the other functions: only functions that run as l9_owner can call them.
