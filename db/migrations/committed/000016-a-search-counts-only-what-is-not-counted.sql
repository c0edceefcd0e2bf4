--! Previous: sha1:126914948d20e2d877c9b70d1e0204c5a57f870a
--! Hash: sha1:bd6316dcbc5f845c35022d2d9b2f74825de81303
--! Message: A search counts only what is not counted

--! split: 1-current.sql
-- A search with vectors knows from the counts of words that its caller may read many memories, as memory_find does, in place of
-- counting them; and a read asks once who calls, where it wrote its record.
alter type search.search_request add attribute weighed ranking.word_weights;
comment on column search.search_request.weighed is 'These weights, the average length and the number of those '
  'memories, where they are known before words are looked for.';

create or replace function audit.add_audit_row(
  me identity.identity, audit_id uuid, operation text, table_name text, row_id uuid, project_id text, scope text, details jsonb,
  sqlstate text)
returns void
language plpgsql volatile set search_path = '' as $$
declare
  kept jsonb;
begin
  if audit.is_on_replica() then
    perform audit.hand_over('audit_row', jsonb_build_object('audit_id', add_audit_row.audit_id,
      'operation', add_audit_row.operation, 'table_name', add_audit_row.table_name, 'row_id', add_audit_row.row_id,
      'project_id', add_audit_row.project_id, 'scope', add_audit_row.scope, 'details', add_audit_row.details));
    return;
  end if;
  -- What the database says itself, such as ids and the columns that an administrator changed, stays as it is.
  kept := audit.as_kept(jsonb_build_object('project_id', add_audit_row.project_id, 'scope', add_audit_row.scope,
    'details', add_audit_row.details - '{ids,row,scopes,query_sha256}'::text[], 'call', audit.call_named()), me.tenant_id);
  insert into public.audit_log (audit_id, operation, table_name, row_id, tenant_id, project_id, scope, status, sqlstate, details)
  values (
    add_audit_row.audit_id, add_audit_row.operation, add_audit_row.table_name, add_audit_row.row_id, me.tenant_id,
    -- A call about no single row is about what the caller is limited to.
    coalesce(nullif(left(kept ->> 'project_id', 200), ''), case
      when add_audit_row.row_id is null and cardinality(me.projects) = 1 then nullif(me.projects[1], '*') end),
    coalesce(left(kept ->> 'scope', 63), case
      when add_audit_row.row_id is null and cardinality(me.readable_scopes) = 1 then me.readable_scopes[1] end),
    case when add_audit_row.sqlstate is null then 'success' else 'error' end, add_audit_row.sqlstate,
    coalesce(add_audit_row.details, '{}') || coalesce(kept -> 'details', '{}') || audit.names_of(me) || (kept -> 'call'));
end $$;
comment on function audit.add_audit_row(identity.identity, uuid, text, text, uuid, text, text, jsonb, text)
  is 'Inserts an audit row about a caller under the given id; on a replica it is handed '
  'over instead. Without a row, project and scope are by default the only ones of the caller. Not executable by callers, who '
  'can''t insert.';

create or replace function audit.write_audit(
  operation text, table_name text, row_id uuid default null, project_id text default null, scope text default null,
  details jsonb default '{}', sqlstate text default null) returns void
language sql volatile security definer set search_path = ''
begin atomic
  select audit.add_audit_row(
    identity.current_identity(), uuidv7(), operation, table_name, row_id, project_id, scope, details, sqlstate);
end;

create or replace function audit.keep_query_text(me identity.identity, audit_id uuid, scope text, query text) returns void
language plpgsql volatile set search_path = '' as $$
begin
  if audit.is_on_replica() then
    perform audit.hand_over('query_text', jsonb_build_object('audit_id', keep_query_text.audit_id,
      'scope', keep_query_text.scope, 'query', keep_query_text.query));
    return;
  end if;
  insert into public.audit_query_texts (audit_id, tenant_id, scope, query, user_id)
  select keep_query_text.audit_id, t.tenant_id, keep_query_text.scope, keep_query_text.query, me.user_id
  from public.tenants t
  where t.tenant_id = me.tenant_id and t.audits_query_text;
end $$;
comment on function audit.keep_query_text(identity.identity, uuid, text, text)
  is 'Stores the text of a search if the caller''s tenant keeps these texts; on a '
  'replica the text is handed over instead.';

create or replace function audit.audit_read(
  operation text, details jsonb, row_id uuid default null, project_id text default null, scope text default null,
  query text default null) returns uuid
