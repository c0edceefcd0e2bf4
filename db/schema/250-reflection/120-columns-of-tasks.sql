-- Fields of a task and of a lesson in GraphQL that lead over the links: lessons, their texts by type, tasks and decisions.
create function public.task_reflections_lessons(task public.task_reflections) returns setof public.reflection_store
language sql stable parallel safe set search_path = ''
begin atomic
  select r.*
  from public.task_reflection_lessons l
  join public.reflection_store r on r.reflection_id = l.reflection_id
  where l.task_reflection_id = (task).task_reflection_id order by l.created_at, r.reflection_id;
end;

create function public.task_reflections_lessons_learned(task public.task_reflections) returns text[]
language sql stable parallel safe set search_path = ''
return array(
  select public.reflection_store_content(r) from public.task_reflections_lessons(task) r
  where r.reflection_type not in ('false_constraint', 'pattern'));

create function public.task_reflections_false_constraints(task public.task_reflections) returns text[]
language sql stable parallel safe set search_path = ''
return array(
  select public.reflection_store_content(r) from public.task_reflections_lessons(task) r
  where r.reflection_type = 'false_constraint');

create function public.task_reflections_helpful_patterns(task public.task_reflections) returns text[]
language sql stable parallel safe set search_path = ''
return array(
  select public.reflection_store_content(r) from public.task_reflections_lessons(task) r where r.reflection_type = 'pattern');

create function public.reflection_store_tasks(reflection public.reflection_store) returns setof public.task_reflections
language sql stable parallel safe set search_path = ''
begin atomic
  select t.*
  from public.task_reflection_lessons l
  join public.task_reflections t on t.task_reflection_id = l.task_reflection_id
  where l.reflection_id = (reflection).reflection_id order by l.created_at, t.task_reflection_id;
end;

create function public.task_reflections_decisions(task public.task_reflections) returns setof public.packet_store
language sql stable parallel safe set search_path = ''
begin atomic
  select p.* from public.packet_store p where p.packet_id = any ((task).related_decisions) order by p.packet_id;
end;
comment on function public.task_reflections_lessons is 'The lessons from a task that the caller may read, of all types.';
comment on function public.task_reflections_false_constraints is 'The texts of those of its lessons that are constraints which '
  'proved false.';
comment on function public.task_reflections_helpful_patterns is 'The texts of those of its lessons that are patterns.';
comment on function public.task_reflections_lessons_learned is 'The texts of the lessons from a task that the caller may read, '
  'without false constraints and patterns. The texts are stored only with the lessons, so that erasing a lesson removes its text '
  'here too.';
comment on function public.reflection_store_tasks is 'The tasks that a lesson was learned from, as far as the caller may read '
  'them.';
comment on function public.task_reflections_decisions is 'The memories of decisions that a task rests on, as far as the caller '
  'may read them now.';
grant execute on function public.task_reflections_lessons, public.task_reflections_lessons_learned,
  public.task_reflections_false_constraints, public.task_reflections_helpful_patterns, public.reflection_store_tasks,
  public.task_reflections_decisions to l9_agent, l9_admin, l9_platform_admin;
