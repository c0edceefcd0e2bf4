-- Registers scopes of a tenant and switches them off and on. Admins call these functions in psql or GraphQL.
create function public.register_scope(
  scope text, is_project_scoped boolean default true, description text default null, tenant_id uuid default null)
returns public.scopes
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(register_scope.tenant_id);
  registered public.scopes;
begin
  if identity.is_identifier(register_scope.scope) is not true then
    perform identity.raise_error('L9VAL', 'scope: 1 to 63 lower-case letters, digits, - and _');
  elsif register_scope.is_project_scoped is null then
    perform identity.raise_error('L9VAL', 'is_project_scoped: must be true or false');
  elsif octet_length(register_scope.description) > 1000 then
    perform identity.raise_error('L9LIM', 'description: at most 1000 bytes');
  end if;
  insert into public.scopes as s (tenant_id, scope, is_project_scoped, description)
  values (admin.target_tenant_id, register_scope.scope, register_scope.is_project_scoped,
    coalesce(register_scope.description, ''))
  on conflict on constraint scopes_pkey do update set description = coalesce(register_scope.description, s.description)
  returning s.* into registered;
  if registered.is_project_scoped <> register_scope.is_project_scoped then
    perform identity.raise_error('L9VAL',
      format('is_project_scoped: scope %s is registered as %s and cannot change', registered.scope,
        registered.is_project_scoped));
  end if;
  return registered;
end $$;
comment on function public.register_scope is 'Adds a scope to a tenant, or changes its description. At first only actors with '
  'every scope can read it; register_actor() gives it to others. For admins of the tenant. Errors: L9VAL, L9LIM, L9SCP, L9AUT. '
  'Definer: identity tables change through functions only.';

create function public.deactivate_scope(scope text, tenant_id uuid default null) returns public.scopes
language sql volatile security definer set search_path = ''
return administration.set_active(null::public.scopes, 'scope', scope, tenant_id, false);
comment on function public.deactivate_scope is 'From the next statement on no caller of the tenant can read or write this scope; '
  'its memories are kept. For admins of the tenant. Definer: identity tables change through functions only.';

create function public.reactivate_scope(scope text, tenant_id uuid default null) returns public.scopes
language sql volatile security definer set search_path = ''
return administration.set_active(null::public.scopes, 'scope', scope, tenant_id, true);
comment on function public.reactivate_scope is 'Undoes deactivate_scope(). Definer: identity tables change through functions '
  'only.';
grant execute on function public.register_scope, public.deactivate_scope, public.reactivate_scope to l9_admin, l9_platform_admin;
