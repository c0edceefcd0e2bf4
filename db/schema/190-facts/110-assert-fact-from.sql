-- Records a statement of a fact by a memory that exists already. assert_fact() calls it for callers, and
-- store_extraction() for the facts that a chat model found.
create function facts.fact_at(key facts.fact_key, is_single boolean, at timestamptz, is_from_admin boolean) returns uuid
language plpgsql stable set search_path = '' as $$
declare
  ruling public.knowledge_facts;
  neighbour public.knowledge_facts;
begin
  if not is_single then
    return (
      select f.fact_id from facts.facts_with_key(key, is_single) f
      where f.retracted_at is null order by f.valid_from desc, f.recorded_at desc, f.fact_id desc limit 1);
  end if;
  select f.* into ruling from facts.facts_with_key(key, is_single) f
  where f.retracted_at is null and f.is_from_admin and f.valid_from <= fact_at.at
  order by f.valid_from desc, f.recorded_at desc, f.fact_id desc limit 1;
  if ruling.object_normalized = key.object_normalized then
    return ruling.fact_id;
  elsif ruling.fact_id is not null and not fact_at.is_from_admin then
    return (
      select f.fact_id from facts.facts_with_key(key, is_single) f
      where f.retracted_at is null and not f.is_from_admin and f.superseded_by = ruling.fact_id
        and f.valid_from >= ruling.valid_from and f.object_normalized = key.object_normalized
      order by f.valid_from, f.fact_id limit 1);
  end if;
  for neighbour in
    (select f.* from facts.facts_with_key(key, is_single) f
     where f.retracted_at is null and not f.is_from_admin and f.valid_from <= fact_at.at and not fact_at.is_from_admin
     order by f.valid_from desc, f.recorded_at desc, f.fact_id desc limit 1)
    union all
    -- An administrator's facts follow one another, whatever agents state between them.
    (select f.* from facts.facts_with_key(key, is_single) f
     where f.retracted_at is null and f.valid_from > fact_at.at and (f.is_from_admin or not fact_at.is_from_admin)
     order by f.valid_from, f.is_from_admin desc, f.recorded_at, f.fact_id limit 1)
  loop
    if neighbour.object_normalized = key.object_normalized and neighbour.is_from_admin = fact_at.is_from_admin then
      return neighbour.fact_id;
    end if;
  end loop;
  return null;
end $$;
comment on function facts.fact_at is 'The fact that a statement is evidence of: one that states it at that time, or the next to '
  'begin, which then began earlier.';

create function facts.insert_fact(
  key facts.fact_key, source_packet uuid, subject text, object jsonb, valid_from timestamptz) returns uuid
language sql volatile set search_path = ''
begin atomic
  insert into public.knowledge_facts as f (
    subject, predicate, object, confidence, source_packet, subject_normalized, object_normalized,
    -- An empty validity, so that the fact is not current until it is recomputed.
    valid_from, valid_to, recorded_at)
  values (
    insert_fact.subject, (key).predicate, insert_fact.object, 0, insert_fact.source_packet, (key).subject_normalized,
    (key).object_normalized, insert_fact.valid_from, insert_fact.valid_from, clock_timestamp())
  returning f.fact_id;
end;
comment on function facts.insert_fact is 'Inserts a fact without evidence.';

-- Locks the memory and the key, finds or inserts the fact, adds or strengthens the evidence, and recomputes. A new
-- fact gets its confidence and validity then, like one that exists.
create function facts.assert_fact_from(
  packet_id uuid, subject text, predicate text, object jsonb, confidence double precision default 0.8,
  valid_from timestamptz default null, extracted_by text default null, is_mention boolean default false,
  into_world boolean default false, valid_to timestamptz default null) returns public.knowledge_facts
language plpgsql volatile security definer set search_path = '' as $$
declare
  source public.packet_store := derived.lock_source_memory(assert_fact_from.packet_id, kind => 'fact');
  key facts.fact_key := facts.key_of_fact(source, assert_fact_from.subject, assert_fact_from.predicate, assert_fact_from.object);
  -- Only a job may name the model that found the fact.
  model text := case when identity.current_role_name() = 'l9_worker' or derived.is_being_restated(assert_fact_from.packet_id)
    then left(assert_fact_from.extracted_by, 200) end;
  is_single boolean;
  by_admin constant boolean := derived.is_from_admin(source);
  begins_at timestamptz := assert_fact_from.valid_from;
  id uuid;
  new_fact_id uuid;
  fact public.knowledge_facts;
