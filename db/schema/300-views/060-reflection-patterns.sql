-- How many lessons there are of each type: the view, and the function by which callers read it over GraphQL and psql.
create materialized view views.mv_reflection_patterns as
select r.reflection_id, r.reflection_type, r.confidence, r.last_seen, r.tenant_id, r.org_id, r.user_id, r.project_id, r.scope,
  r.ttl
from public.reflection_store r where r.ttl is null or r.ttl > now();
create unique index mv_reflection_patterns_key on views.mv_reflection_patterns (reflection_id);
create index mv_reflection_patterns_readers_idx on views.mv_reflection_patterns (tenant_id, scope);
comment on materialized view views.mv_reflection_patterns is 'What reflection_patterns() counts by type: ids and numbers of all '
  'reflections. The sums are made for each reader, because a stored sum would count what is hidden from it.';
revoke all on views.mv_reflection_patterns from public;

create type public.reflection_pattern as (
  reflection_type text, count integer, avg_confidence double precision, all_tags text[], latest timestamptz);
call identity.describe('public.reflection_pattern', 'Statistics of the reflections of one type.
  reflection_type: The type, such as lesson or failure.
  count: Number of its reflections that the caller may read.
  avg_confidence: The average of their confidence at the last refresh.
  all_tags: All tags that their memories have now, each once, in the order of the alphabet.
  latest: When one of them was last stored, at the last refresh.');

-- Counts over the lessons that this caller may read. Tags are read from the memories as they are now, because a
-- stored list would outlive an erasure.
create function public.reflection_patterns(reflection_type text default null, project_id text default null)
returns setof public.reflection_pattern
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  number integer;
begin
  project_id := nullif(reflection_patterns.project_id, '');
  return query
  with readable as materialized (
    select v.reflection_type, v.confidence, v.last_seen, r.source_packet
    from views.mv_reflection_patterns v
    -- The policies of this table apply to the caller.
    join public.reflection_store r on r.reflection_id = v.reflection_id and (r.ttl is null or r.ttl > now())
    where v.tenant_id = me.tenant_id and v.scope = any (me.readable_scopes)
      and (reflection_patterns.reflection_type is null or v.reflection_type = reflection_patterns.reflection_type)
      and (reflection_patterns.project_id is null or r.project_id is null or r.project_id = reflection_patterns.project_id)
  ), tags as (
    select r.reflection_type, array_agg(distinct t.tag order by t.tag) as tags
    from readable r
    join public.packet_store p on p.packet_id = r.source_packet
      and identity.may_read(me, p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope)
    cross join lateral unnest(p.tags) as t (tag)
    group by r.reflection_type
  )
  select r.reflection_type, count(*)::integer, avg(r.confidence), coalesce(any_value(t.tags), '{}'), max(r.last_seen)
  from readable r left join tags t on t.reflection_type = r.reflection_type group by r.reflection_type
  order by count(*) desc, r.reflection_type;
  get diagnostics number = row_count;
  perform views.audit_read_of_view('reflection_patterns', 'reflection_store', reflection_patterns.project_id, number);
end $$;
comment on function public.reflection_patterns is 'Statistics of reflections by type, over those that the caller may read and '
  'that were there at the last refresh, most frequent type first. recurring_lessons() lists the lessons themselves. Writes a '
  'READ audit row. Errors: L9AUT. Definer: reads a materialized view, which has no policies; those of reflection_store apply.';
grant execute on function public.reflection_patterns to l9_agent, l9_admin;
