create table public.world_model_updates (
  update_id uuid primary key default uuidv7(),
  source_packet uuid not null references public.packet_store on delete cascade,
  insight_id uuid not null,
  insight_type text not null,
  entities jsonb not null default '[]',
  content text,
  confidence double precision not null default 1,
  restored_version integer,
  restored_versions int4multirange,
  applied_at timestamptz not null default clock_timestamp(),
  state_version_before integer not null,
  state_version_after integer not null,
  audience_id uuid not null generated always as (packets.audience_id(tenant_id, org_id, user_id, project_id, scope)) stored,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint world_versions_once unique (audience_id, state_version_after),
  constraint world_versions_rise check (state_version_before >= 0 and state_version_after = state_version_before + 1),
  constraint world_update_type_plain check (insight_type ~ '^[a-z][a-z0-9_]{0,62}$'),
  constraint world_update_entities_list check (jsonb_typeof(entities) = 'array'),
  constraint world_update_confidence check (confidence between 0 and 1),
  constraint world_update_restores check (
    (restored_version is null) = (restored_versions is null) and (restored_version is null or insight_type = 'restore'))
);

alter table public.world_model_updates
  alter column entities set statistics 0, alter column content set statistics 0, alter column insight_type set statistics 0;

create index world_model_updates_source_idx on public.world_model_updates (source_packet);
create index world_model_updates_readers_idx on public.world_model_updates (tenant_id, scope, applied_at);
create index world_model_updates_restores_idx on public.world_model_updates (audience_id, state_version_after)
  where restored_versions is not null;

comment on table public.world_model_updates is
  'What changed the world, an insight a row, in the order of their versions: the world is these folded, and nothing else.';
comment on column public.world_model_updates.update_id is 'UUID version 7.';
comment on column public.world_model_updates.source_packet is 'The memory that the insight comes from: with it goes what it changed.';
comment on column public.world_model_updates.insight_id is 'The caller''s own id of the insight, else the memory''s.';
comment on column public.world_model_updates.insight_type is 'What sort of insight: a lower-case word. restore: the world went back to restored_version.';
comment on column public.world_model_updates.entities is
  'What it says of which entities: entity_id, entity_type, attributes (set, or with null taken away), confidence, delete.';
comment on column public.world_model_updates.content is 'The insight in words.';
comment on column public.world_model_updates.confidence is 'How sure it is, from 0 to 1.';
comment on column public.world_model_updates.restored_version is 'Of a restore: the version that the world went back to.';
comment on column public.world_model_updates.restored_versions is 'Of a restore: the versions whose updates made that up.';
comment on column public.world_model_updates.applied_at is 'When it was applied.';
comment on column public.world_model_updates.state_version_before is 'The version that the world was at.';
comment on column public.world_model_updates.state_version_after is 'The version that it made.';
comment on column public.world_model_updates.audience_id is 'Its world: one for each owner, project and scope.';

-- It follows its source by a trigger of its own: in another world it needs another version.
call derived.derive_from_packets('public.world_model_updates', 'update_id', follows => false);
