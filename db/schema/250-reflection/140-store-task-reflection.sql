-- Writes tasks and their links to lessons, as the owner. reflect_on_task() and link_to_task() call these functions
-- after their own checks.
create function reflection.is_audience_within(narrow public.packet_store, wide public.packet_store) returns boolean
language sql stable set search_path = ''
return packets.is_scope_within((narrow).scope, (wide).scope)
  and ((wide).project_id is null or (wide).project_id is not distinct from (narrow).project_id)
  and ((wide).org_id is null or (wide).org_id is not distinct from (narrow).org_id)
  and ((wide).user_id is null or (wide).user_id is not distinct from (narrow).user_id);
comment on function reflection.is_audience_within is 'True if all readers of the first memory may read the second.';

create function reflection.check_references(source public.packet_store, ids uuid[], field text) returns void
language plpgsql stable set search_path = '' as $$
declare
  visible_count integer;
  all_readable boolean;
begin
  select count(*), bool_and(reflection.is_audience_within(source, p)) into visible_count, all_readable
  from public.packet_store p where p.packet_id = any (ids) and derived.is_source(p);
  if not all_readable then
    -- Otherwise the row would show its readers the id of a memory that they may not know of.
    perform identity.raise_error('L9VAL',
      format('%s: names a memory that not every reader of scope %s may read', field, source.scope));
  end if;
  if visible_count < (select count(distinct i.id) from unnest(ids) as i (id)) then
    perform identity.raise_error('L9OWN', format('%s: at least one of these memories does not exist, or is not yours', field));
  end if;
end $$;
comment on function reflection.check_references is 'Raises L9OWN unless the caller may read all of these memories, and L9VAL if '
  'one of them has fewer readers than the source of the row that names it.';

create function reflection.shareable_decisions(task public.task_reflections, ids uuid[]) returns uuid[]
language sql stable set search_path = ''
return array(
  select p.packet_id
  from public.packet_store p
  join public.packet_store source on source.packet_id = (task).source_packet
  where p.packet_id = any (ids) and reflection.is_audience_within(source, p));
comment on function reflection.shareable_decisions is 'Those memories that the caller and every reader of the task may read.';

-- Checks again what reflect_on_task() has checked, since every caller may execute it. A text that another task has
-- already is found by the conflict with the row of its memory.
create function reflection.store_task_reflection(
  packet_id uuid, task_id text, description text, outcome text, what_worked text[], what_failed text[], recommendations text[],
  related_decisions uuid[], execution_time_ms double precision, metrics_improved jsonb, metrics_degraded jsonb)
returns public.task_reflections
language plpgsql volatile security definer set search_path = '' as $$
declare
  source public.packet_store := derived.lock_source_memory(store_task_reflection.packet_id);
  saved public.task_reflections;
begin
  if source.packet_type <> 'task_reflection' then
    perform identity.raise_error('L9VAL', 'source_packet: must be a memory of kind task_reflection');
  elsif not packets.may_rewrite(source, identity.current_identity()) then
    perform memories.raise_not_yours(source.packet_id);
  end if;
  perform reflection.check_task(
    store_task_reflection.task_id, store_task_reflection.description, store_task_reflection.outcome,
    store_task_reflection.what_worked, store_task_reflection.what_failed, store_task_reflection.recommendations,
    store_task_reflection.related_decisions, store_task_reflection.execution_time_ms, store_task_reflection.metrics_improved,
    store_task_reflection.metrics_degraded);
  perform reflection.check_references(source, store_task_reflection.related_decisions, 'related_decisions');

  insert into public.task_reflections as t (
    source_packet, task_id, description, outcome, what_worked, what_failed, recommendations, related_decisions,
    execution_time_ms, metrics_improved, metrics_degraded)
  values (
    source.packet_id, store_task_reflection.task_id, store_task_reflection.description, store_task_reflection.outcome,
    coalesce(store_task_reflection.what_worked, '{}'), coalesce(store_task_reflection.what_failed, '{}'),
    coalesce(store_task_reflection.recommendations, '{}'), coalesce(store_task_reflection.related_decisions, '{}'),
    store_task_reflection.execution_time_ms, coalesce(store_task_reflection.metrics_improved, '{}'),
    coalesce(store_task_reflection.metrics_degraded, '{}'))
  on conflict (source_packet) do update set
    description = excluded.description, outcome = excluded.outcome, what_worked = excluded.what_worked,
    what_failed = excluded.what_failed, recommendations = excluded.recommendations,
    related_decisions = excluded.related_decisions, execution_time_ms = excluded.execution_time_ms,
    metrics_improved = excluded.metrics_improved, metrics_degraded = excluded.metrics_degraded, updated_at = clock_timestamp()
  where t.task_id = excluded.task_id returning t.* into saved;
  if not found then
    perform identity.raise_error('L9VAL', 'description: another task has the same text; describe this one in other words');
  end if;
  return saved;
end $$;
comment on function reflection.store_task_reflection is 'Writes or replaces the row of a memory of kind task_reflection that the '
  'caller wrote (an admin: any). related_decisions must be memories that the caller and every reader of the row may read. '
  'Definer: callers can''t write task_reflections.';

-- Asks whether the caller may see both rows and wrote the task. The same error answers all failures, so that none
-- tells whether a row exists.
create function reflection.link_lesson(task_reflection_id uuid, reflection_id uuid) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  packet_id uuid := (
    select t.source_packet from public.task_reflections t
    where t.task_reflection_id = link_lesson.task_reflection_id and (t.ttl is null or t.ttl > now()));
  source public.packet_store;
begin
  if packet_id is not null then
    source := derived.lock_source_memory(packet_id, 'task_reflection_id');
  end if;
  -- The caller must see both rows and must have written the task.
  if source.packet_id is null
    or not packets.may_rewrite(source, identity.current_identity())
    or not exists (
      select from public.reflection_store r
      where r.reflection_id = link_lesson.reflection_id and (r.ttl is null or r.ttl > now()))
  then
    perform identity.raise_error('L9OWN', 'task_reflection_id, reflection_id: one of them does not exist, or is not yours',
      'reflection_id');
  end if;
  insert into public.task_reflection_lessons (task_reflection_id, reflection_id, tenant_id)
  values (link_lesson.task_reflection_id, link_lesson.reflection_id, source.tenant_id) on conflict do nothing;
end $$;
comment on function reflection.link_lesson is 'Links a lesson to a task of the caller. Definer: callers can''t write the table.';
grant execute on function reflection.store_task_reflection, reflection.link_lesson, reflection.shareable_decisions,
  reflection.is_audience_within to l9_agent, l9_admin;
