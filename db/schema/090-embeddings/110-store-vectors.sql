-- Functions that store vectors, called by the embedding job as l9_worker.
create function embeddings.insert_vectors(
  packet_id uuid, embedding_type text, model text, vectors text[], chunk_texts text[], chunk_starts integer[],
  chunk_ends integer[], first_chunk integer default 0) returns void
language sql volatile set search_path = ''
begin atomic
  insert into public.memory_embeddings
    (packet_id, embedding_type, model, vector, chunk_index, chunk_text, metadata, tenant_id, org_id, user_id, project_id, branch,
      scope, ttl,
      correlation_id, session_id, trace_id)
  select p.packet_id, insert_vectors.embedding_type, insert_vectors.model, v.vector::extensions.vector, first_chunk + v.place - 1,
    chunk_texts[c.place],
    case when c.place > 0 then jsonb_build_object('start', chunk_starts[c.place], 'end', chunk_ends[c.place]) else '{}' end,
    p.tenant_id, p.org_id, p.user_id, p.project_id, p.branch, p.scope, p.ttl, p.correlation_id, p.session_id, p.trace_id
  from public.packet_store p
  cross join unnest(vectors) with ordinality as v (vector, place)
  cross join lateral (select v.place - case when first_chunk = 0 then 1 else 0 end) as c (place)
  where p.packet_id = insert_vectors.packet_id and v.vector is not null on conflict do nothing;
end;
comment on function embeddings.insert_vectors is 'Inserts vectors of a memory: that of the whole and then those of its chunks, '
  'or with first_chunk only those of its chunks from that one on. Null: the model knows no piece of that text. The caller must '
  'hold a lock on the memory.';

-- The memory is locked and its content compared by hash, so that no vector of a former text is stored.
create function embeddings.store_embeddings(
  packet_id uuid, content_hash bytea, model text, vectors text[], chunk_texts text[], chunk_starts integer[],
  chunk_ends integer[], chunks_follow boolean default false) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
  chunks_before integer;
begin
  select p.chunk_count into chunks_before
  from public.packet_store p
  where p.packet_id = store_embeddings.packet_id and p.content_hash = store_embeddings.content_hash for update;
  if not found then
    return false; -- The memory was deleted, or changed since it was leased, which queued it again.
  end if;

  perform embeddings.insert_vectors(
    store_embeddings.packet_id, 'content', store_embeddings.model, vectors, chunk_texts, chunk_starts, chunk_ends);

  if chunks_follow then
    update embeddings.pending_embeddings q set next_chunk = 1, attempts = 0, leased_until = null
    where q.packet_id = store_embeddings.packet_id and q.model = store_embeddings.model;
    return true;
  end if;
  if chunks_before <> coalesce(cardinality(chunk_texts), 0) then
    update public.packet_store p set chunk_count = coalesce(cardinality(chunk_texts), 0)
    where p.packet_id = store_embeddings.packet_id;
  end if;
  delete from embeddings.pending_embeddings q
  where q.packet_id = store_embeddings.packet_id and q.model = store_embeddings.model;
  return true;
end $$;
comment on function embeddings.store_embeddings is 'Stores the vectors of a memory, first that of the whole and then those of '
  'its chunks, and removes the memory from the queue, in one transaction. With chunks_follow it stays in the queue, for '
  'store_chunks(). Returns false and stores nothing if the content has changed since it was leased.';

-- The memory is locked as by store_embeddings(); what its queue entry says next is written in the same transaction.
create function embeddings.store_chunks(
  packet_id uuid, content_hash bytea, reasoning text, model text, embedding_type text, first_chunk integer, vectors text[],
  chunk_texts text[], chunk_starts integer[], chunk_ends integer[], next_chunk integer, chunk_count integer) returns boolean
language plpgsql volatile set search_path = '' set lock_timeout = '100ms' as $$
begin
  perform from public.packet_store p
  where p.packet_id = store_chunks.packet_id and p.content_hash = store_chunks.content_hash
    and embeddings.reasoning_text(p.packet_type, p.envelope) is not distinct from store_chunks.reasoning
  for update;
  if not found then
    return false; -- The memory was deleted, or changed since it was leased, which queued it again.
  end if;

  perform embeddings.insert_vectors(
    store_chunks.packet_id, store_chunks.embedding_type, store_chunks.model, store_chunks.vectors, store_chunks.chunk_texts,
    store_chunks.chunk_starts, store_chunks.chunk_ends, store_chunks.first_chunk);

  if store_chunks.next_chunk is not null then
    update embeddings.pending_embeddings q set next_chunk = store_chunks.next_chunk, attempts = 0, leased_until = null
    where q.packet_id = store_chunks.packet_id and q.model = store_chunks.model;
    return true;
  end if;
  update public.packet_store p set chunk_count = store_chunks.chunk_count
  where p.packet_id = store_chunks.packet_id and p.chunk_count <> store_chunks.chunk_count;
  delete from embeddings.pending_embeddings q
  where q.packet_id = store_chunks.packet_id and q.model = store_chunks.model;
  return true;
