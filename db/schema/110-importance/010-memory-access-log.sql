-- The log of which agent was shown which memory or fact. log_accesses() inserts, and the roll-up job counts what it says.
create function importance.tg_memory_access_log__append_only() returns trigger language plpgsql set search_path = '' as $$
begin
  perform identity.raise_error('L9IMM', 'memory_access_log is append-only');
  return null;
end $$;
comment on function importance.tg_memory_access_log__append_only is 'Refuses every UPDATE, DELETE and TRUNCATE. It is not the '
  'guard of audit_log because that one also refuses to drop partitions; this log serves learning, and audit_log is the evidence.';

-- Texts that must be erasable (queries, feedback) are stored elsewhere; the view public.memory_access_log joins them.
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
  tenant_id uuid not null, org_id uuid, user_id uuid, project_id text, scope text not null,
  is_admin boolean not null,
  primary key (access_id, accessed_at),
  -- There is no foreign key to the target, because the log outlives it.
  constraint access_target_known check (target_type in ('memory', 'fact', 'relationship', 'archive')),
  constraint access_context_known check (access_context in ('search', 'get')),
  -- Lets a row be found by its id alone, in the one partition that can hold it.
  constraint access_time_is_of_id check (accessed_at = uuid_extract_timestamp(access_id))
) partition by range (accessed_at);

create index memory_access_log_xid_idx on importance.memory_access_log (xid);
call identity.describe('importance.memory_access_log', 'Which agent saw which memory, fact, relationship or archive, and when.
    Searches and get_memory write it. Append-only; it holds ids and numbers but no texts, with one partition a month.
  access_id: The id to pass to record_feedback. UUID version 7.
  accessed_at: The time of the access to the millisecond, taken from access_id.
  xid: The transaction that wrote the row. Rows are rolled up in this order, once no earlier transaction is in progress.
  target_type: The type of the target: memory, fact, relationship or archive. Lessons and summaries are memories.
  target_id: The id of the target.
  agent_id: The caller.
  access_context: search if the target was among the hits of a search; get if it was read in full.
  relevance_score: The score of the hit, from 0 to 1.
  audit_id: The id of the search in audit_log, and of the text of its query if the tenant keeps those.
  tenant_id: The tenant of the caller.
  org_id: The org that the caller acted for.
  user_id: The user that the caller acted for.
  project_id: The project of the target at the time of the access.
  scope: The scope of the target at the time of the access.
  is_admin: True if the caller was an administrator, who is not restricted by org and user.');

call identity.protect_like_memories('importance.memory_access_log', noun => 'access', expires => false);
-- An access belongs to the caller, so that these differ from the policies of memories.
alter policy org_isolation on importance.memory_access_log using (org_id is not distinct from (select identity.current_org_id()));
alter policy user_visibility on importance.memory_access_log using (
  user_id is not distinct from (select identity.current_user_id()));
create policy own_accesses on importance.memory_access_log as restrictive for select to l9_agent
  using (agent_id = (select identity.current_caller()));
comment on policy org_isolation on importance.memory_access_log is 'What an agent did for one org is hidden from it while it '
  'acts for another, or for none.';
comment on policy user_visibility on importance.memory_access_log is 'What an agent did for one user is hidden from it while it '
  'acts for another, or for none.';
comment on policy own_accesses on importance.memory_access_log is 'Agents see their own accesses only, never who else read what.';

create policy worker_access on importance.memory_access_log for select to l9_worker using (true);
create policy definer_inserts on importance.memory_access_log for insert to l9_owner with check (true);
create policy definer_functions on importance.memory_access_log for select to l9_owner using (true);

comment on policy worker_access on importance.memory_access_log is 'The roll-up job reads the log.';
comment on policy definer_inserts on importance.memory_access_log is 'log_accesses() inserts.';
comment on policy definer_functions on importance.memory_access_log is 'The audit triggers of feedback and '
  'drop_access_partition() read the log.';
grant select on importance.memory_access_log to l9_agent, l9_admin, l9_platform_admin, l9_worker;
-- Nobody may insert: log_accesses() stamps the caller. Nobody may update or delete, including the owner.

create trigger _200_append_only before update or delete or truncate on importance.memory_access_log
  for each statement execute function importance.tg_memory_access_log__append_only();
alter table importance.memory_access_log enable always trigger _200_append_only;

-- Partitions are created after the guard so that they have it from the start.
select audit.create_month_partitions('importance.memory_access_log', now()::date, 14);
