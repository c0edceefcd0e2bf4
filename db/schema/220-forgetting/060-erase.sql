create type public.erasure as (
  erasure_id uuid,
  memories integer,
  removed jsonb
);

comment on type public.erasure is 'What was erased.';
comment on column public.erasure.erasure_id is 'As on the tombstones and the audit rows of this erasure.';
comment on column public.erasure.memories is 'How many memories, those that rested on them included.';
comment on column public.erasure.removed is 'How many rows of each sort: memories, versions, vectors, query_texts, feedback …';

create function forgetting.check_erasure_reason(reason text)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if reason is null or reason !~ '\S' then
    perform identity.raise_error('L9VAL', 'reason: why it is erased; it stays on the tombstone', 'reason');
  end if;
  perform identity.check_bytes(reason, 200, 'reason');
end
$$;

comment on function forgetting.check_erasure_reason(text) is 'A reason is required, 200 bytes at most.';

create function forgetting.erase_marked(
  me identity.identity, erasure_id uuid, reason text, tenant_id uuid default null, user_id uuid default null)
returns public.erasure
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  done public.erasure;
begin
  perform forgetting.mark_derived(erase_marked.erasure_id, erase_marked.reason);
  -- All of it or nothing: a copy that this token doesn't reach would be left behind unseen.
  if exists (
    select from public.memory_tombstones t
    where t.erasure_id = erase_marked.erasure_id and not forgetting.may_erase(me, t.scope, t.project_id)
  ) then
    perform identity.raise_error('L9SCP',
      'a summary, fact or lesson that rests on it alone is beyond the scopes or projects of this token, and would be left behind');
  end if;

  -- Each place that holds contents, one line each. What looks at the memories comes before they go.
  done.removed := forgetting.erase_query_texts(erase_marked.erasure_id, erase_marked.tenant_id, erase_marked.user_id);
  done.removed := done.removed || forgetting.erase_feedback(erase_marked.erasure_id, erase_marked.tenant_id, erase_marked.user_id);
  done.removed := done.removed || forgetting.erase_packets(erase_marked.erasure_id);
  if user_id is not null then
    done.removed := done.removed || forgetting.erase_user(erase_marked.tenant_id, erase_marked.user_id);
  end if;

  done.erasure_id := erase_marked.erasure_id;
  done.memories := done.removed ->> 'memories';
  perform audit.write_audit_of_tenant(t.tenant_id, 'ERASE', 'packet_store', t.packet_id, t.project_id, t.scope,
    jsonb_build_object('erasure_id', t.erasure_id, 'kind', t.packet_type, 'was_created_by', t.creator))
  from public.memory_tombstones t
  where t.erasure_id = erase_marked.erasure_id
  order by t.packet_id;
  return done;
end
$$;

comment on function forgetting.erase_marked(identity.identity, uuid, text, uuid, uuid) is
  'Erases what is marked, and what was derived from it alone, everywhere: the one list of places. Not executable by callers.';
