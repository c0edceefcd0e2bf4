-- Readers of the old table semantic_memory select from this view. It stores no vectors: it shows those of memory_embeddings,
-- under the policies of its reader, with the columns and the payload of the old table.

create view public.semantic_memory with (security_invoker = true, security_barrier = true) as
select
  e.embedding_id,
  coalesce(p.metadata ->> 'agent', p.metadata ->> 'creator') as agent_id,
  e.vector,
  jsonb_build_object(
    'packet_id', e.packet_id,
    'text', coalesce(e.chunk_text, case e.embedding_type
      when 'reasoning' then embeddings.reasoning_text(p.packet_type, p.envelope) else p.envelope ->> 'content' end),
    'kind', p.packet_type,
    'tags', to_jsonb(p.tags),
    'importance', i.learned,
    'estimated_importance', p.importance_score,
    'metadata', p.metadata) as payload,
  e.packet_id,
  e.embedding_type,
  e.model,
  e.chunk_index,
  e.tenant_id,
  e.org_id,
  e.user_id,
  e.project_id,
  e.scope,
  e.created_at,
  p.updated_at,
  i.learned as importance_score,
  public.packet_store_access_count(p) as access_count,
  p.correlation_id,
  p.session_id,
  p.trace_id
from public.memory_embeddings e
join public.packet_store p on p.packet_id = e.packet_id
cross join lateral (select public.packet_store_importance_score(p) as learned) i
where e.model = (select embeddings.serving_model())
  -- Contexts are left out because their payload would have to show words of another memory, the predecessor.
  and e.embedding_type <> 'context';
comment on view public.semantic_memory is 'The vectors of the model that serves, of memories whole and in chunks, with the texts '
  'that they were made from. It exists for readers of the old table of this name and is read only; new readers call '
  'search_memory().';
comment on column public.semantic_memory.embedding_id is 'The vector, as in memory_embeddings.';
comment on column public.semantic_memory.agent_id is 'The agent in the metadata of the memory; if there is none, its creator.';
comment on column public.semantic_memory.vector is 'L2-normalised, padded with zeros to 1536 dimensions. Only database sessions '
  'can read it: the gateway never sends it to clients.';
comment on column public.semantic_memory.payload is 'packet_id, text (of the chunk or the whole memory), kind, tags, importance '
  '(as importance_score), estimated_importance (that of the writer) and metadata, built from the memory.';
comment on column public.semantic_memory.packet_id is 'The memory.';
comment on column public.semantic_memory.embedding_type is 'Type of the text that was embedded: content or reasoning.';
comment on column public.semantic_memory.model is 'The model that made the vector, which is the one that serves.';
comment on column public.semantic_memory.chunk_index is '0: the memory as a whole; 1 and up: its chunks in order.';
comment on column public.semantic_memory.tenant_id is 'Tenant of the memory.';
comment on column public.semantic_memory.org_id is 'Org of the memory.';
comment on column public.semantic_memory.user_id is 'User of the memory.';
comment on column public.semantic_memory.project_id is 'Project of the memory.';
comment on column public.semantic_memory.scope is 'Scope of the memory.';
comment on column public.semantic_memory.created_at is 'Time when the text was embedded.';
comment on column public.semantic_memory.updated_at is 'Time when a caller last changed the memory.';

comment on column public.semantic_memory.importance_score is 'How much the memory matters, from 0 to 1, as learned from its use.';
comment on column public.semantic_memory.access_count is 'How often the memory was found or read.';
comment on column public.semantic_memory.correlation_id is 'Correlation id of the memory.';
comment on column public.semantic_memory.session_id is 'Session of the memory.';
comment on column public.semantic_memory.trace_id is 'Trace of the memory.';
grant select on public.semantic_memory to l9_agent, l9_admin, l9_platform_admin;
