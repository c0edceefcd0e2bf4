--! Previous: sha1:0a53fe875eea832fb64d560780fcd4153daa26aa
--! Hash: sha1:ac70554165dd7698de7872816af62675a862f805
--! Message: keep the plans of searches

--! split: 1-current.sql
-- A search costs less: scans of the indexes of words and vectors are one statement each, whose plan is kept, the scan of words also
-- scores by length, and successors of hits are looked up only where a hit can have one.
do $$
begin
  -- Loads both extensions: before that, a session may not give a function their settings.
  perform '[1]'::extensions.vector;
  perform from public.packet_store limit 0;
end $$;

drop function if exists standing.standing_of(public.packet_store, uuid, boolean);
drop function if exists ranking.walk_words(integer, uuid, text[], double precision[], ranking.word_filter, integer);
drop function if exists ranking.find_by_words(text[], double precision[], ranking.word_filter, integer);

create or replace function identity.has_every_project() returns boolean language sql stable parallel safe
return identity.claim('projects') is null or '*' = any (identity.list_claim('projects'));
comment on function identity.has_every_project is 'True if no claim keeps the caller to some projects of its tenant.';
grant execute on function identity.claim, identity.list_claim to l9_searcher;

alter type ranking.scored_memories add attribute length_scores double precision[];
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
  max_repeats constant integer := 24;
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
  row_limit integer := 3 * wanted / 2;
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
grant execute on function ranking.score_statement, ranking.index_source, ranking.walk_words to l9_searcher;

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
grant execute on function ranking.find_by_words to l9_agent, l9_admin, l9_platform_admin;

grant create on schema ranking to l9_searcher;
alter function ranking.find_by_words owner to l9_searcher;
revoke create on schema ranking from l9_searcher;

create or replace function duplicates.find_similar(
  content text, scope text, project_id text, branch text, kind text, org_id uuid, user_id uuid, except_id uuid default null,
  content_vector extensions.vector default null, model text default null)
returns table (packet_id uuid, similarity real, content_hash bytea)
language plpgsql stable
-- pg_textsearch looks up one of its functions by an unqualified name at planning time.
set search_path = pg_catalog, extensions
-- The scan goes on past rows of other places, which must not push a near-duplicate out.
set hnsw.iterative_scan = 'relaxed_order' set hnsw.ef_search = 100 set max_parallel_workers_per_gather = 0
-- ranking.walk_words() explains this setting.
set enable_sort = off
-- What waits for a review is no duplicate of anything.
set l9.withheld = 'none' as $$
declare
  max_compared constant integer := 50;
  max_candidates constant integer := 10;
  tenant_id uuid := identity.current_tenant_id();
  -- Long words are rare ones, so twelve of them are enough to find a near-duplicate.
  long_words text[] := array(
    select t.word from unnest(duplicates.distinct_words(left(content, duplicates.max_parsed_chars()))) as t (word)
    order by length(t.word) desc, t.word limit 12);
  long_stems text[] := array(
    select coalesce(nullif((ts_lexize('pg_catalog.english_stem', t.word))[1], ''), t.word) from unnest(long_words) as t (word));
  given duplicates.used_word[];
  rare_words text[];
  languages text[];
  place ranking.word_filter;
  dimensions integer;
  candidates uuid[];
  nearest uuid[];
  place_count integer;
  -- Both conditions use $1 to $7 and $9 of the statements below.
  project_condition text := 'p.tenant_id = $1 and p.scope = $2 and '
    || case when project_id is null then '$3 is null and p.project_id is null' else 'p.project_id = $3' end
    || case when branch is null then ' and $9 is null and p.branch is null' else ' and p.branch = $9' end;
  place_condition text := 'p.packet_type = $4 and p.org_id is not distinct from $5 and p.user_id is not distinct from $6'
    || ' and p.packet_id is distinct from $7 and (p.ttl is null or p.ttl > now())';
