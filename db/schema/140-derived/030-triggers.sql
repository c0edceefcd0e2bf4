-- derive_from_packets() puts these triggers on each table. Their first argument is the column that names the source, their last
-- the column for the trace of the source.
create function derived.tg__take_from_source() returns trigger language plpgsql security definer set search_path = '' as $$
declare
  source public.packet_store := derived.lock_source_memory((to_jsonb(new) ->> tg_argv[0])::uuid, tg_argv[0]);
  me identity.identity := identity.current_identity();
begin
  new.tenant_id := source.tenant_id;
  new.org_id := source.org_id;
  new.user_id := source.user_id;
  new.project_id := source.project_id;
  new.scope := source.scope;
  new.ttl := source.ttl;
  new.correlation_id := source.correlation_id;
  new.session_id := source.session_id;
  if tg_argv[1] = 'trace_id' then
    new.trace_id := source.trace_id;
  else
    new := jsonb_populate_record(new, jsonb_build_object(tg_argv[1], source.trace_id));
  end if;
  -- Else an agent could take the statement of an administrator away, or change what it rests on.
  if derived.is_being_restated(source.packet_id) then
    new.creator := source.metadata ->> 'creator';
    new.source := source.metadata ->> 'source';
  else
    perform packets.claim_text(source.packet_id);
    new.creator := coalesce(me.creator, 'job');
    -- A row that a job derives is the word of the writer of the memory.
    new.source := coalesce(me.source, source.metadata ->> 'source', 'l9-memory');
  end if;
  new.created_at := clock_timestamp();
  new.updated_at := new.created_at;
  return new;
end $$;
comment on function derived.tg__take_from_source is 'Copies owner, project, scope, expiry and references from the source memory '
  'to a derived row, and records who derived it. What an administrator derives from an agent''s memory makes its text the '
  'administrator''s. Definer: reads, locks and claims the source.';

create function derived.tg__take_references() returns trigger language plpgsql security definer set search_path = '' as $$
declare
  taken jsonb;
begin
  execute format(
    'select jsonb_build_object(''correlation_id'', e.correlation_id, ''session_id'', e.session_id, $1, e.trace_id)
     from public.%I e where e.%I = $2 limit 1', tg_argv[2], tg_argv[3])
  into taken
  using tg_argv[1], (to_jsonb(new) ->> tg_argv[0])::uuid;
  return jsonb_populate_record(new, taken);
end $$;
comment on function derived.tg__take_references is 'Copies correlation, session and trace of the source memory to a derived row '
  'that gets another source. Arguments: the columns of the row for the source and for the trace, and the table and column to '
  'read them from. Definer: reads the source, or the evidence that was derived from it.';

-- Rows are read as JSON, because derived tables have different columns for key, source and trace.
create function derived.tg__audit_derived() returns trigger language plpgsql security definer set search_path = ''
-- As for packets, a plan cached for a few rows must not be used for a thousand.
set enable_nestloop = off as $$
declare
  actor jsonb := audit.audit_actor();
begin
  if tg_op = 'INSERT' then
    insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
    select 'INSERT', tg_table_name, (n.row ->> tg_argv[1])::uuid, (n.row ->> 'tenant_id')::uuid, n.row ->> 'project_id',
      n.row ->> 'scope', jsonb_build_object('source_packet', n.row -> tg_argv[0])
        || audit.reference(n.row ->> 'correlation_id', n.row ->> 'session_id', n.row ->> tg_argv[2]) || actor
    from (select to_jsonb(new_rows) as row from new_rows) n;
  elsif tg_op = 'DELETE' then
    insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
    select 'DELETE', tg_table_name, (o.row ->> tg_argv[1])::uuid, (o.row ->> 'tenant_id')::uuid, o.row ->> 'project_id',
      o.row ->> 'scope', jsonb_build_object('source_packet', o.row -> tg_argv[0])
        || audit.reference(o.row ->> 'correlation_id', o.row ->> 'session_id', o.row ->> tg_argv[2]) || actor
    from (select to_jsonb(old_rows) as row from old_rows) o;
  else
    -- Counters that jobs keep leave updated_at unchanged and are not audited.
    insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
    select 'UPDATE', tg_table_name, (n.row ->> tg_argv[1])::uuid, (n.row ->> 'tenant_id')::uuid, n.row ->> 'project_id',
      n.row ->> 'scope', jsonb_build_object('source_packet', n.row -> tg_argv[0])
        || case when n.row -> 'scope' <> o.row -> 'scope' then jsonb_build_object('was_scope', o.row -> 'scope') else '{}' end
        || audit.reference(n.row ->> 'correlation_id', n.row ->> 'session_id', n.row ->> tg_argv[2]) || actor
    from (select to_jsonb(new_rows) as row from new_rows) n
    join (select to_jsonb(old_rows) as row from old_rows) o on o.row -> tg_argv[1] = n.row -> tg_argv[1]
    where n.row -> 'updated_at' is distinct from o.row -> 'updated_at';
  end if;
  return null;
end $$;
comment on function derived.tg__audit_derived is 'Writes one audit row for each derived row written, without contents. '
  'Arguments: the column that names the source, the key, the column for the trace. Definer: callers can''t insert into '
  'audit_log.';
