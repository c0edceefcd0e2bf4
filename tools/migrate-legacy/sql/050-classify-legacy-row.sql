-- Decides for each old row what an import does with it. preview_legacy() shows the answer and import_legacy() carries
-- it out, so that both agree.

-- Sequential scans are off because the plans are cached while the tables are still empty, and the tables then grow.
create function legacy_import.classify_legacy_row(source text, source_table text, tenant_id uuid, records jsonb)
returns table (
  place bigint,
  source_id text,
  reason text,
  packet_id uuid,
  existing_id uuid,
  first_place bigint,
  first_packet_id uuid,
  duplicate_key text,
  packet_type text,
  envelope jsonb,
  provenance jsonb,
  metadata jsonb,
  leftover jsonb,
  tags text[],
  ttl timestamptz,
  longest_ttl timestamptz,
  importance real,
  highest_importance real,
  scope text,
  project_id text,
  user_id uuid,
  created timestamptz,
  updated timestamptz,
  thread_id text,
  correlation_id text,
  session_id text,
  trace_id text,
  access_count bigint,
  last_accessed timestamptz,
  source_hash bytea,
  content_hash bytea,
  embedding text
)
language sql stable set search_path = '' set enable_seqscan = off set jit = off
as $$
  with input as materialized (
    select e.place, r.*,
      pg_catalog.sha256(pg_catalog.convert_to(r.content, 'UTF8')) as source_hash,
      packets.content_hash(r.content) as content_hash, packets.text_identity(r.content) as text_identity,
      octet_length(r.metadata::text) > packets.max_metadata_bytes() as has_much_metadata
    from jsonb_array_elements(records) with ordinality as e (record, place)
    cross join lateral jsonb_to_record(e.record) as r (
      source_id text, id uuid, content text, hash text, kind text, scope text, project_id text, user_id uuid, tags text[],
      importance real, ttl timestamptz, created timestamptz, updated timestamptz, thread_id text, correlation_id text,
      session_id text, trace_id text, access_count bigint, last_accessed timestamptz, metadata jsonb, legacy jsonb,
      embedding text)
  ), trimmed as (
    select g.*,
      g.legacy || case when g.has_much_metadata then jsonb_build_object('metadata', g.metadata) else '{}' end as all_legacy,
      case when g.has_much_metadata
        then jsonb_build_object(
          'creator', g.metadata -> 'creator', 'source', g.metadata -> 'source', 'agent', g.metadata -> 'agent')
        -- A speaker that is no name is left out, since no memory may have one.
        when jsonb_typeof(g.metadata -> 'speaker') not in ('string', 'null')
          or not packets.is_speaker(regexp_replace(g.metadata ->> 'speaker', '^\s+|\s+$', '', 'g')) then g.metadata - 'speaker'
        else g.metadata
      end as small_metadata
    from input g
  ), sized as (
    select k.*, octet_length(jsonb_build_object('legacy', k.all_legacy)::text) as legacy_bytes,
      -- What else makes a message a duplicate.
      case when k.kind = 'message' then
        jsonb_build_array(
          k.thread_id, extract(epoch from k.created), packets.speaker_of(k.kind, k.small_metadata, k.content)) end as turn
    from trimmed k
  ), used_ids as materialized (
    select p.packet_id from public.packet_store p where p.packet_id = any (array(select g.id from input g))
  ), same_content as materialized (
    -- The hash is the only condition, so that the planner uses its index.
    select p.packet_id, p.identity_hash, p.tenant_id, p.scope, p.project_id, p.branch, p.packet_type, p.org_id, p.user_id,
      case when p.packet_type = 'message'
        then jsonb_build_array(p.thread_id, extract(epoch from p."timestamp"), p.speaker) end as turn
    from public.packet_store p where p.identity_hash = any (array(select g.text_identity from input g))
  ), classified as materialized (
    select s.*, j.reason, a.packet_id as existing_id,
      case
        when s.id is not null and not exists (select from used_ids t where t.packet_id = s.id) then s.id
        else legacy_import.legacy_uuid(classify_legacy_row.source, classify_legacy_row.source_table, s.source_id, s.created)
      end as packet_id
    from sized s
    cross join lateral (
      select case
        when s.content is null or identity.is_blank(s.content) then 'blank'
        when octet_length(s.content) > packets.max_content_bytes() then 'long'
        when s.legacy_bytes > packets.max_envelope_bytes() then 'large'
        when s.hash <> encode(s.source_hash, 'hex') then 'garbled'
      end as reason
    ) j
    left join same_content a
      on j.reason is null
      and a.identity_hash = s.text_identity
      and a.tenant_id = classify_legacy_row.tenant_id
      and a.scope = s.scope
      and a.project_id is not distinct from s.project_id
      and a.branch is null
      and a.packet_type = s.kind
      and a.turn is not distinct from s.turn
      and a.org_id is null
      and a.user_id is not distinct from s.user_id
  )
  select f.place, f.source_id, f.reason, f.packet_id, f.existing_id,
    first_value(f.place) over ordered, first_value(f.packet_id) over ordered,
    encode(pg_catalog.sha256(f.text_identity || pg_catalog.convert_to(
      (jsonb_build_array(f.scope, f.project_id, f.kind, f.user_id) || coalesce(f.turn, '[]'))::text, 'UTF8')), 'base64'),
    f.kind,
    jsonb_build_object('content', f.content)
      || case when f.legacy_bytes > packets.max_metadata_bytes() then jsonb_build_object('legacy', f.all_legacy) else '{}' end,
    jsonb_build_object('legacy', case
      when f.legacy_bytes <= packets.max_metadata_bytes() then f.all_legacy
      else jsonb_build_object('source', f.all_legacy -> 'source', 'table', f.all_legacy -> 'table', 'id', f.all_legacy -> 'id',
        'more', 'envelope.legacy')
    end),
    f.small_metadata,
    f.all_legacy || jsonb_build_object('metadata', f.metadata, 'tags', f.tags),
    f.tags,
    f.ttl, case when count(f.ttl) over duplicates = count(*) over duplicates then max(f.ttl) over duplicates end,
    f.importance, max(f.importance) over duplicates,
    f.scope, f.project_id, f.user_id, f.created, f.updated, f.thread_id, f.correlation_id, f.session_id, f.trace_id,
    f.access_count, f.last_accessed, f.source_hash, f.content_hash, f.embedding
  from classified f
  window
    duplicates as (partition by f.reason, f.text_identity, f.scope, f.project_id, f.kind, f.user_id, f.turn),
    ordered as (duplicates order by f.place)
$$;

comment on function legacy_import.classify_legacy_row is
  'What importing these old rows would do, with a reason for each row that can''t be imported; changes nothing. It '
  'finds no duplicates unless is_legacy_import().';
