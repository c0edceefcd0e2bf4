-- Runs the retrievers that a route of memory_find asks for. memory_find calls find_candidates().
create function find.best_by_words(request search.search_request) returns find.candidates
language plpgsql stable set search_path = '' as $$
declare
  scored search.scored_words;
  answer find.candidates;
begin
  request.lexemes := search.query_words(request.query, request.languages);
  request := search.narrow_search(request);
  scored := search.find_words(request, request.lexemes, null);
  request.word_weights := scored.weights;
  answer.ids := (scored.words).ids[:request.k];
  answer.scores := array(
    select s.score / (scored.words).scores[1] from unnest((scored.words).scores[:request.k]) with ordinality as s (score, place)
    order by s.place);
  answer.considered := coalesce(cardinality((scored.words).ids), 0);
  answer.request := request;
  return answer;
end $$;
comment on function find.best_by_words is 'The memories that match best by words, with BM25 scores relative to the best.';

-- Route graph fuses only what the graph found; the other routes run find_hits(), to which deep gives the memories of
-- the graph as one more retriever.
create function find.best_of_all(request search.search_request, route text) returns find.candidates
language plpgsql stable set search_path = '' as $$
declare
  matches search.graph_matches;
  ranked search.ranked_hits;
  answer find.candidates;
begin
  if route in ('graph', 'deep') then
    matches := search.find_in_graph(request);
    request.entities := matches.entities;
    request.paths := matches.paths;
    request.notices := request.notices || case when matches.is_truncated
      then 'The entities have more relations than were followed; those of highest confidence were.' end;
    answer.paths := matches.memories;
  end if;
  if route = 'graph' then
    ranked := search.fuse(request, matches.memories, null, null, null, null);
    request.lexemes := search.query_words(request.query, request.languages);
    request.word_weights := (ranking.weigh_words(request.lexemes, request.requested_scopes, request.project_id)).weights;
  else
    request := search.narrow_search(request);
    ranked := search.find_hits(request, answer.paths);
    request.lexemes := ranked.lexemes;
    request.word_weights := ranked.word_weights;
  end if;
  select array_agg(h.packet_id order by h.place), array_agg(h.score order by h.place),
    -- Without a similarity the relevance is the share of words, which has a weight of its own in the confidence.
    array_agg(case when h.semantic_score is not null then h.relevance end order by h.place),
    array_agg(h.relevance >= request.min_relevance order by h.place),
    array_agg(h.chunk_index order by h.place), array_agg(h.explanation order by h.place)
  into answer.ids, answer.scores, answer.relevances, answer.are_relevant, answer.chunks, answer.explanations
  -- There are either hits or, if nothing matched well, the nearest.
  from (select h.*, row_number() over () as place from unnest(ranked.hits || ranked.nearest) as h) h;
  answer.considered := ranked.considered;
  answer.left_out := ranked.left_out;
  answer.request := request;
  return answer;
end $$;
comment on function find.best_of_all is 'The memories that match best by words and meaning, relations, or all, or the newest.';

create function find.find_candidates(request search.search_request, route text) returns find.candidates
language sql stable set search_path = ''
return case route when 'fast' then find.best_by_words(request) else find.best_of_all(request, route) end;
comment on function find.find_candidates is 'Runs the retrievers of a route.';
grant execute on function find.best_by_words, find.best_of_all, find.find_candidates to l9_agent, l9_admin, l9_platform_admin;
