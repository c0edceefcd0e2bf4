-- What was derived from a memory goes when it no longer counts: when an administrator takes an approval back, or merges the memory
-- into another. The triggers that derive from an approved memory make it again when it counts again.

-- Lessons, summaries and archived sessions hold more than their memory says, so they could not be made again.
create function review.refuse_withdrawal(memory public.packet_store) returns void
language plpgsql stable set search_path = '' as $$
begin
  if exists (select from public.reflection_store r where r.source_packet = (memory).packet_id)
    or exists (select from public.task_reflections r where r.source_packet = (memory).packet_id)
    or exists (select from public.memory_summaries s where s.source_packet = (memory).packet_id)
    or exists (select from public.session_archives a where a.packet_id = (memory).packet_id) then
    perform identity.raise_error('L9VAL', format('packet_ids: memory %s counts already and holds a lesson, a summary or an '
      'archived session, which could not be made again; delete it instead', (memory).packet_id), 'packet_ids');
  end if;
end $$;
comment on function review.refuse_withdrawal is 'Raises L9VAL for a memory that counts and from which something was made that its '
  'text does not hold. Not executable by callers.';

create function review.tg_packet_store__withdraw() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform review.refuse_withdrawal(new);
  delete from public.world_model_updates u where u.source_packet = new.packet_id;
  delete from public.world_model_snapshots s where s.source_packet = new.packet_id;
  delete from public.entity_aliases a where a.source_packet = new.packet_id;
  delete from public.agent_memory_events e where e.packet_id = new.packet_id;
  delete from public.reasoning_traces t where t.packet_id = new.packet_id;
  delete from public.field_values v where v.packet_id = new.packet_id;
  delete from public.memory_contexts c where c.packet_id = new.packet_id;
  delete from public.memory_contexts c where c.predecessor_id = new.packet_id;
  delete from public.memory_embeddings e where e.packet_id = new.packet_id;
  return null;
end $$;
comment on function review.tg_packet_store__withdraw is 'Deletes what was derived from a memory that no longer counts. Definer: '
  'callers can''t write these tables.';

-- The functions of these triggers also run before a memory is deleted, and look at the former row only.
create trigger _620_withdraw_facts_again after update of review_state on public.packet_store
  for each row when (old.withheld_creator is null and new.withheld_creator is not null)
  execute function facts.tg_packet_store__withdraw_facts();
create trigger _620_withdraw_relationships_again after update of review_state on public.packet_store
  for each row when (old.withheld_creator is null and new.withheld_creator is not null)
  execute function graph.tg_packet_store__withdraw_relationships();
create trigger _630_withdraw after update of review_state on public.packet_store
  for each row when (old.withheld_creator is null and new.withheld_creator is not null)
  execute function review.tg_packet_store__withdraw();
