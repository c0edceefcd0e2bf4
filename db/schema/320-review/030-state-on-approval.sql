-- Makes an approved memory state what waited with it: a fact, a relationship, a lesson, or what a model extracted. A trigger of
-- packet_store calls it.

create function review.number_of(arguments jsonb, name text, otherwise double precision) returns double precision
language sql immutable parallel safe set search_path = ''
return case when jsonb_typeof(arguments -> name) = 'number' then (arguments ->> name)::double precision else otherwise end;
comment on function review.number_of is 'A number among the arguments of a statement, or otherwise the default.';

create function review.link_lesson(memory public.packet_store, task_id text, reflection_id uuid) returns void
language sql volatile set search_path = ''
begin atomic
  select reflection.link_lesson(t.task_reflection_id, link_lesson.reflection_id)
  from public.task_reflections t
  where t.tenant_id = (memory).tenant_id and t.scope = (memory).scope and t.project_id is not distinct from (memory).project_id
    and t.org_id is not distinct from (memory).org_id and t.user_id is not distinct from (memory).user_id
    and t.task_id = link_lesson.task_id;
end;
comment on function review.link_lesson is 'Links an approved lesson to the task that its writer named, if that has a row. Not '
  'executable by callers.';

-- Each statement has the checks of its function; what a model extracted is asserted from the memory that it read.
create function review.state(memory public.packet_store) returns void
language plpgsql volatile set search_path = '' as $$
declare
  a constant jsonb := memory.envelope -> 'on_approval' -> 'arguments';
  lesson public.reflect_result;
  source public.packet_store;
begin
  case memory.envelope -> 'on_approval' ->> 'statement'
  when 'assert_fact' then
    perform facts.assert_fact_from(
      memory.packet_id, memory.envelope ->> 'subject', memory.envelope ->> 'predicate', memory.envelope -> 'object',
      review.number_of(a, 'confidence', 0.8), kinds.field_time(a -> 'valid_from'), is_mention => true,
      into_world => a -> 'into_world' = 'true', valid_to => kinds.field_time(a -> 'valid_to'));
  when 'relate' then
    perform graph.relate_from(
      memory.packet_id, a ->> 'source', a ->> 'type', a ->> 'target', review.number_of(a, 'confidence', 0.8));
  when 'reflect' then
    lesson := reflection.store_reflection(
      memory.packet_id, a ->> 'type', a ->> 'context',
      case when jsonb_typeof(a -> 'entities') = 'array' then array(select jsonb_array_elements_text(a -> 'entities')) end,
      review.number_of(a, 'confidence', reflection.default_confidence()), a ->> 'priority');
    perform review.link_lesson(memory, a ->> 'task_id', (lesson.reflection).reflection_id);
  when 'extract' then
    source := extraction.source_of_proposal(memory.packet_id);
    insert into derived.memories_being_restated (packet_id) values (source.packet_id) on conflict do nothing;
    perform extraction.assert_items(source, a -> 'extraction', a ->> 'model');
    delete from derived.memories_being_restated b where b.packet_id = source.packet_id;
  else
    perform identity.raise_error('L9VAL',
      'envelope.on_approval.statement: must be assert_fact, relate, reflect or extract', 'envelope.on_approval');
  end case;
end $$;
comment on function review.state is 'States what envelope.on_approval of a memory says, with the checks of assert_fact(), '
  'relate() and reflect(). Not executable by callers.';

create function review.tg_packet_store__follow_decision() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.withheld_creator is not null then
    perform review.withdraw(new);
    return null;
  end if;
  insert into derived.memories_being_restated (packet_id) values (new.packet_id);
  perform review.state(new);
  delete from derived.memories_being_restated a where a.packet_id = new.packet_id;
  return null;
end $$;
comment on function review.tg_packet_store__follow_decision is 'States what a memory was to state once it is approved, as the '
  'word of its creator; deletes what was derived from one that no longer counts. Definer: notes that the memory is being '
  'approved, where no caller may write.';

create trigger _680_follow_decision after update of review_state on public.packet_store
  for each row when (
    old.withheld_creator is not null and new.withheld_creator is null and new.envelope ? 'on_approval'
    or old.withheld_creator is null and new.withheld_creator is not null)
  execute function review.tg_packet_store__follow_decision();
