-- The predicates that administrators registered, and whether each has one value at a time. register_predicate()
-- writes it, and whatever recomputes facts asks is_single_valued().
create table public.fact_predicates (
  tenant_id uuid not null references public.tenants,
  predicate text not null,
  is_single_valued boolean not null,
  description text not null default '',
  created_at timestamptz not null default now(), updated_at timestamptz not null default now(),
  primary key (tenant_id, predicate),
  constraint predicate_normalised check (predicate = entities.normalise_name(predicate) and predicate <> ''),
  constraint predicate_description_at_most_1000_bytes check (octet_length(description) <= 1000)
);
call identity.describe('public.fact_predicates', 'Predicates that a tenant''s admins registered. A predicate without a row is
    multi-valued: its facts hold side by side.
  tenant_id: The tenant.
  predicate: The predicate in the form that facts store: lower case, white space trimmed and collapsed.
  is_single_valued: Single-valued: asserting a new object supersedes the previous one.
  description: What the predicate says of a subject, at most 1000 bytes.
  created_at: When the predicate was first registered.
  updated_at: When the predicate was last registered again.');

alter table public.fact_predicates enable row level security, force row level security;

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

comment on policy tenant_isolation on public.fact_predicates is 'Callers read only predicates of their own tenant.';
comment on policy scope_access on public.fact_predicates is 'Agents read all predicates of their tenant, because everyone who '
  'asserts facts needs them.';
comment on policy admin_override on public.fact_predicates is 'Admins read all predicates of their tenant.';
comment on policy platform_override on public.fact_predicates is 'Operators read predicates of all tenants; each such read is '
  'audited.';
comment on policy worker_access on public.fact_predicates is 'Jobs that assert facts read predicates.';
comment on policy definer_functions on public.fact_predicates is 'register_predicate() writes predicates and assert_fact() reads '
  'them: those of the caller''s tenant; for jobs and operators, those of all tenants.';
grant select on public.fact_predicates to l9_agent, l9_admin, l9_platform_admin, l9_worker;
-- No role may insert, update or delete: register_predicate() checks who may, and recomputes the facts that change.

create function facts.is_single_valued(tenant_id uuid, predicate text) returns boolean
language sql stable parallel safe set search_path = ''
return coalesce((
  select p.is_single_valued from public.fact_predicates p
  where p.tenant_id = is_single_valued.tenant_id and p.predicate = is_single_valued.predicate), false);
comment on function facts.is_single_valued is 'True if the tenant registered the predicate as single-valued.';
