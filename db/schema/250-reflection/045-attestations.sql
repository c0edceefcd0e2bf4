-- What each agent attested of a lesson. store_reflection() writes it, a change of the text clears it, and refresh_lessons()
-- computes from it the numbers of reflection_store.
create table reflection.attestations (
  reflection_id uuid not null references public.reflection_store on delete cascade,
  agent text not null,
  confidence double precision not null,
  priority text not null,
  times_seen integer not null default 1,
  last_seen timestamptz not null default clock_timestamp(),
  primary key (reflection_id, agent),
  constraint attestation_confidence_between_0_and_1 check (confidence between 0 and 1),
  constraint attestation_priority_known check (priority = any (reflection.priorities())),
  constraint attestation_seen_once_at_least check (times_seen >= 1)
);
call identity.describe('reflection.attestations', 'What each agent attested of a lesson: one row for each lesson and agent, so
    that an agent counts once however often it repeats itself. An attestation belongs to the text that it was given for.
  reflection_id: The lesson.
  agent: The creator name of the agent.
  confidence: The highest confidence that the agent gave.
  priority: The highest priority that the agent gave.
  times_seen: How often the agent saved the lesson.
  last_seen: When the agent last saved it.');
call identity.keep_private('reflection.attestations',
  functions => 'Only functions of the owner read and write it, for a lesson that the caller may read.');
-- Callers have no grant: reflection_store holds the sums.

create function reflection.higher_priority(one text, other text) returns text
language sql immutable parallel safe set search_path = ''
return case when reflection.priority_rank(one) >= reflection.priority_rank(other) then one else other end;
comment on function reflection.higher_priority is 'The higher of two priorities.';

create function reflection.refresh_lesson(reflection_id uuid) returns public.reflection_store
language sql volatile set search_path = ''
begin atomic
  update public.reflection_store r
  set confidence = s.confidence, priority = s.priority, times_seen = s.times_seen, agent_count = s.agents,
    last_seen = s.last_seen, updated_at = clock_timestamp()
  from (
    select entities.noisy_or(array_agg(a.confidence) filter (where a.is_decisive)) as confidence,
      (reflection.priorities())[1 + max(reflection.priority_rank(a.priority)) filter (where a.is_decisive)] as priority,
      sum(a.times_seen)::integer as times_seen, count(*)::integer as agents, max(a.last_seen) as last_seen
    from (
      -- Where an administrator speaks, agents make it neither more certain nor more urgent.
      select a.*, bool_or(v.is_from_admin) over () = v.is_from_admin as is_decisive
      from reflection.attestations a
      join public.reflection_store l using (reflection_id)
      cross join lateral (select identity.is_admin_creator(l.tenant_id, a.agent) as is_from_admin) v
      where a.reflection_id = refresh_lesson.reflection_id
    ) a
  ) s
  where r.reflection_id = refresh_lesson.reflection_id returning r.*;
end;
comment on function reflection.refresh_lesson is 'Computes a lesson from its attestations, of administrators if there are any.';

create function reflection.tg_packet_store__attest_again() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
  lesson_id constant uuid := (select r.reflection_id from public.reflection_store r where r.source_packet = new.packet_id);
begin
  if lesson_id is null then
    return null;
  end if;
  delete from reflection.attestations a where a.reflection_id = lesson_id and a.agent <> derived.agent_for(new);
  insert into reflection.attestations as a (reflection_id, agent, confidence, priority)
  values (lesson_id, derived.agent_for(new), reflection.default_confidence(), reflection.default_priority())
  on conflict (reflection_id, agent) do update set times_seen = 1, last_seen = excluded.last_seen;
  perform reflection.refresh_lesson(lesson_id);
  return null;
end $$;
comment on function reflection.tg_packet_store__attest_again is 'Starts a lesson with a new text again from its writer''s '
  'attestation or, without one, by default. Definer: callers can''t write these tables.';

create trigger _630_attest_again after update of envelope on public.packet_store
  for each row when (new.content_hash is distinct from old.content_hash)
  execute function reflection.tg_packet_store__attest_again();
