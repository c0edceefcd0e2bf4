create function search.word_stems(query text, skipped integer default 0)
returns text[]
language sql
stable
parallel safe
set search_path = ''
return array(
  -- With what every form of the word begins, though some other words may, too: English stems lose an e, and turn y into i.
  select pg_catalog.regexp_replace(words.lexeme, '(..)[eiy]$', '\1')
  from pg_catalog.unnest(pg_catalog.to_tsvector('pg_catalog.english', pg_catalog.left(query, 2000))) as words
  order by pg_catalog.length(words.lexeme) desc, words.lexeme
  limit 12 offset skipped);

comment on function search.word_stems(text, integer) is
  'The twelve longest words of a text, after so many longer ones, cut down to what all their forms begin with; empty where it has none.';

create function search.stem_test(stem text)
returns text
language sql
immutable
parallel safe
set search_path = ''
return case
  -- The quickest; what it finds in the middle of a word does no harm.
  when stem ~ '^[ -~]{4,}$' then pg_catalog.format('pg_catalog.strpos(s.lowered, %L) > 0', stem)
  when stem ~ '^[a-z0-9]+$' then pg_catalog.format('s.lowered ~ %L', '\m' || stem)
  else pg_catalog.format('s.content ~* %L', pg_catalog.regexp_replace(stem, '([][(){}.*+?^$|\\])', '\\\1', 'g')) end;

comment on function search.stem_test(text) is
  'A condition on s.content and on s.lowered (its ASCII letters in lower case, under collation C): whether a word begins like this, roughly.';

create function search.score_some_words(source search.search_source, ids uuid[], query text, stems text[], scored integer)
returns search.found
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  places integer[] := array(select generate_series(1, cardinality(stems)));
  worth text := (select string_agg(format('m.h%1$s::integer * worth.w%1$s', n), ' + ') from unnest(places) as n);
  answer search.found;
begin
  if source.table_name is null or coalesce(cardinality(stems), 0) = 0 then
    return answer;
  end if;
  execute format($sql$
    with matched as materialized (
      select s.packet_id, length(s.lowered) as length, %5$s
      from (
        select s.packet_id, %2$s as content, lower(%2$s collate "C") as lowered
        from %1$s s
        where s.packet_id = any ($1) and %4$s
        offset 0 -- so that each content is taken out of its row once
      ) s
    ), worth as (
      select %6$s from matched
    ), likely as (
      select m.packet_id
      from matched m, worth
      where %7$s > 0
      order by %7$s desc, m.length
      limit %8$s
    )
    -- Ordered by another expression than an index has, which would be walked.
    select array_agg(f.packet_id order by f.score desc), array_agg(f.score order by f.score desc)
    from (
      select s.packet_id, (-(%2$s <@> to_bm25query($2, %3$L)))::real as score
      from likely join %1$s s using (packet_id)
      where %4$s
      offset 0
    ) f
    where f.score > 0$sql$,
    source.table_name, source.content, source.bm25_index, coalesce(source.more, 'true'),
    (select string_agg(format('%s as h%s', search.stem_test(x.stem), x.place), ', ') from unnest(stems) with ordinality as x (stem, place)),
    (select string_agg(format('ln(1 + count(*)::real / (1 + count(*) filter (where h%1$s))) as w%1$s', n), ', ') from unnest(places) as n),
    worth, scored)
  into answer.ids, answer.scores
  using ids, query;
  return answer;
end
$$;

comment on function search.score_some_words(search.search_source, uuid[], text, text[], integer) is
  'BM25 of those of few rows that have one of some words of the query: first by which ones, rare ones first; then so many of the best of these by their true score.';

create function search.score_words(source search.search_source, ids uuid[], request search.search_request)
returns search.found
language plpgsql
stable
set search_path = ''
as $$
declare
  -- The operator takes a quarter of a millisecond a row, and more the larger the index: 60, and 30 contexts.
  scored constant integer := greatest(least(60, request.candidates * 3 / 5), request.k);
  stems text[] := search.word_stems(request.query);
  asked integer := 0;
  part search.found;
  answer search.found;
begin
  while cardinality(stems) > 0 and cardinality(ids) > 0 loop
    part := search.score_some_words(source, ids, request.query, stems, scored);
    answer.ids := answer.ids || part.ids;
    answer.scores := answer.scores || part.scores;
    -- Where meaning has its say, the twelve longest words are enough; else the others are looked for until k is filled.
    exit when request.mode <> 'lexical' or coalesce(cardinality(answer.ids), 0) >= request.k;
    asked := asked + 12;
    stems := search.word_stems(request.query, asked);
    ids := array(select i.id from unnest(ids) as i (id) where i.id <> all (coalesce(part.ids, '{}')));
  end loop;
  if asked > 0 then
    select array_agg(f.id order by f.score desc), array_agg(f.score order by f.score desc) into answer.ids, answer.scores
    from unnest(answer.ids, answer.scores) as f (id, score);
  end if;
  return answer;
