-- Which memories rest on which. Triggers of packet_store keep the table in step with parent_ids; the roll-up job and
-- memory_find() count the citations.

create table importance.memory_citations (
  cited_by uuid not null references public.packet_store on delete cascade,
  -- No foreign key, as for parent_ids: a citation must not wait for, or fail with, a concurrent delete of the cited memory.
  packet_id uuid not null,
  content_hash bytea,
  primary key (packet_id, cited_by)
);

create index memory_citations_cited_by_idx on importance.memory_citations (cited_by);
comment on table importance.memory_citations is 'Which memories rest on which: parent_ids, one row for each parent, so that the '
  'memories that cite one are found without a scan.';
comment on column importance.memory_citations.cited_by is 'The memory that has the other as a parent.';
comment on column importance.memory_citations.packet_id is 'The parent, which may have been deleted since.';
comment on column importance.memory_citations.content_hash is 'The hash of the text that the parent had when it was cited; null '
  'once the parent is deleted. A citation of another text than the present one does not count.';

alter table importance.memory_citations alter column content_hash set statistics 0;

alter table importance.memory_citations enable row level security, force row level security;

create policy scope_access on importance.memory_citations for select to l9_agent, l9_admin
  using (exists (select from public.packet_store p where p.packet_id = memory_citations.cited_by));
create policy platform_override on importance.memory_citations for select to l9_platform_admin
  using (
    (select identity.allow_and_audit_operator_read('memory_citations'))
    and exists (select from public.packet_store p where p.packet_id = memory_citations.cited_by));
create policy worker_access on importance.memory_citations for select to l9_worker using (true);
create policy definer_functions on importance.memory_citations to l9_owner using (true);
comment on policy scope_access on importance.memory_citations is 'A row tells of the memory that cites, so it is visible to '
  'callers that may read that memory. A parent is visible to all of them.';
comment on policy platform_override on importance.memory_citations is 'Operators read across tenants, and each read is audited.';
comment on policy worker_access on importance.memory_citations is 'The roll-up job counts citations.';
comment on policy definer_functions on importance.memory_citations is 'A trigger of packet_store copies parent_ids.';
grant select on importance.memory_citations to l9_agent, l9_admin, l9_platform_admin;
grant select, maintain on importance.memory_citations to l9_worker;
-- Callers have no write privilege: the rows follow from parent_ids.

-- Compares the parents before and after the write, changes only the rows that differ, and queues all of them for a
-- recount.
create function importance.tg_packet_store__cite() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  -- What is withheld cites nothing yet.
  were uuid[] := case when tg_op = 'INSERT' or old.withheld_creator is not null then '{}' else old.parent_ids end;
  become uuid[] := case when tg_op = 'DELETE' then '{}' else new.parent_ids end;
begin
  if tg_op = 'DELETE' then
    -- Those that cite it keep its id, and no trace of its text.
    -- A citation by a memory that the same statement deletes is about to go: an update would check its foreign key again.
    update importance.memory_citations c set content_hash = null
    where c.packet_id = old.packet_id and c.content_hash is not null
      and exists (select from public.packet_store p where p.packet_id = c.cited_by);
  end if;
  if tg_op = 'UPDATE' and were <> become then
    delete from importance.memory_citations c where c.cited_by = new.packet_id and c.packet_id <> all (become);
  end if;
  if tg_op <> 'DELETE' and were <> become then
    insert into importance.memory_citations (cited_by, packet_id, content_hash)
    select new.packet_id, p.id, importance.text_hash_at(p.id, clock_timestamp()) from unnest(become) as p (id)
    where p.id <> all (were);
  end if;
  insert into importance.pending_recounts (packet_id)
  select p.id from unnest(were) as p (id)
  union
  select p.id from unnest(become) as p (id)
  union
  -- The memory itself may have moved away from those that cite it, or towards them.
  select c.packet_id from importance.memory_citations c where tg_op = 'UPDATE' and c.packet_id = new.packet_id;
  return null;
end $$;
comment on function importance.tg_packet_store__cite is 'Keeps memory_citations in step with parent_ids and queues the memories '
  'whose citations may count differently now. Definer: callers can''t write these tables.';

create trigger _640_cite_insert after insert on public.packet_store
  for each row when (new.parent_ids <> '{}' and new.withheld_creator is null) execute function importance.tg_packet_store__cite();
create trigger _640_cite_delete after delete on public.packet_store
  for each row execute function importance.tg_packet_store__cite();
create trigger _640_cite_update after update on public.packet_store
  for each row when (new.withheld_creator is null and (
    new.parent_ids <> old.parent_ids or old.withheld_creator is not null
    or (new.tenant_id, new.scope) is distinct from (old.tenant_id, old.scope)
    or new.project_id is distinct from old.project_id
    or new.org_id is distinct from old.org_id
    or new.user_id is distinct from old.user_id
    or new.ttl is distinct from old.ttl))
  execute function importance.tg_packet_store__cite();

create function importance.tg_packet_store__recount_text() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if exists (select from importance.memory_voices v where v.packet_id = new.packet_id) then
    perform importance.lock_signals(array[new.packet_id]);
    update importance.memory_voices v set read_at = null where v.packet_id = new.packet_id and v.read_at is not null;
    insert into importance.pending_recounts (packet_id) values (new.packet_id);
  end if;
  return null;
end $$;
comment on function importance.tg_packet_store__recount_text is 'Queues a memory whose text has changed: votes, citations and '
  'readings of the former text no longer count. Definer: callers can''t write these tables.';

create trigger _640_recount_text after update of envelope on public.packet_store
  for each row when (new.content_hash is distinct from old.content_hash)
  execute function importance.tg_packet_store__recount_text();
