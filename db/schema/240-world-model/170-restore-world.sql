-- Takes a world back to an earlier version by an update of its own. Callers reach restore_world() over GraphQL and
-- psql; write_world_restore() does the work with the rights of the owner.
create function world_model.write_world_restore(source_packet uuid, snapshot text, expected_version integer)
returns public.world_model_updates
language plpgsql volatile security definer set search_path = '' as $$
declare
  source public.packet_store := derived.lock_source_memory(source_packet);
  world uuid := packets.audience_id(source.tenant_id, source.org_id, source.user_id, source.project_id, source.scope);
  version integer := world_model.take_next_version(world, expected_version);
  target_version integer;
  lineage int4multirange;
  applied public.world_model_updates;
begin
  if world_model.is_version_number(snapshot) then
    target_version := snapshot::integer;
    if target_version >= version then
      perform identity.raise_error('L9VAL', format('snapshot: at most %s, the current version of the world', version - 1));
    end if;
    lineage := world_model.world_lineage(world, target_version);
  else
    if snapshot is null or not pg_input_is_valid(snapshot, 'uuid') then
      perform identity.raise_error('L9VAL', 'snapshot: must be the id of a snapshot or a version');
    end if;
    select s.state_version, s.snapshot into target_version, lineage from public.world_model_snapshots s
    where s.snapshot_id = write_world_restore.snapshot::uuid and s.audience_id = world and (s.ttl is null or s.ttl > now());
    if not found then
      perform identity.raise_error('L9OWN',
        format('snapshot: snapshot %s does not exist, is not yours, or is of another world', write_world_restore.snapshot));
    end if;
  end if;
  if not derived.is_from_admin(source) then
    -- An agent takes back what agents have set. What administrators say now stays, and what they took back stays away.
    lineage := coalesce((
      select range_agg(int4range(u.state_version_after, u.state_version_after, '[]'))
      from public.world_model_updates u
      where u.audience_id = world and u.state_version_after <@ case
        when u.is_from_admin then world_model.world_lineage(world, version - 1) else lineage end), '{}');
  end if;
  insert into public.world_model_updates as u (
    source_packet, insight_id, insight_type, restored_version, restored_versions, state_version_before, state_version_after)
  values (source.packet_id, source.packet_id, 'restore', target_version, lineage, version - 1, version)
  returning u.* into applied;
  perform world_model.recompute_world(world, false);
  return applied;
end $$;
comment on function world_model.write_world_restore is 'Does the work of restore_world() for an existing memory. The caller must '
  'see the memory and may write in its scope and project. Definer: callers can''t write these tables.';

-- Refuses before anything is saved if the snapshot is of a world that a memory of the caller would not belong to: the
-- update takes its world from its memory.
create function public.restore_world(snapshot text, expected_version integer default null, source_packet uuid default null,
  scope text default 'developer', project_id text default null) returns public.world_model_updates
language plpgsql volatile set search_path = '' as $$
declare
  target world_model.world_version;
begin
  perform identity.require_identity();
  if snapshot is null then
    perform identity.raise_error('L9VAL', 'snapshot: must be the id of a snapshot or a version');
  end if;
  if source_packet is null then
    target := world_model.resolve_version(snapshot, 'snapshot', scope, project_id);
    if target.audience_id <> (world_model.resolve_world(target.scope, target.project_id)).audience_id then
      perform identity.raise_error('L9VAL',
        'source_packet: required, since the snapshot is of the world of another org or user; '
        'name a memory of theirs that gives the reason');
    end if;
  end if;
  return world_model.write_world_restore(
    derived.packet_for(
      'insight', format('The world is restored to version %s, %s', target.state_version, clock_timestamp()),
      target.scope, target.project_id, source_packet),
    snapshot, expected_version);
end $$;
comment on function public.restore_world is 'Takes a world back to a snapshot (by id) or to a former version, by an update of '
  'insight_type restore, which makes a new version. For an agent it takes back what agents have set; what administrators say '
  'stays. Without source_packet a memory of kind insight is saved that records the restore. Anything that was erased stays '
  'erased. Errors: L9VAL, L9SCP, L9OWN, L9AUT.';
grant execute on function world_model.write_world_restore to l9_agent, l9_admin;
grant execute on function public.restore_world to l9_agent, l9_admin;
