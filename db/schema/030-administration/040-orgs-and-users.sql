create function public.create_org(name text, org_id uuid default null, tenant_id uuid default null)
returns public.orgs
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(create_org.tenant_id);
  made public.orgs;
begin
  perform administration.require_whole_token(admin);
  if create_org.name is null or create_org.name !~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,198}[^[:cntrl:][:space:]])?$' then
    perform identity.raise_error('L9VAL', 'name: 1 to 200 characters, no white space around them', 'name');
  end if;
  insert into public.orgs (tenant_id, org_id, name)
  values (admin.target_tenant_id, coalesce(create_org.org_id, uuidv7()), create_org.name)
  on conflict do nothing
  returning orgs.* into made;
  if not found then
    perform identity.raise_error('L9VAL', 'name, org_id: another org of this tenant has it', 'name');
  end if;
  return made;
end
$$;

comment on function public.create_org(text, uuid, uuid) is
  'Registers an org, under the id that an identity provider knows it by, or a new one. For admins of the tenant. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change by functions only.';

create function public.create_user(name text, user_id uuid default null, org_id uuid default null, tenant_id uuid default null)
returns public.users
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(create_user.tenant_id);
  made public.users;
begin
  perform administration.require_whole_token(admin);
  if create_user.name is null or create_user.name !~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,198}[^[:cntrl:][:space:]])?$' then
    perform identity.raise_error('L9VAL', 'name: 1 to 200 characters, no white space around them', 'name');
  elsif create_user.org_id is not null and not exists (
      select from public.orgs o where o.tenant_id = admin.target_tenant_id and o.org_id = create_user.org_id) then
    perform identity.raise_error('L9VAL', 'org_id: there is no such org in this tenant', 'org_id');
  end if;
  insert into public.users (tenant_id, user_id, org_id, name)
  values (admin.target_tenant_id, coalesce(create_user.user_id, uuidv7()), create_user.org_id, create_user.name)
  on conflict do nothing
  returning users.* into made;
  if not found then
    perform identity.raise_error('L9VAL', 'user_id: another user of this tenant has it', 'user_id');
  end if;
  return made;
end
$$;

comment on function public.create_user(text, uuid, uuid, uuid) is
  'Registers a user, under the id that an identity provider knows it by, or a new one; with an org: only tokens that name that org act for it. For admins of the tenant. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change by functions only.';

create function administration.set_org_active(org_id uuid, tenant_id uuid, is_active boolean)
returns public.orgs
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(set_org_active.tenant_id);
  changed public.orgs;
begin
  perform administration.require_whole_token(admin);
  if admin.own_tenant_id = admin.target_tenant_id and set_org_active.org_id = admin.org_id then
    perform identity.raise_error('L9SCP', 'org_id: the org that your token acts for; you would lock yourself out', 'org_id');
  end if;
  update public.orgs o set is_active = set_org_active.is_active
  where o.tenant_id = admin.target_tenant_id and o.org_id = set_org_active.org_id
  returning o.* into changed;
  if not found then
    perform administration.raise_not_found('org_id', 'org_id');
  end if;
  return changed;
end
$$;

create function administration.set_user_active(user_id uuid, tenant_id uuid, is_active boolean)
returns public.users
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(set_user_active.tenant_id);
  changed public.users;
begin
  perform administration.require_whole_token(admin);
  if admin.own_tenant_id = admin.target_tenant_id and set_user_active.user_id = admin.user_id then
    perform identity.raise_error('L9SCP', 'user_id: the user that your token acts for; you would lock yourself out', 'user_id');
  end if;
  update public.users u set is_active = set_user_active.is_active
  where u.tenant_id = admin.target_tenant_id and u.user_id = set_user_active.user_id
  returning u.* into changed;
  if not found then
    perform administration.raise_not_found('user_id', 'user_id');
  end if;
  return changed;
end
$$;

comment on function administration.set_org_active(uuid, uuid, boolean) is 'deactivate_org() and reactivate_org().';
comment on function administration.set_user_active(uuid, uuid, boolean) is 'deactivate_user() and reactivate_user().';

create function public.deactivate_org(org_id uuid, tenant_id uuid default null)
returns public.orgs
language sql volatile security definer set search_path = ''
return administration.set_org_active(org_id, tenant_id, false);

create function public.reactivate_org(org_id uuid, tenant_id uuid default null)
returns public.orgs
language sql volatile security definer set search_path = ''
return administration.set_org_active(org_id, tenant_id, true);

create function public.deactivate_user(user_id uuid, tenant_id uuid default null)
returns public.users
language sql volatile security definer set search_path = ''
return administration.set_user_active(user_id, tenant_id, false);

create function public.reactivate_user(user_id uuid, tenant_id uuid default null)
returns public.users
language sql volatile security definer set search_path = ''
return administration.set_user_active(user_id, tenant_id, true);

comment on function public.deactivate_org(uuid, uuid) is
  'From the next request on no token or key that names this org is an identity. For admins of the tenant. L9OWN where it is not registered. Definer: identity tables change by functions only.';
comment on function public.reactivate_org(uuid, uuid) is
  'Undoes deactivate_org(). Definer: identity tables change by functions only.';
comment on function public.deactivate_user(uuid, uuid) is
  'From the next request on no token or key that names this user is an identity. For admins of the tenant. L9OWN where it is not registered. Definer: identity tables change by functions only.';
comment on function public.reactivate_user(uuid, uuid) is
  'Undoes deactivate_user(). Definer: identity tables change by functions only.';

grant execute on function
  public.create_org(text, uuid, uuid), public.deactivate_org(uuid, uuid), public.reactivate_org(uuid, uuid),
  public.create_user(text, uuid, uuid, uuid), public.deactivate_user(uuid, uuid), public.reactivate_user(uuid, uuid)
to l9_admin, l9_platform_admin;
