-- What was believed at an earlier time, over both axes of time. Callers reach facts_as_of() over GraphQL and psql.
create type public.fact_as_of as (
  fact public.knowledge_facts, valid_from timestamptz, valid_to timestamptz, replaced public.knowledge_facts);
call identity.describe('public.fact_as_of', 'A fact as it was known at a point in time.
  fact: The fact with the present values of its row.
  valid_from: Start of validity, as known at that time.
  valid_to: End of validity, as known at that time. Null: no end was known.
  replaced: The fact that this one had superseded, as known at that time.');

-- Computes validity and succession again from the evidence that existed by then, as supersession_chain() does for
-- today: the columns of a fact tell only what is known now.
create function facts.facts_known_at(subjects text[], predicate text, known_at timestamptz)
returns table (fact_id uuid, valid_from timestamptz, valid_to timestamptz, replaced uuid)
language sql stable set search_path = '' set plan_cache_mode = force_custom_plan
begin atomic
  with statements as (
    select f.fact_id, f.audience_id, f.subject_normalized, f.predicate, f.is_single_valued, e.is_from_admin,
      e.valid_from, e.created_at, e.valid_to, e.end_stated_at,
      bool_or(e.is_from_admin) over (partition by f.fact_id) = e.is_from_admin as is_decisive
    from public.knowledge_facts f
    join public.fact_evidence e on e.fact_id = f.fact_id and e.created_at <= facts_known_at.known_at
    where (facts_known_at.subjects is null or f.subject_normalized = any (facts_known_at.subjects))
      and (facts_known_at.predicate is null or f.predicate = facts_known_at.predicate)
      and (f.retracted_at is null or f.retracted_at > facts_known_at.known_at)
  ), known_then as (
    select s.fact_id, s.audience_id, s.subject_normalized, s.predicate, s.is_single_valued,
      bool_or(s.is_from_admin) as is_from_admin,
      min(s.valid_from) filter (where s.is_decisive or not s.is_single_valued) as valid_from,
      min(s.created_at) filter (where s.is_decisive or not s.is_single_valued) as recorded_at,
      (array_agg(s.valid_to order by s.end_stated_at desc)
        filter (where s.is_decisive and s.end_stated_at <= facts_known_at.known_at))[1] as stated_end
    from statements s group by s.fact_id, s.audience_id, s.subject_normalized, s.predicate, s.is_single_valued
  ), placed as (
    select n.*, n.is_single_valued and not n.is_from_admin and count(*) filter (where n.is_from_admin) over (
      partition by n.audience_id, n.subject_normalized, n.predicate
      order by n.valid_from, n.is_from_admin desc, n.recorded_at, n.fact_id) > 0 as is_outranked
    from known_then n
  )
  select n.fact_id, n.valid_from, least(lead(n.valid_from) over w, case when n.stated_end is not null
    then greatest(n.valid_from, n.stated_end) end), lag(n.fact_id) over w
  from placed n
  where not n.is_outranked
  -- Each fact of a multi-valued predicate is its own partition.
  window w as (
    partition by n.audience_id, n.subject_normalized, n.predicate, case when not n.is_single_valued then n.fact_id end
    order by n.valid_from, n.is_from_admin desc, n.recorded_at, n.fact_id);
end;
comment on function facts.facts_known_at is 'Returns facts as they were known at a time, from what had been recorded and not '
  'retracted by then: when each began and ended, and which fact it had superseded. What an administrator''s fact outranked is '
  'left out.';

-- Joins what was known then to the present rows, so that row-level security decides by where a fact is today, and
-- what was erased is never shown again.
create function public.facts_as_of(
  valid_at timestamptz default null, known_at timestamptz default null, subject text default null, predicate text default null,
  object jsonb default null, k integer default 100) returns setof public.fact_as_of
language plpgsql volatile set search_path = '' as $$
declare
  matching public.fact_as_of[];
begin
  perform identity.require_identity();
  perform facts.check_k(facts_as_of.k);
  matching := array(
    select (f, n.valid_from, n.valid_to, r)::public.fact_as_of
    from facts.facts_known_at(
      case when facts_as_of.subject is not null then entities.names_of(facts_as_of.subject) end,
      entities.normalise_name(facts_as_of.predicate), coalesce(facts_as_of.known_at, now())) n
    join public.knowledge_facts f on f.fact_id = n.fact_id
    left join public.knowledge_facts r on r.fact_id = n.replaced
    where facts.holds_at(n.valid_from, n.valid_to, coalesce(facts_as_of.valid_at, now()))
      and (facts_as_of.object is null or f.object_normalized = any (facts.names_of_object(facts_as_of.object)))
    order by f.confidence desc, f.is_from_admin desc, n.valid_from desc, f.fact_id desc limit facts_as_of.k);
  perform facts.log_fact_reads(
    jsonb_strip_nulls(jsonb_build_object('valid_at', facts_as_of.valid_at, 'known_at', facts_as_of.known_at, 'k', facts_as_of.k)),
    array(select (a).fact from unnest(matching) a)
      || array(select (a).replaced from unnest(matching) a where ((a).replaced).fact_id is not null),
    is_use => false);
  return query select (a).* from unnest(matching) a;
end $$;
comment on function public.facts_as_of is 'Returns the facts that held at valid_at (default now) as they were known at known_at '
  '(default now), each with the fact that it had superseded. A retracted fact was known until its retraction. Facts that were '
  'erased, or moved to where the caller can''t read them, are never included. k: 1 to 100 facts. Writes a READ audit row. '
  'Errors: L9LIM, L9AUT.';
grant execute on function facts.facts_known_at, public.facts_as_of to l9_agent, l9_admin, l9_platform_admin;
