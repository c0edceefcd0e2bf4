-- Counts how often facts were found, from the access log into knowledge_facts. roll_up_accesses() calls it.
create function facts.roll_up_fact_accesses_between(from_xid xid8, to_xid xid8, era_after timestamptz) returns void
language sql volatile set search_path = ''
begin atomic
  with accessed as (
    select a.target_id as fact_id, count(*) as times
    from importance.memory_access_log a
    -- Callers write their own log rows, so a row counts only if that caller could read the fact.
    join public.knowledge_facts f on f.fact_id = a.target_id and f.tenant_id = a.tenant_id and f.scope = a.scope
      and f.project_id is not distinct from a.project_id
      and (a.is_admin or (f.org_id is null or f.org_id = a.org_id) and (f.user_id is null or f.user_id = a.user_id))
    where a.target_type = 'fact' and a.xid >= from_xid and a.xid < to_xid and a.accessed_at > era_after group by a.target_id
  ), locked as (
    -- Rows are locked in the order of their ids, as in recompute_facts(), so that the two can't deadlock.
    select f.fact_id from public.knowledge_facts f
    where f.fact_id in (select a.fact_id from accessed a) order by f.fact_id
    for no key update
  )
  update public.knowledge_facts f set access_count = f.access_count + a.times
  from accessed a join locked l on l.fact_id = a.fact_id
  where f.fact_id = a.fact_id;
end;
comment on function facts.roll_up_fact_accesses_between is 'Adds accesses later than era_after to facts'' access_count.';

-- An index on knowledge_facts calls content_hash(), so updating a fact needs the right to execute it.
grant execute on function facts.roll_up_fact_accesses_between, packets.content_hash to l9_worker;
