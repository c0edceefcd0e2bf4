create table public.audit_query_texts (
  audit_id uuid primary key,
  tenant_id uuid not null references public.tenants,
  occurred_at timestamptz not null default clock_timestamp(),
  scope text,
  query text not null,
  user_id uuid
);

create index audit_query_texts_user_idx on public.audit_query_texts (tenant_id, user_id) where user_id is not null;

-- What is erased must not stay in the planner's statistics.
alter table public.audit_query_texts alter column query set statistics 0;

comment on table public.audit_query_texts is
  'Texts of searches, of tenants that keep them (set_query_text_audit). Beside audit_log, not in it, so that they can be erased.';
comment on column public.audit_query_texts.audit_id is 'The search in audit_log.';
comment on column public.audit_query_texts.tenant_id is 'Tenant of the caller.';
comment on column public.audit_query_texts.occurred_at is 'When it was searched.';
comment on column public.audit_query_texts.scope is 'As in audit_log.';
comment on column public.audit_query_texts.query is 'What was searched for.';
comment on column public.audit_query_texts.user_id is 'The user the caller acted for.';

alter table public.audit_query_texts enable row level security;
alter table public.audit_query_texts force row level security;

create policy tenant_isolation on public.audit_query_texts as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy user_visibility on public.audit_query_texts as restrictive to l9_agent
  using (user_id = (select identity.current_user_id()));
create policy scope_access on public.audit_query_texts for select to l9_admin
  using (scope is null or scope = any ((select identity.current_scopes())::text[]));
create policy platform_override on public.audit_query_texts for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('audit_query_texts')));
create policy definer_functions on public.audit_query_texts to l9_owner using (true);

comment on policy tenant_isolation on public.audit_query_texts is 'Searches of the caller''s tenant.';
comment on policy user_visibility on public.audit_query_texts is 'Agents are granted nothing; were they, then not the searches of other users.';
comment on policy scope_access on public.audit_query_texts is 'Admins read them, as the rows of audit_log they belong to.';
comment on policy platform_override on public.audit_query_texts is 'Operators read every tenant''s, on the record.';
comment on policy definer_functions on public.audit_query_texts is 'Searches add them, erasure deletes them.';

grant select on public.audit_query_texts to l9_admin, l9_platform_admin;
-- Nothing for l9_agent, and no insert for anyone.

create function audit.keep_query_text(audit_id uuid, scope text, query text)
returns void
language sql
volatile
set search_path = ''
begin atomic
  insert into public.audit_query_texts (audit_id, tenant_id, scope, query, user_id)
  select keep_query_text.audit_id, t.tenant_id, keep_query_text.scope, keep_query_text.query, identity.current_user_id()
  from public.tenants t
  where t.tenant_id = identity.current_tenant_id() and t.audits_query_text;
end;

comment on function audit.keep_query_text(uuid, text, text) is
  'Keeps the text of a search, where the caller''s tenant wants that. Not executable by callers: audit_read() calls it.';

create function public.audit_log_query_text(audit_row public.audit_log)
returns text
language sql
stable
set search_path = ''
return (select q.query from public.audit_query_texts q where q.audit_id = (audit_row).audit_id);

comment on function public.audit_log_query_text(public.audit_log) is 'What was searched for, where the tenant keeps that and it was not erased.';

grant execute on function public.audit_log_query_text(public.audit_log) to l9_admin, l9_platform_admin;
