create function search.query_words(query text, languages text[])
returns text[]
language sql
immutable
parallel safe
set search_path = ''
return array(
  select w.lexeme from pg_catalog.unnest(words.of_query_in(query, languages)) as w (lexeme)
  order by pg_catalog.length(w.lexeme) desc, w.lexeme collate "C"
  limit 64);

comment on function search.query_words(text, text[]) is
  'The words of a query by which memories are scored: the 64 longest, because long words are rare.';

create type search.scored_words as (
  words search.ranked_memories,
  contexts search.ranked_memories,
  weights double precision[],
  average_length double precision
);

comment on type search.scored_words is
  'Scores of memories by words (BM25), alone and together with their predecessors, with the weights of the words and the average length that they were scored by.';

create function search.score_words(
  request search.search_request, lexemes text[], ids uuid[], context_ids uuid[], weights ranking.word_weights default null)
returns search.scored_words
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- The planner expects few rows of each CTE, and would join thousands with thousands row by row.
set enable_nestloop = off
set work_mem = '32MB'
as $$
#variable_conflict use_variable
declare
  answer search.scored_words;
  queries constant tsquery[] := array(select ranking.lexeme_query(l.lexeme) from unnest(lexemes) with ordinality as l (lexeme, place) order by l.place);
  any_query constant tsquery := array_to_string(queries, ' | ');
begin
  if coalesce(cardinality(lexemes), 0) = 0 or coalesce(cardinality(ids), 0) + coalesce(cardinality(context_ids), 0) = 0 then
    return answer;
  end if;
  with pairs as materialized (
    select c.packet_id, c.predecessor_id from public.memory_contexts c where c.packet_id = any (context_ids)
  ), parts as materialized (
    select r.packet_id, r.packet_id as part_id from pairs r union all select r.packet_id, r.predecessor_id from pairs r
  ), texts as materialized (
    -- Most texts have none of the words, and are only measured. setweight() only unpacks the others, once instead of for each word.
    select p.packet_id, length(p.words) as length, case when p.words @@ any_query then setweight(p.words, 'D') end as words
    from public.packet_store p
    where p.packet_id = any (ids || array(
        select i.id from unnest(case when context_ids is distinct from ids then context_ids end) as i (id) union select r.predecessor_id from pairs r))
      and (request.as_of is null or p.updated_at <= request.as_of)
  ), counted as materialized (
    select t.packet_id, q.place, ranking.occurrences(ts_rank('{1,1,1,1}', t.words, q.query)) as occurrences
    from texts t
    cross join unnest(queries) with ordinality as q (query, place)
    where t.words @@ q.query
  ), own as materialized (
    select i.id as packet_id from unnest(ids) as i (id)
  ), total as materialized (
    -- Without weights, the given memories are all that match: then these are what a word is rare or frequent among.
    select
      coalesce(weights.average_length, (select avg(t.length) from own o join texts t using (packet_id))) as average_length,
      coalesce(weights.weights, (
        select array_agg(ranking.word_weight(cardinality(ids), coalesce(h.holders, 0)) order by q.place)
        from unnest(queries) with ordinality as q (query, place)
        left join (select c.place, count(*) as holders from own o join counted c using (packet_id) group by c.place) h using (place))) as weights
  ), scored as (
    -- In one order, because a sum of fractions depends on it in its last digit, and the order of a plan on the size of the tables.
    select c.packet_id,
      sum(n.weights[c.place] * ranking.saturation(c.occurrences, t.length / n.average_length) order by c.place) as score
    from own o
    join counted c using (packet_id)
    join texts t using (packet_id)
    cross join total n
    group by c.packet_id
  ), lengths as (
    select r.packet_id, sum(t.length) as length
    from parts r join texts t on t.packet_id = r.part_id
    group by r.packet_id
    having count(*) = 2
  ), scored_contexts as (
    select c.packet_id,
      sum(n.weights[c.place] * ranking.saturation(c.occurrences, c.length / n.average_length) order by c.place) as score
    from (
      select r.packet_id, c.place, sum(c.occurrences) as occurrences, min(l.length) as length
      from parts r
      join counted c on c.packet_id = r.part_id
      join lengths l on l.packet_id = r.packet_id
      group by r.packet_id, c.place
    ) c
    cross join total n
    group by c.packet_id
  )
  select
    (select row(array_agg(s.packet_id order by s.score desc, s.packet_id desc), array_agg(s.score::real order by s.score desc, s.packet_id desc), null)::search.ranked_memories
     from scored s),
    (select row(array_agg(s.packet_id order by s.score desc, s.packet_id desc), array_agg(s.score::real order by s.score desc, s.packet_id desc), null)::search.ranked_memories
     from scored_contexts s),
    n.weights, n.average_length
  into answer.words, answer.contexts, answer.weights, answer.average_length
  from total n;
  return answer;
end
$$;

comment on function search.score_words(search.search_request, text[], uuid[], uuid[], ranking.word_weights) is
  'BM25 scores of memories (ids), and of memories together with their predecessors in the thread (context_ids). Without weights, the memories ids are all that match the search, and words are weighed by their rarity among these.';

grant execute on function
  search.query_words(text, text[]), search.score_words(search.search_request, text[], uuid[], uuid[], ranking.word_weights)
to l9_agent, l9_admin, l9_platform_admin;
