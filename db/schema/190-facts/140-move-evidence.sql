-- Facts follow their memory when its scope, project, owner or expiry changes. A trigger of packet_store calls
-- move_evidence() for each statement of the memory.
create function facts.move_evidence(evidence public.fact_evidence, source public.packet_store, audience_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
declare
  fact public.knowledge_facts;
  key facts.fact_key;
  target_id uuid;
begin
  select f.* into fact from public.knowledge_facts f where f.fact_id = evidence.fact_id;
  if fact.audience_id = move_evidence.audience_id then
    return; -- The fact has moved with another statement of this memory.
  end if;
  key := (source.tenant_id, move_evidence.audience_id, fact.subject_normalized, fact.predicate, fact.object_normalized);
  if not exists (select from public.fact_evidence e where e.fact_id = fact.fact_id and e.packet_id <> evidence.packet_id) then
    -- The fact moves as a whole. Links to facts of the old audience and the reason given there stay behind.
    update public.knowledge_facts f set superseded_by = null, superseded_at = null where f.superseded_by = fact.fact_id;
    update public.knowledge_facts f set
      tenant_id = source.tenant_id, org_id = source.org_id, user_id = source.user_id, project_id = source.project_id,
      scope = source.scope, superseded_by = null, superseded_at = null, retraction_reason = null,
      -- An empty validity, so that the fact is not current until it is recomputed.
      valid_to = f.valid_from, updated_at = clock_timestamp()
    where f.fact_id = fact.fact_id;
  elsif fact.retracted_at is not null then
    delete from public.fact_evidence e where e.evidence_id = evidence.evidence_id;
  else
    target_id := coalesce(
      facts.fact_at(key, facts.is_single_valued(key.tenant_id, key.predicate), evidence.valid_from, evidence.is_from_admin),
      facts.insert_fact(key, source.packet_id, evidence.subject, evidence.object, evidence.valid_from));
    if exists (select from public.fact_evidence e 
      where e.fact_id = target_id and (e.packet_id, e.creator) = (source.packet_id, evidence.creator)) then
      delete from public.fact_evidence e where e.evidence_id = evidence.evidence_id;
    else
      update public.fact_evidence e set fact_id = target_id where e.evidence_id = evidence.evidence_id;
    end if;
  end if;
end $$;
comment on function facts.move_evidence is 'Moves a memory''s evidence to another audience, with its fact or to an equal one.';

-- Takes all its locks before anything moves, in the order of the keys, so that memories that move in opposite directions can't
-- deadlock.
create function facts.tg_packet_store__facts_follow() returns trigger language plpgsql security definer set search_path = '' as $$
declare
  audience_id uuid := packets.audience_id(new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope);
  has_moved boolean := audience_id <> packets.audience_id(old.tenant_id, old.org_id, old.user_id, old.project_id, old.scope);
  keys facts.fact_key[] := array(
    select k from facts.keys_of_evidence(new.packet_id) k
    union select k from facts.keys_of_evidence(new.packet_id, audience_id) k where has_moved
    order by 1);
  key facts.fact_key;
  evidence public.fact_evidence;
begin
  if cardinality(keys) = 0 then
    return null;
  end if;
  perform facts.lock_facts(variadic keys);
  update public.fact_evidence e
  set tenant_id = new.tenant_id, org_id = new.org_id, user_id = new.user_id, project_id = new.project_id, scope = new.scope,
    ttl = new.ttl, updated_at = clock_timestamp()
  where e.packet_id = new.packet_id;
  if has_moved then
    insert into derived.memories_being_restated (packet_id) values (new.packet_id) on conflict do nothing;
    for evidence in
      select e.* from public.fact_evidence e where e.packet_id = new.packet_id order by e.created_at, e.evidence_id
    loop
      perform facts.move_evidence(evidence, new, audience_id);
    end loop;
    delete from derived.memories_being_restated r where r.packet_id = new.packet_id;
  end if;
  foreach key in array keys loop
    perform facts.recompute_facts(key, facts.is_single_valued(key.tenant_id, key.predicate), packet_ids => array[new.packet_id]);
  end loop;
  return null;
end $$;
comment on function facts.tg_packet_store__facts_follow is 'Moves the facts of a memory to the memory''s new audience and lets a '
  'fact expire with the last memory that states it. Definer: callers can''t write these tables.';

-- This trigger runs before the others that follow a memory. A statement of a fact locks the fact's key before its evidence, and a
-- deletion locks facts before relationships; a trigger that locked them in another order could cause a deadlock.
call derived.follow_packets('_610_facts_follow', 'facts.tg_packet_store__facts_follow');
