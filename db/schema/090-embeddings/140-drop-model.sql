-- Deletes the vectors, indexes and functions of an embedding model that no longer serves. A job of the gateway calls
-- both functions, in small steps.
create function embeddings.drop_leaving_vectors(model text, batch_size integer, after uuid default null)
returns table (dropped bigint, last_packet_id uuid)
language sql volatile set search_path = ''
-- Rows are deleted in order of packet_id, so that the next batch does not scan the rows that this one deleted.
set enable_seqscan = off
begin atomic
  with batch as (
    select e.embedding_id, e.packet_id from public.memory_embeddings e
    where e.model = drop_leaving_vectors.model and (after is null or e.packet_id > after)
      and exists (select from public.embedding_models m where m.model = e.model and m.state = 'leaving')
    order by e.packet_id limit batch_size
  ), deleted as (
    delete from public.memory_embeddings e using batch b where e.embedding_id = b.embedding_id returning e.packet_id
  )
  -- There is no aggregate max(uuid).
  select count(*), (array_agg(d.packet_id order by d.packet_id desc))[1] from deleted d;
end;
comment on function embeddings.drop_leaving_vectors is 'Deletes up to batch_size vectors of a model that leaves, in order of '
  'packet_id and after the one given. dropped: the number of deleted vectors; last_packet_id: pass it to the next call.';

-- A model goes only once its vectors are gone: first its indexes and functions, then its row.
create function embeddings.drop_embedding_model(model text) returns boolean
language plpgsql volatile security definer set search_path = ''
-- Dropping an index needs an exclusive lock on the table. It is better to try again later than to block everyone who queues
-- behind.
set lock_timeout = '1s' as $$
declare
  index_name text;
  function_name text;
begin
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  perform from public.embedding_models m where m.model = drop_embedding_model.model and m.state = 'leaving' for update;
  if not found or exists (select from public.memory_embeddings e where e.model = drop_embedding_model.model) then
    return false;
  end if;
  for index_name in
    select format('%I.%I', 'public', i.name) from embeddings.embedding_indexes(drop_embedding_model.model) as i
  loop
    execute format('drop index if exists %s', index_name);
  end loop;
  for function_name in
    select embeddings.nearest_function_name(drop_embedding_model.model, t.kind)
    from unnest(embeddings.embedding_types()) as t (kind)
  loop
    execute format('drop function if exists embeddings.%I', function_name);
  end loop;
  delete from public.embedding_models m where m.model = drop_embedding_model.model;
  return true;
end $$;
comment on function embeddings.drop_embedding_model is 'Drops the indexes, the functions and the row of a model that leaves. '
  'Returns false if the model still has vectors or does not leave. Definer: only the owner of the table can drop indexes.';
grant execute on function embeddings.drop_leaving_vectors, embeddings.drop_embedding_model to l9_worker;
