-- Restricts a search to lessons, in place of narrow_search(). recall_lessons() calls narrow_to_lessons().
create function reflection.lesson_conditions(alias text, types text[], priority text) returns text
language sql stable parallel safe set search_path = ''
return pg_catalog.concat_ws(' and ', 'true',
  case when types is not null then pg_catalog.format('%I.reflection_type = any (%L::text[])', alias, types) end,
  case when priority is not null then pg_catalog.format(
    'reflection.priority_rank(%I.priority) >= %s', alias, reflection.priority_rank(priority)) end);
comment on function reflection.lesson_conditions is 'SQL conditions on the reflection_store columns of a lesson.';

-- States the conditions once for the ranked indexes of memories and once for the small table of lessons, in which few
-- matches are found without a scan.
create function reflection.narrow_to_lessons(
  request search.search_request, types text[], priority text, tags text[], tags_match text) returns search.search_request
language plpgsql stable set search_path = '' as $$
declare
  -- What a reflection shares with its memory is in its own row, except tags and branch.
  memory_conditions constant text := nullif(concat_ws(' and ',
    search.packet_conditions('memory', null, tags, tags_match, null, null, null, null, null),
    case when request.branch is not null then format('(memory.branch = %L or memory.branch is null)', request.branch) end), '');
  source search.search_source;
begin
  if request.k is null then
    return request;
  end if;
  request.joins_packets := true;
  request.own_row_condition := search.own_conditions('m', request.requested_scopes, request.project_id, request.branch);
  -- What makes a memory a lesson of these types is left to current_condition.
  request.word_filter := row(
    request.requested_scopes, request.project_id, false, null, null, '{reflection}', packets.wanted_tag_keys(tags),
    tags_match = 'all', null, null, null, null, null, null, null, null, request.branch, null)::ranking.word_filter;
  request.current_condition := concat_ws(' and ',
    search.own_conditions('p', request.requested_scopes, request.project_id, request.branch),
    search.packet_conditions('p', '{reflection}', tags, tags_match, null, null, null, null, null),
    format('exists (select from public.reflection_store r where r.source_packet = p.packet_id and %s)',
      reflection.lesson_conditions('r', types, priority)));
  request.current_or_past_condition := request.current_condition;

  -- Lessons are a small part of all memories and have their own index, which finds them fast.
  source.table_name := '(select r.*, r.source_packet as packet_id from public.reflection_store r)';
  source.visibility_ranges := search.reader_ranges(request.caller, 'p', request.searched_scopes, request.project_id);
  source.extra_condition := concat_ws(' and ',
    search.own_conditions('p', request.requested_scopes, request.project_id, null),
    reflection.lesson_conditions('p', types, priority),
    case when memory_conditions is not null then format(
      'exists (select from public.packet_store memory where memory.packet_id = p.packet_id and %s)', memory_conditions) end);
  request.ids := search.few_matches(source, search.max_scored_rows(), search.max_scored_rows());
  request.context_ids := request.ids;
  request.reasoning_ids := '{}';
  return request;
end $$;
comment on function reflection.narrow_to_lessons is 'Restricts a search to lessons, few of which it names by id.';
grant execute on function reflection.lesson_conditions, reflection.narrow_to_lessons to l9_agent, l9_admin, l9_platform_admin;
