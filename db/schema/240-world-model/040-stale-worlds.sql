-- A list that is empty outside a statement: the row trigger that moves updates with their memories notes worlds here,
-- and the statement trigger recomputes each of them once.
create table world_model.stale_worlds (
  audience_id uuid not null,
  state_version integer
);
comment on table world_model.stale_worlds is 'Worlds to recompute before the statement that moves memories ends. A row trigger '
  'inserts them; a statement trigger deletes and recomputes them.';
comment on column world_model.stale_worlds.state_version is 'The version of an update that left the world; null when updates '
  'were added or their expiry changed.';
call identity.keep_private('world_model.stale_worlds',
  functions => 'Only functions of the owner read and write it; they take the world from a memory that the caller may read.');