begin
  if length(content) > duplicates.max_compared_chars() then
    return;
  end if;
  -- A place with few memories is compared whole: an index scan is slowest where next to nothing matches.
  execute format($sql$
    select count(*), array_agg(f.packet_id) filter (where f.is_same_place), array_agg(distinct f.language)
    from (select p.packet_id, p.language, %s as is_same_place from public.packet_store p where %s limit %s) f$sql$,
    place_condition, project_condition, max_compared + 1)
  into place_count, candidates, languages
  using tenant_id, scope, project_id, kind, org_id, user_id, except_id, content_vector, branch;

  if place_count > max_compared then
    -- As the words of the memories there are stored.
    rare_words := (
      select array_agg(distinct w.word)
      from unnest(long_words[1:8]) as l (word) cross join lateral unnest(words.of_query_in(l.word, languages[1:3])) as w (word));
    place.scopes := array[scope];
    place.project_id := project_id;
    place.branch := branch;
    place.is_exact_place := true;
    place.org_id := org_id;
    place.user_id := user_id;
    place.kinds := array[kind];
    place.excluded_packet_id := except_id;
    candidates := (ranking.find_by_words(
      rare_words, (ranking.weigh_words(rare_words, array[scope], project_id)).weights, place, max_candidates)).ids;

    select m.dimensions into dimensions from public.embedding_models m
    where m.model = find_similar.model and m.state = 'serving' and vector_dims(content_vector) = 1536;
    if found then
      -- Of several that are equally far, the index returns any, depending on rows that the caller cannot read: where they
      -- would not all be candidates, none of them is.
      execute format($sql$
        with nearest as materialized (
          select p.packet_id, %1$s operator(extensions.<=>) extensions.subvector($8, 1, %6$s)::%2$s as distance
          from public.memory_embeddings e
          join public.packet_store p on p.packet_id = e.packet_id
          where e.model = %3$L and e.embedding_type = 'content' and %8$s and %7$s and %4$s
          order by %1$s operator(extensions.<=>) extensions.subvector($8, 1, %6$s)::%2$s limit %5$s + 1
        )
        select array_agg(n.packet_id) from nearest n
        where n.distance < (select case when count(*) > %5$s then max(o.distance) else 'infinity' end from nearest o)$sql$,
        embeddings.embedding_expression(dimensions), embeddings.embedding_type_name(dimensions), model, place_condition,
        max_candidates, dimensions, project_condition, packets.in_bucket('e', packets.tenant_bucket(tenant_id)))
      into nearest
      using tenant_id, scope, project_id, kind, org_id, user_id, except_id, content_vector, branch;
    end if;
  end if;

  candidates := candidates || nearest;
  if candidates is null then
    return;
  end if;
  given := duplicates.used_words(content);
  return query
  with compared as materialized (
    select p.packet_id, p.content_hash,
      -- Similar meaning raises the similarity a quarter of the way to the cosine. More would equate `writes to` and
      -- `reads from`, whose cosine is .97.
      greatest(w.similarity, (3 * w.similarity + (
        select (1 - (e.vector operator(extensions.<=>) content_vector))::real
        from public.memory_embeddings e
        where e.packet_id = p.packet_id and e.model = find_similar.model and e.embedding_type = 'content'
          and e.chunk_index = 0 and vector_dims(content_vector) = 1536)) / 4) as similarity
    from public.packet_store p
    cross join lateral (
      select c.* from duplicates.compare_used_words(given, duplicates.used_words(p.envelope ->> 'content'), p.language) c
      -- A candidate without half of the long words is not worth comparing word by word.
      where (
        select 2 * count(*) filter (where position(s.stem in lowered.text) > 0) >= count(*)
        from (select lower(p.envelope ->> 'content') as text offset 0) lowered, unnest(long_stems) as s (stem))
      offset 0
    ) w
    where not w.is_distinguished and p.packet_id = any (candidates)
      and length(p.envelope ->> 'content') <= duplicates.max_compared_chars()
      -- The same words in another case or indentation that tells are another text.
      and (p.content_hash <> packets.content_hash(find_similar.content)
        or packets.text_identity(p.envelope ->> 'content') = packets.text_identity(find_similar.content))
  )
  select c.packet_id, least(c.similarity, 1)::real, c.content_hash
  from compared c
  where c.similarity >= duplicates.similarity_threshold() order by c.similarity desc, c.packet_id limit max_candidates;
end $$;
create function standing.own_standing(memory public.packet_store, own_creator text) returns public.standing
language sql immutable parallel safe
return row(
  (memory).metadata ->> 'creator', (memory).metadata ->> 'source', (memory).text_creator, null, null, (memory).review_state,
  coalesce((memory).metadata ->> 'creator' = own_creator, false))::public.standing;
comment on function standing.own_standing is 'The standing of a memory, apart from what superseded it. own_creator: the name '
  'of the caller as a creator.';
grant execute on function standing.own_standing to l9_agent, l9_admin, l9_platform_admin;