end $$;
comment on function embeddings.store_chunks is 'Stores the vectors of some chunks of a memory, from first_chunk on, and returns '
  'the memory to the queue, where next_chunk waits. If next_chunk is null these were the last: the memory leaves the queue, and '
  'chunk_count counts the chunks of its content. Returns false and stores nothing if the content or the steps have changed since '
  'they were leased.';

create function embeddings.store_reasoning(
  packet_id uuid, reasoning text, model text, vectors text[], chunk_texts text[], chunk_starts integer[], chunk_ends integer[])
returns boolean
language plpgsql volatile set search_path = '' set lock_timeout = '100ms' as $$
begin
  perform from public.packet_store p
  where p.packet_id = store_reasoning.packet_id
    and embeddings.reasoning_text(p.packet_type, p.envelope) = store_reasoning.reasoning
  for update;
  if not found then
    update embeddings.pending_embeddings q set leased_until = null
    where q.packet_id = store_reasoning.packet_id and q.model = store_reasoning.model;
    return false;
  end if;
  perform embeddings.insert_vectors(
    store_reasoning.packet_id, 'reasoning', store_reasoning.model, vectors, chunk_texts, chunk_starts, chunk_ends);
  return true;
end $$;
comment on function embeddings.store_reasoning is 'Stores the vectors of the steps of a reasoning trace, first that of the whole '
  'and then those of its chunks; store_vectors() follows in the same statement. Returns false and stores nothing if the steps '
  'have changed; the memory then stays in the queue.';

-- Locks the memory and its context, stores the vector of the context, and leaves the others to store_embeddings().
create function embeddings.store_vectors(
  packet_id uuid, content_hash bytea, model text, vectors text[], chunk_texts text[], chunk_starts integer[],
  chunk_ends integer[], context_id uuid, context_vector text, chunks_follow boolean default false) returns boolean
language plpgsql volatile set search_path = '' set lock_timeout = '100ms' as $$
begin
  if context_id is null then
    return embeddings.store_embeddings(
      packet_id, content_hash, model, vectors, chunk_texts, chunk_starts, chunk_ends, chunks_follow);
  end if;
  -- The locks keep both rows until the vector is committed. A change that waits for them deletes the context and its vector.
  perform from public.packet_store p where p.packet_id = store_vectors.packet_id for update;
  perform from public.memory_contexts c
  where c.context_id = store_vectors.context_id and c.packet_id = store_vectors.packet_id for update;
  if not found then
    update embeddings.pending_embeddings q set leased_until = null
    where q.packet_id = store_vectors.packet_id and q.model = store_vectors.model;
    return false;
  end if;
  insert into public.memory_embeddings
    (packet_id, embedding_type, model, vector, context_id, tenant_id, org_id, user_id, project_id, branch, scope, ttl,
      correlation_id, session_id, trace_id)
  select c.packet_id, 'context', store_vectors.model, context_vector::extensions.vector, c.context_id,
    c.tenant_id, c.org_id, c.user_id, c.project_id, c.branch, c.scope, c.ttl, p.correlation_id, p.session_id, p.trace_id
  from public.memory_contexts c
  join public.packet_store p on p.packet_id = c.packet_id
  where c.context_id = store_vectors.context_id on conflict do nothing;
  return embeddings.store_embeddings(
    packet_id, content_hash, model, vectors, chunk_texts, chunk_starts, chunk_ends, chunks_follow);
end $$;
comment on function embeddings.store_vectors is 'Does what store_embeddings() does, and stores the vector of the context. '
  'Returns false and stores nothing if one of the two memories has changed; the memory then stays in the queue.';
grant execute on function embeddings.insert_vectors, embeddings.store_embeddings, embeddings.store_chunks,
  embeddings.store_reasoning, embeddings.store_vectors to l9_worker;
