-- Sets whether clients that nobody registered get a name of their own. Admins call it in psql or GraphQL.
create function public.set_register_unknown_clients(enabled boolean, tenant_id uuid default null) returns public.tenants
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(set_register_unknown_clients.tenant_id);
  changed public.tenants;
begin
  if enabled is null then
    perform identity.raise_error('L9VAL', 'enabled: must be true or false');
  end if;
  update public.tenants t set register_unknown_clients = enabled where t.tenant_id = admin.target_tenant_id
  returning * into changed;
  return changed;
end $$;
comment on function public.set_register_unknown_clients is 'Sets whether a client of MCP over stdio that has no key of its own '
  'is registered under the name that it gives itself, with the rights of the caller whose key it has. Those that are registered '
  'already stay. For admins with an unlimited token. Audited. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change '
  'through functions only.';
grant execute on function public.set_register_unknown_clients to l9_admin, l9_platform_admin;
