-- The types of the answer of a save. save_memory(), update_memory() and the functions that they call return a
-- save_result.

create type public.similar_memory as (packet_id uuid, similarity real);
comment on type public.similar_memory is 'A memory that is a near-duplicate of another text.';
comment on column public.similar_memory.packet_id is 'The near-duplicate memory.';
comment on column public.similar_memory.similarity is 'The similarity, from 0 to 1; 1 means the same words.';

create type public.save_result as (status text, memory public.packet_store, "similar" public.similar_memory[]);
comment on type public.save_result is 'The answer of a save: its status, the memory''s row after the save, and near-duplicates, '
  'most similar first (null if they were not searched for).';
comment on column public.save_result.status is 'inserted, updated or skipped_dedupe.';
comment on column public.save_result.memory is 'The memory''s row after the save.';
comment on column public.save_result."similar" is 'Near-duplicates, most similar first; null if they were not searched for.';
