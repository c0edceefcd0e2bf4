-- The operation recall_lessons: a search over lessons only, with priority and confidence in the score.
create function reflection.to_lessons(hits public.memory_hit[]) returns public.recalled_lesson[]
language sql stable set search_path = ''
return (
  select coalesce(pg_catalog.array_agg(row(
    r.reflection_id, h.packet_id, h.access_id, h.content, h.is_truncated, r.reflection_type, r.priority, r.confidence,
    r.times_seen, r.context, r.entities, h.tags, h.scope, h.project_id, r.source_agent, r.last_seen, r.ttl, h.score, h.relevance,
    h.branch, r.agent_count, h.standing
  )::public.recalled_lesson order by place), '{}')
  from pg_catalog.generate_subscripts(hits, 1) as place
  cross join lateral (select (hits[place]).*) as h
  join public.reflection_store r on r.source_packet = h.packet_id);
comment on function reflection.to_lessons is 'Adds the values of reflection_store to hits that are lessons, in the same order.';

-- Opens and closes the search as search_memory() does; in between it finds more than k, multiplies scores by
-- lesson_factor(), and keeps the k best.
create function public.recall_lessons(
  query text default null, types text[] default null, tags text[] default null, tags_match text default 'any',
  priority text default null, k integer default 10, scopes text[] default null, project_id text default null,
  max_tokens integer default null, min_relevance real default null, query_vector extensions.vector default null,
  model text default null, branch text default null, retry_for text[] default '{}') returns public.recall_result
language plpgsql volatile set search_path = '' set l9.withheld = 'none' as $$
declare
  only_project constant text := identity.given_text(project_id);
  request search.search_request;
  one_type text;
  wide_request search.search_request;
  ranked search.ranked_hits;
  closed public.search_result;
  result public.recall_result;
begin
  if search.is_stale(recall_lessons.query_vector, recall_lessons.model, recall_lessons.retry_for) then
    return row('{}', '{"retry": "model"}', '{}')::public.recall_result;
  end if;
  types := identity.given_list(types);
  tags := identity.given_list(tags);
  scopes := identity.given_list(scopes);
  priority := identity.given_text(priority);
  request := search.open_search(
    query, k,
    jsonb_strip_nulls(jsonb_build_object(
      'kinds', '["reflection"]'::jsonb, 'types', to_jsonb(types), 'priority', priority, 'tags', to_jsonb(tags),
      'tags_match', case when tags is not null then tags_match end, 'scopes', to_jsonb(scopes), 'project_id', only_project,
      'branch', packets.one_branch(branch))),
    scopes, only_project, query_vector, model, max_tokens, tags_match => tags_match, min_relevance => min_relevance,
    branch => branch);
  foreach one_type in array coalesce(types, '{}') loop
    perform reflection.check_choice(one_type, reflection.reflection_types(), 'types');
  end loop;
  if priority is not null then
    perform reflection.check_choice(priority, reflection.priorities(), 'priority');
  end if;

  -- Find more than k lessons: priority and confidence can raise a later one into the first k.
  wide_request := request;
  wide_request.k := greatest(3 * k, 30);
  wide_request.candidates := search.candidate_count(wide_request.k);
  wide_request := reflection.narrow_to_lessons(wide_request, types, priority, tags, tags_match);
  ranked := search.find_hits(wide_request);

  ranked.hits := array(
    select row(
      h.packet_id, h.access_id, h.content, h.is_truncated, h.snippet, h.score * f.factor, h.lexical_score, h.semantic_score,
      h.chunk_index, h.kind, h.scope, h.project_id, h.tags, h.thread_id, h.creator, h.importance, h.estimated_importance,
      h."timestamp", h.explanation, h.speaker, h.created_at, h.relevance, h.branch, h.standing, h.updated_at
    )::public.memory_hit
    from unnest(ranked.hits) as h
    join public.reflection_store r on r.source_packet = h.packet_id
    cross join lateral (select reflection.lesson_factor(r.priority, r.confidence) as factor) f
    order by h.score * f.factor desc, h."timestamp" desc, h.packet_id desc limit k);
  -- Of the k that there would have been.
  ranked.left_out := least(ranked.left_out, k - cardinality(ranked.hits));
  closed := search.close_search(request, ranked);
  result.searched := closed.searched;
  result.nearest := closed.nearest;
  result.lessons := reflection.to_lessons(closed.hits);
  return result;
end $$;
comment on function public.recall_lessons is 'Searches reflections as search_memory() does memories: by words and by '
  'query_vector, made by model. Priority and confidence raise a score by at most 30 %. Without a query: the newest, sorted by '
  'both. types: only these. priority: this or a higher one. k: 1 to 100. project_id, branch, max_tokens, min_relevance, '
  'retry_for: as in search_memory(). Audited. Errors: L9VAL, L9LIM, L9AUT.';
grant execute on function reflection.to_lessons, public.recall_lessons to l9_agent, l9_admin, l9_platform_admin;
