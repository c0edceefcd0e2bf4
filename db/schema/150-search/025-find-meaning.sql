create function search.score_meaning(
  request search.search_request, embedding_type text, source search.search_source, ids uuid[])
returns search.found
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  answer search.found;
begin
  if request.k is null or source.more is null then
    return answer;
  end if;
  -- By the vectors themselves: spelt like this, no index of a model is of use.
  execute format($sql$
    select array_agg(f.packet_id order by f.distance), array_agg((1 - f.distance)::real order by f.distance),
      array_agg(f.chunk_index order by f.distance)
    from (
      select * from (
        select distinct on (m.packet_id) m.packet_id, m.chunk_index, m.vector operator(extensions.<=>) $1 as distance
        from public.memory_embeddings m %s
        where ($2 is null or m.packet_id = any ($2)) and m.model = $3 and m.embedding_type = $4 %s and %s
        order by m.packet_id, distance
      ) nearest
      order by nearest.distance
      limit %s
    ) f$sql$,
    case when source.more <> request.on_own then 'join public.packet_store p on p.packet_id = m.packet_id' end,
    case when not (request.settings).uses_chunks then 'and m.chunk_index = 0' end,
    source.more, request.candidates)
  into answer.ids, answer.scores, answer.chunks
  using request.vector, ids, request.model, embedding_type;
  return answer;
end
$$;

comment on function search.score_meaning(search.search_request, text, search.search_source, uuid[]) is
  'Compares vectors one by one: of these memories, or of all that the conditions leave.';

create function search.find_meaning(request search.search_request, embedding_type text)
returns search.found
language plpgsql
stable
set search_path = pg_catalog, extensions
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 150
-- Past what others may read; the default, 20,000, is too few where a caller sees one in a thousand.
set hnsw.max_scan_tuples = 100000
set hnsw.scan_mem_multiplier = 8
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- As for find_words().
set enable_sort = off
as $$
declare
  few uuid[] := case
    when embedding_type = 'context' and not request.walks_context_vectors then request.context_ids
    when embedding_type = 'content' and not request.walks_vectors then request.ids
    when embedding_type = 'reasoning' then request.reasoning_ids end;
  condition constant text := case when request.joins_packets then request.on_states else request.on_own end;
  wanted integer := request.candidates;
  source search.search_source;
  bucket integer;
  rows integer;
  part_rows integer;
  part search.found;
  answer search.found;
begin
  if request.k is null then
    return answer;
  end if;
  -- So that one round is enough where two thirds of what it meets may be read.
  perform set_config('hnsw.ef_search', least(request.candidates * 3 / 2, 1000)::text, true);
  if few is not null then
    source.more := case when request.ids is null or embedding_type = 'reasoning' then condition else request.on_own end;
    return search.score_meaning(request, embedding_type, source, few);
  end if;
  loop
    answer := null;
    rows := 0;
    foreach bucket in array request.buckets loop
      execute format($sql$
        with nearest as materialized (
          select m.packet_id, m.chunk_index, %1$s operator(extensions.<=>) extensions.subvector($1, 1, %6$s)::%2$s as distance
          from public.memory_embeddings m %7$s
          where m.model = %3$L and m.embedding_type = %8$L and %10$s %9$s and %4$s
          order by %1$s operator(extensions.<=>) extensions.subvector($1, 1, %6$s)::%2$s
          limit %5$s
        )
        select array_agg(f.packet_id order by f.distance), array_agg((1 - f.distance)::real order by f.distance),
          array_agg(f.chunk_index order by f.distance), (select count(*) from nearest)
        from (select distinct on (n.packet_id) n.* from nearest n order by n.packet_id, n.distance) f$sql$,
        embeddings.embedding_expression(request.dimensions),
        embeddings.embedding_type_name(request.dimensions),
        request.model, condition, wanted, request.dimensions,
        case when request.joins_packets then 'join public.packet_store p on p.packet_id = m.packet_id' end,
        embedding_type,
        case when not (request.settings).uses_chunks then 'and m.chunk_index = 0' end,
        packets.in_bucket('m', bucket))
      into part.ids, part.scores, part.chunks, part_rows
      using request.vector;
      answer.ids := answer.ids || part.ids;
      answer.scores := answer.scores || part.scores;
      answer.chunks := answer.chunks || part.chunks;
      rows := greatest(rows, part_rows);
    end loop;
    -- The nearest rows may all be chunks of a few long memories.
    exit when coalesce(cardinality(answer.ids), 0) >= request.k or rows < wanted or wanted >= 20000;
    wanted := wanted * 5;
  end loop;
  if cardinality(request.buckets) > 1 then
    select array_agg(f.id), array_agg(f.score), array_agg(f.chunk) into answer.ids, answer.scores, answer.chunks
    from (
      select * from unnest(answer.ids, answer.scores, answer.chunks) as f (id, score, chunk)
      order by f.score desc limit request.candidates
    ) f;
  end if;
  if embedding_type = 'content' and coalesce(cardinality(answer.ids), 0) < request.k then
    -- The walk ended before it met enough of what is visible: that is far from the query, in meaning, or late in coming.
    source.more := condition;
    return search.score_meaning(request, embedding_type, source, null);
  end if;
  return answer;
end
$$;

comment on function search.find_meaning(search.search_request, text) is
  'The leg over vectors of one model, of memories themselves, whole and in chunks (content), together with their predecessors (context), or of what their steps say (reasoning). A memory is found once, by its nearest.';

grant execute on function
  search.score_meaning(search.search_request, text, search.search_source, uuid[]),
  search.find_meaning(search.search_request, text)
to l9_agent, l9_admin, l9_platform_admin;
