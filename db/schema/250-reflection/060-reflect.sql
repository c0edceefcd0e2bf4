-- The operation reflect: saves a lesson, or reinforces the one that says the same. reflect_on_task() calls it for
-- each lesson of a task.

-- Similar texts come from the search for near-duplicates; numbers, negations, types and administrators' authority
-- then rule out those that are not the same lesson.
create function reflection.find_reflection(
  content text, type text, scope text, project_id text, branch text, content_vector extensions.vector, model text) returns uuid
language plpgsql volatile set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  hash constant bytea := packets.text_identity(content);
begin
  if content is null or identity.is_blank(content) or octet_length(content) > packets.max_content_bytes() then
    return null; -- The insert raises the error that names the reason.
  end if;
  -- Check the scope before taking the lock: a caller that waited for it would learn that somebody writes in that scope.
  perform packets.check_scope(scope, project_id);
  -- Held until the end of the transaction. The next statement sees the rows that earlier holders of the lock committed.
  perform pg_advisory_xact_lock(hashtextextended(format('l9-memory reflections %s',
    packets.audience_id(me.tenant_id, me.org_id, me.user_id, project_id, scope)), 0));
  return (
    select s.packet_id
    from duplicates.find_similar(
      content, scope, project_id, branch, 'reflection', me.org_id, me.user_id, null, content_vector, model) s
    join public.reflection_store r on r.source_packet = s.packet_id
    join public.packet_store p on p.packet_id = s.packet_id
    where reflection.can_reinforce(r.reflection_type, type)
      -- An administrator's words are never replaced by similar ones that an agent may change.
      and (packets.text_identity(p.envelope ->> 'content') = hash or derived.may_speak_for_caller(p))
    order by s.similarity desc, s.packet_id limit 1);
end $$;
comment on function reflection.find_reflection is 'The memory of a reflection with the same or nearly the same text for the '
  'caller''s audience (its owner, in this scope and project) and this branch, or null. To an administrator, nearly the same text '
  'of an agent is another one. Locks the reflections of that audience until the end of the transaction, so that concurrent calls '
  'don''t save a reflection twice.';

create function reflection.held_lesson(memory public.packet_store, type text, context text, entities text[],
  confidence double precision, priority text) returns public.reflect_result
language plpgsql stable set search_path = '' as $$
declare
  held public.reflect_result;
  lesson public.reflection_store;
begin
  lesson.source_packet := (memory).packet_id;
  lesson.reflection_type := type;
  lesson.context := nullif(btrim(context), '');
  lesson.entities := coalesce(entities, '{}');
  lesson.confidence := confidence;
  lesson.priority := priority;
  lesson.times_seen := 0;
  lesson.agent_count := 0;
  lesson.source_agent := (memory).metadata ->> 'agent';
  lesson.creator := (memory).metadata ->> 'creator';
  lesson.source := (memory).metadata ->> 'source';
  lesson.scope := (memory).scope;
  lesson.project_id := (memory).project_id;
  lesson.ttl := (memory).ttl;
  lesson.created_at := (memory).created_at;
  lesson.last_seen := (memory).created_at;
  held.status := 'pending';
  held.reflection := lesson;
  return held;
end $$;
comment on function reflection.held_lesson is 'The answer for a lesson that waits for a review: without an id, because there is '
  'none yet.';

-- Looks for the lesson under a lock of its audience, saves a memory if there is none, and writes the row by
-- store_reflection(). The lock of the task comes before that of the audience.
create function public.reflect(content text, type text default 'lesson', context text default null, entities text[] default '{}',
  tags text[] default '{}', confidence double precision default 0.7, priority text default 'medium',
  expires_at timestamptz default null, scope text default 'developer', project_id text default null,
  learned_from uuid[] default '{}', thread_id text default null, content_vector extensions.vector default null,
  model text default null, task_id text default null, branch text default null) returns public.reflect_result
language plpgsql volatile set search_path = '' as $$
declare
  target_scope text := coalesce(reflect.scope, 'developer');
  target_branch text;
  wanted_type text := coalesce(reflect.type, 'lesson');
  wanted_priority text := coalesce(reflect.priority, reflection.default_priority());
  wanted_confidence double precision := coalesce(reflect.confidence, reflection.default_confidence());
  lesson_packet uuid;
  lesson public.packet_store;
  saved public.reflect_result;
  refused_field text;
  refused_message text;
