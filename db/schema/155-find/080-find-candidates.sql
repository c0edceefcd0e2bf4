create function find.find_candidates(request search.search_request, route text)
returns find.found
language plpgsql
stable
set search_path = ''
as $$
declare
  answer find.found;
  matches search.graph_matches;
begin
  if route in ('graph', 'deep') then
    matches := search.find_in_graph(request);
    request.entities := matches.entities;
    request.paths := matches.paths;
    request.notices := request.notices || case when matches.is_truncated
      then 'The entities have more relations than were followed; those of highest confidence were.' end;
    answer.graph := matches.memories;
  end if;
  if route = 'graph' then
    answer.ranked := search.fuse(request, matches.memories, null, null, null, null);
    answer.ranked.lexemes := search.query_words(request.query, request.languages);
    answer.ranked.word_weights := (ranking.weigh_words(answer.ranked.lexemes, request.requested_scopes, request.project_id)).weights;
  else
    request := search.narrow_search(request);
    answer.ranked := search.find_hits(request, answer.graph);
  end if;
  answer.request := request;
  return answer;
end
$$;

comment on function find.find_candidates(search.search_request, text) is
  'Runs the retrievers of a route: fast: words; hybrid: words and meaning; graph: relations; deep: all of them; newest: none, the newest memories.';

grant execute on function find.find_candidates(search.search_request, text) to l9_agent, l9_admin, l9_platform_admin;
