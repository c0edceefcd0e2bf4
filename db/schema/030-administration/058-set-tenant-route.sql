-- Gives a tenant its route, the name by which a proxy finds the database that holds it. Operators call it in psql or GraphQL.
create function public.set_tenant_route(tenant_id uuid, route text) returns public.tenants
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator;
  changed public.tenants;
begin
  perform administration.require_operator();
  admin := administration.require_administrator(set_tenant_route.tenant_id);
  if identity.is_route(set_tenant_route.route) is not true then
    perform identity.raise_error('L9VAL', 'route: 1 to 40 lower-case letters, digits and -, with no - at its ends');
  elsif exists (
    select from public.tenants t where t.route = set_tenant_route.route and t.tenant_id <> admin.target_tenant_id) then
    perform identity.raise_error('L9VAL', 'route: already used by another tenant');
  end if;
  update public.tenants t set route = set_tenant_route.route
  where t.tenant_id = admin.target_tenant_id and coalesce(t.route, set_tenant_route.route) = set_tenant_route.route
  returning t.* into changed;
  if not found then
    perform identity.raise_error('L9VAL', 'route: the tenant has another, which its keys and host name hold');
  end if;
  return changed;
end $$;
comment on function public.set_tenant_route is 'Gives a tenant the name by which a proxy finds its database: new API keys are '
  'l9k_<route>_…, its host is <route>.<domain>. It never changes, because keys hold it; older keys go on. For operators. '
  'Audited. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change through functions only.';
grant execute on function public.set_tenant_route to l9_platform_admin;
