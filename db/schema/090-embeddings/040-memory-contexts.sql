-- Each memory together with the end of its predecessor in the thread. The embedding job writes the contexts, and
-- searches find answers by them.
create table public.memory_contexts (
  context_id uuid primary key default uuidv7(),
  packet_id uuid not null unique references public.packet_store on delete cascade,
  predecessor_id uuid not null references public.packet_store on delete cascade,
  context text not null,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, branch text, scope text not null,
  ttl timestamptz,
  created_at timestamptz not null default now()
);

-- Statistics are off because the planner would keep samples of the texts.
alter table public.memory_contexts alter column context set statistics 0, alter column branch set statistics 0;

create index memory_contexts_readers_idx on public.memory_contexts (tenant_id, scope, user_id, org_id, project_id, branch)
  include (packet_id, ttl);
create index memory_contexts_predecessor_idx on public.memory_contexts (predecessor_id);
call identity.describe('public.memory_contexts', 'Memories together with their predecessor in the thread, so that an answer is
    also found by the question before it. A predecessor is used only if it has the same owner, scope and project: a caller who may
    read the row may read both memories.
  context_id: UUID version 7. A changed text gets a new context_id, because vectors refer to the text that they were made from.
  packet_id: The memory.
  predecessor_id: The memory before it in the thread.
  context: The end of the predecessor (500 characters) and the beginning of the memory (2000). A search never shows it.
  tenant_id: Tenant of both memories.
  org_id: Org of both memories.
  user_id: User of both memories.
  project_id: Project of both memories.
  branch: The branch of the memory.
  scope: Scope of both memories.
  ttl: Time when the first of the two memories expires. After it nobody can read the row.
  created_at: Time when the context was created.');

call identity.protect_like_memories('public.memory_contexts', noun => 'context');

create policy worker_access on public.memory_contexts to l9_worker using (true);
create policy definer_functions on public.memory_contexts to l9_owner using (true);

comment on policy worker_access on public.memory_contexts is 'The embedding job writes contexts.';
comment on policy definer_functions on public.memory_contexts is 'Triggers delete a context when one of its memories changes or '
  'is deleted.';
grant select on public.memory_contexts to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, predecessor_id, context, tenant_id, org_id, user_id, project_id, branch, scope, ttl)
  on public.memory_contexts to l9_worker;
-- The job needs an update privilege to lock a context while it stores the vector.
grant update (created_at) on public.memory_contexts to l9_worker;
grant delete, maintain on public.memory_contexts to l9_worker;
-- Callers have no write privilege: contexts follow from the memories.

create function embeddings.tg_memory_contexts__list_stale() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into embeddings.stale_contexts (packet_id)
  select o.packet_id from old_rows o order by o.packet_id
  on conflict do nothing;
  return null;
end $$;
comment on function embeddings.tg_memory_contexts__list_stale is 'Queues a memory that lost its context, for example because its '
  'predecessor was deleted, so that it gets a new one. Definer: callers cannot see that queue.';

create trigger _900_list_stale after delete on public.memory_contexts referencing old table as old_rows
  for each statement execute function embeddings.tg_memory_contexts__list_stale();
