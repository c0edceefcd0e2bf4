-- Runs the retrievers that the mode of a search asks for, and hands their answers to fuse(). search_memory(),
-- recall_lessons() and memory_find call it once they have narrowed the request.
create function search.find_hits(request search.search_request, related search.ranked_memories default null)
returns search.ranked_hits
language plpgsql stable set search_path = '' as $$
declare
  uses_contexts boolean := request.as_of is null and (request.settings).semantic_context_weight > 0
    and request.context_ids is distinct from '{}';
  context_request search.search_request := search.as_context_search(request);
  lexemes text[];
  scored search.scored_words;
  found_by_meaning uuid[];
  words search.ranked_memories;
  versions search.ranked_memories;
  context_words search.ranked_memories;
  meaning search.ranked_memories;
  context_meaning search.ranked_memories;
  reasoning search.ranked_memories;
  answer search.ranked_hits;
begin
  if request.mode = 'semantic' then
    request.lexemes := null;
  elsif request.mode = 'recent' then
    words := search.find_recent(request);
  end if;
  if request.mode in ('hybrid', 'semantic') then
    meaning := search.find_meaning(request, 'content');
    if uses_contexts then
      context_meaning := search.find_meaning(context_request, 'context');
    end if;
    if request.as_of is null and request.reasoning_ids is distinct from '{}' then
      reasoning := search.find_meaning(request, 'reasoning');
    end if;
  end if;
  if request.mode in ('hybrid', 'lexical') and request.query is not null then
    -- A search for memories like another knows its words.
    lexemes := coalesce(request.lexemes, search.query_words(request.query, request.languages));
    found_by_meaning := meaning.ids || context_meaning.ids || reasoning.ids || related.ids;
    -- Every candidate is among the memories that are scored by their words.
    scored := search.find_words(request, lexemes, found_by_meaning, wants_places => request.as_of is null);
    request.lexemes := lexemes;
    request.word_weights := scored.weights;
    words := case when request.ids is null then scored.words
      else search.first_candidates(scored.words, request.candidates, found_by_meaning) end;
    context_words := search.first_candidates(scored.contexts, context_request.candidates, found_by_meaning || words.ids);
    if request.as_of is not null then
      versions := search.find_version_words(request, lexemes,
        row(scored.weights, scored.average_length, null)::ranking.word_weights);
      words.ids := words.ids || versions.ids;
      words.scores := words.scores || versions.scores;
    end if;
  end if;
  answer := search.fuse(request, words, context_words, meaning, context_meaning, reasoning, related, scored.places);
  answer.lexemes := request.lexemes;
  answer.word_weights := request.word_weights;
  return answer;
end $$;
comment on function search.find_hits is 'Runs the retrievers of the mode, and fuses their answers with those of the graph.';
grant execute on function search.find_hits to l9_agent, l9_admin, l9_platform_admin;
