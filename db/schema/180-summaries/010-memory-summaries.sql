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
  valid_until timestamptz,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint summary_scope_type_known check (scope_type = any (summaries.scope_types())),
  constraint summary_scope_value_short check (scope_value ~ '\S' and octet_length(scope_value) <= summaries.max_subject_bytes()),
  constraint summary_rests_on_something check (packet_count between 1 and summaries.max_sources()),
  constraint summary_confidence_from_0_to_1 check (confidence between 0 and 1),
  constraint summary_coverage_in_order check (coverage_start <= coverage_end)
);

alter table public.memory_summaries
  alter column scope_value set statistics 0, alter column key_facts set statistics 0, alter column key_entities set statistics 0,
  alter column key_decisions set statistics 0;

-- One row for a subject of an audience. The audience is in the key, so that a row never collides with one that its writer can't see.
create unique index memory_summaries_current_unique on public.memory_summaries
  (tenant_id, scope, project_id, org_id, user_id, scope_type, scope_value) nulls not distinct;

comment on table public.memory_summaries is
  'Summaries of many memories, one row for each memory of kind summary. Text and vector belong to that memory: memory_summaries_summary_text() returns the text, memory_embeddings holds the vector. memory_summaries_sources() and memory_summaries_source_packet_ids() return the memories that a summary rests on.';
comment on column public.memory_summaries.summary_id is 'UUID version 7, ordered by the time when the summary was written.';
comment on column public.memory_summaries.source_packet is 'The memory that holds the text and, in memory_embeddings, the vector.';
comment on column public.memory_summaries.scope_type is
  'The type of the subject: thread, agent, topic, time_period, project or task. It has nothing to do with scope, which decides who can read the summary.';
comment on column public.memory_summaries.scope_value is
  'The subject: a thread_id, a creator, a tag, an ISO week such as 2026-W47, a project_id or a correlation_id.';
comment on column public.memory_summaries.key_facts is 'The most important facts.';
comment on column public.memory_summaries.key_entities is
  'The names of the entities that the summary is about, normalised (case, white space, Unicode).';
comment on column public.memory_summaries.key_decisions is 'The decisions that were made.';
comment on column public.memory_summaries.packet_count is 'The number of memories that the summary rests on, at most 500.';
comment on column public.memory_summaries.confidence is 'The confidence of the writer in the summary, from 0 to 1.';
comment on column public.memory_summaries.coverage_start is 'The time when the oldest source was saved.';
comment on column public.memory_summaries.coverage_end is 'The time when the newest source was saved.';
comment on column public.memory_summaries.valid_until is
  'The time from which the summary is due again although no memory was added; null: it never becomes due by time alone.';

call derived.derive_from_packets('public.memory_summaries', 'summary_id');

create table public.memory_summary_sources (
  summary_packet uuid not null references public.memory_summaries (source_packet) on delete cascade,
  packet_id uuid not null references public.packet_store on delete cascade,
  is_changed boolean not null default false,
  tenant_id uuid not null references public.tenants,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (summary_packet, packet_id)
);

create index memory_summary_sources_packet_idx on public.memory_summary_sources (packet_id);

comment on table public.memory_summary_sources is 'The memories that each summary rests on.';
comment on column public.memory_summary_sources.summary_packet is 'The memory of the summary.';
comment on column public.memory_summary_sources.packet_id is 'The memory that the summary rests on.';
comment on column public.memory_summary_sources.is_changed is
  'True if the text of the source was changed since; then the summary is due again.';
comment on column public.memory_summary_sources.tenant_id is 'The tenant of both memories.';
comment on column public.memory_summary_sources.created_at is 'The time when the summary was written.';
comment on column public.memory_summary_sources.updated_at is 'The time when is_changed was last set.';

alter table public.memory_summary_sources enable row level security;
alter table public.memory_summary_sources force row level security;

create policy tenant_isolation on public.memory_summary_sources as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.memory_summary_sources for select to l9_agent, l9_admin
  using (
    exists (select from public.memory_summaries s where s.source_packet = memory_summary_sources.summary_packet)
    and exists (select from public.packet_store p where p.packet_id = memory_summary_sources.packet_id));
create policy platform_override on public.memory_summary_sources for select to l9_platform_admin
  using (
    (select identity.allow_and_audit_operator_read('memory_summary_sources'))
    and exists (select from public.memory_summaries s where s.source_packet = memory_summary_sources.summary_packet)
    and exists (select from public.packet_store p where p.packet_id = memory_summary_sources.packet_id));
create policy worker_access on public.memory_summary_sources for select to l9_worker using (true);
create policy definer_functions on public.memory_summary_sources to l9_owner using (true);

comment on policy tenant_isolation on public.memory_summary_sources is 'Nothing is shared between tenants.';
comment on policy scope_access on public.memory_summary_sources is
  'A row is visible to callers that may read both the summary and the source. The policies of these two tables decide, so the row follows both wherever they move.';
comment on policy platform_override on public.memory_summary_sources is
  'Operators read across tenants, and each read is audited. A row is hidden when the summary or the source has expired.';
comment on policy worker_access on public.memory_summary_sources is 'Background jobs read all rows.';
comment on policy definer_functions on public.memory_summary_sources is
  'Functions that delete summaries when a source is deleted or moves must also see rows that the caller does not.';

grant select on public.memory_summary_sources to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant maintain on public.memory_summary_sources to l9_worker;

create table summaries.summaries_being_deleted (summary_packet uuid primary key);

comment on table summaries.summaries_being_deleted is
  'Summaries that are being deleted because one of their sources was deleted or moved. The policies let functions of the owner delete these; rows are gone at the end of the statement.';
comment on column summaries.summaries_being_deleted.summary_packet is 'The memory of the summary.';

alter table summaries.summaries_being_deleted enable row level security;
alter table summaries.summaries_being_deleted force row level security;
create policy definer_functions on summaries.summaries_being_deleted to l9_owner using (true);
comment on policy definer_functions on summaries.summaries_being_deleted is 'Only functions of the owner read and write it.';

create policy definer_upkeep_reads on public.packet_store for select to l9_owner
  using (packet_id in (select d.summary_packet from summaries.summaries_being_deleted d));
create policy definer_upkeep on public.packet_store for delete to l9_owner
  using (packet_id in (select d.summary_packet from summaries.summaries_being_deleted d));
comment on policy definer_upkeep_reads on public.packet_store is
  'Functions of the owner see the summaries that they are about to delete.';
comment on policy definer_upkeep on public.packet_store is
  'Deleting or moving a memory deletes, by a trigger, the summaries that rest on it, also those that the caller does not see.';
