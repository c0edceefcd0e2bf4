-- The lessons that agents learned again and again: the view, and the function by which callers read it over GraphQL and psql.
create materialized view views.mv_recurring_lessons as
select r.reflection_id, r.reflection_type, r.priority, r.confidence, r.times_seen, r.agent_count, r.last_seen,
  r.confidence * (1 + ln(r.agent_count))
    * case r.priority when 'critical' then 1 when 'high' then 0.75 when 'medium' then 0.5 else 0.25 end as weight,
  r.tenant_id, r.org_id, r.user_id, r.project_id, r.scope, r.ttl
from public.reflection_store r
where (r.times_seen > 1 or r.reflection_type = 'pattern') and (r.ttl is null or r.ttl > now());
create unique index mv_recurring_lessons_key on views.mv_recurring_lessons (reflection_id);
create index mv_recurring_lessons_readers_idx on views.mv_recurring_lessons (tenant_id, scope, weight desc);
call identity.describe('views.mv_recurring_lessons', 'Reflections that were stored more than once or are of type pattern, with
    their weights: ids and numbers. recurring_lessons() reads it.
  weight: confidence, times 1, 0.75, 0.5 or 0.25 by priority, times 1 + ln(agent_count).');
revoke all on views.mv_recurring_lessons from public;

create type public.recurring_lesson as (weight double precision, reflection public.reflection_store);
call identity.describe('public.recurring_lesson', 'A recurring lesson.
  weight: At the last refresh: confidence, times 1, 0.75, 0.5 or 0.25 by priority, times 1 + ln(agent_count).
  reflection: The lesson in its current state.');

-- The view proposes ids and their order; each is joined to its lesson as it is now, whose policies apply to the caller.
create function public.recurring_lessons(reflection_type text default null, project_id text default null, k integer default 20)
returns setof public.recurring_lesson
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  shown public.recurring_lesson;
  ids uuid[] := '{}';
begin
  perform views.check_page(recurring_lessons.k);
  project_id := nullif(recurring_lessons.project_id, '');
  for shown in
    select v.weight, r
    from views.mv_recurring_lessons v
    -- The policies of this table apply to the caller.
    join public.reflection_store r on r.reflection_id = v.reflection_id and (r.ttl is null or r.ttl > now())
    where v.tenant_id = me.tenant_id and v.scope = any (me.readable_scopes)
      and (recurring_lessons.reflection_type is null or r.reflection_type = recurring_lessons.reflection_type)
      and (recurring_lessons.project_id is null or r.project_id is null or r.project_id = recurring_lessons.project_id)
    order by v.weight desc, v.reflection_id desc limit recurring_lessons.k
  loop
    ids := ids || (shown.reflection).reflection_id;
    return next shown;
  end loop;
  perform views.audit_read_of_view('recurring_lessons', 'reflection_store', recurring_lessons.project_id, cardinality(ids), ids);
end $$;
comment on function public.recurring_lessons is 'Lessons that agents learned more than once or stored as a pattern, among those '
  'that the caller may read, ranked at the last refresh: highest weight first. k: from 1 to 500. Writes a READ audit row. '
  'Errors: L9LIM, L9AUT. Definer: reads a materialized view, which has no policies; those of reflection_store apply.';
grant execute on function public.recurring_lessons to l9_agent, l9_admin;
