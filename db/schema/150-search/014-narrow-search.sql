create function search.few_matches(source search.search_source, bound integer, look_at integer)
returns uuid[]
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  seen bigint;
  matches uuid[];
begin
  execute format($sql$
    select count(*), array_agg(p.packet_id) filter (where %s)
    from (%s limit %s) p$sql$,
    coalesce(source.more, 'true'),
    (select string_agg(format('select %s from %s p where %s', source.columns, source.table_name, coalesce(nullif(b.branch, ''), 'true')), ' union all ')
     from unnest(source.branches) as b (branch)),
    look_at + 1)
  into seen, matches;
  return case when seen <= look_at and coalesce(cardinality(matches), 0) <= bound then coalesce(matches, '{}') end;
end
$$;

comment on function search.few_matches(search.search_source, integer, integer) is
  'The memories of a table that the caller may read and that match, where they are at most bound, among at most look_at that were looked at; else null.';

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
  'The rows of an index, as the planner believes; 0 before its table was first analyzed, when it is young and every way through it short.';

create function search.is_walk_shorter(index_rows real, few integer, candidates integer)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return few > 0 and 6 * few + 4000 > least(1, candidates / few::real) * index_rows;

comment on function search.is_walk_shorter(real, integer, integer) is
  'Whether walking past others'' rows in a word index costs less than scoring few rows one by one. Walking past one takes 4 µs, looking whether one has the words six times that, and scoring the likely ones 15 ms.';

create function search.is_vector_walk_shorter(index_rows real, few integer, candidates integer)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return few > 0 and 15 * few > 7 * greatest(150, least(1, candidates / few::real) * index_rows);

comment on function search.is_vector_walk_shorter(real, integer, integer) is
  'The same for vectors, where comparing one costs 15 µs, walking past one 7 µs, and no walk is shorter than 150 of them.';

create function search.of_contexts(request search.search_request)
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

comment on function search.of_contexts(search.search_request) is
  'The same search, of contexts: half as many candidates are enough, since context lifts memories that are mostly found by themselves.';

create function search.choose_ways(request search.search_request)
returns search.search_request
language plpgsql
stable
set search_path = ''
as $$
declare
  -- Operators see all or nothing of each tenant: what they are shown is as good as never little.
  bucket integer := request.buckets[1];
  context_candidates integer := (search.of_contexts(request)).candidates;
begin
  request.walks_words := request.ids is null or search.is_walk_shorter(
    search.estimated_rows('packet_store_content_bm25_' || bucket), cardinality(request.ids), request.candidates);
  request.walks_context_words := request.context_ids is null or search.is_walk_shorter(
    search.estimated_rows('memory_contexts_bm25_' || bucket), cardinality(request.context_ids), context_candidates);
  request.walks_vectors := request.ids is null or search.is_vector_walk_shorter(
    search.estimated_rows(embeddings.embedding_index_name(request.model, 'content', bucket)),
    cardinality(request.ids), request.candidates);
  request.walks_context_vectors := request.context_ids is null or search.is_vector_walk_shorter(
    search.estimated_rows(embeddings.embedding_index_name(request.model, 'context', bucket)),
    cardinality(request.context_ids), context_candidates);
  return request;
end
$$;

comment on function search.choose_ways(search.search_request) is
  'Whether each leg walks its index, or scores the few that match one by one.';

create function search.narrow_search(
  request search.search_request, me identity.identity, scopes text[], project_id text)
returns search.search_request
language plpgsql
stable
set search_path = ''
as $$
declare
  -- Scoring 2,000 one by one costs as much as walking an index of which a caller sees 2 %.
  bound constant integer := 2000;
  -- Looking at 20,000 costs less than walking past them in an index to find the few of a tag.
  look_at integer := case when request.joins_packets then 20000 else bound end;
  branches text[] := search.reader_branches(me, 'p', scopes, project_id);
  source search.search_source;
begin
  if request.k is null then
    return request;
  end if;
  source.table_name := 'public.packet_store';
  -- What an index has by itself, where that is enough.
  source.columns := case when request.joins_packets then 'p.*' else 'p.packet_id, p.ttl' end;
  source.more := case when request.joins_packets then request.on_states else '(p.ttl is null or p.ttl > now())' end;
  source.branches := array(
    select concat_ws(' and ', nullif(b.branch, ''), nullif(request.ranges, '')) from unnest(branches) as b (branch));
  request.ids := search.few_matches(source, bound, look_at);
  request.context_ids := case
    when request.ids is not null then request.ids
    -- They may be few though the memories are many: then the walk past other tenants' would be a long one.
    else search.few_matches(
      row('public.memory_contexts', 'p.packet_id, p.ttl', branches, null, null, null)::search.search_source, bound, bound) end;
  request.reasoning_ids := case
    when request.mode in ('hybrid', 'semantic') and request.as_of is null then search.few_matches(
      row('public.reasoning_traces', 'p.packet_id, p.ttl', branches, null, null, null)::search.search_source, bound, bound)
    else '{}' end;
  return search.choose_ways(request);
end
$$;

comment on function search.narrow_search(search.search_request, identity.identity, text[], text) is
  'Looks whether what can be found is so little that it is scored one by one rather than met on a walk through an index.';

grant execute on function
  search.estimated_rows(text), search.of_contexts(search.search_request),
  search.is_walk_shorter(real, integer, integer), search.is_vector_walk_shorter(real, integer, integer),
  search.few_matches(search.search_source, integer, integer), search.choose_ways(search.search_request),
  search.narrow_search(search.search_request, identity.identity, text[], text)
to l9_agent, l9_admin, l9_platform_admin;
