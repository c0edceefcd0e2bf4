create function reflection.lesson_conditions(alias text, types text[], priority text)
returns text
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.concat_ws(' and ', 'true',
  case when types is not null then pg_catalog.format('%I.reflection_type = any (%L::text[])', alias, types) end,
  case when priority is not null then pg_catalog.format(
    'reflection.priority_rank(%I.priority) >= %s', alias, reflection.priority_rank(priority)) end);

comment on function reflection.lesson_conditions(text, text[], text) is
  'SQL conditions on the reflection_store columns of a lesson, with their values included.';

create function reflection.narrow_to_lessons(
  request search.search_request, me identity.identity, searched_scopes text[], scopes text[], project_id text,
  types text[], priority text, tags text[], tags_match text)
returns search.search_request
language plpgsql
stable
set search_path = ''
as $$
declare
  -- Scoring this many rows one by one costs as much as scanning an index past all memories that are no lessons.
  max_scored_rows constant integer := 2000;
  source search.search_source;
begin
  if request.k is null then
    return request;
  end if;
  request.joins_packets := true;
  request.on_own := search.own_conditions('m', scopes, project_id);
  request.on_packets := concat_ws(' and ', search.own_conditions('p', scopes, project_id),
    search.packet_conditions('p', '{reflection}', tags, tags_match, null, null, null, null, null),
    format('exists (select from public.reflection_store r where r.source_packet = p.packet_id and %s)',
      reflection.lesson_conditions('r', types, priority)));
  request.on_states := request.on_packets;

  -- Lessons are a small part of all memories and have their own index, which finds them fast.
  source.table_name := '(select r.*, r.source_packet as packet_id from public.reflection_store r)';
  source.columns := 'p.*';
  source.branches := search.reader_branches(me, 'p', searched_scopes, project_id);
  source.more := concat_ws(' and ', search.own_conditions('p', scopes, project_id),
    reflection.lesson_conditions('p', types, priority),
    case when tags is not null then format(
      'exists (select from public.packet_store memory where memory.packet_id = p.packet_id and %s)',
      search.packet_conditions('memory', null, tags, tags_match, null, null, null, null, null)) end);
  request.ids := search.few_matches(source, max_scored_rows, max_scored_rows);
  request.context_ids := request.ids;
  request.reasoning_ids := '{}';
  return search.choose_ways(request);
end
$$;

comment on function reflection.narrow_to_lessons(
  search.search_request, identity.identity, text[], text[], text, text[], text, text[], text) is
  'Restricts a search to lessons: adds its conditions and, if only few rows match, their ids. It is the counterpart of narrow_search for recall_lessons().';

grant execute on function
  reflection.lesson_conditions(text, text[], text),
  reflection.narrow_to_lessons(
    search.search_request, identity.identity, text[], text[], text, text[], text, text[], text)
to l9_agent, l9_admin, l9_platform_admin;
