-- The relationships of a memory are deleted and moved with it; relationships that other memories also state are recomputed.
create function graph.withdraw_relationships(packet_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
declare
  ids constant uuid[] := array(
    select distinct e.relationship_id from public.relationship_evidence e
    where e.packet_id = withdraw_relationships.packet_id);
begin
  if ids <> '{}' then
    perform graph.lock_relationships(ids);
    delete from public.relationship_evidence e where e.packet_id = withdraw_relationships.packet_id;
    perform graph.recompute_relationships(ids);
  end if;
end $$;
comment on function graph.withdraw_relationships is 'Deletes the evidence of a memory and recomputes its relationships. Not '
  'executable by callers.';

-- Done here because the foreign key would delete the evidence without recomputing shared relationships.
create function graph.tg_packet_store__withdraw_relationships() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform graph.withdraw_relationships(old.packet_id);
  return old;
end $$;
comment on function graph.tg_packet_store__withdraw_relationships is 'Deletes the evidence of a memory that is about to be '
  'deleted and recomputes its relationships. Definer: callers can''t write these tables.';

create trigger _620_withdraw_relationships before delete on public.packet_store
  for each row execute function graph.tg_packet_store__withdraw_relationships();

-- Moved evidence needs a relationship in the new audience. What exists there is locked with the relationships that it leaves, so
-- that memories that move in opposite directions can't deadlock; the others are made in the order of the unique index.
create function graph.tg_packet_store__relationships_follow() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  old_ids constant uuid[] := array(
    select distinct e.relationship_id from public.relationship_evidence e where e.packet_id = new.packet_id);
  equal_ids uuid[] := '{}';
  has_moved constant boolean := packets.audience_id(new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope)
    <> packets.audience_id(old.tenant_id, old.org_id, old.user_id, old.project_id, old.scope);
  relation record;
  target_id uuid;
  new_ids uuid[] := '{}';
begin
  if old_ids = '{}' then
    return null;
  end if;
  if has_moved then
    equal_ids := array(
      select there.relationship_id from public.entity_relationships here
      join public.entity_relationships there
        on there.source_normalized = here.source_normalized and there.relationship_type = here.relationship_type
        and there.target_normalized = here.target_normalized and there.tenant_id = new.tenant_id and there.scope = new.scope
        and there.project_id is not distinct from new.project_id and there.org_id is not distinct from new.org_id
        and there.user_id is not distinct from new.user_id
      where here.relationship_id = any (old_ids));
  end if;
  perform graph.lock_relationships(old_ids || equal_ids);
  if has_moved and new.ttl <= now() then
    -- An expired memory is not readable in any audience.
    delete from public.relationship_evidence e where e.packet_id = new.packet_id;
  elsif has_moved then
    insert into derived.memories_being_restated (packet_id) values (new.packet_id) on conflict do nothing;
    for relation in
      select e.evidence_id, e.source_entity, e.target_entity, r.source_normalized, r.relationship_type, r.target_normalized,
        r.confidence
      from public.relationship_evidence e join public.entity_relationships r on r.relationship_id = e.relationship_id
      where e.packet_id = new.packet_id order by r.source_normalized, r.relationship_type, r.target_normalized
    loop
      insert into public.entity_relationships as r (
        source_entity, relationship_type, target_entity, source_normalized, target_normalized, confidence, source_packet)
      values (
        relation.source_entity, relation.relationship_type, relation.target_entity, relation.source_normalized,
        relation.target_normalized, 0, new.packet_id)
      on conflict (source_normalized, relationship_type, target_normalized, tenant_id, scope, project_id, org_id, user_id)
      do update set relationship_id = r.relationship_id
      returning r.relationship_id into target_id;
      update public.relationship_evidence e
      set relationship_id = target_id, tenant_id = new.tenant_id, org_id = new.org_id, user_id = new.user_id,
        project_id = new.project_id, scope = new.scope, ttl = new.ttl, updated_at = clock_timestamp()
      where e.evidence_id = relation.evidence_id;
      new_ids := new_ids || target_id;
    end loop;
    delete from derived.memories_being_restated r where r.packet_id = new.packet_id;
  else
    update public.relationship_evidence e set ttl = new.ttl, updated_at = clock_timestamp() where e.packet_id = new.packet_id;
  end if;
  perform graph.recompute_relationships(old_ids || new_ids);
  return null;
end $$;
comment on function graph.tg_packet_store__relationships_follow is 'Moves the evidence of a memory to the memory''s new '
  'audience, joins it with equal triples there, and recomputes the relationships on both sides. Definer: callers can''t write '
  'these tables.';

call derived.follow_packets('_620_relationships_follow', 'graph.tg_packet_store__relationships_follow');
