-- The triggers of packet_store that audit new and deleted memories, and the one that refuses TRUNCATE, which they could not
-- audit. The trigger that keeps versions audits changes.
create function packets.tg_packet_store__audit() returns trigger language plpgsql security definer set search_path = ''
-- tg__audit_derived() is not used here: it would copy each content, of up to 1 MiB, into a jsonb value.
as $$
declare
  actor jsonb := audit.audit_actor();
begin
  if tg_op = 'INSERT' then
    insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
    select 'INSERT', tg_table_name, n.packet_id, n.tenant_id, n.project_id, n.scope,
      jsonb_build_object('kind', n.packet_type)
        || case when n.branch is null then '{}' else jsonb_build_object('branch', n.branch) end
        || audit.reference(n.correlation_id, n.session_id, n.trace_id) || actor
    from new_rows n;
  else
    insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
    select 'DELETE', tg_table_name, o.packet_id, o.tenant_id, o.project_id, o.scope,
      jsonb_build_object('kind', o.packet_type, 'was_created_by', o.metadata -> 'creator')
        || case when o.branch is null then '{}' else jsonb_build_object('branch', o.branch) end
        || audit.reference(o.correlation_id, o.session_id, o.trace_id) || actor
    from old_rows o;
  end if;
  return null;
end $$;
comment on function packets.tg_packet_store__audit is 'Writes one audit row for each memory that was saved or deleted, in one '
  'statement for the whole batch. Definer: callers can''t insert into audit_log.';

create function packets.tg_packet_store__refuse_truncate() returns trigger language plpgsql set search_path = '' as $$
begin
  perform identity.raise_error('L9IMM', 'packet_store: TRUNCATE is not allowed; use DELETE, which is audited', '');
  return null;
end $$;
comment on function packets.tg_packet_store__refuse_truncate is 'Refuses TRUNCATE, which has no rows to audit.';
