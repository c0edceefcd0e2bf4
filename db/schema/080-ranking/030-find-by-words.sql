-- Finds memories by weighed words, through the BM25 indexes. Searches, suggestions and the search for near-duplicates
-- call find_by_words().
create type ranking.word_filter as (
  scopes text[], project_id text, is_exact_place boolean, org_id uuid, user_id uuid, kinds text[], tag_keys text[],
  has_every_tag boolean, since timestamptz, until timestamptz, thread_id text, creator text, excluded_packet_id uuid,
  unchanged_since timestamptz, speaker text, fields packets.where_condition, branch text, hides_archived boolean);
comment on type ranking.word_filter is 'What memories a search by words finds, as values and never as SQL; null: no condition. '
  'With is_exact_place those of exactly project_id, branch, org_id and user_id (null: none), otherwise those of project_id and '
  'of no project, and those of branch and of no branch. tag_keys: what wanted_tag_keys() returns.';

create function ranking.filter_condition(filter ranking.word_filter) returns text
language sql stable parallel safe set search_path = ''
return pg_catalog.concat_ws(' and ', '(p.ttl is null or p.ttl > now())',
  case when filter.scopes is not null then 'p.scope = any ($1.scopes)' end,
  case when filter.is_exact_place then 'p.project_id is not distinct from $1.project_id
    and p.branch is not distinct from $1.branch and p.org_id is not distinct from $1.org_id
    and p.user_id is not distinct from $1.user_id' end,
  case when filter.is_exact_place is not true and filter.project_id is not null
    then '(p.project_id = $1.project_id or p.project_id is null)' end,
  case when filter.is_exact_place is not true and filter.branch is not null then '(p.branch = $1.branch or p.branch is null)' end,
  case when filter.kinds is not null then 'p.packet_type = any ($1.kinds)' end,
  case when filter.tag_keys is not null then case when filter.has_every_tag
    then 'packets.tag_keys(p.tags) operator(pg_catalog.@>) $1.tag_keys'
    else 'packets.tag_keys(p.tags) operator(pg_catalog.&&) $1.tag_keys' end end,
  case when filter.since is not null then 'p."timestamp" >= $1.since' end,
  case when filter.until is not null then 'p."timestamp" < $1.until' end,
  case when filter.thread_id is not null then 'p.thread_id = $1.thread_id' end,
  case when filter.creator is not null then 'p.metadata ->> ''creator'' = $1.creator' end,
  case when filter.excluded_packet_id is not null then 'p.packet_id <> $1.excluded_packet_id' end,
  case when filter.unchanged_since is not null then 'p.updated_at <= $1.unchanged_since' end,
  case when filter.speaker is not null then 'lower(p.speaker) = lower($1.speaker)' end,
  case when filter.hides_archived then '(p.archived_at is null or p.archived_at > now())' end,
  case when (filter.fields).path is not null then 'p.envelope operator(pg_catalog.@@) ($1.fields).path' end,
  case when (filter.fields).times is not null then 'packets.has_times(p.envelope, ($1.fields).times)' end);
comment on function ranking.filter_condition is 'The condition on packet_store p that a word_filter, as $1, states. It has none '
  'of its values in it: functions of l9_searcher run no text of a caller. What is not asked for is left out, because planning '
  'takes longer than the scan.';

create function ranking.occurrences(rank real) returns double precision language sql immutable parallel safe
return floor(1 / (1.64493406685 * (1.00000001 - rank)));
comment on function ranking.occurrences is 'How often a word occurs in a text, given ts_rank(''{1,1,1,1}'', …) of that word: the '
  'sum of 1/n² over its occurrences, divided by π²/6. ts_rank is many times faster than unnest().';

create function ranking.saturation(occurrences double precision, length_ratio double precision default null)
returns double precision
language sql immutable parallel safe
return 1.9 * occurrences / (occurrences + case when length_ratio is null then 0.9 else 0.54 + 0.36 * length_ratio end);
comment on function ranking.saturation is 'What a word counts in BM25 (k1 .9, b .4, or 0 without the ratio) before its weight.';

