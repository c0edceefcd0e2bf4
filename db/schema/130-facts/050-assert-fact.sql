create function facts.object_text(object jsonb)
returns text
language sql
immutable
parallel safe
set search_path = ''
return entities.normalise_name(object #>> '{}');

comment on function facts.object_text(jsonb) is
  'The object of a fact as it is compared: a text, number or truth value as a name would be, anything else by its JSON.';

create function facts.check_object(object jsonb)
returns text
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  normalised text := facts.object_text(object);
begin
  if coalesce(normalised, '') = '' then
    perform identity.raise_error('L9VAL', 'object: a value is required', 'object');
  end if;
  perform identity.check_bytes(object::text, 8192, 'object'), identity.check_bytes(normalised, 8192, 'object');
  if jsonb_path_exists(object, '$.**{60}') then
    perform identity.raise_error('L9LIM', 'object: at most 60 levels deep', 'object');
  end if;
  return normalised;
end
$$;

comment on function facts.check_object(jsonb) is 'object_text() of an object that is there and fits; else L9VAL or L9LIM.';

create function facts.key_of_fact(source public.packet_store, subject text, predicate text, object jsonb)
returns facts.fact_key
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  key facts.fact_key;
begin
  key.tenant_id := source.tenant_id;
  key.audience_id := packets.audience_id(source.tenant_id, source.org_id, source.user_id, source.project_id, source.scope);
  key.subject_normalized := entities.check_name(subject, 'subject');
  key.predicate := entities.check_name(predicate, 'predicate');
  key.object_normalized := facts.check_object(object);
  return key;
end
$$;

comment on function facts.key_of_fact(public.packet_store, text, text, jsonb) is
  'Where what a memory says belongs; errors where it is no fact.';

create function facts.fact_at(key facts.fact_key, is_single boolean, at timestamptz)
returns uuid
language sql
stable
set search_path = ''
begin atomic
  select n.fact_id
  from (
    (select f.fact_id, f.object_normalized, 1 as place from facts.facts_of(key, is_single) f
     where f.retracted_at is null and (f.valid_from <= fact_at.at or not is_single)
     order by f.valid_from desc, f.recorded_at desc, f.fact_id desc limit 1)
    union all
    (select f.fact_id, f.object_normalized, 2 from facts.facts_of(key, is_single) f
     where f.retracted_at is null and f.valid_from > fact_at.at and is_single
     order by f.valid_from, f.recorded_at, f.fact_id limit 1)
  ) n
  where n.object_normalized = (key).object_normalized
  order by n.place
  limit 1;
end;

comment on function facts.fact_at(facts.fact_key, boolean, timestamptz) is
  'The fact that says this already, at that time or (then it began earlier than was known) next after it. Not executable by callers.';

create function facts.new_fact(
  key facts.fact_key, source_packet uuid, subject text, object jsonb, valid_from timestamptz)
returns uuid
language sql
volatile
set search_path = ''
begin atomic
  insert into public.knowledge_facts as f (
    subject, predicate, object, confidence, source_packet, subject_normalized, object_normalized,
    -- As if it had ended at once, until it is settled.
    valid_from, valid_to, recorded_at)
  values (
    new_fact.subject, (key).predicate, new_fact.object, 0, new_fact.source_packet, (key).subject_normalized,
    (key).object_normalized, new_fact.valid_from, new_fact.valid_from, clock_timestamp())
  returning f.fact_id;
end;

comment on function facts.new_fact(facts.fact_key, uuid, text, jsonb, timestamptz) is
  'Adds a fact that has no evidence yet. Not executable by callers.';

create function facts.assert_fact_from(
  packet_id uuid,
  subject text,
  predicate text,
  object jsonb,
  confidence double precision default 0.8,
  valid_from timestamptz default null,
  extracted_by text default null,
  is_mention boolean default false
)
returns public.knowledge_facts
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source public.packet_store := derived.lock_source_memory(assert_fact_from.packet_id);
  key facts.fact_key := facts.key_of_fact(source, assert_fact_from.subject, assert_fact_from.predicate, assert_fact_from.object);
  -- Only a job can say that a model found it.
  model text := case when identity.current_role_name() = 'l9_worker' then left(assert_fact_from.extracted_by, 200) end;
  me text := coalesce(identity.current_creator(), 'job');
  is_single boolean;
  began timestamptz := assert_fact_from.valid_from;
  id uuid;
  fresh uuid;
  fact public.knowledge_facts;
begin
  perform entities.check_confidence(assert_fact_from.confidence);
  if not isfinite(began) then
    perform identity.raise_error('L9VAL', 'valid_from: a point in time', 'valid_from');
  end if;
  is_single := facts.lock_facts(key);
  -- Only now, so that of those who wait for each other the last has the last word. What a model finds was so when it was written.
  began := coalesce(began, case when model is not null then source."timestamp" end, clock_timestamp());

  if model is not null then
    -- What somebody has retracted is not found again in the same memory.
    select f.* into fact
    from facts.facts_of(key, is_single) f
    join public.fact_evidence e on e.fact_id = f.fact_id and e.packet_id = assert_fact_from.packet_id
    where f.retracted_at is not null and f.object_normalized = key.object_normalized
    limit 1;
    if found then
      return fact;
    end if;
  end if;

  id := facts.fact_at(key, is_single, began);
  if id is null then
    fresh := facts.new_fact(key, assert_fact_from.packet_id, assert_fact_from.subject, assert_fact_from.object, began);
    id := fresh;
  end if;
  insert into public.fact_evidence as e (fact_id, packet_id, subject, object, confidence, valid_from, asserted_by, extracted_by)
  values (
    id, assert_fact_from.packet_id, assert_fact_from.subject, assert_fact_from.object, assert_fact_from.confidence, began,
    array[me], model)
  on conflict (fact_id, packet_id) do update set
    -- One memory is one piece of evidence, however often it is pointed to; only to repeat oneself is to say it again.
    confidence = case when is_mention then least(0.99, 1 - (1 - e.confidence) * (1 - excluded.confidence))
      else greatest(e.confidence, excluded.confidence) end,
    mentions = e.mentions + is_mention::integer,
    valid_from = least(e.valid_from, excluded.valid_from),
    asserted_by = case when me = any (e.asserted_by) then e.asserted_by else e.asserted_by || me end,
    -- What a caller stands for is no longer only a model's.
    extracted_by = case when excluded.extracted_by is not null then e.extracted_by end,
    updated_at = clock_timestamp();
  -- Made while its memory is locked, so that settling never has to wait for one.
  insert into public.memory_signals (packet_id, tenant_id) values (assert_fact_from.packet_id, key.tenant_id)
  on conflict do nothing;
  perform facts.recompute_facts(key, is_single, fresh, array[assert_fact_from.packet_id]);

  -- It may have become one with another.
  select f.* into fact
  from public.knowledge_facts f join public.fact_evidence e on e.fact_id = f.fact_id
  where e.packet_id = assert_fact_from.packet_id and f.audience_id = key.audience_id and f.subject_normalized = key.subject_normalized
    and f.predicate = key.predicate and f.object_normalized = key.object_normalized and f.retracted_at is null
  order by f.fact_id = id desc, f.valid_from desc
  limit 1;
  return fact;
end
$$;

comment on function facts.assert_fact_from(uuid, text, text, jsonb, double precision, timestamptz, text, boolean) is
  'assert_fact() of a memory, also for jobs: extracted_by is then the chat model that found it. is_mention: the memory is the caller''s own words, and repeating them counts. Errors: L9OWN, L9SCP, L9VAL, L9LIM. Definer: writes tables that callers can''t; the memory must be one that the caller sees and could write beside.';

grant execute on function
  facts.assert_fact_from(uuid, text, text, jsonb, double precision, timestamptz, text, boolean)
to l9_agent, l9_admin, l9_worker;

create function public.assert_fact(
  subject text,
  predicate text,
  object jsonb,
  confidence double precision default 0.8,
  source_packet uuid default null,
  valid_from timestamptz default null,
  scope text default null,
  project_id text default null
)
returns public.knowledge_facts
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  packet_id uuid := assert_fact.source_packet;
begin
  if packet_id is not null then
    if assert_fact.scope is not null or assert_fact.project_id is not null then
      perform identity.raise_error('L9VAL', 'scope, project_id: those of source_packet; leave them out', 'scope');
    end if;
    return facts.assert_fact_from(
      packet_id, assert_fact.subject, assert_fact.predicate, assert_fact.object, assert_fact.confidence, assert_fact.valid_from);
  end if;

  perform entities.check_name(assert_fact.subject, 'subject');
  perform entities.check_name(assert_fact.predicate, 'predicate');
  perform facts.check_object(assert_fact.object);
  packet_id := ((public.save_memory(
    btrim(assert_fact.subject) || ' ' || entities.normalise_name(assert_fact.predicate) || ': ' || (assert_fact.object #>> '{}'),
    scope => coalesce(assert_fact.scope, 'developer'),
    project_id => assert_fact.project_id,
    kind => 'fact',
    envelope => jsonb_build_object(
      'subject', assert_fact.subject, 'predicate', assert_fact.predicate, 'object', assert_fact.object))).memory).packet_id;
  return facts.assert_fact_from(
    packet_id, assert_fact.subject, assert_fact.predicate, assert_fact.object, assert_fact.confidence, assert_fact.valid_from,
    is_mention => true);
end
$$;

comment on function public.assert_fact(text, text, jsonb, double precision, uuid, timestamptz, text, text) is
  'States that something is so: subject, predicate, object. source_packet: the memory that says it; without one a memory of kind fact is saved, in scope (developer) and project_id. Said before, the fact gains support and confidence. Where the predicate is registered as single-valued, another value is superseded; valid_from in the past makes history. Errors: L9OWN, L9SCP, L9VAL, L9LIM, L9AUT.';

grant execute on function public.assert_fact(text, text, jsonb, double precision, uuid, timestamptz, text, text)
  to l9_agent, l9_admin;
grant execute on function facts.object_text(jsonb), facts.check_object(jsonb)
  to l9_agent, l9_admin, l9_platform_admin;
