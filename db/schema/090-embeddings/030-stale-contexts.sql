-- The queue of memories whose context must be made again. Triggers fill it, and the embedding job works through it.
create table embeddings.stale_contexts (
  -- No foreign key: rows are inserted while memories are being deleted, and the job checks whether the memory still exists.
  packet_id uuid primary key
);
call identity.describe('embeddings.stale_contexts', 'Queue of memories whose context must be created again.
  packet_id: The memory, which may have been deleted since.');

call identity.keep_private('embeddings.stale_contexts',
  jobs => 'Jobs work through the queue.',
  functions => 'Triggers insert memories into the queue.');

grant select, insert, delete on embeddings.stale_contexts to l9_worker;