-- Looks for successors only if a hit names one or states facts, which few memories do. Works on places in the list rather than on
-- scores: a hit gets a place just behind its last successor, and then at most the score of the hit before it.
create or replace function standing.place_hits(packet_ids uuid[], scores real[] default null, as_of timestamptz default null)
returns setof standing.placed_hit
language plpgsql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
declare
  own_creator constant text := identity.current_creator();
  own_places bigint[];
  own_standings public.standing[];
  has_successors boolean;
  known standing.succession[] := '{}';
  sort_keys numeric[] := array(select p.place from generate_series(1, cardinality(packet_ids)) as p (place));
  pairs integer[][];
  pair integer[];
  has_moved boolean;
begin
  select array_agg(i.place), array_agg(standing.own_standing(p, own_creator)), as_of is not null
    or bool_or(p.envelope ? 'superseded_by')
    or exists (select from public.fact_evidence e where e.packet_id = any (packet_ids))
  into own_places, own_standings, has_successors
  from unnest(packet_ids) with ordinality as i (packet_id, place) join public.packet_store p on p.packet_id = i.packet_id;
  if has_successors then
    known := array(select s from standing.successors(packet_ids, as_of) s);
  end if;
  pairs := (
    select array_agg(array[array_position(packet_ids, k.packet_id), array_position(packet_ids, k.successor_id)])
    from unnest(known) k
    where k.successor_id = any (packet_ids)
      -- Of two memories that superseded each other, in different facts, neither comes after the other for that.
      and not exists (select from unnest(known) o where o.packet_id = k.successor_id and o.successor_id = k.packet_id));
  -- A hit follows the last of its successors. As many rounds as there are hits settle any chain, and end a circle.
  for round in 1 .. case when pairs is null then 0 else cardinality(packet_ids) end loop
    has_moved := false;
    foreach pair slice 1 in array pairs loop
      if sort_keys[pair[1]] <= sort_keys[pair[2]] then
        sort_keys[pair[1]] := sort_keys[pair[2]] + 0.000001;
        has_moved := true;
      end if;
    end loop;
    exit when not has_moved;
  end loop;
  return query
  select i.place::integer, row(o.creator, o.source, o.text_creator, s.successor_id,
      case when s.successor_id is not null then s.is_partial end, o.review_state, o.is_own)::public.standing, i.lowest,
    case when i.score > i.lowest
      then jsonb_build_object('superseded', jsonb_build_object('by', s.successor_id, 'score', i.score)) else '{}' end
  from (
    select i.*, min(i.score) over (order by i.sort_key, i.place) as lowest
    from unnest(packet_ids, scores, sort_keys) with ordinality as i (packet_id, score, sort_key, place)
  ) i
  join unnest(own_places, own_standings)
    as o (place, creator, source, text_creator, superseded_by, is_partly_superseded, review_state, is_own) on o.place = i.place
  left join lateral (
    select k.successor_id, k.is_partial from unnest(known) k
    where k.packet_id = i.packet_id and k.is_direct order by k.successor_id desc limit 1
  ) s on true
  order by i.sort_key, i.place;
end $$;

create or replace function embeddings.nearest_statement(scan text) returns text language sql immutable parallel safe set search_path = ''
return pg_catalog.format($sql$
  with nearest as materialized (%s)
  select array_agg(f.packet_id order by f.distance), array_agg((1 - f.distance)::real order by f.distance),
    array_agg(f.chunk_index order by f.distance), (select count(*) from nearest)
  from (select distinct on (n.packet_id) n.* from nearest n order by n.packet_id, n.distance) f$sql$, scan);
comment on function embeddings.nearest_statement is 'The statement that returns the memories of a scan of vectors once each, '
  'nearest first, with their similarities and chunks, and the number of rows scanned.';
grant execute on function embeddings.nearest_statement to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create or replace function embeddings.create_nearest_function(model text, dimensions integer, embedding_type text) returns void
language plpgsql volatile set search_path = '' as $$
declare
  scan constant text := $sql$
    select m.packet_id, m.chunk_index, %1$s operator(extensions.<=>) query as distance
    from public.memory_embeddings m
    where m.model = %2$L and m.embedding_type = %3$L and %4$s
      and (m.ttl is null or m.ttl > pg_catalog.now())
      and (searched_scopes is null or m.scope = any (searched_scopes))
      and (searched_project is null or m.project_id is null or m.project_id = searched_project)
      and (searched_branch is null or m.branch is null or m.branch = searched_branch)
      and (uses_chunks or m.chunk_index = 0)
    order by %1$s operator(extensions.<=>) query limit row_limit$sql$;
  name constant text := format('embeddings.%I', embeddings.nearest_function_name(model, embedding_type));
