-- Policies of the identity tables. They stand after the functions that they call.

alter table public.tenants enable row level security;
alter table public.tenants force row level security;
alter table public.orgs enable row level security;
alter table public.orgs force row level security;
alter table public.users enable row level security;
alter table public.users force row level security;
alter table public.scopes enable row level security;
alter table public.scopes force row level security;
alter table public.actors enable row level security;
alter table public.actors force row level security;
alter table public.api_keys enable row level security;
alter table public.api_keys force row level security;
alter table identity.api_key_hashes enable row level security;
alter table identity.api_key_hashes force row level security;
alter table identity.active_actors enable row level security;
alter table identity.active_actors force row level security;

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
comment on policy definer_updates on public.tenants is
  'deactivate_tenant(), reactivate_tenant() and set_query_text_audit() update. Nothing deletes a tenant.';

create policy tenant_isolation on public.orgs as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy org_isolation on public.orgs as restrictive to l9_agent
  using (org_id = (select identity.current_org_id()));
create policy scope_access on public.orgs for select to l9_agent using (true);
create policy admin_override on public.orgs for select to l9_admin using (true);
create policy platform_override on public.orgs for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('orgs')));
create policy definer_functions on public.orgs for select to l9_owner using (true);
create policy definer_inserts on public.orgs for insert to l9_owner with check (true);
create policy definer_updates on public.orgs for update to l9_owner using (true);
comment on policy tenant_isolation on public.orgs is 'A caller sees only the orgs of its tenant.';
comment on policy org_isolation on public.orgs is
  'Agents have no grant on this table. With one, an agent would see only its own org.';
comment on policy scope_access on public.orgs is 'No further limit. Agents have no grant on this table.';
comment on policy admin_override on public.orgs is 'Admins see the orgs of their tenant.';
comment on policy platform_override on public.orgs is 'Operators see every org; each read is audited.';
comment on policy definer_functions on public.orgs is 'current_identity() checks whether the org is active.';
comment on policy definer_inserts on public.orgs is 'create_org() inserts.';
comment on policy definer_updates on public.orgs is 'deactivate_org() and reactivate_org() update. Nothing deletes an org.';

create policy tenant_isolation on public.users as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy org_isolation on public.users as restrictive to l9_agent
  using (org_id is null or org_id = (select identity.current_org_id()));
create policy user_visibility on public.users as restrictive to l9_agent
  using (user_id = (select identity.current_user_id()));
create policy scope_access on public.users for select to l9_agent using (true);
create policy admin_override on public.users for select to l9_admin using (true);
create policy platform_override on public.users for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('users')));
create policy definer_functions on public.users for select to l9_owner using (true);
create policy definer_inserts on public.users for insert to l9_owner with check (true);
create policy definer_updates on public.users for update to l9_owner using (true);
comment on policy tenant_isolation on public.users is 'A caller sees only the users of its tenant.';
comment on policy org_isolation on public.users is
  'Agents have no grant on this table. With one, an agent would see only users of its own org or of none.';
comment on policy user_visibility on public.users is
  'Agents have no grant on this table. With one, an agent would see only the user that it acts for.';
comment on policy scope_access on public.users is 'No further limit. Agents have no grant on this table.';
comment on policy admin_override on public.users is 'Admins see the users of their tenant.';
comment on policy platform_override on public.users is 'Operators see every user; each read is audited.';
comment on policy definer_functions on public.users is 'current_identity() checks whether the user is active.';
comment on policy definer_inserts on public.users is 'create_user() inserts.';
comment on policy definer_updates on public.users is 'deactivate_user() and reactivate_user() update. Nothing deletes a user.';

create policy tenant_isolation on public.scopes as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.scopes for select to l9_agent, l9_admin
  using (scope = any ((select identity.current_scopes())::text[]));
create policy inactive_scopes on public.scopes for select to l9_admin
  using (not is_active and (select identity.has_every_scope()));
create policy platform_override on public.scopes for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('scopes')));
create policy definer_functions on public.scopes for select to l9_owner using (true);
create policy definer_inserts on public.scopes for insert to l9_owner with check (true);
create policy definer_updates on public.scopes for update to l9_owner using (true);
comment on policy tenant_isolation on public.scopes is 'A caller sees only the scopes of its tenant.';
comment on policy scope_access on public.scopes is
  'A caller sees only the scopes that it can read; it does not learn that others exist.';
comment on policy inactive_scopes on public.scopes is
  'An admin that has every scope also sees the inactive scopes, so that it can reactivate them.';
