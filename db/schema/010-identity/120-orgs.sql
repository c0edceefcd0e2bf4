-- The orgs of each tenant. create_org(), deactivate_org() and reactivate_org() write them; current_identity() refuses
-- a caller that acts for an inactive one.

-- Ids are unique within a tenant only. If they were unique across tenants, one tenant could block another's org by
-- registering its id.
create table public.orgs (
  tenant_id uuid not null references public.tenants,
  org_id uuid not null default uuidv7(),
  name text not null,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (tenant_id, org_id),
  constraint org_name_unique unique (tenant_id, name),
  constraint org_name_plain check (identity.is_display_name(name, 200))
);
call identity.describe('public.orgs', 'Organisations of a tenant. A token may name an org that is not registered here, because an
    identity provider may manage orgs; a registered org must be active.
  tenant_id: Tenant that the org belongs to.
  org_id: Id, as in the claim org_id.
  name: Display name, unique in the tenant.
  is_active: If false, a caller that claims this org has no identity, whatever its token says.
  created_at: When the org was registered.');

alter table public.orgs enable row level security, force row level security;

create policy tenant_isolation on public.orgs as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy org_isolation on public.orgs as restrictive to l9_agent using (org_id = (select identity.current_org_id()));
create policy scope_access on public.orgs for select to l9_agent using (true);
create policy admin_override on public.orgs for select to l9_admin using (true);
create policy platform_override on public.orgs for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('orgs')));
create policy definer_functions on public.orgs for select to l9_owner using (true);
create policy definer_inserts on public.orgs for insert to l9_owner with check (true);
create policy definer_updates on public.orgs for update to l9_owner using (true);
comment on policy tenant_isolation on public.orgs is 'A caller sees only the orgs of its tenant.';
comment on policy org_isolation on public.orgs is 'Agents have no grant on this table. With one, an agent would see only its own '
  'org.';
comment on policy scope_access on public.orgs is 'No further limit. Agents have no grant on this table.';
comment on policy admin_override on public.orgs is 'Admins see the orgs of their tenant.';
comment on policy platform_override on public.orgs is 'Operators see every org; each read is audited.';
comment on policy definer_functions on public.orgs is 'current_identity() checks whether the org is active.';
comment on policy definer_inserts on public.orgs is 'create_org() inserts.';
comment on policy definer_updates on public.orgs is 'deactivate_org() and reactivate_org() update. Nothing deletes an org.';
grant select on public.orgs to l9_admin, l9_platform_admin;
-- No grant for l9_agent: an agent does not need to know the orgs of its tenant. No role can insert, update or delete: identity
-- tables change through functions only.
