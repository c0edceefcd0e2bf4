-- Updates and snapshots follow their memory when it moves to other readers or is to expire at another time.
create function world_model.tg_packet_store__worlds_follow() returns trigger
language plpgsql security definer set search_path = '' as $$
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
  perform world_model.lock_world(w.audience_id) from (values (target), (former)) as w (audience_id) group by w.audience_id
    order by w.audience_id;
  for world_update in
    select u.update_id, u.audience_id, u.state_version_after from public.world_model_updates u
    where u.source_packet = new.packet_id order by u.state_version_after
  loop
    if world_update.audience_id = target then
      update public.world_model_updates u set ttl = new.ttl, updated_at = clock_timestamp()
      where u.update_id = world_update.update_id;
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
end $$;
comment on function world_model.tg_packet_store__worlds_follow is 'Moves updates with their memory: they become the newest '
  'updates of the other world. Definer: callers can''t write these tables.';

call derived.follow_packets('_620_worlds_follow', 'world_model.tg_packet_store__worlds_follow');

create function world_model.tg_packet_store__recompute_worlds() returns trigger
language plpgsql security definer set search_path = '' as $$
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
end $$;
comment on function world_model.tg_packet_store__recompute_worlds is 'Recomputes, at the end of a statement that moved memories, '
  'the worlds that lost or gained updates. Definer: callers can''t write these tables.';

create trigger _690_recompute_worlds after update of tenant_id, org_id, user_id, project_id, scope, ttl on public.packet_store
  for each statement execute function world_model.tg_packet_store__recompute_worlds();
