-- Earlier states of memories. A trigger of packet_store writes them; memory_history() and searches as of a time read
-- them.

create table public.packet_versions (
  packet_id uuid not null references public.packet_store on delete cascade,
  version_id uuid not null default uuidv7(),
  valid_from timestamptz not null,
  valid_until timestamptz not null,
  replaced_by text not null,
  replaced_with text not null,
  packet_type text not null,
  envelope jsonb not null,
  content text generated always as (envelope ->> 'content') virtual,
  "timestamp" timestamptz not null,
  language text not null,
  routing jsonb not null,
  provenance jsonb not null,
  metadata jsonb not null,
  thread_id text,
  speaker text generated always as (packets.speaker_of(packet_type, metadata, envelope ->> 'content')) stored,
  parent_ids uuid[] not null,
  tags text[] not null,
  ttl timestamptz,
  project_id text,
  branch text,
  scope text not null,
  importance_score real not null,
  text_creator text,
  review_state text,
  review_reason text,
  withheld_creator text,
  tenant_id uuid not null,
  org_id uuid,
  user_id uuid,
  correlation_id text,
  session_id text,
  trace_id text,
  -- There is no version number: a gap would reveal a version that the agent may not see. memory_history() counts the
  -- visible ones.
  primary key (packet_id, version_id)
);

-- The planner needs no statistics of contents, and they would keep samples of erased ones.
alter table public.packet_versions
  alter column envelope set statistics 0, alter column routing set statistics 0, alter column provenance set statistics 0,
  alter column metadata set statistics 0, alter column tags set statistics 0, alter column correlation_id set statistics 0,
  alter column session_id set statistics 0, alter column trace_id set statistics 0, alter column thread_id set statistics 0,
  alter column speaker set statistics 0, alter column text_creator set statistics 0, alter column branch set statistics 0,
  alter column review_state set statistics 0, alter column review_reason set statistics 0,
  alter column withheld_creator set statistics 0;
comment on table public.packet_versions is 'Earlier states of memories: one row for each state that an update replaced. They are '
  'deleted with their memory.';
comment on column public.packet_versions.packet_id is 'The memory.';
comment on column public.packet_versions.version_id is 'UUID version 7, so versions are ordered by the time they were replaced.';
comment on column public.packet_versions.valid_from is 'Start of the period in which the memory had this state.';
comment on column public.packet_versions.valid_until is 'When this state was replaced.';
comment on column public.packet_versions.replaced_by is 'The caller that replaced this state.';
comment on column public.packet_versions.replaced_with is 'The tool or mutation that replaced this state; sql in a database '
  'session.';
comment on column public.packet_versions.packet_type is 'The kind of memory in this version.';
comment on column public.packet_versions.envelope is 'The content (key `content`) of this version and the structured fields '
  'beside it.';
comment on column public.packet_versions.content is 'The text of this version.';
comment on column public.packet_versions.language is 'The language of this version.';
comment on column public.packet_versions."timestamp" is 'When it happened, according to this version.';
comment on column public.packet_versions.routing is 'The routing of this version.';
comment on column public.packet_versions.provenance is 'The provenance of this version.';
comment on column public.packet_versions.metadata is 'The metadata of this version. updated_by names the writer of this state; '
  'where it is missing, creator and source do.';
comment on column public.packet_versions.thread_id is 'The thread of this version.';
comment on column public.packet_versions.speaker is 'Who said it, according to this version.';
comment on column public.packet_versions.parent_ids is 'The parents of this version.';
comment on column public.packet_versions.tags is 'The tags of this version.';
comment on column public.packet_versions.ttl is 'The ttl of this version. The memory''s present ttl decides whether the version '
  'can still be read.';
comment on column public.packet_versions.project_id is 'The project of this version.';
comment on column public.packet_versions.branch is 'The branch of this version; null means every branch.';
comment on column public.packet_versions.scope is 'The scope of this version: only callers who may read that scope see the '
  'version.';
comment on column public.packet_versions.importance_score is 'The writer''s estimate in this version.';
comment on column public.packet_versions.text_creator is 'The administrator whose text this version was; null: its creator''s.';
comment on column public.packet_versions.review_state is 'The review_state of this version.';
comment on column public.packet_versions.review_reason is 'Why this version was approved or rejected.';
comment on column public.packet_versions.withheld_creator is 'The creator of a version that was pending or rejected, which is '
  'shown to that one and to reviewers only. Null: the version counted.';
comment on column public.packet_versions.tenant_id is 'The tenant of the memory.';
comment on column public.packet_versions.org_id is 'The org of the memory.';
comment on column public.packet_versions.user_id is 'The user of the memory.';
comment on column public.packet_versions.correlation_id is 'The correlation id of this version.';
comment on column public.packet_versions.session_id is 'The session of this version.';
comment on column public.packet_versions.trace_id is 'The trace of this version.';

-- The scope and project that the version itself had count, too: what was private stays private when the memory is shared.
call identity.protect_like_memories('public.packet_versions', noun => 'version', expires => false);

