-- Deletes summaries that the caller can't see: policies of packet_store let the owner delete those on a list.
-- Triggers of sources and store_summary() call delete_summaries().
create table summaries.summaries_being_deleted (summary_packet uuid primary key);
call identity.describe('summaries.summaries_being_deleted', 'Summaries that are being deleted because one of their sources was
    deleted or moved. The policies let functions of the owner delete these; rows are gone at the end of the statement.
  summary_packet: The memory of the summary.');
call identity.keep_private('summaries.summaries_being_deleted', functions => 'Only functions of the owner read and write it.');
create policy definer_upkeep_reads on public.packet_store for select to l9_owner
  using (packet_id in (select d.summary_packet from summaries.summaries_being_deleted d));
create policy definer_upkeep on public.packet_store for delete to l9_owner
  using (packet_id in (select d.summary_packet from summaries.summaries_being_deleted d));
comment on policy definer_upkeep_reads on public.packet_store is 'Functions of the owner see the summaries that they are about '
  'to delete.';
comment on policy definer_upkeep on public.packet_store is 'Deleting or moving a memory deletes, by a trigger, the summaries '
  'that rest on it, also those that the caller does not see.';

create function summaries.delete_summaries(summary_packets uuid[]) returns void
language plpgsql volatile set search_path = '' as $$
begin
  if coalesce(cardinality(summary_packets), 0) = 0 then
    return;
  end if;
  insert into summaries.summaries_being_deleted (summary_packet) select distinct s.id from unnest(summary_packets) as s (id)
  on conflict do nothing;
  delete from public.packet_store p where p.packet_id = any (summary_packets);
  delete from summaries.summaries_being_deleted d where d.summary_packet = any (summary_packets);
end $$;
comment on function summaries.delete_summaries is 'Deletes summaries, also those that the caller does not see.';
