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

comment on table public.extraction_usage is 'What a tenant''s calls of a chat model cost, by day. Only jobs write it.';
comment on column public.extraction_usage.tenant_id is 'The tenant.';
comment on column public.extraction_usage.day is 'The day, in UTC.';
comment on column public.extraction_usage.calls is 'How many calls were made.';
comment on column public.extraction_usage.failed_calls is 'How many of them brought nothing that could be used.';
comment on column public.extraction_usage.prompt_tokens is 'Tokens sent, as the provider counts them.';
comment on column public.extraction_usage.completion_tokens is 'Tokens received, as the provider counts them.';
comment on column public.extraction_usage.reserved_tokens is
  'What calls that are under way may cost at most; and what those may have cost that nothing was heard of, because the provider or the job broke off.';
comment on column public.extraction_usage.updated_at is 'When a call last began or ended.';

alter table public.extraction_usage enable row level security;
alter table public.extraction_usage force row level security;

create policy tenant_isolation on public.extraction_usage as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.extraction_usage for select to l9_admin
  using ((select identity.has_every_scope()));
create policy platform_override on public.extraction_usage for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('extraction_usage')));
create policy worker_access on public.extraction_usage to l9_worker using (true);

comment on policy tenant_isolation on public.extraction_usage is 'Nothing crosses tenants.';
comment on policy scope_access on public.extraction_usage is
  'Administrators of every scope: it tells how much is written in all of them together.';
comment on policy platform_override on public.extraction_usage is 'Operators read across tenants, each look on the record.';
comment on policy worker_access on public.extraction_usage is 'Jobs reserve and count tokens.';

grant select on public.extraction_usage to l9_admin, l9_platform_admin, l9_worker;
grant insert (tenant_id, day), update (calls, failed_calls, prompt_tokens, completion_tokens, reserved_tokens, updated_at)
  on public.extraction_usage to l9_worker;

create function extraction.is_active_tenant(tenant_id uuid)
returns boolean
language sql
stable
security definer
set search_path = ''
return exists (select from public.tenants t where t.tenant_id = is_active_tenant.tenant_id and t.is_active);

comment on function extraction.is_active_tenant(uuid) is
  'Whether a tenant is active: what is not is not worked for. For jobs. Definer: reads tenants, which jobs don''t see.';

create function extraction.reserve_tokens(tenant_id uuid, tokens bigint)
returns date
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  today constant date := (now() at time zone 'utc')::date;
begin
  insert into public.extraction_usage (tenant_id, day) values (reserve_tokens.tenant_id, today) on conflict do nothing;
  -- Whoever comes at the same moment waits for this row, and then counts what was reserved here.
  update public.extraction_usage u
  set calls = u.calls + 1, reserved_tokens = u.reserved_tokens + greatest(tokens, 0), updated_at = clock_timestamp()
  from public.extraction_settings s
  where u.tenant_id = reserve_tokens.tenant_id and u.day = today and s.tenant_id = u.tenant_id
    and (s.is_enabled or s.writes_summaries) and extraction.is_active_tenant(u.tenant_id)
    and u.prompt_tokens + u.completion_tokens + u.reserved_tokens + greatest(tokens, 0) <= s.tokens_per_day;
  return case when found then today end;
end
$$;

comment on function extraction.reserve_tokens(uuid, bigint) is
  'Sets aside what a call may cost at most, and says for which day: for record_token_usage(). Null: the tenant''s budget of the day doesn''t suffice, or the tenant is not active or wants no model.';

create function extraction.record_token_usage(
  tenant_id uuid, day date, reserved bigint, prompt_tokens bigint, completion_tokens bigint, has_failed boolean default false)
returns void
language sql
volatile
set search_path = ''
begin atomic
  update public.extraction_usage u
  set reserved_tokens = u.reserved_tokens
      - case when record_token_usage.prompt_tokens is null then 0 else least(greatest(reserved, 0), u.reserved_tokens) end,
    -- What a provider says is taken for a number, no more: no answer gives tokens back.
    prompt_tokens = u.prompt_tokens + least(greatest(coalesce(record_token_usage.prompt_tokens, 0), 0), 1000000000),
    completion_tokens = u.completion_tokens + least(greatest(coalesce(record_token_usage.completion_tokens, 0), 0), 1000000000),
    failed_calls = u.failed_calls + has_failed::integer,
    updated_at = clock_timestamp()
  where u.tenant_id = record_token_usage.tenant_id and u.day = record_token_usage.day;
end;

comment on function extraction.record_token_usage(uuid, date, bigint, bigint, bigint, boolean) is
  'Counts what a call did cost instead of what was reserved for it. prompt_tokens null: nobody knows, and the reservation stays.';

grant execute on function
  extraction.is_active_tenant(uuid), extraction.reserve_tokens(uuid, bigint), extraction.record_token_usage(uuid, date, bigint, bigint, bigint, boolean)
to l9_worker;
