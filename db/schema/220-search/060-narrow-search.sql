-- Chooses whether a search scores the few memories that match one by one, or scans a ranked index. narrow_search() is
-- the way in, called before the retrievers; the others are its steps.
create function search.few_matches(source search.search_source, max_matches integer, max_scanned integer) returns uuid[]
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
  set enable_seqscan = off as $$
declare
  scanned bigint;
  matches uuid[];
begin
  execute format($sql$
    select count(*), array_agg(p.packet_id) filter (where p.is_match)
    from (%s limit %s) p$sql$,
    -- Only the columns of the conditions are read. Those of packet_store that are computed from the envelope would unpack each.
    (select string_agg(
      format('select p.packet_id, %s as is_match from %s p where %s',
        coalesce(nullif(source.extra_condition, ''), 'true'), source.table_name, coalesce(nullif(r.range, ''), 'true')),
        ' union all ')
     from unnest(source.visibility_ranges) as r (range)), max_scanned + 1) into scanned, matches;
  return case when scanned <= max_scanned and coalesce(cardinality(matches), 0) <= max_matches then coalesce(matches, '{}') end;
end $$;
comment on function search.few_matches is 'The memories of a table that match; null if more than the limits allow.';

create function search.indexed_matches(request search.search_request, max_matches integer) returns uuid[]
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
  set enable_seqscan = off as $$
declare
  proposed constant uuid[] := fields.indexed_packets(request.filters -> 'where', search.max_scanned_rows());
  matches uuid[];
begin
  if proposed is not null then
    execute format(
      'select coalesce(array_agg(p.packet_id), ''{}'') from public.packet_store p where p.packet_id = any ($1) and %s',
      request.current_condition)
    into matches
    using proposed;
  end if;
  return case when cardinality(matches) <= max_matches then matches end;
end $$;
comment on function search.indexed_matches is 'The memories found by an index of a wanted field; null if there is none.';

create function search.newest_matches(request search.search_request, max_matches integer) returns uuid[]
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
  set enable_seqscan = off as $$
declare
  matches uuid[];
begin
  execute format($sql$
    select array_agg(p.packet_id) filter (where p.is_match)
    from (select p.packet_id, %s as is_match from public.packet_store p where %s order by %s desc limit %s) p$sql$,
    request.current_or_past_condition,
    concat_ws(' and ', search.own_conditions('p', request.searched_scopes, request.project_id,
      case when request.as_of is null then request.branch end),
      nullif(request.range_condition, '')),
    -- Only one tenant's memories are in an index in the order of their time; ids are nearly in that order.
    case when (request.caller).role = 'l9_platform_admin' then 'p.packet_id' else 'p."timestamp"' end, search.max_scanned_rows())
  into matches;
  return case when coalesce(cardinality(matches), 0) <= max_matches then coalesce(matches, '{}') end;
end $$;
comment on function search.newest_matches is 'Matches among the newest memories; null for more than max_matches.';

create function search.where_notice() returns text language sql immutable parallel safe set search_path = ''
return pg_catalog.format(
  'where: only the newest %s memories were looked at for these fields; an index on one of them (register_field_index) finds all.',
  search.max_scanned_rows());
comment on function search.where_notice is 'What a caller is told when not all of its memories were looked at for fields.';

create function search.estimated_rows(index_name text) returns real language sql stable parallel safe set search_path = ''
return (
  select greatest(c.reltuples, 0) from pg_catalog.pg_class c
  where c.relname = index_name and c.relnamespace = 'public'::regnamespace);
comment on function search.estimated_rows is 'The planner''s estimate of an index''s rows; 0 before the first analyze.';

create function search.as_context_search(request search.search_request) returns search.search_request
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  request.candidates := request.candidates * 2 / 5;
  return request;
end $$;
comment on function search.as_context_search is 'The same search over contexts, with two fifths as many candidates.';

-- Without filters few_readable() answers, whose plans are kept. Otherwise the conditions go into the text of one
-- statement, which few_matches() runs.
create function search.few_of(request search.search_request, table_name text, max_matches integer, max_scanned integer)
returns uuid[]
language plpgsql stable set search_path = '' as $$
declare
  -- At an earlier time a memory may have been of another branch, and reasoning traces have no column for it.
  branch constant text := case when request.as_of is null and table_name <> 'reasoning_traces' then request.branch end;
  are_packets constant boolean := table_name = 'packet_store';
  range_condition constant text := case when are_packets then nullif(request.range_condition, '') end;
  source search.search_source;
