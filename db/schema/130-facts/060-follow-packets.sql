create function facts.keys_of_evidence(packet_id uuid, audience_id uuid default null)
returns setof facts.fact_key
language sql
stable
set search_path = ''
begin atomic
  select distinct (f.tenant_id, coalesce(keys_of_evidence.audience_id, f.audience_id), f.subject_normalized, f.predicate, f.object_normalized)::facts.fact_key
  from public.fact_evidence e join public.knowledge_facts f on f.fact_id = e.fact_id
  where e.packet_id = keys_of_evidence.packet_id
  -- One order for all, so that nobody waits for each other in a circle.
  order by 1;
end;

comment on function facts.keys_of_evidence(uuid, uuid) is
  'What has to be settled when a memory changes; room: as it would be there. Not executable by callers.';

create function facts.withdraw_evidence(packet_id uuid, only_extracted boolean default true)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  keys facts.fact_key[];
  key facts.fact_key;
begin
  keys := array(select k from facts.keys_of_evidence(withdraw_evidence.packet_id) k);
  if cardinality(keys) = 0 then
    return;
  end if;
  foreach key in array keys loop
    perform facts.lock_facts(key);
  end loop;
  delete from public.fact_evidence e
  where e.packet_id = withdraw_evidence.packet_id
    and (not only_extracted or e.extracted_by is not null
      -- What was retracted stays, so that it is not found again.
      and not exists (select from public.knowledge_facts f where f.fact_id = e.fact_id and f.retracted_at is not null));
  foreach key in array keys loop
    perform facts.recompute_facts(
      key, facts.is_single_valued(key.tenant_id, key.predicate), packet_ids => array[withdraw_evidence.packet_id]);
  end loop;
end
$$;

comment on function facts.withdraw_evidence(uuid, boolean) is
  'Takes back what a memory says of facts (only_extracted: what a model found in it and nobody has retracted) and settles them without it. For jobs. Definer: writes tables that callers can''t.';

grant execute on function facts.withdraw_evidence(uuid, boolean) to l9_worker;

create function facts.tg_packet_store__leave_facts()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  perform facts.withdraw_evidence(old.packet_id, only_extracted => false);
  return old;
end
$$;

comment on function facts.tg_packet_store__leave_facts() is
  'Before a memory goes, facts that others say too are settled without it; the rest goes. Definer: callers can''t write these tables.';

-- Before: its foreign keys would take along what others still say.
create trigger _620_leave_facts before delete on public.packet_store
  for each row execute function facts.tg_packet_store__leave_facts();

create function facts.move_evidence(evidence public.fact_evidence, source public.packet_store, audience_id uuid)
returns void
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  fact public.knowledge_facts;
  key facts.fact_key;
  id uuid;
begin
  select f.* into fact from public.knowledge_facts f where f.fact_id = evidence.fact_id;
  key := (source.tenant_id, move_evidence.audience_id, fact.subject_normalized, fact.predicate, fact.object_normalized);
  if not exists (select from public.fact_evidence e where e.fact_id = fact.fact_id and e.evidence_id <> evidence.evidence_id) then
    -- It moves as it is. Links don't lead from one room to another, and why it was retracted was said in the old one.
    update public.knowledge_facts f set superseded_by = null, superseded_at = null where f.superseded_by = fact.fact_id;
    update public.knowledge_facts f set
      tenant_id = source.tenant_id, org_id = source.org_id, user_id = source.user_id, project_id = source.project_id,
      scope = source.scope, superseded_by = null, superseded_at = null, retraction_reason = null,
      -- As if it had ended at once, until it is settled.
      valid_to = f.valid_from, updated_at = clock_timestamp()
    where f.fact_id = fact.fact_id;
  elsif fact.retracted_at is not null then
    delete from public.fact_evidence e where e.evidence_id = evidence.evidence_id;
  else
    id := coalesce(
      facts.fact_at(key, facts.is_single_valued(key.tenant_id, key.predicate), evidence.valid_from),
      facts.new_fact(key, source.packet_id, evidence.subject, evidence.object, evidence.valid_from));
    if exists (select from public.fact_evidence e where e.fact_id = id and e.packet_id = source.packet_id) then
      delete from public.fact_evidence e where e.evidence_id = evidence.evidence_id;
    else
      update public.fact_evidence e set fact_id = id where e.evidence_id = evidence.evidence_id;
    end if;
  end if;
end
$$;

comment on function facts.move_evidence(public.fact_evidence, public.packet_store, uuid) is
  'What a memory says of a fact goes with it to another room: with the fact, where nobody else says so. Not executable by callers.';

create function facts.tg_packet_store__facts_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  audience_id uuid := packets.audience_id(new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope);
  has_moved boolean := audience_id <> packets.audience_id(old.tenant_id, old.org_id, old.user_id, old.project_id, old.scope);
  keys facts.fact_key[] := array(
    select k from facts.keys_of_evidence(new.packet_id) k
    union select k from facts.keys_of_evidence(new.packet_id, audience_id) k where has_moved
    order by 1);
  key facts.fact_key;
  evidence public.fact_evidence;
begin
  foreach key in array keys loop
    perform facts.lock_facts(key);
  end loop;
  if has_moved then
    for evidence in
      select e.* from public.fact_evidence e where e.packet_id = new.packet_id order by e.created_at, e.evidence_id
    loop
      perform facts.move_evidence(evidence, new, audience_id);
    end loop;
  end if;
  foreach key in array keys loop
    perform facts.recompute_facts(
      key, facts.is_single_valued(key.tenant_id, key.predicate), packet_ids => array[new.packet_id]);
  end loop;
  return null;
end
$$;

comment on function facts.tg_packet_store__facts_follow() is
  'What a memory says of facts moves where it moves, and facts expire with the last memory that says so. Definer: callers can''t write these tables.';

-- After _620_fact_evidence_follow, which moves the evidence.
call derived.follow_packets('_630_facts_follow', 'facts.tg_packet_store__facts_follow');
