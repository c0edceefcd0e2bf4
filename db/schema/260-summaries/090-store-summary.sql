-- Writes the row of a summary and its list of sources, as the owner. save_summary() calls it for callers and
-- store_summary() for jobs, after they have saved the memory.
create function summaries.store_summary_row(packet_id uuid, scope_type text, scope_value text, source_packet_ids uuid[],
  key_facts text[], key_entities text[], key_decisions text[], confidence double precision, valid_until timestamptz)
returns public.memory_summaries
language plpgsql volatile security definer set search_path = '' as $$
declare
  source public.packet_store := derived.lock_source_memory(store_summary_row.packet_id);
  audience summaries.summary_audience := summaries.audience_of_sources(store_summary_row.source_packet_ids);
  saved public.memory_summaries;
begin
  perform summaries.check_summary(
    store_summary_row.scope_type, store_summary_row.scope_value, source.envelope ->> 'content', store_summary_row.key_facts,
    store_summary_row.key_entities, store_summary_row.key_decisions, store_summary_row.confidence);
  if source.packet_type <> 'summary' or source.packet_id = any (store_summary_row.source_packet_ids) then
    perform identity.raise_error('L9VAL', 'source_packet: must be a memory of kind summary that is not one of its own sources');
  elsif not packets.may_rewrite(source, identity.current_identity()) then
    perform memories.raise_not_yours(source.packet_id);
  elsif summaries.is_audience_within(source, audience) is not true then
    perform identity.raise_error('L9VAL',
      'source_packet: every reader of a summary must be able to read all its sources, for as long as the summary exists');
  end if;

  insert into public.memory_summaries (
    source_packet, scope_type, scope_value, key_facts, key_entities, key_decisions, packet_count, confidence,
    coverage_start, coverage_end, sources_saved_until, valid_until)
  values (
    source.packet_id, store_summary_row.scope_type, store_summary_row.scope_value, coalesce(store_summary_row.key_facts, '{}'),
    entities.check_names(store_summary_row.key_entities, 'key_entities'),
    coalesce(store_summary_row.key_decisions, '{}'), audience.packet_count, store_summary_row.confidence,
    audience.coverage_start, audience.coverage_end, audience.sources_saved_until, store_summary_row.valid_until)
  on conflict do nothing returning memory_summaries.* into saved;
  if not found then
    perform identity.raise_error('L9VAL', 'scope_value: already has a summary, or source_packet already is one');
  end if;
  insert into public.memory_summary_sources (summary_packet, packet_id, tenant_id)
  select distinct saved.source_packet, i.id, saved.tenant_id from unnest(store_summary_row.source_packet_ids) as i (id);
  return saved;
end $$;
comment on function summaries.store_summary_row is 'Writes the row of a memory of kind summary that the caller wrote (an admin: '
  'any), and the list of its sources: memories that the caller sees and that every reader of the summary may read. Definer: '
  'callers can''t write memory_summaries.';
grant execute on function summaries.store_summary_row to l9_agent, l9_admin;

-- A memory has at most 64 parents, so these are the newest sources. memory_summary_sources has all of them.
create function summaries.newest_sources(ids uuid[]) returns uuid[] language sql stable set search_path = ''
return array(
  select p.packet_id from public.packet_store p
  where p.packet_id = any (ids) order by p."timestamp" desc, p.packet_id desc limit packets.max_parents());
comment on function summaries.newest_sources is 'The newest 64 of these memories, as far as the caller sees them.';
grant execute on function summaries.newest_sources to l9_agent, l9_admin;
