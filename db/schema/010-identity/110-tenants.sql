-- The tenants. Operators create and deactivate them with functions; callers of an inactive tenant have no identity.
create function identity.is_call_limit(calls integer) returns boolean language sql immutable parallel safe set search_path = ''
return calls between 1 and 100000000;
comment on function identity.is_call_limit is 'True if an actor or tenant may be limited to so many calls a minute.';

create function identity.is_route(route text) returns boolean language sql immutable parallel safe set search_path = ''
-- A label of a host name, and what stands before the second _ of a key.
return route ~ '^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$';
comment on function identity.is_route is 'True if a tenant can have this route.';

create table public.tenants (
  tenant_id uuid primary key default uuidv7(),
  name text not null,
  is_active boolean not null default true,
  audits_query_text boolean not null default false,
  reads_per_minute integer not null default 300000,
  writes_per_minute integer not null default 120000,
  created_at timestamptz not null default now(),
  register_unknown_clients boolean not null default false,
  route text,
  constraint tenant_name_unique unique (name),
  constraint tenant_name_plain check (identity.is_identifier(name)),
  constraint tenant_call_limits_in_range check (
    identity.is_call_limit(reads_per_minute) and identity.is_call_limit(writes_per_minute)),
  constraint tenant_route_unique unique (route),
  constraint tenant_route_plain check (identity.is_route(route))
);
call identity.describe('public.tenants', 'Top-level owner. Nothing is shared between tenants.
  tenant_id: Id, as in the claim tenant_id.
  created_at: When the tenant was created.
  name: Unique name: lower-case letters, digits, - and _.
  is_active: If false, no caller of it has an identity, whatever its token says.
  audits_query_text: If true, the texts of searches are kept in audit_query_texts; audit_log always keeps only their hashes.
  reads_per_minute: How many reads a minute the gateway admits from all callers of the tenant together. Further ones get L9RAT.
  writes_per_minute: How many writes a minute the gateway admits from all callers of the tenant together. Further ones get
    L9RAT.
  register_unknown_clients: If true, a client that an agent''s key calls for is registered under the name that it gives itself.
  route: Its name in keys and host names, for a proxy. Null: it has none.');

create trigger _600_active_actors after insert or update or delete on public.tenants
  for each row execute function identity.tg__refresh_active_actors();
create trigger _610_active_actors after truncate on public.tenants
  for each statement execute function identity.tg__refresh_active_actors();

alter table public.tenants enable row level security, force row level security;

create policy tenant_isolation on public.tenants as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.tenants for select to l9_agent, l9_admin using (true);
create policy platform_override on public.tenants for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('tenants')));
create policy definer_functions on public.tenants for select to l9_owner using (true);
create policy definer_inserts on public.tenants for insert to l9_owner with check (true);
create policy definer_updates on public.tenants for update to l9_owner using (true);
comment on policy tenant_isolation on public.tenants is 'A caller sees its own tenant.';
comment on policy scope_access on public.tenants is 'No further limit within the tenant.';
comment on policy platform_override on public.tenants is 'Operators see every tenant; each read is audited.';
comment on policy definer_functions on public.tenants is 'current_identity() checks whether the tenant is active.';
comment on policy definer_inserts on public.tenants is 'create_tenant() inserts.';
comment on policy definer_updates on public.tenants is 'deactivate_tenant(), reactivate_tenant(), set_query_text_audit(), '
  'set_register_unknown_clients(), set_tenant_limits() and set_tenant_route() update. Nothing deletes a tenant.';
grant select on public.tenants to l9_agent, l9_admin, l9_platform_admin;
-- No role can insert, update or delete: identity tables change through functions only.
