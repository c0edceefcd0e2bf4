-- Registers orgs of a tenant and switches them off and on. Admins call these functions in psql or GraphQL.
create function public.create_org(name text, org_id uuid default null, tenant_id uuid default null) returns public.orgs
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(create_org.tenant_id);
  created public.orgs;
begin
  if identity.is_display_name(create_org.name, 200) is not true then
    perform identity.raise_error('L9VAL', 'name: 1 to 200 characters, with no leading or trailing white space');
  end if;
  insert into public.orgs (tenant_id, org_id, name)
  values (admin.target_tenant_id, coalesce(create_org.org_id, uuidv7()), create_org.name) on conflict do nothing
  returning orgs.* into created;
  if not found then
    perform identity.raise_error('L9VAL', 'name, org_id: already used by another org of this tenant', 'name');
  end if;
  return created;
end $$;
comment on function public.create_org is 'Registers an org, under the id that an identity provider uses for it or a new one. For '
  'admins of the tenant. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change through functions only.';

create function public.deactivate_org(org_id uuid, tenant_id uuid default null) returns public.orgs
language sql volatile security definer set search_path = ''
return administration.set_active(null::public.orgs, 'org_id', org_id::text, tenant_id, false);
comment on function public.deactivate_org is 'From the next request on a token or key that names this org has no identity. For '
  'admins of the tenant. Raises L9OWN if the org is not registered. Definer: identity tables change through functions only.';

create function public.reactivate_org(org_id uuid, tenant_id uuid default null) returns public.orgs
language sql volatile security definer set search_path = ''
return administration.set_active(null::public.orgs, 'org_id', org_id::text, tenant_id, true);
comment on function public.reactivate_org is 'Undoes deactivate_org(). Definer: identity tables change through functions only.';
grant execute on function public.create_org, public.deactivate_org, public.reactivate_org to l9_admin, l9_platform_admin;
