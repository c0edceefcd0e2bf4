create type facts.fact_key as (
  tenant_id uuid,
  audience_id uuid,
  subject_normalized text,
  predicate text,
  object_normalized text
);

comment on type facts.fact_key is
  'What is settled together: in a room, all facts of a subject and a single-valued predicate; of a multi-valued one, those of one object.';

create function facts.lock_facts(key facts.fact_key)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- Shared: register_predicate() waits until nobody is in the middle of it, and the others then know.
  perform pg_advisory_xact_lock_shared(hashtextextended(format('l9-memory predicate %s %s', key.tenant_id, key.predicate), 0));
  perform pg_advisory_xact_lock(
    hashtextextended(format('l9-memory facts %s %s %s', key.audience_id, key.predicate, key.subject_normalized), 0));
  return facts.is_single_valued(key.tenant_id, key.predicate);
end
$$;

comment on function facts.lock_facts(facts.fact_key) is
  'Waits until nobody else changes these facts, and says whether the predicate is single-valued. Not executable by callers.';

create function facts.facts_of(key facts.fact_key, is_single boolean)
returns setof public.knowledge_facts
language sql
stable
begin atomic
  select f.* from public.knowledge_facts f
  where f.audience_id = (key).audience_id and f.subject_normalized = (key).subject_normalized and f.predicate = (key).predicate
    and (is_single or f.object_normalized = (key).object_normalized);
end;

comment on function facts.facts_of(facts.fact_key, boolean) is
  'The facts that are settled together, those that have ended, expired or been retracted too. Not executable by callers.';

create function facts.compute_fact_confidence(key facts.fact_key, is_single boolean, fresh uuid)
returns void
language sql
volatile
set search_path = ''
begin atomic
  with said as (
    select e.fact_id,
      array_agg(e.subject order by e.created_at, e.evidence_id) as subjects,
      array_agg(e.object order by e.created_at, e.evidence_id) as objects,
      array_agg(e.packet_id order by e.created_at, e.evidence_id) as packets,
      array_agg(e.creator order by e.created_at, e.evidence_id) as creators,
      -- Each piece of evidence takes away its part of the doubt that is left.
      least(0.99, round((1 - exp(sum(ln(greatest(1 - e.confidence, 1e-9)))))::numeric, 12))::double precision as confidence,
      sum(e.mentions)::integer as mentions,
      min(e.valid_from) as valid_from,
      min(e.created_at) as recorded_at,
      case when bool_and(e.ttl is not null) then max(e.ttl) end as ttl
    from facts.facts_of(key, is_single) f
    join public.fact_evidence e on e.fact_id = f.fact_id
    group by e.fact_id
  )
  update public.knowledge_facts f set
    subject = s.subjects[1], object = s.objects[1], source_packet = s.packets[1], creator = s.creators[1],
    confidence = s.confidence, supporting_packet_count = s.mentions,
    valid_from = s.valid_from, valid_to = case when f.valid_to is not null then greatest(f.valid_to, s.valid_from) end,
    recorded_at = s.recorded_at, ttl = s.ttl,
    updated_at = case when f.fact_id = fresh then f.updated_at else clock_timestamp() end
  from said s
  where f.fact_id = s.fact_id
    and (f.subject, f.object, f.source_packet, f.creator, f.confidence, f.supporting_packet_count, f.valid_from, f.recorded_at, f.ttl)
      is distinct from
      (s.subjects[1], s.objects[1], s.packets[1], s.creators[1], s.confidence, s.mentions, s.valid_from, s.recorded_at, s.ttl);
end;

comment on function facts.compute_fact_confidence(facts.fact_key, boolean, uuid) is
  'Works facts out of their evidence. Of the fresh one it is no change. Not executable by callers.';

create function facts.merge_facts(key facts.fact_key, is_single boolean)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
  twin record;
  merged boolean := false;
begin
  for twin in
    -- Facts that say the same with nothing in between; where they stand side by side nothing can be.
    with ordered as (
      select f.fact_id, f.valid_from, f.recorded_at, f.retracted_at,
        f.retracted_at is not null or lag(f.retracted_at) over w is not null
          or lag(f.object_normalized) over w is distinct from f.object_normalized as is_first,
        row_number() over w as place
      from facts.facts_of(key, is_single) f
      window w as (order by not is_single and f.retracted_at is not null, f.valid_from, f.recorded_at, f.fact_id)
    ), grouped as (
      select o.fact_id, o.place, count(*) filter (where o.is_first) over (order by o.place) as one
      from ordered o
    )
    select g.fact_id, first_value(g.fact_id) over (partition by g.one order by g.place) as kept
    from grouped g
    order by g.place
  loop
    continue when twin.fact_id = twin.kept;
    merged := true;
    update public.fact_evidence k set
      confidence = greatest(k.confidence, e.confidence), mentions = greatest(k.mentions, e.mentions),
      valid_from = least(k.valid_from, e.valid_from), updated_at = clock_timestamp(),
      asserted_by = array(select distinct a.name from unnest(k.asserted_by || e.asserted_by) as a (name) order by a.name)
    from public.fact_evidence e
    where k.fact_id = twin.kept and e.fact_id = twin.fact_id and e.packet_id = k.packet_id;
    update public.fact_evidence e set fact_id = twin.kept, updated_at = clock_timestamp()
    where e.fact_id = twin.fact_id
      and not exists (select from public.fact_evidence k where k.fact_id = twin.kept and k.packet_id = e.packet_id);
    update public.knowledge_facts f set access_count = f.access_count + gone.access_count
    from public.knowledge_facts gone
    where f.fact_id = twin.kept and gone.fact_id = twin.fact_id;
    delete from public.knowledge_facts f where f.fact_id = twin.fact_id;
  end loop;
  return merged;
