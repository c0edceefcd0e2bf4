--! Previous: sha1:09dde1b5e92d256e47df53d3e35bc5de8fc218d1
--! Hash: sha1:7eb1a21e57f5fd1c59e085940841d1ea9575c1f2
--! Message: reads of one memory take less of the database

--! split: 1-current.sql
-- Reads of one memory, and the audit rows of reads, take less of the database's time.

create or replace function audit.names_of(me identity.identity) returns jsonb language sql stable parallel safe set search_path = ''
return pg_catalog.jsonb_build_object(
    'caller', coalesce((me).caller, 'db:' || identity.current_role_name()),
    -- Rows that a job derives are written as its own.
    'creator', coalesce((me).creator, case when identity.current_role_name() = 'l9_worker' then 'job' end),
    'source', coalesce((me).source, case when identity.current_role_name() = 'l9_worker' then 'l9-memory' end))
  || case when coalesce((me).org_id, (me).user_id) is null then '{}' else
    pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('org_id', (me).org_id, 'user_id', (me).user_id)) end;
comment on function audit.names_of is 'The caller as details of audit rows name it: its names, org and user.';

create or replace function audit.call_named() returns jsonb language sql stable parallel safe
return pg_catalog.jsonb_build_object('tool_name', audit.current_tool()) || audit.reference(
  nullif(pg_catalog.current_setting('jwt.claims.correlation_id', true), ''),
  nullif(pg_catalog.current_setting('jwt.claims.session_id', true), ''),
  nullif(pg_catalog.current_setting('jwt.claims.trace_id', true), ''));
comment on function audit.call_named is 'The call as the caller names it: its tool and references, which may hold a secret.';

create or replace function audit.actor_of(me identity.identity) returns jsonb language sql stable parallel safe set search_path = ''
return audit.names_of(me) || audit.as_kept(audit.call_named(), (me).tenant_id);

create or replace function audit.add_audit_row(
  audit_id uuid, operation text, table_name text, row_id uuid, project_id text, scope text, details jsonb, sqlstate text)
returns void
language plpgsql volatile set search_path = '' as $$
declare
  me identity.identity;
  kept jsonb;
begin
  if audit.is_on_replica() then
    perform audit.hand_over('audit_row', jsonb_build_object('audit_id', add_audit_row.audit_id,
      'operation', add_audit_row.operation, 'table_name', add_audit_row.table_name, 'row_id', add_audit_row.row_id,
      'project_id', add_audit_row.project_id, 'scope', add_audit_row.scope, 'details', add_audit_row.details));
    return;
  end if;
  me := identity.current_identity();
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

create or replace function audit.audit_refusal(operation text, row_id uuid, project_id text, scope text, sqlstate text, details jsonb)
returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  perform identity.require_identity();
  if sqlstate !~ '^[0-9A-Z]{5}$' then
    perform identity.raise_error('L9VAL', 'sqlstate: must be five capital letters or digits');
  end if;
  perform audit.write_audit(
    operation, 'packet_store', row_id, audit_refusal.project_id, audit_refusal.scope,
    case when octet_length(details::text) <= 4096
      then (secrets.redact_document(details - '{org_id,user_id,correlation_id,session_id,trace_id}'::text[], false)).document
      else '{"cut": true}' end,
    sqlstate);
end $$;

create or replace function audit.audit_graphql_read(
  operation_name text, tables jsonb, totals jsonb, ids jsonb, project_id text default null, scope text default null) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  perform identity.require_identity();
  if jsonb_typeof(tables) <> 'object' or jsonb_typeof(totals) <> 'object' or jsonb_typeof(ids) <> 'array'
    or octet_length(tables::text) + octet_length(totals::text) > 8192 or jsonb_array_length(ids) > 100000
    or jsonb_path_exists(jsonb_build_array(tables, totals), '$[*].* ? (@.type() != "number")') then
    perform identity.raise_error('L9VAL',
      'tables, totals: must be objects of numbers, of at most 8192 bytes; ids: must be a list of at most 100000', 'tables');
  end if;
  perform audit.write_audit(
    'READ',
    case when tables ? 'packet_store' then 'packet_store'
      else coalesce(
        left(secrets.for_audit((select min(t.name) from jsonb_object_keys(tables) as t (name))), 63), 'packet_store') end,
    case when jsonb_array_length(ids) = 1 then identity.uuid_of(ids ->> 0) end,
    audit_graphql_read.project_id, audit_graphql_read.scope,
    jsonb_build_object('operation_name', left(operation_name, 200), 'tables', tables)
      || case when totals <> '{}' then jsonb_build_object('totals', totals) else '{}' end
      -- Rows of a tenant's settings are identified by names.
      || jsonb_build_object('ids', (
        select coalesce(jsonb_agg(
          case when pg_input_is_valid(i.id, 'uuid') then i.id else left(secrets.for_audit(i.id), 200) end), '[]')
        from jsonb_array_elements_text(ids) as i (id))));
end $$;

