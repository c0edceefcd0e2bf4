create function public.save_memory(
  content text,
  scope text default 'developer',
  project_id text default null,
  kind text default 'note',
  tags text[] default '{}',
  thread_id text default null,
  parent_ids uuid[] default '{}',
  ttl timestamptz default null,
  importance real default 0.5,
  metadata jsonb default '{}',
  envelope jsonb default '{}',
  routing jsonb default '{}',
  provenance jsonb default '{}',
  correlation_id text default null,
  session_id text default null,
  trace_id text default null,
  idempotency_key text default null,
  on_similar text default null,
  content_vector extensions.vector default null,
  model text default null
)
returns public.save_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  first_answer record;
  saved public.packet_store;
  hash bytea;
  answer public.save_result;
begin
  if ttl <= now() then
    perform identity.raise_error('L9VAL', 'ttl: must be in the future', 'ttl');
  end if;
  if jsonb_typeof(save_memory.envelope) <> 'object' then
    perform identity.raise_error('L9VAL', 'envelope: must be an object', 'envelope');
  end if;

  if save_memory.idempotency_key is not null then
    if octet_length(save_memory.idempotency_key) not between 1 and 200 then
      perform identity.raise_error('L9LIM', 'idempotency_key: 1 to 200 bytes', 'idempotency_key');
    end if;
    -- A concurrent save with the same key is waited for here; its answer is then found below.
    insert into public.idempotency_keys (tenant_id, caller, idempotency_key)
    values (me.tenant_id, me.caller, save_memory.idempotency_key)
    on conflict do nothing;
    if not found then
      select k.status into first_answer from public.idempotency_keys k
      where k.tenant_id = me.tenant_id and k.caller = me.caller and k.idempotency_key = save_memory.idempotency_key;
      select p.* into saved from public.packet_store p
      join public.idempotency_keys k on k.packet_id = p.packet_id
      where k.tenant_id = me.tenant_id and k.caller = me.caller and k.idempotency_key = save_memory.idempotency_key;
      if saved.packet_id is not null then
        answer.status := first_answer.status;
        answer.memory := saved;
        return answer;
      end if;
      -- The caller can no longer see the key's memory. That must look as if it were deleted, so save again.
    end if;
  end if;

  if on_similar is not null then
    answer := duplicates.resolve_similar(
      on_similar, save_memory.content, save_memory.scope, save_memory.project_id, kind, tags, parent_ids, ttl, importance,
      save_memory.metadata, save_memory.envelope, content_vector, model);
    saved := answer.memory;
  end if;

  for attempt in 1..3 loop
    -- A near-duplicate has already answered the save.
    exit when answer.status is not null;
    insert into public.packet_store (
      packet_type, envelope, routing, provenance, metadata, thread_id, parent_ids, tags, ttl, project_id, scope,
      importance_score, correlation_id, session_id, trace_id)
    values (
      coalesce(kind, 'note'),
      coalesce(save_memory.envelope, '{}') || jsonb_build_object('content', save_memory.content),
      coalesce(save_memory.routing, '{}'), coalesce(save_memory.provenance, '{}'), coalesce(save_memory.metadata, '{}'),
      save_memory.thread_id, coalesce(save_memory.parent_ids, '{}'), coalesce(save_memory.tags, '{}'), save_memory.ttl,
      save_memory.project_id, coalesce(save_memory.scope, 'developer'), coalesce(importance, 0.5),
      save_memory.correlation_id, save_memory.session_id, save_memory.trace_id)
    on conflict do nothing
    returning packet_store.* into saved;
    if found then
      answer.status := 'inserted';
      exit;
    end if;

    hash := coalesce(hash, packets.content_hash(save_memory.content));
    select p.* into saved
    from public.packet_store p
    -- `is not distinct from` keeps the planner on the hash column; with `=` it may choose the (tenant, scope) index and
    -- scan all of it.
    where p.content_hash = hash
      and p.tenant_id is not distinct from me.tenant_id
      and p.scope is not distinct from coalesce(save_memory.scope, 'developer')
      and p.project_id is not distinct from save_memory.project_id
      and p.packet_type = coalesce(kind, 'note')
      and p.org_id is not distinct from me.org_id
      and p.user_id is not distinct from me.user_id;
    if found then
      answer.status := 'skipped_dedupe';
      exit;
    end if;

    -- The conflicting memory was deleted concurrently: retry.
  end loop;

  if answer.status is null then
    raise exception using errcode = '40001', message = 'save_memory: too many concurrent saves of this content; try again';
  end if;
  if save_memory.idempotency_key is not null then
    update public.idempotency_keys k
    set packet_id = saved.packet_id, status = answer.status
    where k.tenant_id = me.tenant_id and k.caller = me.caller and k.idempotency_key = save_memory.idempotency_key;
  end if;
  answer.memory := saved;
  return answer;
end
$$;

comment on function public.save_memory(
  text, text, text, text, text[], text, uuid[], timestamptz, real, jsonb, jsonb, jsonb, jsonb, text, text, text, text, text,
  extensions.vector, text) is
  'Saves a memory. The status is inserted, or skipped_dedupe with the existing memory if one with the same content (ignoring case and white space) exists in this scope, project and kind. on_similar controls near-duplicates: keep saves and reports them, skip saves nothing, merge joins the two; null does not search for them. content_vector, of the given model, lets the search compare meaning too. The writer comes from the caller''s identity. Errors: L9SCP, L9VAL, L9LIM, L9AUT.';
grant execute on function public.save_memory(
  text, text, text, text, text[], text, uuid[], timestamptz, real, jsonb, jsonb, jsonb, jsonb, text, text, text, text, text,
  extensions.vector, text)
  to l9_agent, l9_admin;
