create table embeddings.pending_embeddings (
  packet_id uuid not null references public.packet_store on delete cascade,
  model text not null references public.embedding_models on delete cascade,
  enqueued_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  leased_until timestamptz,
  last_error text,
  primary key (packet_id, model)
);

create index pending_embeddings_due_idx on embeddings.pending_embeddings (model, next_attempt_at);

comment on table embeddings.pending_embeddings is
  'Memories that wait for their vectors. A row comes in the transaction of the save and goes in that of the vectors, so nothing is lost or embedded twice.';
comment on column embeddings.pending_embeddings.model is
  'The model they wait for: the one that serves, and while the model changes also the one that arrives.';
comment on column embeddings.pending_embeddings.leased_until is 'A job works on it until then; later, another may take it.';
comment on column embeddings.pending_embeddings.attempts is 'How often its own content was refused or failed.';
comment on column embeddings.pending_embeddings.last_error is 'Name of the last error. Never a text.';

alter table embeddings.pending_embeddings enable row level security;
alter table embeddings.pending_embeddings force row level security;

create policy worker_access on embeddings.pending_embeddings to l9_worker using (true);
create policy definer_functions on embeddings.pending_embeddings to l9_owner using (true);
comment on policy worker_access on embeddings.pending_embeddings is 'Jobs work the list off.';
comment on policy definer_functions on embeddings.pending_embeddings is 'Triggers of packet_store put memories on the list.';

grant select, insert (packet_id, model), update, delete on embeddings.pending_embeddings to l9_worker;
