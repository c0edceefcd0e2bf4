-- A search as of a time reads the versions that were replaced after it.
create index packet_versions_until_idx on public.packet_versions (tenant_id, valid_until);

create function search.find_version_words(request search.search_request)
returns search.ranked_memories
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  was_valid constant text := format('%L between s.valid_from and s.valid_until - interval ''1 microsecond''', request.as_of);
  ids uuid[];
begin
  execute format($sql$
    select array_agg(v.packet_id) from (
      select v.packet_id
      from public.packet_versions v join public.packet_store p on p.packet_id = v.packet_id
      where v.valid_until > $1 and v.valid_from <= $1 and %s
      order by v.valid_until
      limit %s
    ) v$sql$, request.past_condition, search.max_scanned_rows())
  into ids
  using request.as_of;
  return search.score_words(
    row('public.packet_versions', null, null, '(s.envelope ->> ''content'')',
      'public.packet_store_content_bm25_' || request.buckets[1], was_valid)::search.search_source,
    ids, request);
end
$$;

comment on function search.find_version_words(search.search_request) is
  'Retriever over texts that memories had at a time and have no longer. It reads versions that the caller may read, of memories that it may read: at most the 20,000 that were replaced first after that time.';

grant execute on function search.find_version_words(search.search_request) to l9_agent, l9_admin, l9_platform_admin;
