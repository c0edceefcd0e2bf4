-- Computes the entities of a world from its updates again, and the counts of snapshots that lost one. Triggers call
-- it after deletes and moves; a restore calls it, and so does an update of a world with expired entities.
create function world_model.recompute_world(audience_id uuid, counts_as_change boolean) returns void
language plpgsql volatile set search_path = '' as $$
declare
  world uuid := recompute_world.audience_id;
  at_version integer := world_model.lock_world(world);
begin
  if counts_as_change then
    update world_model.worlds w set state_version = w.state_version + 1 where w.audience_id = world
    returning w.state_version into at_version;
  end if;
  with folded as materialized (
    select f.* from world_model.fold_world(world, world_model.world_lineage(world, at_version)) f
  ), removed as (
    delete from public.world_model_entities e
    where e.audience_id = world and not exists (select from folded f where f.entity_key = e.entity_id_normalized)
  ), changed as (
    update public.world_model_entities e
    set entity_id = f.entity_id, entity_type = f.entity_type, attributes = f.attributes, confidence = f.confidence,
      version = e.version + 1, source_packet = f.source_packet, ttl = f.ttl, creator = f.creator, source = f.source,
      set_by = f.set_by, type_set_by = f.type_set_by, is_from_admin = f.is_from_admin, updated_at = clock_timestamp()
    from folded f
    where e.audience_id = world and e.entity_id_normalized = f.entity_key
      and (e.entity_id, e.entity_type, e.attributes, e.confidence) is distinct from
        (f.entity_id, f.entity_type, f.attributes, f.confidence)
  ), resourced as (
    -- Only who and what is behind the entity changed, so its version stays.
    update public.world_model_entities e
    set source_packet = f.source_packet, ttl = f.ttl, creator = f.creator, source = f.source, set_by = f.set_by,
      type_set_by = f.type_set_by, is_from_admin = f.is_from_admin
    from folded f
    where e.audience_id = world and e.entity_id_normalized = f.entity_key
      and (e.entity_id, e.entity_type, e.attributes, e.confidence) is not distinct from
        (f.entity_id, f.entity_type, f.attributes, f.confidence)
      and (e.source_packet, e.ttl, e.creator, e.source, e.set_by, e.type_set_by, e.is_from_admin)
        is distinct from (f.source_packet, f.ttl, f.creator, f.source, f.set_by, f.type_set_by, f.is_from_admin)
  )
  insert into public.world_model_entities (
    entity_id, entity_type, attributes, set_by, type_set_by, is_from_admin, confidence, version, source_packet, ttl, creator,
    source)
  select f.entity_id, f.entity_type, f.attributes, f.set_by, f.type_set_by, f.is_from_admin, f.confidence,
    1 + coalesce(d.version, 0), f.source_packet, f.ttl, f.creator, f.source
  from folded f
  left join world_model.removed_entities d on d.audience_id = world and d.entity_key = f.entity_key
  where not exists (
    select from public.world_model_entities e where e.audience_id = world and e.entity_id_normalized = f.entity_key);

  -- The name of a removed entity is kept only while an update names the entity.
  delete from world_model.removed_entities d
  where d.audience_id = world and (
    d.entity_key not in (
      select entities.normalise_name(change.entity ->> 'entity_id')
      from public.world_model_updates u cross join lateral jsonb_array_elements(u.entities) as change (entity)
      where u.audience_id = world)
    or exists (select from public.world_model_entities e where e.audience_id = world and e.entity_id_normalized = d.entity_key));
end $$;
comment on function world_model.recompute_world is 'Recomputes the entities of a world, as a new version if it counts.';

create function world_model.recompute_world_without(audience_id uuid, lost_versions integer[]) returns void
language plpgsql volatile set search_path = '' as $$
begin
  perform world_model.recompute_world(recompute_world_without.audience_id, lost_versions <> '{}');
  update public.world_model_snapshots s
  set entity_count = size.entity_count, relation_count = size.relation_count
  from public.world_model_snapshots other
  cross join lateral world_model.measure_world(other.audience_id, other.snapshot) as size
  where s.snapshot_id = other.snapshot_id and other.audience_id = recompute_world_without.audience_id
    and exists (select from unnest(lost_versions) as lost (version) where lost.version <@ other.snapshot);
end $$;
comment on function world_model.recompute_world_without is 'Recomputes a world and its snapshots that lost these versions.';
