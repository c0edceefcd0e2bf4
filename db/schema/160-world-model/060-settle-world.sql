create function world_model.recompute_world(audience_id uuid, counts_as_change boolean)
returns void
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
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
      version = e.version + 1, source_packet = f.source_packet, ttl = f.ttl, updated_at = clock_timestamp()
    from folded f
    where e.audience_id = world and e.entity_id_normalized = f.entity_key
      and (e.entity_id, e.entity_type, e.attributes, e.confidence) is distinct from
        (f.entity_id, f.entity_type, f.attributes, f.confidence)
  ), resourced as (
    -- Only the memories behind the entity changed, so its version stays.
    update public.world_model_entities e set source_packet = f.source_packet, ttl = f.ttl
    from folded f
    where e.audience_id = world and e.entity_id_normalized = f.entity_key
      and (e.entity_id, e.entity_type, e.attributes, e.confidence) is not distinct from
        (f.entity_id, f.entity_type, f.attributes, f.confidence)
      and (e.source_packet, e.ttl) is distinct from (f.source_packet, f.ttl)
  )
  insert into public.world_model_entities (entity_id, entity_type, attributes, confidence, version, source_packet, ttl)
  select f.entity_id, f.entity_type, f.attributes, f.confidence, 1 + coalesce(d.version, 0), f.source_packet, f.ttl
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
end
$$;

comment on function world_model.recompute_world(uuid, boolean) is
  'Recomputes the entities of a world from its updates. With counts_as_change this is a new version of the world. Not executable by callers.';

create function world_model.recompute_world_without(audience_id uuid, lost_versions integer[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform world_model.recompute_world(recompute_world_without.audience_id, lost_versions <> '{}');
  update public.world_model_snapshots s
  set entity_count = size.entity_count, relation_count = size.relation_count
  from public.world_model_snapshots other
  cross join lateral world_model.measure_world(other.audience_id, other.snapshot) as size
  where s.snapshot_id = other.snapshot_id and other.audience_id = recompute_world_without.audience_id
    and exists (select from unnest(lost_versions) as lost (version) where lost.version <@ other.snapshot);
end
$$;

comment on function world_model.recompute_world_without(uuid, integer[]) is
  'Recomputes a world and the counts of its snapshots after it lost the updates of these versions. Not executable by callers.';

create function world_model.tg_world_model_updates__recompute()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  perform world_model.recompute_world_without(stale.audience_id, stale.lost_versions)
  from (
    select o.audience_id, array_agg(o.state_version_after) as lost_versions
    from old_rows o group by o.audience_id order by o.audience_id
  ) stale;
  return null;
end
$$;

comment on function world_model.tg_world_model_updates__recompute() is
  'Recomputes worlds whose updates were deleted with their memories. Definer: callers can''t write these tables.';

-- A statement that deletes memories fires this once, after foreign keys have deleted the updates of all of them.
create trigger _600_recompute after delete on public.world_model_updates
  referencing old table as old_rows
  for each statement execute function world_model.tg_world_model_updates__recompute();

create function world_model.tg_packet_store__worlds_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  target uuid := packets.audience_id(new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope);
  former uuid := packets.audience_id(old.tenant_id, old.org_id, old.user_id, old.project_id, old.scope);
  world_update record;
  next_version integer;
begin
  -- A snapshot belongs to one world and can't move to another.
  delete from public.world_model_snapshots s where s.source_packet = new.packet_id and s.audience_id <> target;
  update public.world_model_snapshots s set ttl = new.ttl, updated_at = clock_timestamp()
  where s.source_packet = new.packet_id and s.ttl is distinct from new.ttl;
  if not exists (select from public.world_model_updates u where u.source_packet = new.packet_id) then
    return null;
  end if;
  -- Every transaction locks worlds in the order of their ids, so that two can't deadlock.
  perform world_model.lock_world(w.audience_id) from (values (target), (former)) as w (audience_id) group by w.audience_id order by w.audience_id;
  for world_update in
    select u.update_id, u.audience_id, u.state_version_after from public.world_model_updates u
    where u.source_packet = new.packet_id order by u.state_version_after
  loop
    if world_update.audience_id = target then
      update public.world_model_updates u set ttl = new.ttl, updated_at = clock_timestamp() where u.update_id = world_update.update_id;
    else
      update world_model.worlds w set state_version = w.state_version + 1 where w.audience_id = target
      returning w.state_version into next_version;
      -- A restore loses its reference, which is to a version of the former world.
      update public.world_model_updates u
      set tenant_id = new.tenant_id, org_id = new.org_id, user_id = new.user_id, project_id = new.project_id, scope = new.scope,
        ttl = new.ttl, state_version_before = next_version - 1, state_version_after = next_version,
        restored_version = null, restored_versions = null, updated_at = clock_timestamp()
      where u.update_id = world_update.update_id;
      insert into world_model.stale_worlds (audience_id, state_version)
      values (world_update.audience_id, world_update.state_version_after);
    end if;
  end loop;
  insert into world_model.stale_worlds (audience_id) values (target);
  return null;
end
$$;

comment on function world_model.tg_packet_store__worlds_follow() is
  'Moves updates with their memory: they become the newest updates of the other world. Definer: callers can''t write these tables.';

call derived.follow_packets('_620_worlds_follow', 'world_model.tg_packet_store__worlds_follow');

create function world_model.tg_packet_store__recompute_worlds()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  stale record;
begin
  for stale in
    with deleted as (delete from world_model.stale_worlds returning audience_id, state_version)
    select d.audience_id, coalesce(array_agg(d.state_version) filter (where d.state_version is not null), '{}') as lost_versions
    from deleted d group by d.audience_id order by d.audience_id
  loop
    perform world_model.recompute_world_without(stale.audience_id, stale.lost_versions);
  end loop;
  return null;
end
$$;

comment on function world_model.tg_packet_store__recompute_worlds() is
  'Recomputes, at the end of a statement that moved memories, the worlds that lost or gained updates. Definer: callers can''t write these tables.';

create trigger _690_recompute_worlds after update of tenant_id, org_id, user_id, project_id, scope, ttl on public.packet_store
  for each statement execute function world_model.tg_packet_store__recompute_worlds();
