--! Previous: sha1:1c373b11d60ac2a8c9d4bd9455965709cc809f47
--! Hash: sha1:705e726a754c5326ba34213ae9160184e125224f
--! Message: carry archives and the audit log in exports

--! split: 1-current.sql
-- function archive.keys_in_use() is another
CREATE OR REPLACE FUNCTION archive.keys_in_use(OUT key_id text, OUT archives bigint)
 RETURNS SETOF record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform administration.require_unlimited(null);
  return query select a.key_id, count(*) from public.session_archives a where a.key_id <> '' group by a.key_id order by a.key_id;
end $function$
;

-- function archive.open_session_archive(text,boolean,uuid) is another
CREATE OR REPLACE FUNCTION archive.open_session_archive(pointer text, with_blob boolean DEFAULT false, archive_id uuid DEFAULT NULL::uuid)
 RETURNS archive.opened_session
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  me identity.identity := identity.require_identity();
  opened archive.opened_session;
  found_one public.session_archives;
begin
  select a.* into found_one
  from public.session_archives a
  where a.content_hash = archive.hash_of(open_session_archive.pointer) and (a.ttl is null or a.ttl > now())
    and (open_session_archive.archive_id is null or a.archive_id = open_session_archive.archive_id)
  -- The key was chosen at random, so another archive that names this hash is a copy, and was entered later.
  order by a.stored_at, a.archive_id limit 1;
  if not found then
    perform identity.raise_error('L9OWN', 'pointer: there is no such archive, or it is not yours');
  end if;
  select found_one.archive_id, found_one.tenant_id, found_one.content_hash, found_one.schema_version, found_one.connectors,
    found_one.key_id, (select w.wrapped_key from archive.wrapped_keys w where w.archive_id = found_one.archive_id),
    case when open_session_archive.with_blob and found_one.size <= archive.max_piece_bytes() then (
      select b.blob from public.archive_blobs b where b.archive_id = found_one.archive_id) end,
    found_one.creator, found_one.source
  into opened;
  -- An operator leaves it with the tenant whose archive it is.
  perform audit.write_audit_of_tenant(found_one.tenant_id, 'RETRIEVE', 'session_archives', found_one.archive_id,
    found_one.project_id, found_one.scope, jsonb_build_object('pointer', found_one.pointer));
  return opened;
end $function$
;

