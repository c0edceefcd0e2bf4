create function public.search_memory(
  query text default null,
  k integer default 10,
  mode text default 'hybrid',
  scopes text[] default null,
  project_id text default null,
  kinds text[] default null,
  tags text[] default null,
  tags_match text default 'any',
  since timestamptz default null,
  until timestamptz default null,
  thread_id text default null,
  creator text default null,
  threshold real default null,
  query_vector extensions.vector default null,
  model text default null,
  packet_id uuid default null,
  as_of timestamptz default null,
  explain boolean default false,
  max_tokens integer default null
)
returns public.search_result
language plpgsql
volatile
set search_path = pg_catalog, extensions
as $$
#variable_conflict use_variable
declare
  started timestamptz := clock_timestamp();
  me identity.identity := identity.require_identity();
  searched_scopes text[];
  run_mode text := mode;
  notices text[] := '{}';
  filters jsonb;
  on_packet text;
  request search.search_request;
  reached record;
  entities text[];
  fused search.fused;
  fitted record;
  result public.search_result;
begin
  filters := jsonb_strip_nulls(jsonb_build_object(
    'scopes', to_jsonb(scopes), 'project_id', project_id, 'kinds', to_jsonb(kinds), 'tags', to_jsonb(tags),
    'tags_match', case when tags is not null then tags_match end, 'since', since, 'until', until,
    'thread_id', thread_id, 'creator', creator));
  perform search.check_search(query, k, mode, tags_match, since, until, threshold, packet_id, as_of, max_tokens, filters);

  -- A scope that is not the caller's and one that does not exist are both simply not searched.
  searched_scopes := array(
    select s.name from unnest(me.readable_scopes) as s (name)
    where scopes is null or s.name = any (scopes) order by s.name);

  request.query := query;
  request.vector := query_vector;
  request.model := model;
  if packet_id is not null then
    request := search.more_like_this(request, packet_id);
  elsif query is null then
    run_mode := 'recent';
  end if;
  if run_mode in ('hybrid', 'semantic') then
    -- Vectors of the model that serves, and of no other: those of one that arrives or leaves are not all there.
    select m.dimensions into request.dimensions
    from public.embedding_models m where m.model = request.model and m.state = 'serving';
    if request.vector is null or request.dimensions is null then
      if mode = 'semantic' then
        perform identity.raise_error('L9VAL', case
          when packet_id is null then 'mode: semantic needs the vector of the query, and the embedder is not available; try lexical'
          else 'mode: semantic needs the vector of the memory, which has none yet; try lexical' end, 'mode');
      end if;
      run_mode := 'lexical';
      notices := notices || case
        when packet_id is not null then 'The memory has no vector yet: searched by words only.'
        when request.vector is null then 'The embedder is not available: searched by words only.'
        else 'The vector of the query is of a model that does not serve: searched by words only.' end;
    elsif extensions.vector_dims(request.vector) <> 1536 then
      perform identity.raise_error('L9VAL', 'query_vector: 1536 dimensions', 'query_vector');
    end if;
  end if;

  request.k := k;
  request.mode := run_mode;
  request.vector := case when run_mode in ('hybrid', 'semantic') then request.vector end;
  request.threshold := threshold;
  request.as_of := as_of;
  request.is_explained := explain;
  request.settings := search.current_search_settings();
  request.buckets := search.searched_buckets(me);
  -- More than 100 never changed the first ten; 50 cost .002 of nDCG@10 and .004 of recall@10.
  request.candidates := least(greatest(5 * k, 100), 300);
  on_packet := search.packet_conditions('p', kinds, tags, tags_match, since, until, thread_id, creator, packet_id);
  request.joins_packets := on_packet is not null or as_of is not null;
  request.on_own := search.own_conditions('m', scopes, project_id);
  request.on_packets := concat_ws(' and ', search.own_conditions('p', scopes, project_id), on_packet,
    case when as_of is not null then format('p.updated_at <= %L', as_of) end);
  request.on_states := request.on_packets;
  if as_of is not null then
    request.on_versions := concat_ws(' and ', '(p.ttl is null or p.ttl > now())',
      replace(search.own_conditions('v', scopes, project_id), '(v.ttl is null or v.ttl > now())', 'true'),
      search.packet_conditions('v', kinds, tags, tags_match, since, until, thread_id, creator, packet_id));
    request.on_states := format($sql$(%s or p.updated_at > %4$L and exists (
      select from public.packet_versions v
      where v.packet_id = p.packet_id and v.valid_from <= %4$L and v.valid_until > %4$L
        and (%3$L = 'recent' or v.envelope ->> 'content' = p.envelope ->> 'content') and %2$s))$sql$,
      request.on_packets, request.on_versions, run_mode, as_of);
    notices := notices || 'As of that time: what a memory said then and no more is found by words, not by meaning; what was deleted since is not found.'::text;
  end if;
  request.ranges := concat_ws(' and ',
    case when thread_id is not null and as_of is null then format('p.thread_id = %L', thread_id) end,
    case when since is not null then format('p."timestamp" >= %L', since) end,
    case when until is not null then format('p."timestamp" < %L', until) end,
    case when as_of is not null then format('p."timestamp" <= %L', as_of) end);
  if run_mode <> 'graph' then
    request := search.narrow_search(request, me, searched_scopes, project_id);
    if 'reasoning_trace' <> all (kinds) then
      request.reasoning_ids := '{}';
    end if;
  end if;

  if run_mode = 'graph' then
    select g.memories, g.entities, g.paths, g.is_truncated into reached from search.find_in_graph(request) g;
    entities := reached.entities;
    request.paths := reached.paths;
    notices := notices || case
      when entities = '{}' then 'The query names no entity of the graph that you may see; hybrid searches by words and meaning.'
      when reached.is_truncated then 'The entities have more relations than were followed: the surest were.' end;
    if as_of is not null then
      notices := notices || 'Relations are those of now.'::text;
    end if;
    fused := search.fuse(request, reached.memories, null, null, null, null);
  else
    fused := search.find_hits(request);
  end if;
  fitted := search.fit_hits(fused.hits, max_tokens);

  result.hits := fitted.fitted;
  result.searched := jsonb_build_object(
    'mode', run_mode, 'requested_mode', mode, 'scopes', searched_scopes, 'projects', me.projects, 'filters', filters,
    'like', packet_id, 'as_of', as_of, 'k', k, 'threshold', threshold, 'candidates', coalesce(fused.considered, 0), 'entities', to_jsonb(entities),
    'cut', fitted.cut, 'notice', nullif(array_to_string(notices, ' '), ''),
    'vectors', case
      when run_mode in ('hybrid', 'semantic') then 'used'
      when mode in ('lexical', 'graph') or run_mode = 'recent' then 'not asked for'
      else 'unavailable' end);

  -- All that a search leaves behind is written here.
  result.hits := search.log_hits(result.hits, audit.audit_read('SEARCH', jsonb_build_object(
    'query_sha256', encode(sha256(convert_to(query, 'UTF8')), 'hex'), 'mode', run_mode, 'requested_mode', mode,
    'k', k, 'threshold', threshold, 'filters', filters, 'scopes', searched_scopes,
    'ids', to_jsonb(array(select h.packet_id from unnest(result.hits) as h)),
    'duration_ms', round(extract(epoch from clock_timestamp() - started) * 1000, 2))
    || jsonb_strip_nulls(jsonb_build_object('like', packet_id, 'as_of', as_of)),
    project_id => search_memory.project_id,
    scope => case when cardinality(scopes) = 1 then scopes[1] end,
    query => search_memory.query));
  return result;
end
$$;

comment on function public.search_memory(
  text, integer, text, text[], text, text[], text[], text, timestamptz, timestamptz, text, text, real, extensions.vector, text,
  uuid, timestamptz, boolean, integer) is
  'Finds memories by words (BM25), by meaning (query_vector, of the model named), by both (hybrid), or by the relations of the entities that the query names (graph), best first, among those the caller may read; each also together with the one before it in its thread. Without a query: others like packet_id, or the newest that match the filters. k: 1 to 100. project_id: that project''s and those of no project. tags_match: any or all. since, until: saved from, and before. as_of: as memories were at that time, as far as the caller may see both memory and version. threshold: hits further in meaning than this cosine distance (0 to 2) are left out. explain: how each hit scored. max_tokens: trims the hits to about that many. Without a vector a hybrid search is a lexical one, and says so. Leaves an audit row. Errors: L9VAL, L9LIM, L9OWN, L9AUT.';

grant execute on function public.search_memory(
  text, integer, text, text[], text, text[], text[], text, timestamptz, timestamptz, text, text, real, extensions.vector, text,
  uuid, timestamptz, boolean, integer)
  to l9_agent, l9_admin, l9_platform_admin;
