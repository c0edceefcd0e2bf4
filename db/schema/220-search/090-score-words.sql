-- Scores memories by the words of a query (BM25). find_words() calls score_words() for the candidates that it has collected.
create function search.query_words(query text, languages text[]) returns text[]
language sql immutable parallel safe set search_path = ''
return array(
  select w.lexeme from pg_catalog.unnest(words.of_query_in(query, languages)) as w (lexeme)
  order by pg_catalog.length(w.lexeme) desc, w.lexeme collate "C" limit 64);
comment on function search.query_words is 'The words of a query that are scored: the 64 longest, because long words are rare.';

create type search.scored_words as (words search.ranked_memories, contexts search.ranked_memories, weights double precision[],
  average_length double precision);
comment on type search.scored_words is 'BM25 scores of memories, alone and with predecessors, and the weights used.';

-- Reads each text once, counts how often it has each word, and computes the scores of memories alone and of memories
-- with their predecessors from the same counts.
create function search.score_words(
  request search.search_request, lexemes text[], ids uuid[], context_ids uuid[], weights ranking.word_weights default null)
returns search.scored_words
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
  set enable_seqscan = off
-- The planner expects few rows of each CTE, and would join thousands with thousands row by row.
set enable_nestloop = off set work_mem = '32MB'
-- The plan does not depend on the request, and planning takes as long as scoring a hundred memories.
set plan_cache_mode = force_generic_plan as $$
declare
  answer search.scored_words;
  queries constant tsquery[] := array(select ranking.lexeme_query(l.lexeme) from unnest(lexemes)
    with ordinality as l (lexeme, place) order by l.place);
  any_query constant tsquery := array_to_string(queries, ' | ');
  -- Without weights, the given memories are all that match: then these are what a word is rare or frequent among.
  is_weighed constant boolean := weights is not null;
begin
  if coalesce(cardinality(lexemes), 0) = 0 or coalesce(cardinality(ids), 0) + coalesce(cardinality(context_ids), 0) = 0 then
    return answer;
  end if;
  with pairs as materialized (
    select c.packet_id, c.predecessor_id from public.memory_contexts c where c.packet_id = any (context_ids)
  ), texts as materialized (
    -- Most texts have none of the words. How often each word occurs stands in an array, so that the words of
    -- a text are unpacked once, by array[], and left behind.
    select p.packet_id, p.word_count as length,
      case when w.words[1] @@ any_query then array(
        select ranking.occurrences(ts_rank('{1,1,1,1}', w.words[1], q.query))
        from unnest(queries) as q (query)) end as occurrences
    from public.packet_store p
    cross join lateral (select array[p.words] as words offset 0) w
    where p.packet_id = any (ids || array(
        select i.id from unnest(case when context_ids is distinct from ids then context_ids end) as i (id)
        union select r.predecessor_id from pairs r))
      and (request.as_of is null or p.updated_at <= request.as_of)
  ), own as materialized (
    select t.packet_id, t.length, t.occurrences from unnest(ids) as i (id) join texts t on t.packet_id = i.id
  ), places as materialized (
    -- A subquery over these is several times as fast as one that unpacks an array for each text.
    select w.place from generate_subscripts(queries, 1) as w (place)
  ), total as materialized (
    select
      coalesce(weights.average_length, (select greatest(avg(o.length), 1) from own o)) as average_length,
      coalesce(weights.weights, (
        select array_agg(ranking.word_weight(cardinality(ids), coalesce(h.holders, 0)) order by w.place)
        from places w
        left join (
          select w.place, count(*) filter (where o.occurrences[w.place] > 0) as holders
          from own o cross join places w
          where not is_weighed and o.occurrences is not null group by w.place) h using (place))) as weights
  ), to_score as (
    select false as is_context, o.packet_id, o.length / n.average_length as length_ratio, o.occurrences,
      null::double precision[] as more_occurrences
    from own o cross join total n
    where o.occurrences is not null
    union all
    select true, r.packet_id, (first.length + second.length) / n.average_length, first.occurrences, second.occurrences
    from pairs r
    join texts first on first.packet_id = r.packet_id
    join texts second on second.packet_id = r.predecessor_id
    cross join total n
    where first.occurrences is not null or second.occurrences is not null
  ), scored as materialized (
    -- The formula of ranking.saturation(), summed in the order of the words: a sum of fractions depends on it in its last digit.
    select s.is_context, s.packet_id, (
        select coalesce(sum(n.weights[w.place] * (1.9 * c.times / (c.times + (0.54 + 0.36 * s.length_ratio)))), 0)
        from places w
        cross join lateral (select coalesce(s.occurrences[w.place], 0) + coalesce(s.more_occurrences[w.place], 0) as times) c
        where c.times > 0) as score
    from to_score s cross join total n
  )
  select
    (select row(array_agg(s.packet_id order by s.score desc, s.packet_id desc),
      array_agg(s.score::real order by s.score desc, s.packet_id desc), null)::search.ranked_memories
     from scored s where not s.is_context),
    (select row(array_agg(s.packet_id order by s.score desc, s.packet_id desc),
      array_agg(s.score::real order by s.score desc, s.packet_id desc), null)::search.ranked_memories
     from scored s where s.is_context),
    n.weights, n.average_length
  into answer.words, answer.contexts, answer.weights, answer.average_length
  from total n;
  return answer;
end $$;
comment on function search.score_words is 'BM25 scores of memories, and with their predecessors (context_ids). Without weights, '
  'ids are all matches, and words are weighed by rarity among them.';
grant execute on function search.query_words, search.score_words to l9_agent, l9_admin, l9_platform_admin;