begin
  perform reflection.check_reflection(wanted_type, reflect.context, reflect.entities, wanted_confidence, wanted_priority);
  if reflect.expires_at <= now() then
    perform identity.raise_error('L9VAL', 'expires_at: must be in the future', 'expires_at');
  end if;
  project_id := packets.project_or_default(reflect.project_id, target_scope);
  target_branch := packets.branch_or_default(reflect.branch, reflect.project_id);
  if reflect.task_id is not null then
    -- Before the lock of reflections, as in reflect_on_task(), so that the two can't deadlock.
    perform reflection.lock_task(reflect.task_id, target_scope, reflect.project_id);
  end if;
  lesson_packet := reflection.find_reflection(
    reflect.content, wanted_type, target_scope, reflect.project_id, target_branch, reflect.content_vector, reflect.model);
  if lesson_packet is null then
    begin
      lesson := (public.save_memory(
        reflect.content, scope => target_scope, project_id => reflect.project_id, branch => coalesce(target_branch, '*'),
        kind => 'reflection', tags => reflect.tags, thread_id => reflect.thread_id, parent_ids => reflect.learned_from,
        ttl => reflect.expires_at, importance => (0.3 + 0.2 * reflection.priority_rank(wanted_priority))::real,
        envelope => derived.on_approval('reflection', target_scope, reflect.project_id, 'reflect', jsonb_build_object(
          'type', wanted_type, 'context', reflect.context, 'entities', reflect.entities, 'confidence', wanted_confidence,
          'priority', wanted_priority, 'task_id', reflect.task_id)))).memory;
    exception when sqlstate 'L9VAL' or sqlstate 'L9LIM' then
      get stacked diagnostics refused_field = column_name, refused_message = message_text;
      if refused_field <> 'parent_ids' then
        raise;
      end if;
      -- Callers of this function know parent_ids as learned_from.
      perform identity.raise_error(sqlstate, regexp_replace(refused_message, '^parent_ids', 'learned_from'), 'learned_from');
    end;
    if packets.is_withheld(lesson.review_state) then
      return reflection.held_lesson(lesson, wanted_type, reflect.context, reflect.entities, wanted_confidence, wanted_priority);
    end if;
    lesson_packet := lesson.packet_id;
  else
    -- Extend the expiry to the later one, if the policies let the caller change this memory.
    update public.packet_store p set ttl = reflect.expires_at
    where p.packet_id = lesson_packet and p.ttl < coalesce(reflect.expires_at, 'infinity');
  end if;
  saved := reflection.store_reflection(
    lesson_packet, wanted_type, reflect.context, reflect.entities, wanted_confidence, wanted_priority);
  if reflect.task_id is not null then
    perform reflection.link_to_task(reflect.task_id, target_scope, reflect.project_id, (saved.reflection).reflection_id);
  end if;
  return saved;
end $$;
comment on function public.reflect is 'Saves a reflection as a memory of kind reflection, or reinforces the one with the same or '
  'nearly the same text in this scope, project and branch, whoever saved it: the caller is one more agent. type: lesson, '
  'pattern, failure, success, insight, improvement or false_constraint. learned_from: memories. task_id: a task that the caller '
  'wrote, or a new one. Errors: L9SCP, L9OWN, L9VAL, L9LIM, L9AUT.';
grant execute on function reflection.find_reflection, reflection.held_lesson, public.reflect to l9_agent, l9_admin;

create function reflection.reflection_json(reflection public.reflection_store) returns jsonb
language sql
-- Volatile, so that it sees a memory that the same statement has just saved.
volatile set search_path = ''
return pg_catalog.jsonb_build_object(
  'reflection_id', (reflection).reflection_id, 'packet_id', (reflection).source_packet,
  'content', public.reflection_store_content(reflection), 'reflection_type', (reflection).reflection_type,
  'context', (reflection).context, 'entities', (reflection).entities, 'tags', public.reflection_store_tags(reflection),
  'confidence', (reflection).confidence, 'priority', (reflection).priority, 'times_seen', (reflection).times_seen,
  'agent_count', (reflection).agent_count, 'scope', (reflection).scope, 'project_id', (reflection).project_id,
  'branch', public.reflection_store_branch(reflection), 'source_agent', (reflection).source_agent,
  'creator', (reflection).creator, 'source', (reflection).source, 'created_at', (reflection).created_at,
  'last_seen', (reflection).last_seen, 'expires_at', (reflection).ttl);
comment on function reflection.reflection_json is 'A reflection as the gateway returns it, with the text and tags of its memory.';
grant execute on function reflection.reflection_json to l9_agent, l9_admin, l9_platform_admin;
