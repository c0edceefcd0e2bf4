create function search.few_matches(source search.search_source, max_matches integer, max_scanned integer)
returns uuid[]
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  scanned bigint;
  matches uuid[];
begin
  execute format($sql$
    select count(*), array_agg(p.packet_id) filter (where %s)
    from (%s limit %s) p$sql$,
    coalesce(source.extra_condition, 'true'),
    (select string_agg(format('select %s from %s p where %s', source.columns, source.table_name, coalesce(nullif(b.branch, ''), 'true')), ' union all ')
     from unnest(source.visibility_branches) as b (branch)),
    max_scanned + 1)
  into scanned, matches;
  return case when scanned <= max_scanned and coalesce(cardinality(matches), 0) <= max_matches then coalesce(matches, '{}') end;
end
$$;

comment on function search.few_matches(search.search_source, integer, integer) is
  'The memories of a table that the caller may read and that match. Null if more than max_matches match, or if more than max_scanned would have to be read.';

create function search.estimated_rows(index_name text)
returns real
language sql
stable
parallel safe
set search_path = ''
return (
  select greatest(c.reltuples, 0) from pg_catalog.pg_class c
  where c.relname = index_name and c.relnamespace = 'public'::regnamespace);

comment on function search.estimated_rows(text) is
  'The planner''s estimate of the rows of an index; 0 before its table was first analyzed, while the table is small and every plan is fast.';

create function search.is_word_scan_cheaper(index_rows real, matches integer, candidates integer)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return matches > 0 and 6 * matches + 4000 > least(1, candidates / matches::real) * index_rows;

comment on function search.is_word_scan_cheaper(real, integer, integer) is
  'True if scanning a BM25 index past rows of others costs less than scoring the matches one by one. To pass one row takes 4 µs, to check whether a match has the words takes six times that, and to score the likely ones takes 15 ms.';

create function search.is_vector_scan_cheaper(index_rows real, matches integer, candidates integer)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return matches > 0 and 15 * matches > 7 * greatest(150, least(1, candidates / matches::real) * index_rows);

comment on function search.is_vector_scan_cheaper(real, integer, integer) is
  'The same for an HNSW index. To compare one vector takes 15 µs, to pass one takes 7 µs, and no scan visits fewer than 150.';

create function search.as_context_search(request search.search_request)
returns search.search_request
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  request.candidates := request.candidates / 2;
  return request;
end
$$;

comment on function search.as_context_search(search.search_request) is
  'The same search over contexts. Half as many candidates are enough, because most memories that a context lifts are also found on their own.';

create function search.choose_scans(request search.search_request)
returns search.search_request
language plpgsql
stable
set search_path = ''
as $$
declare
  -- Operators usually see many rows, so the plan for few rows is not considered for each tenant.
  bucket integer := request.buckets[1];
  context_candidates integer := (search.as_context_search(request)).candidates;
begin
  request.scans_words := request.ids is null or search.is_word_scan_cheaper(
    search.estimated_rows('packet_store_content_bm25_' || bucket), cardinality(request.ids), request.candidates);
  request.scans_context_words := request.context_ids is null or search.is_word_scan_cheaper(
    search.estimated_rows('memory_contexts_bm25_' || bucket), cardinality(request.context_ids), context_candidates);
  request.scans_vectors := request.ids is null or search.is_vector_scan_cheaper(
    search.estimated_rows(embeddings.embedding_index_name(request.model, 'content', bucket)),
    cardinality(request.ids), request.candidates);
  request.scans_context_vectors := request.context_ids is null or search.is_vector_scan_cheaper(
    search.estimated_rows(embeddings.embedding_index_name(request.model, 'context', bucket)),
    cardinality(request.context_ids), context_candidates);
  return request;
end
$$;

comment on function search.choose_scans(search.search_request) is
  'Decides for each retriever whether it scans its index or scores the few matches one by one.';

create function search.narrow_search(request search.search_request)
returns search.search_request
language plpgsql
stable
set search_path = ''
as $$
declare
  max_scanned integer := case when request.joins_packets then search.max_scanned_rows() else search.max_scored_rows() end;
  branches text[] := search.reader_branches(request.caller, 'p', request.searched_scopes, request.project_id);
  source search.search_source;
begin
  if request.k is null then
    return request;
  end if;
  source.table_name := 'public.packet_store';
  -- Without filters these columns are all that is needed, and an index-only scan can return them.
  source.columns := case when request.joins_packets then 'p.*' else 'p.packet_id, p.ttl' end;
  source.extra_condition := case
    when request.joins_packets then request.current_or_past_condition else '(p.ttl is null or p.ttl > now())' end;
  source.visibility_branches := array(
    select concat_ws(' and ', nullif(b.branch, ''), nullif(request.range_condition, '')) from unnest(branches) as b (branch));
  request.ids := search.few_matches(source, search.max_scored_rows(), max_scanned);
  request.context_ids := case
    when request.ids is not null then request.ids
    -- Contexts can be few though the memories are many, and a scan past those of other tenants would be long.
    else search.few_matches(
      row('public.memory_contexts', 'p.packet_id, p.ttl', branches, null, null, null)::search.search_source,
      search.max_scored_rows(), search.max_scored_rows()) end;
  request.reasoning_ids := case
    when request.mode in ('hybrid', 'semantic') and request.as_of is null then search.few_matches(
      row('public.reasoning_traces', 'p.packet_id, p.ttl', branches, null, null, null)::search.search_source,
      search.max_scored_rows(), search.max_scored_rows())
    else '{}' end;
  return search.choose_scans(request);
end
$$;

comment on function search.narrow_search(search.search_request) is
  'If few rows can match, collects their ids, so that they are scored directly instead of scanning an index.';

grant execute on function
  search.estimated_rows(text), search.as_context_search(search.search_request),
  search.is_word_scan_cheaper(real, integer, integer), search.is_vector_scan_cheaper(real, integer, integer),
  search.few_matches(search.search_source, integer, integer), search.choose_scans(search.search_request),
  search.narrow_search(search.search_request)
to l9_agent, l9_admin, l9_platform_admin;
