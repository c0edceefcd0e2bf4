-- The operation preview_search: what search_memory would answer with other weights. The console's page of settings calls it, so
-- that administrators try weights without changing anybody's searches. preview_find() shares read_weights() and audit_preview().
create function search.read_weights(weights jsonb, defaults jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
declare
  names constant text[] := array(
    select n.name from jsonb_object_keys(defaults) as n (name) where n.name not in ('tenant_id', 'languages', 'updated_at'));
  name text;
begin
  if jsonb_typeof(weights) is distinct from 'object' then
    perform identity.raise_error('L9VAL', 'weights: must be an object that maps names of weights to values');
  elsif octet_length(weights::text) > 16384 then
    perform identity.raise_error('L9LIM', 'weights: must be at most 16384 bytes');
  elsif not array(select jsonb_object_keys(weights)) <@ names then
    perform identity.raise_error('L9VAL', format('weights: each must be one of %s', array_to_string(names, ', ')));
  end if;
  for name in select jsonb_object_keys(weights) loop
    if jsonb_typeof(weights -> name) <> jsonb_typeof(defaults -> name)
      or jsonb_typeof(weights -> name) = 'number' and not (weights ->> name)::numeric between 0 and 1 then
      perform identity.raise_error('L9VAL', format('%s: must be %s', name, case jsonb_typeof(defaults -> name)
        when 'boolean' then 'true or false' when 'object' then 'an object that maps kinds to days'
        else 'a number from 0 to 1' end));
    end if;
  end loop;
  return weights;
end $$;
comment on function search.read_weights is 'The settings that weights names, if they have the types of the defaults. L9VAL names '
  'what is wrong.';

create function search.audit_preview(
  started_at timestamptz, weights jsonb, ids uuid[], searched jsonb, query text, project_id text) returns void
language plpgsql volatile set search_path = '' as $$
begin
  -- The policies audit what operators read, and a preview takes these rows back, too.
  if identity.current_role_name() = 'l9_platform_admin' then
    perform identity.allow_and_audit_operator_read('packet_store');
  end if;
  perform audit.audit_read('SEARCH', jsonb_build_object(
      'preview', true, 'weights', weights, 'ids', ids,
      'query_sha256', encode(sha256(convert_to(audit_preview.query, 'UTF8')), 'hex'),
      'duration_ms', round(extract(epoch from clock_timestamp() - started_at) * 1000, 2))
    || (select jsonb_object_agg(s.key, s.value) from jsonb_each(searched) as s
      where s.key in ('mode', 'requested_mode', 'route_used', 'k', 'threshold', 'min_relevance', 'filters', 'scopes')),
    project_id => identity.given_text(audit_preview.project_id), query => audit_preview.query);
end $$;
comment on function search.audit_preview is 'Audits what a preview found, after everything else that it wrote is taken back.';

-- The weights are set and the search runs as always, in a block that always ends with an error: that takes back the settings, the
-- access log and the audit rows. No other transaction has seen them by then.
create function public.preview_search(
  query text, weights jsonb default '{}', k integer default 10, project_id text default null,
  query_vector extensions.vector default null, model text default null, retry_for text[] default '{}')
returns public.search_result
language plpgsql volatile set search_path = '' as $$
declare
  started_at constant timestamptz := clock_timestamp();
  given constant jsonb := jsonb_strip_nulls(coalesce(preview_search.weights, '{}'));
  tried constant public.search_settings := jsonb_populate_record(
    null::public.search_settings, search.read_weights(given, to_jsonb(search.default_settings())));
  result public.search_result;
begin
  begin
    perform public.set_search_settings(
      tried.lexical_weight, tried.semantic_weight, tried.lexical_context_weight, tried.semantic_context_weight,
      tried.uses_chunks, tried.chunk_weight,
      tried.thread_weight, tried.neighbour_weight, tried.speaker_boost, tried.common_word_share, tried.min_relevance,
      tried.recency_boost, tried.importance_boost, tried.half_life_days);
    result := public.search_memory(
      preview_search.query, preview_search.k, project_id => preview_search.project_id,
      query_vector => preview_search.query_vector, model => preview_search.model, retry_for => preview_search.retry_for);
    raise exception using errcode = 'TRIED';
  exception when sqlstate 'TRIED' then
    null;
  end;
  if result.searched ? 'retry' then
    return result;
  end if;
  perform search.audit_preview(started_at, given, search.shown_ids(result.hits, result.nearest), result.searched,
    preview_search.query, preview_search.project_id);
  return result;
end $$;
comment on function public.preview_search is 'What search_memory finds if set_search_settings sets weights (its arguments by '
  'name, without languages), while settings, access log and importance stay as they are. The vector is compared as given: '
  'common_word_share changes nothing. For admins whose token covers all scopes and projects. retry_for: see searched.retry. '
  'Audited. Errors: L9VAL, L9LIM, L9SCP, L9AUT.';
grant execute on function search.read_weights, search.audit_preview, public.preview_search to l9_admin, l9_platform_admin;
