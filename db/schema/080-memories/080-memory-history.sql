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

comment on type public.memory_change is 'One state of a memory: who made it so, when, and what that changed.';
comment on column public.memory_change.version is 'Counted from 1, the oldest that the caller may see; the highest is the memory as it is now.';
comment on column public.memory_change.version_id is 'The version; null for the memory as it is now.';
comment on column public.memory_change.changed_at is 'When it became so.';
comment on column public.memory_change.until is 'When it was changed again; null for the memory as it is now.';
comment on column public.memory_change.creator is 'Who wrote it so.';
comment on column public.memory_change.source is 'The source of whoever wrote it so.';
comment on column public.memory_change.tool_name is 'The tool or mutation that made it so; null where what it replaced is not the caller''s to see.';
comment on column public.memory_change.changed_fields is
  'What differs from the state before, in the words of save_memory''s parameters, and creator; empty for the oldest.';
comment on column public.memory_change.content is 'The text it had.';
comment on column public.memory_change.state is 'The rest of it, in the words of save_memory''s parameters.';

create function public.memory_history(packet_id uuid, max_versions integer default 100)
returns setof public.memory_change
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  now_so public.packet_store;
begin
  perform identity.require_identity();
  if max_versions is null or max_versions not between 1 and 1000 then
    perform identity.raise_error('L9VAL', 'max_versions: from 1 to 1000', 'max_versions');
  end if;
  select p.* into now_so from public.packet_store p where p.packet_id = memory_history.packet_id;
  if not found then
    perform memories.raise_not_yours(memory_history.packet_id);
  end if;
  perform audit.audit_read('READ', '{"history": true}', now_so.packet_id, now_so.project_id, now_so.scope);

  return query
  with states as (
    select v.version_id, v.valid_from, v.valid_until, v.replaced_with, v.content, jsonb_build_object(
      'kind', v.packet_type, 'scope', v.scope, 'project_id', v.project_id, 'tags', v.tags, 'metadata', v.metadata,
      'envelope', v.envelope - 'content', 'routing', v.routing, 'provenance', v.provenance, 'thread_id', v.thread_id,
      'parent_ids', v.parent_ids, 'importance', v.importance_score, 'ttl', v.ttl, 'correlation_id', v.correlation_id,
      'session_id', v.session_id, 'trace_id', v.trace_id) as memory
    from public.packet_versions v
    where v.packet_id = memory_history.packet_id
    union all
    select null, now_so.updated_at, null, null, now_so.envelope ->> 'content',
      memories.memory_json(now_so) - array['packet_id', 'content', 'timestamp', 'updated_at']
  ), placed as (
    select s.version_id, s.valid_from as changed_at, s.valid_until, s.content, s.memory,
      row_number() over past as place,
      -- Of the state before that the caller may see, which need not be the one that was replaced.
      lag(s.valid_until) over past as before_until,
      lag(s.replaced_with) over past as before_replaced_with,
      lag(s.content) over past as before_content,
      lag(s.memory) over past as before_memory
    from states s
    window past as (order by s.version_id nulls last)
  )
  select
    p.place::integer, p.version_id, p.changed_at, p.valid_until, p.memory -> 'metadata' ->> 'creator',
    p.memory -> 'metadata' ->> 'source',
    case
      when p.before_until = p.changed_at then p.before_replaced_with
      when p.changed_at = now_so."timestamp" then p.memory -> 'metadata' ->> 'tool_name'
    end,
    case when p.before_memory is null then '{}' else array(
      select f.name
      from (
        select 'content', p.content is distinct from p.before_content
        union all
        select 'creator', p.memory -> 'metadata' -> 'creator' is distinct from p.before_memory -> 'metadata' -> 'creator'
        union all
        select 'metadata', (p.memory -> 'metadata') - array['creator', 'source']
          is distinct from (p.before_memory -> 'metadata') - array['creator', 'source']
        union all
        select m.key, m.value is distinct from p.before_memory -> m.key from jsonb_each(p.memory) as m where m.key <> 'metadata'
      ) as f (name, is_changed)
      where f.is_changed
      order by f.name) end,
    p.content, p.memory
  from placed p
  order by p.place desc
  limit max_versions;
end
$$;

comment on function public.memory_history(uuid, integer) is
  'Who changed a memory, what of it, and when: its states, the newest first, max_versions (1 to 1000) at most, as far as the caller may see both the memory and the state. Leaves an audit row. L9OWN when the memory is not there or not visible.';

grant execute on function public.memory_history(uuid, integer) to l9_agent, l9_admin, l9_platform_admin;
