-- Old readers select from semantic_memory. It is no second store of vectors: it shows those of memory_embeddings that serve,
-- under the reader's own policies, with the columns and the payload that they know.

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
    'importance', p.importance_score,
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
  p.updated_at
from public.memory_embeddings e
join public.packet_store p on p.packet_id = e.packet_id
where e.model = (select embeddings.serving_model())
  -- A context holds words of the memory before it, which its payload would have to show.
  and e.embedding_type <> 'context';

comment on view public.semantic_memory is
  'For readers of the old table of this name: the vectors of the model that serves, of memories whole and in chunks, with what they were made of. Read only; new readers use search_memory().';
comment on column public.semantic_memory.embedding_id is 'As of memory_embeddings.';
comment on column public.semantic_memory.agent_id is 'The agent that the memory names, else its creator.';
comment on column public.semantic_memory.vector is 'L2-normalised, padded with zeros to 1536. For database sessions only: the gateway never sends it out.';
comment on column public.semantic_memory.payload is
  'packet_id, text (of the chunk, or the whole), kind, tags, importance and metadata, put together from the memory.';
comment on column public.semantic_memory.packet_id is 'The memory.';
comment on column public.semantic_memory.embedding_type is 'What was embedded: content, reasoning, entity or summary.';
comment on column public.semantic_memory.model is 'The model that made the vector: the one that serves.';
comment on column public.semantic_memory.chunk_index is '0: the memory as a whole; 1 and up: its chunks in order.';
comment on column public.semantic_memory.tenant_id is 'As of the memory.';
comment on column public.semantic_memory.org_id is 'As of the memory.';
comment on column public.semantic_memory.user_id is 'As of the memory.';
comment on column public.semantic_memory.project_id is 'As of the memory.';
comment on column public.semantic_memory.scope is 'As of the memory.';
comment on column public.semantic_memory.created_at is 'When it was embedded.';
comment on column public.semantic_memory.updated_at is 'When a caller last changed the memory.';

grant select on public.semantic_memory to l9_agent, l9_admin, l9_platform_admin;
grant execute on function embeddings.reasoning_text(text, jsonb) to l9_agent, l9_admin, l9_platform_admin;
