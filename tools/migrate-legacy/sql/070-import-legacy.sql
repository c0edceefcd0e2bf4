-- Imports old memories, with one statement for each batch. l9-memory migrate-legacy calls import_legacy() until no
-- rows are left.

-- Other writers of memories wait until the transaction ends, so that the triggers are off for this import alone. Where one
-- of them takes long, this fails within a second and is called again, because writers also wait behind one that waits.
create function legacy_import.import_legacy(
  source text, source_table text, tenant_id uuid, records jsonb, model text, dimensions integer, is_present_model boolean)
returns setof legacy_import.legacy_outcome
language plpgsql volatile set search_path = '' set enable_seqscan = off set jit = off set lock_timeout = '1s'
as $$
declare
  skipped constant text[] := legacy_import.skipped_triggers();
  own_test constant text := secrets.own_test(import_legacy.tenant_id);
  outcomes legacy_import.legacy_outcome[];
  retagged uuid[];
begin
  perform legacy_import.require_legacy_import();
  perform legacy_import.check_writer_and_scope(import_legacy.tenant_id, r.metadata, r.scope, r.project_id)
  from jsonb_to_recordset(records) as r (metadata jsonb, scope text, project_id text);
  execute 'alter table public.packet_store disable trigger ' || array_to_string(skipped, ', disable trigger ');
  with classified as materialized (
    select j.*,
      case when j.embedding is not null
        then rtrim(j.embedding, ']') || repeat(',0', 1536 - import_legacy.dimensions) || ']' end as padded
    from legacy_import.classify_legacy_row(import_legacy.source, import_legacy.source_table, import_legacy.tenant_id, records) j
  ), all_tags as (
    select t.first_place, array_agg(t.tag order by t.tag_place) as tags
    from (
      select j.first_place, btrim(tag.tag) as tag, min(j.place * 1000 + tag.place) as tag_place
      from classified j, unnest(j.tags) with ordinality as tag (tag, place)
      where j.reason is null and btrim(tag.tag) <> ''
      group by 1, 2
    ) t
    group by t.first_place
  ), inserted as (
    insert into public.packet_store (
      packet_id, packet_type, envelope, provenance, metadata, thread_id, tags, ttl, project_id, scope, importance_score,
      access_count, last_accessed, tenant_id, user_id, correlation_id, session_id, trace_id, "timestamp", created_at, updated_at)
    select j.packet_id, j.packet_type, j.envelope, j.provenance, j.metadata, j.thread_id,
      coalesce(t.tags[:packets.max_tags()], '{}'), j.longest_ttl, j.project_id, j.scope, j.highest_importance,
      coalesce(j.access_count, 0), j.last_accessed,
      import_legacy.tenant_id, j.user_id, j.correlation_id, j.session_id, j.trace_id,
      coalesce(j.created, now()), coalesce(j.created, now()), coalesce(j.updated, j.created, now())
    from classified j
    left join all_tags t on t.first_place = j.place
    where j.reason is null and j.existing_id is null and j.first_place = j.place
    order by j.place
    on conflict do nothing
    returning packet_store.packet_id
  ), improved as (
    update public.packet_store p set
      ttl = case when p.ttl is null or j.longest_ttl is null then null else greatest(p.ttl, j.longest_ttl) end,
      importance_score = greatest(p.importance_score, j.highest_importance),
      tags = (p.tags || array(select tag from unnest(t.tags) as tag where tag <> all (p.tags)))[:packets.max_tags()],
      updated_at = clock_timestamp()
    from classified j
    left join all_tags t on t.first_place = j.place
    where p.packet_id = j.existing_id and j.first_place = j.place
      and (p.ttl < j.longest_ttl or (p.ttl is not null and j.longest_ttl is null)
        or p.importance_score < j.highest_importance
        or (cardinality(p.tags) < packets.max_tags() and not coalesce(t.tags, '{}') <@ p.tags))
    returning p.packet_id, old.tags <> new.tags as has_new_tags
  ), results as (
    select j.*, coalesce(j.existing_id, i.packet_id) as new_id,
      case
        when j.reason is not null then j.reason
        when coalesce(j.existing_id, i.packet_id) is null then 'again'
        when j.existing_id is not null or j.first_place < j.place then 'merged'
        else 'moved'
      end as outcome
    from classified j
    left join inserted i on i.packet_id = j.first_packet_id and j.reason is null
  ), recorded as (
    insert into legacy.legacy_ids (source, source_table, source_id, new_id, outcome, source_hash, content_hash, leftover)
    select import_legacy.source, import_legacy.source_table, l.source_id, l.new_id, l.outcome, l.source_hash, l.content_hash,
      case when l.outcome = 'merged' then l.leftover end
    from results l
    where l.outcome in ('moved', 'merged')
  ), embedded as (
    insert into public.memory_embeddings (
      packet_id, embedding_type, model, vector, tenant_id, user_id, project_id, scope, ttl, correlation_id, session_id, trace_id)
    select v.new_id, 'content', import_legacy.model, extensions.l2_normalize(v.vector), import_legacy.tenant_id, v.user_id,
      v.project_id, v.scope, v.longest_ttl, v.correlation_id, v.session_id, v.trace_id
    from (
      select l.*,
        case when pg_input_is_valid(l.padded, 'extensions.vector(1536)') then l.padded::extensions.vector(1536) end as vector
      from results l
      where l.outcome = 'moved' and l.padded is not null
    ) v
    where extensions.vector_norm(v.vector) > 0
    returning memory_embeddings.packet_id
  )
  select
    array_agg(row(l.source_id, l.outcome, l.new_id, l.duplicate_key, e.packet_id is not null)::legacy_import.legacy_outcome
      order by l.place),
    array(select i.packet_id from improved i where i.has_new_tags)
  into outcomes, retagged
  from results l
  left join embedded e on e.packet_id = l.new_id and l.outcome = 'moved';
  execute 'alter table public.packet_store enable trigger ' || array_to_string(skipped, ', enable trigger ');

  perform legacy_import.audit_secrets(f.fields, import_legacy.tenant_id, f.operation)
  from (
    select 'INSERT' as operation, jsonb_build_object('envelope', p.envelope, 'provenance', p.provenance, 'metadata', p.metadata,
        'tags', p.tags, 'project_id', p.project_id, 'thread_id', p.thread_id, 'correlation_id', p.correlation_id,
        'session_id', p.session_id, 'trace_id', p.trace_id) as fields
    from unnest(outcomes) o join public.packet_store p on p.packet_id = o.packet_id
    where o.outcome = 'moved'
    union all
    select 'UPDATE', jsonb_build_object('tags', p.tags) from public.packet_store p where p.packet_id = any (retagged)
  ) f
  where secrets.needs_look(f.fields::text, own_test, false);

  -- A memory whose vector was imported needs no embedding, unless its text is long and its chunks still do.
  if is_present_model then
    delete from embeddings.pending_embeddings q
    using unnest(outcomes) o, public.packet_store p
    where o.has_vector and q.packet_id = o.packet_id and q.model = import_legacy.model and p.packet_id = o.packet_id
      and octet_length(p.envelope ->> 'content') <= 1000;
  end if;
  return query select o.* from unnest(outcomes) o;
end
$$;

comment on function legacy_import.import_legacy is
  'Imports old rows into packet_store and their vectors into memory_embeddings, and records what became of each, in '
  'one transaction. It works only if is_legacy_import(): even with a grant, no other role could insert through it.';
