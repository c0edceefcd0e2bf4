-- The texts of searches, of tenants that keep them. audit_read() inserts them, admins read them, and erasure deletes them.
create table public.audit_query_texts (
  audit_id uuid primary key,
  tenant_id uuid not null references public.tenants,
  occurred_at timestamptz not null default clock_timestamp(),
  scope text,
  query text not null,
  user_id uuid
);

create index audit_query_texts_user_idx on public.audit_query_texts (tenant_id, user_id) where user_id is not null;

-- The planner's statistics would keep sampled texts after their erasure.
alter table public.audit_query_texts alter column query set statistics 0;
call identity.describe('public.audit_query_texts', 'Texts of searches, for tenants that keep them (set_query_text_audit). They are
    stored beside audit_log, not in it, so that they can be erased.
  audit_id: Audit row of the search.
  tenant_id: Tenant of the caller.
  occurred_at: When the search ran.
  scope: Scope, as in audit_log.
  query: Text that was searched for.
  user_id: User that the caller acted for.');

alter table public.audit_query_texts enable row level security, force row level security;

create policy tenant_isolation on public.audit_query_texts as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy user_visibility on public.audit_query_texts as restrictive to l9_agent
  using (user_id = (select identity.current_user_id()));
create policy scope_access on public.audit_query_texts for select to l9_admin
  using (scope is null or scope = any ((select identity.current_scopes())::text[]));
create policy platform_override on public.audit_query_texts for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('audit_query_texts')));
create policy definer_functions on public.audit_query_texts to l9_owner using (true);
comment on policy tenant_isolation on public.audit_query_texts is 'A caller sees only the searches of its tenant.';
comment on policy user_visibility on public.audit_query_texts is 'Agents have no grant on this table. With one, an agent would '
  'not see the searches of other users.';
comment on policy scope_access on public.audit_query_texts is 'Admins read them, like the rows of audit_log that they belong to.';
comment on policy platform_override on public.audit_query_texts is 'Operators read the texts of every tenant; each read is '
  'audited.';
comment on policy definer_functions on public.audit_query_texts is 'Searches insert the texts, erasure deletes them.';
grant select on public.audit_query_texts to l9_admin, l9_platform_admin;
-- No grant for l9_agent, and no role can insert.

create function public.audit_log_query_text(audit_row public.audit_log) returns text language sql stable set search_path = ''
return (select q.query from public.audit_query_texts q where q.audit_id = (audit_row).audit_id);
comment on function public.audit_log_query_text is 'Text of the search, if the tenant keeps these texts and this one was not '
  'erased.';
grant execute on function public.audit_log_query_text to l9_admin, l9_platform_admin;
