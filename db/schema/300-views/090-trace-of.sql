-- Follows one trace through all tables. Callers reach trace_of() over GraphQL and psql.
create type public.trace_step as (occurred_at timestamptz, table_name text, row_id uuid, packet_id uuid, what text, creator text,
  project_id text, scope text, correlation_id text, session_id text);
comment on type public.trace_step is 'One row that belongs to a trace: a memory, a row derived from one, or an access to one or '
  'to a fact from one.';
comment on column public.trace_step.occurred_at is 'When the row was written.';
comment on column public.trace_step.table_name is 'The table or view of the row, such as packet_store or knowledge_facts.';
comment on column public.trace_step.row_id is 'The key of the row.';
comment on column public.trace_step.packet_id is 'The memory: the row itself, or the one that it was derived from or that was '
  'accessed, itself or by its fact.';
comment on column public.trace_step.what is 'The kind of memory, the type of event, vector, relationship, entity, reflection or '
  'summary, the predicate, the outcome, the tool that recorded an archived session, or the way of access.';
comment on column public.trace_step.creator is 'Who wrote the row or, for an access, the caller; null for a vector.';
comment on column public.trace_step.project_id is 'The project of the row.';
comment on column public.trace_step.scope is 'The scope of the row.';
comment on column public.trace_step.correlation_id is 'The correlation id of the memory.';
comment on column public.trace_step.session_id is 'The session of the memory.';

-- Finds the memories of the trace once, joins each derived table to them, and cuts the list at the end, so that the
-- order is that of writing over all tables.
create function public.trace_of(trace_id text, max_rows integer default 1000) returns setof public.trace_step
language plpgsql volatile set search_path = '' set l9.withheld = 'none' as $$
declare
  steps public.trace_step[];
