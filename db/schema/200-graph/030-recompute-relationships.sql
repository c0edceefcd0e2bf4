-- Computes relationships from their evidence again. relate_from(), the triggers of memories and the extraction job
-- call it after a change of evidence, with the rows locked.
create function graph.lock_relationships(ids uuid[]) returns void language plpgsql volatile set search_path = '' as $$
begin
  -- Every transaction locks in the order of the ids, which rules out deadlocks.
  perform from public.entity_relationships r where r.relationship_id = any (ids) order by r.relationship_id for update;
end $$;
comment on function graph.lock_relationships is 'Locks these relationships until the end of the transaction.';

-- As for facts, an agent counts once, by its strongest statement. Where an administrator states the relationship, only
-- administrators count, so that agents don't make it more or less certain. A relationship without evidence is deleted.
create function graph.recompute_relationships(ids uuid[]) returns void language plpgsql volatile set search_path = '' as $$
begin
  delete from public.entity_relationships r
  where r.relationship_id = any (ids)
    and not exists (select from public.relationship_evidence e where e.relationship_id = r.relationship_id);

  with stated as (
    select e.*, bool_or(e.is_from_admin) over (partition by e.relationship_id) = e.is_from_admin as is_decisive
    from public.relationship_evidence e
    where e.relationship_id = any (ids)
  ), voices as (
    select s.relationship_id, s.agent, max(s.confidence) as confidence
    from stated s where s.is_decisive group by s.relationship_id, s.agent
  ), confidences as (
    select v.relationship_id, entities.noisy_or(array_agg(v.confidence)) as confidence from voices v group by v.relationship_id
  ), sums as (
    select s.relationship_id, sum(s.mentions) as mentions, count(distinct s.agent) as agents,
      bool_or(s.is_from_admin) as is_from_admin, min(s.created_at) as first_seen, max(s.last_seen) as last_seen
    from stated s group by s.relationship_id
  ), spelled as (
    select distinct on (s.relationship_id) s.relationship_id, s.source_entity, s.target_entity
    from stated s where s.is_decisive order by s.relationship_id, s.created_at, s.evidence_id
  ), longest_lasting as (
    -- The row expires with this evidence, and names its memory and writer.
    select distinct on (s.relationship_id) s.relationship_id, s.packet_id, s.ttl, s.creator, s.source
    from stated s where s.is_decisive order by s.relationship_id, s.ttl desc nulls first, s.created_at, s.evidence_id
  )
  update public.entity_relationships r
  set source_packet = l.packet_id, source_entity = n.source_entity, target_entity = n.target_entity, ttl = l.ttl,
    creator = l.creator, source = l.source, confidence = c.confidence, mention_count = t.mentions, agent_count = t.agents,
    is_from_admin = t.is_from_admin, first_seen = t.first_seen, last_seen = t.last_seen, updated_at = clock_timestamp()
  from sums t join confidences c using (relationship_id) join longest_lasting l using (relationship_id)
    join spelled n using (relationship_id)
  where r.relationship_id = t.relationship_id;
end $$;
comment on function graph.recompute_relationships is 'Recomputes these locked relationships from their evidence.';