begin
  if (request.caller).role <> 'l9_platform_admin' and not (are_packets and request.joins_packets) and range_condition is null then
    return search.few_readable(
      table_name, request.caller, request.searched_scopes, request.project_id, branch, request.hides_archived, max_matches,
      max_scanned);
  end if;
  if table_name <> all ('{packet_store,memory_contexts,reasoning_traces}'::text[]) then
    perform identity.raise_error('L9VAL', 'table_name: must be packet_store, memory_contexts or reasoning_traces');
  end if;
  source.table_name := 'public.' || table_name;
  -- The ranges of an operator, who reads every scope, do not hold the scopes that were asked for.
  source.extra_condition := case
    when not are_packets then null
    when request.joins_packets then request.current_or_past_condition
    else concat_ws(' and ', search.own_conditions('p', request.requested_scopes, request.project_id, request.branch),
      search.archived_condition('p', request.hides_archived)) end;
  source.visibility_ranges := array(
    select concat_ws(' and ', nullif(r.range, ''), range_condition)
    from unnest(search.reader_ranges(request.caller, 'p', request.searched_scopes, request.project_id, branch)) as r (range));
  return search.few_matches(source, max_matches, max_scanned);
end $$;
comment on function search.few_of is 'The memories of packet_store that the search may find, or those of memory_contexts or '
  'reasoning_traces that the caller may read. Null if there are more than max_matches, or if more than max_scanned would have to '
  'be read.';

create function search.with_contexts(request search.search_request) returns uuid[]
language plpgsql stable set search_path = '' set enable_seqscan = off as $$
begin
  return array(select c.packet_id from public.memory_contexts c where c.packet_id = any (request.ids));
end $$;
comment on function search.with_contexts is 'Those of the memories ids of the search that follow another one in their thread.';

-- The counts that weigh the words tell most callers that they may read many memories, so that none has to be counted again.
-- Decides for memories, contexts and reasoning traces apart, because a caller may read few of one and many of another.
create function search.narrow_search(request search.search_request) returns search.search_request
language plpgsql stable set search_path = '' as $$
declare
  max_few constant integer := search.max_scored_rows();
  max_scored constant integer := case when request.joins_packets then max_few else search.max_unfiltered_rows() end;
  max_contexts constant integer := least(max_few / 2, max_scored);
  -- Several times as many as are scored one by one, because the counts can be old.
  many constant integer := 10 * search.max_unfiltered_rows();
begin
  if request.k is null then
    return request;
  end if;
  request.weighed := null;
  if request.query is not null and request.mode in ('hybrid', 'lexical') and not request.joins_packets and request.branch is null
    and request.range_condition = '' and (request.caller).role <> 'l9_platform_admin' then
    request.lexemes := coalesce(request.lexemes, search.query_words(request.query, request.languages));
    if request.lexemes <> '{}' then
      request.weighed := ranking.weigh_words(request.lexemes, request.requested_scopes, request.project_id);
    end if;
  end if;
  if request.filters ? 'where' and request.as_of is null then
    request.ids := search.indexed_matches(request, max_few);
  end if;
  if ((request.weighed).memories >= many) is not true then
    request.ids := coalesce(request.ids, search.few_of(
      request, 'packet_store', max_scored, case when request.joins_packets then search.max_scanned_rows() else max_scored end));
  end if;
  if request.ids is null and request.filters ? 'where' then
    -- No ranked index knows fields: a scan of one for a rare value would look at every memory.
    request.ids := search.newest_matches(request, max_few);
    if request.ids is not null and not (request.mode = 'recent' and cardinality(request.ids) >= request.k) then
      request.notices := request.notices || search.where_notice();
    end if;
  end if;
  request.context_ids := case
    when greatest((request.settings).lexical_context_weight, (request.settings).semantic_context_weight) = 0 then '{}'
    when request.ids is not null then search.with_contexts(request)
    -- Contexts can be few though the memories are many, and a scan past those of other tenants would be long.
    else search.few_of(request, 'memory_contexts', max_contexts, max_contexts) end;
  request.reasoning_ids := case
    when request.mode in ('hybrid', 'semantic')
      and request.as_of is null then search.few_of(request, 'reasoning_traces', max_few, max_few)
    else '{}' end;
  return request;
end $$;
comment on function search.narrow_search is 'Collects the ids of a few matches, decided by readable rows alone, and weighs the '
  'words where that tells that there are many.';
grant execute on function search.estimated_rows, search.as_context_search, search.few_matches, search.indexed_matches,
  search.newest_matches, search.where_notice, search.with_contexts, search.few_of, search.narrow_search to l9_agent, l9_admin,
  l9_platform_admin;
