-- The operation assert_fact. Without a memory to cite it saves one of kind fact first; assert_fact_from() does the
-- rest.

create function facts.held_fact(memory public.packet_store, subject text, predicate text, object jsonb,
  confidence double precision) returns public.knowledge_facts
language plpgsql stable set search_path = '' as $$
declare
  fact public.knowledge_facts;
begin
  fact.subject := subject;
  fact.predicate := entities.normalise_name(predicate);
  fact.object := object;
  fact.confidence := confidence;
  fact.source_packet := (memory).packet_id;
  fact.supporting_packet_count := 0;
  fact.contradiction_count := 0;
  fact.valid_from := (memory).created_at;
  fact.recorded_at := (memory).created_at;
  fact.creator := (memory).metadata ->> 'creator';
  fact.source := (memory).metadata ->> 'source';
  fact.scope := (memory).scope;
  fact.project_id := (memory).project_id;
  return fact;
end $$;
comment on function facts.held_fact is 'The answer for a fact that waits for a review: without an id, because there is none yet.';
grant execute on function facts.held_fact to l9_agent, l9_admin;

-- A memory that is saved first may wait for a review; then the rest of the arguments waits in its envelope.
create function public.assert_fact(
  subject text, predicate text, object jsonb, confidence double precision default 0.8, source_packet uuid default null,
  valid_from timestamptz default null, scope text default null, project_id text default null, into_world boolean default false,
  valid_to timestamptz default null) returns public.knowledge_facts
language plpgsql volatile set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  packet_id uuid := assert_fact.source_packet;
  saved public.save_result;
begin
  if packet_id is not null then
    perform derived.refuse_withheld_source(packet_id);
    if assert_fact.scope is not null or nullif(assert_fact.project_id, '') is not null then
      perform identity.raise_error('L9VAL', 'scope, project_id: are taken from source_packet; leave them out', 'scope');
    end if;
    return facts.assert_fact_from(
      packet_id, assert_fact.subject, assert_fact.predicate, assert_fact.object, assert_fact.confidence, assert_fact.valid_from,
      into_world => assert_fact.into_world, valid_to => assert_fact.valid_to);
  end if;

  perform entities.check_name(assert_fact.subject, 'subject');
  perform entities.check_name(assert_fact.predicate, 'predicate');
  perform facts.check_object(assert_fact.object);
  saved := public.save_memory(
    btrim(assert_fact.subject) || ' ' || entities.normalise_name(assert_fact.predicate) || ': ' || (assert_fact.object #>> '{}'),
    scope => coalesce(assert_fact.scope, 'developer'),
    project_id => assert_fact.project_id,
    branch => '*',
    kind => 'fact',
    envelope => jsonb_build_object(
      'subject', assert_fact.subject, 'predicate', assert_fact.predicate, 'object', assert_fact.object)
      || derived.on_approval('fact', coalesce(assert_fact.scope, 'developer'),
        packets.project_or_default(assert_fact.project_id, coalesce(assert_fact.scope, 'developer')), 'assert_fact',
        jsonb_build_object('confidence', assert_fact.confidence, 'valid_from', assert_fact.valid_from,
          'valid_to', assert_fact.valid_to, 'into_world', assert_fact.into_world)));
  packet_id := (saved.memory).packet_id;
  if packets.is_withheld((saved.memory).review_state) then
    return facts.held_fact(saved.memory, assert_fact.subject, assert_fact.predicate, assert_fact.object, assert_fact.confidence);
  end if;
  perform derived.keep_alive(packet_id);
  return facts.assert_fact_from(
    packet_id, assert_fact.subject, assert_fact.predicate, assert_fact.object, assert_fact.confidence, assert_fact.valid_from,
    is_mention => true, into_world => assert_fact.into_world, valid_to => assert_fact.valid_to);
end $$;
comment on function public.assert_fact is 'Asserts a fact: subject, predicate, object, until valid_to. source_packet: a '
  'memory that states it; without one a memory of kind fact is saved; a fact without id waits for a review. Repeating a fact is '
  'support. A new value of a single-valued predicate supersedes the former, but an agent''s never an administrator''s. '
  'into_world: also changes the world model. Errors: L9OWN, L9SCP, L9VAL, L9LIM, L9AUT.';
grant execute on function public.assert_fact to l9_agent, l9_admin;
