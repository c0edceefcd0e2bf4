-- What was derived from a memory goes when it no longer counts: when an administrator takes an approval back, or merges the
-- memory into another. The trigger of packet_store that follows a decision calls withdraw(). What approvals derive, they derive
-- again.

-- Most lessons, and all summaries and archived sessions, hold more than their memory says, so they could not be made again.
create function review.refuse_withdrawal(memory public.packet_store) returns void
language plpgsql stable set search_path = '' as $$
begin
  if (memory).packet_type = 'extraction' then
    perform identity.raise_error('L9VAL', format('packet_ids: memory %s is an extraction, whose facts are by now those of the '
      'memory that was read; retract them instead', (memory).packet_id));
  elsif (memory).envelope -> 'on_approval' ->> 'statement' is distinct from 'reflect'
      and exists (select from public.reflection_store r where r.source_packet = (memory).packet_id)
    or exists (select from public.task_reflections r where r.source_packet = (memory).packet_id)
    or exists (select from public.memory_summaries s where s.source_packet = (memory).packet_id)
    or exists (select from public.session_archives a where a.packet_id = (memory).packet_id) then
    perform identity.raise_error('L9VAL', format('packet_ids: memory %s counts already and holds a lesson, a summary or an '
      'archived session, which could not be made again; delete it instead', (memory).packet_id));
  end if;
end $$;
comment on function review.refuse_withdrawal is 'Raises L9VAL for a memory that counts and from which something was made that '
  'its text does not hold. Not executable by callers.';

create function review.withdraw(memory public.packet_store) returns void
language plpgsql volatile set search_path = '' as $$
declare
  id constant uuid := (memory).packet_id;
begin
  perform review.refuse_withdrawal(memory);
  perform facts.withdraw_evidence(id, only_extracted => false);
  perform graph.withdraw_relationships(id);
  delete from public.reflection_store r where r.source_packet = id;
  delete from public.world_model_updates u where u.source_packet = id;
  delete from public.world_model_snapshots s where s.source_packet = id;
  delete from public.entity_aliases a where a.source_packet = id;
  delete from public.agent_memory_events e where e.packet_id = id;
  delete from public.reasoning_traces t where t.packet_id = id;
  delete from public.field_values v where v.packet_id = id;
  delete from public.memory_contexts c where c.packet_id = id;
  delete from public.memory_contexts c where c.predecessor_id = id;
  delete from public.memory_embeddings e where e.packet_id = id;
  insert into importance.pending_recounts (packet_id) select unnest(memory.parent_ids);
  delete from importance.memory_citations c where c.cited_by = id;
  perform derived.delete_memories(array(
    select l.summary_packet from public.memory_summary_sources l where l.packet_id = id));
end $$;
comment on function review.withdraw is 'Deletes what was derived from a memory that no longer counts. Not executable by callers.';
