-- A gateway calls read_word_indexes() on each replica: there an index of words can become unreadable though the tables are not.
create function ranking.read_word_indexes() returns integer language plpgsql stable security definer
set search_path = pg_catalog, extensions set enable_seqscan = off set enable_sort = off as $$
declare
  bucket integer;
begin
  foreach bucket in array packets.tenant_buckets() loop
    execute format($sql$
      select from public.packet_store p where %s
      order by words.index_text(p.words) <@> to_bm25query('canary', %L) limit 1$sql$,
      packets.in_bucket('p', bucket), 'public.packet_store_words_bm25_' || bucket);
  end loop;
  return cardinality(packets.tenant_buckets());
end $$;
comment on function ranking.read_word_indexes is 'Searches each index of words once, and returns how many there are; raises what '
  'PostgreSQL does for one that it cannot read. Definer: only l9_searcher may scan these indexes. It tells nothing of a row.';
grant execute on function ranking.read_word_indexes to l9_worker;

grant create on schema ranking to l9_searcher;
alter function ranking.read_word_indexes owner to l9_searcher;
revoke create on schema ranking from l9_searcher;
