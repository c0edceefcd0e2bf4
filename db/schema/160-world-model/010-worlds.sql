create table world_model.worlds (
  audience_id uuid primary key,
  state_version integer not null default 0
);

comment on table world_model.worlds is
  'How far the versions of each world have come. Apart from the updates, so that no number comes twice when updates are erased.';
comment on column world_model.worlds.state_version is 'The version that the world is at. Whoever changes the world holds the lock of this row.';

create table world_model.removed_entities (
  audience_id uuid not null references world_model.worlds,
  entity_key text not null,
  version integer not null,
  primary key (audience_id, entity_key)
);
alter table world_model.removed_entities alter column entity_key set statistics 0;

comment on table world_model.removed_entities is
  'Entities that are no more, for as long as an update still speaks of them: should they come back, their versions go on.';
comment on column world_model.removed_entities.entity_key is 'As entity_id_normalized.';
comment on column world_model.removed_entities.version is 'The last version that it had.';

create table world_model.stale_worlds (
  audience_id uuid not null,
  state_version integer
);

comment on table world_model.stale_worlds is
  'Worlds to be worked out again before the statement that moves memories ends: a trigger for each row writes it, one for the statement works it off.';
comment on column world_model.stale_worlds.state_version is 'The version of an update that has left; null: updates have come, or live longer or shorter.';

do $$
declare
  name text;
begin
  foreach name in array array['worlds', 'removed_entities', 'stale_worlds'] loop
    execute format('alter table world_model.%I enable row level security', name);
    execute format('alter table world_model.%I force row level security', name);
    execute format('create policy definer_functions on world_model.%I to l9_owner using (true)', name);
    execute format('comment on policy definer_functions on world_model.%I is %L', name,
      'Functions of the owner alone, which know the world from a memory that the caller sees.');
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
  'The version that a world is at, 0 for a new one; until the end of the transaction nobody else changes it. Not executable by callers.';
