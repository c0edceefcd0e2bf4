-- Which memories superseded which, as far as the caller can read both. place_hits() calls successors(), which calls the others.
create type standing.succession as (packet_id uuid, successor_id uuid, is_direct boolean, is_partial boolean);
call identity.describe('standing.succession', 'A memory and one that superseded it.
  is_direct: False if it superseded a successor of the memory.
  is_partial: True if the memory also states facts that nothing superseded.');

create function standing.packet_stating(fact_id uuid, except_packet uuid) returns uuid
language sql stable set search_path = '' set enable_seqscan = off
return (
  select p.packet_id
  from public.knowledge_facts f
  join public.fact_evidence e on e.fact_id = f.fact_id
  join public.packet_store p on p.packet_id = e.packet_id
  where f.fact_id = packet_stating.fact_id and p.packet_id is distinct from except_packet
  order by e.packet_id = f.source_packet desc, e.created_at, e.evidence_id limit 1);
comment on function standing.packet_stating is 'The memory that states a fact: its source or the oldest readable one.';

create function standing.named_successor(memory public.packet_store, envelope jsonb) returns uuid
language sql stable parallel safe set search_path = ''
return case
  when envelope ? 'superseded_by' and (kinds.rules_of((memory).packet_type, (memory).tenant_id) ->> 'supersedes')::boolean
  then identity.uuid_of(envelope ->> 'superseded_by') end;
comment on function standing.named_successor is 'The memory that one of a kind with successors names in this envelope.';

create function standing.successors_by_kind(packet_ids uuid[], as_of timestamptz) returns setof standing.succession
language sql stable set search_path = '' set enable_seqscan = off
begin atomic
  with recursive named as (
    select p.packet_id, p.packet_id as successor_id, 0 as steps from public.packet_store p
    where p.packet_id = any (packet_ids) and (as_of is not null or p.envelope ? 'superseded_by')
    union
    select n.packet_id, s.packet_id, n.steps + 1
    from named n
    join public.packet_store p on p.packet_id = n.successor_id
    left join public.packet_versions past on p.updated_at > as_of and past.packet_id = p.packet_id
      and past.valid_from <= as_of and past.valid_until > as_of
    -- A column can be looked up in the index of a table with policies, a function's result cannot.
    cross join lateral (
      select standing.named_successor(p, case when past.packet_id is null then p.envelope else past.envelope end) as packet_id
      offset 0) f
    join public.packet_store s on s.packet_id = f.packet_id and s.packet_type = p.packet_type and s.packet_id <> n.packet_id
      and (as_of is null or s.created_at <= as_of)
    -- Memories that name each other would be followed for ever.
    where n.steps < 16
  )
  select row(n.packet_id, n.successor_id, n.steps = 1, false)::standing.succession from named n where n.steps > 0;
end;
comment on function standing.successors_by_kind is 'Successors named by memories such as decisions, and theirs, as of a time.';

-- Takes the last value that each memory states of a subject and predicate, keeps those that are superseded, and finds
-- a memory that states the next value.
create function standing.successors_by_facts(packet_ids uuid[], as_of timestamptz) returns setof standing.succession
language sql stable set search_path = '' set enable_seqscan = off
begin atomic
  with stated as materialized (
    -- A memory that states a value again after another one stands by the last.
    select distinct on (
        e.packet_id, f.audience_id, f.subject_normalized, f.predicate, case when not f.is_single_valued then f.fact_id end)
      e.packet_id, f.fact_id, f.audience_id, f.subject_normalized, f.predicate, f.valid_from, f.recorded_at, f.superseded_by,
      -- A value that begins to hold later has not superseded this one yet.
      coalesce(
        f.valid_to <= coalesce(as_of, clock_timestamp()) and f.superseded_at <= coalesce(as_of, 'infinity'),
        false) as is_superseded
    from public.fact_evidence e
    join public.knowledge_facts f on f.fact_id = e.fact_id
    where e.packet_id = any (packet_ids) and f.retracted_at is null
    order by e.packet_id, f.audience_id, f.subject_normalized, f.predicate, case when not f.is_single_valued then f.fact_id end,
      f.valid_from desc, f.recorded_at desc, f.fact_id desc
  ), superseded as (
    select s.*, exists (select from stated o where o.packet_id = s.packet_id and not o.is_superseded) as is_partial
    from stated s where s.is_superseded
  )
  select row(s.packet_id, n.packet_id, true, s.is_partial)::standing.succession
  from superseded s
  cross join lateral (select standing.packet_stating(s.superseded_by, s.packet_id) as packet_id offset 0) n
  where n.packet_id is not null
  union all
  -- All later values among these memories, and not only the next.
  select row(s.packet_id, o.packet_id, false, s.is_partial)::standing.succession
  from superseded s
  join stated o on o.audience_id = s.audience_id and o.subject_normalized = s.subject_normalized and o.predicate = s.predicate
    and o.packet_id <> s.packet_id and o.valid_from <= coalesce(as_of, clock_timestamp())
    and (o.valid_from, o.recorded_at, o.fact_id) > (s.valid_from, s.recorded_at, s.fact_id);
end;
comment on function standing.successors_by_facts is 'The memories whose facts superseded facts of these.';

create function standing.successors(packet_ids uuid[], as_of timestamptz) returns setof standing.succession
language sql stable set search_path = '' set l9.withheld = 'none'
begin atomic
  select k from standing.successors_by_kind(packet_ids, as_of) k
  union all
  select f from standing.successors_by_facts(packet_ids, as_of) f;
end;
comment on function standing.successors is 'Direct successors, and those among these memories at any distance.';
grant execute on function standing.packet_stating, standing.named_successor, standing.successors_by_kind,
  standing.successors_by_facts, standing.successors to l9_agent, l9_admin, l9_platform_admin;