create type ranking.scored_memories as (ids uuid[], scores double precision[], length_scores double precision[]);
call identity.describe('ranking.scored_memories', 'Memories with their scores, best first.
  scores: The scores by which they were found (BM25 with b = 0).
  length_scores: The same with b = 0.4, where an average length was given.');

create type ranking.scanned_memories as (ids uuid[], scores double precision[], length_scores double precision[], walked bigint,
  last_score double precision, slack double precision);
call identity.describe('ranking.scanned_memories', 'What one round of walk_words() found. The index''s own scores depend on hidden
    rows, so that no caller gets it.
  walked: How many rows with one of the words the index returned.
  last_score: The score that the index gave the last of them.
  slack: The largest quotient of a score of ours and that of the index.');

-- The rows of `source` have their words in an array, which holds its elements unpacked, so that this is done once and not for
-- each word of the query. OFFSET keeps each subquery separate, so that nothing is computed twice.
create function ranking.score_statement(source text, words integer) returns text language sql immutable parallel safe
set search_path = ''
return pg_catalog.format($sql$
  select coalesce(array_agg(s.packet_id order by s.score desc, s.packet_id desc) filter (where s.score > 0), '{}'),
    array_agg(s.score order by s.score desc, s.packet_id desc) filter (where s.score > 0),
    array_agg(s.length_score order by s.score desc, s.packet_id desc) filter (where s.score > 0),
    count(*), -max(s.distance), max(s.score / -s.distance)
  from (
    select t.packet_id, t.distance, %2$s as score, case when $5 is not null then %3$s end as length_score
    from (
      select f.packet_id, f.distance, array[%4$s] as times, f.length / $5 as ratio from (%1$s) f offset 0
    ) t
    offset 0
  ) s$sql$,
  source,
  (select pg_catalog.string_agg(pg_catalog.format('$3[%1$s] * ranking.saturation(t.times[%1$s])', n), ' + ' order by n)
   from pg_catalog.generate_series(1, words) as n),
  (select pg_catalog.string_agg(pg_catalog.format('$3[%1$s] * ranking.saturation(t.times[%1$s], t.ratio)', n), ' + ' order by n)
   from pg_catalog.generate_series(1, words) as n),
  (select pg_catalog.string_agg(
     pg_catalog.format('ranking.occurrences(ts_rank(''{1,1,1,1}'', f.words[1], $4[%s]))', n), ', ' order by n)
   from pg_catalog.generate_series(1, words) as n));
comment on function ranking.score_statement is 'The statement that scores rows for so many words, with values for $3 to $5.';

create function ranking.index_source(bucket integer, condition text) returns text language sql immutable parallel safe
set search_path = ''
return pg_catalog.format($sql$
  select n.* from (
    select r.* from (
      -- The index has just computed this score; the operator would do it again.
      select p.packet_id, array[p.words] as words, p.word_count as length, pg_catalog.bm25_get_current_score() as distance
      from public.packet_store p
      where %s and %s order by words.index_text(p.words) <@> to_bm25query($2, 'public.packet_store_words_bm25_%s')
      -- The index ranks as many rows as the inner limit at once, and again twice as many if the policies leave too few. In a plan
      -- that is kept it does not know this limit, and goes by pg_textsearch.default_limit.
      limit 2 * $6
    ) r
    limit $6
  ) n
  where n.distance < 0$sql$, packets.in_bucket('p', bucket), condition, bucket);
comment on function ranking.index_source is 'The rows that come first in the index of a bucket, with values for $1, $2 and $6.';

create function ranking.places_condition() returns text language sql immutable parallel safe
return '(p.ttl is null or p.ttl > now()) and ($1.scopes is null or p.scope = any ($1.scopes))
    and ($1.project_id is null or p.project_id = $1.project_id or p.project_id is null)
    and ($1.branch is null or p.branch = $1.branch or p.branch is null)
    and ($1.hides_archived is not true or p.archived_at is null or p.archived_at > now())';
comment on function ranking.places_condition is 'filter_condition() of any filter that asks for no more than places.';

-- One function for up to 4, 8, 16, 32 and 64 words, and in each one statement for each index: with parameters only, so that
-- PostgreSQL plans them once a session. Planning takes as long as the scan.
do $$
declare
  most integer;
begin
  foreach most in array '{4,8,16,32,64}'::integer[] loop
    execute format($sql$
      create function ranking.scan_%1$s_words(
        filter ranking.word_filter, query text, weights double precision[], queries tsquery[], average_length double precision,
        row_limit integer, bucket integer) returns setof ranking.scanned_memories
      -- pg_textsearch calls one of its functions by an unqualified name while it plans.
      language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
        -- The index must be scanned in order. Without statistics (the embedded engine has no autovacuum, and a new database has
        -- none yet) the planner expects one or two rows, and would score and sort every memory instead.
        set enable_seqscan = off set enable_sort = off set plan_cache_mode = force_generic_plan as $body$
      begin
        case $7%2$s
        end case;
      end $body$;
      comment on function ranking.scan_%1$s_words is 'One round of walk_words() for up to %1$s words.';
      grant execute on function ranking.scan_%1$s_words to l9_searcher;$sql$, most, (
      select string_agg(format(' when %s then return query %s;', b.bucket,
        ranking.score_statement(ranking.index_source(b.bucket, ranking.places_condition()), most)), '' order by b.bucket)
      from unnest(packets.tenant_buckets()) as b (bucket)));
  end loop;
end $$;

-- Scans the index deeper and deeper, until no memory that it has not seen can score higher than those that it
-- returns. Where too many have nearly the same score, it gives up and takes the newest of them.
create function ranking.walk_words(bucket integer, tenant_id uuid, lexemes text[], weights double precision[],
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
comment on function ranking.walk_words is 'The memories of a bucket of tenants with the highest scores for weighed words (BM25 '
  'with b = 0). The index is scanned until it is certain that no other memory scores higher, because the order of the index '
  'depends on rows that the caller cannot read. Only l9_searcher may call it.';
grant execute on function ranking.score_statement, ranking.index_source, ranking.walk_words, ranking.filter_condition,
  ranking.word_weight, ranking.lexeme_query, ranking.occurrences, ranking.saturation to l9_searcher;

-- A caller scans the bucket of its own tenant, an operator those of all tenants; the best of all of them are returned.
create function ranking.find_by_words(lexemes text[], weights double precision[], filter ranking.word_filter, wanted integer,
  average_length double precision default null) returns ranking.scored_memories
language plpgsql stable security definer set search_path = '' as $$
declare
  is_operator constant boolean := identity.current_role_name() = 'l9_platform_admin';
  tenant_id constant uuid := case when not is_operator then identity.current_tenant_id() end;
  bucket integer;
  part ranking.scored_memories;
  answer ranking.scored_memories := row('{}', '{}', '{}')::ranking.scored_memories;
begin
  if coalesce(cardinality(lexemes), 0) = 0 or not is_operator and tenant_id is null or (wanted between 1 and 1000) is not true
    or cardinality(lexemes) > 100 or cardinality(weights) is distinct from cardinality(lexemes) or average_length < 1
    or exists (select from unnest(lexemes, weights) as w (lexeme, weight)
      where (w.weight between 1e-6 and 1e6 and w.lexeme <> '') is not true) then
    return answer;
  elsif not is_operator then
    return ranking.walk_words(packets.tenant_bucket(tenant_id), tenant_id, lexemes, weights, filter, wanted, average_length);
  end if;
  foreach bucket in array packets.tenant_buckets() loop
    part := ranking.walk_words(bucket, tenant_id, lexemes, weights, filter, wanted, average_length);
    answer.ids := answer.ids || part.ids;
    answer.scores := answer.scores || part.scores;
    answer.length_scores := answer.length_scores || part.length_scores;
  end loop;
  select coalesce(array_agg(f.id order by f.place), '{}'), array_agg(f.score order by f.place),
    array_agg(f.length_score order by f.place)
  into answer.ids, answer.scores, answer.length_scores
  from (
    select f.*, row_number() over (order by f.score desc, f.id desc) as place
    from unnest(answer.ids, answer.scores, answer.length_scores) as f (id, score, length_score)
  ) f
  where f.place <= wanted;
  return answer;
end $$;
comment on function ranking.find_by_words is 'The memories that the caller may read and that match the filter, with the highest '
  'scores for these words, weighed as given. Definer: it reads the index of words, whose scores depend on rows that the caller '
  'cannot read. The answer does not: its scores are made of the weights and of texts that the caller may read, which also decide '
  'which memories it names.';
grant execute on function ranking.weigh_words, ranking.find_by_words, ranking.word_weight, ranking.lexeme_query,
  ranking.occurrences, ranking.saturation to l9_agent, l9_admin, l9_platform_admin;

grant create on schema ranking to l9_searcher;
alter function ranking.weigh_words owner to l9_searcher;
alter function ranking.find_by_words owner to l9_searcher;
revoke create on schema ranking from l9_searcher;
