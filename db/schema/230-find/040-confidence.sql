-- How likely a hit of memory_find is relevant: a formula that was fitted to judged hits. rank_hits() calls it for the
-- hits that it returns.

-- Without search_path, so that it is inlined: a call takes several times as long as the sum.
create function find.confidence(relevance real, word_share real, path real default null, lead real default 0) returns real
language sql immutable parallel safe
return (1 - (1 - 1 / (1 + exp(-case
  -- A lead is limited to those of the judged hits: beyond them they say nothing.
  when relevance is null then -2.41 + 3.43 * coalesce(word_share, 0) + 2.34 * least(greatest(coalesce(lead, 0), -0.6), 0.4)
  else -1.78 + 0.08 * ln(greatest(relevance, 1e-6) / greatest(1 - relevance, 1e-6))
    + 1.42 * coalesce(word_share, 0) + 3.41 * least(greatest(coalesce(lead, 0), -0.6), 0.4)
  end))) * (1 - 0.5 * coalesce(path, 0)))::real;
comment on function find.confidence is 'How likely a memory is relevant, from 0 to 1: rises with its relevance by the map of the '
  'embedding model (null: not compared by vectors), the share of the query''s words that it has (weighed by rarity), the '
  'confidence of a path from an entity of the query, and its lead: by how much its match is above that of the next best memory, '
  'or below that of the best one (negative). By logistic regressions of judged hits of Cranfield and QMSum and of hits of '
  'questions about another subject (npm run eval -- confidence); the path adds half of what is missing to 1, which was not '
  'measured. Low for all means that nothing fits.';
grant execute on function find.confidence to l9_agent, l9_admin, l9_platform_admin;
