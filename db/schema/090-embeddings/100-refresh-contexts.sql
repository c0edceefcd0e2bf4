-- Functions over contexts that the embedding job calls, as l9_worker. The job locks a memory first, then its context, then rows
-- of a queue, in the same order as a caller's change. A change of many memories can still conflict with it, so the job waits
-- for a lock only for a moment (55P03), less than the deadlock timeout: a caller's change never fails because of the job.
create function embeddings.context_text(predecessor text, content text) returns text
language sql immutable parallel safe set search_path = ''
return pg_catalog.right(predecessor, 500) || E'\n\n' || pg_catalog.left(content, 2000);
comment on function embeddings.context_text is 'The predecessor''s last 500 characters and the memory''s first 2000.';

create function embeddings.requeue_stale_contexts() returns void language sql volatile set search_path = ''
begin atomic
  -- The memories are locked before their rows leave a queue, in the same order as by a caller's change. A memory that is being
  -- changed now waits for the next call. So does one that is already queued for embedding: it may have been read before the
  -- change.
  with free as materialized (
    select p.packet_id
    from embeddings.stale_contexts s
    join public.packet_store p on p.packet_id = s.packet_id
    where not exists (select from embeddings.pending_embeddings q where q.packet_id = s.packet_id)
    for no key update of p skip locked
  ), taken as (
    delete from embeddings.stale_contexts s
    where s.packet_id in (select f.packet_id from free f)
      or not exists (select from public.packet_store p where p.packet_id = s.packet_id)
    returning s.packet_id
  )
  insert into embeddings.pending_embeddings (packet_id, model)
  select t.packet_id, m.model
  from taken t
  join free f on f.packet_id = t.packet_id
  cross join public.embedding_models m
  where m.state in ('serving', 'arriving') on conflict do nothing;
end;
comment on function embeddings.requeue_stale_contexts is 'Queues memories that lost their context for embedding.';

create function embeddings.is_same_thread(one public.packet_store, other public.packet_store) returns boolean
language sql immutable parallel safe set search_path = ''
return one.thread_id = other.thread_id and one.tenant_id = other.tenant_id and one.scope = other.scope
  and one.project_id is not distinct from other.project_id
  and one.org_id is not distinct from other.org_id
  and one.user_id is not distinct from other.user_id;
comment on function embeddings.is_same_thread is 'True if two memories have one thread, scope and readers.';

create function embeddings.thread_neighbour(memory public.packet_store, is_before boolean) returns uuid
language plpgsql stable set search_path = '' as $$
begin
  if is_before then
    return (
      select p.packet_id from public.packet_store p
      where p.tenant_id = memory.tenant_id and p.thread_id = memory.thread_id
        and (p."timestamp", p.packet_id) < (memory."timestamp", memory.packet_id)
        and p.scope = memory.scope and p.project_id is not distinct from memory.project_id
        and p.org_id is not distinct from memory.org_id and p.user_id is not distinct from memory.user_id
        and (p.ttl is null or p.ttl > now())
      order by p."timestamp" desc, p.packet_id desc limit 1);
  end if;
  return (
    select p.packet_id from public.packet_store p
    where p.tenant_id = memory.tenant_id and p.thread_id = memory.thread_id
      and (p."timestamp", p.packet_id) > (memory."timestamp", memory.packet_id)
      and p.scope = memory.scope and p.project_id is not distinct from memory.project_id
      and p.org_id is not distinct from memory.org_id and p.user_id is not distinct from memory.user_id
    order by p."timestamp", p.packet_id limit 1);
end $$;
comment on function embeddings.thread_neighbour is 'The memory before or after this one in its thread; null for none.';

-- Locks the memory and its predecessor without waiting for other writers, and writes a context only if it differs
-- from the present one.
create function embeddings.refresh_contexts(packet_ids uuid[])
returns table (packet_id uuid, is_busy boolean, context_id uuid, context text)
language plpgsql volatile set search_path = '' set lock_timeout = '100ms' as $$
declare
  id uuid;
  memory public.packet_store;
  before_id uuid;
  predecessor public.packet_store;
  new_context text;
begin
  foreach id in array packet_ids loop
    refresh_contexts.packet_id := id;
    before_id := null;
    context_id := null;
    context := null;
    -- The memory is locked so that nobody changes it before the commit: a trigger would not see the context that is written here.
    -- A memory that is being changed now is not waited for; the job tries it again.
    select p.* into memory from public.packet_store p
    where p.packet_id = id for no key update skip locked;
    is_busy := not found;
    if not is_busy and memory.thread_id is not null then
      before_id := embeddings.thread_neighbour(memory, true);
      if before_id is not null then
        select p.* into predecessor from public.packet_store p
        where p.packet_id = before_id and embeddings.is_same_thread(p, memory) and (p.ttl is null or p.ttl > now())
        for share skip locked;
        is_busy := not found;
      end if;
    end if;
    if not is_busy then
      new_context := case when memory.thread_id is not null and before_id is not null
        then embeddings.context_text(predecessor.envelope ->> 'content', memory.envelope ->> 'content') end;
      select c.context_id into context_id from public.memory_contexts c
      where c.packet_id = memory.packet_id and c.predecessor_id = before_id and c.context = new_context;
      if not found then
        delete from public.memory_contexts c where c.packet_id = memory.packet_id;
        if new_context is not null then
          insert into public.memory_contexts as c
            (packet_id, predecessor_id, context, tenant_id, org_id, user_id, project_id, branch, scope, ttl)
          values (memory.packet_id, before_id, new_context, memory.tenant_id, memory.org_id, memory.user_id, memory.project_id,
            memory.branch,
            memory.scope, least(memory.ttl, predecessor.ttl))
          returning c.context_id into context_id;
        end if;
      end if;
      context := new_context;
      delete from embeddings.stale_contexts s where s.packet_id = memory.packet_id;
      -- If the memory came into the middle of a thread, its successor now needs a context with this memory.
      insert into embeddings.stale_contexts (packet_id)
      select after.packet_id from (select embeddings.thread_neighbour(memory, false) as packet_id) after
      where after.packet_id is not null
        and not exists (
          select from public.memory_contexts c
          where c.packet_id = after.packet_id and c.predecessor_id = memory.packet_id)
        and not exists (select from embeddings.pending_embeddings q where q.packet_id = after.packet_id)
      on conflict do nothing;
    end if;
    return next;
  end loop;
end $$;
comment on function embeddings.refresh_contexts is 'Creates the contexts of memories and returns the texts to embed; context is '
  'null for a memory without a predecessor. is_busy: the memory or its predecessor is being changed or was deleted, and the job '
  'must try again.';
grant execute on function embeddings.context_text, embeddings.requeue_stale_contexts, embeddings.refresh_contexts,
  embeddings.is_same_thread, embeddings.thread_neighbour to l9_worker;
