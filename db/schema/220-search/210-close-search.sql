-- How a search and memory_find end: the standing of the hits, the audit row and the access log. The hits are those of either
-- function.
create function search.log_hits(hits anyarray, audit_id uuid) returns anyarray
language plpgsql volatile set search_path = '' as $$
declare
  access_ids uuid[];
begin
  if cardinality(hits) = 0 then
    return hits;
  end if;
  access_ids := (
    select importance.log_accesses(
      'search', array_agg(h.packet_id), array_agg(h.scope), array_agg(h.project_id), array_agg(h.score), log_hits.audit_id)
    from unnest(hits) as h);
  for place in 1 .. cardinality(hits) loop
    hits[place].access_id := access_ids[place];
  end loop;
  return hits;
end $$;
comment on function search.log_hits is 'Writes hits (memory_hit or found_memory) to the access log; adds each one''s access_id.';

create function search.place_hits(hits anyarray, as_of timestamptz default null) returns anyarray
language plpgsql stable set search_path = '' as $$
declare
  answer hits%type := '{}';
  placed standing.placed_hit;
  place integer := 0;
begin
  for placed in
    select p.* from (select array_agg(h.packet_id) as ids, array_agg(h.score) as scores from unnest(hits) as h) h
    cross join lateral standing.place_hits(h.ids, h.scores, place_hits.as_of) p
  loop
    place := place + 1;
    answer[place] := hits[placed.place];
    answer[place].standing := placed.standing;
    answer[place].score := placed.score;
    answer[place].explanation := answer[place].explanation || placed.explanation;
  end loop;
  return answer;
end $$;
comment on function search.place_hits is 'Adds the standing to hits (memory_hit or found_memory); successors come first.';

create function search.shown_ids(hits anyarray, nearest public.nearest_memory[]) returns uuid[]
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return array(select h.packet_id from unnest(hits) as h) || array(select n.packet_id from unnest(nearest) as n);
end $$;
comment on function search.shown_ids is 'The memories of which a caller is shown anything: hits, or the nearest instead.';

create function search.audit_search(request search.search_request, ids uuid[], query text, more jsonb) returns uuid
language plpgsql volatile set search_path = '' as $$
begin
  return audit.audit_read('SEARCH', jsonb_build_object(
    'query_sha256', encode(sha256(convert_to(audit_search.query, 'UTF8')), 'hex'), 'min_relevance', request.min_relevance,
    -- What a field was compared with may be contents, which an erasure could not take out of the audit log.
    'filters', request.filters || case when request.filters ? 'where'
      then jsonb_build_object('where', array(select jsonb_object_keys(request.filters -> 'where'))) else '{}' end,
    'scopes', request.searched_scopes, 'ids', to_jsonb(ids),
    'duration_ms', round(extract(epoch from clock_timestamp() - request.started_at) * 1000, 2)) || more,
    project_id => request.project_id,
    scope => case when cardinality(request.requested_scopes) = 1 then request.requested_scopes[1] end,
    query => audit_search.query);
end $$;
comment on function search.audit_search is 'Writes the audit row of a search that returns these memories; returns its id.';

create function search.words_notice(lexemes text[], mode text) returns text language sql immutable parallel safe
return case when lexemes = '{}' then
  'The query has only common words or signs, which are not looked for'
  || case when mode = 'hybrid' then ': searched by meaning only.' else '; name what you are looking for.' end end;
comment on function search.words_notice is 'Tells that a query has no words that tell memories apart, if it was to be searched.';

-- Trims before it writes, so that the audit row and the access log name the hits that the caller is really shown.
create function search.close_search(request search.search_request, ranked search.ranked_hits) returns public.search_result
language plpgsql volatile set search_path = '' as $$
declare
  trimmed record := search.fit_hits(search.place_hits(ranked.hits, request.as_of), request.max_tokens);
  nearest constant public.nearest_memory[] := case when ranked.nearest <> '{}'
    then search.to_nearest(search.place_hits(ranked.nearest, request.as_of), request.max_tokens) else '{}' end;
  -- For a memory like another, the query is made of that memory's words and is not logged.
  query text := case when request.like_packet_id is null then request.query end;
  result public.search_result;
begin
  request.notices := request.notices || search.words_notice(ranked.lexemes, request.mode) || search.nearest_notice(nearest)
    || search.projects_notice(request, exists (select from unnest(trimmed.fitted) as h where h.project_id = request.project_id));
  result.searched := jsonb_build_object(
    'mode', request.mode, 'requested_mode', request.requested_mode, 'scopes', request.searched_scopes,
    'projects', (request.caller).projects, 'filters', request.filters, 'like', request.like_packet_id, 'as_of', request.as_of,
    'k', request.k, 'threshold', request.threshold, 'min_relevance', request.min_relevance,
    'candidates', coalesce(ranked.considered, 0), 'left_out', coalesce(ranked.left_out, 0),
    'entities', to_jsonb(request.entities), 'cut', trimmed.cut, 'notice', nullif(array_to_string(request.notices, ' '), ''),
    'vectors', case
      when request.mode in ('hybrid', 'semantic') then 'used'
      when request.requested_mode in ('lexical', 'graph') or request.mode = 'recent' then 'not asked for'
      else 'unavailable' end);

  -- The audit row and the access log are all that a search writes.
  result.nearest := nearest;
  result.hits := search.log_hits(trimmed.fitted, search.audit_search(
    request, search.shown_ids(trimmed.fitted, nearest), query,
    jsonb_build_object('mode', request.mode, 'requested_mode', request.requested_mode, 'k', request.k, 'threshold',
      request.threshold)
    || jsonb_strip_nulls(jsonb_build_object('like', request.like_packet_id, 'as_of', request.as_of))));
  return result;
end $$;
comment on function search.close_search is 'Ends a search: standing, trimming, searched, audit row and access log.';
grant execute on function search.words_notice, search.place_hits, search.log_hits, search.shown_ids, search.audit_search,
  search.close_search to l9_agent, l9_admin, l9_platform_admin;
