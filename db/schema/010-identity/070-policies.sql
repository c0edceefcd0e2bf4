-- Policies of the identity tables. They come after the functions they call, which in turn read these tables.

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
comment on policy platform_override on public.tenants is 'Operators see every tenant, on the record.';
comment on policy definer_functions on public.tenants is 'current_identity() asks whether the tenant is active.';
comment on policy definer_inserts on public.tenants is 'create_tenant().';
comment on policy definer_updates on public.tenants is
  'deactivate_tenant(), reactivate_tenant() and set_query_text_audit(). Nothing deletes one.';

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
comment on policy tenant_isolation on public.orgs is 'Orgs of the caller''s tenant.';
comment on policy org_isolation on public.orgs is 'An agent could see its own org at most; no grant lets it.';
comment on policy scope_access on public.orgs is 'No further limit; no grant lets an agent see one.';
comment on policy admin_override on public.orgs is 'Admins see the orgs of their tenant.';
comment on policy platform_override on public.orgs is 'Operators see every org, on the record.';
comment on policy definer_functions on public.orgs is 'current_identity() asks whether the org is active.';
comment on policy definer_inserts on public.orgs is 'create_org().';
comment on policy definer_updates on public.orgs is 'deactivate_org() and reactivate_org(). Nothing deletes one.';

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
comment on policy tenant_isolation on public.users is 'Users of the caller''s tenant.';
comment on policy org_isolation on public.users is 'An agent could see users of its org at most; no grant lets it.';
comment on policy user_visibility on public.users is 'An agent could see the user it acts for at most; no grant lets it.';
comment on policy scope_access on public.users is 'No further limit; no grant lets an agent see one.';
comment on policy admin_override on public.users is 'Admins see the users of their tenant.';
comment on policy platform_override on public.users is 'Operators see every user, on the record.';
comment on policy definer_functions on public.users is 'current_identity() asks whether the user is active.';
comment on policy definer_inserts on public.users is 'create_user().';
comment on policy definer_updates on public.users is 'deactivate_user() and reactivate_user(). Nothing deletes one.';

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
comment on policy tenant_isolation on public.scopes is 'Scopes of the caller''s tenant.';
comment on policy scope_access on public.scopes is 'Only scopes the caller may read: that others exist is not shown.';
comment on policy inactive_scopes on public.scopes is
  'An admin that has every scope also sees those that nobody can read at present, to make them active again.';
comment on policy platform_override on public.scopes is 'Operators see every scope, on the record.';
comment on policy definer_functions on public.scopes is 'current_identity() and the scope checks of triggers.';
comment on policy definer_inserts on public.scopes is 'register_scope() and create_tenant().';
comment on policy definer_updates on public.scopes is 'register_scope(), deactivate_scope() and reactivate_scope(). Nothing deletes one.';

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
comment on policy tenant_isolation on public.actors is 'Actors of the caller''s tenant.';
comment on policy scope_access on public.actors is 'An agent sees its own row.';
comment on policy admin_override on public.actors is 'L sees its tenant''s actors.';
comment on policy platform_override on public.actors is 'Operators see every actor, on the record.';
comment on policy definer_functions on public.actors is 'current_identity() reads the row that cuts the claims down.';
comment on policy definer_inserts on public.actors is 'register_actor() and create_tenant().';
comment on policy definer_updates on public.actors is
  'register_actor(), bind_login(), deactivate_actor() and reactivate_actor(). Nothing deletes one: its memories name it.';

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
comment on policy tenant_isolation on public.api_keys is 'Keys of the caller''s tenant.';
comment on policy org_isolation on public.api_keys is 'As everywhere; no grant lets an agent see a key.';
comment on policy user_visibility on public.api_keys is 'As everywhere; no grant lets an agent see a key.';
comment on policy scope_access on public.api_keys is 'No further limit; no grant lets an agent see one.';
comment on policy admin_override on public.api_keys is 'Admins see what keys their tenant has.';
comment on policy platform_override on public.api_keys is 'Operators see every tenant''s, on the record.';
comment on policy definer_functions on public.api_keys is 'current_identity() asks whether a key still holds.';
comment on policy definer_inserts on public.api_keys is 'create_api_key().';
comment on policy definer_updates on public.api_keys is 'revoke_api_key(). Nothing deletes one.';

create policy definer_functions on identity.api_key_hashes for select to l9_owner using (true);
create policy definer_inserts on identity.api_key_hashes for insert to l9_owner with check (true);
comment on policy definer_functions on identity.api_key_hashes is 'identity_directory() hands them to the gateway.';
comment on policy definer_inserts on identity.api_key_hashes is 'create_api_key().';

create policy tenant_isolation on identity.active_actors as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on identity.active_actors for select to l9_agent, l9_admin
  using (caller = (select identity.current_caller()));
create policy definer_functions on identity.active_actors to l9_owner using (true);
comment on policy tenant_isolation on identity.active_actors is 'As for actors; no grant lets a caller see one.';
comment on policy scope_access on identity.active_actors is 'As for actors; no grant lets a caller see one.';
comment on policy definer_functions on identity.active_actors is
  'current_identity() reads the row that cuts the claims down; triggers of actors, scopes and tenants make it.';

grant select on public.tenants, public.scopes, public.actors to l9_agent, l9_admin, l9_platform_admin;
-- Nothing for l9_agent: who else there is, it need not know.
grant select on public.orgs, public.users, public.api_keys to l9_admin, l9_platform_admin;
-- No insert, update or delete on identity tables for anyone: they change by functions. No grant at all on the hashes and on active_actors.
