-- Saves the result of a task, or changes the one that is stored, and saves its lessons. Callers reach
-- reflect_on_task() over GraphQL and psql; link_to_task() calls it for a task without a row.
create function public.reflect_on_task(task_id text, description text default null, outcome text default null,
  what_worked text[] default null, what_failed text[] default null, lessons text[] default '{}',
  recommendations text[] default null, related_decisions uuid[] default null, execution_time_ms double precision default null,
  metrics_improved jsonb default null, metrics_degraded jsonb default null, scope text default 'developer',
  project_id text default null, false_constraints text[] default '{}', helpful_patterns text[] default '{}',
  branch text default null) returns public.task_reflections
language plpgsql volatile set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  target_scope text := coalesce(reflect_on_task.scope, 'developer');
  target_branch text;
  task public.task_reflections;
  packet_id uuid;
  saved public.save_result;
  content text;
  lesson record;
  known_lesson uuid;
  saved_lesson public.reflection_store;
begin
  project_id := packets.project_or_default(reflect_on_task.project_id, target_scope);
  target_branch := packets.branch_or_default(reflect_on_task.branch, reflect_on_task.project_id);
  perform packets.check_scope(target_scope, reflect_on_task.project_id);
  perform reflection.check_texts(lessons, 'lessons');
  perform reflection.check_texts(false_constraints, 'false_constraints');
  perform reflection.check_texts(helpful_patterns, 'helpful_patterns');
  perform reflection.lock_task(reflect_on_task.task_id, target_scope, reflect_on_task.project_id);
  select t.* into task
  from public.task_reflections t
  where t.tenant_id = me.tenant_id and t.scope = target_scope and t.project_id is not distinct from reflect_on_task.project_id
    and t.org_id is not distinct from me.org_id and t.user_id is not distinct from me.user_id
    and t.task_id = reflect_on_task.task_id;

  -- Arguments that are null leave the stored values as they are.
  task.task_id := reflect_on_task.task_id;
  task.description := coalesce(reflect_on_task.description, task.description);
  task.outcome := coalesce(reflect_on_task.outcome, task.outcome, 'unknown');
  task.what_worked := coalesce(reflect_on_task.what_worked, task.what_worked, '{}');
  task.what_failed := coalesce(reflect_on_task.what_failed, task.what_failed, '{}');
  task.recommendations := coalesce(reflect_on_task.recommendations, task.recommendations, '{}');
  task.execution_time_ms := coalesce(reflect_on_task.execution_time_ms, task.execution_time_ms);
  task.metrics_improved := coalesce(reflect_on_task.metrics_improved, task.metrics_improved, '{}'::jsonb);
  task.metrics_degraded := coalesce(reflect_on_task.metrics_degraded, task.metrics_degraded, '{}'::jsonb);
  -- Stored decisions that were deleted or became hidden are dropped, so that the row can still be changed.
  task.related_decisions := array(
    select distinct d.id
    from unnest(coalesce(reflect_on_task.related_decisions,
      reflection.shareable_decisions(task, task.related_decisions))) as d (id)
    where d.id is not null order by d.id);
  perform reflection.check_task(
    task.task_id, task.description, task.outcome, task.what_worked, task.what_failed, task.recommendations,
    task.related_decisions, task.execution_time_ms, task.metrics_improved, task.metrics_degraded);

  content := reflection.task_text(
    task.task_id, task.description, task.outcome, task.what_worked, task.what_failed, task.recommendations,
    task.metrics_improved, task.metrics_degraded);
  packet_id := task.source_packet;
  if packet_id is not null then
    -- Raises L9OWN if another agent wrote the memory.
    perform public.update_memory(packet_id, content => content);
  else
    saved := public.save_memory(
      content, scope => target_scope, project_id => reflect_on_task.project_id,
      branch => coalesce(target_branch, '*'), kind => 'task_reflection');
    perform derived.refuse_withheld(saved.memory);
    packet_id := (saved.memory).packet_id;
  end if;
  task := reflection.store_task_reflection(
    packet_id, task.task_id, task.description, task.outcome, task.what_worked, task.what_failed, task.recommendations,
    task.related_decisions, task.execution_time_ms, task.metrics_improved, task.metrics_degraded);

  for lesson in
    select l.text, 'lesson' as type from unnest(lessons) as l (text)
    union all select c.text, 'false_constraint' from unnest(false_constraints) as c (text)
    union all select p.text, 'pattern' from unnest(helpful_patterns) as p (text)
  loop
    known_lesson := reflection.find_reflection(lesson.text, lesson.type, target_scope, reflect_on_task.project_id, target_branch,
      null, null);
    -- A lesson that is already linked to this task is not reinforced again.
    continue when exists (select from public.task_reflections_lessons(task) r where r.source_packet = known_lesson);
    saved_lesson := (public.reflect(
      lesson.text, lesson.type, scope => target_scope, project_id => reflect_on_task.project_id,
      branch => coalesce(target_branch, '*'), learned_from => array[packet_id])).reflection;
    -- One that waits for a review is no lesson of the task yet.
    continue when saved_lesson.reflection_id is null;
    perform reflection.link_lesson(task.task_reflection_id, saved_lesson.reflection_id);
  end loop;
  return task;
end $$;
comment on function public.reflect_on_task is 'Saves the result of a task, once for each task_id of a scope and project; a later '
  'call replaces the values that it gives. Agents change only their own (else L9OWN). outcome: success, partial, failure or '
  'unknown. lessons, false_constraints, helpful_patterns: saved by reflect() and linked. related_decisions: memories that every '
  'reader of the task may read. Errors: L9SCP, L9OWN, L9VAL, L9LIM, L9AUT.';
grant execute on function public.reflect_on_task to l9_agent, l9_admin;
