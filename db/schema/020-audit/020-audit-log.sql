-- The audit log: what each caller did, and what was refused. write_audit() and triggers insert; admins and operators
-- read it in psql and GraphQL.
create table public.audit_log (
  audit_id uuid not null default uuidv7(),
  occurred_at timestamptz not null default clock_timestamp(),
  xid xid8 not null default pg_current_xact_id(),
  operation text not null,
  table_name text not null,
  row_id uuid,
  tenant_id uuid, project_id text, scope text,
  status text not null default 'success',
  sqlstate text,
  details jsonb not null,
  -- These columns are virtual, because details hold the caller and its references.
  caller text not null generated always as (details ->> 'caller') virtual,
  creator text generated always as (details ->> 'creator') virtual,
  source text generated always as (details ->> 'source') virtual,
  tool_name text not null generated always as (details ->> 'tool_name') virtual,
  correlation_id text generated always as (details ->> 'correlation_id') virtual,
  session_id text generated always as (details ->> 'session_id') virtual,
  trace_id text generated always as (details ->> 'trace_id') virtual,
  primary key (audit_id, occurred_at),
  -- One constraint for three columns: PostgreSQL prepares each constraint, and all virtual columns with it, for every statement.
  constraint audit_operation_and_status_known check (
    operation in ('INSERT', 'UPDATE', 'DELETE', 'SEARCH', 'READ', 'STATS', 'CLEANUP', 'EXPORT', 'IMPORT', 'ERASE', 'DENIED',
      'ARCHIVE', 'RETRIEVE', 'APPROVE', 'REJECT', 'MERGE')
    and status in ('success', 'error') and (status = 'error') = (sqlstate is not null)),
  constraint audit_details_say_who check (
    details ?& array['caller', 'creator', 'source', 'tool_name']
    and (details ->> 'caller' <> '') is true and (details ->> 'tool_name' <> '') is true)
) partition by range (occurred_at);

-- The planner's statistics would show sampled references to whoever can plan a query of the table.
alter table public.audit_log alter column details set statistics 0;

create index audit_log_xid_idx on public.audit_log (xid);
create index audit_log_tenant_idx on public.audit_log (tenant_id, occurred_at, audit_id);
create index audit_log_row_idx on public.audit_log (row_id) where row_id is not null;
call identity.describe('public.audit_log', 'What each caller did, and what was refused. Append-only for every role, its owner
    included. Admins read the rows of their tenant. One partition per month.
  audit_id: Id, a UUID version 7: it sorts by time.
  occurred_at: When it happened, by the clock of the database.
  xid: Transaction that wrote the row. Rows are sealed in this order, once no earlier transaction is still in flight.
  tenant_id: Tenant of the row that was affected, or of the caller.
  operation: INSERT, UPDATE, DELETE, SEARCH, READ, STATS, CLEANUP, EXPORT, IMPORT, ERASE, ARCHIVE, RETRIEVE, APPROVE, REJECT,
    MERGE, or DENIED. DENIED is a call that was refused before its operation was known, that had no identity, or that GraphQL
    refused.
  table_name: Table that was affected or read.
  row_id: Row that was affected or read, if it was a single one.
  project_id: Project of that row, or the project that was asked for or that the caller''s claims are limited to. Null if there
    are several.
  scope: Scope of that row, or the scope that was asked for or that is the caller''s only one. Null if there are several.
  caller: Actor that did it; db:<role> for work that no actor asked for, such as a migration.
  creator: Creator name of the actor at that time.
  source: Source of the actor at that time.
  tool_name: Tool, mutation or query; sql for a database session.
  correlation_id: The caller''s own reference: of its call (the header X-Correlation-Id), else of the memory that it wrote.
  session_id: The session of the call, else of the memory that it wrote.
  trace_id: The trace of the call (its claim, else the header traceparent), else of the memory that it wrote.
  status: success or error.
  sqlstate: Error code if it failed: one of docs/reference/errors.md or of PostgreSQL.
  details: Always holds caller, creator, source and tool_name, org_id and user_id if the caller acted for them, and
    correlation_id, session_id and trace_id if they are known; then ids, filters and counts. It never holds contents.');

create trigger _200_append_only before update or delete or truncate on public.audit_log
  for each statement execute function l9_guard.tg_append_only();

alter table public.audit_log enable always trigger _200_append_only;
alter table public.audit_log enable row level security, force row level security;

create policy tenant_isolation on public.audit_log as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.audit_log for select to l9_admin
  using (scope is null or scope = any ((select identity.current_scopes())::text[]));
create policy platform_override on public.audit_log for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('audit_log')));
create policy definer_inserts on public.audit_log for insert to l9_owner with check (true);
create policy definer_functions on public.audit_log for select to l9_owner using (true);
comment on policy tenant_isolation on public.audit_log is 'A caller sees only the audit rows of its tenant.';
comment on policy scope_access on public.audit_log is 'Admins read them, within the scopes of their claims.';
comment on policy platform_override on public.audit_log is 'Operators read the rows of every tenant; each read is audited.';
comment on policy definer_inserts on public.audit_log is 'write_audit() and the audit triggers insert.';
comment on policy definer_functions on public.audit_log is 'seal_audit() and verify_audit() read the rows that they hash.';
grant select on public.audit_log to l9_admin, l9_platform_admin;
-- No grant for l9_agent: rows about other callers would reveal what it must not know.
-- No role can insert: a row that a caller could write would prove nothing.

-- The partitions are created last, so that each of them is protected like the table from the start.
select audit.create_month_partitions('public.audit_log', now()::date, 14);
