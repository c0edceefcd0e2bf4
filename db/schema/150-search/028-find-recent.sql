create function search.find_recent(request search.search_request)
returns search.found
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  answer search.found;
begin
  execute format($sql$
    select array_agg(f.packet_id), array_agg(1::real)
    from (
      select p.packet_id from public.packet_store p
      where %s and %s
      order by p."timestamp" desc, p.packet_id desc
      limit %s
    ) f$sql$,
    case when request.ids is null then 'true' else 'p.packet_id = any ($1)' end, request.on_states, request.k)
  into answer.ids, answer.scores
  using request.ids;
  return answer;
end
$$;

comment on function search.find_recent(search.search_request) is 'Without a query: what matches the filters, the newest first.';

grant execute on function search.find_recent(search.search_request) to l9_agent, l9_admin, l9_platform_admin;
