create function world_model.write_world_snapshot(source_packet uuid, description text)
returns public.world_model_snapshots
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source public.packet_store := derived.lock_source_memory(source_packet);
  world uuid := packets.audience_id(source.tenant_id, source.org_id, source.user_id, source.project_id, source.scope);
  at_version integer := world_model.lock_world(world);
  lineage int4multirange := world_model.world_lineage(world, at_version);
  size world_model.world_size := world_model.measure_world(world, lineage);
  made public.world_model_snapshots;
begin
  perform identity.check_bytes(write_world_snapshot.description, 1000, 'description');
  insert into public.world_model_snapshots as s (
    snapshot, state_version, entity_count, relation_count, description, created_by, source_packet)
  values (
    lineage, at_version, size.entity_count, size.relation_count, write_world_snapshot.description,
    coalesce(identity.current_caller(), 'job'), source.packet_id)
  returning s.* into made;
  return made;
end
$$;

comment on function world_model.write_world_snapshot(uuid, text) is
  'snapshot_world() for a memory that is there. Definer: callers can''t write these tables. The caller must see the memory, and may write where it is.';

create function public.snapshot_world(
  description text default null,
  scope text default 'developer',
  project_id text default null,
  source_packet uuid default null
)
returns public.world_model_snapshots
language plpgsql
volatile
set search_path = ''
as $$
declare
  packet_id uuid := source_packet;
begin
  perform identity.require_identity();
  perform identity.check_bytes(description, 1000, 'description');
  if packet_id is null then
    packet_id := (
      (public.save_memory(
        content => concat_ws(' ', 'Snapshot of the world,', clock_timestamp()::text, nullif(': ' || description, ': ')),
        scope => snapshot_world.scope, project_id => snapshot_world.project_id, kind => 'world_snapshot')).memory).packet_id;
  end if;
  return world_model.write_world_snapshot(packet_id, description);
end
$$;

comment on function public.snapshot_world(text, text, text, uuid) is
  'Notes the present version of the world of a scope and project (or of source_packet''s), to compare with and come back to. Without source_packet a memory of kind world_snapshot is saved; the snapshot goes with it. It holds no copy. Errors: L9LIM, L9SCP, L9VAL, L9OWN, L9AUT.';

grant execute on function world_model.write_world_snapshot(uuid, text) to l9_agent, l9_admin;
grant execute on function public.snapshot_world(text, text, text, uuid) to l9_agent, l9_admin;
