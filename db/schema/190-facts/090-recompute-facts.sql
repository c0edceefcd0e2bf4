-- Brings the facts of one key up to date with their evidence: removes what expired, computes, merges, and chains
-- successors. Everything that changes evidence calls it, under the locks of lock_facts().
create function facts.recompute_facts(
  key facts.fact_key, is_single boolean, new_fact_id uuid default null, packet_ids uuid[] default '{}') returns void
language plpgsql volatile set search_path = '' as $$
declare
  changed_ids uuid[] := '{}';
  batch_ids uuid[];
begin
  -- Rows are locked in the order of their ids, as in the roll-up job, so that the two can't deadlock.
  perform from public.knowledge_facts f
  where f.fact_id in (select k.fact_id from facts.facts_with_key(key, is_single) k) order by f.fact_id for no key update;

  -- The check avoids an empty statement, which would still run the statement triggers.
  if exists (
    select from facts.facts_with_key(key, is_single) f join public.fact_evidence e on e.fact_id = f.fact_id
    where e.ttl <= now()) then
    delete from public.fact_evidence e
    where e.ttl <= now() and e.fact_id in (select f.fact_id from facts.facts_with_key(key, is_single) f);
  end if;
  if exists (
    select from facts.facts_with_key(key, is_single) f
    where not exists (select from public.fact_evidence e where e.fact_id = f.fact_id)) then
    delete from public.knowledge_facts f
    where f.fact_id in (select k.fact_id from facts.facts_with_key(key, is_single) k)
      and not exists (select from public.fact_evidence e where e.fact_id = f.fact_id);
  end if;

  perform facts.compute_fact_confidence(key, is_single, new_fact_id);
  if facts.merge_facts(key, is_single) then
    perform facts.compute_fact_confidence(key, is_single, new_fact_id);
  end if;

  -- Facts that end are updated first, so that the unique index never sees two current values.
  for is_current in 0..1 loop
    with written as (
      update public.knowledge_facts f set
        valid_to = c.valid_to, superseded_by = c.superseded_by, superseded_at = c.superseded_at,
        contradiction_count = c.contradictions, is_single_valued = is_single,
        updated_at = case when f.fact_id = new_fact_id then f.updated_at else clock_timestamp() end
      from facts.supersession_chain(key, is_single) c
      where f.fact_id = c.fact_id and (c.valid_to is null) = (is_current = 1)
        and (f.valid_to, f.superseded_by, f.superseded_at, f.contradiction_count, f.is_single_valued)
          is distinct from (c.valid_to, c.superseded_by, c.superseded_at, c.contradictions, is_single)
      returning f.fact_id, f.superseded_by, old.superseded_by as was_superseded_by
    )
    select array_agg(w.fact_id) || array_agg(w.superseded_by) || array_agg(w.was_superseded_by) into batch_ids from written w;
    changed_ids := changed_ids || coalesce(batch_ids, '{}');
  end loop;

  packet_ids := packet_ids || array(select e.packet_id from public.fact_evidence e where e.fact_id = any (changed_ids));
  if exists (select from facts.facts_with_key(key, is_single) f where f.object_normalized <> (key).object_normalized) then
    -- Who contradicts whom may have changed although no fact did: another agent stated, or withdrew, a value that exists.
    packet_ids := packet_ids || array(
      select e.packet_id from facts.facts_with_key(key, is_single) f join public.fact_evidence e on e.fact_id = f.fact_id);
  end if;
  if cardinality(packet_ids) > 0 then
    perform facts.recount_voices(packet_ids);
  end if;
end $$;
comment on function facts.recompute_facts is 'Recomputes facts from their evidence, what superseded what, and voices on their '
  'sources and packet_ids. The caller holds lock_facts(), or the exclusive lock of the predicate.';
