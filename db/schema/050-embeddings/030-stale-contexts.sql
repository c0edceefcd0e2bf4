-- The queue of memories whose context must be made again. Triggers fill it, and the embedding job works through it.

create table embeddings.stale_contexts (
  -- No foreign key: rows are inserted while memories are being deleted, and the job checks whether the memory still exists.
  packet_id uuid primary key
);

comment on table embeddings.stale_contexts is 'Queue of memories whose context must be created again.';
comment on column embeddings.stale_contexts.packet_id is 'The memory, which may have been deleted since.';

alter table embeddings.stale_contexts enable row level security;
alter table embeddings.stale_contexts force row level security;

create policy worker_access on embeddings.stale_contexts to l9_worker using (true);
create policy definer_functions on embeddings.stale_contexts to l9_owner using (true);
comment on policy worker_access on embeddings.stale_contexts is 'Jobs work through the queue.';
comment on policy definer_functions on embeddings.stale_contexts is 'Triggers insert memories into the queue.';

grant select, insert, delete on embeddings.stale_contexts to l9_worker;
