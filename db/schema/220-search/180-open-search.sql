-- The beginning of a search: arguments are checked, and its mode, languages and settings are decided.
-- search_memory(), memory_find and recall_lessons() call open_search().
create function search.check_search(
  query text, k integer, mode text, tags_match text, since timestamptz, until timestamptz, threshold real, min_relevance real,
  packet_id uuid, as_of timestamptz, max_tokens integer, filters jsonb, needs_filter boolean default true) returns void
language plpgsql stable set search_path = '' as $$
begin
  if query is not null and identity.is_blank(query) then
    perform identity.raise_error('L9VAL', 'query: must not be blank');
  elsif octet_length(query) > 32768 then
    perform identity.raise_error('L9LIM', format('query: must be at most 32768 bytes, got %s', octet_length(query)));
  elsif query is not null and packet_id is not null then
    perform identity.raise_error('L9VAL', 'packet_id: must not be given together with a query');
  elsif k is null or k not between 1 and 100 then
    perform identity.raise_error('L9VAL', 'k: must be from 1 to 100');
  elsif mode is null or mode not in ('hybrid', 'lexical', 'semantic', 'graph') then
    perform identity.raise_error('L9VAL', 'mode: must be hybrid, lexical, semantic or graph');
  elsif mode = 'graph' and packet_id is not null then
    perform identity.raise_error('L9VAL',
      'mode: graph starts from the entities that a query names; leave out packet_id or choose another mode');
  elsif tags_match is null or tags_match not in ('any', 'all') then
    perform identity.raise_error('L9VAL', 'tags_match: must be any or all');
  elsif not coalesce(threshold between 0 and 2, true) then
    perform identity.raise_error('L9VAL', 'threshold: must be a cosine distance from 0 to 2');
  elsif not coalesce(min_relevance between 0 and 1, true) then
    perform identity.raise_error('L9VAL', 'min_relevance: must be from 0 to 1');
  elsif since > until then
    perform identity.raise_error('L9VAL', 'since: must not be after until');
  elsif max_tokens not between 500 and 1000000 then
    perform identity.raise_error('L9VAL', 'max_tokens: must be from 500 to 1000000');
  elsif as_of > clock_timestamp() then
    perform identity.raise_error('L9VAL', 'as_of: must not be in the future');
  elsif octet_length(filters::text) > 16384 then
    perform identity.raise_error('L9LIM',
      'filters: scopes, kinds, tags and the other filters must be at most 16384 bytes together');
  elsif needs_filter and query is null and packet_id is null
    and not filters ?| array['since', 'until', 'tags', 'kinds', 'thread_id', 'creator', 'speaker', 'where'] then
    perform identity.raise_error('L9VAL',
      'query: give a query, the packet_id of a memory to find similar ones, or a filter such as since, until or tags');
  end if;
end $$;
comment on function search.check_search is 'Raises L9VAL or L9LIM for bad arguments. needs_filter: if there is no query.';

-- A hybrid search without a usable vector becomes a lexical one and says so in a notice; a semantic search raises an
-- error, because nothing would be left of it.
create function search.choose_mode(request search.search_request) returns search.search_request
language plpgsql stable set search_path = pg_catalog, extensions as $$
begin
  request.mode := case
    when request.query is null and request.like_packet_id is null then 'recent' else request.requested_mode end;
  if request.mode in ('hybrid', 'semantic') then
    -- Only vectors of the serving model are compared: of a model that arrives or leaves, some are missing.
    select m.dimensions, m.relevance_midpoint, m.relevance_slope, m.relevance_word_slope
    into request.dimensions, request.relevance_midpoint, request.relevance_slope, request.relevance_word_slope
    from public.embedding_models m where m.model = request.model and m.state = 'serving';
    if request.vector is null or request.dimensions is null then
      if request.requested_mode = 'semantic'
        and (request.vector is not null or request.model is null or request.like_packet_id is not null) then
        perform identity.raise_error('L9VAL', case
          when request.like_packet_id is null
            then 'mode: semantic needs the vector of the query, and the embedder is not available; try lexical'
          else 'mode: semantic needs the vector of the memory, which has none yet; try lexical' end, 'mode');
      end if;
      request.mode := 'lexical';
      request.notices := request.notices || case
        when request.like_packet_id is not null then 'The memory has no vector yet: searched by words only.'
        when request.vector is null and request.model is not null
          then 'The embedding model knows none of the words of the query: searched by words only.'
        when request.vector is null then 'The embedder is not available: searched by words only.'
        else 'The vector of the query is of a model that does not serve: searched by words only.' end;
    elsif extensions.vector_dims(request.vector) <> embeddings.max_dimensions() then
      perform identity.raise_error('L9VAL', format('query_vector: must have %s dimensions', embeddings.max_dimensions()));
    end if;
  end if;
  request.vector := case when request.mode in ('hybrid', 'semantic') then request.vector end;
  return request;
