create function search.scan_words(request search.search_request, source search.search_source, alias text)
returns search.ranked_memories
language plpgsql
stable
-- pg_textsearch calls one of its functions by an unqualified name while it plans.
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- The index must be scanned in order. Without statistics (the embedded engine has no autovacuum, and a new database has none yet)
-- the planner expects one or two rows, and would score and sort every memory instead.
set enable_sort = off
-- By default pg_textsearch guesses how many rows to rank first from the selectivity of the policies, for which a partial index
-- has no statistics, and ranks every match. Off, it begins with the limit and continues while rows are filtered out: a fortieth.
set pg_textsearch.filtered_seed = off
as $$
declare
  bucket integer;
  part search.ranked_memories;
  answer search.ranked_memories;
begin
  foreach bucket in array request.buckets loop
    -- The index scan returns its scores, instead of computing each again, only outside a CTE and only if the selected and the
    -- ordering expression are spelled differently.
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
      source.extra_condition, request.candidates)
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

comment on function search.scan_words(search.search_request, search.search_source, text) is
  'BM25 scores from a scan of the index of each bucket of tenants that is searched.';

create function search.find_words(request search.search_request)
returns search.ranked_memories
language plpgsql
stable
set search_path = ''
as $$
declare
  source search.search_source;
begin
  source.bm25_index := 'public.packet_store_content_bm25_';
  if request.scans_words then
    source.table_name := 'public.packet_store p';
    source.content := '(p.envelope ->> ''content'')';
    source.extra_condition := request.current_condition;
    return search.scan_words(request, source, 'p');
  end if;
  source.table_name := 'public.packet_store';
  source.content := '(s.envelope ->> ''content'')';
  source.bm25_index := source.bm25_index || request.buckets[1];
  source.extra_condition := case when request.as_of is not null then format('s.updated_at <= %L', request.as_of) end;
  return search.score_words(source, request.ids, request);
end
$$;

comment on function search.find_words(search.search_request) is
  'Retriever over the words of memories. Long memories are indexed as a whole: BM25 weights a word by the length of its text, and a second index over chunks would hold every word twice.';

create function search.find_context_words(request search.search_request)
returns search.ranked_memories
language plpgsql
stable
set search_path = ''
as $$
declare
  source search.search_source;
begin
  source.bm25_index := 'public.memory_contexts_bm25_';
  if request.scans_context_words then
    source.table_name := concat_ws(' ', 'public.memory_contexts m',
      case when request.joins_packets then 'join public.packet_store p on p.packet_id = m.packet_id' end);
    source.content := 'm.context';
    source.extra_condition := case when request.joins_packets then request.current_condition else request.own_row_condition end;
    return search.scan_words(request, source, 'm');
  end if;
  source.table_name := 'public.memory_contexts';
  source.content := 's.context';
  source.bm25_index := source.bm25_index || request.buckets[1];
  source.extra_condition := case when request.ids is null and request.joins_packets then format(
    'exists (select from public.packet_store p where p.packet_id = s.packet_id and %s)', request.current_condition) end;
  return search.score_words(source, request.context_ids, request);
end
$$;

comment on function search.find_context_words(search.search_request) is
  'Retriever over the words of memories together with their predecessors.';

grant execute on function
  search.scan_words(search.search_request, search.search_source, text), search.find_words(search.search_request),
  search.find_context_words(search.search_request)
to l9_agent, l9_admin, l9_platform_admin;