-- Evaluated under the reader's own policies: a memory that it can't see has no history for it either.
create policy packet_visibility on public.packet_versions as restrictive to l9_agent, l9_admin, l9_platform_admin
  using (exists (select from public.packet_store p where p.packet_id = packet_versions.packet_id));
-- What a memory said while it was withheld stays hidden from others after it was approved.
call packets.review_visibility('public.packet_versions');
create policy definer_functions on public.packet_versions for select to l9_owner using (true);
create policy definer_keeping on public.packet_versions for insert to l9_owner with check (true);

comment on policy packet_visibility on public.packet_versions is 'A version is visible only to callers who may see its memory in '
  'its present state: a memory that moved to l-private hides all its versions.';
comment on policy definer_functions on public.packet_versions is 'The trigger that keeps versions reads the previous one; '
  'erasure counts them.';
comment on policy definer_keeping on public.packet_versions is 'The trigger that keeps versions inserts them. Nobody may change '
  'one.';
grant select on public.packet_versions to l9_agent, l9_admin, l9_platform_admin;
-- Nobody may insert, update or delete: the trigger writes versions, and they are deleted with their memory.

-- One insert for all rows of the statement. A version begins where the one before it ended.
create function packets.tg_packet_store__audit_update() returns trigger
language plpgsql security definer set search_path = ''
-- The plans are cached for the session. Made for an update of one row, their nested loops took 40 s over 10,000 rows.
set enable_nestloop = off as $$
declare
  actor jsonb := audit.audit_actor();
  changed_by text := coalesce(identity.current_caller(), 'db:' || identity.current_role_name());
  changed_with text := audit.current_tool();
begin
  -- Bookkeeping by jobs (chunk counts) leaves updated_at unchanged and is not audited.
  insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
  select
    case when n.review_state is not distinct from o.review_state or n.review_state = 'pending' then 'UPDATE'
      when n.review_state = 'approved' then 'APPROVE' else 'REJECT' end,
    tg_table_name, n.packet_id, n.tenant_id, n.project_id, n.scope,
    jsonb_build_object('kind', n.packet_type, 'was_created_by', o.metadata -> 'creator')
      || case when o.scope <> n.scope then jsonb_build_object('was_scope', o.scope) else '{}' end
      || case when o.project_id is distinct from n.project_id then jsonb_build_object('was_project_id', o.project_id)
        else '{}' end
      || case when n.branch is null then '{}' else jsonb_build_object('branch', n.branch) end
      || case when o.branch is distinct from n.branch then jsonb_build_object('was_branch', o.branch) else '{}' end
      || audit.reference(n.correlation_id, n.session_id, n.trace_id) || actor
  from new_rows n
  join old_rows o using (packet_id)
  where n.updated_at is distinct from o.updated_at or n.metadata is distinct from o.metadata;

  insert into public.packet_versions (
    packet_id, valid_from, valid_until, replaced_by, replaced_with, packet_type, envelope, "timestamp", language, routing,
    provenance, metadata, thread_id, parent_ids, tags, ttl, project_id, branch, scope, importance_score, text_creator,
    review_state, review_reason, withheld_creator, tenant_id, org_id, user_id, correlation_id, session_id, trace_id)
  select
    o.packet_id, previous.valid_from, greatest(n.updated_at, previous.valid_from), changed_by, changed_with, o.packet_type,
    o.envelope, o."timestamp", o.language, o.routing, o.provenance, o.metadata, o.thread_id, o.parent_ids, o.tags, o.ttl,
    o.project_id, o.branch, o.scope, o.importance_score, o.text_creator, o.review_state, o.review_reason, o.withheld_creator,
    o.tenant_id, o.org_id, o.user_id, o.correlation_id, o.session_id, o.trace_id
  from old_rows o
  join new_rows n using (packet_id)
  -- updated_at also moves when nothing else changed, so a version begins where the one before it ended.
  cross join lateral (
    select coalesce(
      (select v.valid_until from public.packet_versions v
       where v.packet_id = o.packet_id order by v.version_id desc limit 1),
      o.created_at) as valid_from
  ) previous
  where n.updated_at is distinct from o.updated_at
    and (
      n.packet_type, n.envelope, n."timestamp", n.language, n.routing, n.provenance, n.metadata, n.thread_id, n.parent_ids,
      n.tags, n.ttl, n.project_id, n.branch, n.scope, n.importance_score, n.correlation_id, n.session_id, n.trace_id,
      n.review_state
    ) is distinct from (
      o.packet_type, o.envelope, o."timestamp", o.language, o.routing, o.provenance, o.metadata, o.thread_id, o.parent_ids,
      o.tags,
      o.ttl, o.project_id, o.branch, o.scope, o.importance_score, o.correlation_id, o.session_id, o.trace_id,
      o.review_state);
  return null;
end $$;
comment on function packets.tg_packet_store__audit_update is 'Writes one audit row for each memory that was changed, approved '
  'or rejected, and saves the state that a caller''s update replaced. An update that changes nothing, or a job''s '
  'bookkeeping, makes no version. Definer: callers can''t write audit_log and versions.';

create trigger _500_audit_update after update on public.packet_store referencing old table as old_rows new table as new_rows
  for each statement execute function packets.tg_packet_store__audit_update();