begin
  execute format($sql$
create or replace function %s(
  bucket integer, query %s, row_limit integer, searched_scopes text[], searched_project text, searched_branch text,
  uses_chunks boolean, out ids uuid[], out scores real[], out chunks integer[], out scanned bigint)
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan as $body$
begin
  case bucket%s
  end case;
end
$body$ $sql$,
    name, embeddings.compared_vector_type(), (
      select string_agg(format(' when %s then select n.* into ids, scores, chunks, scanned from (%s) n;', b.bucket,
        embeddings.nearest_statement(format(
          scan, embeddings.embedding_expression(dimensions), model, embedding_type, packets.in_bucket('m', b.bucket)))), '')
      from unnest(packets.tenant_buckets()) as b (bucket)));
  execute format('comment on function %s is %L', name, format(
    'The rows nearest to a vector that the caller may read, of type %s and made by %s, from the index of a bucket of tenants.',
    embedding_type, model));
  execute format('grant execute on function %s to l9_agent, l9_admin, l9_platform_admin', name);
end $$;

-- Their functions return something else now.
do $$
declare
  known record;
begin
  for known in
    select m.model, m.dimensions, t.kind from public.embedding_models m
    cross join unnest(embeddings.embedding_types()) as t (kind)
  loop
    execute format('drop function if exists embeddings.%I', embeddings.nearest_function_name(known.model, known.kind));
    perform embeddings.create_nearest_function(known.model, known.dimensions, known.kind);
  end loop;
end $$;

create or replace function search.find_words(
  request search.search_request, lexemes text[], found_by_meaning uuid[], known_weights ranking.word_weights default null,
  wants_places boolean default false)
returns search.scored_words
language plpgsql stable set search_path = '' as $$
declare
  uses_contexts constant boolean := request.as_of is null and (request.settings).lexical_context_weight > 0
    and request.context_ids is distinct from '{}';
  weights ranking.word_weights;
  found ranking.scored_memories;
  candidate_ids uuid[];
  successors uuid[];
  answer search.scored_words;
begin
  if request.ids is not null and request.as_of is null then
    return search.score_words(request, lexemes, request.ids, case when uses_contexts then request.context_ids end,
      wants_places => wants_places);
  end if;
  weights := case when known_weights.weights is null
    then ranking.weigh_words(lexemes, request.requested_scopes, request.project_id) else known_weights end;
  if request.ids is not null then
    -- Texts that changed since are not among ids, but must be weighed by the same weights.
    candidate_ids := request.ids;
  else
    found := ranking.find_by_words(
      lexemes, weights.weights, request.word_filter, request.candidates, weights.average_length);
    candidate_ids := found.ids;
    if request.joins_packets then
      -- The filter need not state every condition of the search.
      candidate_ids := search.matching(request, candidate_ids);
    end if;
  end if;
  if request.ids is null and not (request.joins_packets or uses_contexts or wants_places) and found_by_meaning is null then
    -- The index's own reading of these texts is enough.
    answer.words := (
      select row(array_agg(f.id order by f.score desc, f.id desc), array_agg(f.score::real order by f.score desc, f.id desc),
        null)::search.ranked_memories
      from unnest(found.ids, found.length_scores) as f (id, score));
    answer.weights := weights.weights;
    answer.average_length := weights.average_length;
    return answer;
  end if;
  if uses_contexts then
    successors := search.successors(request, candidate_ids[:(search.as_context_search(request)).candidates]);
    if request.hides_archived and not request.joins_packets then
      successors := search.not_archived(successors);
    end if;
  end if;
  if request.ids is null then
    -- What is found by its meaning is scored by its words too, so that every candidate is scored by the same sum.
    candidate_ids := candidate_ids || array(
      -- Hashed, as in search.first_candidates().
      select distinct f.id from unnest(found_by_meaning) as f (id)
      where f.id not in (select c.id from unnest(candidate_ids) as c (id)));
  end if;
  answer := search.score_words(request, lexemes, candidate_ids, case when uses_contexts then candidate_ids || successors end,
    weights, wants_places);
  answer.weights := weights.weights;
  answer.average_length := weights.average_length;
  return answer;
end $$;

create or replace function search.find_vectors(request search.search_request, embedding_type text) returns search.ranked_memories
language plpgsql stable set search_path = pg_catalog, extensions set hnsw.iterative_scan = 'relaxed_order'
  set hnsw.ef_search = 150
