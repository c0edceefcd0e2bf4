-- What the embedding job calls for contexts, as l9_worker. It locks a memory first, then its context, then what is on a
-- list, as a caller's change does. A change of many memories may still cross its way; so the job waits for a moment only
-- (55P03), less than it takes for a deadlock to be seen, and is never what a caller's change fails of.

create function embeddings.context_text(predecessor text, content text)
returns text
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.right(predecessor, 500) || E'\n\n' || pg_catalog.left(content, 2000);

comment on function embeddings.context_text(text, text) is
  'The end of what was said before and the beginning of the memory, so that both fit into what a small model reads.';

create function embeddings.requeue_stale_contexts()
returns void
language sql
volatile
set search_path = ''
begin atomic
  -- The memories are locked before anything is taken off a list, as by a caller's change; one that is being changed now
  -- is for the next round. So is what is being worked on until that is done: it may have been read before the change.
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
  where m.state in ('serving', 'arriving')
  on conflict do nothing;
end;

comment on function embeddings.requeue_stale_contexts() is 'Puts memories that lost their context on the list of what is to be embedded.';

create function embeddings.is_same_thread(one public.packet_store, other public.packet_store)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return one.thread_id = other.thread_id and one.tenant_id = other.tenant_id and one.scope = other.scope
  and one.project_id is not distinct from other.project_id
  and one.org_id is not distinct from other.org_id
  and one.user_id is not distinct from other.user_id;

comment on function embeddings.is_same_thread(public.packet_store, public.packet_store) is
  'Whether two memories are of one thread and the same people may read them. Another scope''s part of a thread is another thread.';

create function embeddings.thread_neighbour(memory public.packet_store, is_before boolean)
returns uuid
language plpgsql
stable
set search_path = ''
as $$
begin
  if is_before then
    return (
      select p.packet_id from public.packet_store p
      where p.tenant_id = memory.tenant_id and p.thread_id = memory.thread_id
        and (p."timestamp", p.packet_id) < (memory."timestamp", memory.packet_id)
        and p.scope = memory.scope and p.project_id is not distinct from memory.project_id
        and p.org_id is not distinct from memory.org_id and p.user_id is not distinct from memory.user_id
        and (p.ttl is null or p.ttl > now())
      order by p."timestamp" desc, p.packet_id desc
      limit 1);
  end if;
  return (
    select p.packet_id from public.packet_store p
    where p.tenant_id = memory.tenant_id and p.thread_id = memory.thread_id
      and (p."timestamp", p.packet_id) > (memory."timestamp", memory.packet_id)
      and p.scope = memory.scope and p.project_id is not distinct from memory.project_id
      and p.org_id is not distinct from memory.org_id and p.user_id is not distinct from memory.user_id
    order by p."timestamp", p.packet_id
    limit 1);
end
$$;

comment on function embeddings.thread_neighbour(public.packet_store, boolean) is
  'The memory before or after this one in its thread, among those that the same people may read; null where there is none.';

create function embeddings.refresh_contexts(packet_ids uuid[])
returns table (packet_id uuid, is_busy boolean, context_id uuid, context text)
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
#variable_conflict use_column
declare
  id uuid;
  memory public.packet_store;
  before_id uuid;
  predecessor public.packet_store;
  wanted text;
begin
  foreach id in array packet_ids loop
    refresh_contexts.packet_id := id;
    before_id := null;
    context_id := null;
    context := null;
    -- Locked, so that nobody changes it between this look and the commit, when a trigger would miss what is written here.
    -- Who is changing it now is not waited for: it is tried again.
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
      wanted := case when memory.thread_id is not null and before_id is not null
        then embeddings.context_text(predecessor.envelope ->> 'content', memory.envelope ->> 'content') end;
      select c.context_id into context_id from public.memory_contexts c
      where c.packet_id = memory.packet_id and c.predecessor_id = before_id and c.context = wanted;
      if not found then
        delete from public.memory_contexts c where c.packet_id = memory.packet_id;
        if wanted is not null then
          insert into public.memory_contexts as c
            (packet_id, predecessor_id, context, tenant_id, org_id, user_id, project_id, scope, ttl)
          values (memory.packet_id, before_id, wanted, memory.tenant_id, memory.org_id, memory.user_id, memory.project_id,
            memory.scope, least(memory.ttl, predecessor.ttl))
          returning c.context_id into context_id;
        end if;
      end if;
      context := wanted;
      delete from embeddings.stale_contexts s where s.packet_id = memory.packet_id;
      -- One that came into the middle of a thread stands before another from now on.
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
end
$$;

comment on function embeddings.refresh_contexts(uuid[]) is
  'Puts memories together with the one before them in their thread, and hands the texts out to be embedded; context is null where there is none. is_busy: it, or the one before it, is being changed, or gone; to be tried again.';

create function embeddings.store_vectors(
  packet_id uuid, content_hash bytea, model text, vectors text[], chunk_texts text[], chunk_starts integer[],
  chunk_ends integer[], context_id uuid, context_vector text)
returns boolean
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
#variable_conflict use_column
begin
  if context_id is null then
    return embeddings.store_embeddings(packet_id, content_hash, model, vectors, chunk_texts, chunk_starts, chunk_ends);
  end if;
  -- The locks keep both until the vector is committed; a change that waits for it takes the context and its vector away.
  perform from public.packet_store p where p.packet_id = store_vectors.packet_id for update;
  perform from public.memory_contexts c
  where c.context_id = store_vectors.context_id and c.packet_id = store_vectors.packet_id
  for update;
  if not found then
    update embeddings.pending_embeddings q set leased_until = null
    where q.packet_id = store_vectors.packet_id and q.model = store_vectors.model;
    return false;
  end if;
  insert into public.memory_embeddings
    (packet_id, embedding_type, model, vector, context_id, tenant_id, org_id, user_id, project_id, scope, ttl)
  select c.packet_id, 'context', store_vectors.model, context_vector::extensions.vector, c.context_id,
    c.tenant_id, c.org_id, c.user_id, c.project_id, c.scope, c.ttl
  from public.memory_contexts c
  where c.context_id = store_vectors.context_id
  on conflict do nothing;
  return embeddings.store_embeddings(packet_id, content_hash, model, vectors, chunk_texts, chunk_starts, chunk_ends);
end
$$;

comment on function embeddings.store_vectors(uuid, bytea, text, text[], text[], integer[], integer[], uuid, text) is
  'store_embeddings(), and the vector of the memory''s context. False, and nothing stored, where one of the two memories has changed since its text was handed out: then it stays on the list.';

grant execute on function
  embeddings.context_text(text, text), embeddings.requeue_stale_contexts(), embeddings.refresh_contexts(uuid[]),
  embeddings.is_same_thread(public.packet_store, public.packet_store),
  embeddings.thread_neighbour(public.packet_store, boolean),
  embeddings.store_vectors(uuid, bytea, text, text[], text[], integer[], integer[], uuid, text)
to l9_worker;