-- function transfer.insert_rows(text,text[],boolean,jsonb) is another
CREATE OR REPLACE FUNCTION transfer.insert_rows(target text, columns text[], is_setting boolean, rows jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  names constant text := (select string_agg(quote_ident(c.name), ', ') from unnest(columns) as c (name));
  expressions constant text := (select string_agg('n.' || quote_ident(c.name), ', ') from unnest(columns) as c (name));
  others constant text[] := case target
    when 'packet_store' then array['identity_hash', 'packets.identity_hash(n.packet_type, identity.current_tenant_id(),
      n.envelope, n.packet_id, case when n.has_own_identity then n.metadata ->> ''creator'' end)']
    when 'memory_embeddings' then array['context_id', 'case when n.embedding_type = ''context'' then
      (select c.context_id from public.memory_contexts c where c.packet_id = n.packet_id) end']
    when 'memory_feedback' then array['xid', 'pg_current_xact_id()']
    -- Without a key until store_archive() brings it. No other session is taken for one that nobody can open.
    when 'session_archives' then array['connectors, key_id, fingerprint', '''{postgres}'', '''', sha256(uuid_send(uuidv4()))'] end;
begin
  execute format('insert into public.%I as t (tenant_id, %s%s) select identity.current_tenant_id(), %s%s
      from jsonb_populate_recordset(null::public.%1$I, $1) as n',
    target, names, ', ' || others[1], expressions, ', ' || others[2])
    || case when is_setting then format(' on conflict on constraint %I do update set (%s) = row (%s)
      where t.tenant_id = identity.current_tenant_id()', target || '_pkey', names,
      (select string_agg('excluded.' || quote_ident(c.name), ', ') from unnest(columns) as c (name))) else '' end
  using rows;
end $function$
;

-- function transfer.kinds() is another
CREATE OR REPLACE FUNCTION transfer.kinds()
 RETURNS SETOF transfer.kind
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
BEGIN ATOMIC
 SELECT (row_number() OVER ())::integer AS row_number,
     k.kind,
     k.target,
     (k.key)::text[] AS key,
     (k.left_out)::text[] AS left_out,
     k.condition,
     k.source,
     k.parts,
     k.parts_table,
     (k.parts_key)::text[] AS parts_key,
     k.parts_condition,
     ((k.source IS NULL) AND (k.kind <> ALL (ARRAY['memory'::text, 'task'::text]))),
         CASE
             WHEN (k.kind = ANY (ARRAY['context'::text, 'vector'::text])) THEN 'vectors'::text
             ELSE NULL::text
         END AS "case"
    FROM ( VALUES ('scope'::text,'scopes'::text,'{scope}'::text,'{created_at}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('org'::text,'orgs'::text,'{org_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('user'::text,'users'::text,'{user_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('actor'::text,'actors'::text,'{caller}'::text,'{login,created_at}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('memory_kind'::text,'memory_kinds'::text,'{kind_id}'::text,'{}'::text,'t.tenant_id is not null'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('memory_kind_field'::text,'memory_kind_fields'::text,'{kind_id,field}'::text,'{}'::text,'t.tenant_id is not null'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('search_settings'::text,'search_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('find_settings'::text,'find_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('extraction_settings'::text,'extraction_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('archive_settings'::text,'archive_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('world_model_settings'::text,'world_model_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('secret_settings'::text,'secret_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('secret_pattern'::text,'secret_patterns'::text,'{pattern_id}'::text,'{}'::text,'t.tenant_id is not null'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('secret_exception'::text,'secret_exceptions'::text,'{exception_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('review_settings'::text,'review_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('review_rule'::text,'review_rules'::text,'{rule_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('fact_predicate'::text,'fact_predicates'::text,'{predicate}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('storage_price'::text,'storage_prices'::text,'{connector,priced_on}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('field_index'::text,'field_indexes'::text,'{field}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('memory'::text,'packet_store'::text,'{packet_id}'::text,'{content_hash,identity_hash,words,chunk_count}'::text,'t.part_of is null'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('section'::text,'packet_store'::text,'{packet_id}'::text,'{content_hash,identity_hash,words,chunk_count}'::text,'t.part_of is not null'::text,'part_of'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('version'::text,'packet_versions'::text,'{packet_id,version_id}'::text,'{}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('signals'::text,'memory_signals'::text,'{packet_id}'::text,'{}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('feedback'::text,'memory_feedback'::text,'{access_id}'::text,'{xid}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('event'::text,'agent_memory_events'::text,'{event_id}'::text,'{}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('reasoning_trace'::text,'reasoning_traces'::text,'{trace_id}'::text,'{}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('alias'::text,'entity_aliases'::text,'{alias_id}'::text,'{}'::text,'true'::text,'source_packet'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('fact'::text,'knowledge_facts'::text,'{fact_id}'::text,'{audience_id,superseded_by}'::text,'true'::text,'source_packet'::text,'evidence'::text,'fact_evidence'::text,'{fact_id,fact_id,evidence_id}'::text,'exists (select from public.packet_store p where p.packet_id = c.packet_id and p.created_at <= $as_of)'::text), ('succession'::text,'knowledge_facts'::text,'{fact_id}'::text,NULL::text,'t.superseded_by is not null'::text,'source_packet'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('relationship'::text,'entity_relationships'::text,'{relationship_id}'::text,'{}'::text,'true'::text,'source_packet'::text,'evidence'::text,'relationship_evidence'::text,'{relationship_id,relationship_id,evidence_id}'::text,'exists (select from public.packet_store p where p.packet_id = c.packet_id and p.created_at <= $as_of)'::text), ('task'::text,'tasks'::text,'{id}'::text,'{job_id}'::text,'t.caller is not null'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('reflection'::text,'reflection_store'::text,'{reflection_id}'::text,'{}'::text,'true'::text,'source_packet'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('task_reflection'::text,'task_reflections'::text,'{task_reflection_id}'::text,'{}'::text,'true'::text,'source_packet'::text,'lessons'::text,'task_reflection_lessons'::text,'{task_reflection_id,task_reflection_id,reflection_id}'::text,'exists (select from public.reflection_store r where r.reflection_id = c.reflection_id)'::text), ('summary'::text,'memory_summaries'::text,'{summary_id}'::text,'{}'::text,'true'::text,'source_packet'::text,'sources'::text,'memory_summary_sources'::text,'{summary_packet,source_packet,packet_id}'::text,'exists (select from public.packet_store p where p.packet_id = c.packet_id and p.created_at <= $as_of)'::text), ('context'::text,'memory_contexts'::text,'{packet_id}'::text,'{context_id,created_at}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('vector'::text,'memory_embeddings'::text,'{packet_id,embedding_type,model,chunk_index}'::text,'{embedding_id,compared_vector,context_id,created_at}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('archive'::text,'session_archives'::text,'{archive_id}'::text,'{connectors,key_id,fingerprint,verified_at,verified_by}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text)) k(kind, target, key, left_out, condition, source, parts, parts_table, parts_key, parts_condition);
END
;

-- function transfer.store_archive(uuid,bytea,text,bytea,bytea) is new
CREATE OR REPLACE FUNCTION transfer.store_archive(archive_id uuid, blob bytea, key_id text DEFAULT NULL::text, wrapped_key bytea DEFAULT NULL::bytea, fingerprint bytea DEFAULT NULL::bytea)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  admin constant administration.administrator := transfer.require_importer();
  taken public.session_archives;
  has_bytes boolean;
  has_key boolean;
begin
  select a.* into taken from public.session_archives a
  where a.archive_id = store_archive.archive_id and a.tenant_id = admin.target_tenant_id for update;
  if not found then
    return 'left_out';
  elsif taken.content_hash is distinct from sha256(store_archive.blob) then
    perform identity.raise_error('L9VAL', 'bytes: are not those that were archived');
  elsif store_archive.wrapped_key is not null and (octet_length(store_archive.wrapped_key) <> 60
    or (store_archive.key_id ~ '^[A-Za-z0-9._-]{1,64}$') is not true
    or octet_length(store_archive.fingerprint) is distinct from 32) then
    perform identity.raise_error('L9VAL', 'key: must be 32 bytes');
  end if;
  -- An archive that was moved to other stores since has its bytes there.
  has_bytes := 'postgres' <> all (taken.connectors)
    or exists (select from public.archive_blobs b where b.archive_id = taken.archive_id);
  has_key := store_archive.wrapped_key is null
    or exists (select from archive.wrapped_keys w where w.archive_id = taken.archive_id);
  if has_bytes and has_key then
    return 'present';
  end if;
  if not has_bytes then
    insert into public.archive_blobs (archive_id, content_hash, blob)
    values (taken.archive_id, taken.content_hash, store_archive.blob);
  end if;
  if not has_key then
    insert into archive.wrapped_keys (archive_id, wrapped_key) values (taken.archive_id, store_archive.wrapped_key);
    update public.session_archives a set key_id = store_archive.key_id,
      -- The same session may have been archived here before.
      fingerprint = case when exists (
        select from public.session_archives o
        where o.fingerprint = store_archive.fingerprint and o.tenant_id = a.tenant_id and o.scope = a.scope
          and o.creator = a.creator and (o.org_id, o.user_id, o.project_id) is not distinct from (a.org_id, a.user_id, a.project_id))
        then a.fingerprint else store_archive.fingerprint end
    where a.archive_id = taken.archive_id;
  end if;
  perform audit.write_audit('IMPORT', 'session_archives', taken.archive_id, taken.project_id, taken.scope,
    jsonb_build_object('kind', 'archive_bytes', 'with_key', not has_key));
  return 'stored';
end $function$
;

-- grants on routine transfer.store_archive(uuid,bytea,text,bytea,bytea) to l9_admin is new
revoke all on routine transfer.store_archive(uuid,bytea,text,bytea,bytea) from l9_admin;
grant EXECUTE on routine transfer.store_archive(uuid,bytea,text,bytea,bytea) to l9_admin;

-- grants on routine transfer.store_archive(uuid,bytea,text,bytea,bytea) to l9_owner is new
revoke all on routine transfer.store_archive(uuid,bytea,text,bytea,bytea) from l9_owner;
grant EXECUTE on routine transfer.store_archive(uuid,bytea,text,bytea,bytea) to l9_owner;

-- owner of routine transfer.store_archive(uuid,bytea,text,bytea,bytea) is new
alter routine transfer.store_archive(uuid,bytea,text,bytea,bytea) owner to l9_owner;

-- comment on column public.session_archives.key_id is another
comment on column public.session_archives.key_id is 'The master key that wraps the key of this archive. Empty: it was imported without its key, and nobody can open it.';

-- comment on function archive.open_session_archive(pg_catalog.text,boolean,pg_catalog.uuid) is another
comment on function archive.open_session_archive(pg_catalog.text,boolean,pg_catalog.uuid) is 'Hands out the wrapped key (null: it was imported without it) of an archive that the caller may read (archive_id: of this one with the pointer; else the first that was entered) and, if with_blob, the bytes that the database has of it, if they are one piece; and leaves an audit row (RETRIEVE). Raises L9OWN if there is none or it is not the caller''s. Definer: callers have no access to keys and bytes.';

-- comment on function transfer.store_archive(pg_catalog.uuid,pg_catalog.bytea,pg_catalog.text,pg_catalog.bytea,pg_catalog.bytea) is new
comment on function transfer.store_archive(pg_catalog.uuid,pg_catalog.bytea,pg_catalog.text,pg_catalog.bytea,pg_catalog.bytea) is 'Stores the encrypted bytes of an imported archive in the database, and its wrapped key if one is given: stored, present (nothing was missing), or left_out (the archive is not here). Raises L9VAL for other bytes. Definer: callers have no access to bytes and keys.';
