-- Writes a lesson and what its agent attests of it, as the owner. Only reflect() calls store_reflection().
create type public.reflect_result as (status text, reflection public.reflection_store);
comment on type public.reflect_result is 'The result of reflect(): the status inserted or reinforced, and the row as it is now.';
comment on column public.reflect_result.status is 'inserted, or reinforced if the reflection existed already; pending if it '
  'waits for a review: then it has no id yet.';
comment on column public.reflect_result.reflection is 'The reflection as it is now.';

-- An insert that meets an existing row changes nothing in it but locks it; then the attestation is added, and
-- refresh_lesson() computes the numbers from all of them.
create function reflection.store_reflection(
  packet_id uuid, type text, context text, entities text[], confidence double precision, priority text)
returns public.reflect_result
language plpgsql volatile security definer set search_path = '' as $$
declare
  source public.packet_store := derived.lock_source_memory(
    store_reflection.packet_id, kind => 'reflection', says_nothing_new => exists (
      select from public.reflection_store r where r.source_packet = store_reflection.packet_id));
  names text[] := reflection.check_reflection(
    store_reflection.type, store_reflection.context, store_reflection.entities, store_reflection.confidence,
    store_reflection.priority);
  is_writer constant boolean := packets.text_writer(source) = derived.agent_for(source)
    or identity.current_role_name() = 'l9_admin';
  bounds constant identity.bounds := identity.bounds_of(source.tenant_id, derived.agent_for(source));
  is_new boolean;
  result public.reflect_result;
begin
  confidence := least(store_reflection.confidence, bounds.max_lesson_confidence);
  if reflection.priority_rank(store_reflection.priority) > reflection.priority_rank(bounds.max_priority) then
    priority := bounds.max_priority;
  end if;
  if source.packet_type <> 'reflection' then
    perform identity.raise_error('L9VAL', 'source_packet: must be a memory of kind reflection', 'source_packet');
  end if;
  -- Context and entities are those of whoever wrote the text.
  insert into public.reflection_store as r (source_packet, reflection_type, context, entities, confidence, priority, source_agent)
  values (
    source.packet_id, store_reflection.type, case when is_writer then nullif(btrim(store_reflection.context), '') end,
    case when is_writer then names else '{}' end, least(0.99, store_reflection.confidence), store_reflection.priority,
    source.metadata ->> 'agent')
  -- Updated without a change, so that concurrent repetitions wait for each other.
  on conflict (source_packet) do update set reflection_id = r.reflection_id
  returning old.reflection_id is null, r into is_new, result.reflection;
  if not reflection.can_reinforce((result.reflection).reflection_type, store_reflection.type) then
    perform identity.raise_error('L9VAL', format(
      'content: this text is already saved as a %s; use another text for a %s',
      (result.reflection).reflection_type, store_reflection.type), 'content');
  end if;
  insert into reflection.attestations as a (reflection_id, agent, confidence, priority)
  values ((result.reflection).reflection_id, derived.agent_for(source), store_reflection.confidence, store_reflection.priority)
  on conflict (reflection_id, agent) do update set
    confidence = greatest(a.confidence, excluded.confidence),
      priority = reflection.higher_priority(a.priority, excluded.priority),
    times_seen = a.times_seen + 1, last_seen = excluded.last_seen;
  if not is_new then
    result.reflection := reflection.refresh_lesson((result.reflection).reflection_id);
  end if;
  result.status := case when is_new then 'inserted' else 'reinforced' end;
  return result;
end $$;
comment on function reflection.store_reflection is 'Writes the row of a memory of kind reflection or, if there is one, '
  'reinforces it by the caller''s attestation. Confidence and priority above what the caller may give '
  '(actors.max_lesson_confidence, max_priority) are lowered to that. The caller must see the memory and may write in its scope '
  'and project. Definer: callers can''t write reflection_store.';
grant execute on function reflection.store_reflection to l9_agent, l9_admin;
