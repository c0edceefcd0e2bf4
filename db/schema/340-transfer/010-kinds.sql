-- The kinds of lines of an export, with their tables and columns. export_memories() and import_memories() go through the list.

create type transfer.kind as (
  place integer, kind text, target text, key text[], left_out text[], condition text, source text, parts text, parts_table text,
  parts_key text[], parts_condition text, is_setting boolean, option text);
call identity.describe('transfer.kind', 'A kind of lines: the rows of one table.
  place: Its place in the file.
  kind: The name that its lines begin with.
  target: Its table, in schema public if it names none.
  key: The columns that name a row, in the order of the file.
  left_out: Columns that stay behind, because the place where the rows arrive sets them. So do tenant_id and generated columns.
  condition: Which rows of the table, named t, are of this kind.
  source: The column that names the memory on which a row rests. Null: it rests on none.
  parts: The key under which a line holds rows of another table, such as the evidence of a fact.
  parts_table: That table.
  parts_key: Its column that names the row, the column of the row that it equals, and the column that orders its rows.
  parts_condition: Which of its rows, named c, are in a line; $as_of stands for the time of the export.
  is_setting: Settings and lists of the tenant, which a new tenant already has some of.
  option: What is exported only if it is asked for: vectors, which jobs make again where they are missing, or audit.');

create function transfer.relation(target text) returns regclass language sql stable parallel safe set search_path = ''
return (
  select c.oid::regclass from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where (n.nspname, c.relname) = (
    case when target like '%.%' then split_part(target, '.', 1) else 'public' end, regexp_replace(target, '^[^.]*\.', '')));
comment on function transfer.relation is 'The table that a kind names; null if there is no such table.';

create function transfer.has_tenant(target text) returns boolean language sql stable parallel safe set search_path = ''
return exists (
  select from pg_catalog.pg_attribute a
  where a.attrelid = transfer.relation(target) and a.attname = 'tenant_id' and not a.attisdropped);
comment on function transfer.has_tenant is 'True if the rows of a table name their tenant. Others belong to a row that does.';

-- A line may refer to those of earlier kinds only. Whatever is not among the columns left out travels.
create function transfer.kinds() returns setof transfer.kind language sql immutable parallel safe set search_path = ''
begin atomic
  select row_number() over ()::integer, k.kind, k.target, k.key::text[], k.left_out::text[], k.condition, k.source, k.parts,
    k.parts_table, k.parts_key::text[], k.parts_condition,
    k.source is null and k.kind not in ('memory', 'task', 'attestation') and k.kind !~ 'audit_(row|seal)$',
    case when k.kind in ('context', 'vector') then 'vectors' when k.kind ~ 'audit_(row|seal)$' then 'audit' end
  from (values
    ('scope', 'scopes', '{scope}', '{created_at}', 'true', null, null, null, null, null),
    ('org', 'orgs', '{org_id}', '{}', 'true', null, null, null, null, null),
    ('user', 'users', '{user_id}', '{}', 'true', null, null, null, null, null),
    -- A login is one of the server, and so is an operator; times of the actors that every tenant begins with are its own.
    ('actor', 'actors', '{caller}', '{login,created_at}', 't.role <> ''l9_platform_admin''', null, null, null, null, null),
    ('memory_kind', 'memory_kinds', '{kind_id}', '{}', 't.tenant_id is not null', null, null, null, null, null),
    ('memory_kind_field', 'memory_kind_fields', '{kind_id,field}', '{}', 't.tenant_id is not null', null, null, null, null, null),
    ('search_settings', 'search_settings', '{tenant_id}', '{}', 'true', null, null, null, null, null),
    ('find_settings', 'find_settings', '{tenant_id}', '{}', 'true', null, null, null, null, null),
    ('extraction_settings', 'extraction_settings', '{tenant_id}', '{}', 'true', null, null, null, null, null),
    ('archive_settings', 'archive_settings', '{tenant_id}', '{}', 'true', null, null, null, null, null),
    ('world_model_settings', 'world_model_settings', '{tenant_id}', '{}', 'true', null, null, null, null, null),
    ('secret_settings', 'secret_settings', '{tenant_id}', '{}', 'true', null, null, null, null, null),
    ('secret_pattern', 'secret_patterns', '{pattern_id}', '{}', 't.tenant_id is not null', null, null, null, null, null),
    ('secret_exception', 'secret_exceptions', '{exception_id}', '{}', 'true', null, null, null, null, null),
    ('review_settings', 'review_settings', '{tenant_id}', '{}', 'true', null, null, null, null, null),
    ('review_rule', 'review_rules', '{rule_id}', '{}', 'true', null, null, null, null, null),
    ('fact_predicate', 'fact_predicates', '{predicate}', '{}', 'true', null, null, null, null, null),
    ('storage_price', 'storage_prices', '{connector,priced_on}', '{}', 'true', null, null, null, null, null),
    ('field_index', 'field_indexes', '{field}', '{}', 'true', null, null, null, null, null),
    -- The hashes and words are made from the text, and the number of chunks from its vectors.
    ('memory', 'packet_store', '{packet_id}', '{content_hash,identity_hash,words,chunk_count}', 't.part_of is null', null,
      null, null, null, null),
    ('section', 'packet_store', '{packet_id}', '{content_hash,identity_hash,words,chunk_count}', 't.part_of is not null',
      'part_of', null, null, null, null),
    ('version', 'packet_versions', '{packet_id,version_id}', '{}', 'true', 'packet_id', null, null, null, null),
    ('signals', 'memory_signals', '{packet_id}', '{}', 'true', 'packet_id', null, null, null, null),
    ('voice', 'importance.memory_voices', '{packet_id,agent}', '{}', 'true', 'packet_id', null, null, null, null),
    ('feedback', 'memory_feedback', '{access_id}', '{xid}', 'true', 'packet_id', null, null, null, null),
    ('event', 'agent_memory_events', '{event_id}', '{}', 'true', 'packet_id', null, null, null, null),
    ('reasoning_trace', 'reasoning_traces', '{trace_id}', '{}', 'true', 'packet_id', null, null, null, null),
    ('alias', 'entity_aliases', '{alias_id}', '{}', 'true', 'source_packet', null, null, null, null),
    -- A fact may name one that comes later as its successor, so successions are lines of their own.
    ('fact', 'knowledge_facts', '{fact_id}', '{audience_id,superseded_by}', 'true', 'source_packet',
      'evidence', 'fact_evidence', '{fact_id,fact_id,evidence_id}',
      'exists (select from public.packet_store p where p.packet_id = c.packet_id and p.created_at <= $as_of)'),
    ('succession', 'knowledge_facts', '{fact_id}', null, 't.superseded_by is not null', 'source_packet', null, null, null, null),
    ('relationship', 'entity_relationships', '{relationship_id}', '{}', 'true', 'source_packet',
      'evidence', 'relationship_evidence', '{relationship_id,relationship_id,evidence_id}',
      'exists (select from public.packet_store p where p.packet_id = c.packet_id and p.created_at <= $as_of)'),
    -- Runs of background jobs are those of one place.
    ('task', 'tasks', '{id}', '{job_id}', 't.caller is not null', null, null, null, null, null),
    ('reflection', 'reflection_store', '{reflection_id}', '{}', 'true', 'source_packet', null, null, null, null),
    ('attestation', 'reflection.attestations', '{reflection_id,agent}', '{}', 'true', null, null, null, null, null),
    ('task_reflection', 'task_reflections', '{task_reflection_id}', '{}', 'true', 'source_packet',
      'lessons', 'task_reflection_lessons', '{task_reflection_id,task_reflection_id,reflection_id}',
      'exists (select from public.reflection_store r where r.reflection_id = c.reflection_id)'),
    ('summary', 'memory_summaries', '{summary_id}', '{}', 'true', 'source_packet',
      'sources', 'memory_summary_sources', '{summary_packet,source_packet,packet_id}',
      'exists (select from public.packet_store p where p.packet_id = c.packet_id and p.created_at <= $as_of)'),
    ('proposal', 'extraction.proposals', '{packet_id}', '{}', 'true', 'packet_id', null, null, null, null),
    ('world_update', 'world_model_updates', '{update_id}', '{}', 'true', 'source_packet', null, null, null, null),
    -- They are made of the updates, but for their ids, versions and times.
    ('world_entity', 'world_model_entities', '{entity_row_id}', '{}', 'true', 'source_packet', null, null, null, null),
    ('world_snapshot', 'world_model_snapshots', '{snapshot_id}', '{}', 'true', 'source_packet', null, null, null, null),
    ('merge', 'review.merges', '{packet_id}', '{}', 'true', 'packet_id', null, null, null, null),
    -- Their ids stay behind, because a job may have made them already when they arrive.
    ('context', 'memory_contexts', '{packet_id}', '{context_id,created_at}', 'true', 'packet_id', null, null, null, null),
    ('vector', 'memory_embeddings', '{packet_id,embedding_type,model,chunk_index}',
      '{embedding_id,compared_vector,context_id,created_at}', 'true', 'packet_id', null, null, null, null),
    -- The stores, the master key and what it made of the document are those of one place. Bytes come by store_archive().
    ('archive', 'session_archives', '{archive_id}', '{connectors,key_id,fingerprint,verified_at,verified_by}', 'true',
      'packet_id', null, null, null, null),
    -- The database's own log is read by audit_page(), and arrives in the tables of imported logs.
    ('audit_row', 'transfer.imported_audit_log', '{chain,audit_id}', '{imported_at}', 'true', null, null, null, null, null),
    ('audit_seal', 'transfer.imported_audit_seals', '{chain,seal_id}', '{imported_at}', 'true', null, null, null, null, null),
    ('imported_audit_row', 'transfer.imported_audit_log', '{chain,audit_id}', '{imported_at}', 'true', null, null, null, null,
      null),
    ('imported_audit_seal', 'transfer.imported_audit_seals', '{chain,seal_id}', '{imported_at}', 'true', null, null, null, null,
      null)
  ) as k (kind, target, key, left_out, condition, source, parts, parts_table, parts_key, parts_condition);
end;
comment on function transfer.kinds is 'The kinds of lines, in the order of the file.';

create function transfer.kind_named(kind text) returns transfer.kind
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  found_one transfer.kind;
begin
  select k.* into found_one from transfer.kinds() k where k.kind = kind_named.kind;
  if not found then
    perform identity.raise_error('L9VAL', 'kind: no kind of lines has this name');
  end if;
  return found_one;
end $$;
comment on function transfer.kind_named is 'The kind of lines with this name. Raises L9VAL for an unknown one.';

create function transfer.columns_of(kind transfer.kind) returns text[] language sql stable parallel safe set search_path = ''
return case when (kind).kind = 'succession' then '{fact_id,superseded_by}' else array(
  select a.attname::text from pg_catalog.pg_attribute a
  where a.attrelid = transfer.relation((kind).target) and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    and a.attname <> 'tenant_id' and a.attname::text <> all ((kind).left_out)
  order by a.attnum) end;
comment on function transfer.columns_of is 'The columns that lines of this kind hold.';

create function transfer.part_columns_of(kind transfer.kind) returns text[] language sql stable parallel safe set search_path = ''
return array(
  select a.attname::text from pg_catalog.pg_attribute a
  where a.attrelid = ('public.' || (kind).parts_table)::regclass and a.attnum > 0 and not a.attisdropped
    and a.attgenerated = '' and a.attname <> 'tenant_id'
  order by a.attnum);
comment on function transfer.part_columns_of is 'The columns of the rows that lines of this kind hold under a key of their own.';
grant execute on function transfer.kinds, transfer.kind_named, transfer.columns_of, transfer.part_columns_of, transfer.relation,
  transfer.has_tenant to l9_agent, l9_admin;
