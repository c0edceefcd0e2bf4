-- The beginning of memory_find: a request as open_search() makes it, changed to what find.rank_hits() needs.
-- memory_find calls open_find() for each route; find.suggest() narrows to other filters.
create function find.narrowed_to(request search.search_request, filter find.find_filter) returns search.search_request
language plpgsql stable set search_path = '' as $$
declare
  fields constant packets.where_condition := packets.compile_where((filter)."where");
  field_conditions constant text := search.packet_conditions(
    'p', filter.kinds, null, 'any', filter.since, filter.until, null, null, null, null, fields);
begin
  request.branch := filter.branch;
  request.hides_archived := filter.hides_archived;
  request.joins_packets := field_conditions is not null;
  request.own_row_condition := search.own_conditions('m', filter.scopes, filter.project_id, filter.branch);
  request.word_filter.scopes := filter.scopes;
  request.word_filter.project_id := filter.project_id;
  request.word_filter.branch := filter.branch;
  request.word_filter.is_exact_place := false;
  request.word_filter.kinds := filter.kinds;
  request.word_filter.since := filter.since;
  request.word_filter.until := filter.until;
  request.word_filter.fields := fields;
  request.word_filter.hides_archived := filter.hides_archived;
  request.current_condition := concat_ws(' and ', search.own_conditions('p', filter.scopes, filter.project_id, filter.branch),
    field_conditions, search.archived_condition('p', filter.hides_archived));
  request.current_or_past_condition := request.current_condition;
  request.range_condition := concat_ws(' and ',
    case when filter.since is not null then format('p."timestamp" >= %L', filter.since) end,
    case when filter.until is not null then format('p."timestamp" < %L', filter.until) end);
  return request;
end $$;
comment on function find.narrowed_to is 'Adds the conditions of a filter to a search.';

-- The ranking comes later and looks at more than k hits, so the search is told to return more of them, without texts
-- and without boosts of its own.
create function find.open_find(query text, k integer, route text, filter find.find_filter, query_vector extensions.vector,
  model text, max_tokens integer, is_explained boolean) returns search.search_request
language plpgsql stable set search_path = '' as $$
declare
  request search.search_request := search.open_search(
    query, k,
    jsonb_strip_nulls(jsonb_build_object(
      'scopes', to_jsonb(filter.scopes), 'project_id', filter.project_id, 'branch', filter.branch,
      'kinds', to_jsonb(filter.kinds), 'since', filter.since, 'until', filter.until, 'where', nullif(filter."where", '{}'),
      'include_archived', nullif(not filter.hides_archived, false))),
    filter.scopes, filter.project_id, query_vector, model, max_tokens,
    mode => case route when 'fast' then 'lexical' when 'graph' then 'graph' else 'hybrid' end,
    since => filter.since, until => filter.until, is_explained => is_explained, branch => filter.branch,
    needs_filter => filter.project_id is null and filter.branch is null and filter.scopes is null);
begin
  -- More than k are ranked, because what is new, near or often cited can rise into the first k.
  -- The words of a phrase can be more frequent elsewhere, so more memories are looked through for it.
  request.k := greatest(3 * k, case when find.quoted_phrases(query) = '{}' then 30 else 200 end);
  request.leaves_texts_out := true;
  -- By words alone the share of the words that a memory has is its relevance, and one of many words is not enough.
  request.min_relevance := (request.settings).min_relevance;
  -- Recency has a weight of its own here, and importance shows in citations.
  request.settings.recency_boost := 0;
  request.settings.importance_boost := 0;
  if route = 'fast' then
    request.candidates := request.k;
    request.settings.lexical_context_weight := 0;
    request.settings.semantic_context_weight := 0;
    request.settings.thread_weight := 0;
    request.settings.neighbour_weight := 0;
    request.settings.speaker_boost := 0;
  end if;
  return find.narrowed_to(request, filter);
end $$;
comment on function find.open_find is 'Begins a search on a route: checks its arguments, and says which candidates are wanted.';
grant execute on function find.narrowed_to, find.open_find to l9_agent, l9_admin, l9_platform_admin;
