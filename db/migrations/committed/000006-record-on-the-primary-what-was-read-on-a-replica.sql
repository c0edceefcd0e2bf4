--! Previous: sha1:a779ad1beea499d37a45ef6f140975ec60278871
--! Hash: sha1:b5e9541d6783a14183c1b71910bf01f768199066
--! Message: record on the primary what was read on a replica

--! split: 1-current.sql
-- function audit.add_audit_row(uuid,text,text,uuid,text,text,jsonb,text) is another
CREATE OR REPLACE FUNCTION audit.add_audit_row(audit_id uuid, operation text, table_name text, row_id uuid, project_id text, scope text, details jsonb, sqlstate text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if audit.is_on_replica() then
    perform audit.hand_over('audit_row', jsonb_build_object('audit_id', add_audit_row.audit_id,
      'operation', add_audit_row.operation, 'table_name', add_audit_row.table_name, 'row_id', add_audit_row.row_id,
      'project_id', add_audit_row.project_id, 'scope', add_audit_row.scope, 'details', add_audit_row.details));
    return;
  end if;
  insert into public.audit_log (audit_id, operation, table_name, row_id, tenant_id, project_id, scope, status, sqlstate, details)
  select
    add_audit_row.audit_id, add_audit_row.operation, add_audit_row.table_name, add_audit_row.row_id, me.tenant_id,
    -- A call about no single row is about what the caller is limited to.
    coalesce(nullif(kept.named ->> 'project_id', ''), case
      when add_audit_row.row_id is null and cardinality(me.projects) = 1 then nullif(me.projects[1], '*') end),
    coalesce(kept.named ->> 'scope', case
      when add_audit_row.row_id is null and cardinality(me.readable_scopes) = 1 then me.readable_scopes[1] end),
    case when add_audit_row.sqlstate is null then 'success' else 'error' end, add_audit_row.sqlstate,
    coalesce(add_audit_row.details, '{}') || coalesce(kept.named -> 'details', '{}') || audit.actor_of(me)
  from identity.current_identity() as me
  -- What the database says itself, such as ids and the columns that an administrator changed, stays as it is.
  cross join lateral (
    select audit.as_kept(jsonb_build_object('project_id', add_audit_row.project_id, 'scope', add_audit_row.scope,
      'details', add_audit_row.details - '{ids,row,scopes,query_sha256}'::text[]), me.tenant_id) as named) kept;
end $function$
;

-- function audit.check_ids_of_record(uuid[]) is new
CREATE OR REPLACE FUNCTION audit.check_ids_of_record(ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if exists (
    select from unnest(ids) as i (id)
    where (uuid_extract_version(i.id) = 7 and uuid_extract_timestamp(i.id) between clock_timestamp() - audit.max_age_of_record()
      and clock_timestamp() + audit.max_age_of_record()) is not true) then
    perform identity.raise_error('L9VAL', 'record: its ids must be UUIDs version 7 of the last minutes');
  end if;
end $function$
;

-- function audit.hand_over(text,jsonb) is new
CREATE OR REPLACE FUNCTION audit.hand_over(part text, arguments jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  record constant jsonb := nullif(current_setting('l9.record_of_reads', true), '')::jsonb;
begin
  if record is null or session_user <> 'l9_gateway' or identity.current_role_name() = 'l9_platform_admin' then
    raise exception using errcode = 'read_only_sql_transaction',
      message = 'this read must be recorded, which a replica can''t do: read on the primary';
  end if;
  perform set_config('l9.record_of_reads', (record || jsonb_build_array(jsonb_build_object(part, arguments)))::text, true);
end $function$
;

-- function audit.is_on_replica() is new
CREATE OR REPLACE FUNCTION audit.is_on_replica()
 RETURNS boolean
 LANGUAGE sql
 PARALLEL SAFE
RETURN pg_is_in_recovery()
;

-- function audit.keep_query_text(uuid,text,text) is another
CREATE OR REPLACE FUNCTION audit.keep_query_text(audit_id uuid, scope text, query text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if audit.is_on_replica() then
    perform audit.hand_over('query_text', jsonb_build_object('audit_id', keep_query_text.audit_id,
      'scope', keep_query_text.scope, 'query', keep_query_text.query));
    return;
  end if;
  insert into public.audit_query_texts (audit_id, tenant_id, scope, query, user_id)
  select keep_query_text.audit_id, t.tenant_id, keep_query_text.scope, keep_query_text.query, identity.current_user_id()
  from public.tenants t
  where t.tenant_id = identity.current_tenant_id() and t.audits_query_text;
end $function$
;

-- function audit.max_age_of_record() is new
CREATE OR REPLACE FUNCTION audit.max_age_of_record()
 RETURNS interval
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN '00:10:00'::interval
;

-- function audit.record_of_reads() is new
CREATE OR REPLACE FUNCTION audit.record_of_reads()
 RETURNS jsonb
 LANGUAGE sql
 STABLE
 SET search_path TO ''
RETURN (NULLIF(NULLIF(current_setting('l9.record_of_reads'::text, true), ''::text), '[]'::text))::jsonb
;

-- function audit.store_part(text,jsonb) is new
CREATE OR REPLACE FUNCTION audit.store_part(part text, arguments jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
    perform audit.add_audit_row(id, arguments ->> 'operation', left(arguments ->> 'table_name', 63),
      (arguments ->> 'row_id')::uuid, left(arguments ->> 'project_id', 200), left(arguments ->> 'scope', 63),
      details - '{org_id,user_id,correlation_id,session_id,trace_id}'::text[], null);
  when 'query_text' then
    perform audit.check_ids_of_record(array[id]);
    if octet_length(arguments ->> 'query') > 32768 then
      perform identity.raise_error('L9LIM', 'record: query at most 32768 bytes');
    end if;
    perform audit.keep_query_text(id, left(arguments ->> 'scope', 63), arguments ->> 'query');
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
end $function$
;

-- function audit.store_record(jsonb) is new
CREATE OR REPLACE FUNCTION audit.store_record(record jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  part record;
begin
  perform identity.require_identity();
  if jsonb_typeof(record) is distinct from 'array' or jsonb_array_length(record) = 0 then
    perform identity.raise_error('L9VAL', 'record: must be what record_of_reads() returned');
  end if;
  for part in
    select k.key, k.value from jsonb_array_elements(record) with ordinality as e (entry, place)
    cross join lateral jsonb_each(case jsonb_typeof(e.entry) when 'object' then e.entry else '{"": null}' end) as k
    order by e.place
  loop
    if part.key = 'query_text' and not record @> jsonb_build_array(
      jsonb_build_object('audit_row', jsonb_build_object('audit_id', part.value -> 'audit_id'))) then
      perform identity.raise_error('L9VAL', 'record: a query must come with the audit row of its search');
    end if;
    perform audit.store_part(part.key, part.value);
  end loop;
end $function$
;

-- function importance.insert_accesses(uuid[],text,uuid[],text[],text[],real[],uuid,text) is new
CREATE OR REPLACE FUNCTION importance.insert_accesses(access_ids uuid[], access_context text, target_ids uuid[], scopes text[], project_ids text[], relevance_scores real[], audit_id uuid, target_type text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  me constant identity.identity := identity.require_identity();
begin
  if coalesce(cardinality(insert_accesses.target_ids), 0) = 0 then
    return;
  elsif audit.is_on_replica() then
    perform audit.hand_over('accesses', jsonb_build_object('access_ids', insert_accesses.access_ids,
      'access_context', insert_accesses.access_context, 'target_ids', insert_accesses.target_ids,
      'scopes', insert_accesses.scopes, 'project_ids', insert_accesses.project_ids,
      'relevance_scores', insert_accesses.relevance_scores, 'audit_id', insert_accesses.audit_id,
      'target_type', insert_accesses.target_type));
    return;
  end if;
  insert into importance.memory_access_log (
    access_id, accessed_at, target_type, target_id, agent_id, access_context, relevance_score, audit_id,
    tenant_id, org_id, user_id, project_id, scope, is_admin)
  select a.access_id, uuid_extract_timestamp(a.access_id), insert_accesses.target_type, a.target_id, me.caller,
    insert_accesses.access_context, a.score, insert_accesses.audit_id, me.tenant_id, me.org_id, me.user_id, a.project_id,
    a.scope, me.role = 'l9_admin'
  from unnest(insert_accesses.access_ids, insert_accesses.target_ids, insert_accesses.scopes, insert_accesses.project_ids,
      insert_accesses.relevance_scores) as a (access_id, target_id, scope, project_id, score)
  where a.scope = any (me.readable_scopes)
    and identity.has_project(me, a.project_id);
end $function$
;

-- function importance.log_accesses(text,uuid[],text[],text[],real[],uuid,text) is another
CREATE OR REPLACE FUNCTION importance.log_accesses(access_context text, target_ids uuid[], scopes text[], project_ids text[], relevance_scores real[] DEFAULT NULL::real[], audit_id uuid DEFAULT NULL::uuid, target_type text DEFAULT 'memory'::text)
 RETURNS uuid[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  access_ids uuid[];
begin
  perform identity.require_identity();
  if cardinality(target_ids) > 100 or cardinality(scopes) <> cardinality(target_ids) then
    perform identity.raise_error('L9LIM', 'target_ids: at most 100, each with its scope');
  end if;
  access_ids := array(select uuidv7() from unnest(target_ids));
  perform importance.insert_accesses(access_ids, access_context, target_ids, scopes, project_ids, relevance_scores, audit_id,
    target_type);
  return access_ids;
end $function$
;

-- function ranking.read_word_indexes() is new
CREATE OR REPLACE FUNCTION ranking.read_word_indexes()
 RETURNS integer
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'extensions'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
declare
  bucket integer;
begin
  foreach bucket in array packets.tenant_buckets() loop
    execute format($sql$
      select from public.packet_store p where %s
      order by words.index_text(p.words) <@> to_bm25query('canary', %L) limit 1$sql$,
      packets.in_bucket('p', bucket), 'public.packet_store_words_bm25_' || bucket);
  end loop;
  return cardinality(packets.tenant_buckets());
end $function$
;

-- grants on routine audit.check_ids_of_record(uuid[]) to l9_owner is new
revoke all on routine audit.check_ids_of_record(uuid[]) from l9_owner;
grant EXECUTE on routine audit.check_ids_of_record(uuid[]) to l9_owner;

-- grants on routine audit.hand_over(text,jsonb) to l9_owner is new
revoke all on routine audit.hand_over(text,jsonb) from l9_owner;
grant EXECUTE on routine audit.hand_over(text,jsonb) to l9_owner;

-- grants on routine audit.is_on_replica() to l9_owner is new
revoke all on routine audit.is_on_replica() from l9_owner;
grant EXECUTE on routine audit.is_on_replica() to l9_owner;

-- grants on routine audit.max_age_of_record() to l9_owner is new
revoke all on routine audit.max_age_of_record() from l9_owner;
grant EXECUTE on routine audit.max_age_of_record() to l9_owner;

-- grants on routine audit.record_of_reads() to l9_admin is new
revoke all on routine audit.record_of_reads() from l9_admin;
grant EXECUTE on routine audit.record_of_reads() to l9_admin;

-- grants on routine audit.record_of_reads() to l9_agent is new
revoke all on routine audit.record_of_reads() from l9_agent;
grant EXECUTE on routine audit.record_of_reads() to l9_agent;

-- grants on routine audit.record_of_reads() to l9_owner is new
revoke all on routine audit.record_of_reads() from l9_owner;
grant EXECUTE on routine audit.record_of_reads() to l9_owner;

-- grants on routine audit.store_part(text,jsonb) to l9_owner is new
revoke all on routine audit.store_part(text,jsonb) from l9_owner;
grant EXECUTE on routine audit.store_part(text,jsonb) to l9_owner;

-- grants on routine audit.store_record(jsonb) to l9_admin is new
revoke all on routine audit.store_record(jsonb) from l9_admin;
grant EXECUTE on routine audit.store_record(jsonb) to l9_admin;

-- grants on routine audit.store_record(jsonb) to l9_agent is new
revoke all on routine audit.store_record(jsonb) from l9_agent;
grant EXECUTE on routine audit.store_record(jsonb) to l9_agent;

-- grants on routine audit.store_record(jsonb) to l9_owner is new
revoke all on routine audit.store_record(jsonb) from l9_owner;
grant EXECUTE on routine audit.store_record(jsonb) to l9_owner;

-- grants on routine importance.insert_accesses(uuid[],text,uuid[],text[],text[],real[],uuid,text) to l9_owner is new
revoke all on routine importance.insert_accesses(uuid[],text,uuid[],text[],text[],real[],uuid,text) from l9_owner;
grant EXECUTE on routine importance.insert_accesses(uuid[],text,uuid[],text[],text[],real[],uuid,text) to l9_owner;

-- grants on routine ranking.read_word_indexes() to l9_worker is new
revoke all on routine ranking.read_word_indexes() from l9_worker;
grant EXECUTE on routine ranking.read_word_indexes() to l9_worker;

-- owner of routine audit.check_ids_of_record(uuid[]) is new
alter routine audit.check_ids_of_record(uuid[]) owner to l9_owner;

-- owner of routine audit.hand_over(text,jsonb) is new
alter routine audit.hand_over(text,jsonb) owner to l9_owner;

-- owner of routine audit.is_on_replica() is new
alter routine audit.is_on_replica() owner to l9_owner;

-- owner of routine audit.max_age_of_record() is new
alter routine audit.max_age_of_record() owner to l9_owner;

-- owner of routine audit.record_of_reads() is new
alter routine audit.record_of_reads() owner to l9_owner;

-- owner of routine audit.store_part(text,jsonb) is new
alter routine audit.store_part(text,jsonb) owner to l9_owner;

-- owner of routine audit.store_record(jsonb) is new
alter routine audit.store_record(jsonb) owner to l9_owner;

-- owner of routine importance.insert_accesses(uuid[],text,uuid[],text[],text[],real[],uuid,text) is new
alter routine importance.insert_accesses(uuid[],text,uuid[],text[],text[],real[],uuid,text) owner to l9_owner;

-- comment on function audit.add_audit_row(pg_catalog.uuid,pg_catalog.text,pg_catalog.text,pg_catalog.uuid,pg_catalog.text,pg_catalog.text,pg_catalog.jsonb,pg_catalog.text) is another
comment on function audit.add_audit_row(pg_catalog.uuid,pg_catalog.text,pg_catalog.text,pg_catalog.uuid,pg_catalog.text,pg_catalog.text,pg_catalog.jsonb,pg_catalog.text) is 'Inserts an audit row under the given id; on a replica it is handed over instead. Without a row, project and scope are by default the only ones of the caller. Not executable by callers, who can''t insert.';

-- comment on function audit.check_ids_of_record(pg_catalog.uuid[]) is new
comment on function audit.check_ids_of_record(pg_catalog.uuid[]) is 'Raises L9VAL unless each id was made within max_age_of_record().';

-- comment on function audit.hand_over(pg_catalog.text,pg_catalog.jsonb) is new
comment on function audit.hand_over(pg_catalog.text,pg_catalog.jsonb) is 'Adds what a function would write to the record of this transaction. Only the gateway, which begins it with l9.record_of_reads = [], may read on a replica, and not for operators.';

-- comment on function audit.is_on_replica() is new
comment on function audit.is_on_replica() is 'True on a hot standby, where nothing can be written.';

-- comment on function audit.keep_query_text(pg_catalog.uuid,pg_catalog.text,pg_catalog.text) is another
comment on function audit.keep_query_text(pg_catalog.uuid,pg_catalog.text,pg_catalog.text) is 'Stores the text of a search if the caller''s tenant keeps these texts; on a replica the text is handed over instead.';

-- comment on function audit.max_age_of_record() is new
comment on function audit.max_age_of_record() is 'How far the clocks of replica and primary, and the read itself, may be apart.';

-- comment on function audit.record_of_reads() is new
comment on function audit.record_of_reads() is 'What the reads of this transaction on a replica must leave on the primary; null if nothing. store_record() takes it.';

-- comment on function audit.store_part(pg_catalog.text,pg_catalog.jsonb) is new
comment on function audit.store_part(pg_catalog.text,pg_catalog.jsonb) is 'Checks one part of a record, and writes it.';

-- comment on function audit.store_record(pg_catalog.jsonb) is new
comment on function audit.store_record(pg_catalog.jsonb) is 'Writes on the primary what reads on a replica must leave, as record_of_reads() returned it there, with the claims of those reads. A caller can only add rows about itself, as with audit_read(). Errors: L9VAL, L9LIM, L9AUT. Definer: writes audit_log, audit_query_texts and the access log.';

-- comment on function importance.insert_accesses(pg_catalog.uuid[],pg_catalog.text,pg_catalog.uuid[],pg_catalog.text[],pg_catalog.text[],real[],pg_catalog.uuid,pg_catalog.text) is new
comment on function importance.insert_accesses(pg_catalog.uuid[],pg_catalog.text,pg_catalog.uuid[],pg_catalog.text[],pg_catalog.text[],real[],pg_catalog.uuid,pg_catalog.text) is 'Inserts accesses of the caller under the given ids, as far as it may read their scopes and projects; on a replica they are handed over instead. Not executable by callers.';

-- comment on function ranking.read_word_indexes() is new
comment on function ranking.read_word_indexes() is 'Searches each index of words once, and returns how many there are; raises what PostgreSQL does for one that it cannot read. Definer: only l9_searcher may scan these indexes. It tells nothing of a row.';

-- owner of routine ranking.read_word_indexes() is new
grant create on schema ranking to l9_searcher;
alter routine ranking.read_word_indexes() owner to l9_searcher;
revoke create on schema ranking from l9_searcher;
