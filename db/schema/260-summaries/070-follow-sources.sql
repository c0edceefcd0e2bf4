-- Triggers of packet_store that keep summaries true to their sources: one deletes them when a source moves or its
-- expiry changes, the other marks them as due when its text changes.
create function summaries.tg_packet_store__check_summaries() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  sources uuid[] := array(select l.packet_id from public.memory_summary_sources l where l.summary_packet = new.packet_id);
begin
  -- If the memory is a summary itself, all its new readers must be able to read all its sources.
  if cardinality(sources) > 0 and summaries.is_audience_within(new, summaries.audience_of_sources(sources)) is not true then
    perform identity.raise_error('L9VAL',
      'scope: every reader of a summary must be able to read all its sources, for as long as the summary exists');
  end if;
  perform derived.delete_memories(array(
    select l.summary_packet from public.memory_summary_sources l where l.packet_id = new.packet_id));
  return null;
end $$;
comment on function summaries.tg_packet_store__check_summaries is 'Runs when a memory moves or its expiry changes: refuses to '
  'move a summary to readers of fewer than all its sources, and deletes the summaries that rest on the memory; they become due '
  'again. Definer: deletes also summaries that the caller does not see.';

call derived.follow_packets('_640_check_summaries', 'summaries.tg_packet_store__check_summaries');

create function summaries.tg_packet_store__mark_summaries_stale() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  update public.memory_summary_sources l set is_changed = true, updated_at = clock_timestamp()
  where l.packet_id = new.packet_id and not l.is_changed;
  return null;
end $$;
comment on function summaries.tg_packet_store__mark_summaries_stale is 'Marks the summaries that rest on a memory as due again '
  'when its text changes. Definer: updates also rows that the caller does not see.';

create trigger _645_mark_summaries_stale after update of envelope on public.packet_store
  for each row when (new.content_hash <> old.content_hash) execute function summaries.tg_packet_store__mark_summaries_stale();
