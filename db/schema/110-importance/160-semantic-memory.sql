-- Readers of the old table semantic_memory select from this view. It stores no vectors: it shows those of memory_embeddings,
-- under the policies of its reader, with the columns and the payload of the old table.
create view public.semantic_memory with (security_invoker = true, security_barrier = true) as
select
  e.embedding_id, coalesce(p.metadata ->> 'agent', p.metadata ->> 'creator') as agent_id, e.vector,
  jsonb_build_object(
    'packet_id', e.packet_id,
    'text', coalesce(e.chunk_text, case e.embedding_type
      when 'reasoning' then embeddings.reasoning_text(p.packet_type, p.envelope) else p.envelope ->> 'content' end),
    'kind', p.packet_type, 'tags', to_jsonb(p.tags), 'importance', i.learned, 'estimated_importance', p.importance_score,
    'metadata', p.metadata) as payload,
  e.packet_id, e.embedding_type, e.model, e.chunk_index, e.tenant_id, e.org_id, e.user_id, e.project_id, e.scope, e.created_at,
  p.updated_at, i.learned as importance_score, public.packet_store_access_count(p) as access_count, p.correlation_id,
  p.session_id, p.trace_id
from public.memory_embeddings e
join public.packet_store p on p.packet_id = e.packet_id
cross join lateral (select public.packet_store_importance_score(p) as learned) i
where e.model = (select embeddings.serving_model())
  -- Contexts are left out because their payload would have to show words of another memory, the predecessor.
  and e.embedding_type <> 'context';
call identity.describe('public.semantic_memory', 'The vectors of the model that serves, of memories whole and in chunks, with the
    texts that they were made from. It exists for readers of the old table of this name and is read only; new readers call
    search_memory().
  embedding_id: The vector, as in memory_embeddings.
  agent_id: The agent in the metadata of the memory; if there is none, its creator.
  vector: L2-normalised, padded with zeros to 1536 dimensions. Only database sessions can read it: the gateway never sends it to
    clients.
  payload: packet_id, text (of the chunk or the whole memory), kind, tags, importance (as importance_score), estimated_importance
    (that of the writer) and metadata, built from the memory.
  packet_id: The memory.
  embedding_type: Type of the text that was embedded: content or reasoning.
  model: The model that made the vector, which is the one that serves.
  chunk_index: 0: the memory as a whole; 1 and up: its chunks in order.
  tenant_id: Tenant of the memory.
  org_id: Org of the memory.
  user_id: User of the memory.
  project_id: Project of the memory.
  scope: Scope of the memory.
  created_at: Time when the text was embedded.
  updated_at: Time when a caller last changed the memory.
  importance_score: How much the memory matters, from 0 to 1, as learned from its use.
  access_count: How often the memory was found or read.
  correlation_id: Correlation id of the memory.
  session_id: Session of the memory.
  trace_id: Trace of the memory.');

grant select on public.semantic_memory to l9_agent, l9_admin, l9_platform_admin;
