create function facts.log_fact_reads(details jsonb, facts public.knowledge_facts[], is_use boolean)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  look uuid := uuidv7();
begin
  perform identity.require_identity();
  if octet_length(details::text) > 65536 or cardinality(facts) > 100 then
    perform identity.raise_error('L9LIM', 'details: at most 65536 bytes, facts: at most 100', 'details');
  end if;
  perform audit.add_audit_row(
    look, 'READ', 'knowledge_facts', null, null, null,
    details - 'org_id' - 'user_id' || jsonb_build_object('ids', array(select f.fact_id from unnest(facts) f)), null);
  if is_use and cardinality(facts) > 0 then
    perform importance.log_accesses('search', array_agg(f.fact_id), array_agg(f.scope), array_agg(f.project_id),
      audit_id => look, target_type => 'fact')
    from unnest(facts) f;
  end if;
end
$$;

comment on function facts.log_fact_reads(jsonb, public.knowledge_facts[], boolean) is
  'Records which facts the caller was shown, without their texts, and (is_use) counts that as use. A caller can only add rows about itself, within its own scopes; they are counted only where they are true. Definer: writes audit_log.';

create function facts.names_of_object(object jsonb)
returns text[]
language sql
stable
parallel safe
set search_path = ''
return case when jsonb_typeof(object) = 'string' then entities.names_of(object #>> '{}') else array[facts.object_text(object)] end;

comment on function facts.names_of_object(jsonb) is 'What the object of a fact may be compared as: the names of an entity, or the value.';

create function public.find_facts(
  subject text default null,
  predicate text default null,
  object jsonb default null,
  min_confidence double precision default 0,
  include_history boolean default false,
  valid_at timestamptz default null,
  scope text default null,
  project_id text default null,
  k integer default 20
)
returns setof public.knowledge_facts
language plpgsql
volatile
set search_path = ''
-- Which filters are given decides the way.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  at timestamptz := coalesce(find_facts.valid_at, now());
  subjects text[] := entities.names_of(find_facts.subject);
  objects text[] := facts.names_of_object(find_facts.object);
  found_facts public.knowledge_facts[];
begin
  perform identity.require_identity();
  if find_facts.k is null or find_facts.k not between 1 and 100 then
    perform identity.raise_error('L9LIM', 'k: from 1 to 100', 'k');
  end if;
  perform entities.check_confidence(find_facts.min_confidence, 'min_confidence');
  found_facts := array(
    select f
    from public.knowledge_facts f
    where (find_facts.subject is null or f.subject_normalized = any (subjects))
      and (find_facts.predicate is null or f.predicate = entities.normalise_name(find_facts.predicate))
      and (find_facts.object is null or f.object_normalized = any (objects))
      and f.confidence >= find_facts.min_confidence
      and (find_facts.scope is null or f.scope = find_facts.scope)
      and (find_facts.project_id is null or f.project_id is null or f.project_id = find_facts.project_id)
      and (include_history or f.retracted_at is null and f.valid_from <= at and (f.valid_to is null or f.valid_to > at))
    order by f.confidence desc, f.valid_from desc, f.fact_id desc
    limit find_facts.k);
  perform facts.log_fact_reads(
    jsonb_strip_nulls(jsonb_build_object('k', find_facts.k, 'min_confidence', nullif(find_facts.min_confidence, 0),
      'include_history', include_history, 'valid_at', find_facts.valid_at, 'scope', left(find_facts.scope, 63),
      'project_id', left(find_facts.project_id, 200))),
    found_facts, is_use => true);
  return query select (f).* from unnest(found_facts) f;
end
$$;

comment on function public.find_facts(text, text, jsonb, double precision, boolean, timestamptz, text, text, integer) is
  'Facts that the caller may read, the surest first: those that hold (at valid_at: then, as known today). Subject and object by any name the entity goes by. include_history: also what has ended or was retracted. project_id: that project, and what belongs to none. k: 1 to 100 at most. On the record, without its texts, and counted as use. Errors: L9VAL, L9LIM, L9AUT.';

grant execute on function
  facts.log_fact_reads(jsonb, public.knowledge_facts[], boolean), facts.names_of_object(jsonb),
  public.find_facts(text, text, jsonb, double precision, boolean, timestamptz, text, text, integer)
to l9_agent, l9_admin, l9_platform_admin;

create function public.packet_store_facts(memory public.packet_store)
returns setof public.knowledge_facts
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select f.* from public.fact_evidence e join public.knowledge_facts f on f.fact_id = e.fact_id
  where e.packet_id = (memory).packet_id
  order by f.fact_id;
end;

comment on function public.packet_store_facts(public.packet_store) is 'Facts that it says, those that have ended or were retracted too.';

grant execute on function public.packet_store_facts(public.packet_store) to l9_agent, l9_admin, l9_platform_admin;
