-- Takes back what a memory states when it is deleted, when its text changes, or when a model extracts from it again.
-- Triggers of packet_store and the chapter of extraction call it.
create function facts.keys_of_evidence(packet_id uuid, audience_id uuid default null) returns setof facts.fact_key
language sql stable set search_path = ''
begin atomic
  select distinct (f.tenant_id, coalesce(keys_of_evidence.audience_id, f.audience_id), f.subject_normalized, f.predicate,
    f.object_normalized)::facts.fact_key
  from public.fact_evidence e join public.knowledge_facts f on f.fact_id = e.fact_id
  where e.packet_id = keys_of_evidence.packet_id
  -- All callers take the locks in this order, which rules out deadlocks.
  order by 1;
end;
comment on function facts.keys_of_evidence is 'The keys of all facts that a memory states, as they will be in audience_id.';

create function facts.withdraw_evidence(packet_id uuid, only_extracted boolean default true) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  keys facts.fact_key[];
  key facts.fact_key;
begin
  keys := array(select k from facts.keys_of_evidence(withdraw_evidence.packet_id) k);
  if cardinality(keys) = 0 then
    return;
  end if;
  perform facts.lock_facts(variadic keys);
  delete from public.fact_evidence e
  where e.packet_id = withdraw_evidence.packet_id
    and (not only_extracted or e.extracted_by is not null
      -- Evidence of retracted facts stays, so that a job does not extract them again.
      and not exists (select from public.knowledge_facts f where f.fact_id = e.fact_id and f.retracted_at is not null));
  foreach key in array keys loop
    perform facts.recompute_facts(
      key, facts.is_single_valued(key.tenant_id, key.predicate), packet_ids => array[withdraw_evidence.packet_id]);
  end loop;
end $$;
comment on function facts.withdraw_evidence is 'Deletes a memory''s evidence (only_extracted: what a model found and nobody '
  'retracted) and recomputes its facts. Definer: writes tables that callers can''t write.';
grant execute on function facts.withdraw_evidence to l9_worker;

create function facts.tg_packet_store__withdraw_facts() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform facts.withdraw_evidence(old.packet_id, only_extracted => false);
  return old;
end $$;
comment on function facts.tg_packet_store__withdraw_facts is 'Deletes the evidence of a memory before the memory is deleted: '
  'facts that other memories state are recomputed, the others are deleted. Definer: callers can''t write these tables.';

-- A before trigger, because the foreign keys would delete facts that other memories still state.
create trigger _620_withdraw_facts before delete on public.packet_store
  for each row execute function facts.tg_packet_store__withdraw_facts();

create function facts.tg_packet_store__recount_facts() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if exists (select from public.fact_evidence e where e.packet_id = new.packet_id) then
    perform facts.recount_voices(array[new.packet_id]);
  end if;
  return null;
end $$;
comment on function facts.tg_packet_store__recount_facts is 'Counts the voices on a memory whose text has changed: facts that '
  'others asserted from the former text are no use of this one. Definer: callers can''t write these tables.';

create trigger _650_recount_facts after update of envelope on public.packet_store
  for each row when (new.content_hash is distinct from old.content_hash) execute function facts.tg_packet_store__recount_facts();
