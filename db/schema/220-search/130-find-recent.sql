-- The retriever of a search without a query. find_hits() calls it for mode recent, and the suggestions of memory_find
-- call it too.
create function search.find_recent(request search.search_request) returns search.ranked_memories
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
  set enable_seqscan = off as $$
declare
  answer search.ranked_memories;
begin
  execute format($sql$
    select array_agg(f.packet_id), array_agg(1::real)
    from (
      select p.packet_id from public.packet_store p
      where %s and %s order by p."timestamp" desc, p.packet_id desc limit %s
    ) f$sql$,
    case when request.ids is null then 'true' else 'p.packet_id = any ($1)' end, request.current_or_past_condition, request.k)
  into answer.ids, answer.scores
  using request.ids;
  return answer;
end $$;
comment on function search.find_recent is 'Retriever of a search without a query: memories that match the filters, newest first.';
grant execute on function search.find_recent to l9_agent, l9_admin, l9_platform_admin;
