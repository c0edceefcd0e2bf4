-- How memory_find ends, as a search does: search.place_hits(), the audit row and search.log_hits().
create function find.close_find(
  found find.candidates, ranked find.ranked, suggestions public.find_suggestion[], k integer, mode text, routes text[])
returns public.find_result
language plpgsql volatile set search_path = '' as $$
declare
  request constant search.search_request := found.request;
  trimmed record := find.fit_hits(search.place_hits(ranked.hits), request.max_tokens);
  route_used constant text := array_to_string(routes, ', then ');
  nearest constant public.nearest_memory[] := case when ranked.nearest <> '{}'
    then search.fit_nearest(find.to_nearest(search.place_hits(ranked.nearest)), request.max_tokens) else '{}' end;
  result public.find_result;
begin
  result.searched := jsonb_build_object(
    'mode', mode, 'route_used', route_used, 'scopes', request.searched_scopes, 'projects', (request.caller).projects,
    'filters', request.filters, 'k', k, 'candidates', coalesce(found.considered, 0),
    -- Of the k that there would have been.
    'left_out', least(ranked.left_out, k - cardinality(ranked.hits)),
    'vectors', case
      when request.mode = 'hybrid' then 'used'
      when request.requested_mode = 'hybrid' and request.query is not null then 'unavailable'
      else 'not asked for' end,
    'entities', to_jsonb(request.entities), 'cut', trimmed.cut,
    'notice', nullif(array_to_string(
      request.notices || search.words_notice(request.lexemes, request.mode) || search.nearest_notice(nearest)
        || search.projects_notice(request, exists (
          select from unnest(trimmed.fitted) as h where h.project_id = request.project_id)),
      ' '), ''));
  result.suggestions := suggestions;
  result.nearest := nearest;
  result.hits := search.log_hits(trimmed.fitted, search.audit_search(
    request, search.shown_ids(trimmed.fitted, nearest), request.query,
    jsonb_build_object('mode', mode, 'route_used', route_used, 'k', k)));
  return result;
end $$;
comment on function find.close_find is 'Ends a call of memory_find: standing, trimming, searched, audit row and access log.';
grant execute on function find.close_find to l9_agent, l9_admin, l9_platform_admin;
