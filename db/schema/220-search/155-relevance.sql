-- Whether a memory has to do with a query at all: formulas that were fitted to judged questions and to questions about other
-- subjects (npm run eval -- relevance). fuse() calls relevance_of() for its hits, and rank_hits() for what it found by words.

-- Like the formulas of a score, these set no search_path, so that they are inlined.

create function search.relevance_of_words(share real, are_pairs boolean) returns real
language sql immutable parallel safe return case when are_pairs then share else (0.9 * power(share, 3.4))::real end;
comment on function search.relevance_of_words is 'What the share of words tells, however far a memory is in meaning: 0.9 for all '
  'words of the query, 0.2 for two thirds of them, and little below. Of pairs of characters the share itself: many pairs are no '
  'words, and models may not know their scripts.';

-- The best of many memories that have nothing to do with a query is nearer to it than the best of a few, so that more similarity
-- is asked for where a search compares more. It was measured among 5 to 500 memories.
create function search.relevance_of_few(memories integer) returns real language sql immutable parallel safe
return ln(500.0 / least(greatest(coalesce(memories, 500), 8), 500))::real;
comment on function search.relevance_of_few is 'What a search among so many memories (null: many) adds to the log '
  'odds of relevance.';

create function search.relevance_of(similarity real, share real, are_pairs boolean, of_few real, midpoint real, slope real,
  word_slope real) returns real
language sql immutable parallel safe
return case
  when similarity is null then share
  else greatest(
    -- What was learned from words says nothing about pairs of characters.
    1 / (1 + exp(-slope * (similarity - midpoint)
      - case when are_pairs then 0 else of_few + word_slope * (coalesce(share, 0.1) - 0.2) end)),
    search.relevance_of_words(share, are_pairs))::real
end;
comment on function search.relevance_of is 'Relevance of a memory by its cosine similarity (null: it was not compared), by the '
  'share of the words of the query that it has (null: words were not searched), by relevance_of_few(), and by the map of the '
  'model.';
grant execute on function search.relevance_of_words, search.relevance_of_few, search.relevance_of to l9_agent, l9_admin,
  l9_platform_admin;
