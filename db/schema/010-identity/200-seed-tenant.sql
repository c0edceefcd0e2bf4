-- What each tenant begins with, for create_tenant(); and the tenant default, which every new database has, with the person at
-- this machine.
create function identity.seed_tenant(tenant_id uuid) returns void language sql volatile set search_path = ''
begin atomic
  insert into public.scopes (tenant_id, scope, is_project_scoped, description)
  values
    (seed_tenant.tenant_id, 'developer', true, 'Shared by L and coding agents, within a project.'),
    (seed_tenant.tenant_id, 'l-private', true, 'L''s own, within a project.'),
    (seed_tenant.tenant_id, 'global', false, 'Everyone in the tenant, in no project.');
  insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
  values
    (seed_tenant.tenant_id, 'L', 'L-CTO', 'l9-kernel', 'l-cto', 'l9_admin', '{*}', '{*}', true),
    (seed_tenant.tenant_id, 'C', 'Cursor-IDE', 'cursor-ide', 'cursor', 'l9_agent', '{developer,global}',
      '{developer,global}', false);
end;
comment on function identity.seed_tenant is 'Inserts the scopes and actors that every new tenant has.';

insert into public.tenants (tenant_id, name) values (identity.default_tenant_id(), 'default');

select identity.seed_tenant(tenant_id) from public.tenants;

-- Whoever can sign in as this person can read the secrets of the installation, so it has the rights of L. The other tenants of a
-- server have none: nobody is at their machine.
insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
values (identity.default_tenant_id(), 'me', 'me', 'person', 'person', 'l9_admin', '{*}', '{*}', true);
