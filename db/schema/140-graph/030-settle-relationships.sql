create function graph.lock_relationships(ids uuid[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- In one order everywhere, so that two who settle the same ones don't wait for each other.
  perform from public.entity_relationships r where r.relationship_id = any (ids) order by r.relationship_id for update;
end
$$;

comment on function graph.lock_relationships(uuid[]) is
  'Holds these relations until the end of the transaction. Not executable by callers: functions of the owner call it.';

create function graph.recompute_relationships(ids uuid[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  delete from public.entity_relationships r
  where r.relationship_id = any (ids)
    and not exists (select from public.relationship_evidence e where e.relationship_id = r.relationship_id);

  update public.entity_relationships r
  set source_packet = first.packet_id, source_entity = first.source_entity, target_entity = first.target_entity,
    ttl = first.ttl, creator = first.creator, confidence = t.confidence, mention_count = t.mentions,
    first_seen = t.first_seen, last_seen = t.last_seen, updated_at = clock_timestamp()
  from (
    select e.relationship_id, graph.noisy_or(array_agg(e.confidence)) as confidence, sum(e.mentions) as mentions,
      min(e.created_at) as first_seen, max(e.last_seen) as last_seen
    from public.relationship_evidence e
    where e.relationship_id = any (ids)
    group by e.relationship_id
  ) t
  cross join lateral (
    select e.packet_id, e.source_entity, e.target_entity, e.ttl, e.creator
    from public.relationship_evidence e
    where e.relationship_id = t.relationship_id
    order by e.ttl desc nulls first, e.created_at, e.evidence_id
    limit 1
  ) first
  where r.relationship_id = t.relationship_id;
end
$$;

comment on function graph.recompute_relationships(uuid[]) is
  'Works out from their evidence what relations say of themselves; those without any go. Whoever calls it holds them. Not executable by callers: functions of the owner call it.';

create function graph.noisy_or(confidences double precision[])
returns double precision
language sql
immutable
parallel safe
set search_path = ''
return (
  -- Rounded, so that the order in which they are taken shows nowhere.
  select pg_catalog.round(least(0.99, 1 - pg_catalog.exp(sum(pg_catalog.ln(greatest(1 - c.confidence, 1e-300)))))::numeric, 9)::double precision
  from pg_catalog.unnest(confidences) as c (confidence));

comment on function graph.noisy_or(double precision[]) is
  'How sure one is of what several state, each with its own confidence: 1 less the product of the doubts, 0.99 at most.';

grant execute on function graph.noisy_or(double precision[]) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