language plpgsql volatile security definer set search_path = '' as $$
declare
  audit_id uuid := uuidv7();
  me constant identity.identity := identity.require_identity();
begin
  if operation not in ('SEARCH', 'READ', 'STATS') then
    perform identity.raise_error('L9VAL', 'operation: must be SEARCH, READ or STATS');
  end if;
  -- A list of ids may be long: all that were shown are recorded.
  if octet_length((details - 'ids')::text) > 65536 or octet_length((details -> 'ids')::text) > 4194304
    or octet_length(query) > 32768 then
    perform identity.raise_error('L9LIM', 'details: at most 65536 bytes, ids: at most 4194304, query: at most 32768');
  end if;
  perform audit.add_audit_row(
    me, audit_id, operation, 'packet_store', row_id, left(project_id, 200), left(scope, 63),
    details - '{org_id,user_id,correlation_id,session_id,trace_id}'::text[], null);
  if query is not null then
    perform audit.keep_query_text(me, audit_id, left(scope, 63), query);
  end if;
  return audit_id;
end $$;

create or replace function audit.store_part(part text, arguments jsonb) returns void
language plpgsql volatile set search_path = '' as $$
declare
  id constant uuid := (arguments ->> 'audit_id')::uuid;
  details constant jsonb := nullif(arguments -> 'details', 'null');
  accesses record;
begin
  case part
  when 'audit_row' then
    perform audit.check_ids_of_record(array[id]);
    if (arguments ->> 'operation' in ('SEARCH', 'READ', 'STATS', 'EXPORT')) is not true then
      perform identity.raise_error('L9VAL', 'record: operation must be SEARCH, READ, STATS or EXPORT');
    elsif octet_length((details - 'ids')::text) > 65536 or octet_length((details -> 'ids')::text) > 4194304 then
      perform identity.raise_error('L9LIM', 'record: details at most 65536 bytes, ids at most 4194304');
    end if;
    perform audit.add_audit_row(identity.current_identity(), id, arguments ->> 'operation', left(arguments ->> 'table_name', 63),
      (arguments ->> 'row_id')::uuid, left(arguments ->> 'project_id', 200), left(arguments ->> 'scope', 63),
      details - '{org_id,user_id,correlation_id,session_id,trace_id}'::text[], null);
  when 'query_text' then
    perform audit.check_ids_of_record(array[id]);
    if octet_length(arguments ->> 'query') > 32768 then
      perform identity.raise_error('L9LIM', 'record: query at most 32768 bytes');
    end if;
    perform audit.keep_query_text(identity.current_identity(), id, left(arguments ->> 'scope', 63), arguments ->> 'query');
  when 'accesses' then
    select a.* into accesses
    from jsonb_to_record(arguments) as a (access_ids uuid[], access_context text, target_ids uuid[], scopes text[],
      project_ids text[], relevance_scores real[], audit_id uuid, target_type text);
    perform audit.check_ids_of_record(accesses.access_ids);
    if cardinality(accesses.target_ids) > 100 or (cardinality(accesses.access_ids) = cardinality(accesses.target_ids)
      and cardinality(accesses.scopes) = cardinality(accesses.target_ids)) is not true then
      perform identity.raise_error('L9LIM', 'record: at most 100 accesses, each with its target and scope');
    end if;
    perform importance.insert_accesses(accesses.access_ids, accesses.access_context, accesses.target_ids, accesses.scopes,
      accesses.project_ids, accesses.relevance_scores, accesses.audit_id, accesses.target_type);
  else
    perform identity.raise_error('L9VAL', 'record: must be what record_of_reads() returned');
  end case;
end $$;

create or replace function facts.log_fact_reads(
  details jsonb, facts public.knowledge_facts[], is_use boolean, project_id text default null, scope text default null)
returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  read_id uuid := uuidv7();
  me constant identity.identity := identity.require_identity();
begin
  -- Each fact may come with the one that it replaced.
  if octet_length(details::text) > 65536 or cardinality(facts) > 2 * facts.max_facts_per_read() then
    perform identity.raise_error(
      'L9LIM', format('details: at most 65536 bytes, facts: at most %s', 2 * facts.max_facts_per_read()));
  end if;
  perform audit.add_audit_row(
    me, read_id, 'READ', 'knowledge_facts', null, left(project_id, 200), left(scope, 63),
    (details - '{org_id,user_id,correlation_id,session_id,trace_id}'::text[])
      || jsonb_build_object('ids', array(select f.fact_id from unnest(facts) f)), null);
  if is_use and cardinality(facts) > 0 then
    perform importance.log_accesses('search', array_agg(f.fact_id), array_agg(f.scope), array_agg(f.project_id),
      audit_id => read_id, target_type => 'fact')
    from unnest(facts) f;
  end if;
