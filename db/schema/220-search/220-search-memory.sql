-- The operation search_memory. It turns the arguments into the conditions of a request, and calls the steps of the
-- other files in order: open, narrow, find, close.
create function public.search_memory(
  query text default null, k integer default 10, mode text default 'hybrid', scopes text[] default null,
  project_id text default null, kinds text[] default null, tags text[] default null, tags_match text default 'any',
  since timestamptz default null, until timestamptz default null, thread_id text default null, creator text default null,
  threshold real default null, query_vector extensions.vector default null, model text default null, packet_id uuid default null,
  as_of timestamptz default null, explain boolean default false, max_tokens integer default null, speaker text default null,
  language text default null, min_relevance real default null, "where" jsonb default null, branch text default null,
  include_archived boolean default false, retry_for text[] default '{}', include_pending boolean default false)
returns public.search_result
language plpgsql volatile set search_path = pg_catalog, extensions set l9.withheld = 'none' as $$
declare
  only_project constant text := identity.given_text(project_id);
  request search.search_request;
  fields constant packets.where_condition := packets.compile_where("where");
  field_conditions text;
  matches record;
  ranked search.ranked_hits;
begin
  if include_pending then
    perform set_config('l9.withheld', 'pending', true); -- Until the end of this function.
  end if;
  if search.is_stale(search_memory.query_vector, search_memory.model, search_memory.retry_for) then
    return row('{}', '{"retry": "model"}', '{}')::public.search_result;
  end if;
  scopes := identity.given_list(scopes);
  kinds := identity.given_list(kinds);
  tags := identity.given_list(tags);
  thread_id := identity.given_text(thread_id);
  creator := identity.given_text(creator);
  speaker := identity.given_text(speaker);
  language := identity.given_text(language);
  request := search.open_search(
    query, k,
    jsonb_strip_nulls(jsonb_build_object(
      'scopes', to_jsonb(scopes), 'project_id', only_project, 'branch', packets.one_branch(branch), 'kinds', to_jsonb(kinds),
      'tags', to_jsonb(tags), 'tags_match', case when tags is not null then tags_match end, 'since', since, 'until', until,
      'thread_id', thread_id, 'creator', creator, 'speaker', speaker, 'where', nullif("where", '{}'),
      'include_archived', nullif(include_archived, false), 'include_pending', nullif(include_pending, false))),
    scopes, only_project, query_vector, model, max_tokens, mode, tags_match, since, until, threshold, packet_id, as_of, explain,
    language, min_relevance, branch);
  field_conditions := search.packet_conditions(
    'p', kinds, tags, tags_match, since, until, thread_id, creator, packet_id, speaker, fields);
  request.joins_packets := field_conditions is not null or as_of is not null;
  request.hides_archived := include_archived is not true and as_of is null;
  request.own_row_condition := search.own_conditions('m', scopes, only_project, request.branch);
  request.word_filter := row(
    scopes, only_project, false, null, null, kinds, packets.wanted_tag_keys(tags), tags_match = 'all', since, until, thread_id,
    creator, packet_id, as_of, speaker, fields, request.branch, request.hides_archived)::ranking.word_filter;
  request.current_condition := concat_ws(' and ', search.own_conditions('p', scopes, only_project, request.branch),
    field_conditions, search.archived_condition('p', request.hides_archived),
    case when as_of is not null then format('p.updated_at <= %L', as_of) end);
  request.current_or_past_condition := request.current_condition;
  if as_of is not null then
    request.past_condition := concat_ws(' and ', '(p.ttl is null or p.ttl > now())',
      search.own_conditions('v', scopes, only_project, request.branch, checks_expiry => false),
      search.packet_conditions('v', kinds, tags, tags_match, since, until, thread_id, creator, packet_id, speaker, fields));
    request.current_or_past_condition := format($sql$(%s or p.updated_at > %4$L and exists (
      select from public.packet_versions v
      where v.packet_id = p.packet_id and v.valid_from <= %4$L and v.valid_until > %4$L
        and (%3$L = 'recent' or v.envelope ->> 'content' = p.envelope ->> 'content') and %2$s))$sql$,
      request.current_condition, request.past_condition, request.mode, as_of);
    request.notices := request.notices
      || text 'As of that time: texts that have changed since are found by words, not by meaning; '
        'deleted memories are not found.';
  end if;
  request.range_condition := concat_ws(' and ',
    case when thread_id is not null and as_of is null then format('p.thread_id = %L', thread_id) end,
    -- A state of an earlier time may have had another event time. None lies more than five minutes after the time of saving.
    case when since is not null and as_of is null then format('p."timestamp" >= %L', since) end,
    case when until is not null and as_of is null then format('p."timestamp" < %L', until) end,
    case when as_of is not null
      then format('p.created_at <= %L and p."timestamp" <= %L', as_of, as_of + packets.max_time_ahead()) end);

  if request.mode = 'graph' then
    select g.* into matches from search.find_in_graph(request) g;
    request.entities := matches.entities;
    request.paths := matches.paths;
    request.notices := request.notices || case
      when matches.entities = '{}' then
        'The query names no entity of the graph that you may read; a hybrid search finds memories by words and meaning.'
      when matches.is_truncated then 'The entities have more relations than were followed; those of highest confidence were.' end;
    if as_of is not null then
      request.notices := request.notices || 'Relations are the current ones.'::text;
    end if;
    ranked := search.fuse(request, matches.memories, null, null, null, null);
  else
    request := search.narrow_search(request);
    if 'reasoning_trace' <> all (kinds) then
      request.reasoning_ids := '{}';
    end if;
    ranked := search.find_hits(request);
  end if;
  return search.close_search(request, ranked);
end $$;
comment on function public.search_memory is 'Finds memories that the caller may read, best first: by words, by meaning '
  '(query_vector, made by model; else a hybrid search is a lexical one), by both or by relations (graph). Without a query: '
  'those like packet_id, or the newest. k: 1 to 100. max_tokens: from 500. include_pending: also what waits for a review. '
  'retry_for: see searched.retry. Audited. Errors: L9VAL, L9LIM, L9OWN, L9AUT.';
grant execute on function public.search_memory to l9_agent, l9_admin, l9_platform_admin;
