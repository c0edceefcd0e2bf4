-- The step of an erasure that deletes the memories; foreign keys and triggers delete what depends on them.
-- erase_marked() calls it.
create function forgetting.erase_packets(erasure_id uuid) returns jsonb language plpgsql volatile set search_path = '' as $$
declare
  versions integer;
  vectors integer;
  memories integer;
begin
  select count(*) into versions
  from public.packet_versions v join public.memory_tombstones t on t.packet_id = v.packet_id
  where t.erasure_id = erase_packets.erasure_id;
  select count(*) into vectors
  from public.memory_embeddings e join public.memory_tombstones t on t.packet_id = e.packet_id
  where t.erasure_id = erase_packets.erasure_id;
  -- Foreign keys delete versions, vectors with their chunks, entries in the embedding queue and idempotency keys.
  delete from public.packet_store p using public.memory_tombstones t
  where t.erasure_id = erase_packets.erasure_id and p.packet_id = t.packet_id;
  get diagnostics memories = row_count;
  return jsonb_build_object('memories', memories, 'versions', versions, 'vectors', vectors);
end $$;
comment on function forgetting.erase_packets is 'Deletes the memories with a tombstone of this erasure, and what rests on them.';
