-- The snapshots of worlds: lists of versions rather than copies. snapshot_world() writes them, and diff_world() and
-- restore_world() take their ids.
create table public.world_model_snapshots (
  snapshot_id uuid primary key default uuidv7(),
  snapshot int4multirange not null,
  state_version integer not null,
  entity_count integer not null,
  relation_count integer not null,
  description text,
  created_by text not null,
  source_packet uuid not null references public.packet_store on delete cascade,
  audience_id uuid not null generated always as (packets.audience_id(tenant_id, org_id, user_id, project_id, scope)) stored,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz, creator text not null, created_at timestamptz not null, updated_at timestamptz not null,
  constraint world_snapshot_description_short check (octet_length(description) <= world_model.max_description_bytes()),
  constraint world_snapshot_counts check (state_version >= 0 and entity_count >= 0 and relation_count >= 0)
);
alter table public.world_model_snapshots alter column description set statistics 0, alter column snapshot set statistics 0;
create index world_model_snapshots_source_idx on public.world_model_snapshots (source_packet);
create index world_model_snapshots_readers_idx on public.world_model_snapshots (tenant_id, scope, created_at);
create index world_model_snapshots_world_idx on public.world_model_snapshots (audience_id, state_version);
call identity.describe('public.world_model_snapshots', 'Versions of a world that can be compared and restored. A snapshot holds no
    copy: the updates that make it up are folded on request, so it never shows anything that was erased.
  snapshot_id: UUID version 7.
  snapshot: The versions of the updates that make up the snapshot; get_world_model(version => …) and diff_world() fold them.
  state_version: The version of the world when the snapshot was made.
  entity_count: The number of entities in the snapshot. Entities erased since are not counted.
  relation_count: The number of attribute values that name another entity of the snapshot. Entities erased since are not counted.
  description: The purpose of the snapshot in the words of its creator: at most 1000 bytes.
  created_by: The caller that made the snapshot.
  source_packet: The memory that records the snapshot. The snapshot is deleted when that memory is deleted or moves to another
    world.
  audience_id: The world. There is one for each owner (tenant, org, user), project and scope.');

call derived.derive_from_packets('public.world_model_snapshots', 'snapshot_id', follows => false);
call secrets.guard_table('public.world_model_snapshots', array['correlation_id', 'session_id', 'trace_id', 'created_by']);
