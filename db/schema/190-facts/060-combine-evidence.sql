-- Two of the three steps of recompute_facts(): the values of each fact from its statements, and the merging of facts
-- that say the same.
create function facts.compute_fact_confidence(key facts.fact_key, is_single boolean, new_fact_id uuid) returns void
language sql volatile set search_path = ''
begin atomic
  with stated as (
    select e.*, bool_or(e.is_from_admin) over (partition by e.fact_id) = e.is_from_admin as is_decisive
    from facts.facts_with_key(key, is_single) f
    join public.fact_evidence e on e.fact_id = f.fact_id
  ), voices as (
    -- An agent counts once, with its strongest statement. Where an administrator speaks, agents don't make it more or less
    -- certain.
    select s.fact_id, s.agent, max(s.confidence) as confidence from stated s where s.is_decisive group by s.fact_id, s.agent
  ), confidences as (
    select v.fact_id, entities.noisy_or(array_agg(v.confidence)) as confidence from voices v group by v.fact_id
  ), first as (
    select distinct on (s.fact_id) s.fact_id, s.subject, s.object, s.packet_id, s.creator, s.source, s.is_from_admin
    from stated s where s.is_decisive order by s.fact_id, s.created_at, s.evidence_id
  ), sums as (
    select s.fact_id, sum(s.mentions)::integer as mentions, count(distinct s.agent)::integer as agents,
      -- The values of a predicate with many hold side by side, so an earlier beginning takes nothing from another.
      min(s.valid_from) filter (where s.is_decisive or not is_single) as valid_from,
      min(s.created_at) filter (where s.is_decisive or not is_single) as recorded_at,
      case when bool_and(s.ttl is not null) filter (where s.is_decisive) then max(s.ttl) filter (where s.is_decisive) end as ttl
    from stated s group by s.fact_id
  ), computed as (
    select s.*, c.confidence, i.subject, i.object, i.packet_id, i.creator, i.source, i.is_from_admin
    from sums s join confidences c using (fact_id) join first i using (fact_id)
  )
  update public.knowledge_facts f set
    subject = s.subject, object = s.object, source_packet = s.packet_id, creator = s.creator, source = s.source,
    is_from_admin = s.is_from_admin, confidence = s.confidence, supporting_packet_count = s.mentions, agent_count = s.agents,
    valid_from = s.valid_from, valid_to = case when f.valid_to is not null then greatest(f.valid_to, s.valid_from) end,
    recorded_at = s.recorded_at, ttl = s.ttl,
    updated_at = case when f.fact_id = new_fact_id then f.updated_at else clock_timestamp() end
  from computed s
  where f.fact_id = s.fact_id
    and (f.subject, f.object, f.source_packet, f.creator, f.source, f.is_from_admin, f.confidence, f.supporting_packet_count,
      f.agent_count,
        f.valid_from, f.recorded_at, f.ttl)
      is distinct from
      (s.subject, s.object, s.packet_id, s.creator, s.source, s.is_from_admin, s.confidence, s.mentions, s.agents,
        s.valid_from, s.recorded_at, s.ttl);
end;
comment on function facts.compute_fact_confidence is 'Computes facts from their evidence. The new one keeps updated_at.';

create function facts.groups_to_merge(key facts.fact_key, is_single boolean) returns table (fact_id uuid, kept uuid)
language sql stable set search_path = ''
begin atomic
  with ordered as (
    select f.*,
      f.is_from_admin and lag(f.object_normalized) over (
        partition by f.is_from_admin order by f.valid_from, f.recorded_at, f.fact_id)
          is distinct from f.object_normalized as begins_period
    from facts.facts_with_key(key, is_single) f
    where f.retracted_at is null
  ), placed as (
    select o.*,
      count(*) filter (where is_single and o.begins_period) over w as period,
      (is_single and lag(o.object_normalized) over w is distinct from o.object_normalized)::integer as begins_run,
      row_number() over w as place
    from ordered o
    window w as (order by o.valid_from, o.is_from_admin desc, o.recorded_at, o.fact_id)
  ), grouped as (
    -- Before an administrator speaks, the values of agents follow one another; afterwards each is beside the administrator's.
    select p.*, case when p.period = 0 then sum(p.begins_run) over (order by p.place) end as run
    from placed p
  )
  select g.fact_id, first_value(g.fact_id) over (partition by g.period, g.run, g.object_normalized order by g.place)
  from grouped g order by g.place;
end;
comment on function facts.groups_to_merge is 'Each unretracted fact, and the first with no other value between that states the '
  'same. What an agent states while an administrator''s holds stands beside that.';

-- Moves the evidence and the number of reads of each duplicate to the fact that is kept, and deletes the duplicate.
create function facts.merge_facts(key facts.fact_key, is_single boolean) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
  duplicate record;
  has_merged boolean := false;
begin
  for duplicate in
    select g.fact_id, g.kept from facts.groups_to_merge(key, is_single) g where g.fact_id <> g.kept
  loop
    has_merged := true;
    update public.fact_evidence k set
      confidence = greatest(k.confidence, e.confidence), mentions = greatest(k.mentions, e.mentions),
      valid_from = least(k.valid_from, e.valid_from),
      valid_to = coalesce(case when e.end_stated_at > k.end_stated_at then e.valid_to end, k.valid_to, e.valid_to),
      end_stated_at = greatest(k.end_stated_at, e.end_stated_at), updated_at = clock_timestamp()
    from public.fact_evidence e
    where k.fact_id = duplicate.kept and e.fact_id = duplicate.fact_id and (e.packet_id, e.creator) = (k.packet_id, k.creator);
    update public.fact_evidence e set fact_id = duplicate.kept, updated_at = clock_timestamp()
    where e.fact_id = duplicate.fact_id
      and not exists (
        select from public.fact_evidence k
        where k.fact_id = duplicate.kept and (k.packet_id, k.creator) = (e.packet_id, e.creator));
    update public.knowledge_facts f set access_count = f.access_count + merged.access_count
    from public.knowledge_facts merged
    where f.fact_id = duplicate.kept and merged.fact_id = duplicate.fact_id;
    delete from public.knowledge_facts f where f.fact_id = duplicate.fact_id;
  end loop;
  return has_merged;
end $$;
comment on function facts.merge_facts is 'Merges facts of groups_to_merge() and their evidence; true if any.';
