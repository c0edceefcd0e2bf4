-- The types of the answer of a save. save_memory(), update_memory() and the functions that they call return a save_result.
create type public.similar_memory as (packet_id uuid, similarity real);
call identity.describe('public.similar_memory', 'A memory that is a near-duplicate of another text.
  packet_id: The near-duplicate memory.
  similarity: The similarity, from 0 to 1; 1 means the same words.');

create type public.save_result as (
  status text, memory public.packet_store, "similar" public.similar_memory[], notice text);
call identity.describe('public.save_result', 'The answer of a save: its status, the memory''s row after the save, and
    near-duplicates, most similar first (null if they were not searched for).
  status: inserted, updated or skipped_dedupe.
  memory: The memory''s row after the save.
  similar: Near-duplicates, most similar first; null if they were not searched for.
  notice: How to save this better another time, or null.');
