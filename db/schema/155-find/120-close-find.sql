create function find.log_hits(hits public.found_memory[], audit_id uuid)
returns public.found_memory[]
language plpgsql
volatile
set search_path = ''
as $$
declare
  access_ids uuid[];
  hit public.found_memory;
begin
  if cardinality(hits) = 0 then
    return hits;
  end if;
  access_ids := (
    select importance.log_accesses('search', array_agg(h.packet_id), array_agg(h.scope), array_agg(h.project_id), array_agg(h.score),
      log_hits.audit_id)
    from unnest(hits) as h);
  for place in 1 .. cardinality(hits) loop
    hit := hits[place];
    hit.access_id := access_ids[place];
    hits[place] := hit;
  end loop;
  return hits;
end
$$;

comment on function find.log_hits(public.found_memory[], uuid) is
  'Writes the hits to the access log, and returns them, each with its access_id.';

create function find.place_hits(hits public.found_memory[])
returns public.found_memory[]
language plpgsql
stable
set search_path = ''
as $$
declare
  placed standing.placed_hit;
  hit public.found_memory;
  answer public.found_memory[] := '{}';
begin
  for placed in
    select p.* from (select array_agg(h.packet_id) as ids, array_agg(h.score) as scores from unnest(hits) as h) h
    cross join lateral standing.place_hits(h.ids, h.scores) p
  loop
    hit := hits[placed.place];
    hit.standing := placed.standing;
    hit.score := placed.score;
    hit.explanation := hit.explanation || placed.explanation;
    answer := answer || hit;
  end loop;
  return answer;
end
$$;

comment on function find.place_hits(public.found_memory[]) is
  'Adds the standing to hits, and puts what is superseded after its successors.';

create function find.close_find(
  found find.candidates, ranked find.ranked, suggestions public.find_suggestion[], k integer, mode text, routes text[])
returns public.find_result
language plpgsql
volatile
set search_path = ''
as $$
declare
  request constant search.search_request := found.request;
  trimmed record := find.fit_hits(find.place_hits(ranked.hits), request.max_tokens);
  route_used constant text := array_to_string(routes, ', then ');
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
    'entities', to_jsonb(request.entities), 'cut', trimmed.cut, 'notice', nullif(array_to_string(request.notices, ' '), ''));
  result.suggestions := suggestions;
  result.hits := find.log_hits(trimmed.fitted, search.audit_search(
    request, array(select h.packet_id from unnest(trimmed.fitted) as h), request.query,
    jsonb_build_object('mode', mode, 'route_used', route_used, 'k', k)));
  return result;
end
$$;

comment on function find.close_find(find.candidates, find.ranked, public.find_suggestion[], integer, text, text[]) is
  'Ends a call of memory_find: adds the standing of its hits, trims them, fills searched, and writes the audit row and the '
  'access log.';

grant execute on function
  find.place_hits(public.found_memory[]), find.log_hits(public.found_memory[], uuid),
  find.close_find(find.candidates, find.ranked, public.find_suggestion[], integer, text, text[])
to l9_agent, l9_admin, l9_platform_admin;