comment on policy platform_override on public.scopes is 'Operators see every scope; each read is audited.';
comment on policy definer_functions on public.scopes is 'current_identity() and the scope checks of triggers read scopes.';
comment on policy definer_inserts on public.scopes is 'register_scope() and create_tenant() insert.';
comment on policy definer_updates on public.scopes is
  'register_scope(), deactivate_scope() and reactivate_scope() update. Nothing deletes a scope.';

create policy tenant_isolation on public.actors as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.actors for select to l9_agent
  using (caller = (select identity.current_caller()));
create policy admin_override on public.actors for select to l9_admin
  using ((select identity.current_caller()) is not null);
create policy platform_override on public.actors for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('actors')));
create policy definer_functions on public.actors for select to l9_owner using (true);
create policy definer_inserts on public.actors for insert to l9_owner with check (true);
create policy definer_updates on public.actors for update to l9_owner using (true);
comment on policy tenant_isolation on public.actors is 'A caller sees only the actors of its tenant.';
comment on policy scope_access on public.actors is 'An agent sees its own row.';
comment on policy admin_override on public.actors is 'Admins see the actors of their tenant.';
comment on policy platform_override on public.actors is 'Operators see every actor; each read is audited.';
comment on policy definer_functions on public.actors is 'current_identity() reads the row that limits the claims.';
comment on policy definer_inserts on public.actors is 'register_actor() and create_tenant() insert.';
comment on policy definer_updates on public.actors is
  'register_actor(), bind_login(), deactivate_actor() and reactivate_actor() update. Nothing deletes an actor, because its memories name it.';

create policy tenant_isolation on public.api_keys as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy org_isolation on public.api_keys as restrictive to l9_agent
  using (org_id is null or org_id = (select identity.current_org_id()));
create policy user_visibility on public.api_keys as restrictive to l9_agent
  using (user_id is null or user_id = (select identity.current_user_id()));
create policy scope_access on public.api_keys for select to l9_agent using (true);
create policy admin_override on public.api_keys for select to l9_admin using (true);
create policy platform_override on public.api_keys for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('api_keys')));
create policy definer_functions on public.api_keys for select to l9_owner using (true);
create policy definer_inserts on public.api_keys for insert to l9_owner with check (true);
create policy definer_updates on public.api_keys for update to l9_owner using (true);
comment on policy tenant_isolation on public.api_keys is 'A caller sees only the keys of its tenant.';
comment on policy org_isolation on public.api_keys is 'The same rule as on memories. Agents have no grant on this table.';
comment on policy user_visibility on public.api_keys is 'The same rule as on memories. Agents have no grant on this table.';
comment on policy scope_access on public.api_keys is 'No further limit. Agents have no grant on this table.';
comment on policy admin_override on public.api_keys is 'Admins see the keys of their tenant.';
comment on policy platform_override on public.api_keys is 'Operators see the keys of every tenant; each read is audited.';
comment on policy definer_functions on public.api_keys is 'current_identity() checks whether a key is still valid.';
comment on policy definer_inserts on public.api_keys is 'create_api_key() inserts.';
comment on policy definer_updates on public.api_keys is 'revoke_api_key() updates. Nothing deletes a key.';

create policy definer_functions on identity.api_key_hashes for select to l9_owner using (true);
create policy definer_inserts on identity.api_key_hashes for insert to l9_owner with check (true);
comment on policy definer_functions on identity.api_key_hashes is 'identity_directory() passes the hashes to the gateway.';
comment on policy definer_inserts on identity.api_key_hashes is 'create_api_key() inserts.';

create policy tenant_isolation on identity.active_actors as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on identity.active_actors for select to l9_agent, l9_admin
  using (caller = (select identity.current_caller()));
create policy definer_functions on identity.active_actors to l9_owner using (true);
comment on policy tenant_isolation on identity.active_actors is
  'The same rule as on actors. Callers have no grant on this table.';
comment on policy scope_access on identity.active_actors is 'The same rule as on actors. Callers have no grant on this table.';
comment on policy definer_functions on identity.active_actors is
  'current_identity() reads the row that limits the claims; triggers of actors, scopes and tenants write it.';

grant select on public.tenants, public.scopes, public.actors to l9_agent, l9_admin, l9_platform_admin;
-- No grant for l9_agent: an agent does not need to know the orgs, users and keys of its tenant.
grant select on public.orgs, public.users, public.api_keys to l9_admin, l9_platform_admin;
-- No role can insert, update or delete here: identity tables change through functions only. Nobody is granted anything on the
-- hashes and on active_actors.
