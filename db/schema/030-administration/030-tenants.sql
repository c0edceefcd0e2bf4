create function public.create_tenant(name text)
returns public.tenants
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  made public.tenants;
begin
  perform administration.require_operator();
  if create_tenant.name is null or create_tenant.name !~ '^[a-z0-9][a-z0-9_-]{0,62}$' then
    perform identity.raise_error('L9VAL', 'name: 1 to 63 lower-case letters, digits, - and _', 'name');
  end if;
  insert into public.tenants (name) values (create_tenant.name) on conflict do nothing returning tenants.* into made;
  if not found then
    perform identity.raise_error('L9VAL', 'name: another tenant has it', 'name');
  end if;
  perform identity.seed_tenant(made.tenant_id);
  return made;
end
$$;

comment on function public.create_tenant(text) is
  'Makes a tenant, with the scopes developer, l-private and global and the actors L and C. For operators. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change by functions only.';

create function administration.set_tenant_active(tenant_id uuid, is_active boolean)
returns public.tenants
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_operator();
  changed public.tenants;
begin
  if set_tenant_active.tenant_id = admin.own_tenant_id then
    perform identity.raise_error('L9SCP', 'tenant_id: your own tenant; you would lock yourself out', 'tenant_id');
  end if;
  update public.tenants t set is_active = set_tenant_active.is_active
  where t.tenant_id = set_tenant_active.tenant_id
  returning t.* into changed;
  if not found then
    perform administration.raise_not_found('tenant_id', 'tenant_id');
  end if;
  return changed;
end
$$;

comment on function administration.set_tenant_active(uuid, boolean) is 'deactivate_tenant() and reactivate_tenant().';

create function public.deactivate_tenant(tenant_id uuid)
returns public.tenants
language sql volatile security definer set search_path = ''
return administration.set_tenant_active(tenant_id, false);

create function public.reactivate_tenant(tenant_id uuid)
returns public.tenants
language sql volatile security definer set search_path = ''
return administration.set_tenant_active(tenant_id, true);

comment on function public.deactivate_tenant(uuid) is
  'From the next request on nobody of this tenant has an identity, whatever its token or key says. For operators, and not for their own. Definer: identity tables change by functions only.';
comment on function public.reactivate_tenant(uuid) is
  'Undoes deactivate_tenant(). For operators. Definer: identity tables change by functions only.';

grant execute on function public.create_tenant(text), public.deactivate_tenant(uuid), public.reactivate_tenant(uuid)
  to l9_platform_admin;

create function public.set_query_text_audit(enabled boolean, tenant_id uuid default null)
returns public.tenants
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(set_query_text_audit.tenant_id);
  changed public.tenants;
begin
  perform administration.require_whole_token(admin);
  if enabled is null then
    perform identity.raise_error('L9VAL', 'enabled: true or false', 'enabled');
  end if;
  update public.tenants t set audits_query_text = enabled where t.tenant_id = admin.target_tenant_id returning * into changed;
  return changed;
end
$$;

comment on function public.set_query_text_audit(boolean, uuid) is
  'Whether the texts of searches are kept for the tenant (the caller''s, if none is named), for its admins to read; those kept before stay. For admins with a whole token. Audited. Definer: identity tables change by functions only.';

grant execute on function public.set_query_text_audit(boolean, uuid) to l9_admin, l9_platform_admin;