begin
  perform identity.require_identity();
  if trace_of.trace_id is null or octet_length(trace_of.trace_id) not between 1 and packets.max_reference_bytes() then
    perform identity.raise_error('L9VAL', 'trace_id: must be a text of 1 to 200 bytes', 'trace_id');
  elsif max_rows is null or max_rows not between 1 and 10000 then
    perform identity.raise_error('L9VAL', 'max_rows: must be from 1 to 10000', 'max_rows');
  end if;
  with saved as materialized (
    select p.packet_id, p.created_at, p.packet_type, p.metadata ->> 'creator' as creator, p.project_id, p.scope, p.correlation_id,
      p.session_id
    from public.packet_store p
    where p.trace_id = trace_of.trace_id
  ), found (occurred_at, place, table_name, row_id, packet_id, what, creator, project_id, scope, correlation_id, session_id) as (
    select m.created_at, 1, 'packet_store', m.packet_id, m.packet_id, m.packet_type, m.creator, m.project_id, m.scope,
      m.correlation_id, m.session_id from saved m
    union all select r.created_at, 2, 'memory_embeddings', r.embedding_id, r.packet_id, r.embedding_type, null, r.project_id,
      r.scope, r.correlation_id, r.session_id from saved m join public.memory_embeddings r on r.packet_id = m.packet_id
    union all select r.created_at, 3, 'agent_memory_events', r.event_id, r.packet_id, r.event_type, r.creator, r.project_id,
      r.scope, r.correlation_id, r.session_id from saved m join public.agent_memory_events r on r.packet_id = m.packet_id
    union all select r.created_at, 4, 'reasoning_traces', r.trace_id, r.packet_id, 'reasoning_trace', r.creator, r.project_id,
      r.scope, r.correlation_id, r.session_id from saved m join public.reasoning_traces r on r.packet_id = m.packet_id
    union all select r.created_at, 5, 'fact_evidence', r.evidence_id, r.packet_id, 'evidence', r.creator, r.project_id, r.scope,
      r.correlation_id, r.session_id from saved m join public.fact_evidence r on r.packet_id = m.packet_id
    union all select r.created_at, 6, 'knowledge_facts', r.fact_id, r.source_packet, r.predicate, r.creator, r.project_id,
      r.scope, r.correlation_id, r.session_id from saved m join public.knowledge_facts r on r.source_packet = m.packet_id
    union all select r.created_at, 7, 'relationship_evidence', r.evidence_id, r.packet_id, 'evidence', r.creator, r.project_id,
      r.scope, r.correlation_id, r.session_id from saved m join public.relationship_evidence r on r.packet_id = m.packet_id
    union all select r.created_at, 8, 'entity_relationships', r.relationship_id, r.source_packet, r.relationship_type, r.creator,
      r.project_id, r.scope, r.correlation_id, r.session_id
      from saved m join public.entity_relationships r on r.source_packet = m.packet_id
    union all select r.created_at, 9, 'entity_aliases', r.alias_id, r.source_packet, 'alias', r.creator, r.project_id, r.scope,
      r.correlation_id, r.session_id from saved m join public.entity_aliases r on r.source_packet = m.packet_id
    union all select r.created_at, 10, 'world_model_updates', r.update_id, r.source_packet, 'world_update', r.creator,
      r.project_id, r.scope, r.correlation_id, r.session_id
      from saved m join public.world_model_updates r on r.source_packet = m.packet_id
    union all select r.created_at, 11, 'world_model_entities', r.entity_row_id, r.source_packet, r.entity_type, r.creator,
      r.project_id, r.scope, r.correlation_id, r.session_id
      from saved m join public.world_model_entities r on r.source_packet = m.packet_id
    union all select r.created_at, 12, 'world_model_snapshots', r.snapshot_id, r.source_packet, 'snapshot', r.creator,
      r.project_id, r.scope, r.correlation_id, r.session_id
      from saved m join public.world_model_snapshots r on r.source_packet = m.packet_id
    union all select r.created_at, 13, 'reflection_store', r.reflection_id, r.source_packet, r.reflection_type, r.creator,
      r.project_id, r.scope, r.correlation_id, r.session_id
      from saved m join public.reflection_store r on r.source_packet = m.packet_id
    union all select r.created_at, 14, 'task_reflections', r.task_reflection_id, r.source_packet, r.outcome, r.creator,
      r.project_id, r.scope, r.correlation_id, r.session_id
      from saved m join public.task_reflections r on r.source_packet = m.packet_id
    union all select r.created_at, 15, 'memory_summaries', r.summary_id, r.source_packet, r.scope_type, r.creator, r.project_id,
      r.scope, r.correlation_id, r.session_id from saved m join public.memory_summaries r on r.source_packet = m.packet_id
    union all select r.created_at, 16, 'session_archives', r.archive_id, r.packet_id, r.source_tool, r.creator, r.project_id,
      r.scope, r.correlation_id, r.session_id from saved m join public.session_archives r on r.packet_id = m.packet_id
    union all select a.accessed_at, 17, 'memory_access_log', a.access_id, t.packet_id, a.access_context, a.agent_id,
      t.project_id, t.scope, t.correlation_id, t.session_id
    from (
      select 'memory' as type, m.packet_id as id, m.packet_id, m.project_id, m.scope, m.correlation_id, m.session_id
      from saved m
      union all select 'fact', r.fact_id, r.source_packet, r.project_id, r.scope, r.correlation_id, r.session_id
      from saved m join public.knowledge_facts r on r.source_packet = m.packet_id) t
    join public.memory_access_log a on a.target_type = t.type and a.target_id = t.id
    where a.accessed_at >= (select min(f.created_at) from saved f)
  ), first as (
    select f.* from found f order by f.occurred_at, f.place, f.row_id limit max_rows
  )
  select array_agg(row(f.occurred_at, f.table_name, f.row_id, f.packet_id, f.what, f.creator, f.project_id, f.scope,
    f.correlation_id, f.session_id)::public.trace_step order by f.occurred_at, f.place, f.row_id)
  into steps
  from first f;
  perform audit.audit_read('READ', jsonb_build_object('function', 'trace_of', 'rows', coalesce(cardinality(steps), 0),
    'ids', array(select distinct s.packet_id from unnest(steps) s order by s.packet_id limit 1000)));
  return query select s.* from unnest(steps) s;
end $$;
comment on function public.trace_of is 'Follows a trace through all tables: the memories that were saved in it, what was derived '
  'from them and who accessed them, as far as the caller may read each, in the order in which they were written, at most '
  'max_rows (1 to 10000). Writes an audit row. Errors: L9VAL, L9AUT.';
grant execute on function public.trace_of to l9_agent, l9_admin, l9_platform_admin;
