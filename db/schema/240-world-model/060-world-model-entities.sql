-- The current entities of each world, stored so that reading them folds nothing. merge_into_entity() and
-- recompute_world() write them; get_world_model() and GraphQL read them.
create table public.world_model_entities (
  entity_row_id uuid primary key default uuidv7(),
  entity_id text not null,
  entity_id_normalized text not null generated always as (entities.normalise_name(entity_id)) stored,
  entity_type text not null,
  attributes jsonb not null,
  set_by jsonb not null,
  type_set_by jsonb,
  is_from_admin boolean not null default false,
  confidence double precision not null,
  version integer not null,
  -- A foreign key here could deadlock with a concurrent delete of that memory. None is needed: deleting a memory deletes its
  -- updates, and the same statement recomputes the entities under the lock of the world.
  source_packet uuid not null,
  audience_id uuid not null generated always as (packets.audience_id(tenant_id, org_id, user_id, project_id, scope)) stored,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz, creator text not null, created_at timestamptz not null, updated_at timestamptz not null,
  constraint world_entity_once unique (audience_id, entity_id_normalized),
  constraint world_entity_confidence check (confidence between 0 and 1),
  constraint world_entity_version check (version > 0)
);
alter table public.world_model_entities
  alter column entity_id set statistics 0, alter column entity_id_normalized set statistics 0,
  alter column entity_type set statistics 0, alter column attributes set statistics 0,
  alter column set_by set statistics 0, alter column type_set_by set statistics 0;
create index world_model_entities_source_idx on public.world_model_entities (source_packet);
create index world_model_entities_readers_idx on public.world_model_entities (tenant_id, scope, entity_type);
create index world_model_entities_expiry_idx on public.world_model_entities (audience_id, ttl) where ttl is not null;
call identity.describe('public.world_model_entities', 'The current state of each world, one entity a row. It is computed from
    world_model_updates, and recomputed whenever one of those is deleted or moves.
  entity_row_id: UUID version 7, for references from other rows. The name of the entity is entity_id.
  entity_id: The name of the entity, as an administrator spelled it first or, if none named it, an agent.
  entity_id_normalized: The name as it is compared: Unicode NFKC, lower case, white space collapsed.
  entity_type: The type of the entity, such as service.
  attributes: The attributes of the entity: for each key the value that an administrator set last or, if none did, an agent.
  set_by: Who set each attribute: for each key the creator and source of who set it last, its memory (packet_id) and
    is_from_admin.
  type_set_by: Who set the type, in the same form; null if nobody did.
  is_from_admin: True if an administrator updated the entity: name, confidence and source are then those of its last update by an
    administrator.
  confidence: The confidence of the last update of the entity that counts, from 0 to 1.
  version: The version of the entity. It rises by one with each change.
  source_packet: The memory behind the last update of the entity that counts.
  audience_id: The world. There is one for each owner (tenant, org, user), project and scope.');

call derived.derive_from_packets('public.world_model_entities', 'entity_row_id', follows => false, takes_from_source => false,
  evidence_table => 'world_model_updates', evidence_column => 'source_packet');
comment on column public.world_model_entities.creator is 'Who made the last update of the entity.';
comment on column public.world_model_entities.source is 'The source of who made the last update of the entity.';
comment on column public.world_model_entities.ttl is 'The time when the first of the memories behind the entity expires. From '
  'then on the row is hidden, until it is recomputed without that memory.';

-- An entity takes its owner and scope from the updates it is folded from, which took theirs from their source. It does not ask
-- for the caller's permission again, because deleting a memory refolds other callers' updates, too.

create function world_model.tg_world_model_entities__take_from_update() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  select u.tenant_id, u.org_id, u.user_id, u.project_id, u.scope
  into strict new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope
  from public.world_model_updates u where u.source_packet = new.source_packet limit 1;
  new.created_at := clock_timestamp();
  new.updated_at := new.created_at;
  return new;
end $$;
comment on function world_model.tg_world_model_entities__take_from_update is 'Gives an entity the owner, project and scope of '
  'its updates. Definer: callers can''t write entities.';

create trigger _300_take_from_update before insert on public.world_model_entities
  for each row execute function world_model.tg_world_model_entities__take_from_update();

create function world_model.tg_world_model_entities__record_removal() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into world_model.removed_entities as d (audience_id, entity_key, version)
  values (old.audience_id, old.entity_id_normalized, old.version)
  on conflict (audience_id, entity_key) do update set version = greatest(d.version, excluded.version);
  return null;
end $$;
comment on function world_model.tg_world_model_entities__record_removal is 'Records the last version of an entity that is '
  'removed. Definer: callers can''t write removed_entities.';

create trigger _610_record_removal after delete on public.world_model_entities
  for each row execute function world_model.tg_world_model_entities__record_removal();