end $$;

create or replace function search.settings_of(tenant_id uuid) returns public.search_settings
language plpgsql stable set search_path = '' as $$
declare
  settings public.search_settings;
begin
  select s.* into settings from public.search_settings s where s.tenant_id = settings_of.tenant_id;
  if not found then
    settings := search.default_settings();
  end if;
  return settings;
end $$;
comment on function search.settings_of is 'The settings of a tenant, if the caller may read them, or else the defaults.';

create or replace function search.open_search(query text, k integer, filters jsonb, scopes text[], project_id text,
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

create or replace function search.words_for_vector(query text, project_id text) returns text
language plpgsql stable set search_path = '' as $$
declare
  -- Among a handful of memories any word can be in most of them.
  least_memories constant integer := 20;
  settings public.search_settings := search.settings_of(identity.current_tenant_id());
  share real := settings.common_word_share;
  lexemes text[];
  weights double precision[];
  common text[];
  speakers text[];
  answer text;
begin
  if project_id is null or share >= 1 or length(query) > search.max_query_characters() then
    return words_for_vector.query;
  end if;
  lexemes := search.query_words(query, settings.languages);
  -- The last weight is that of a word that no memory has, which tells how many memories there are.
  weights := (ranking.weigh_words(lexemes || ' '::text, null, project_id)).weights;
  if weights[cardinality(weights)] < ln(least_memories + 1) then
    return words_for_vector.query;
  end if;
  -- The weight of a word that a share of the memories has is the logarithm of 1 / share.
  common := array(select l.lexeme from unnest(lexemes, weights) as l (lexeme, weight)
    where l.lexeme is not null and l.weight < -ln(greatest(share, 0.01)));
  if common = '{}' then
    return words_for_vector.query;
  end if;
  speakers := search.recent_speakers(project_id);
  select string_agg(t.token, ' ' order by t.place) into answer
  from regexp_split_to_table(btrim(query), '\s+') with ordinality as t (token, place)
  cross join lateral (select search.query_words(t.token, settings.languages) as lexemes offset 0) w
  -- Only names: a sentence of common words alone still has to find the memory that says the same.
  where w.lexemes = '{}' or not w.lexemes <@ common
    or t.token !~ '^[[:upper:]]' and substring(lower(t.token) from '[[:alnum:]]+') <> all (speakers);
  return case when search.query_words(answer, settings.languages) <> '{}' then answer else words_for_vector.query end;
end $$;

create or replace function find.settings_of(tenant_id uuid) returns public.find_settings
language plpgsql stable set search_path = '' as $$
declare
  settings public.find_settings;
begin
  select s.* into settings from public.find_settings s where s.tenant_id = settings_of.tenant_id;
  if not found then
    settings := find.default_settings();
  end if;
  return settings;
end $$;
comment on function find.settings_of is 'The settings of a tenant, if the caller may read them, or else the defaults, without '
  'tenant_id.';

create or replace function find.rank_hits(found find.candidates, route text, k integer) returns find.ranked
language plpgsql stable set search_path = pg_catalog, extensions set max_parallel_workers_per_gather = 0
  set enable_seqscan = off
-- Each memory is looked up once, so that there is nothing to keep.
set enable_memoize = off
-- The plan does not depend on the request, and planning takes longer than running it.
set plan_cache_mode = force_generic_plan as $$
declare
  max_citations constant integer := 1000;
  request constant search.search_request := found.request;
  weights constant public.find_settings := find.settings_of((request.caller).tenant_id);
  own_org constant uuid := (request.caller).org_id;
  phrases constant text[] := find.quoted_phrases(request.query);
  pattern constant text := search.passage_pattern(request.query, request.languages);
  is_answered boolean;
  answer find.ranked;
begin
  with asked as materialized (
    -- The words of the query, for the formula of search.word_share(): a call of it for each candidate takes ten times as long.
    select w.test, w.weight
    from unnest(search.word_tests(request.lexemes, request.query, request.languages), request.word_weights) as w (test, weight)
  ), pool as materialized (
    select h.packet_id, h.score, h.relevance, h.is_relevant, h.chunk_index, h.explanation, g.score as path
    from unnest(found.ids, found.scores, found.relevances, found.are_relevant, found.chunks, found.explanations)
      as h (packet_id, score, relevance, is_relevant, chunk_index, explanation)
    left join unnest((found.paths).ids, (found.paths).scores) as g (id, score) on g.id = h.packet_id
  ), looked_up as materialized (
    -- By itself, so that text_writer() is inlined: a whole row passed on to a subquery would be copied with all of its texts.
    select f.*, p.packet_type, p.title, p.envelope, p.scope, p.project_id, p.branch, p.updated_at, p."timestamp", p.org_id,
      p.words, p.content_hash, packets.text_writer(p) as writer
    from pool f join public.packet_store p on p.packet_id = f.packet_id
  ), measured as (
    select p.packet_id, p.score, p.relevance, p.is_relevant, p.chunk_index, p.explanation, p.path, p.packet_type, p.title,
      p.envelope, p.scope, p.project_id, p.branch, p.updated_at, p."timestamp",
      h.half_life_days, search.recency(now() - p."timestamp", h.half_life_days) as recency,
      (select (sum(w.weight) filter (where u.words[1] @@ w.test) / nullif(sum(w.weight), 0))::real from asked w) as word_share,
      find.proximity(p.project_id, p.branch, p.org_id, request.project_id, request.branch, own_org) as proximity,
      find.citation_share(r.agents) as citation_share, r.agents,
      phrases = '{}' or find.has_phrases(concat_ws(' ', p.title, p.envelope ->> 'content'), phrases) as has_phrases
    from looked_up p
    -- An agent counts once, its own memories aside, and only for the present text.
    cross join lateral (
      select count(distinct a.agent) as agents
      from (
        (select packets.text_writer(m) as agent
         from importance.memory_citations c join public.packet_store m on m.packet_id = c.cited_by
         where c.packet_id = p.packet_id and c.content_hash = p.content_hash
           and packets.text_writer(m) not in (p.writer, 'job')
         limit max_citations)
        union all (select e.agent from public.fact_evidence e
         where e.packet_id = p.packet_id and e.content_hash = p.content_hash and e.agent <> p.writer limit max_citations)
      ) a
    ) r
    -- An array holds its elements unpacked, so that this is done once instead of for each word of the query.
    cross join lateral (select array[p.words] as words offset 0) u
    cross join lateral (
      select coalesce(weights.half_life_days ->> p.packet_type,
        weights.half_life_days ->> 'default')::double precision as half_life_days
    ) h
  ), matched as (
    select m.*, case when m.has_phrases or not bool_or(m.has_phrases) over () then m.score else 0 end as match from measured m
  ), ahead as materialized (
    select array(select m.match from matched m order by m.match desc limit 2) as matches
  ), judged as (
    -- By words alone, what has enough of them is relevant; fuse() has decided it for the other routes.
    select m.*, m.match - case when m.match < l.matches[1] then l.matches[1] else coalesce(l.matches[2], m.match) end as lead,
      find.score(m.match, m.recency, m.proximity, m.citation_share, weights) as own_total,
      m.path is not null or coalesce(m.is_relevant, route <> 'fast' or m.word_share >= request.min_relevance) as fits
    from matched m cross join ahead l
  ), best as (
    -- What is hardly relevant comes last, however new or near it is.
    select j.*, case when j.fits then j.own_total
        else least(j.own_total, min(j.own_total) filter (where j.fits) over ()) end as total
    from (select m.*, bool_or(m.fits) over () as is_answered from judged m) j
    -- What was asked for by its words is not filled up with what has few of them.
    where route <> 'fast' or j.fits or j.is_answered is not true
    order by j.fits desc, total desc, j.score desc, j."timestamp" desc, j.packet_id desc limit k
  ), shown as materialized (
    -- Most memories have nothing beside their content.
    select b.*, b.envelope ->> 'content' as content, f.all_fields,
      case when f.all_fields = '{}' then f.all_fields else find.lean_fields(f.all_fields) end as fields
    from best b
    cross join lateral (select b.envelope - 'content' as all_fields offset 0) f
  )
  select coalesce(array_agg(row(
    s.packet_id, null, s.packet_type, s.title,
    search.snippet(coalesce(chunk.chunk_text, search.passage(s.content, pattern)), pattern), s.total,
    case when route <> 'newest' then find.confidence(s.relevance, s.word_share, s.path, s.lead::real) end,
    s.fields, s.fields <> s.all_fields, s.scope, s.project_id, s.branch, s.updated_at, route,
    case when request.is_explained then jsonb_build_object(
      'matches', jsonb_build_object('value', s.match, 'weight', weights.match_weight),
      'recency', jsonb_build_object('value', s.recency, 'weight', weights.recency_weight, 'half_life_days', s.half_life_days),
      'proximity', jsonb_build_object('value', s.proximity, 'weight', weights.proximity_weight),
      'citations', jsonb_build_object('value', s.citation_share, 'weight', weights.citation_weight, 'agents', s.agents),
      'confidence', jsonb_build_object('relevance', s.relevance, 'word_share', s.word_share, 'path', s.path, 'lead', s.lead),
      'search', s.explanation) end,
    null
    )::public.found_memory order by s.fits desc, s.total desc, s.score desc, s."timestamp" desc, s.packet_id desc), '{}'),
    bool_or(s.is_answered),
    coalesce(found.left_out, 0) + (select count(*) from judged j where route = 'fast' and not j.fits)
  into answer.hits, is_answered, answer.left_out
  from shown s
  left join public.memory_embeddings chunk on s.chunk_index > 0 and chunk.packet_id = s.packet_id
    and chunk.model = request.model and chunk.embedding_type = 'content' and chunk.chunk_index = s.chunk_index;
  answer.nearest := '{}';
  if not is_answered then
    answer.nearest := answer.hits[:search.max_nearest()];
    answer.hits := '{}';
  end if;
  return answer;
end $$;

create or replace function search.narrow_search(request search.search_request) returns search.search_request
language plpgsql stable set search_path = '' as $$
declare
  max_few constant integer := search.max_scored_rows();
  max_scored constant integer := case when request.joins_packets then max_few else search.max_unfiltered_rows() end;
  max_contexts constant integer := least(max_few / 2, max_scored);
  -- Several times as many as are scored one by one, because the counts can be old.
  many constant integer := 10 * search.max_unfiltered_rows();
begin
  if request.k is null then
    return request;
  end if;
  request.weighed := null;
  if request.query is not null and request.mode in ('hybrid', 'lexical') and not request.joins_packets and request.branch is null
    and request.range_condition = '' and (request.caller).role <> 'l9_platform_admin' then
    request.lexemes := coalesce(request.lexemes, search.query_words(request.query, request.languages));
    if request.lexemes <> '{}' then
      request.weighed := ranking.weigh_words(request.lexemes, request.requested_scopes, request.project_id);
    end if;
  end if;
  if request.filters ? 'where' and request.as_of is null then
    request.ids := search.indexed_matches(request, max_few);
  end if;
  if ((request.weighed).memories >= many) is not true then
    request.ids := coalesce(request.ids, search.few_of(
      request, 'packet_store', max_scored, case when request.joins_packets then search.max_scanned_rows() else max_scored end));
  end if;
  if request.ids is null and request.filters ? 'where' then
    -- No ranked index knows fields: a scan of one for a rare value would look at every memory.
    request.ids := search.newest_matches(request, max_few);
    if request.ids is not null and not (request.mode = 'recent' and cardinality(request.ids) >= request.k) then
      request.notices := request.notices || search.where_notice();
    end if;
  end if;
  request.context_ids := case
    when greatest((request.settings).lexical_context_weight, (request.settings).semantic_context_weight) = 0 then '{}'
    when request.ids is not null then search.with_contexts(request)
    -- Contexts can be few though the memories are many, and a scan past those of other tenants would be long.
    else search.few_of(request, 'memory_contexts', max_contexts, max_contexts) end;
  request.reasoning_ids := case
    when request.mode in ('hybrid', 'semantic')
      and request.as_of is null then search.few_of(request, 'reasoning_traces', max_few, max_few)
    else '{}' end;
  return request;
end $$;
comment on function search.narrow_search is 'Collects the ids of a few matches, decided by readable rows alone, and weighs the '
  'words where that tells that there are many.';

create or replace function search.find_words(
  request search.search_request, lexemes text[], found_by_meaning uuid[], wants_places boolean default false)
returns search.scored_words
language plpgsql stable set search_path = '' as $$
declare
  uses_contexts constant boolean := request.as_of is null and (request.settings).lexical_context_weight > 0
    and request.context_ids is distinct from '{}';
  weights ranking.word_weights;
  found ranking.scored_memories;
  candidate_ids uuid[];
  successors uuid[];
  answer search.scored_words;
begin
  if request.ids is not null and request.as_of is null then
    return search.score_words(request, lexemes, request.ids, case when uses_contexts then request.context_ids end,
      wants_places => wants_places);
  end if;
  weights := case when (request.weighed).weights is null
    then ranking.weigh_words(lexemes, request.requested_scopes, request.project_id) else request.weighed end;
  if request.ids is not null then
    -- Texts that changed since are not among ids, but must be weighed by the same weights.
    candidate_ids := request.ids;
  else
    found := ranking.find_by_words(
      lexemes, weights.weights, request.word_filter, request.candidates, weights.average_length);
    candidate_ids := found.ids;
    if request.joins_packets then
      -- The filter need not state every condition of the search.
      candidate_ids := search.matching(request, candidate_ids);
    end if;
  end if;
  if request.ids is null and not (request.joins_packets or uses_contexts or wants_places) and found_by_meaning is null then
    -- The index's own reading of these texts is enough.
    answer.words := (
      select row(array_agg(f.id order by f.score desc, f.id desc), array_agg(f.score::real order by f.score desc, f.id desc),
        null)::search.ranked_memories
      from unnest(found.ids, found.length_scores) as f (id, score));
    answer.weights := weights.weights;
    answer.average_length := weights.average_length;
    return answer;
  end if;
  if uses_contexts then
    successors := search.successors(request, candidate_ids[:(search.as_context_search(request)).candidates]);
    if request.hides_archived and not request.joins_packets then
      successors := search.not_archived(successors);
    end if;
  end if;
  if request.ids is null then
    -- What is found by its meaning is scored by its words too, so that every candidate is scored by the same sum.
    candidate_ids := candidate_ids || array(
      -- Hashed, as in search.first_candidates().
      select distinct f.id from unnest(found_by_meaning) as f (id)
      where f.id not in (select c.id from unnest(candidate_ids) as c (id)));
  end if;
  answer := search.score_words(request, lexemes, candidate_ids, case when uses_contexts then candidate_ids || successors end,
    weights, wants_places);
  answer.weights := weights.weights;
  answer.average_length := weights.average_length;
  return answer;
end $$;
comment on function search.find_words(search.search_request, text[], uuid[], boolean)
  is 'Retriever over the words of memories, alone and together with their predecessors in '
  'the thread. If few memories match, all are scored; otherwise the candidates of the index are, the memories that follow the '
  'best of them, and those that were found by meaning. Long memories are scored as a whole: BM25 weights a word by the length of '
  'its text.';

create or replace function find.best_by_words(request search.search_request) returns find.candidates
language plpgsql stable set search_path = '' as $$
declare
  scored search.scored_words;
  answer find.candidates;
begin
  request.lexemes := search.query_words(request.query, request.languages);
  request := search.narrow_search(request);
  scored := search.find_words(request, request.lexemes, null);
  request.word_weights := scored.weights;
  answer.ids := (scored.words).ids[:request.k];
  answer.scores := array(
    select s.score / (scored.words).scores[1] from unnest((scored.words).scores[:request.k]) with ordinality as s (score, place)
    order by s.place);
  answer.considered := coalesce(cardinality((scored.words).ids), 0);
  answer.request := request;
  return answer;
end $$;

create or replace function find.matches_elsewhere(request search.search_request, max_matches integer) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare
  tests tsquery[];
  scored search.scored_words;
begin
  request.k := max_matches;
  if request.query is null then
    return (search.find_recent(request)).ids;
  end if;
  request.settings.lexical_context_weight := 0;
  request.candidates := request.k;
  request.lexemes := search.query_words(request.query, request.languages);
  request := search.narrow_search(request);
  tests := search.word_tests(request.lexemes, request.query, request.languages);
  scored := search.find_words(request, request.lexemes, null);
  return array(
    select p.packet_id from public.packet_store p
    where p.packet_id = any ((scored.words).ids[:request.k])
      and search.word_share(p.words, tests, scored.weights) >= request.min_relevance);
end $$;
grant execute on function search.settings_of, find.settings_of to l9_agent, l9_admin, l9_platform_admin;
grant execute on function search.find_words(search.search_request, text[], uuid[], boolean)
  to l9_agent, l9_admin, l9_platform_admin;
drop function audit.add_audit_row(uuid, text, text, uuid, text, text, jsonb, text);
drop function audit.keep_query_text(uuid, text, text);
drop function search.current_search_settings();
drop function find.current_settings();
drop function search.find_words(search.search_request, text[], uuid[], ranking.word_weights, boolean);
