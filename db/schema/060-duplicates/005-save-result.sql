create type public.similar_memory as (packet_id uuid, similarity real);
comment on type public.similar_memory is 'A memory that says nearly the same.';
comment on column public.similar_memory.packet_id is 'The memory that says nearly the same.';
comment on column public.similar_memory.similarity is 'From 0 to 1; 1: the same words.';

create type public.save_result as (status text, memory public.packet_store, "similar" public.similar_memory[]);
comment on type public.save_result is
  'status: inserted, updated or skipped_dedupe; memory: the row as it is now; similar: memories that say nearly the same, most similar first, null where they were not looked for.';
comment on column public.save_result.status is 'inserted, updated or skipped_dedupe.';
comment on column public.save_result.memory is 'The row as it is now.';
comment on column public.save_result."similar" is 'Memories that say nearly the same, most similar first; null where they were not looked for.';
