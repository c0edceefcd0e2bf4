-- The columns that only summaries have, one row for each memory of kind summary. store_summary_row() writes it;
-- callers read it over GraphQL.
create table public.memory_summaries (
  summary_id uuid primary key default uuidv7(),
  source_packet uuid not null unique references public.packet_store on delete cascade,
  scope_type text not null,
  scope_value text not null,
  key_facts text[] not null default '{}',
  key_entities text[] not null default '{}',
  key_decisions text[] not null default '{}',
  packet_count integer not null,
  confidence double precision not null,
  coverage_start timestamptz not null,
  coverage_end timestamptz not null,
  sources_saved_until timestamptz not null,
  valid_until timestamptz,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz, creator text not null, created_at timestamptz not null, updated_at timestamptz not null,
  constraint summary_scope_type_known check (scope_type = any (summaries.scope_types())),
  constraint summary_scope_value_short check (
    not identity.is_blank(scope_value) and octet_length(scope_value) <= summaries.max_subject_bytes()),
  constraint summary_rests_on_something check (packet_count between 1 and summaries.max_sources()),
  constraint summary_confidence_from_0_to_1 check (confidence between 0 and 1),
  constraint summary_coverage_in_order check (coverage_start <= coverage_end)
);
alter table public.memory_summaries
  alter column scope_value set statistics 0, alter column key_facts set statistics 0, alter column key_entities set statistics 0,
  alter column key_decisions set statistics 0;
-- One row for a subject of an audience. The audience is in the key, so that a row never collides with one that its writer can't
-- see.
create unique index memory_summaries_current_unique on public.memory_summaries
  (tenant_id, scope, project_id, org_id, user_id, scope_type, scope_value) nulls not distinct;
call identity.describe('public.memory_summaries', 'Summaries of many memories, one row for each memory of kind summary. Text and
    vector belong to that memory: memory_summaries_summary_text() returns the text, memory_embeddings holds the vector.
    memory_summaries_sources() and memory_summaries_source_packet_ids() return the memories that a summary rests on.
  summary_id: UUID version 7, ordered by the time when the summary was written.
  source_packet: The memory that holds the text and, in memory_embeddings, the vector.
  scope_type: The type of the subject: thread, agent, topic, time_period, project or task. It has nothing to do with scope, which
    decides who can read the summary.
  scope_value: The subject: a thread_id, a creator, a tag, an ISO week such as 2026-W47, a project_id or a correlation_id.
  key_facts: The most important facts.
  key_entities: The names of the entities that the summary is about, each once and as its writer spelled it.
  key_decisions: The decisions that were made.
  packet_count: The number of memories that the summary rests on, at most 500.
  confidence: The confidence of the writer in the summary, from 0 to 1.
  coverage_start: The event time of the source that happened first.
  coverage_end: The event time of the source that happened last.
  sources_saved_until: The time when the last of the sources was saved. Memories that were saved later count as new, whenever they
    happened.
  valid_until: The time from which the summary is due again although no memory was added; null: it never becomes due by time
    alone.');

call derived.derive_from_packets('public.memory_summaries', 'summary_id');
call derived.replace_expired('public.memory_summaries', 'source_packet', 'there is a summary of the same subject already',
  'scope_type', 'scope_value');
call secrets.guard_table('public.memory_summaries', array['correlation_id', 'session_id', 'trace_id', 'scope_type']);