create or replace function importance.log_accesses(
  access_context text, target_ids uuid[], scopes text[], project_ids text[], relevance_scores real[] default null,
  audit_id uuid default null, target_type text default 'memory') returns uuid[]
language plpgsql volatile security definer set search_path = '' as $$
declare
  access_ids uuid[];
begin
  if cardinality(target_ids) > 100 or cardinality(scopes) <> cardinality(target_ids) then
    perform identity.raise_error('L9LIM', 'target_ids: at most 100, each with its scope');
  end if;
  access_ids := array(select uuidv7() from unnest(target_ids));
  perform importance.insert_accesses(access_ids, access_context, target_ids, scopes, project_ids, relevance_scores, audit_id,
    target_type);
  return access_ids;
end $$;

create or replace function standing.successors_by_facts(packet_ids uuid[], as_of timestamptz) returns setof standing.succession
language sql stable set search_path = '' set enable_seqscan = off
begin atomic
  with stated as materialized (
    -- A memory that states a value again after another one stands by the last.
    select distinct on (
        e.packet_id, f.audience_id, f.subject_normalized, f.predicate, case when not f.is_single_valued then f.fact_id end)
      e.packet_id, f.fact_id, f.audience_id, f.subject_normalized, f.predicate, f.valid_from, f.recorded_at, f.superseded_by,
      -- A value that begins to hold later has not superseded this one yet.
      coalesce(
        f.valid_to <= coalesce(as_of, clock_timestamp()) and f.superseded_at <= coalesce(as_of, 'infinity'),
        false) as is_superseded
    from public.fact_evidence e
    join public.knowledge_facts f on f.fact_id = e.fact_id
    where e.packet_id = any (packet_ids) and f.retracted_at is null
    order by e.packet_id, f.audience_id, f.subject_normalized, f.predicate, case when not f.is_single_valued then f.fact_id end,
      f.valid_from desc, f.recorded_at desc, f.fact_id desc
  ), superseded as (
    select s.*, exists (select from stated o where o.packet_id = s.packet_id and not o.is_superseded) as is_partial
    from stated s where s.is_superseded
  )
  select row(s.packet_id, n.packet_id, true, s.is_partial)::standing.succession
  from superseded s
  cross join lateral (select standing.packet_stating(s.superseded_by, s.packet_id) as packet_id offset 0) n
  where n.packet_id is not null
  union all
  -- All later values among these memories, and not only the next.
  select row(s.packet_id, o.packet_id, false, s.is_partial)::standing.succession
  from superseded s
  join stated o on o.audience_id = s.audience_id and o.subject_normalized = s.subject_normalized and o.predicate = s.predicate
    and o.packet_id <> s.packet_id and o.valid_from <= coalesce(as_of, clock_timestamp())
    and (o.valid_from, o.recorded_at, o.fact_id) > (s.valid_from, s.recorded_at, s.fact_id);
end;

create or replace function standing.standing_of(memory public.packet_store) returns public.standing
language sql stable set search_path = ''
return case
  when (memory).envelope ? 'superseded_by'
    or exists (select from public.fact_evidence e where e.packet_id = (memory).packet_id)
  then (select p.standing from standing.place_hits(array[(memory).packet_id]) p)
  else standing.own_standing(memory, identity.current_creator()) end;
comment on function standing.standing_of is 'The standing of one memory.';

create or replace function standing.standing_of_memory(packet_id uuid) returns public.standing
language sql stable set search_path = ''
return (select standing.standing_of(p) from public.packet_store p where p.packet_id = standing_of_memory.packet_id);
comment on function standing.standing_of_memory is 'The standing of the memory with this id; null if the caller can''t read it.';

create or replace function public.packet_store_superseded_by(memory public.packet_store) returns uuid
language sql stable set search_path = '' return (standing.standing_of(memory)).superseded_by;

create or replace function standing.memory_json(memory public.packet_store) returns jsonb language sql stable set search_path = ''
return (
  select memories.memory_json(memory) || jsonb_strip_nulls(jsonb_build_object(
    'text_creator', (s.standing).text_creator, 'superseded_by', (s.standing).superseded_by,
    'is_partly_superseded', (s.standing).is_partly_superseded))
  -- Without the offset it would be found out once for each part of it.
  from (select standing.standing_of(memory) as standing offset 0) s);

create or replace function search.searchable_text(content text) returns text language sql immutable parallel safe set search_path = ''
return pg_catalog.lower(content collate "C") || case when pg_catalog.octet_length(content) > pg_catalog.length(content) then (
  select ' ' || words.fold(c.cleaned) || ' ' || words.fold(c.cleaned, spells_out => true)
  from (select words.cleaned(content) as cleaned offset 0) c) else '' end;

create or replace function search.words_for_vector(query text, project_id text) returns text
language plpgsql stable set search_path = '' as $$
declare
  -- Among a handful of memories any word can be in most of them.
  least_memories constant integer := 20;
  settings public.search_settings := search.current_search_settings();
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
grant execute on function standing.standing_of to l9_agent, l9_admin, l9_platform_admin;
