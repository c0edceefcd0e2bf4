create function world_model.write_world_restore(source_packet uuid, snapshot text, expected_version integer)
returns public.world_model_updates
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source public.packet_store := derived.lock_source_memory(source_packet);
  world uuid := packets.audience_id(source.tenant_id, source.org_id, source.user_id, source.project_id, source.scope);
  version integer := world_model.next_world_version(world, expected_version);
  wanted integer;
  lineage int4multirange;
  applied public.world_model_updates;
begin
  if snapshot ~ '^\d{1,9}$' then
    wanted := snapshot::integer;
    if wanted >= version then
      perform identity.raise_error('L9VAL', format('snapshot: the world is at version %s', version - 1), 'snapshot');
    end if;
    lineage := world_model.world_lineage(world, wanted);
  else
    if snapshot is null or not pg_input_is_valid(snapshot, 'uuid') then
      perform identity.raise_error('L9VAL', 'snapshot: the id of a snapshot, or a version', 'snapshot');
    end if;
    select s.state_version, s.snapshot into wanted, lineage from public.world_model_snapshots s
    where s.snapshot_id = write_world_restore.snapshot::uuid and s.audience_id = world and (s.ttl is null or s.ttl > now());
    if not found then
      perform identity.raise_error('L9OWN',
        format('snapshot: snapshot %s is not there, or not yours, or of another world', write_world_restore.snapshot), 'snapshot');
    end if;
  end if;
  insert into public.world_model_updates as u (
    source_packet, insight_id, insight_type, restored_version, restored_versions, state_version_before, state_version_after)
  values (source.packet_id, source.packet_id, 'restore', wanted, lineage, version - 1, version)
  returning u.* into applied;
  perform world_model.recompute_world(world, false);
  return applied;
end
$$;

comment on function world_model.write_world_restore(uuid, text, integer) is
  'restore_world() for a memory that is there. Definer: callers can''t write these tables. The caller must see the memory, and may write where it is.';

create function public.restore_world(
  snapshot text,
  expected_version integer default null,
  source_packet uuid default null,
  scope text default 'developer',
  project_id text default null
)
returns public.world_model_updates
language plpgsql
volatile
set search_path = ''
as $$
declare
  packet_id uuid := source_packet;
  back_to world_model.world_point;
begin
  perform identity.require_identity();
  if snapshot is null then
    perform identity.raise_error('L9VAL', 'snapshot: the id of a snapshot, or a version', 'snapshot');
  end if;
  if packet_id is null then
    back_to := world_model.world_point(snapshot, 'snapshot', scope, project_id);
    if back_to.audience_id <> (world_model.reach_world(back_to.scope, back_to.project_id)).audience_id then
      perform identity.raise_error('L9VAL',
        'source_packet: the snapshot is of the world of another org or user; name a memory of theirs that says why', 'source_packet');
    end if;
    packet_id := (
      (public.save_memory(
        content => format('The world is restored to version %s, %s', back_to.state_version, clock_timestamp()),
        scope => back_to.scope, project_id => back_to.project_id, kind => 'insight')).memory).packet_id;
  end if;
  return world_model.write_world_restore(packet_id, snapshot, expected_version);
end
$$;

comment on function public.restore_world(text, integer, uuid, text, text) is
  'Brings a world back to a snapshot (its id) or to a former version, as a new version: an update of insight_type restore, which refers to it and copies nothing. Without source_packet a memory of kind insight is saved that says so. What was erased does not come back. Errors: L9VAL, L9SCP, L9OWN, L9AUT.';

grant execute on function world_model.write_world_restore(uuid, text, integer) to l9_agent, l9_admin;
grant execute on function public.restore_world(text, integer, uuid, text, text) to l9_agent, l9_admin;
