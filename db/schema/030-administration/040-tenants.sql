-- Creates tenants and switches them off and on. Operators call these functions in psql or GraphQL.
create function public.create_tenant(name text) returns public.tenants
language plpgsql volatile security definer set search_path = '' as $$
declare
  created public.tenants;
begin
  perform administration.require_operator();
  if identity.is_identifier(create_tenant.name) is not true then
    perform identity.raise_error('L9VAL', 'name: 1 to 63 lower-case letters, digits, - and _');
  end if;
  insert into public.tenants (name) values (create_tenant.name) on conflict do nothing returning tenants.* into created;
  if not found then
    perform identity.raise_error('L9VAL', 'name: already used by another tenant');
  end if;
  perform identity.seed_tenant(created.tenant_id);
  return created;
end $$;
comment on function public.create_tenant is 'Creates a tenant with the scopes developer, l-private and global and the actors L '
  'and C. For operators. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change through functions only.';

create function administration.set_tenant_active(tenant_id uuid, is_active boolean) returns public.tenants
language plpgsql volatile set search_path = '' as $$
declare
  admin administration.administrator := administration.require_operator();
  changed public.tenants;
begin
  if set_tenant_active.tenant_id = admin.own_tenant_id then
    perform identity.raise_error('L9SCP', 'tenant_id: this is your own tenant; you would lock yourself out');
  end if;
  update public.tenants t set is_active = set_tenant_active.is_active
  where t.tenant_id = set_tenant_active.tenant_id returning t.* into changed;
  if not found then
    perform administration.raise_not_found('tenant_id');
  end if;
  return changed;
end $$;
comment on function administration.set_tenant_active is 'Implements deactivate_tenant() and reactivate_tenant().';

create function public.deactivate_tenant(tenant_id uuid) returns public.tenants
language sql volatile security definer set search_path = '' return administration.set_tenant_active(tenant_id, false);
comment on function public.deactivate_tenant is 'From the next request on no caller of this tenant has an identity, whatever its '
  'token or key says. For operators; not for their own tenant. Definer: identity tables change through functions only.';

create function public.reactivate_tenant(tenant_id uuid) returns public.tenants
language sql volatile security definer set search_path = '' return administration.set_tenant_active(tenant_id, true);
comment on function public.reactivate_tenant is 'Undoes deactivate_tenant(). For operators. Definer: identity tables change '
  'through functions only.';
grant execute on function public.create_tenant, public.deactivate_tenant, public.reactivate_tenant to l9_platform_admin;
