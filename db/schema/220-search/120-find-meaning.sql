-- The retriever over vectors. find_hits() calls find_meaning() for contents, contexts and reasoning steps; the other
-- functions are the ways in which it can compare or scan vectors.
create function search.score_vectors(request search.search_request, embedding_type text, source search.search_source, ids uuid[])
returns search.ranked_memories
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
  set enable_seqscan = off as $$
declare
  answer search.ranked_memories;
begin
  if request.k is null or source.extra_condition is null then
    return answer;
  end if;
  -- The column alone is not the indexed expression, so that no HNSW index of a model matches it.
  execute format($sql$
    select array_agg(f.packet_id order by f.distance), array_agg((1 - f.distance)::real order by f.distance),
      array_agg(f.chunk_index order by f.distance)
    from (
      select * from (
        select distinct on (m.packet_id) m.packet_id, m.chunk_index,
          m.compared_vector operator(extensions.<=>) extensions.subvector($1, 1, %s)::%s as distance
        from public.memory_embeddings m %s
        where %s m.model = $3 and m.embedding_type = $4 %s and %s order by m.packet_id, distance
      ) nearest
      order by nearest.distance limit %s
    ) f$sql$,
    request.dimensions, embeddings.compared_vector_type(),
    case when source.extra_condition <> request.own_row_condition
      then 'join public.packet_store p on p.packet_id = m.packet_id' end,
    -- Behind a subquery, or the planner would look up each of thousands of ids in the statistics.
    case when ids is not null then 'm.packet_id = any ((select $2)::uuid[]) and' end,
    case when not (request.settings).uses_chunks then 'and m.chunk_index = 0' end, source.extra_condition, request.candidates)
  into answer.ids, answer.scores, answer.chunks
  using request.vector, ids, request.model, embedding_type;
  return answer;
end $$;
comment on function search.score_vectors is 'Compares vectors one by one: of these memories or, if null, of all that match.';

-- Has the conditions of own_row_condition as parameters in place of text, which is what lets PostgreSQL keep the plan.
create function search.score_own_vectors(request search.search_request, embedding_type text, ids uuid[])
returns search.ranked_memories
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
  set enable_seqscan = off
-- The plan does not depend on the request, and planning over the indexes of every bucket takes as long as comparing a thousand
-- vectors.
set plan_cache_mode = force_generic_plan as $$
declare
  query constant public.memory_embeddings.compared_vector%type := subvector(request.vector, 1, request.dimensions);
  uses_chunks constant boolean := (request.settings).uses_chunks;
  answer search.ranked_memories;
begin
  -- The column alone is not the indexed expression, so that no HNSW index of a model matches it.
  select array_agg(f.packet_id order by f.distance), array_agg((1 - f.distance)::real order by f.distance),
    array_agg(f.chunk_index order by f.distance)
  into answer.ids, answer.scores, answer.chunks
  from (
    select * from (
      select distinct on (m.packet_id) m.packet_id, m.chunk_index, m.compared_vector operator(extensions.<=>) query as distance
      from public.memory_embeddings m
      where m.packet_id = any (ids) and m.model = request.model and m.embedding_type = score_own_vectors.embedding_type
        and (uses_chunks or m.chunk_index = 0)
        and (m.ttl is null or m.ttl > now())
        and (request.requested_scopes is null or m.scope = any (request.requested_scopes))
        and (request.project_id is null or m.project_id = request.project_id or m.project_id is null)
        and (request.branch is null or m.branch = request.branch or m.branch is null)
      order by m.packet_id, distance
    ) nearest
    order by nearest.distance limit request.candidates
  ) f;
  return answer;
end $$;
comment on function search.score_own_vectors is 'score_vectors() on own_row_condition, with a plan that is kept.';

create function search.scan_width(candidates integer, index_rows real) returns integer
language sql immutable parallel safe set search_path = ''
return least(candidates * 1.5 * (1 + ln(greatest(index_rows / 100000, 1)) / 4), 1000)::integer;
comment on function search.scan_width is 'How many vectors a scan of an HNSW index looks at in one round (hnsw.ef_search). One '
  'and a half times the candidates are enough for one round if the caller can read two thirds of the rows. Beyond 100,000 rows '
  'it grows with their logarithm, since a graph of more vectors hides more of the nearest ones from a scan of the same width.';

create function search.joined_scan(request search.search_request, embedding_type text, bucket integer) returns text
language sql stable parallel safe set search_path = ''
return pg_catalog.format($sql$
  select m.packet_id, m.chunk_index, %1$s operator(extensions.<=>) $2 as distance
  from public.memory_embeddings m join public.packet_store p on p.packet_id = m.packet_id
  where m.model = %2$L and m.embedding_type = %3$L and %4$s and (m.chunk_index = 0 or $6) and %5$s
  order by %1$s operator(extensions.<=>) $2 limit $3$sql$,
  embeddings.embedding_expression(request.dimensions), request.model, embedding_type, packets.in_bucket('m', bucket),
  request.current_or_past_condition);
comment on function search.joined_scan is 'The statement that scans an index of vectors, with filters on packet_store.';

-- Compares few memories one by one; otherwise it scans the HNSW index of each bucket, with a higher limit while too
-- few memories come back; if contents are still too few, it compares all that match.
create function search.find_vectors(request search.search_request, embedding_type text) returns search.ranked_memories
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
comment on function search.find_vectors is 'find_meaning() with archived memories, where no filter needs packet_store.';

create function search.find_meaning(request search.search_request, embedding_type text) returns search.ranked_memories
language plpgsql stable set search_path = '' as $$
declare
  answer search.ranked_memories := search.find_vectors(request, embedding_type);
begin
  -- Where all matches are known, archived ones are not among them.
  if request.hides_archived and not request.joins_packets and (request.ids is null or embedding_type = 'reasoning')
      and cardinality(search.not_archived(answer.ids)) < cardinality(answer.ids) then
    -- Vectors don't tell what is archived, which few memories are: only then does the search take the way past them.
    request.joins_packets := true;
    return search.find_vectors(request, embedding_type);
  end if;
  return answer;
end $$;
comment on function search.find_meaning is 'Retriever over vectors of one model: those of memories, whole and in chunks '
  '(content), of memories together with their predecessors (context), or of the steps of reasoning traces (reasoning). Each '
  'memory is found once, by its nearest vector.';
grant execute on function search.score_vectors, search.score_own_vectors, search.scan_width, search.joined_scan,
  search.find_vectors, search.find_meaning to l9_agent, l9_admin, l9_platform_admin;
