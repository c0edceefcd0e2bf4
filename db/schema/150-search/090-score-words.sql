create function search.stem_test(stem text)
returns text
language sql
immutable
parallel safe
set search_path = ''
return case
  -- The fastest test. A match in the middle of a word does no harm.
  when stem ~ '^[ -~]{4,}$' then pg_catalog.format('pg_catalog.strpos(s.lowered, %L) > 0', stem)
  when stem ~ '^[a-z0-9]+$' then pg_catalog.format('s.lowered ~ %L', '\m' || stem)
  else pg_catalog.format('s.content ~* %L', pg_catalog.regexp_replace(stem, '([][(){}.*+?^$|\\])', '\\\1', 'g')) end;

comment on function search.stem_test(text) is
  'A condition on s.content and s.lowered (the content with ASCII letters in lower case, under collation C) that holds if a word begins with the stem. It may also hold for other rows.';

create function search.score_some_words(source search.search_source, ids uuid[], query text, stems text[], max_scored integer)
returns search.ranked_memories
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  stem_numbers integer[] := array(select generate_series(1, cardinality(stems)));
  stem_score text := (select string_agg(format('m.h%1$s::integer * weights.w%1$s', n), ' + ') from unnest(stem_numbers) as n);
  answer search.ranked_memories;
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
        offset 0 -- Keeps the subquery separate, so that each content is detoasted once.
      ) s
    ), weights as (
      select %6$s from matched
    ), likely as (
      select m.packet_id
      from matched m, weights
      where %7$s > 0
      order by %7$s desc, m.length
      limit %8$s
    )
    -- The order uses another expression than the index does, because otherwise the planner would scan the index.
    select array_agg(f.packet_id order by f.score desc), array_agg(f.score order by f.score desc)
    from (
      select s.packet_id, (-(%2$s <@> to_bm25query($2, %3$L)))::real as score
      from likely join %1$s s using (packet_id)
      where %4$s
      offset 0
    ) f
    where f.score > 0$sql$,
    source.table_name, source.content, source.bm25_index, coalesce(source.extra_condition, 'true'),
    (select string_agg(format('%s as h%s', search.stem_test(x.stem), x.place), ', ') from unnest(stems) with ordinality as x (stem, place)),
    (select string_agg(format('ln(1 + count(*)::real / (1 + count(*) filter (where h%1$s))) as w%1$s', n), ', ') from unnest(stem_numbers) as n),
    stem_score, max_scored)
  into answer.ids, answer.scores
  using ids, query;
  return answer;
end
$$;

comment on function search.score_some_words(search.search_source, uuid[], text, text[], integer) is
  'BM25 scores of those of the given rows that have any of the stems. Rows are first ranked by the stems they have, with more weight for rare ones; then the best max_scored are scored by BM25.';

create function search.score_words(source search.search_source, ids uuid[], request search.search_request)
returns search.ranked_memories
language plpgsql
stable
set search_path = ''
as $$
declare
  -- The operator takes at least a quarter of a millisecond for each row: 60 rows are scored, and 30 contexts.
  max_scored constant integer := greatest(least(60, request.candidates * 3 / 5), request.k);
  stems text[] := search.word_stems(request.query);
  skipped integer := 0;
  part search.ranked_memories;
  answer search.ranked_memories;
begin
  while cardinality(stems) > 0 and cardinality(ids) > 0 loop
    part := search.score_some_words(source, ids, request.query, stems, max_scored);
    answer.ids := answer.ids || part.ids;
    answer.scores := answer.scores || part.scores;
    -- If the search also compares meaning, the twelve longest words are enough; otherwise the next words follow until k rows are found.
    exit when request.mode <> 'lexical' or coalesce(cardinality(answer.ids), 0) >= request.k;
    skipped := skipped + 12;
    stems := search.word_stems(request.query, skipped);
    ids := array(select i.id from unnest(ids) as i (id) where i.id <> all (coalesce(part.ids, '{}')));
  end loop;
  if skipped > 0 then
    select array_agg(f.id order by f.score desc), array_agg(f.score order by f.score desc) into answer.ids, answer.scores
    from unnest(answer.ids, answer.scores) as f (id, score);
  end if;
  return answer;
end
$$;

comment on function search.score_words(search.search_source, uuid[], search.search_request) is
  'BM25 scores of few rows, without an index scan. In mode lexical it finds k rows if k of them match.';

grant execute on function
  search.stem_test(text),
  search.score_some_words(search.search_source, uuid[], text, text[], integer),
  search.score_words(search.search_source, uuid[], search.search_request)
to l9_agent, l9_admin, l9_platform_admin;
