create function facts.log_fact_reads(details jsonb, facts public.knowledge_facts[], is_use boolean)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  read_id uuid := uuidv7();
begin
  perform identity.require_identity();
  if octet_length(details::text) > 65536 or cardinality(facts) > facts.max_facts_per_read() then
    perform identity.raise_error(
      'L9LIM', format('details: at most 65536 bytes, facts: at most %s', facts.max_facts_per_read()), 'details');
  end if;
  perform audit.add_audit_row(
    read_id, 'READ', 'knowledge_facts', null, null, null,
    details - 'org_id' - 'user_id' || jsonb_build_object('ids', array(select f.fact_id from unnest(facts) f)), null);
  if is_use and cardinality(facts) > 0 then
    perform importance.log_accesses('search', array_agg(f.fact_id), array_agg(f.scope), array_agg(f.project_id),
      audit_id => read_id, target_type => 'fact')
    from unnest(facts) f;
  end if;
end
$$;

comment on function facts.log_fact_reads(jsonb, public.knowledge_facts[], boolean) is
  'Audits which facts the caller was shown, without their texts; is_use also counts them as used. A caller can only add rows about itself, within its own scopes; the roll-up counts a row only if the caller could read the fact. Definer: writes audit_log.';

create function facts.names_of_object(object jsonb)
returns text[]
language sql
stable
parallel safe
set search_path = ''
return case when jsonb_typeof(object) = 'string' then entities.names_of(object #>> '{}') else array[facts.object_text(object)] end;

comment on function facts.names_of_object(jsonb) is
  'Returns the forms that an object may be stored in: all names of the entity if it is a text, otherwise the value.';

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
-- The best plan depends on which filters are set, so no generic plan is cached.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  at timestamptz := coalesce(find_facts.valid_at, now());
  subjects text[] := entities.names_of(find_facts.subject);
  objects text[] := facts.names_of_object(find_facts.object);
  matching_facts public.knowledge_facts[];
begin
  perform identity.require_identity();
  perform facts.check_k(find_facts.k);
  perform entities.check_confidence(find_facts.min_confidence, 'min_confidence');
  matching_facts := array(
    select f
    from public.knowledge_facts f
    where (find_facts.subject is null or f.subject_normalized = any (subjects))
      and (find_facts.predicate is null or f.predicate = entities.normalise_name(find_facts.predicate))
      and (find_facts.object is null or f.object_normalized = any (objects))
      and f.confidence >= find_facts.min_confidence
      and (find_facts.scope is null or f.scope = find_facts.scope)
      and (find_facts.project_id is null or f.project_id is null or f.project_id = find_facts.project_id)
      and (include_history or f.retracted_at is null and facts.holds_at(f.valid_from, f.valid_to, at))
    order by f.confidence desc, f.valid_from desc, f.fact_id desc
    limit find_facts.k);
  perform facts.log_fact_reads(
    jsonb_strip_nulls(jsonb_build_object('k', find_facts.k, 'min_confidence', nullif(find_facts.min_confidence, 0),
      'include_history', include_history, 'valid_at', find_facts.valid_at, 'scope', left(find_facts.scope, 63),
      'project_id', left(find_facts.project_id, 200))),
    matching_facts, is_use => true);
  return query select (f).* from unnest(matching_facts) f;
end
$$;

comment on function public.find_facts(text, text, jsonb, double precision, boolean, timestamptz, text, text, integer) is
  'Returns facts that the caller can read and that hold (at valid_at, as known today), most confident first. Subject and object match by any name or alias of the entity. include_history: also facts that ended or were retracted. project_id: facts of this project and of no project. k: 1 to 100 facts. Writes a READ audit row without texts, and counts the facts as used. Errors: L9VAL, L9LIM, L9AUT.';

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

comment on function public.packet_store_facts(public.packet_store) is
  'The facts that this memory states, including facts that ended or were retracted.';

grant execute on function public.packet_store_facts(public.packet_store) to l9_agent, l9_admin, l9_platform_admin;
