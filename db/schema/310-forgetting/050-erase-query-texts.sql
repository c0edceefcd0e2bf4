-- The step of an erasure that deletes the texts of searches. erase_marked() calls it before the memories go, because
-- it compares texts with theirs.
create function forgetting.erase_query_texts(erasure_id uuid, tenant_id uuid default null, user_id uuid default null)
returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
  deleted_count integer;
begin
  with marked as (
    select t.packet_id, t.tenant_id from public.memory_tombstones t where t.erasure_id = erase_query_texts.erasure_id
  ), erased_texts as (
    select m.tenant_id, p.content_hash from marked m join public.packet_store p on p.packet_id = m.packet_id
    union
    select m.tenant_id, packets.content_hash(v.content) from marked m join public.packet_versions v on v.packet_id = m.packet_id
  ), matching_searches as (
    select a.audit_id
    from public.audit_log a
    cross join lateral jsonb_array_elements_text(
      case jsonb_typeof(a.details -> 'ids') when 'array' then a.details -> 'ids' else '[]' end) as hit (id)
    join marked m on m.packet_id::text = hit.id and m.tenant_id = a.tenant_id
    where a.operation = 'SEARCH'
      and a.audit_id in (select q.audit_id from public.audit_query_texts q)
    union
    -- The searches of a tenant that moved here are in the log that it brought.
    select a.audit_id
    from transfer.imported_audit_log a
    cross join lateral jsonb_array_elements_text(
      case jsonb_typeof(a.details -> 'ids') when 'array' then a.details -> 'ids' else '[]' end) as hit (id)
    join marked m on m.packet_id::text = hit.id and m.tenant_id = a.tenant_id
    where a.operation = 'SEARCH'
      and a.audit_id in (select q.audit_id from public.audit_query_texts q where q.tenant_id = a.tenant_id)
  )
  delete from public.audit_query_texts q
  where q.audit_id in (select s.audit_id from matching_searches s)
    -- A search for exactly the erased text may have found other memories, or none.
    or (q.tenant_id, packets.content_hash(q.query)) in (select t.tenant_id, t.content_hash from erased_texts t)
    or q.tenant_id = erase_query_texts.tenant_id and q.user_id = erase_query_texts.user_id;
  get diagnostics deleted_count = row_count;
  return jsonb_build_object('query_texts', deleted_count);
end $$;
comment on function forgetting.erase_query_texts is 'Deletes the texts of searches that found an erased memory, or whose text '
  'equals its content or that of one of its versions; for a subject, the texts of all searches of that user. The audit rows '
  'stay.';
