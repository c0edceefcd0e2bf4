-- The event log of worlds, from which all else in this chapter is computed. apply_world_update(), restore_world() and
-- facts add rows; callers read them over GraphQL.
create table public.world_model_updates (
  update_id uuid primary key default uuidv7(),
  source_packet uuid not null references public.packet_store on delete cascade,
  insight_id uuid not null,
  insight_type text not null,
  fact_id uuid,
  entities jsonb not null default '[]',
  content text,
  confidence double precision not null default 1,
  agent text not null,
  is_from_admin boolean not null,
  outranked jsonb not null default '[]',
  restored_version integer,
  restored_versions int4multirange,
  applied_at timestamptz not null default clock_timestamp(),
  state_version_before integer not null,
  state_version_after integer not null,
  audience_id uuid not null generated always as (packets.audience_id(tenant_id, org_id, user_id, project_id, scope)) stored,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz, creator text not null, created_at timestamptz not null, updated_at timestamptz not null,
  constraint world_versions_once unique (audience_id, state_version_after),
  constraint world_versions_rise check (state_version_before >= 0 and state_version_after = state_version_before + 1),
  constraint world_update_type_plain check (insight_type ~ packets.kind_pattern()),
  constraint world_update_entities_list check (jsonb_typeof(entities) = 'array'),
  constraint world_update_outranked_list check (jsonb_typeof(outranked) = 'array'),
  constraint world_update_confidence check (confidence between 0 and 1),
  constraint world_update_restores check (
    (restored_version is null) = (restored_versions is null) and (restored_version is null or insight_type = 'restore'))
);
alter table public.world_model_updates
  alter column entities set statistics 0, alter column content set statistics 0, alter column outranked set statistics 0,
  alter column insight_type set statistics 0;
create index world_model_updates_source_idx on public.world_model_updates (source_packet);
create index world_model_updates_readers_idx on public.world_model_updates (tenant_id, scope, applied_at);
create index world_model_updates_fact_idx on public.world_model_updates (fact_id) where fact_id is not null;
create index world_model_updates_restores_idx on public.world_model_updates (audience_id, state_version_after)
  where restored_versions is not null;
call identity.describe('public.world_model_updates', 'Event log of a world, one insight a row. The current state of the world is
    the fold of these rows in version order, an administrator''s before an agent''s, and nothing else.
  update_id: UUID version 7.
  source_packet: The memory that the insight comes from. When it is deleted, this row is deleted too and its changes are undone.
  insight_id: The id that the caller gave to the insight; by default the id of the memory.
  insight_type: The type of the insight, a lower-case word. An update of type restore takes the world back to restored_version.
  fact_id: The fact whose value the update brings into the world; null for an insight.
  entities: The changes, one object for each entity: entity_id, entity_type, attributes (merged key by key; null removes a key),
    confidence, delete (true removes the entity).
  content: The insight in words.
  confidence: The confidence in the insight, from 0 to 1.
  agent: The creator name of the agent whose statement it is; of an update by a fact, of the agent that states the fact.
  is_from_admin: True if that agent was an administrator when it made the statement.
  outranked: What did not change the world because an administrator had set it: objects of entity_id and keys, with names of
    attributes, entity_type or delete.
  restored_version: For a restore: the version that the world went back to. Null for other updates.
  restored_versions: For a restore: the versions of the updates that make up the restored state. Null for other updates.
  applied_at: The time when the update was applied.
  state_version_before: The version of the world before this update.
  state_version_after: The version of the world after this update.
  audience_id: The world. There is one for each owner (tenant, org, user), project and scope.');

-- A trigger of its own (tg_packet_store__worlds_follow) moves updates with their source: in another world they need a new
-- version.
call derived.derive_from_packets('public.world_model_updates', 'update_id', follows => false);
create trigger _320_stamp_statement before insert on public.world_model_updates
  for each row when (new.fact_id is null) execute function derived.tg__stamp_statement('source_packet');
-- The entities have been folded into the world by their names, so they are refused rather than redacted.
call secrets.guard_table('public.world_model_updates',
  array['correlation_id', 'session_id', 'trace_id', 'insight_type', 'agent'], redacts => false);

create function world_model.tg_world_model_updates__recompute() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform world_model.recompute_world_without(stale.audience_id, stale.lost_versions)
  from (
    select o.audience_id, array_agg(o.state_version_after) as lost_versions
    from old_rows o group by o.audience_id order by o.audience_id) stale;
  return null;
end $$;
comment on function world_model.tg_world_model_updates__recompute is 'Recomputes worlds whose updates were deleted with their '
  'memories. Definer: callers can''t write these tables.';

-- A statement that deletes memories fires this once, after foreign keys have deleted the updates of all of them.
create trigger _600_recompute after delete on public.world_model_updates referencing old table as old_rows
  for each statement execute function world_model.tg_world_model_updates__recompute();