end $$;
comment on function search.choose_mode is 'The mode that a search runs in. L9VAL for semantic without a vector.';

-- The first step of each operation that takes retry_for: after this answer the gateway makes another vector.
create function search.is_stale(query_vector extensions.vector, model text, retry_for text[]) returns boolean
language sql stable set search_path = ''
return query_vector is not null and 'model' = any (retry_for) and model is distinct from embeddings.serving_model();
comment on function search.is_stale is 'Whether a query''s vector is of a model that does not serve, and can be made anew.';

create function search.query_languages(settings public.search_settings, language text) returns text[]
language plpgsql stable parallel safe set search_path = '' as $$
begin
  if language <> all (words.languages()) then
    perform identity.raise_error('L9VAL', format('language: must be one of %s', array_to_string(words.languages(), ', ')));
  end if;
  return case when language is null then settings.languages else array[language] end;
end $$;
comment on function search.query_languages is 'The languages in which a query is matched: the given one, or the tenant''s.';

-- Fills the request in an order that matters: more_like_this() brings the vector that choose_mode() looks for, and
-- the mode decides about min_relevance.
create function search.open_search(query text, k integer, filters jsonb, scopes text[], project_id text,
  query_vector extensions.vector, model text, max_tokens integer, mode text default 'hybrid', tags_match text default 'any',
  since timestamptz default null, until timestamptz default null, threshold real default null, packet_id uuid default null,
  as_of timestamptz default null, is_explained boolean default false, language text default null, min_relevance real default null,
  branch text default null, needs_filter boolean default true) returns search.search_request
language plpgsql stable set search_path = '' as $$
declare
  request search.search_request;
begin
  request.started_at := clock_timestamp();
  request.caller := identity.require_identity();
  perform search.check_search(
    query, k, mode, tags_match, since, until, threshold, min_relevance, packet_id, as_of, max_tokens, filters, needs_filter);

  -- Scopes that the caller may not read and scopes that do not exist are both left out without an error.
  request.searched_scopes := array(
    select s.name from unnest((request.caller).readable_scopes) as s (name)
    where scopes is null or s.name = any (scopes) order by s.name);
  request.requested_scopes := scopes;
  request.project_id := project_id;
  request.branch := packets.one_branch(branch);
  request.filters := filters;
  request.query := query;
  request.vector := query_vector;
  request.model := model;
  request.requested_mode := mode;
  request.notices := '{}';
  if packet_id is not null then
    request := search.more_like_this(request, packet_id);
  end if;
  request := search.choose_mode(request);
  request.k := k;
  request.candidates := search.candidate_count(k);
  request.threshold := threshold;
  request.as_of := as_of;
  request.max_tokens := max_tokens;
  request.is_explained := is_explained;
  request.settings := search.settings_of((request.caller).tenant_id);
  request.languages := search.query_languages(request.settings, language);
  -- The maps of models are made for queries. By words alone too little is known to leave anything out unasked: a word that most
  -- memories have is next to no share of a query.
  request.min_relevance := coalesce(min_relevance, case
    when request.mode in ('hybrid', 'semantic') and request.like_packet_id is null then (request.settings).min_relevance
      else 0 end);
  request.cuts_each := min_relevance is not null;
  request.buckets := search.searched_buckets(request.caller);
  return request;
end $$;
comment on function search.open_search is 'Begins a search: checks its arguments and decides its mode. Conditions are added by '
  'the function that calls it. Errors: L9VAL, L9LIM, L9OWN, L9AUT.';
grant execute on function search.is_stale, search.query_languages, search.check_search, search.choose_mode, search.open_search to
  l9_agent, l9_admin, l9_platform_admin;
