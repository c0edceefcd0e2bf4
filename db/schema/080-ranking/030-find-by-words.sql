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

create type ranking.scored_memories as (ids uuid[], scores double precision[]);
comment on type ranking.scored_memories is 'Memories with their scores, best first.';

-- Scans the index deeper and deeper, until no memory that it has not seen can score higher than those that it
-- returns. Where too many have nearly the same score, it gives up and takes the newest of them.
create function ranking.walk_words(
  bucket integer, tenant_id uuid, lexemes text[], weights double precision[], filter ranking.word_filter, wanted integer)
returns ranking.scored_memories
language plpgsql stable
-- pg_textsearch calls one of its functions by an unqualified name while it plans.
set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0 set enable_seqscan = off
-- The index must be scanned in order. Without statistics (the embedded engine has no autovacuum, and a new database has none yet)
-- the planner expects one or two rows, and would score and sort every memory instead.
set enable_sort = off
-- By default pg_textsearch guesses how many rows to rank first from the selectivity of the policies, for which a partial index
-- has no statistics, and ranks every match. Off, it begins with the limit and continues while rows are filtered out: a fortieth.
set pg_textsearch.filtered_seed = off as $$
declare
  max_repeats constant integer := 24;
  -- More memories of nearly one score are a crowd that the words do not tell apart. A lower limit that looked at the scores
  -- found so far would be reached earlier or later depending on the order of the index.
  max_walked constant integer := 8100;
  max_newest constant integer := 1000;
  -- Scores are compared in steps of a geometric scale, so that a crowd has an edge which does not depend on how far a scan came.
  step constant double precision := 0.93;
  index constant text := 'public.packet_store_words_bm25_' || bucket;
  tokens constant text[] := array(
    select words.index_token(l.lexeme) from unnest(lexemes) with ordinality as l (lexeme, place) order by l.place);
  queries constant tsquery[] := array(
    select ranking.lexeme_query(l.lexeme) from unnest(lexemes) with ordinality as l (lexeme, place) order by l.place);
  -- In steps of their own, because ranking.saturation() would count the occurrences twice.
  times constant text := (
    select string_agg(
      format('ranking.occurrences(ts_rank(''{1,1,1,1}'', f.words[1], $4[%s]))', l.place), ', ' order by l.place)
    from generate_subscripts(lexemes, 1) as l (place));
  score constant text := (
    select string_agg(format('$3[%1$s] * ranking.saturation(t.times[%1$s])', l.place), ' + ' order by l.place)
    from generate_subscripts(lexemes, 1) as l (place));
  condition constant text := ranking.filter_condition(filter);
  index_weights double precision[];
  query text;
  slack double precision;
  row_limit integer := 3 * wanted / 2;
  walked integer;
  last_score double precision;
  unseen double precision;
  edge double precision;
  found ranking.scored_memories;
  newest ranking.scored_memories;
