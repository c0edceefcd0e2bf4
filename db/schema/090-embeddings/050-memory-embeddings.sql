-- The vectors of memories. The embedding job writes them, and searches and the search for near-duplicates compare them.
create function embeddings.embedding_types() returns text[] language sql immutable parallel safe
return array['content', 'context', 'reasoning'];
comment on function embeddings.embedding_types is 'The types of texts that are embedded. Each has an index for each model.';
grant execute on function embeddings.embedding_types to l9_worker;

create table public.memory_embeddings (
  embedding_id uuid primary key default uuidv7(),
  packet_id uuid not null references public.packet_store on delete cascade,
  embedding_type text not null default 'content',
  model text not null references public.embedding_models,
  vector extensions.vector(1536) not null,
  chunk_index integer not null default 0,
  chunk_text text,
  context_id uuid references public.memory_contexts on delete cascade,
  metadata jsonb not null default '{}',
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, branch text, scope text not null,
  ttl timestamptz, correlation_id text, session_id text, trace_id text, created_at timestamptz not null default now(),
  constraint embedding_unique unique (packet_id, embedding_type, model, chunk_index),
  constraint embedding_type_known check (embedding_type = any (embeddings.embedding_types())),
  constraint embedding_of_context check ((embedding_type = 'context') = (context_id is not null)),
  constraint embedding_chunk_has_text check (chunk_index >= 0 and (chunk_index = 0) = (chunk_text is null)),
  constraint embedding_metadata_object check (jsonb_typeof(metadata) = 'object')
);

-- Most models fill only part of the 1536 dimensions. lz4 compresses the zeros behind them, so the row stays in one page. pglz
-- gives up if the first kilobyte does not compress, which is always so for a vector, and would move four times as much to the
-- TOAST table. The embedded engine does not support lz4.
alter table public.memory_embeddings alter column vector set storage extended;
do $$
begin
  alter table public.memory_embeddings alter column vector set compression lz4;
exception when feature_not_supported then
  null;
end $$;

create function embeddings.compared_vector_type() returns text language sql immutable parallel safe set search_path = ''
return case when packets.is_embedded_engine() then 'extensions.vector' else 'extensions.halfvec' end;
comment on function embeddings.compared_vector_type is 'The type of the vectors that searches compare: half precision on a '
  'server, where it takes half the space and is as fast. In WebAssembly, half precision is several times slower.';
grant execute on function embeddings.compared_vector_type to l9_agent, l9_admin, l9_platform_admin, l9_worker;

-- Searches read this column. To take a vector out of the padded one, every distance would decompress 6 kB and convert 384
-- numbers. It stays in the row, while the padded vector is moved out of it.
do $$
begin
  execute format(
    'alter table public.memory_embeddings add column compared_vector %s not null', embeddings.compared_vector_type());
end $$;
alter table public.memory_embeddings alter column compared_vector set storage main;
-- No plan depends on the frequency of vectors or texts.
alter table public.memory_embeddings
  alter column vector set statistics 0, alter column compared_vector set statistics 0, alter column chunk_text set statistics 0,
  alter column branch set statistics 0, alter column correlation_id set statistics 0, alter column session_id set statistics 0,
  alter column trace_id set statistics 0;

create index memory_embeddings_visible_idx on public.memory_embeddings (tenant_id, scope, project_id);
create index memory_embeddings_context_idx on public.memory_embeddings (context_id) where context_id is not null;
call identity.describe('public.memory_embeddings', 'Vectors of memories, whole and in chunks. Owner, project, scope and expiry are
    kept equal to those of the memory.
  embedding_id: UUID version 7.
  packet_id: The memory.
  tenant_id: Tenant of the memory.
  org_id: Org of the memory.
  user_id: User of the memory.
  project_id: Project of the memory.
  branch: Branch of the memory.
  scope: Scope of the memory.
  ttl: Time when the memory expires. After it nobody can read the row.
  correlation_id: Correlation id of the memory.
  session_id: Session of the memory.
  trace_id: Trace of the memory.
  created_at: Time when the text was embedded.
  embedding_type: Type of the text that was embedded: content, context (the memory with its predecessor in the thread) or
    reasoning.
  model: The model that made the vector.
  vector: L2-normalised, padded with zeros to 1536 dimensions. The gateway never sends it to clients.
  compared_vector: The same vector in the dimensions of its model, as indexes hold it and searches compare it; set by a trigger.
    Of type halfvec on a server, vector on the embedded engine.
  chunk_index: 0: the memory as a whole; 1 and up: its chunks in order.
  chunk_text: Text of a chunk; null for the whole.
  context_id: The context that a vector of type context was made from, and with which it is deleted; null for all other types.
  metadata: For a chunk: start and end, character offsets into the content.');

create function embeddings.tg_memory_embeddings__shorten() returns trigger language plpgsql volatile set search_path = '' as $$
begin
  new.compared_vector := extensions.subvector(new.vector, 1, coalesce(
    (select m.dimensions from public.embedding_models m where m.model = new.model), embeddings.max_dimensions()));
  return new;
end $$;
comment on function embeddings.tg_memory_embeddings__shorten is 'Sets compared_vector, of the model''s own dimensions.';

create trigger _100_shorten before insert or update of vector, compared_vector, model on public.memory_embeddings
  for each row execute function embeddings.tg_memory_embeddings__shorten();
-- It also fires where rows are loaded with triggers switched off: no search would find a row without it.
alter table public.memory_embeddings enable always trigger _100_shorten;

call identity.protect_like_memories('public.memory_embeddings', noun => 'vector');

create policy worker_access on public.memory_embeddings to l9_worker using (true);
create policy definer_functions on public.memory_embeddings to l9_owner using (true);

comment on policy worker_access on public.memory_embeddings is 'The embedding job writes vectors.';
comment on policy definer_functions on public.memory_embeddings is 'A trigger keeps the vectors equal to their memory.';
grant select on public.memory_embeddings to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, embedding_type, model, vector, chunk_index, chunk_text, context_id, metadata, tenant_id, org_id, user_id,
  project_id, branch, scope, ttl, correlation_id, session_id, trace_id) on public.memory_embeddings to l9_worker;
grant delete, maintain on public.memory_embeddings to l9_worker;
-- Callers have no write privilege: a caller must not decide what a memory means.
