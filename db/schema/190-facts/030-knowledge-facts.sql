-- The table of facts. Callers read it over GraphQL and find_facts(); only functions of this chapter write it, and
-- recompute_facts() computes each row from fact_evidence.
create table public.knowledge_facts (
  fact_id uuid primary key default uuidv7(),
  subject text not null,
  predicate text not null,
  object jsonb not null,
  confidence double precision not null,
  -- References fact_evidence, which references the memory. A foreign key to packet_store would deadlock with a concurrent
  -- delete that recomputes this fact.
  source_packet uuid not null,
  subject_normalized text not null,
  object_normalized text not null,
  is_single_valued boolean not null default false,
  supporting_packet_count integer not null default 1,
  agent_count integer not null default 1,
  is_from_admin boolean not null default false,
  contradiction_count integer not null default 0,
  access_count bigint not null default 0,
  valid_from timestamptz not null,
  valid_to timestamptz,
  recorded_at timestamptz not null,
  superseded_by uuid,
  superseded_at timestamptz,
  retracted_at timestamptz,
  retraction_reason text,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz, creator text not null, created_at timestamptz not null, updated_at timestamptz not null,
  audience_id uuid not null,
  unique (fact_id, audience_id),
  -- The key includes the audience, so a link never leads to a fact that other callers see.
  constraint knowledge_facts_superseded_by_fkey foreign key (superseded_by, audience_id)
    references public.knowledge_facts (fact_id, audience_id)
    on delete set null (superseded_by),
  constraint fact_names_not_blank check (subject_normalized <> '' and predicate <> '' and object_normalized <> ''),
  constraint fact_predicate_normalised check (predicate = entities.normalise_name(predicate)),
  constraint fact_confidence_between_0_and_099 check (confidence between 0 and 0.99),
  constraint fact_counts_not_negative check (
    supporting_packet_count > 0 and agent_count between 1 and supporting_packet_count and contradiction_count >= 0
      and access_count >= 0),
  constraint fact_ends_after_it_begins check (valid_to >= valid_from),
  constraint fact_retraction_has_time check (retraction_reason is null or retracted_at is not null),
  constraint fact_retraction_reason_at_most_1000_bytes check (octet_length(retraction_reason) <= 1000)
) with (
  -- Leaves room for HOT updates of access_count, which no index contains.
  fillfactor = 80
);

-- Guarantees one current value also under concurrent writes.
create unique index fact_has_one_current_value on public.knowledge_facts (audience_id, subject_normalized, predicate)
  where is_single_valued and valid_to is null and retracted_at is null;
create unique index fact_is_current_once
  on public.knowledge_facts (audience_id, subject_normalized, predicate, packets.content_hash(object_normalized))
  where valid_to is null and retracted_at is null;
create index knowledge_facts_history_idx on public.knowledge_facts (audience_id, subject_normalized, predicate, valid_from);
create index knowledge_facts_subject_idx on public.knowledge_facts (tenant_id, subject_normalized, predicate);
create index knowledge_facts_predicate_idx on public.knowledge_facts (tenant_id, predicate);
-- A hash index, because an object may be longer than a B-tree entry can be.
create index knowledge_facts_object_idx on public.knowledge_facts using hash (object_normalized);
create index knowledge_facts_source_idx on public.knowledge_facts (source_packet);
create index knowledge_facts_superseded_by_idx on public.knowledge_facts (superseded_by, audience_id);

-- Erased contents must not survive in the planner's statistics.
alter table public.knowledge_facts
  alter column subject set statistics 0, alter column predicate set statistics 0, alter column object set statistics 0,
  alter column subject_normalized set statistics 0, alter column object_normalized set statistics 0,
  alter column retraction_reason set statistics 0;

call derived.derive_from_packets('public.knowledge_facts', 'fact_id', 'source_packet', follows => false,
  evidence_table => 'fact_evidence');
-- Subject and object are those of its evidence, which is guarded itself.
call secrets.guard_table(
  'public.knowledge_facts', array['correlation_id', 'session_id', 'trace_id', 'subject', 'object'], redacts => false);
call identity.describe('public.knowledge_facts', 'Facts: subject, predicate and object, with two time axes. Validity: from
    valid_from to valid_to. Knowledge: from recorded_at until superseded_at or retracted_at. Every fact is computed from its rows
    in fact_evidence. assert_fact() and retract_fact() write this table.
  fact_id: UUID version 7.
  subject: The entity that the fact is about, spelled as in the statement that counts most: an administrator''s before an
    agent''s, then the oldest.
  predicate: What the fact says of its subject: lower case, white space trimmed and collapsed.
  object: The value: a text, number, truth value, list or object.
  confidence: From 0 to 0.99: 1 - Π(1 - c) over the agents that state the fact, where c is the highest confidence that the agent
    gave. What an administrator states has the confidence of administrators alone.
  source_packet: The memory of the statement that counts most: an administrator''s before an agent''s, then the oldest.
    fact_evidence lists all of them.
  subject_normalized: The subject in the form in which names are compared.
  object_normalized: The object in the form in which objects are compared.
  is_single_valued: True if the predicate is registered as single-valued.
  supporting_packet_count: How often the fact was stated: once for each memory and agent, and once more each time an agent
    repeated the fact without naming a memory.
  agent_count: How many agents state the fact. Rankings count these.
  is_from_admin: True if an administrator states the fact. What agents state against it while it holds is kept with superseded_by
    and an empty validity: it is never current.
  contradiction_count: How many agents stated a different value of the same subject and predicate that superseded this one, was
    superseded by it, or is outranked by an administrator''s, up to the end of its validity.
  access_count: How often find_facts() returned the fact, as of the last roll-up of the access log.
  valid_from: Start of validity: the earliest that any of its statements gives; of a single-valued predicate, any of those that
    count for its confidence.
  valid_to: End of validity: as stated, or when the superseding fact started to hold; valid_from for a fact that an
    administrator''s outranks. Null: the fact still holds unless it is retracted.
  recorded_at: When the fact was first asserted.
  superseded_by: The fact that superseded or outranks this one; it has the same tenant, org, user, project and scope.
  superseded_at: When the superseding fact was recorded.
  retracted_at: When a caller retracted the fact: it is not true and never was.
  retraction_reason: The reason that the caller gave for the retraction.
  audience_id: Hash of tenant, org, user, project and scope. Rows with equal values are visible to the same callers.');

create policy worker_counts on public.knowledge_facts for update to l9_worker using (true);
comment on policy worker_counts on public.knowledge_facts is 'The job that rolls up the access log updates access_count; the '
  'grant allows no other column.';
grant update (access_count) on public.knowledge_facts to l9_worker;
-- No role has any other privilege to insert, update or delete.

create function facts.tg_knowledge_facts__audience() returns trigger language plpgsql set search_path = '' as $$
begin
  new.audience_id := packets.audience_id(new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope);
  return new;
end $$;
comment on function facts.tg_knowledge_facts__audience is 'Sets audience_id from tenant, org, user, project and scope.';

create trigger _310_audience before insert or update of tenant_id, org_id, user_id, project_id, scope on public.knowledge_facts
  for each row execute function facts.tg_knowledge_facts__audience();
