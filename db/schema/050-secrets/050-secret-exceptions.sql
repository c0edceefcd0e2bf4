-- Texts that a tenant knows to be harmless. register_secret_exception() writes them, and is_excepted() compares
-- findings with them.
create table public.secret_exceptions (
  exception_id uuid primary key default uuidv7(),
  tenant_id uuid not null references public.tenants,
  expression text not null,
  pattern text,
  reason text not null,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  constraint secret_exception_expression_short check (octet_length(expression) between 1 and secrets.max_expression_bytes()),
  constraint secret_exception_pattern_plain check (secrets.is_pattern_name(pattern)),
  constraint secret_exception_reason_short check (octet_length(reason) between 1 and 500)
);

create index secret_exceptions_tenant_idx on public.secret_exceptions (tenant_id);
call identity.describe('public.secret_exceptions', 'Texts that a tenant''s administrators know to be harmless although a pattern
    matches them. register_secret_exception() writes it.
  exception_id: Id of the exception.
  tenant_id: The tenant.
  expression: A regular expression that matches the whole of what is no secret.
  pattern: The name of the pattern that it is an exception of; null means all patterns.
  reason: Why it is harmless, 1 to 500 bytes.
  is_active: False if the exception holds no longer.
  created_at: When the exception was added.');

alter table public.secret_exceptions enable row level security, force row level security;

create policy tenant_isolation on public.secret_exceptions as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.secret_exceptions for select to l9_agent, l9_admin using (true);
create policy platform_override on public.secret_exceptions for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('secret_exceptions')));
create policy definer_functions on public.secret_exceptions to l9_owner using (true);
comment on policy tenant_isolation on public.secret_exceptions is 'A caller sees the exceptions of its own tenant.';
comment on policy scope_access on public.secret_exceptions is 'Every caller may read what is not refused.';
comment on policy platform_override on public.secret_exceptions is 'Operators see the exceptions of every tenant; each read is '
  'audited.';
comment on policy definer_functions on public.secret_exceptions is 'The guard reads the exceptions; register_secret_exception() '
  'writes them.';
grant select on public.secret_exceptions to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: functions check the values, and a trigger audits them.

create trigger _500_audit after insert or update on public.secret_exceptions
  for each row execute function administration.tg__audit_identity('exception_id', 'pattern', 'is_active');
