-- A list that is empty outside a statement: the row trigger that moves updates with their memories notes worlds here,
-- and the statement trigger recomputes each of them once.
create table world_model.stale_worlds (
  audience_id uuid not null,
  state_version integer
);
call identity.describe('world_model.stale_worlds', 'Worlds to recompute before the statement that moves memories ends. A row
    trigger inserts them; a statement trigger deletes and recomputes them.
  state_version: The version of an update that left the world; null when updates were added or their expiry changed.');
call identity.keep_private('world_model.stale_worlds',
  functions => 'Only functions of the owner read and write it; they take the world from a memory that the caller may read.');
