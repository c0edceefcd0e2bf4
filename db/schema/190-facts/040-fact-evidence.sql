-- The table of statements that facts are computed from: who said so, from which memory, how sure and since when.
-- assert_fact_from() writes it; withdraw_evidence() and move_evidence() follow the memories.
create table public.fact_evidence (
  evidence_id uuid primary key default uuidv7(),
  fact_id uuid not null references public.knowledge_facts on delete cascade,
  packet_id uuid not null references public.packet_store on delete cascade,
  subject text not null,
  object jsonb not null,
  confidence double precision not null,
  mentions integer not null default 1,
  valid_from timestamptz not null,
  valid_to timestamptz,
  end_stated_at timestamptz,
  agent text not null,
  is_from_admin boolean not null,
  content_hash bytea not null,
  extracted_by text,
  into_world boolean not null default false,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz, creator text not null, created_at timestamptz not null, updated_at timestamptz not null,
  constraint evidence_counts_once unique (fact_id, packet_id, creator),
  constraint evidence_confidence_between_0_and_1 check (confidence between 0 and 1),
  constraint evidence_ends_after_it_begins check (valid_to >= valid_from),
  constraint evidence_end_has_time check ((valid_to is null) = (end_stated_at is null)),
  constraint evidence_is_mentioned check (mentions > 0),
  constraint evidence_extracted_by_at_most_200_bytes check (octet_length(extracted_by) <= 200)
);

-- Deferred, because a fact is inserted before its evidence.
alter table public.knowledge_facts add constraint knowledge_facts_source_is_evidence
  foreign key (fact_id, source_packet, creator) references public.fact_evidence (fact_id, packet_id, creator)
    deferrable initially deferred;

create index fact_evidence_packet_idx on public.fact_evidence (packet_id);

alter table public.fact_evidence
  alter column subject set statistics 0, alter column object set statistics 0, alter column extracted_by set statistics 0,
  alter column content_hash set statistics 0;

call derived.derive_from_packets('public.fact_evidence', 'evidence_id', 'packet_id', follows => false);
create trigger _320_stamp_statement before insert on public.fact_evidence
  for each row execute function derived.tg__stamp_statement('packet_id');
-- A fact is found by its normalised subject and object, so it is refused rather than redacted.
call secrets.guard_table('public.fact_evidence', array['correlation_id', 'session_id', 'trace_id', 'agent'], redacts => false);
call identity.describe('public.fact_evidence', 'Evidence of facts: one row for each statement of a fact, by a memory and who
    asserted it from there. A fact is computed from these rows.
  evidence_id: UUID version 7.
  fact_id: The fact that the memory states.
  packet_id: The memory that states the fact.
  subject: The subject as this memory spells it.
  object: The object as this memory spells it.
  confidence: The highest confidence that was given with this statement, from 0 to 1.
  mentions: How often the agent stated the fact in the same words without naming a memory; otherwise 1.
  valid_from: The start of validity that this memory states.
  valid_to: The end of validity that this memory states; null: none. Of several statements the last one that gives an end counts.
  end_stated_at: When that end was stated.
  agent: The creator name of the agent whose statement it is: creator or, if a job extracted the fact, the writer of the memory.
  is_from_admin: True if that agent was an administrator when it made the statement.
  content_hash: The hash of the text that the memory had when the fact was last stated from it. As use of the memory only
    statements from its present text count.
  into_world: True if the fact is to change the world model: a model extracted it, or a caller said so.
  extracted_by: The chat model that extracted the fact from the memory. Null: a caller asserted it.');
