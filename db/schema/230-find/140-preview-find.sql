-- What memory_find would answer with other weights. The console's page of settings calls it, so that administrators try weights
-- without changing what agents find.
--
-- As in preview_search(), the weights are set and memory_find runs in a block that always ends with an error, which takes back
-- all that they wrote.
create function public.preview_find(
  query text default null, weights jsonb default '{}', k integer default 10, project_id text default null)
returns setof public.packet_store
language plpgsql volatile set search_path = '' as $$
declare
  started_at constant timestamptz := clock_timestamp();
  given constant jsonb := jsonb_strip_nulls(coalesce(preview_find.weights, '{}'));
  tried constant public.find_settings := jsonb_populate_record(
    null::public.find_settings, search.read_weights(given, to_jsonb(find.default_settings())));
  result public.find_result;
  ids uuid[];
begin
  begin
    perform public.set_find_settings(
      tried.match_weight, tried.recency_weight, tried.proximity_weight, tried.citation_weight, tried.half_life_days);
    -- Without a query memory_find needs a filter; every memory meets this one.
    result := public.memory_find(preview_find.query, project_id => preview_find.project_id, k => preview_find.k,
      since => case when preview_find.query is null then '-infinity'::timestamptz end);
    raise exception using errcode = 'TRIED';
  exception when sqlstate 'TRIED' then
    null;
  end;
  ids := array(select h.packet_id from unnest(result.hits) with ordinality as h order by h.ordinality);
  perform search.audit_preview(started_at, given, ids, result.searched, preview_find.query, preview_find.project_id);
  return query
    select p.* from unnest(ids) with ordinality as i (packet_id, place) join public.packet_store p using (packet_id)
    order by i.place;
end $$;
comment on function public.preview_find is 'The memories that memory_find finds, best first, if set_find_settings sets weights '
  '(its arguments by name), while settings, access log and importance stay as they are. Matches are by words alone, because no '
  'vector is given. For admins whose token covers all scopes and projects. Audited. Errors: L9VAL, L9LIM, L9SCP, L9AUT.';
grant execute on function public.preview_find to l9_admin, l9_platform_admin;