begin
  perform entities.check_confidence(assert_fact_from.confidence);
  if not isfinite(begins_at) then
    perform identity.raise_error('L9VAL', 'valid_from: must be a finite point in time');
  end if;
  perform facts.lock_facts(key);
  is_single := facts.is_single_valued(key.tenant_id, key.predicate);
  -- Read the clock after taking the lock so that lock order and timestamps agree. Model-extracted facts are dated at the
  -- memory's timestamp.
  begins_at := coalesce(begins_at, case when model is not null then source."timestamp" end, clock_timestamp());

  if model is not null then
    -- A fact that somebody retracted is not extracted from the same memory again.
    select f.* into fact
    from facts.facts_with_key(key, is_single) f
    join public.fact_evidence e on e.fact_id = f.fact_id and e.packet_id = assert_fact_from.packet_id
    where f.retracted_at is not null and f.object_normalized = key.object_normalized limit 1;
    if found then
      return fact;
    end if;
  end if;

  if not isfinite(assert_fact_from.valid_to) or assert_fact_from.valid_to <= begins_at then
    perform identity.raise_error('L9VAL', 'valid_to: must be a finite point in time after valid_from');
  end if;

  id := facts.fact_at(key, is_single, begins_at, by_admin);
  if id is null then
    new_fact_id := facts.insert_fact(
      key, assert_fact_from.packet_id, assert_fact_from.subject, assert_fact_from.object, begins_at);
    id := new_fact_id;
  end if;
  -- A fact that is stated again from its end on holds again.
  update public.fact_evidence e set valid_to = null, end_stated_at = null
  where e.fact_id = id and e.valid_to <= begins_at and (not e.is_from_admin or by_admin);
  insert into public.fact_evidence as e (
    fact_id, packet_id, subject, object, confidence, valid_from, valid_to, end_stated_at, content_hash, extracted_by, into_world)
  values (
    id, assert_fact_from.packet_id, assert_fact_from.subject, assert_fact_from.object,
    derived.bounded_confidence(source, assert_fact_from.confidence), begins_at, assert_fact_from.valid_to,
    case when assert_fact_from.valid_to is not null then clock_timestamp() end,
    source.content_hash, model, model is not null or coalesce(assert_fact_from.into_world, false))
  on conflict on constraint evidence_counts_once do update set
    -- An agent's strongest word counts, however often it repeats it.
    confidence = greatest(e.confidence, excluded.confidence), mentions = e.mentions + is_mention::integer,
    valid_from = least(e.valid_from, excluded.valid_from), valid_to = coalesce(excluded.valid_to, e.valid_to),
    end_stated_at = coalesce(excluded.end_stated_at, e.end_stated_at), content_hash = excluded.content_hash,
    -- A fact that a job finds too is no longer a model's extraction alone.
    extracted_by = case when excluded.extracted_by is not null then e.extracted_by end,
    into_world = e.into_world or excluded.into_world, updated_at = clock_timestamp();
  -- Inserted while the memory is locked, so that recompute_facts() never waits for this row.
  insert into public.memory_signals (packet_id, tenant_id) values (assert_fact_from.packet_id, key.tenant_id)
  on conflict do nothing;
  perform facts.recompute_facts(key, is_single, new_fact_id, array[assert_fact_from.packet_id]);

  -- The fact may have been merged with an equal one.
  select f.* into fact
  from public.knowledge_facts f join public.fact_evidence e on e.fact_id = f.fact_id
  where e.packet_id = assert_fact_from.packet_id and f.audience_id = key.audience_id
    and f.subject_normalized = key.subject_normalized
    and f.predicate = key.predicate and f.object_normalized = key.object_normalized and f.retracted_at is null
  order by f.fact_id = id desc, f.valid_from desc limit 1;
  return fact;
end $$;
comment on function facts.assert_fact_from is 'Asserts a fact that a memory states. For jobs, extracted_by is the chat model '
  'that found it. is_mention: the memory holds the caller''s own words, so that repeating them counts as another mention. '
  'into_world: the fact changes the world model, as every extracted one does. Errors: L9OWN, L9SCP, L9VAL, L9LIM. Definer: '
  'writes tables that callers can''t write; the caller must be able to read the memory and to write in its scope.';
grant execute on function facts.assert_fact_from to l9_agent, l9_admin, l9_worker;
