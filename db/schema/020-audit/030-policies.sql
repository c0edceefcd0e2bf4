alter table public.audit_log enable row level security;
alter table public.audit_log force row level security;

create policy tenant_isolation on public.audit_log as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.audit_log for select to l9_admin
  using (scope is null or scope = any ((select identity.current_scopes())::text[]));
create policy platform_override on public.audit_log for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('audit_log')));
create policy definer_inserts on public.audit_log for insert to l9_owner with check (true);
create policy definer_functions on public.audit_log for select to l9_owner using (true);

comment on policy tenant_isolation on public.audit_log is 'The record of the caller''s tenant.';
comment on policy scope_access on public.audit_log is 'Admins read it, within the scopes of their claims.';
comment on policy platform_override on public.audit_log is 'Operators read every tenant''s record, on the record.';
comment on policy definer_inserts on public.audit_log is 'write_audit() and the audit triggers insert.';
comment on policy definer_functions on public.audit_log is 'seal_audit() and verify_audit() read what they hash.';

grant select on public.audit_log to l9_admin, l9_platform_admin;
-- Nothing for l9_agent: rows about others would tell it what it may not know.
-- No insert for anyone: a row that a caller could write is no evidence.

-- Only now, so that they are guarded like it from the first moment.
select audit.create_month_partitions('public.audit_log', now()::date, 14);
