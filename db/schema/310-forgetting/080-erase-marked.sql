-- Runs the steps of an erasure in order, once its tombstones are written. erase_memory() and erase_subject() call erase_marked().
create type public.erasure as (erasure_id uuid, memories integer, removed jsonb);
call identity.describe('public.erasure', 'The result of an erasure.
  erasure_id: The id that the tombstones and audit rows of this erasure have.
  memories: The number of memories that were erased, including those derived from them.
  removed: The number of rows removed of each sort: memories, versions, vectors, query_texts, feedback …');

create function forgetting.check_erasure_reason(reason text) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if reason is null or identity.is_blank(reason) then
    perform identity.raise_error('L9VAL', 'reason: required, the reason for the erasure; the tombstone keeps it');
  end if;
  perform identity.check_bytes(reason, forgetting.max_reason_bytes(), 'reason');
end $$;
comment on function forgetting.check_erasure_reason is 'Raises L9VAL without a reason, L9LIM if it is longer than 200 bytes.';

-- Refuses as a whole if a derived memory is out of the caller's reach. Then each step returns what it removed, and an
-- audit row for each tombstone ends it.
create function forgetting.erase_marked(
  me identity.identity, erasure_id uuid, reason text, tenant_id uuid default null, user_id uuid default null)
returns public.erasure
language plpgsql volatile set search_path = '' as $$
declare
  result public.erasure;
begin
  perform forgetting.mark_derived(erase_marked.erasure_id, erase_marked.reason);
  -- Erase everything or nothing: a derived memory outside the claims of this token would otherwise stay behind, unseen.
  if exists (
    select from public.memory_tombstones t
    where t.erasure_id = erase_marked.erasure_id and not forgetting.may_erase(me, t.scope, t.project_id)
  ) then
    perform identity.raise_error('L9SCP',
      'a summary, fact or lesson that rests only on the erased memories is outside the scopes or projects of this token');
  end if;

  -- One line for each place that holds contents. Functions that read the memories run before the memories are deleted.
  result.removed := forgetting.erase_query_texts(erase_marked.erasure_id, erase_marked.tenant_id, erase_marked.user_id);
  result.removed := result.removed || forgetting.erase_feedback(erase_marked.erasure_id, erase_marked.tenant_id,
    erase_marked.user_id);
  result.removed := result.removed || forgetting.erase_packets(erase_marked.erasure_id);
  if user_id is not null then
    result.removed := result.removed || forgetting.erase_user(erase_marked.tenant_id, erase_marked.user_id);
  end if;

  -- The index of words still holds the words of what was deleted.
  perform forgetting.request_rebuild(array(
    select distinct t.tenant_id from public.memory_tombstones t where t.erasure_id = erase_marked.erasure_id));

  result.erasure_id := erase_marked.erasure_id;
  result.memories := result.removed ->> 'memories';
  perform audit.write_audit_of_tenant(t.tenant_id, 'ERASE', 'packet_store', t.packet_id, t.project_id, t.scope,
    jsonb_build_object('erasure_id', t.erasure_id, 'kind', t.packet_type, 'was_created_by', t.creator))
  from public.memory_tombstones t where t.erasure_id = erase_marked.erasure_id order by t.packet_id;
  return result;
end $$;
comment on function forgetting.erase_marked is 'Erases what has a tombstone of this erasure, and what derives from it alone.';
