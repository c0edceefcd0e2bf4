create function embeddings.insert_vectors(
  packet_id uuid, embedding_type text, model text, vectors text[], chunk_texts text[], chunk_starts integer[], chunk_ends integer[])
returns void
language sql
volatile
set search_path = ''
begin atomic
  insert into public.memory_embeddings
    (packet_id, embedding_type, model, vector, chunk_index, chunk_text, metadata, tenant_id, org_id, user_id, project_id, scope, ttl)
  select p.packet_id, insert_vectors.embedding_type, insert_vectors.model, v.vector::extensions.vector, v.place - 1, chunk_texts[v.place - 1],
    case when v.place > 1
      then jsonb_build_object('start', chunk_starts[v.place - 1], 'end', chunk_ends[v.place - 1]) else '{}' end,
    p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope, p.ttl
  from public.packet_store p
  cross join unnest(vectors) with ordinality as v (vector, place)
  where p.packet_id = insert_vectors.packet_id
  on conflict do nothing;
end;

comment on function embeddings.insert_vectors(uuid, text, text, text[], text[], integer[], integer[]) is
  'The vectors of a memory, which its caller holds locked: of the whole first, then of its chunks.';

grant execute on function embeddings.insert_vectors(uuid, text, text, text[], text[], integer[], integer[]) to l9_worker;
