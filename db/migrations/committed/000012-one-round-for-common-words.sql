--! Previous: sha1:08cc52eb899fb0b15e235fe75b3dcb3b1f49b473
--! Hash: sha1:693c3cd5b11afa724e244a8fb09be383479689fb
--! Message: one round for common words

--! split: 1-current.sql
-- A search for common words needs one round of the index where it often needed two.

create or replace function ranking.walk_words(bucket integer, tenant_id uuid, lexemes text[], weights double precision[],
  filter ranking.word_filter, wanted integer, average_length double precision default null)
returns ranking.scored_memories
language plpgsql stable
-- The reasons are the same as in the functions above.
set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0 set enable_seqscan = off set enable_sort = off
-- By default pg_textsearch guesses how many rows to rank first from the selectivity of the policies, for which a partial index
-- has no statistics, and ranks every match. Off, it begins with the limit and continues while rows are filtered out: a fortieth.
set pg_textsearch.filtered_seed = off set pg_textsearch.default_limit = 1000 as $$
declare
  -- The more often, the closer the orders are; but reading the query takes longer, too.
  max_repeats constant integer := greatest(24, 288 / cardinality(lexemes));
  -- Words that most memories have leave many scores close to each other, so that a second round would often be needed.
  is_common constant boolean := (select max(w.weight) from unnest(weights) as w (weight)) < 1.5;
  -- More memories of nearly one score are a crowd that the words do not tell apart. A lower limit that looked at the scores
  -- found so far would be reached earlier or later depending on the order of the index.
  max_walked constant integer := 8100;
  max_newest constant integer := 1000;
  -- Scores are compared in steps of a geometric scale, so that a crowd has an edge which does not depend on how far a scan came.
  step constant double precision := 0.93;
  index constant text := 'public.packet_store_words_bm25_' || bucket;
  words constant integer := cardinality(lexemes);
  condition constant text := ranking.filter_condition(filter);
  places ranking.word_filter;
  is_planned boolean;
  most integer;
  query text;
  queries tsquery[];
  slack double precision;
  row_limit integer := case when is_common then 5 else 3 end * wanted / 2;
  unseen double precision;
  edge double precision;
  kept integer;
  scan ranking.scanned_memories;
  newest ranking.scanned_memories;
  found ranking.scored_memories;
begin
  -- The index weighs words by their rarity among all rows. A word repeated in the query counts more, so repeating each of
  -- them brings its order close to that by the caller's weights. `slack` is the most by which a score of ours can exceed
  -- that of the index. In a query of one word the index ignores repetitions, which the first row scanned tells.
  with weighed as materialized (
    select t.token, l.place, w.weight, -(t.token <@> to_bm25query(t.token, index)) as index_weight
    from unnest(lexemes) with ordinality as l (lexeme, place)
    join unnest(weights) with ordinality as w (weight, place) using (place)
    cross join lateral (select words.index_token(l.lexeme) as token offset 0) t
  ), known as (
    select w.token, w.place, w.weight / w.index_weight as ratio from weighed w where w.index_weight > 0
  ), repeated as (
    select k.token, k.place, k.ratio,
      greatest(1, round(max_repeats * k.ratio / max(k.ratio) over ()))::integer as times from known k
  )
  select string_agg(repeat(r.token || ' ', r.times), '' order by r.place), max(r.ratio / r.times) into query, slack
  from repeated r;
  if query is null then
    found.ids := '{}';
    return found;
  end if;

  places.scopes := filter.scopes;
  places.project_id := filter.project_id;
  places.branch := filter.branch;
  places.hides_archived := filter.hides_archived;
  is_planned := words > 64 or condition <> ranking.filter_condition(places);
  most := case
    when is_planned then words
    when words <= 4 then 4 when words <= 8 then 8 when words <= 16 then 16 when words <= 32 then 32 else 64 end;
  -- No text has the words that are missing up to the number of a function.
  queries := array(
      select ranking.lexeme_query(l.lexeme) from unnest(lexemes) with ordinality as l (lexeme, place) order by l.place)
    || array_fill(ranking.lexeme_query(' '), array[most - words]);
  weights := weights || array_fill(0::double precision, array[most - words]);
  loop
    perform set_config('pg_textsearch.default_limit', (2 * row_limit)::text, true);
    case
    when is_planned then
      execute ranking.score_statement(ranking.index_source(bucket, condition), words)
      into scan using filter, query, weights, queries, average_length, row_limit;
    when most = 4 then
      scan := ranking.scan_4_words(filter, query, weights, queries, average_length, row_limit, bucket);
    when most = 8 then
      scan := ranking.scan_8_words(filter, query, weights, queries, average_length, row_limit, bucket);
    when most = 16 then
      scan := ranking.scan_16_words(filter, query, weights, queries, average_length, row_limit, bucket);
    when most = 32 then
      scan := ranking.scan_32_words(filter, query, weights, queries, average_length, row_limit, bucket);
    else
      scan := ranking.scan_64_words(filter, query, weights, queries, average_length, row_limit, bucket);
    end case;
    slack := greatest(slack, scan.slack);
    -- The factor covers what other transactions add to the index between two scans, and rounding.
    unseen := case when scan.walked < row_limit then 0 else 1.001 * slack * scan.last_score end;
    -- No row that the scan did not return has a score above `unseen`: then the best are the same whatever else the index holds.
    if unseen = 0 or scan.scores[wanted] > unseen then
      found.ids := scan.ids[:wanted];
      found.scores := scan.scores[:wanted];
      found.length_scores := scan.length_scores[:wanted];
      return found;
    end if;
    -- The lowest step of the scale that is above everything unseen.
    edge := case when scan.scores[1] > unseen
      then scan.scores[1] * step ^ (ceil(ln(unseen / scan.scores[1]) / ln(step)) - 1) end;
    exit when row_limit >= max_walked;
    row_limit := case when 3 * row_limit < max_walked then 3 * row_limit else 3 * max_walked / 2 end;
  end loop;

  -- Too many have the same words: those above the crowd are kept, and the newest of the crowd.
  kept := least(wanted, (select count(*) from unnest(scan.scores) as s (score) where s.score >= edge));
  found.ids := scan.ids[:kept];
  execute ranking.score_statement(format($sql$
    select r.* from (
      select p.packet_id, array[p.words] as words, p.word_count as length, null::double precision as distance
      from public.packet_store p
      where ($2 is null or p.tenant_id = $2) and %s and %s order by p."timestamp" desc, p.packet_id desc limit %s
    ) r
    where r.packet_id <> all ($6)$sql$, packets.in_bucket('p', bucket), condition, max_newest), words)
  into newest using filter, tenant_id, weights, queries, average_length, found.ids;
  found.ids := found.ids || newest.ids[:wanted - kept];
  found.scores := scan.scores[:kept] || newest.scores[:wanted - kept];
  found.length_scores := scan.length_scores[:kept] || newest.length_scores[:wanted - kept];
  return found;
end $$;
