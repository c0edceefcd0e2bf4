-- The log proper. What has to be erasable (texts of queries, feedback) is elsewhere; the view of the same name in public
-- (040) has it all together.
create table importance.memory_access_log (
  access_id uuid not null default uuidv7(),
  accessed_at timestamptz not null,
  xid xid8 not null default pg_current_xact_id(),
  target_type text not null default 'memory',
  target_id uuid not null,
  agent_id text not null,
  access_context text not null,
  relevance_score real,
  audit_id uuid,
  tenant_id uuid not null,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  is_admin boolean not null,
  primary key (access_id, accessed_at),
  -- No foreign key to what was accessed: the log outlives it.
  constraint access_target_known check (target_type in ('memory', 'fact')),
  constraint access_context_known check (access_context in ('search', 'get')),
  -- So that a row is found by its id alone, in the one partition that can hold it.
  constraint access_time_is_of_id check (accessed_at = uuid_extract_timestamp(access_id))
) partition by range (accessed_at);

create index memory_access_log_xid_idx on importance.memory_access_log (xid);

comment on table importance.memory_access_log is
  'Which agent saw which memory or fact, and when: written by searches and get_memory. Append-only; ids and numbers, no texts. A partition a month.';
comment on column importance.memory_access_log.access_id is 'What record_feedback takes. UUID version 7.';
comment on column importance.memory_access_log.accessed_at is 'When, to the millisecond: the time in access_id.';
comment on column importance.memory_access_log.xid is 'The transaction that wrote it: rows are rolled up in this order, once nothing before them is still in flight.';
comment on column importance.memory_access_log.target_type is 'What was accessed: memory or fact.';
comment on column importance.memory_access_log.target_id is 'Its id.';
comment on column importance.memory_access_log.agent_id is 'The caller.';
comment on column importance.memory_access_log.access_context is 'search: it was among the hits; get: it was read whole.';
comment on column importance.memory_access_log.relevance_score is 'The score of the hit, from 0 to 1.';
comment on column importance.memory_access_log.audit_id is 'The search in audit_log, and the text of its query where that is kept.';
comment on column importance.memory_access_log.tenant_id is 'Tenant of the caller.';
comment on column importance.memory_access_log.org_id is 'The org the caller acted for.';
comment on column importance.memory_access_log.user_id is 'The user the caller acted for.';
comment on column importance.memory_access_log.project_id is 'The project that it was in.';
comment on column importance.memory_access_log.scope is 'The scope that it was in.';
comment on column importance.memory_access_log.is_admin is 'Whether the caller was an administrator, whom orgs and users don''t bind.';

call identity.protect_like_memories('importance.memory_access_log', noun => 'access', expires => false);
-- An access belongs to the caller, so that these differ from the policies of memories.
alter policy org_isolation on importance.memory_access_log using (org_id is not distinct from (select identity.current_org_id()));
alter policy user_visibility on importance.memory_access_log using (user_id is not distinct from (select identity.current_user_id()));
create policy own_accesses on importance.memory_access_log as restrictive for select to l9_agent
  using (agent_id = (select identity.current_caller()));
comment on policy org_isolation on importance.memory_access_log is 'What an agent did for one org is hidden from it while it acts for another, or for none.';
comment on policy user_visibility on importance.memory_access_log is 'What an agent did for one user is hidden from it while it acts for another, or for none.';
comment on policy own_accesses on importance.memory_access_log is 'Agents see their own accesses only, never who else read what.';

create policy worker_access on importance.memory_access_log for select to l9_worker using (true);
create policy definer_inserts on importance.memory_access_log for insert to l9_owner with check (true);
create policy definer_functions on importance.memory_access_log for select to l9_owner using (true);

comment on policy worker_access on importance.memory_access_log is 'The job that rolls it up reads it.';
comment on policy definer_inserts on importance.memory_access_log is 'log_accesses() inserts.';
comment on policy definer_functions on importance.memory_access_log is 'Audit triggers of feedback, and drop_access_partition(), read it.';

grant select on importance.memory_access_log to l9_agent, l9_admin, l9_platform_admin, l9_worker;
-- No insert for anyone: log_accesses() stamps who it was. No update or delete for anyone, its owner included.

create function importance.tg_memory_access_log__append_only()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform identity.raise_error('L9IMM', 'memory_access_log is append-only');
  return null;
end
$$;

comment on function importance.tg_memory_access_log__append_only() is
  'Refuses every UPDATE, DELETE and TRUNCATE. Not the guard of audit_log, which lets nobody drop a partition: this log is for learning, the record is audit_log.';

create trigger _100_append_only
  before update or delete or truncate on importance.memory_access_log
  for each statement execute function importance.tg_memory_access_log__append_only();
alter table importance.memory_access_log enable always trigger _100_append_only;

-- Only now, so that they are guarded like it from the first moment.
select audit.create_month_partitions('importance.memory_access_log', now()::date, 14);
