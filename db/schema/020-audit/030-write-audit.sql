-- Writes rows of audit_log. Functions of the owner call write_audit(), or write_audit_of_tenant() if the row belongs
-- to another tenant than the caller's; triggers that audit call audit_actor().

-- Without a search_path of their own these are inlined: every save calls them.
create function audit.current_tool() returns text language sql stable parallel safe
return coalesce(nullif(pg_catalog.left(pg_catalog.current_setting('l9.tool_name', true), 100), ''), 'sql');
comment on function audit.current_tool is 'The tool, query or mutation that the gateway runs; sql in a database session.';

-- Not immutable, because jsonb_build_object() is not: then it would not be inlined into the triggers that audit batches.
create function audit.reference(correlation_id text, session_id text, trace_id text) returns jsonb
language sql stable parallel safe
return case when coalesce(correlation_id, session_id, trace_id) is null then '{}' else
  pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
    'correlation_id', pg_catalog.left(correlation_id, 200), 'session_id', pg_catalog.left(session_id, 200),
    'trace_id', pg_catalog.left(trace_id, 200))) end;
comment on function audit.reference is 'The references of a call or row, without nulls, for the details of an audit row.';

-- The chapter of secrets comes later, because its tables are audited: plpgsql looks its functions up when it runs.
create function audit.as_kept(named jsonb, tenant_id uuid) returns jsonb
language plpgsql stable parallel safe set search_path = '' as $$
declare
  -- Not by own_test(): every audit row of a call pays for this, and a query in plpgsql costs a third of a call.
  own_test constant text := (select s.own_test from public.secret_settings s where s.tenant_id = as_kept.tenant_id);
begin
  return case when secrets.needs_look(named::text, own_test, false)
    then secrets.redact_texts(named, tenant_id, own_test, secrets.severities_for(tenant_id, false)) else named end;
end $$;
comment on function audit.as_kept is 'What a caller named in a call (project, scope, filters, tool, references), with each '
  'secret replaced, whatever the tenant does with secrets.';

create function audit.names_of(me identity.identity) returns jsonb language sql stable parallel safe set search_path = ''
return pg_catalog.jsonb_build_object(
    'caller', coalesce((me).caller, 'db:' || identity.current_role_name()),
    -- Rows that a job derives are written as its own.
    'creator', coalesce((me).creator, case when identity.current_role_name() = 'l9_worker' then 'job' end),
    'source', coalesce((me).source, case when identity.current_role_name() = 'l9_worker' then 'l9-memory' end))
  || case when coalesce((me).org_id, (me).user_id) is null then '{}' else
    pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('org_id', (me).org_id, 'user_id', (me).user_id)) end;
comment on function audit.names_of is 'The caller as details of audit rows name it: its names, org and user.';

create function audit.call_named() returns jsonb language sql stable parallel safe
return pg_catalog.jsonb_build_object('tool_name', audit.current_tool()) || audit.reference(
  nullif(pg_catalog.current_setting('jwt.claims.correlation_id', true), ''),
  nullif(pg_catalog.current_setting('jwt.claims.session_id', true), ''),
  nullif(pg_catalog.current_setting('jwt.claims.trace_id', true), ''));
comment on function audit.call_named is 'The call as the caller names it: its tool and references, which may hold a secret.';

create function audit.actor_of(me identity.identity) returns jsonb language sql stable parallel safe set search_path = ''
return audit.names_of(me) || audit.as_kept(audit.call_named(), (me).tenant_id);
comment on function audit.actor_of is 'The caller as details of audit rows name it: names, org, user and the call''s references.';

-- Inlined, too.
create function audit.audit_actor() returns jsonb language sql stable parallel safe
return audit.actor_of(identity.current_identity());
comment on function audit.audit_actor is 'The present caller as the details of every audit row name it.';

-- Texts that the caller named are replaced by their form without secrets; those of the database are inserted as they are.
create function audit.add_audit_row(
  me identity.identity, audit_id uuid, operation text, table_name text, row_id uuid, project_id text, scope text, details jsonb,
  sqlstate text)
returns void
language plpgsql volatile set search_path = '' as $$
declare
  kept jsonb;
begin
  if audit.is_on_replica() then
    perform audit.hand_over('audit_row', jsonb_build_object('audit_id', add_audit_row.audit_id,
      'operation', add_audit_row.operation, 'table_name', add_audit_row.table_name, 'row_id', add_audit_row.row_id,
      'project_id', add_audit_row.project_id, 'scope', add_audit_row.scope, 'details', add_audit_row.details));
    return;
  end if;
  -- What the database says itself, such as ids and the columns that an administrator changed, stays as it is.
  kept := audit.as_kept(jsonb_build_object('project_id', add_audit_row.project_id, 'scope', add_audit_row.scope,
    'details', add_audit_row.details - '{ids,row,scopes,query_sha256}'::text[], 'call', audit.call_named()), me.tenant_id);
  insert into public.audit_log (audit_id, operation, table_name, row_id, tenant_id, project_id, scope, status, sqlstate, details)
  values (
    add_audit_row.audit_id, add_audit_row.operation, add_audit_row.table_name, add_audit_row.row_id, me.tenant_id,
    -- A call about no single row is about what the caller is limited to.
    coalesce(nullif(left(kept ->> 'project_id', 200), ''), case
      when add_audit_row.row_id is null and cardinality(me.projects) = 1 then nullif(me.projects[1], '*') end),
    coalesce(left(kept ->> 'scope', 63), case
      when add_audit_row.row_id is null and cardinality(me.readable_scopes) = 1 then me.readable_scopes[1] end),
    case when add_audit_row.sqlstate is null then 'success' else 'error' end, add_audit_row.sqlstate,
    coalesce(add_audit_row.details, '{}') || coalesce(kept -> 'details', '{}') || audit.names_of(me) || (kept -> 'call'));
end $$;
comment on function audit.add_audit_row is 'Inserts an audit row about a caller under the given id; on a replica it is handed '
  'over instead. Without a row, project and scope are by default the only ones of the caller. Not executable by callers, who '
  'can''t insert.';

create function audit.write_audit(
  operation text, table_name text, row_id uuid default null, project_id text default null, scope text default null,
  details jsonb default '{}', sqlstate text default null) returns void
language sql volatile security definer set search_path = ''
begin atomic
  select audit.add_audit_row(
    identity.current_identity(), uuidv7(), operation, table_name, row_id, project_id, scope, details, sqlstate);
end;
comment on function audit.write_audit is 'Inserts an audit row about the current caller, whose name overrides any caller in '
  'details. Definer: callers cannot insert into audit_log.';

create function audit.write_audit_of_tenant(
  tenant_id uuid, operation text, table_name text, row_id uuid default null, project_id text default null,
  scope text default null, details jsonb default '{}') returns void
language sql volatile security definer set search_path = ''
begin atomic
  insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
  values (
    write_audit_of_tenant.operation, write_audit_of_tenant.table_name, write_audit_of_tenant.row_id,
    write_audit_of_tenant.tenant_id, write_audit_of_tenant.project_id, write_audit_of_tenant.scope,
    coalesce(write_audit_of_tenant.details, '{}') || audit.audit_actor());
end;
comment on function audit.write_audit_of_tenant is 'Like write_audit(), but for the given tenant: for jobs, which have no '
  'tenant, and for operators. Definer: callers cannot insert into audit_log.';
grant execute on function audit.current_tool to l9_agent, l9_admin, l9_platform_admin, l9_worker;
-- No grant on the other functions: only functions that run as l9_owner can call them.
