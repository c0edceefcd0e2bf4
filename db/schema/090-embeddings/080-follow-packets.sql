-- Triggers on packet_store that keep queues, vectors and contexts in step with the memories.

create function embeddings.tg_packet_store__enqueue_embedding() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into embeddings.pending_embeddings (packet_id, model)
  select n.packet_id, m.model
  from new_rows n cross join public.embedding_models m
  where m.state in ('serving', 'arriving') and n.withheld_creator is null order by n.packet_id, m.model;
  return null;
end $$;
comment on function embeddings.tg_packet_store__enqueue_embedding is 'Queues new memories for embedding. Definer: callers cannot '
  'see that queue.';

create trigger _900_enqueue_embedding after insert on public.packet_store referencing new table as new_rows
  for each statement execute function embeddings.tg_packet_store__enqueue_embedding();

-- Vectors of the former text go, and those of the same text follow the memory.
create function embeddings.tg_packet_store__embeddings_follow() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  has_new_text constant boolean := new.content_hash <> old.content_hash;
  has_new_steps constant boolean := 'reasoning_trace' in (new.packet_type, old.packet_type)
    and (new.packet_type, new.envelope -> 'steps') is distinct from (old.packet_type, old.envelope -> 'steps');
begin
  if packets.is_withheld(new.review_state) then
    return new;
  elsif packets.is_withheld(old.review_state) then
    perform embeddings.enqueue_memory(new.packet_id); -- It had no vectors while it was withheld.
    return new;
  end if;
  -- A search must not find the memory by the meaning of its former text or steps.
  if has_new_text or has_new_steps then
    delete from public.memory_embeddings e
    where e.packet_id = new.packet_id and (has_new_text or e.embedding_type = 'reasoning');
    perform embeddings.enqueue_memory(new.packet_id);
  end if;
  if has_new_text and new.chunk_count > 0 then
    new.chunk_count := 0;
  elsif not has_new_text then
    update public.memory_embeddings e
    set tenant_id = new.tenant_id, org_id = new.org_id, user_id = new.user_id, project_id = new.project_id, branch = new.branch,
      scope = new.scope, ttl = new.ttl
    where e.packet_id = new.packet_id
      and (e.tenant_id, e.org_id, e.user_id, e.project_id, e.branch, e.scope, e.ttl)
        is distinct from (new.tenant_id, new.org_id, new.user_id, new.project_id, new.branch, new.scope, new.ttl);
  end if;
  return new;
end $$;
comment on function embeddings.tg_packet_store__embeddings_follow is 'Keeps owner, project, branch, scope and expiry of the '
  'vectors equal to those of the memory. Deletes the vectors when its content changes, and those of its steps when a reasoning '
  'trace gets others, and queues it; also a memory that was approved. Definer: callers cannot write vectors.';

create trigger _600_embeddings_follow before update on public.packet_store
  for each row
  when (
    new.content_hash is distinct from old.content_hash
    or new.review_state is distinct from old.review_state
    or (new.tenant_id, new.scope) is distinct from (old.tenant_id, old.scope)
    or new.org_id is distinct from old.org_id
    or new.user_id is distinct from old.user_id
    or new.project_id is distinct from old.project_id
    or new.branch is distinct from old.branch
    or new.ttl is distinct from old.ttl
    or (old.packet_type = 'reasoning_trace' or new.packet_type = 'reasoning_trace')
      and (new.packet_type <> old.packet_type or new.envelope -> 'steps' is distinct from old.envelope -> 'steps'))
  execute function embeddings.tg_packet_store__embeddings_follow();

create function embeddings.tg_packet_store__contexts_follow() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  -- The job locks rows in the same order: the context first, then rows of a queue.
  delete from public.memory_contexts c where c.packet_id = new.packet_id;
  delete from public.memory_contexts c where c.predecessor_id = new.packet_id;
  if new.thread_id is not null then
    insert into embeddings.stale_contexts (packet_id) values (new.packet_id) on conflict do nothing;
  end if;
  return null;
end $$;
comment on function embeddings.tg_packet_store__contexts_follow is 'Deletes the context of a memory that changed and the context '
  'of its successor in the thread. Definer: callers cannot write contexts.';

-- 690: contexts are deleted after the derived rows of the memory have been recomputed.
create trigger _690_contexts_follow
  after update of envelope, thread_id, project_id, branch, scope, ttl, tenant_id, org_id, user_id, "timestamp", review_state
  on public.packet_store
  for each row
  when (
    coalesce(new.thread_id, old.thread_id) is not null
    and new.withheld_creator is null
    and (
      old.withheld_creator is not null or
      new.envelope ->> 'content' is distinct from old.envelope ->> 'content'
      or new.thread_id is distinct from old.thread_id
      or (new.tenant_id, new.scope, new."timestamp") is distinct from (old.tenant_id, old.scope, old."timestamp")
      or new.org_id is distinct from old.org_id
      or new.user_id is distinct from old.user_id
      or new.project_id is distinct from old.project_id
      or new.branch is distinct from old.branch
      or new.ttl is distinct from old.ttl))
  execute function embeddings.tg_packet_store__contexts_follow();
