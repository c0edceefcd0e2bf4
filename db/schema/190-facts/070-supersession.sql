-- Which fact superseded or outranks which. recompute_facts() writes the result.
create function facts.supersession_chain(key facts.fact_key, is_single boolean)
returns table (fact_id uuid, valid_to timestamptz, superseded_by uuid, superseded_at timestamptz, contradictions integer)
language sql stable
begin atomic
  with placed as (
    select f.fact_id, f.object_normalized, f.valid_from, f.recorded_at, f.is_from_admin,
      count(*) filter (where f.is_from_admin) over w as period, row_number() over w as place
    from facts.facts_with_key(key, is_single) f
    where is_single and f.retracted_at is null
    window w as (order by f.valid_from, f.is_from_admin desc, f.recorded_at, f.fact_id)
  ), chain as (
    -- Statements by agents after one by an administrator are not part of it.
    select p.*, lead(p.fact_id) over c as next_id, lead(p.valid_from) over c as next_from,
      lead(p.recorded_at) over c as next_recorded
    from placed p
    where p.is_from_admin or p.period = 0
    window c as (order by p.place)
  ), ended as (
    select c.fact_id, c.next_id, c.next_from, greatest(c.recorded_at, c.next_recorded) as at from chain c
    where c.next_id is not null
    union all
    select p.fact_id, a.fact_id, p.valid_from, greatest(p.recorded_at, a.recorded_at)
    from placed p join placed a on a.is_from_admin and a.period = p.period
    where not p.is_from_admin and p.period > 0
  ), opposed (fact_id, other_id) as (
    select e.fact_id, e.next_id from ended e
    union all
    select e.next_id, e.fact_id from ended e
  ), opponents as (
    -- From where in the order an agent contradicts a value.
    select mine.object_normalized, e.agent, min(mine.place) as since
    from opposed o
    join placed mine on mine.fact_id = o.fact_id
    join placed other on other.fact_id = o.other_id and other.object_normalized <> mine.object_normalized
    join public.fact_evidence e on e.fact_id = other.fact_id
    group by mine.object_normalized, e.agent
  )
  -- Multi-valued and retracted facts have no successor and contradict nothing.
  select f.fact_id, least(e.next_from, case when stated.valid_to is not null then greatest(f.valid_from,
    stated.valid_to) end), e.next_id, e.at, (
      select count(*) from placed p join opponents o on o.object_normalized = p.object_normalized and o.since <= p.place
      where p.fact_id = f.fact_id)::integer
  from facts.facts_with_key(key, is_single) f
  left join ended e on e.fact_id = f.fact_id
  left join lateral (
    select s.valid_to from public.fact_evidence s
    where s.fact_id = f.fact_id and s.valid_to is not null and s.is_from_admin = f.is_from_admin
    order by s.end_stated_at desc, s.evidence_id desc limit 1) stated on true;
end;
comment on function facts.supersession_chain is 'Which fact superseded which: by valid_from, then recorded_at; each ends where '
  'the next begins, or earlier by its evidence. An agent''s that begins while an administrator''s holds ends there, outranked.';
