create table public.fact_predicates (
  tenant_id uuid not null references public.tenants,
  predicate text not null,
  is_single_valued boolean not null,
  description text not null default '',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, predicate),
  constraint predicate_normalised check (predicate = entities.normalise_name(predicate) and predicate <> ''),
  constraint predicate_description_at_most_1000_bytes check (octet_length(description) <= 1000)
);

comment on table public.fact_predicates is
  'Predicates that a tenant''s admins have registered. One that is not here is multi-valued: its facts stand side by side.';
comment on column public.fact_predicates.tenant_id is 'The tenant.';
comment on column public.fact_predicates.predicate is 'As facts have it: in lower case, white space trimmed and collapsed.';
comment on column public.fact_predicates.is_single_valued is 'Whether a subject has one such value at a time, so that a new one supersedes the old.';
comment on column public.fact_predicates.description is 'What it says of a subject.';
comment on column public.fact_predicates.created_at is 'When it was registered.';
comment on column public.fact_predicates.updated_at is 'When it was last registered anew.';

alter table public.fact_predicates enable row level security;
alter table public.fact_predicates force row level security;

create policy tenant_isolation on public.fact_predicates as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.fact_predicates for select to l9_agent using (true);
create policy admin_override on public.fact_predicates for select to l9_admin using (true);
create policy platform_override on public.fact_predicates for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('fact_predicates')));
create policy worker_access on public.fact_predicates for select to l9_worker using (true);
create policy definer_functions on public.fact_predicates to l9_owner
  using (
    (select identity.current_role_name()) not in ('l9_agent', 'l9_admin')
    or tenant_id = (select identity.current_tenant_id()));

comment on policy tenant_isolation on public.fact_predicates is 'Nothing crosses tenants.';
comment on policy scope_access on public.fact_predicates is 'No further limit: what admins registered for all who assert facts.';
comment on policy admin_override on public.fact_predicates is 'No further limit.';
comment on policy platform_override on public.fact_predicates is 'Operators read across tenants, each look on the record.';
comment on policy worker_access on public.fact_predicates is 'Jobs that assert facts read it.';
comment on policy definer_functions on public.fact_predicates is
  'register_predicate() writes it, and what asserts facts reads it: the caller''s tenant; for jobs and operators, all.';

grant select on public.fact_predicates to l9_agent, l9_admin, l9_platform_admin, l9_worker;
-- No insert, update or delete for anyone: register_predicate() says who may, and settles what that changes.

create function facts.is_single_valued(tenant_id uuid, predicate text)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return coalesce((
  select p.is_single_valued from public.fact_predicates p
  where p.tenant_id = is_single_valued.tenant_id and p.predicate = is_single_valued.predicate), false);

comment on function facts.is_single_valued(uuid, text) is
  'Whether a subject has one value of this predicate at a time. Not executable by callers: functions of the owner ask.';