end
$$;

comment on function facts.merge_facts(facts.fact_key, boolean) is
  'Makes one fact of those that say the same, with the evidence of all; says whether there were any. Not executable by callers.';

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
    from facts.facts_of(key, is_single) f
    where is_single and f.retracted_at is null
    window w as (order by f.valid_from, f.recorded_at, f.fact_id)
  ), counted as (
    select c.*,
      sum(c.conflicts) over (partition by c.object_normalized order by c.valid_from, c.recorded_at, c.fact_id) as contradictions
    from chain c
  )
  -- What stands side by side, or is retracted, is replaced by nothing and contradicts nothing.
  select f.fact_id, c.next_from, c.next_id,
    case when c.next_id is not null then greatest(c.recorded_at, c.next_recorded) end,
    coalesce(c.contradictions, 0)::integer
  from facts.facts_of(key, is_single) f
  left join counted c on c.fact_id = f.fact_id;
end;

comment on function facts.supersession_chain(facts.fact_key, boolean) is
  'Which of these facts was replaced by which: ordered by when each began, then by when it was recorded, each ends where the next begins. Not executable by callers.';

create function facts.count_contradictions(packet_ids uuid[])
returns void
language sql
volatile
set search_path = ''
-- Their number is not known to the planner, and is small.
set enable_seqscan = off
begin atomic
  with said as (
    select e.packet_id, f.fact_id, f.superseded_by, f.object_normalized
    from public.fact_evidence e
    join public.knowledge_facts f on f.fact_id = e.fact_id
    where e.packet_id = any (packet_ids)
  ), against as (
    select s.packet_id, g.fact_id
    from said s join public.knowledge_facts g on g.fact_id = s.superseded_by and g.object_normalized <> s.object_normalized
    union
    select s.packet_id, g.fact_id
    from said s join public.knowledge_facts g on g.superseded_by = s.fact_id and g.object_normalized <> s.object_normalized
  ), counted as (
    select m.packet_id, count(a.fact_id)::integer as contradictions
    from (select distinct p.id as packet_id from unnest(packet_ids) as p (id)) m
    left join against a on a.packet_id = m.packet_id
      and not exists (select from public.fact_evidence own where own.fact_id = a.fact_id and own.packet_id = m.packet_id)
    group by m.packet_id
  ), locked as (
    select s.packet_id, c.contradictions
    from public.memory_signals s join counted c on c.packet_id = s.packet_id
    where s.contradiction_count <> c.contradictions
    order by s.packet_id
    for no key update of s
  )
  update public.memory_signals s set contradiction_count = l.contradictions
  from locked l
  where s.packet_id = l.packet_id;
end;

comment on function facts.count_contradictions(uuid[]) is
  'Counts of memories how many facts of other memories contradict what they say, into memory_signals: so their importance falls. Not executable by callers.';

create function facts.recompute_facts(
  key facts.fact_key, is_single boolean, fresh uuid default null, packet_ids uuid[] default '{}')
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  touched uuid[] := '{}';
  changed uuid[];
begin
  -- In one order, as the job that counts accesses takes them.
  perform from public.knowledge_facts f
  where f.fact_id in (select k.fact_id from facts.facts_of(key, is_single) k)
  order by f.fact_id for no key update;

  -- Only where there is something: a statement that changes nothing runs its triggers all the same.
  if exists (
    select from facts.facts_of(key, is_single) f join public.fact_evidence e on e.fact_id = f.fact_id where e.ttl <= now()) then
    delete from public.fact_evidence e
    where e.ttl <= now() and e.fact_id in (select f.fact_id from facts.facts_of(key, is_single) f);
  end if;
  if exists (
    select from facts.facts_of(key, is_single) f
    where not exists (select from public.fact_evidence e where e.fact_id = f.fact_id)) then
    delete from public.knowledge_facts f
    where f.fact_id in (select k.fact_id from facts.facts_of(key, is_single) k)
      and not exists (select from public.fact_evidence e where e.fact_id = f.fact_id);
  end if;

  perform facts.compute_fact_confidence(key, is_single, fresh);
  if facts.merge_facts(key, is_single) then
    perform facts.compute_fact_confidence(key, is_single, fresh);
  end if;

  -- What ends first: there are never two current values, not even on the way.
  for is_current in 0..1 loop
    with written as (
      update public.knowledge_facts f set
        valid_to = c.valid_to, superseded_by = c.superseded_by, superseded_at = c.superseded_at,
        contradiction_count = c.contradictions, is_single_valued = is_single,
        updated_at = case when f.fact_id = fresh then f.updated_at else clock_timestamp() end
      from facts.supersession_chain(key, is_single) c
      where f.fact_id = c.fact_id and (c.valid_to is null) = (is_current = 1)
        and (f.valid_to, f.superseded_by, f.superseded_at, f.contradiction_count, f.is_single_valued)
          is distinct from (c.valid_to, c.superseded_by, c.superseded_at, c.contradictions, is_single)
      returning f.fact_id, f.superseded_by, old.superseded_by as was_superseded_by
    )
    select array_agg(w.fact_id) || array_agg(w.superseded_by) || array_agg(w.was_superseded_by) into changed from written w;
    touched := touched || coalesce(changed, '{}');
  end loop;

  packet_ids := packet_ids || array(select e.packet_id from public.fact_evidence e where e.fact_id = any (touched));
  if cardinality(packet_ids) > 0 then
    perform facts.count_contradictions(packet_ids);
  end if;
end
$$;

comment on function facts.recompute_facts(facts.fact_key, boolean, uuid, uuid[]) is
  'Works out of the evidence what these facts are and which replaced which, and the contradictions of their sources and of packet_ids. Once they are locked. Not executable by callers.';
