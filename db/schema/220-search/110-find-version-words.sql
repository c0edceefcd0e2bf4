-- The retriever over texts that have changed since, for a search as of a time. find_hits() calls find_version_words()
-- beside find_words().

-- A search as of a time reads the versions that were replaced after it.
create index packet_versions_until_idx on public.packet_versions (tenant_id, valid_until);

-- Tests the old texts for beginnings of the words first, which is cheap, and makes the words of the 500 likeliest only.
create function search.find_version_words(request search.search_request, lexemes text[], weights ranking.word_weights)
returns search.ranked_memories
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
  set enable_seqscan = off as $$
declare
  -- The words of a version are not stored, and making them takes longer than finding their first letters in it.
  max_parsed constant integer := 500;
  stems constant text[] := (search.word_stems(request.query, request.languages))[:12];
  queries constant tsquery[] := array(select ranking.lexeme_query(l.lexeme) from unnest(lexemes)
    with ordinality as l (lexeme, place) order by l.place);
  answer search.ranked_memories;
begin
  if cardinality(stems) = 0 or coalesce(cardinality(weights.weights), 0) = 0 then
    return answer;
  end if;
  execute format($sql$
    with replaced as (
      select v.packet_id, v.envelope ->> 'content' as content, v.packet_type, v."timestamp", v.language
      from public.packet_versions v join public.packet_store p on p.packet_id = v.packet_id
      where v.valid_until > $1 and v.valid_from <= $1 and %1$s order by v.valid_until, v.packet_id limit %2$s
    ), likely as materialized (
      select s.packet_id, s.content, s.packet_type, s."timestamp", s.language
      from (select r.*, search.searchable_text(r.content) collate "C" as lowered from replaced r offset 0) s
      where %3$s > 0 order by %3$s desc, length(s.content), s.packet_id limit %4$s
    ), parsed as materialized (
      select l.packet_id, w.words, words.length(w.words) as length from likely l
      cross join lateral (select words.of_memory(l.content, l.language, l."timestamp", l.packet_type) as words offset 0) w
    )
    select array_agg(f.packet_id order by f.score desc, f.packet_id desc),
      array_agg(f.score::real order by f.score desc, f.packet_id desc)
    from (
      select d.packet_id, sum(q.weight * ranking.saturation(
        ranking.occurrences(ts_rank('{1,1,1,1}', d.words, q.query)), d.length / coalesce($4, d.length))
        order by q.place) as score
      from parsed d
      join unnest($2, $3) with ordinality as q (query, weight, place) on d.words @@ q.query
      group by d.packet_id
    ) f$sql$,
    request.past_condition, search.max_scanned_rows(),
    (select string_agg(format('(%s)::integer', search.stem_test(x.stem)), ' + ') from unnest(stems) as x (stem)), max_parsed)
  into answer.ids, answer.scores
  using request.as_of, queries, weights.weights, weights.average_length;
  return answer;
end $$;
comment on function search.find_version_words is 'Retriever over texts that memories had at a time and have no longer. It reads '
  'versions that the caller may read, of memories that it may read: at most the 20,000 that were replaced first after that time.';
grant execute on function search.find_version_words to l9_agent, l9_admin, l9_platform_admin;
