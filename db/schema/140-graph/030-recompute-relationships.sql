create function graph.lock_relationships(ids uuid[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- Every transaction locks in the order of the ids, which rules out deadlocks.
  perform from public.entity_relationships r where r.relationship_id = any (ids) order by r.relationship_id for update;
end
$$;

comment on function graph.lock_relationships(uuid[]) is
  'Locks these relationships until the end of the transaction. Not executable by callers: functions of the owner call it.';

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
    ttl = first.ttl, creator = first.creator, source = first.source, confidence = t.confidence, mention_count = t.mentions,
    first_seen = t.first_seen, last_seen = t.last_seen, updated_at = clock_timestamp()
  from (
    select e.relationship_id, entities.noisy_or(array_agg(e.confidence)) as confidence, sum(e.mentions) as mentions,
      min(e.created_at) as first_seen, max(e.last_seen) as last_seen
    from public.relationship_evidence e
    where e.relationship_id = any (ids)
    group by e.relationship_id
  ) t
  cross join lateral (
    select e.packet_id, e.source_entity, e.target_entity, e.ttl, e.creator, e.source
    from public.relationship_evidence e
    where e.relationship_id = t.relationship_id
    order by e.ttl desc nulls first, e.created_at, e.evidence_id
    limit 1
  ) first
  where r.relationship_id = t.relationship_id;
end
$$;

comment on function graph.recompute_relationships(uuid[]) is
  'Recomputes relationships from their evidence and deletes relationships without evidence. The caller must hold their locks. Not executable by callers: functions of the owner call it.';