-- The scan must get past rows that the caller cannot read. The default of 20,000 is too low for a caller that sees one row in a
-- thousand.
set hnsw.max_scan_tuples = 100000 set hnsw.scan_mem_multiplier = 8 set max_parallel_workers_per_gather = 0
  set enable_seqscan = off
-- The reason is the same as in ranking.walk_words().
set enable_sort = off as $$
declare
  candidate_ids uuid[] := case embedding_type
    when 'context' then request.context_ids
    when 'content' then request.ids
    when 'reasoning' then request.reasoning_ids end;
  condition constant text := case when request.joins_packets then request.current_or_past_condition
    else request.own_row_condition end;
  row_limit integer := request.candidates;
  query public.memory_embeddings.compared_vector%type := subvector(request.vector, 1, request.dimensions);
  source search.search_source;
  bucket integer;
  rows integer;
  part_rows integer;
  part search.ranked_memories;
  answer search.ranked_memories;
begin
  if request.k is null then
    return answer;
  end if;
  if candidate_ids is not null then
    if condition = request.own_row_condition or request.ids is not null and embedding_type <> 'reasoning' then
      return search.score_own_vectors(request, embedding_type, candidate_ids);
    end if;
    source.extra_condition := condition;
    return search.score_vectors(request, embedding_type, source, candidate_ids);
  end if;
  perform set_config('hnsw.ef_search', search.scan_width(
    request.candidates, search.estimated_rows(embeddings.embedding_index_name(
      request.model, embedding_type, case when cardinality(request.buckets) = 1 then request.buckets[1] end)))::text, true);
  loop
    answer := null;
    rows := 0;
    foreach bucket in array request.buckets loop
      execute case when request.joins_packets
        then embeddings.nearest_statement(search.joined_scan(request, embedding_type, bucket))
        else format('select * from embeddings.%I($1, $2, $3, $4, $5, $7, $6)',
          embeddings.nearest_function_name(request.model, embedding_type)) end
      into part.ids, part.scores, part.chunks, part_rows
      using bucket, query, row_limit, request.requested_scopes, request.project_id, (request.settings).uses_chunks,
        request.branch;
      answer.ids := answer.ids || part.ids;
      answer.scores := answer.scores || part.scores;
      answer.chunks := answer.chunks || part.chunks;
      rows := greatest(rows, part_rows);
    end loop;
    -- The scan is repeated with a higher limit because the nearest rows may all be chunks of a few long memories.
    exit when coalesce(cardinality(answer.ids), 0) >= request.k or rows < row_limit or row_limit >= search.max_scanned_rows();
    row_limit := row_limit * 5;
  end loop;
  if cardinality(request.buckets) > 1 then
    select array_agg(f.id), array_agg(f.score), array_agg(f.chunk) into answer.ids, answer.scores, answer.chunks
    from (
      select * from unnest(answer.ids, answer.scores, answer.chunks) as f (id, score, chunk)
      order by f.score desc limit request.candidates
    ) f;
  end if;
  if embedding_type = 'content' and coalesce(cardinality(answer.ids), 0) < request.k then
    -- The HNSW scan stopped before it found k visible rows, so an exact scan follows.
    source.extra_condition := condition;
    return search.score_vectors(request, embedding_type, source, null);
  end if;
  return answer;
end $$;

create or replace function find.corrected(request search.search_request) returns text language plpgsql stable set search_path = '' as $$
declare
  max_words constant integer := 8;
  known text[];
  filter ranking.word_filter;
  word text;
  lexemes text[];
  better text;
  answer text := request.query;
begin
  filter.scopes := request.requested_scopes;
  filter.project_id := request.project_id;
  filter.is_exact_place := false;
  for word in
    select lower(t.token) from regexp_split_to_table(left(request.query, 500), '[^[:alnum:]]+')
    with ordinality as t (token, place)
    where length(t.token) between 4 and 40 and t.token !~ '[0-9]' group by 1 order by min(t.place) limit max_words
  loop
    lexemes := words.of_query_in(word, request.languages);
    -- Stop words, and words that some memory has, are not misspelled.
    continue when lexemes = '{}'
      or (ranking.find_by_words(lexemes, array_fill(1.0::double precision, array[cardinality(lexemes)]), filter, 1)).ids <> '{}';
    known := coalesce(known, find.known_words(request));
    continue when word = any (known);
    better := find.correction_of(word, known);
    if better is not null then
      answer := regexp_replace(answer, '(?<![[:alnum:]])' || word || '(?![[:alnum:]])', better, 'gi');
    end if;
  end loop;
  return nullif(answer, request.query);
end $$;
