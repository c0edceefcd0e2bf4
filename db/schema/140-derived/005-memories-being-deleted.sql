-- Deletes memories that the caller can't see, because a memory that they were derived from is deleted or changed. Triggers
-- of summaries and of what models extract call delete_memories().
create table derived.memories_being_deleted (packet_id uuid primary key);
call identity.describe('derived.memories_being_deleted', 'Memories that are being deleted because a memory that they were derived
    from was deleted, moved or changed. While there are rows, functions of the owner see what was derived from such memories;
    the rows are gone at the end of the statement.
  packet_id: The memory.');
call identity.keep_private('derived.memories_being_deleted', functions => 'Only functions of the owner read and write it.');
create policy definer_upkeep_reads on public.packet_store for select to l9_owner
  using (packet_id in (select d.packet_id from derived.memories_being_deleted d));
create policy definer_upkeep on public.packet_store for delete to l9_owner
  using (packet_id in (select d.packet_id from derived.memories_being_deleted d));
comment on policy definer_upkeep_reads on public.packet_store is 'Functions of the owner see the memories that they are about '
  'to delete.';
comment on policy definer_upkeep on public.packet_store is 'Deleting or moving a memory deletes, by a trigger, the summaries '
  'that rest on it, also those that the caller does not see.';

create function derived.is_deleting_memories() returns boolean language sql stable parallel safe set search_path = ''
return exists (select from derived.memories_being_deleted);
comment on function derived.is_deleting_memories is 'True while delete_memories() runs. Policies of the owner ask it. Not '
  'executable by callers.';

create function derived.delete_memories(packet_ids uuid[]) returns void
language plpgsql volatile set search_path = '' as $$
declare
  noted uuid[];
begin
  if coalesce(cardinality(packet_ids), 0) = 0 then
    return;
  end if;
  with notes as (
    insert into derived.memories_being_deleted (packet_id) select distinct i.id from unnest(packet_ids) as i (id)
    on conflict do nothing returning packet_id)
  select array_agg(n.packet_id) into noted from notes n;
  delete from public.packet_store p where p.packet_id = any (packet_ids);
  delete from derived.memories_being_deleted d where d.packet_id = any (noted);
end $$;
comment on function derived.delete_memories is 'Deletes memories with all that was derived from them, also those that the caller '
  'does not see. Not executable by callers.';
