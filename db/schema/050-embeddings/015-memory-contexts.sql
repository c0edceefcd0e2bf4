create table public.memory_contexts (
  context_id uuid primary key default uuidv7(),
  packet_id uuid not null unique references public.packet_store on delete cascade,
  predecessor_id uuid not null references public.packet_store on delete cascade,
  context text not null,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  created_at timestamptz not null default now()
);

-- The planner's statistics would keep samples of what was said.
alter table public.memory_contexts alter column context set statistics 0;

do $$
declare
  bucket integer;
begin
  foreach bucket in array packets.tenant_buckets() loop
    execute format(
      $sql$create index %I on public.memory_contexts using bm25 (context) with (text_config = 'english') where %s$sql$,
      'memory_contexts_bm25_' || bucket, packets.in_bucket('', bucket));
  end loop;
end
$$;
create index memory_contexts_readers_idx on public.memory_contexts (tenant_id, scope, user_id, org_id, project_id) include (packet_id, ttl);
create index memory_contexts_predecessor_idx on public.memory_contexts (predecessor_id);

comment on table public.memory_contexts is
  'Memories together with the one before them in their thread, to be found by what an answer leaves unsaid. Only a predecessor of the same owner, scope and project is taken: whoever reads the row may read both.';
comment on column public.memory_contexts.context_id is 'UUID version 7. Another text is another context: vectors hang on the one they were made of.';
comment on column public.memory_contexts.packet_id is 'The memory.';
comment on column public.memory_contexts.predecessor_id is 'The memory before it in the thread.';
comment on column public.memory_contexts.context is 'The end of the predecessor (500 characters) and the beginning of the memory (2000). Never shown in a search.';
comment on column public.memory_contexts.tenant_id is 'As of both memories.';
comment on column public.memory_contexts.org_id is 'As of both memories.';
comment on column public.memory_contexts.user_id is 'As of both memories.';
comment on column public.memory_contexts.project_id is 'As of both memories.';
comment on column public.memory_contexts.scope is 'As of both memories.';
comment on column public.memory_contexts.ttl is 'When the first of the two expires: from then on nobody reads it.';
comment on column public.memory_contexts.created_at is 'When it was put together.';

call identity.protect_like_memories('public.memory_contexts', noun => 'context');

create policy worker_access on public.memory_contexts to l9_worker using (true);
create policy definer_functions on public.memory_contexts to l9_owner using (true);

comment on policy worker_access on public.memory_contexts is 'The embedding job writes them.';
comment on policy definer_functions on public.memory_contexts is 'The triggers that take them away with what they were made of.';

grant select on public.memory_contexts to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, predecessor_id, context, tenant_id, org_id, user_id, project_id, scope, ttl)
  on public.memory_contexts to l9_worker;
grant update (created_at) on public.memory_contexts to l9_worker; -- to lock one while its vector is stored
grant delete, maintain on public.memory_contexts to l9_worker;
-- Callers write none: they follow from the memories.
