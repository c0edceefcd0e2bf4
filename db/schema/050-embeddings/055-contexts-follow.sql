-- What was made of a memory and its predecessor goes at once, in the transaction that changes one of them. What is to
-- be there instead is for the embedding job: it finds the memory on this list.

create table embeddings.stale_contexts (
  -- No foreign key: it is written while memories go, and the job looks whether they are still there.
  packet_id uuid primary key
);

comment on table embeddings.stale_contexts is 'Memories whose context is to be put together again.';
comment on column embeddings.stale_contexts.packet_id is 'The memory, which may be gone by now.';

alter table embeddings.stale_contexts enable row level security;
alter table embeddings.stale_contexts force row level security;

create policy worker_access on embeddings.stale_contexts to l9_worker using (true);
create policy definer_functions on embeddings.stale_contexts to l9_owner using (true);
comment on policy worker_access on embeddings.stale_contexts is 'Jobs work the list off.';
comment on policy definer_functions on embeddings.stale_contexts is 'Triggers put memories on the list.';

grant select, insert, delete on embeddings.stale_contexts to l9_worker;

create function embeddings.tg_memory_contexts__list_stale()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into embeddings.stale_contexts (packet_id)
  select o.packet_id from old_rows o order by o.packet_id
  on conflict do nothing;
  return null;
end
$$;

comment on function embeddings.tg_memory_contexts__list_stale() is
  'A memory that lost its context, such as with its predecessor, is to get another. Definer: callers don''t see that list.';

create trigger _900_list_stale after delete on public.memory_contexts
  referencing old table as old_rows
  for each statement execute function embeddings.tg_memory_contexts__list_stale();

create function embeddings.tg_packet_store__contexts_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  -- In this order, as the job locks them: the context, then what is on a list.
  delete from public.memory_contexts c where c.packet_id = new.packet_id;
  delete from public.memory_contexts c where c.predecessor_id = new.packet_id;
  if new.thread_id is not null then
    insert into embeddings.stale_contexts (packet_id) values (new.packet_id) on conflict do nothing;
  end if;
  return null;
end
$$;

comment on function embeddings.tg_packet_store__contexts_follow() is
  'Drops the context of a memory that changed, and of the one after it. Definer: callers can''t write contexts.';

create trigger _900_contexts_follow
  after update of envelope, thread_id, project_id, scope, ttl, tenant_id, org_id, user_id, "timestamp" on public.packet_store
  for each row
  when (
    coalesce(new.thread_id, old.thread_id) is not null
    and (
      new.envelope ->> 'content' is distinct from old.envelope ->> 'content'
      or new.thread_id is distinct from old.thread_id
      or (new.tenant_id, new.scope, new."timestamp") is distinct from (old.tenant_id, old.scope, old."timestamp")
      or new.org_id is distinct from old.org_id
      or new.user_id is distinct from old.user_id
      or new.project_id is distinct from old.project_id
      or new.ttl is distinct from old.ttl))
  execute function embeddings.tg_packet_store__contexts_follow();
