-- Audits a read. Searches and the functions that read memories, the graph and the world model call audit_read().
create function audit.keep_query_text(me identity.identity, audit_id uuid, scope text, query text) returns void
language plpgsql volatile set search_path = '' as $$
begin
  if audit.is_on_replica() then
    perform audit.hand_over('query_text', jsonb_build_object('audit_id', keep_query_text.audit_id,
      'scope', keep_query_text.scope, 'query', keep_query_text.query));
    return;
  end if;
  insert into public.audit_query_texts (audit_id, tenant_id, scope, query, user_id)
  select keep_query_text.audit_id, t.tenant_id, keep_query_text.scope, keep_query_text.query, me.user_id
  from public.tenants t
  where t.tenant_id = me.tenant_id and t.audits_query_text;
end $$;
comment on function audit.keep_query_text is 'Stores the text of a search if the caller''s tenant keeps these texts; on a '
  'replica the text is handed over instead.';

-- Callers may execute this function themselves, so it checks the operation and limits what they name.
create function audit.audit_read(
  operation text, details jsonb, row_id uuid default null, project_id text default null, scope text default null,
  query text default null) returns uuid
language plpgsql volatile security definer set search_path = '' as $$
declare
  audit_id uuid := uuidv7();
  me constant identity.identity := identity.require_identity();
begin
  if operation not in ('SEARCH', 'READ', 'STATS') then
    perform identity.raise_error('L9VAL', 'operation: must be SEARCH, READ or STATS');
  end if;
  -- A list of ids may be long: all that were shown are recorded.
  if octet_length((details - 'ids')::text) > 65536 or octet_length((details -> 'ids')::text) > 4194304
    or octet_length(query) > 32768 then
    perform identity.raise_error('L9LIM', 'details: at most 65536 bytes, ids: at most 4194304, query: at most 32768');
  end if;
  perform audit.add_audit_row(
    me, audit_id, operation, 'packet_store', row_id, left(project_id, 200), left(scope, 63),
    details - '{org_id,user_id,correlation_id,session_id,trace_id}'::text[], null);
  if query is not null then
    perform audit.keep_query_text(me, audit_id, left(scope, 63), query);
  end if;
  return audit_id;
end $$;
comment on function audit.audit_read is 'Audits a read by the current caller, and keeps the text of a search if the tenant keeps '
  'these texts; returns the id of the audit row. Definer: writes audit_log. A caller can only add rows about itself.';
grant execute on function audit.audit_read to l9_agent, l9_admin, l9_platform_admin;
