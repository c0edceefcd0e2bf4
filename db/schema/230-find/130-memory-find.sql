-- The operation memory_find: choose a route, run its retrievers, rank, and end. A route that finds little is followed
-- by the route deep, and then by suggestions.
create function public.memory_find(
  query text default null, kinds text[] default null, project_id text default null, branch text default null,
  scopes text[] default null, k integer default 10, mode text default 'auto', "where" jsonb default null,
  since timestamptz default null, until timestamptz default null, max_tokens integer default null, explain boolean default false,
  query_vector extensions.vector default null, model text default null, include_archived boolean default false,
  retry_for text[] default '{}', include_pending boolean default false) returns public.find_result
language plpgsql volatile set search_path = '' set l9.withheld = 'none' as $$
declare
  -- With fewer hits than these, auto goes on to deep, and other queries are suggested.
  few constant integer := 3;
  filter constant find.find_filter := row(
    identity.given_list(kinds), identity.given_text(project_id), packets.one_branch(branch),
    identity.given_list(scopes), since, until, "where", include_archived is not true);
  waits_for_vector constant boolean := query_vector is null and coalesce('vector' = any (retry_for), false);
  needs_vector constant public.find_result := row('{}', '{}', '{"retry": "vector"}', '{}');
  route text;
  routes text[];
  request search.search_request;
  found find.candidates;
  ranked find.ranked;
begin
  if include_pending then
    perform set_config('l9.withheld', 'pending', true); -- Until the end of this function.
  end if;
  if mode is null or mode not in ('auto', 'fast', 'deep') then
    perform identity.raise_error('L9VAL', 'mode: must be auto, fast or deep');
  end if;
  if search.is_stale(memory_find.query_vector, memory_find.model, memory_find.retry_for) then
    return row('{}', '{}', '{"retry": "model"}', '{}')::public.find_result;
  end if;
  route := find.choose_route(query, mode);
  request := find.open_find(query, k, route, filter, query_vector, model, max_tokens, explain);
  if waits_for_vector and route in ('hybrid', 'deep') then
    return needs_vector;
  end if;
  found := find.find_candidates(request, route);
  ranked := find.rank_hits(found, route, k);
  routes := array[route];
  if mode = 'auto' and route in ('fast', 'graph') and cardinality(ranked.hits) < least(few, k) then
    if waits_for_vector then
      return needs_vector;
    end if;
    request := find.open_find(query, k, 'deep', filter, query_vector, model, max_tokens, explain);
    request.notices := request.notices || format('%s found %s, so the search went on to deep.', route, cardinality(ranked.hits));
    found := find.find_candidates(request, 'deep');
    ranked := find.rank_hits(found, 'deep', k);
    routes := routes || 'deep'::text;
  end if;
  return find.close_find(
    found, ranked, case when cardinality(ranked.hits) < least(few, k) then find.suggest(found.request, filter) else '{}' end, k,
    mode, routes);
end $$;
comment on function public.memory_find is 'Finds memories that the caller may read, ordered by find.score(): match, recency, '
  'nearness of project, citations. Without a query: the newest that match. project_id, branch: also those without one. mode: '
  'auto, fast or deep. k: 1 to 100. query_vector: made by model. retry_for {vector, model}: searched.retry names a need before '
  'anything is searched or audited. Audited. Errors: L9VAL, L9LIM, L9AUT.';
grant execute on function public.memory_find to l9_agent, l9_admin, l9_platform_admin;
