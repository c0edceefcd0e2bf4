-- The states of a memory: who changed it, when, and which fields. Callers ask memory_history() in psql or GraphQL.
create type public.memory_change as (
  version integer,
  version_id uuid,
  changed_at timestamptz,
  until timestamptz,
  creator text,
  source text,
  tool_name text,
  changed_fields text[],
  content text,
  state jsonb
);
call identity.describe('public.memory_change', 'One state of a memory: who wrote it, when, and what the change was.
  version: The number of the state, counted from 1 for the oldest that the caller may see; the highest is the present state.
  version_id: The version; null for the present state.
  changed_at: Start of the period in which the memory had this state.
  until: When this state was replaced; null for the present state.
  creator: The writer of this state: who changed the memory to it or, for the state in which it was saved, its creator.
  source: The source of the writer.
  tool_name: The tool or mutation that wrote this state.
  changed_fields: The fields that differ from the previous state, named like the fields of get_memory; empty for the oldest state.
  content: The text in this state.
  state: The other fields of this state, named like those of get_memory. Learned importance is not part of a state, and title and
    archived_at follow from the envelope.');

-- Compares each state with the one before it that the caller may see, and so finds the fields that changed.
create function public.memory_history(packet_id uuid, max_versions integer default 100) returns setof public.memory_change
language plpgsql volatile set search_path = '' as $$
declare
  current_row public.packet_store;
begin
  perform identity.require_identity();
  if max_versions is null or max_versions not between 1 and 1000 then
    perform identity.raise_error('L9VAL', 'max_versions: must be from 1 to 1000');
  end if;
  select p.* into current_row from public.packet_store p where p.packet_id = memory_history.packet_id;
  if not found then
    perform memories.raise_not_yours(memory_history.packet_id);
  end if;
  perform audit.audit_read('READ', '{"history": true}', current_row.packet_id, current_row.project_id, current_row.scope);

  return query
  with states as (
    select v.version_id, v.valid_from, v.valid_until, v.content, jsonb_build_object(
      'kind', v.packet_type, 'scope', v.scope, 'project_id', v.project_id, 'branch', v.branch, 'tags', v.tags,
      'metadata', v.metadata,
      'envelope', v.envelope - 'content', 'routing', v.routing, 'provenance', v.provenance, 'thread_id', v.thread_id,
      'speaker', v.speaker, 'language', v.language, 'timestamp', v."timestamp", 'parent_ids', v.parent_ids,
      'estimated_importance', v.importance_score, 'ttl', nullif(v.ttl, 'infinity'), 'correlation_id', v.correlation_id,
      'session_id', v.session_id, 'trace_id', v.trace_id)
      || case when v.review_state is null then '{}'
        else jsonb_build_object('review_state', v.review_state, 'review_reason', v.review_reason) end as memory
    from public.packet_versions v
    where v.packet_id = memory_history.packet_id
    union all
    select null, current_row.updated_at, null, current_row.envelope ->> 'content',
      memories.memory_json(current_row) - array['packet_id', 'content', 'importance', 'created_at', 'updated_at', 'title',
        'archived_at']
  ), numbered as (
    select s.version_id, s.valid_from as changed_at, s.valid_until, s.content, s.memory,
      row_number() over past as place,
      -- The previous state here is the previous visible one, which need not be the state that was replaced.
      lag(s.content) over past as previous_content, lag(s.memory) over past as previous_memory
    from states s
    window past as (order by s.version_id nulls last)
  )
  select
    p.place::integer, p.version_id, p.changed_at, p.valid_until, w.writer ->> 'creator', w.writer ->> 'source',
    w.writer ->> 'tool_name',
    case when p.previous_memory is null then '{}' else array(
      select f.name
      from (
        select 'content', p.content is distinct from p.previous_content
        union all
        select 'metadata', (p.memory -> 'metadata') - array['speaker', 'updated_by']
          is distinct from (p.previous_memory -> 'metadata') - array['speaker', 'updated_by']
        union all
        select m.key, m.value is distinct from p.previous_memory -> m.key from jsonb_each(p.memory) as m where m.key <> 'metadata'
      ) as f (name, is_changed)
      where f.is_changed order by f.name) end,
    p.content, p.memory
  from numbered p
  cross join lateral (select coalesce(p.memory -> 'metadata' -> 'updated_by', p.memory -> 'metadata')) as w (writer)
  order by p.place desc limit max_versions;
end $$;
comment on function public.memory_history is 'Returns who changed a memory, which fields and when: its states, the newest first, '
  'at most max_versions (1 to 1000). A state is listed if the caller may see both the memory and that state. Writes an audit '
  'row. L9OWN if the memory does not exist or is not visible.';
grant execute on function public.memory_history to l9_agent, l9_admin, l9_platform_admin;
