create table world_model.worlds (
  audience_id uuid primary key,
  state_version integer not null default 0
);

comment on table world_model.worlds is
  'The current version number of each world. It is a table of its own so that no version number is used twice, even after updates were erased.';
comment on column world_model.worlds.state_version is
  'The current version of the world. A transaction that changes the world locks this row.';

create table world_model.removed_entities (
  audience_id uuid not null references world_model.worlds,
  entity_key text not null,
  version integer not null,
  primary key (audience_id, entity_key)
);
alter table world_model.removed_entities alter column entity_key set statistics 0;

comment on table world_model.removed_entities is
  'The last version of each removed entity, kept while an update still names the entity: if the entity comes back, its version numbers continue.';
comment on column world_model.removed_entities.entity_key is 'The name of the entity, normalised as in entity_id_normalized.';
comment on column world_model.removed_entities.version is 'The last version that the entity had.';

create table world_model.stale_worlds (
  audience_id uuid not null,
  state_version integer
);

comment on table world_model.stale_worlds is
  'Worlds to recompute before the statement that moves memories ends. A row trigger inserts them; a statement trigger deletes and recomputes them.';
comment on column world_model.stale_worlds.state_version is
  'The version of an update that left the world; null when updates were added or their expiry changed.';

do $$
declare
  name text;
begin
  foreach name in array array['worlds', 'removed_entities', 'stale_worlds'] loop
    execute format('alter table world_model.%I enable row level security', name);
    execute format('alter table world_model.%I force row level security', name);
    execute format('create policy definer_functions on world_model.%I to l9_owner using (true)', name);
    execute format('comment on policy definer_functions on world_model.%I is %L', name,
      'Only functions of the owner read and write it; they take the world from a memory that the caller may read.');
  end loop;
end
$$;

create function world_model.lock_world(audience_id uuid)
returns integer
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  version integer;
begin
  insert into world_model.worlds (audience_id) values (lock_world.audience_id) on conflict do nothing;
  select w.state_version into version from world_model.worlds w where w.audience_id = lock_world.audience_id for update;
  return version;
end
$$;

comment on function world_model.lock_world(uuid) is
  'Locks a world until the end of the transaction and returns its current version, 0 for a new one. Not executable by callers.';
