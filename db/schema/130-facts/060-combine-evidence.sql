create function facts.compute_fact_confidence(key facts.fact_key, is_single boolean, new_fact_id uuid)
returns void
language sql
volatile
set search_path = ''
begin atomic
  with evidence as (
    select e.fact_id,
      array_agg(e.subject order by e.created_at, e.evidence_id) as subjects,
      array_agg(e.object order by e.created_at, e.evidence_id) as objects,
      array_agg(e.packet_id order by e.created_at, e.evidence_id) as packets,
      array_agg(e.creator order by e.created_at, e.evidence_id) as creators,
      array_agg(e.source order by e.created_at, e.evidence_id) as sources,
      entities.noisy_or(array_agg(e.confidence)) as confidence,
      sum(e.mentions)::integer as mentions,
      min(e.valid_from) as valid_from,
      min(e.created_at) as recorded_at,
      case when bool_and(e.ttl is not null) then max(e.ttl) end as ttl
    from facts.facts_with_key(key, is_single) f
    join public.fact_evidence e on e.fact_id = f.fact_id
    group by e.fact_id
  )
  update public.knowledge_facts f set
    subject = s.subjects[1], object = s.objects[1], source_packet = s.packets[1], creator = s.creators[1], source = s.sources[1],
    confidence = s.confidence, supporting_packet_count = s.mentions,
    valid_from = s.valid_from, valid_to = case when f.valid_to is not null then greatest(f.valid_to, s.valid_from) end,
    recorded_at = s.recorded_at, ttl = s.ttl,
    updated_at = case when f.fact_id = new_fact_id then f.updated_at else clock_timestamp() end
  from evidence s
  where f.fact_id = s.fact_id
    and (f.subject, f.object, f.source_packet, f.creator, f.source, f.confidence, f.supporting_packet_count, f.valid_from, f.recorded_at, f.ttl)
      is distinct from
      (s.subjects[1], s.objects[1], s.packets[1], s.creators[1], s.sources[1], s.confidence, s.mentions, s.valid_from, s.recorded_at, s.ttl);
end;

comment on function facts.compute_fact_confidence(facts.fact_key, boolean, uuid) is
  'Computes spelling, confidence, counts and times of facts from their evidence. The new fact keeps its updated_at. Not executable by callers.';

create function facts.merge_facts(key facts.fact_key, is_single boolean)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
  duplicate record;
  has_merged boolean := false;
begin
  for duplicate in
    -- Consecutive facts with the same object; for a multi-valued predicate all facts of the key are consecutive.
    with ordered as (
      select f.fact_id, f.valid_from, f.recorded_at, f.retracted_at,
        f.retracted_at is not null or lag(f.retracted_at) over w is not null
          or lag(f.object_normalized) over w is distinct from f.object_normalized as is_first,
        row_number() over w as place
      from facts.facts_with_key(key, is_single) f
      window w as (order by not is_single and f.retracted_at is not null, f.valid_from, f.recorded_at, f.fact_id)
    ), grouped as (
      select o.fact_id, o.place, count(*) filter (where o.is_first) over (order by o.place) as group_number
      from ordered o
    )
    select g.fact_id, first_value(g.fact_id) over (partition by g.group_number order by g.place) as kept
    from grouped g
    order by g.place
  loop
    continue when duplicate.fact_id = duplicate.kept;
    has_merged := true;
    update public.fact_evidence k set
      confidence = greatest(k.confidence, e.confidence), mentions = greatest(k.mentions, e.mentions),
      valid_from = least(k.valid_from, e.valid_from), updated_at = clock_timestamp(),
      asserted_by = array(select distinct a.name from unnest(k.asserted_by || e.asserted_by) as a (name) order by a.name)
    from public.fact_evidence e
    where k.fact_id = duplicate.kept and e.fact_id = duplicate.fact_id and e.packet_id = k.packet_id;
    update public.fact_evidence e set fact_id = duplicate.kept, updated_at = clock_timestamp()
    where e.fact_id = duplicate.fact_id
      and not exists (select from public.fact_evidence k where k.fact_id = duplicate.kept and k.packet_id = e.packet_id);
    update public.knowledge_facts f set access_count = f.access_count + merged.access_count
    from public.knowledge_facts merged
    where f.fact_id = duplicate.kept and merged.fact_id = duplicate.fact_id;
    delete from public.knowledge_facts f where f.fact_id = duplicate.fact_id;
  end loop;
  return has_merged;
end
$$;

comment on function facts.merge_facts(facts.fact_key, boolean) is
  'Merges facts that state the same with no other value between them, and keeps the evidence of all. Returns true if any were merged. Not executable by callers.';
