create function audit.current_tool()
returns text
language sql
stable
parallel safe
set search_path = ''
return coalesce(nullif(pg_catalog.left(pg_catalog.current_setting('l9.tool_name', true), 100), ''), 'sql');

comment on function audit.current_tool() is 'The tool, query or mutation that the gateway says it is running; sql in a database session.';

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
  'Who acts, as the details of every audit row say it: caller, creator, source and tool_name, and org_id and user_id where there are any.';

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
  'Adds a row under the id given. Not executable by callers, and as one of them it could not insert.';

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
  'Adds a row about the present caller, whose name in details overrules any other. Definer: callers can''t insert into audit_log. Not executable by callers: functions of the owner call it.';

create function audit.audit_read(
  operation text,
  details jsonb,
  row_id uuid default null,
  project_id text default null,
  scope text default null,
  query text default null
)
returns uuid
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  audit_id uuid := uuidv7();
begin
  perform identity.require_identity();
  if operation not in ('SEARCH', 'READ', 'STATS') then
    perform identity.raise_error('L9VAL', 'operation: SEARCH, READ or STATS', 'operation');
  end if;
  if octet_length(details::text) > 65536 or octet_length(query) > 32768 then
    perform identity.raise_error('L9LIM', 'details: at most 65536 bytes, query: at most 32768', 'details');
  end if;
  perform audit.add_audit_row(
    audit_id, operation, 'packet_store', row_id, left(project_id, 200), left(scope, 63), details - 'org_id' - 'user_id', null);
  if query is not null then
    perform audit.keep_query_text(audit_id, left(scope, 63), query);
  end if;
  return audit_id;
end
$$;

comment on function audit.audit_read(text, jsonb, uuid, text, text, text) is
  'Records a read by the present caller, and the text of a search where its tenant keeps these; returns the id of the audit row. Definer: writes audit_log. A caller can only add rows about itself.';

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
    perform identity.raise_error('L9VAL', 'sqlstate: five letters or digits', 'sqlstate');
  end if;
  perform audit.write_audit(
    operation, 'packet_store', row_id, pg_catalog.left(project_id, 200), pg_catalog.left(scope, 63),
    case when pg_catalog.octet_length(details::text) <= 4096 then details - 'org_id' - 'user_id' else '{"cut": true}' end, sqlstate);
end
$$;

comment on function audit.audit_refusal(text, uuid, text, text, text, jsonb) is
  'The gateway calls this after a call was refused or failed and its own transaction, with its audit row, rolled back. A caller can only report its own failures. Definer: writes audit_log.';

grant execute on function audit.current_tool() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function audit.audit_read(text, jsonb, uuid, text, text, text)
  to l9_agent, l9_admin, l9_platform_admin;
grant execute on function audit.audit_refusal(text, uuid, text, text, text, jsonb)
  to l9_agent, l9_admin, l9_platform_admin;
-- No grant on write_audit, add_audit_row: only functions that run as l9_owner may call them.
