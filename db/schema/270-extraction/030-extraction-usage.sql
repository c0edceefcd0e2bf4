-- The tokens that chat models used, by tenant and day. reserve_tokens() and record_token_usage() write it;
-- administrators read it over GraphQL.
create table public.extraction_usage (
  tenant_id uuid not null references public.tenants,
  day date not null,
  calls bigint not null default 0,
  failed_calls bigint not null default 0,
  prompt_tokens bigint not null default 0,
  completion_tokens bigint not null default 0,
  reserved_tokens bigint not null default 0,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, day),
  constraint usage_not_negative check (
    calls >= 0 and failed_calls >= 0 and prompt_tokens >= 0 and completion_tokens >= 0 and reserved_tokens >= 0)
);
call identity.describe('public.extraction_usage', 'Tokens and calls of chat models, one row for each tenant and day. Only jobs
    write this table.
  tenant_id: The tenant.
  day: The day, in UTC.
  calls: The number of calls.
  failed_calls: The number of calls without a usable answer.
  prompt_tokens: Tokens sent, as counted by the provider.
  completion_tokens: Tokens received, as counted by the provider.
  reserved_tokens: The most that running calls can cost, plus the reservations of calls whose cost is unknown because the provider
    or the job failed.
  updated_at: When a call last started or ended.');
alter table public.extraction_usage enable row level security, force row level security;
create policy tenant_isolation on public.extraction_usage as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.extraction_usage for select to l9_admin using ((select identity.has_every_scope()));
create policy platform_override on public.extraction_usage for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('extraction_usage')));
create policy worker_access on public.extraction_usage to l9_worker using (true);
comment on policy tenant_isolation on public.extraction_usage is 'Callers read only usage of their own tenant.';
comment on policy scope_access on public.extraction_usage is 'Only admins of every scope read usage, because it adds up all '
  'scopes.';
comment on policy platform_override on public.extraction_usage is 'Operators read usage of all tenants; each such read is '
  'audited.';
comment on policy worker_access on public.extraction_usage is 'Jobs reserve and count tokens.';
grant select on public.extraction_usage to l9_admin, l9_platform_admin, l9_worker;
grant insert (tenant_id, day), update (calls, failed_calls, prompt_tokens, completion_tokens, reserved_tokens, updated_at)
  on public.extraction_usage to l9_worker;
