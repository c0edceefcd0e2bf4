-- Registers users of a tenant and switches them off and on. Admins call these functions in psql or GraphQL.
create function public.create_user(name text, user_id uuid default null, org_id uuid default null, tenant_id uuid default null)
returns public.users
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(create_user.tenant_id);
  created public.users;
begin
  if identity.is_display_name(create_user.name, 200) is not true then
    perform identity.raise_error('L9VAL', 'name: 1 to 200 characters, with no leading or trailing white space');
  elsif create_user.org_id is not null and not exists (
      select from public.orgs o where o.tenant_id = admin.target_tenant_id and o.org_id = create_user.org_id) then
    perform identity.raise_error('L9VAL', 'org_id: no such org in this tenant');
  end if;
  insert into public.users (tenant_id, user_id, org_id, name)
  values (admin.target_tenant_id, coalesce(create_user.user_id, uuidv7()), create_user.org_id, create_user.name)
  on conflict do nothing returning users.* into created;
  if not found then
    perform identity.raise_error('L9VAL', 'user_id: already used by another user of this tenant');
  end if;
  return created;
end $$;
comment on function public.create_user is 'Registers a user, under the id that an identity provider uses for it or a new one. If '
  'an org is given, only tokens that claim that org can act for the user. For admins of the tenant. Errors: L9VAL, L9SCP, L9AUT. '
  'Definer: identity tables change through functions only.';

create function public.deactivate_user(user_id uuid, tenant_id uuid default null) returns public.users
language sql volatile security definer set search_path = ''
return administration.set_active(null::public.users, 'user_id', user_id::text, tenant_id, false);
comment on function public.deactivate_user is 'From the next request on a token or key that names this user has no identity. For '
  'admins of the tenant. Raises L9OWN if the user is not registered. Definer: identity tables change through functions only.';

create function public.reactivate_user(user_id uuid, tenant_id uuid default null) returns public.users
language sql volatile security definer set search_path = ''
return administration.set_active(null::public.users, 'user_id', user_id::text, tenant_id, true);
comment on function public.reactivate_user is 'Undoes deactivate_user(). Definer: identity tables change through functions only.';
grant execute on function public.create_user, public.deactivate_user, public.reactivate_user to l9_admin, l9_platform_admin;
