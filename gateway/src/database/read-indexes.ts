// Searches each index of words and of vectors once, as l9_worker: on a replica one of them can become unreadable though the tables are not.

/** The planner can answer each of these scans in order only by the index that it is for. */
const READ_VECTOR_INDEXES = `do $$
declare
  scan text;
begin
  perform set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
  for scan in
    select format('select from public.memory_embeddings where %s order by %s operator(extensions.<=>)
        array_fill(1::real, array[%s])::%s limit 1', pg_get_expr(i.indpred, i.indrelid), pg_get_indexdef(i.indexrelid, 1, true),
      a.atttypmod, format_type(a.atttypid, a.atttypmod))
    from pg_index i
    join pg_attribute a on a.attrelid = i.indexrelid
    join pg_class c on c.oid = i.indexrelid
    join pg_am m on m.oid = c.relam and m.amname = 'hnsw'
    where i.indrelid = 'public.memory_embeddings'::regclass and i.indisvalid
  loop
    execute scan;
  end loop;
end $$`;

export const READ_INDEXES = `select ranking.read_word_indexes(); ${READ_VECTOR_INDEXES}`;
