-- What facts tell about the importance of the memories behind them: agents that assert and agents that contradict
-- what a memory states. recompute_facts() calls recount_voices(), and so does a trigger when a text changes.
create policy definer_functions on public.memory_signals to l9_owner
  using (
    (select identity.current_role_name()) not in ('l9_agent', 'l9_admin')
    or tenant_id = (select identity.current_tenant_id()));
comment on policy definer_functions on public.memory_signals is 'Recomputing facts updates the statistics of their source '
  'memories: in the caller''s tenant; for jobs and operators, in all tenants.';

-- Supporters are other agents with evidence from the memory itself. Opponents are agents with evidence of facts that
-- superseded the memory's facts, or that these superseded, unless the memory states both.
create function facts.voices_on(packet_ids uuid[])
returns table (packet_id uuid, agent text, has_asserted boolean, has_contradicted boolean)
language sql stable set search_path = ''
-- The planner can't know that the lists are short and would choose sequential scans.
set enable_seqscan = off
begin atomic
  with stated as (
    select e.packet_id, e.ttl, e.agent, e.creator, e.content_hash, f.fact_id, f.superseded_by, f.object_normalized, f.retracted_at
    from public.fact_evidence e
    join public.knowledge_facts f on f.fact_id = e.fact_id
    where e.packet_id = any (voices_on.packet_ids)
  ), contradicting as (
    select s.packet_id, s.ttl, g.fact_id
    from stated s join public.knowledge_facts g on g.fact_id = s.superseded_by and g.object_normalized <> s.object_normalized
    union
    select s.packet_id, s.ttl, g.fact_id
    from stated s join public.knowledge_facts g on g.superseded_by = s.fact_id and g.object_normalized <> s.object_normalized
  ), opponents as (
    -- Facts have the readers of their memories. Evidence that expires before the memory counts for nothing, because importance
    -- must not depend on what its readers can't read.
    select c.packet_id, e.agent
    from contradicting c
    join public.fact_evidence e on e.fact_id = c.fact_id and coalesce(e.ttl, 'infinity') >= coalesce(c.ttl, 'infinity')
    where not exists (select from public.fact_evidence own where own.fact_id = c.fact_id and own.packet_id = c.packet_id)
  ), supporters as (
    select s.packet_id, s.agent
    from stated s
    join public.packet_store p on p.packet_id = s.packet_id and p.content_hash = s.content_hash
    -- That the author of a memory asserts what it states is no use of it.
    where s.retracted_at is null and s.creator <> 'job' and packets.text_writer(p) <> s.agent
  )
  select v.packet_id, v.agent, bool_or(v.is_for), bool_or(not v.is_for)
  from (
    select s.packet_id, s.agent, true as is_for from supporters s
    union all
    select o.packet_id, o.agent, false from opponents o
  ) v
  group by v.packet_id, v.agent;
end;
comment on function facts.voices_on is 'Which agents besides the author asserted facts that these memories state, and which '
  'contradict them: one row per agent, however many facts.';

create function facts.changed_voices(packet_ids uuid[]) returns uuid[]
language sql stable set search_path = '' set enable_seqscan = off
return array(
  select distinct packet_id
  from facts.voices_on(changed_voices.packet_ids) n
  full join (
    select v.packet_id, v.agent, v.has_asserted, v.has_contradicted
    from importance.memory_voices v
    where v.packet_id = any (changed_voices.packet_ids) and (v.has_asserted or v.has_contradicted)
  ) k using (packet_id, agent)
  where (n.has_asserted, n.has_contradicted) is distinct from (k.has_asserted, k.has_contradicted));
comment on function facts.changed_voices is 'Which of these memories have other voices than memory_voices says.';

create function facts.recount_voices(packet_ids uuid[]) returns void language plpgsql volatile set search_path = '' as $$
declare
  changed_ids uuid[] := facts.changed_voices(recount_voices.packet_ids);
begin
  if cardinality(changed_ids) = 0 then
    return;
  end if;
  perform importance.lock_signals(changed_ids);
  -- A statement of its own, so that it sees what was committed before the locks were granted.
  with known as (
    select v.packet_id, v.agent from importance.memory_voices v where v.packet_id = any (changed_ids)
  )
  insert into importance.memory_voices as v (packet_id, agent, has_asserted, has_contradicted)
  select packet_id, agent, coalesce(n.has_asserted, false), coalesce(n.has_contradicted, false)
  from facts.voices_on(changed_ids) n
  full join known k using (packet_id, agent)
  where exists (select from public.memory_signals s where s.packet_id = coalesce(n.packet_id, k.packet_id))
  order by packet_id, agent
  on conflict (packet_id, agent) do update set has_asserted = excluded.has_asserted, has_contradicted = excluded.has_contradicted
  where (v.has_asserted, v.has_contradicted) is distinct from (excluded.has_asserted, excluded.has_contradicted);
  perform importance.sum_voices(changed_ids);
end $$;
comment on function facts.recount_voices is 'Writes these memories'' voices to memory_voices, sums to memory_signals.';
