create policy definer_functions on public.memory_signals to l9_owner
  using (
    (select identity.current_role_name()) not in ('l9_agent', 'l9_admin')
    or tenant_id = (select identity.current_tenant_id()));
comment on policy definer_functions on public.memory_signals is
  'Recomputing facts updates the contradiction counts of their source memories: in the caller''s tenant; for jobs and operators, in all tenants.';

create function facts.count_contradictions(packet_ids uuid[])
returns void
language sql
volatile
set search_path = ''
-- The planner can't know that the lists are short and would choose sequential scans.
set enable_seqscan = off
begin atomic
  with stated as (
    select e.packet_id, f.fact_id, f.superseded_by, f.object_normalized
    from public.fact_evidence e
    join public.knowledge_facts f on f.fact_id = e.fact_id
    where e.packet_id = any (packet_ids)
  ), contradicting as (
    select s.packet_id, g.fact_id
    from stated s join public.knowledge_facts g on g.fact_id = s.superseded_by and g.object_normalized <> s.object_normalized
    union
    select s.packet_id, g.fact_id
    from stated s join public.knowledge_facts g on g.superseded_by = s.fact_id and g.object_normalized <> s.object_normalized
  ), counted as (
    select m.packet_id, count(a.fact_id)::integer as contradictions
    from (select distinct p.id as packet_id from unnest(packet_ids) as p (id)) m
    left join contradicting a on a.packet_id = m.packet_id
      and not exists (select from public.fact_evidence own where own.fact_id = a.fact_id and own.packet_id = m.packet_id)
    group by m.packet_id
  ), locked as (
    select s.packet_id, c.contradictions
    from public.memory_signals s join counted c on c.packet_id = s.packet_id
    where s.contradiction_count <> c.contradictions
    order by s.packet_id
    for no key update of s
  )
  update public.memory_signals s set contradiction_count = l.contradictions
  from locked l
  where s.packet_id = l.packet_id;
end;

comment on function facts.count_contradictions(uuid[]) is
  'Counts for each memory how many facts of other memories contradict it, and writes the count to memory_signals, which lowers its importance. Not executable by callers.';
