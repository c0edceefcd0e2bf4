-- The version counter of each world. Whatever changes a world takes its next version or its lock here first, so that
-- changes of one world follow one another.
create table world_model.worlds (
  audience_id uuid primary key,
  state_version integer not null default 0
);
call identity.describe('world_model.worlds', 'The current version number of each world. It is a table of its own so that no
    version number is used twice, even after updates were erased.
  state_version: The current version of the world. A transaction that changes the world locks this row.');
call identity.keep_private('world_model.worlds',
  functions => 'Only functions of the owner read and write it; they take the world from a memory that the caller may read.');

create function world_model.lock_world(audience_id uuid) returns integer language plpgsql volatile set search_path = '' as $$
declare
  version integer;
begin
  insert into world_model.worlds (audience_id) values (lock_world.audience_id) on conflict do nothing;
  select w.state_version into version from world_model.worlds w where w.audience_id = lock_world.audience_id for update;
  return version;
end $$;
comment on function world_model.lock_world is 'Locks a world until the transaction ends; returns its version, 0 if new.';

create function world_model.take_next_version(audience_id uuid, expected_version integer) returns integer
language plpgsql volatile set search_path = '' as $$
declare
  version integer := world_model.lock_world(audience_id);
begin
  if expected_version <> version then
    perform identity.raise_error('L9VAL', format('expected_version: the world is at version %s', version),
      hint => 'Read the world again, then decide.');
  end if;
  update world_model.worlds w set state_version = version + 1 where w.audience_id = take_next_version.audience_id;
  return version + 1;
end $$;
comment on function world_model.take_next_version is 'Takes a world''s next version and locks it; else raises L9VAL.';
