-- Reflections, task reflections and summaries with all columns that the older schema names, for programs that read those in SQL.
-- The added columns are computed for their reader: they belong to other rows, which may be hidden from it, move or be erased.
create view cortex.reflection_store with (security_invoker = true) as
select
  r.*, (select t.task_id from public.reflection_store_tasks(r) t limit 1) as task_id,
  public.reflection_store_content(r) as content, public.reflection_store_tags(r) as tags,
  public.reflection_store_access_count(r) as access_count
from public.reflection_store r;

create view cortex.task_reflections with (security_invoker = true) as
select
  t.*, public.task_reflections_lessons_learned(t) as lessons, public.task_reflections_false_constraints(t) as false_constraints,
  public.task_reflections_helpful_patterns(t) as helpful_patterns
from public.task_reflections t;

create view cortex.memory_summaries with (security_invoker = true) as
select
  s.*, public.memory_summaries_summary_text(s) as summary_text, public.memory_summaries_source_packet_ids(s) as source_packet_ids
from public.memory_summaries s;
comment on view cortex.reflection_store is 'Lessons as in public.reflection_store, with their text, tags, access count and task: '
  'what the caller may read. Read-only.';
comment on view cortex.task_reflections is 'Results of tasks as in public.task_reflections, with the texts of their lessons: '
  'what the caller may read. Read-only.';
comment on view cortex.memory_summaries is 'Summaries as in public.memory_summaries, with their text and sources: what the '
  'caller may read. Read-only.';

do $$
declare
  shown record;
begin
  for shown in
    select c.relname, a.attname, col_description(format('public.%I', c.relname)::regclass, o.attnum) as meaning
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    join pg_attribute o on o.attrelid = format('public.%I', c.relname)::regclass and o.attname = a.attname
    where c.relnamespace = 'cortex'::regnamespace and c.relname in ('reflection_store', 'task_reflections', 'memory_summaries')
  loop
    execute format('comment on column cortex.%I.%I is %L', shown.relname, shown.attname, shown.meaning);
  end loop;
end $$;
comment on column cortex.reflection_store.task_id is 'The first task that the lesson was learned from and that the caller may '
  'read; null if there is none.';
comment on column cortex.reflection_store.content is 'The text of the lesson, from its memory.';
comment on column cortex.reflection_store.tags is 'The tags of the lesson, from its memory.';
comment on column cortex.reflection_store.access_count is 'How often it was found, recalled or read, up to the last roll-up of '
  'the access log.';
comment on column cortex.task_reflections.lessons is 'The texts of its lessons that the caller may read, without the two below.';
comment on column cortex.task_reflections.false_constraints is 'The texts of those of its lessons that are constraints which '
  'proved false.';
comment on column cortex.task_reflections.helpful_patterns is 'The texts of those of its lessons that are patterns.';
comment on column cortex.memory_summaries.summary_text is 'The text of the summary, from its memory.';
comment on column cortex.memory_summaries.source_packet_ids is 'The memories that it rests on and that the caller may read.';
grant select on cortex.reflection_store, cortex.task_reflections, cortex.memory_summaries
  to l9_agent, l9_admin, l9_platform_admin;
-- No grant to write: the functions that write lessons, tasks and summaries check who may.
