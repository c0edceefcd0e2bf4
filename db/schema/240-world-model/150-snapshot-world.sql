-- Records the current version of a world under an id. Callers reach snapshot_world() over GraphQL and psql.
create function world_model.write_world_snapshot(source_packet uuid, description text) returns public.world_model_snapshots
language plpgsql volatile security definer set search_path = '' as $$
declare
  source public.packet_store := derived.lock_source_memory(source_packet);
  world uuid := packets.audience_id(source.tenant_id, source.org_id, source.user_id, source.project_id, source.scope);
  current_version integer := world_model.lock_world(world);
  lineage int4multirange := world_model.world_lineage(world, current_version);
  size world_model.world_size := world_model.measure_world(world, lineage);
  saved public.world_model_snapshots;
begin
  perform identity.check_bytes(write_world_snapshot.description, world_model.max_description_bytes(), 'description');
  insert into public.world_model_snapshots as s (
    snapshot, state_version, entity_count, relation_count, description, created_by, source_packet)
  values (
    lineage, current_version, size.entity_count, size.relation_count, write_world_snapshot.description,
    coalesce(identity.current_caller(), 'job'), source.packet_id)
  returning s.* into saved;
  return saved;
end $$;
comment on function world_model.write_world_snapshot is 'Does the work of snapshot_world() for an existing memory. The caller '
  'must see the memory and may write in its scope and project. Definer: callers can''t write these tables.';

create function public.snapshot_world(description text default null, scope text default 'developer', project_id text default null,
  source_packet uuid default null) returns public.world_model_snapshots
language plpgsql volatile set search_path = '' as $$
begin
  perform identity.require_identity();
  perform identity.check_bytes(description, world_model.max_description_bytes(), 'description');
  return world_model.write_world_snapshot(
    derived.packet_for(
      'world_snapshot', concat_ws(' ', 'Snapshot of the world,', clock_timestamp()::text, nullif(': ' || description, ': ')),
      scope, project_id, source_packet),
    description);
end $$;
comment on function public.snapshot_world is 'Records the current version of the world of a scope and project (or of the world '
  'of source_packet), to compare with and to restore later. Without source_packet a memory of kind world_snapshot is saved; the '
  'snapshot is deleted with it. A snapshot holds no copy of the world. Errors: L9LIM, L9SCP, L9VAL, L9OWN, L9AUT.';
grant execute on function world_model.write_world_snapshot to l9_agent, l9_admin;
grant execute on function public.snapshot_world to l9_agent, l9_admin;
