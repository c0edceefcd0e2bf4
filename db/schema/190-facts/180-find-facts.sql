-- The operation find_facts: facts that hold now or at a time, by subject, predicate or object under any of their names.
create function facts.names_of_object(object jsonb) returns text[] language sql stable parallel safe set search_path = ''
return case when jsonb_typeof(object) = 'string' then entities.names_of(object #>> '{}')
  else array[facts.object_text(object)] end;
comment on function facts.names_of_object is 'Forms that an object may be stored in: an entity''s names, or the value.';

-- Takes the k most confident, and only then reorders them, so that a value never stands above one that superseded it.
-- The audit row names the facts and leaves out their texts.
create function public.find_facts(
  subject text default null, predicate text default null, object jsonb default null, min_confidence double precision default 0,
  include_history boolean default false, valid_at timestamptz default null, scope text default null,
  project_id text default null, k integer default 20) returns setof public.knowledge_facts
language plpgsql volatile set search_path = ''
-- The best plan depends on which filters are set, so no generic plan is cached.
set plan_cache_mode = force_custom_plan as $$
declare
  at timestamptz := coalesce(find_facts.valid_at, now());
  subjects text[];
  objects text[] := facts.names_of_object(find_facts.object);
  matching_facts public.knowledge_facts[];
begin
  subject := identity.given_text(find_facts.subject);
  predicate := identity.given_text(find_facts.predicate);
  scope := identity.given_text(find_facts.scope);
  subjects := entities.names_of(find_facts.subject);
  perform identity.require_identity();
  perform facts.check_k(find_facts.k);
  project_id := identity.given_text(find_facts.project_id);
  perform entities.check_confidence(find_facts.min_confidence, 'min_confidence');
  with matching as (
    select f
    from public.knowledge_facts f
    where (find_facts.subject is null or f.subject_normalized = any (subjects))
      and (find_facts.predicate is null or f.predicate = entities.normalise_name(find_facts.predicate))
      and (find_facts.object is null or f.object_normalized = any (objects))
      and f.confidence >= find_facts.min_confidence
      and (find_facts.scope is null or f.scope = find_facts.scope)
      and (find_facts.project_id is null or f.project_id is null or f.project_id = find_facts.project_id)
      and (include_history or f.retracted_at is null and facts.holds_at(f.valid_from, f.valid_to, at))
    order by f.confidence desc, f.is_from_admin desc, f.valid_from desc, f.fact_id desc limit find_facts.k
  ), ranked as (
    select m.f, row_number() over (
      order by (m.f).confidence desc, (m.f).is_from_admin desc, (m.f).valid_from desc, (m.f).fact_id desc) as place
    from matching m
  ), after_successors as (
    -- From the value that began last to the first: none stands above one that superseded it.
    select r.f, r.place, max(r.place) over later as last_place, row_number() over later as age
    from ranked r
    window later as (
      partition by (r.f).audience_id, (r.f).subject_normalized, (r.f).predicate,
        case when not (r.f).is_single_valued or (r.f).retracted_at is not null
          or (r.f).valid_from > coalesce(find_facts.valid_at, clock_timestamp()) then (r.f).fact_id end
      order by (r.f).valid_from desc, (r.f).recorded_at desc, (r.f).fact_id desc
      rows unbounded preceding)
  )
  select array_agg(a.f order by a.last_place, a.age, a.place) into matching_facts from after_successors a;
  matching_facts := coalesce(matching_facts, '{}');
  perform facts.log_fact_reads(
    jsonb_strip_nulls(jsonb_build_object('k', find_facts.k, 'min_confidence', nullif(find_facts.min_confidence, 0),
      'include_history', include_history, 'valid_at', find_facts.valid_at, 'scope', left(find_facts.scope, 63),
      'project_id', left(find_facts.project_id, 200))),
    matching_facts, is_use => true, project_id => find_facts.project_id, scope => find_facts.scope);
  return query select (f).* from unnest(matching_facts) f;
end $$;
comment on function public.find_facts is 'Facts that the caller can read and that hold (at valid_at, as known today), most '
  'confident first, but none above one that superseded it. Subject and object match by any name or alias. include_history: also '
  'facts that ended or were retracted. project_id: facts of this project and of none. k: 1 to 100. Writes a READ audit row '
  'without texts, and counts the facts as used. Errors: L9VAL, L9LIM, L9AUT.';
grant execute on function facts.names_of_object, public.find_facts to l9_agent, l9_admin, l9_platform_admin;
