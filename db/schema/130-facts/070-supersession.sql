create function facts.supersession_chain(key facts.fact_key, is_single boolean)
returns table (fact_id uuid, valid_to timestamptz, superseded_by uuid, superseded_at timestamptz, contradictions integer)
language sql
stable
begin atomic
  with chain as (
    select f.fact_id, f.object_normalized, f.valid_from, f.recorded_at,
      lead(f.fact_id) over w as next_id, lead(f.valid_from) over w as next_from, lead(f.recorded_at) over w as next_recorded,
      (coalesce(lead(f.object_normalized) over w <> f.object_normalized, false))::integer
        + (coalesce(lag(f.object_normalized) over w <> f.object_normalized, false))::integer as conflicts
    from facts.facts_with_key(key, is_single) f
    where is_single and f.retracted_at is null
    window w as (order by f.valid_from, f.recorded_at, f.fact_id)
  ), counted as (
    select c.*,
      sum(c.conflicts) over (partition by c.object_normalized order by c.valid_from, c.recorded_at, c.fact_id) as contradictions
    from chain c
  )
  -- Multi-valued and retracted facts have no successor and contradict nothing.
  select f.fact_id, c.next_from, c.next_id,
    case when c.next_id is not null then greatest(c.recorded_at, c.next_recorded) end,
    coalesce(c.contradictions, 0)::integer
  from facts.facts_with_key(key, is_single) f
  left join counted c on c.fact_id = f.fact_id;
end;

comment on function facts.supersession_chain(facts.fact_key, boolean) is
  'Computes which fact superseded which: facts are ordered by valid_from, then by recorded_at, and each ends where the next begins. Not executable by callers.';
