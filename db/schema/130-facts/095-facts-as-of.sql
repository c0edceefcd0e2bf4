create type public.fact_as_of as (
  fact public.knowledge_facts,
  valid_from timestamptz,
  valid_to timestamptz,
  replaced public.knowledge_facts
);

comment on type public.fact_as_of is 'A fact as it was known at some time.';
comment on column public.fact_as_of.fact is 'The fact, as its row is now.';
comment on column public.fact_as_of.valid_from is 'From when on it was so, as far as was known.';
comment on column public.fact_as_of.valid_to is 'Until when it was so, as far as was known; null: its end was not known.';
comment on column public.fact_as_of.replaced is 'The fact whose place it had taken, as far as was known.';

create function facts.known_facts(subjects text[], predicate text, known_at timestamptz)
returns table (fact_id uuid, valid_from timestamptz, valid_to timestamptz, replaced uuid)
language sql
stable
set search_path = ''
set plan_cache_mode = force_custom_plan
begin atomic
  with known as (
    select f.fact_id, f.audience_id, f.subject_normalized, f.predicate, f.is_single_valued, min(e.valid_from) as valid_from,
      min(e.created_at) as recorded_at
    from public.knowledge_facts f
    join public.fact_evidence e on e.fact_id = f.fact_id and e.created_at <= known_facts.known_at
    where (known_facts.subjects is null or f.subject_normalized = any (known_facts.subjects))
      and (known_facts.predicate is null or f.predicate = known_facts.predicate)
      and (f.retracted_at is null or f.retracted_at > known_facts.known_at)
    group by f.fact_id
  )
  select n.fact_id, n.valid_from, lead(n.valid_from) over w, lag(n.fact_id) over w
  from known n
  -- Facts that stand side by side are each alone.
  window w as (
    partition by n.audience_id, n.subject_normalized, n.predicate, case when not n.is_single_valued then n.fact_id end
    order by n.valid_from, n.recorded_at, n.fact_id);
end;

comment on function facts.known_facts(text[], text, timestamptz) is
  'What was known of these facts at a time, from what had been recorded and not retracted by then: when each began and ended, and what it had replaced.';

create function public.facts_as_of(
  valid_at timestamptz default null,
  known_at timestamptz default null,
  subject text default null,
  predicate text default null,
  object jsonb default null,
  k integer default 100
)
returns setof public.fact_as_of
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  answers public.fact_as_of[];
begin
  perform identity.require_identity();
  if facts_as_of.k is null or facts_as_of.k not between 1 and 100 then
    perform identity.raise_error('L9LIM', 'k: from 1 to 100', 'k');
  end if;
  answers := array(
    select (f, n.valid_from, n.valid_to, r)::public.fact_as_of
    from facts.known_facts(
      case when facts_as_of.subject is not null then entities.names_of(facts_as_of.subject) end,
      entities.normalise_name(facts_as_of.predicate), coalesce(facts_as_of.known_at, now())) n
    join public.knowledge_facts f on f.fact_id = n.fact_id
    left join public.knowledge_facts r on r.fact_id = n.replaced
    where n.valid_from <= coalesce(facts_as_of.valid_at, now())
      and (n.valid_to is null or n.valid_to > coalesce(facts_as_of.valid_at, now()))
      and (facts_as_of.object is null or f.object_normalized = any (facts.names_of_object(facts_as_of.object)))
    order by f.confidence desc, n.valid_from desc, f.fact_id desc
    limit facts_as_of.k);
  perform facts.log_fact_reads(
    jsonb_strip_nulls(jsonb_build_object('valid_at', facts_as_of.valid_at, 'known_at', facts_as_of.known_at, 'k', facts_as_of.k)),
    array(select (a).fact from unnest(answers) a), is_use => false);
  return query select (a).* from unnest(answers) a;
end
$$;

comment on function public.facts_as_of(timestamptz, timestamptz, text, text, jsonb, integer) is
  'What was so at valid_at (default now), as it was known at known_at (default now), and which fact each had replaced. Retracted facts were known until they were retracted. What has been erased, or has moved to where the caller can''t read it, was never there. k: 1 to 100 at most. On the record. Errors: L9LIM, L9AUT.';

grant execute on function
  facts.known_facts(text[], text, timestamptz), public.facts_as_of(timestamptz, timestamptz, text, text, jsonb, integer)
to l9_agent, l9_admin, l9_platform_admin;
