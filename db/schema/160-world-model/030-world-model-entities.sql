create table public.world_model_entities (
  entity_row_id uuid primary key default uuidv7(),
  entity_id text not null,
  entity_id_normalized text not null generated always as (entities.normalise_name(entity_id)) stored,
  entity_type text not null,
  attributes jsonb not null,
  confidence double precision not null,
  version integer not null,
  -- No foreign key. When a memory goes its updates do, and the entities are worked out again in the same statement, under the
  -- lock of the world; to name another memory with a key would be to wait for it, which may be going, too, and waiting for us.
  source_packet uuid not null,
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
  constraint world_entity_once unique (audience_id, entity_id_normalized),
  constraint world_entity_confidence check (confidence between 0 and 1),
  constraint world_entity_version check (version > 0)
);

alter table public.world_model_entities
  alter column entity_id set statistics 0, alter column entity_id_normalized set statistics 0,
  alter column entity_type set statistics 0, alter column attributes set statistics 0;

create index world_model_entities_source_idx on public.world_model_entities (source_packet);
create index world_model_entities_readers_idx on public.world_model_entities (tenant_id, scope, entity_type);
create index world_model_entities_expiry_idx on public.world_model_entities (audience_id, ttl) where ttl is not null;

comment on table public.world_model_entities is
  'The world as it is now: what all updates of a world make up, entity by entity. Worked out from world_model_updates, and again whenever one of those goes.';
comment on column public.world_model_entities.entity_row_id is 'UUID version 7, for references; entity_id is its name.';
comment on column public.world_model_entities.entity_id is 'Its name, as it was last spelt.';
comment on column public.world_model_entities.entity_id_normalized is 'The name as it is compared: Unicode NFKC, lower case, white space collapsed.';
comment on column public.world_model_entities.entity_type is 'What sort of thing it is.';
comment on column public.world_model_entities.attributes is 'What holds of it: for each key the value that was said last.';
comment on column public.world_model_entities.confidence is 'How sure the last update was of it, from 0 to 1.';
comment on column public.world_model_entities.version is 'Rises by one with each change.';
comment on column public.world_model_entities.source_packet is 'The memory behind the last update of it.';
comment on column public.world_model_entities.audience_id is 'Its world: one for each owner, project and scope.';

call derived.derive_from_packets('public.world_model_entities', 'entity_row_id', follows => false);
comment on column public.world_model_entities.ttl is
  'When the first of the memories behind it expires: from then on nobody reads it, until it is worked out again without that memory.';

-- Its room is that of the updates it is folded from, which took theirs from the source: nobody is asked again, since whoever
-- deletes a memory has others'' updates folded.
drop trigger _300_take_from_source on public.world_model_entities;

create function world_model.tg_world_model_entities__take_from_update()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  select u.tenant_id, u.org_id, u.user_id, u.project_id, u.scope, u.creator
  into strict new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope, new.creator
  from public.world_model_updates u
  where u.source_packet = new.source_packet
  limit 1;
  new.created_at := clock_timestamp();
  new.updated_at := new.created_at;
  return new;
end
$$;

comment on function world_model.tg_world_model_entities__take_from_update() is
  'An entity is its updates'' owner''s, in their project and scope. Definer: callers can''t write entities.';

create trigger _300_take_from_update before insert on public.world_model_entities
  for each row execute function world_model.tg_world_model_entities__take_from_update();

create function world_model.tg_world_model_entities__record_removal()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into world_model.removed_entities as d (audience_id, entity_key, version)
  values (old.audience_id, old.entity_id_normalized, old.version)
  on conflict (audience_id, entity_key) do update set version = greatest(d.version, excluded.version);
  return null;
end
$$;

comment on function world_model.tg_world_model_entities__record_removal() is
  'Remembers how far the versions of an entity had come. Definer: callers don''t see that list.';

create trigger _610_record_removal after delete on public.world_model_entities
  for each row execute function world_model.tg_world_model_entities__record_removal();