end
$$;

comment on function search.score_words(search.search_source, uuid[], search.search_request) is
  'BM25 of few rows, without a walk through the index. By words alone it fills k where so many of them match.';

create function search.walk_words(request search.search_request, source search.search_source, alias text)
returns search.found
language plpgsql
stable
-- pg_textsearch looks up a function of its own by an unqualified name when it plans.
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- The index is walked in order. Without statistics (the embedded engine has no autovacuum, a young database none yet) the
-- planner expects a row or two, and would rather score every memory and sort.
set enable_sort = off
-- How many to rank at first it would guess from how many rows the policies leave, which nobody knows of a part of a table:
-- it ranked every match. Beginning with the limit, and going on where rows are left out, it reads a fortieth.
set pg_textsearch.filtered_seed = off
as $$
declare
  bucket integer;
  part search.found;
  answer search.found;
begin
  foreach bucket in array request.buckets loop
    -- Its index scan knows the scores. It hands them out, instead of computing each again, only in a statement of its own,
    -- no CTE, and where what is selected and what is ordered by are two expressions, if only in spelling.
    execute format($sql$
      select array_agg(f.packet_id), array_agg((-f.distance)::real)
      from (
        select %1$s.packet_id, %2$s <@> to_bm25query($1, '' || %3$L) as distance
        from %4$s
        where %5$s and %6$s
        order by %2$s <@> to_bm25query($1, %3$L)
        limit %7$s
      ) f
      where f.distance < 0$sql$,
      alias, source.content, source.bm25_index || bucket, source.table_name, packets.in_bucket(alias, bucket),
      source.more, request.candidates)
    into part.ids, part.scores
    using request.query;
    answer.ids := answer.ids || part.ids;
    answer.scores := answer.scores || part.scores;
  end loop;
  if cardinality(request.buckets) > 1 then
    select array_agg(f.id), array_agg(f.score) into answer.ids, answer.scores
    from (
      select * from unnest(answer.ids, answer.scores) as f (id, score) order by f.score desc limit request.candidates
    ) f;
  end if;
  return answer;
end
$$;

comment on function search.walk_words(search.search_request, search.search_source, text) is
  'BM25 by a walk through the index of each bucket of tenants that is searched.';

create function search.find_words(request search.search_request)
returns search.found
language plpgsql
stable
set search_path = ''
as $$
declare
  source search.search_source;
begin
  source.bm25_index := 'public.packet_store_content_bm25_';
  if request.walks_words then
    source.table_name := 'public.packet_store p';
    source.content := '(p.envelope ->> ''content'')';
    source.more := request.on_packets;
    return search.walk_words(request, source, 'p');
  end if;
  source.table_name := 'public.packet_store';
  source.content := '(s.envelope ->> ''content'')';
  source.bm25_index := source.bm25_index || request.buckets[1];
  source.more := case when request.as_of is not null then format('s.updated_at <= %L', request.as_of) end;
  return search.score_words(source, request.ids, request);
end
$$;

comment on function search.find_words(search.search_request) is
  'The leg over the words of memories themselves. Long ones as a whole: BM25 weighs a word by the length of its text, and a second index over chunks would hold every word twice.';

create function search.find_context_words(request search.search_request)
returns search.found
language plpgsql
stable
set search_path = ''
as $$
declare
  source search.search_source;
begin
  source.bm25_index := 'public.memory_contexts_bm25_';
  if request.walks_context_words then
    source.table_name := concat_ws(' ', 'public.memory_contexts m',
      case when request.joins_packets then 'join public.packet_store p on p.packet_id = m.packet_id' end);
    source.content := 'm.context';
    source.more := case when request.joins_packets then request.on_packets else request.on_own end;
    return search.walk_words(request, source, 'm');
  end if;
  source.table_name := 'public.memory_contexts';
  source.content := 's.context';
  source.bm25_index := source.bm25_index || request.buckets[1];
  source.more := case when request.ids is null and request.joins_packets then format(
    'exists (select from public.packet_store p where p.packet_id = s.packet_id and %s)', request.on_packets) end;
  return search.score_words(source, request.context_ids, request);
end
$$;

comment on function search.find_context_words(search.search_request) is
  'The leg over the words of memories together with their predecessors.';

grant execute on function
  search.word_stems(text, integer), search.stem_test(text),
  search.score_some_words(search.search_source, uuid[], text, text[], integer),
  search.score_words(search.search_source, uuid[], search.search_request),
  search.walk_words(search.search_request, search.search_source, text),
  search.find_words(search.search_request),
  search.find_context_words(search.search_request)
to l9_agent, l9_admin, l9_platform_admin;