begin
  index_weights := array(
    select -(t.token <@> to_bm25query(t.token, index)) from unnest(tokens) with ordinality as t (token, place) order by t.place);
  -- The index weighs words by their rarity among all rows. A word repeated in the query counts more, so repeating each of
  -- them brings its order close to that by the caller's weights. `slack` is the most by which a score of ours can exceed
  -- that of the index. In a query of one word the index ignores repetitions, which the first row scanned tells.
  with known as (
    select t.token, t.place, w.weight / i.weight as ratio
    from unnest(tokens) with ordinality as t (token, place)
    join unnest(weights) with ordinality as w (weight, place) using (place)
    join unnest(index_weights) with ordinality as i (weight, place) using (place)
    where i.weight > 0
  ), repeated as (
    select k.token, k.place, k.ratio,
      greatest(1, round(max_repeats * k.ratio / max(k.ratio) over ()))::integer as times from known k
  )
  select string_agg(repeat(r.token || ' ', r.times), '' order by r.place), max(r.ratio / r.times) into query, slack
  from repeated r;
  if query is null then
    return found;
  end if;

  loop
    -- The index scan returns its scores, instead of computing each again, only outside a CTE and only if the selected and the
    -- ordering expression are spelled differently.
    execute format($sql$
      select coalesce(array_agg(s.packet_id order by s.score desc, s.packet_id desc) filter (where s.score > 0), '{}'),
        array_agg(s.score order by s.score desc, s.packet_id desc) filter (where s.score > 0), count(*), -max(s.distance),
        greatest(%6$s, max(s.score / -s.distance))
      from (
        select t.packet_id, t.distance, %1$s as score
        from (
          select f.packet_id, f.distance, array[%7$s] as times
          from (
            select r.* from (
              -- An array holds its elements unpacked, so that this is done once instead of for each word of the query.
              select p.packet_id, array[p.words] as words, words.index_text(p.words) <@> to_bm25query($2, '' || %2$L) as distance
              from public.packet_store p
              where %3$s and %4$s order by words.index_text(p.words) <@> to_bm25query($2, %2$L)
              -- The index ranks as many rows as the inner limit at once, and again twice as many if the policies leave too few.
              limit 2 * %5$s
            ) r
            limit %5$s
          ) f
          where f.distance < 0 offset 0 -- Keeps each subquery separate, so that nothing is computed twice.
        ) t
        offset 0
      ) s$sql$, score, index, packets.in_bucket('p', bucket), condition, row_limit, slack, times)
    into found.ids, found.scores, walked, last_score, slack
    using filter, query, weights, queries;
    -- The factor covers what other transactions add to the index between two scans, and rounding.
    unseen := case when walked < row_limit then 0 else 1.001 * slack * last_score end;
    -- No row that the scan did not return has a score above `unseen`: then the best are the same whatever else the index holds.
    if unseen = 0 or found.scores[wanted] > unseen then
      found.ids := found.ids[:wanted];
      found.scores := found.scores[:wanted];
      return found;
    end if;
    -- The lowest step of the scale that is above everything unseen.
    edge := case when found.scores[1] > unseen
      then found.scores[1] * step ^ (ceil(ln(unseen / found.scores[1]) / ln(step)) - 1) end;
    exit when row_limit >= max_walked;
    row_limit := case when 3 * row_limit < max_walked then 3 * row_limit else 3 * max_walked / 2 end;
  end loop;

  -- Too many have the same words: those above the crowd are kept, and the newest of the crowd.
  walked := (select count(*) from unnest(found.scores) as s (score) where s.score >= edge);
  found.ids := found.ids[:least(walked, wanted)];
  found.scores := found.scores[:least(walked, wanted)];
  execute format($sql$
    select array_agg(n.packet_id order by n.score desc, n.packet_id desc),
      array_agg(n.score order by n.score desc, n.packet_id desc)
    from (
      select t.packet_id, %1$s as score
      from (
        select f.packet_id, array[%5$s] as times
        from (
          select p.packet_id, array[p.words] as words from public.packet_store p
          where ($2 is null or p.tenant_id = $2) and %2$s and %3$s order by p."timestamp" desc, p.packet_id desc limit %4$s
        ) f
        offset 0
      ) t
      offset 0
    ) n
    where n.score > 0 and n.packet_id <> all ($5)$sql$, score, packets.in_bucket('p', bucket), condition, max_newest, times)
  into newest.ids, newest.scores
  using filter, tenant_id, weights, queries, found.ids;
  found.ids := found.ids || newest.ids[:wanted - walked];
  found.scores := found.scores || newest.scores[:wanted - walked];
  return found;
end $$;
comment on function ranking.walk_words is 'The memories of a bucket of tenants with the highest scores for weighed words (BM25 '
  'with b = 0). The index is scanned until it is certain that no other memory scores higher, because the order of the index '
  'depends on rows that the caller cannot read. Only l9_searcher may call it.';
grant execute on function ranking.walk_words, ranking.filter_condition, ranking.word_weight, ranking.lexeme_query,
  ranking.occurrences, ranking.saturation to l9_searcher;

-- A caller scans the bucket of its own tenant, an operator those of all tenants; the best of all of them are returned.
create function ranking.find_by_words(lexemes text[], weights double precision[], filter ranking.word_filter, wanted integer)
returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare
  is_operator constant boolean := identity.current_role_name() = 'l9_platform_admin';
  tenant_id constant uuid := case when not is_operator then identity.current_tenant_id() end;
  buckets constant integer[] := case when is_operator then packets.tenant_buckets()
    else array[packets.tenant_bucket(tenant_id)] end;
  bucket integer;
  part ranking.scored_memories;
  answer ranking.scored_memories;
begin
  if coalesce(cardinality(lexemes), 0) = 0 or buckets[1] is null or (wanted between 1 and 1000) is not true
    or cardinality(lexemes) > 100 or cardinality(weights) is distinct from cardinality(lexemes)
    or exists (select from unnest(lexemes, weights) as w (lexeme, weight)
      where (w.weight between 1e-6 and 1e6 and w.lexeme <> '') is not true) then
    return '{}';
  end if;
  foreach bucket in array buckets loop
    part := ranking.walk_words(bucket, tenant_id, lexemes, weights, filter, wanted);
    answer.ids := answer.ids || part.ids;
    answer.scores := answer.scores || part.scores;
  end loop;
  return array(select f.id from unnest(answer.ids, answer.scores) as f (id, score) order by f.score desc, f.id desc limit wanted);
end $$;
comment on function ranking.find_by_words is 'The memories that the caller may read and that match the filter, with the highest '
  'scores for these words, weighed as given. Definer: it reads the index of words, whose scores depend on rows that the caller '
  'cannot read. The answer does not: it shows no score, and which memories it names is decided by what the caller may read.';
grant execute on function ranking.weigh_words, ranking.find_by_words, ranking.word_weight, ranking.lexeme_query,
  ranking.occurrences, ranking.saturation to l9_agent, l9_admin, l9_platform_admin;

grant create on schema ranking to l9_searcher;
alter function ranking.weigh_words owner to l9_searcher;
alter function ranking.find_by_words owner to l9_searcher;
revoke create on schema ranking from l9_searcher;
