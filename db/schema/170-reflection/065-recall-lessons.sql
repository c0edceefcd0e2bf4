create function reflection.to_lessons(hits public.memory_hit[])
returns public.recalled_lesson[]
language sql
stable
set search_path = ''
return (
  select coalesce(pg_catalog.array_agg(row(
    r.reflection_id, h.packet_id, h.access_id, h.content, h.is_truncated, r.reflection_type, r.priority, r.confidence, r.times_seen,
    r.context, r.entities, h.tags, h.scope, h.project_id, r.source_agent, r.last_seen, r.ttl, h.score
  )::public.recalled_lesson order by h.place), '{}')
  from rows from (pg_catalog.unnest(hits)) with ordinality as h (
    packet_id, access_id, content, is_truncated, snippet, score, lexical_score, semantic_score, chunk_index, kind, scope,
    project_id, tags, thread_id, creator, importance, "timestamp", explanation, place)
  join public.reflection_store r on r.source_packet = h.packet_id);

comment on function reflection.to_lessons(public.memory_hit[]) is
  'Adds the values of reflection_store to hits that are lessons, in the same order.';

create function public.recall_lessons(
  query text default null,
  types text[] default null,
  tags text[] default null,
  tags_match text default 'any',
  priority text default null,
  k integer default 10,
  scopes text[] default null,
  project_id text default null,
  max_tokens integer default null,
  query_vector extensions.vector default null,
  model text default null
)
returns public.recall_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_variable
declare
  started timestamptz := clock_timestamp();
  me identity.identity := identity.require_identity();
  searched_scopes text[] := array(
    select s.name from unnest(me.readable_scopes) as s (name)
    where scopes is null or s.name = any (scopes) order by s.name);
  filters jsonb := jsonb_strip_nulls(jsonb_build_object(
    'kinds', '["reflection"]'::jsonb, 'types', to_jsonb(types), 'priority', priority, 'tags', to_jsonb(tags),
    'tags_match', case when tags is not null then tags_match end, 'scopes', to_jsonb(scopes), 'project_id', project_id));
  notice text;
  one_type text;
  request search.search_request;
  fused search.fused;
  hits public.memory_hit[];
  fitted record;
  result public.recall_result;
begin
  perform search.check_search(
    query, k, 'hybrid', tags_match, null, null, null, null, null, max_tokens, filters);
  foreach one_type in array coalesce(types, '{}') loop
    perform reflection.check_choice(one_type, reflection.reflection_types(), 'types');
  end loop;
  if priority is not null then
    perform reflection.check_choice(priority, reflection.priorities(), 'priority');
  end if;

  request.query := query;
  -- Find more than k lessons: priority and confidence can raise a later one into the first k.
  request.k := greatest(3 * k, 30);
  request.candidates := least(greatest(5 * request.k, 100), 300);
  request.settings := search.current_search_settings();
  request.buckets := search.searched_buckets(me);
  request.mode := 'recent';
  if query is not null then
    select m.dimensions into request.dimensions
    from public.embedding_models m where m.model = recall_lessons.model and m.state = 'serving';
    if query_vector is null or request.dimensions is null then
      request.mode := 'lexical';
      notice := 'The embedder is not available: searched by words only.';
    elsif extensions.vector_dims(query_vector) <> 1536 then
      perform identity.raise_error('L9VAL', 'query_vector: must have 1536 dimensions', 'query_vector');
    else
      request.mode := 'hybrid';
      request.vector := query_vector;
      request.model := model;
    end if;
  end if;
  request := reflection.narrow_to_lessons(
    request, me, searched_scopes, scopes, project_id, types, priority, tags, tags_match);
  fused := search.find_hits(request);

  hits := array(
    select row(
      h.packet_id, h.access_id, h.content, h.is_truncated, h.snippet, h.score * f.factor, h.lexical_score, h.semantic_score,
      h.chunk_index, h.kind, h.scope, h.project_id, h.tags, h.thread_id, h.creator, h.importance, h."timestamp", h.explanation
    )::public.memory_hit
    from unnest(fused.hits) as h
    join public.reflection_store r on r.source_packet = h.packet_id
    cross join lateral (select reflection.lesson_factor(r.priority, r.confidence) as factor) f
    order by h.score * f.factor desc, h."timestamp" desc, h.packet_id desc
    limit k);
  fitted := search.fit_hits(hits, max_tokens);

  result.searched := jsonb_build_object(
    'mode', request.mode, 'requested_mode', 'hybrid', 'scopes', searched_scopes, 'projects', me.projects, 'filters', filters,
    'like', null, 'as_of', null, 'entities', null, 'k', k, 'threshold', null, 'candidates', coalesce(fused.considered, 0), 'cut', fitted.cut, 'notice', notice,
    'vectors', case request.mode when 'hybrid' then 'used' when 'recent' then 'not asked for' else 'unavailable' end);
  -- A recall is logged as a search, and each lesson that it returns as an access.
  hits := search.log_hits(fitted.fitted, audit.audit_read('SEARCH', jsonb_build_object(
    'query_sha256', encode(sha256(convert_to(query, 'UTF8')), 'hex'), 'mode', request.mode, 'k', k, 'filters', filters,
    'scopes', searched_scopes, 'ids', to_jsonb(array(select h.packet_id from unnest(fitted.fitted) as h)),
    'duration_ms', round(extract(epoch from clock_timestamp() - started) * 1000, 2)),
    project_id => recall_lessons.project_id,
    scope => case when cardinality(scopes) = 1 then scopes[1] end,
    query => recall_lessons.query));
  result.lessons := reflection.to_lessons(hits);
  return result;
end
$$;

comment on function public.recall_lessons(
  text, text[], text[], text, text, integer, text[], text, integer, extensions.vector, text) is
  'Searches the reflections that the caller may read, as search_memory() searches memories: by words and, if query_vector (a vector of model) is given, by meaning. Priority and confidence together raise a score by at most 30 %. types: only these types. priority: this priority or a higher one. tags_match: any or all. k: 1 to 100. Without a query: the newest reflections, sorted by priority and confidence. max_tokens: trims the texts to about that many tokens. Writes an audit row. Errors: L9VAL, L9LIM, L9AUT.';

grant execute on function
  reflection.to_lessons(public.memory_hit[]),
  public.recall_lessons(text, text[], text[], text, text, integer, text[], text, integer, extensions.vector, text)
to l9_agent, l9_admin, l9_platform_admin;
