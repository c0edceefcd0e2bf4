-- The users of each tenant. create_user(), deactivate_user() and reactivate_user() write them; current_identity()
-- refuses a caller that acts for an inactive one.
create table public.users (
  tenant_id uuid not null references public.tenants,
  user_id uuid not null default uuidv7(),
  org_id uuid,
  name text not null,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (tenant_id, user_id),
  foreign key (tenant_id, org_id) references public.orgs (tenant_id, org_id),
  constraint user_name_plain check (identity.is_display_name(name, 200))
);

create index users_org_idx on public.users (tenant_id, org_id);

-- The planner's statistics would keep sampled names after their erasure.
alter table public.users alter column name set statistics 0;
call identity.describe('public.users', 'Users of a tenant. A token may name a user that is not registered here; a registered user
    must be active, and its claim must come with the claim of its org.
  tenant_id: Tenant that the user belongs to.
  user_id: Id, as in the claim user_id.
  org_id: Org that the user belongs to. Null: no fixed org; any org in the token is accepted.
  name: Display name.
  is_active: If false, a caller that claims this user has no identity, whatever its token says.
  created_at: When the user was registered.');

alter table public.users enable row level security, force row level security;

create policy tenant_isolation on public.users as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy org_isolation on public.users as restrictive to l9_agent
  using (org_id is null or org_id = (select identity.current_org_id()));
create policy user_visibility on public.users as restrictive to l9_agent using (user_id = (select identity.current_user_id()));
create policy scope_access on public.users for select to l9_agent using (true);
create policy admin_override on public.users for select to l9_admin using (true);
create policy platform_override on public.users for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('users')));
create policy definer_functions on public.users for select to l9_owner using (true);
create policy definer_inserts on public.users for insert to l9_owner with check (true);
create policy definer_updates on public.users for update to l9_owner using (true);
comment on policy tenant_isolation on public.users is 'A caller sees only the users of its tenant.';
comment on policy org_isolation on public.users is 'Agents have no grant on this table. With one, an agent would see only users '
  'of its own org or of none.';
comment on policy user_visibility on public.users is 'Agents have no grant on this table. With one, an agent would see only the '
  'user that it acts for.';
comment on policy scope_access on public.users is 'No further limit. Agents have no grant on this table.';
comment on policy admin_override on public.users is 'Admins see the users of their tenant.';
comment on policy platform_override on public.users is 'Operators see every user; each read is audited.';
comment on policy definer_functions on public.users is 'current_identity() checks whether the user is active.';
comment on policy definer_inserts on public.users is 'create_user() inserts.';
comment on policy definer_updates on public.users is 'deactivate_user() and reactivate_user() update. Nothing deletes a user.';
grant select on public.users to l9_admin, l9_platform_admin;
-- No grant for l9_agent: an agent does not need to know the users of its tenant. No role can insert, update or delete: identity
-- tables change through functions only.
