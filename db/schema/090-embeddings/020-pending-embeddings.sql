-- The queue of memories that wait for their vectors. Triggers of packet_store fill it, and the embedding job works through it.
create table embeddings.pending_embeddings (
  packet_id uuid not null references public.packet_store on delete cascade,
  model text not null references public.embedding_models on delete cascade,
  enqueued_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  leased_until timestamptz,
  last_error text,
  next_chunk integer not null default 0,
  primary key (packet_id, model),
  constraint pending_chunk_not_negative check (next_chunk >= 0)
);

create index pending_embeddings_due_idx on embeddings.pending_embeddings (model, next_attempt_at);
create index pending_embeddings_turn_idx on embeddings.pending_embeddings (model, next_chunk, enqueued_at desc);
call identity.describe('embeddings.pending_embeddings', 'Queue of memories that wait for their vectors. A row is inserted in the
    transaction of the save and deleted in the transaction that stores the vectors, so no memory is lost or embedded twice.
  model: The model that the memory waits for: the one that serves and, during a model change, also the one that arrives.
  leased_until: A job works on the memory until this time; after it, another job may lease the row.
  attempts: Number of times that the content of this memory was refused or failed.
  next_chunk: 0: nothing is embedded yet. Above: the text as a whole has its vector, as have the chunks before this one, of the
    content first and then of the steps. Chunks of a long memory are embedded a few at a time, in turns with other memories.
  last_error: Name of the last error. It never holds a text of the memory.');

call identity.keep_private('embeddings.pending_embeddings',
  jobs => 'Jobs work through the queue.',
  functions => 'Triggers of packet_store insert memories into the queue.');

grant select, insert (packet_id, model), update, delete on embeddings.pending_embeddings to l9_worker;

create function embeddings.enqueue_memory(packet_id uuid) returns void language sql volatile set search_path = ''
begin atomic
  insert into embeddings.pending_embeddings (packet_id, model)
  select enqueue_memory.packet_id, m.model from public.embedding_models m where m.state in ('serving', 'arriving')
  order by m.model
  on conflict (packet_id, model) do update
    set enqueued_at = clock_timestamp(), attempts = 0, next_attempt_at = now(), leased_until = null, last_error = null,
      next_chunk = 0;
end;
comment on function embeddings.enqueue_memory is 'Queues a changed memory, afresh, for each model that serves or arrives.';
