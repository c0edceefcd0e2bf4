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
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  created_at timestamptz not null default now(),
  constraint embedding_unique unique (packet_id, embedding_type, model, chunk_index),
  constraint embedding_type_known check (embedding_type in ('content', 'context', 'entity', 'summary', 'reasoning')),
  constraint embedding_of_context check ((embedding_type = 'context') = (context_id is not null)),
  constraint embedding_chunk_has_text check (chunk_index >= 0 and (chunk_index = 0) = (chunk_text is null)),
  constraint embedding_metadata_object check (jsonb_typeof(metadata) = 'object')
);

-- Most models fill only part of the 1536 dimensions. By lz4 the zeros behind them compress away, and the row stays in one page:
-- pglz gives up where the first kilobyte does not compress, as that of a vector never does, and four times as much would go
-- elsewhere. The embedded engine knows no lz4.
alter table public.memory_embeddings alter column vector set storage extended;
do $$
begin
  alter table public.memory_embeddings alter column vector set compression lz4;
exception when feature_not_supported then
  null;
end
$$;
-- Nothing is ever planned by what vectors and texts are frequent.
alter table public.memory_embeddings alter column vector set statistics 0, alter column chunk_text set statistics 0;

create index memory_embeddings_visible_idx on public.memory_embeddings (tenant_id, scope, project_id);
create index memory_embeddings_context_idx on public.memory_embeddings (context_id) where context_id is not null;

comment on table public.memory_embeddings is 'Vectors of memories, whole and in chunks. They follow their packet''s owner, project, scope and expiry.';
comment on column public.memory_embeddings.embedding_id is 'UUID version 7.';
comment on column public.memory_embeddings.packet_id is 'The memory.';
comment on column public.memory_embeddings.tenant_id is 'As of the memory.';
comment on column public.memory_embeddings.org_id is 'As of the memory.';
comment on column public.memory_embeddings.user_id is 'As of the memory.';
comment on column public.memory_embeddings.project_id is 'As of the memory.';
comment on column public.memory_embeddings.scope is 'As of the memory.';
comment on column public.memory_embeddings.ttl is 'As of the memory: from then on nobody reads it.';
comment on column public.memory_embeddings.created_at is 'When it was embedded.';
comment on column public.memory_embeddings.embedding_type is 'What was embedded: content, context (with its predecessor in the thread), entity, summary or reasoning.';
comment on column public.memory_embeddings.model is 'The model that made the vector.';
comment on column public.memory_embeddings.vector is 'L2-normalised, padded with zeros to 1536. Never sent out by the gateway.';
comment on column public.memory_embeddings.chunk_index is '0: the memory as a whole; 1 and up: its chunks in order.';
comment on column public.memory_embeddings.chunk_text is 'The text of a chunk; null for the whole.';
comment on column public.memory_embeddings.context_id is 'Of type context: what it was made of, and goes with.';
comment on column public.memory_embeddings.metadata is 'Of a chunk: start and end, character offsets into the content.';

call identity.protect_like_memories('public.memory_embeddings', noun => 'vector');

create policy worker_access on public.memory_embeddings to l9_worker using (true);
create policy definer_functions on public.memory_embeddings to l9_owner using (true);

comment on policy worker_access on public.memory_embeddings is 'The embedding job writes them.';
comment on policy definer_functions on public.memory_embeddings is 'The trigger that keeps them with their packet.';

grant select on public.memory_embeddings to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, embedding_type, model, vector, chunk_index, chunk_text, context_id, metadata, tenant_id, org_id, user_id, project_id, scope, ttl)
  on public.memory_embeddings to l9_worker;
grant delete, maintain on public.memory_embeddings to l9_worker;
-- Callers write none: what a memory means is not theirs to say.
