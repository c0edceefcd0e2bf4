-- Requires an administrator and says what it may change and grant. The functions of administrators begin with these.
create type administration.administrator as (
  target_tenant_id uuid, own_tenant_id uuid, caller text, org_id uuid, user_id uuid, is_operator boolean, readable_scopes text[],
  writable_scopes text[], projects text[], can_clean_up boolean);
comment on type administration.administrator is 'The administrator, the target tenant, and the most it may grant. Scopes are {*} '
  'only if it has all current and future scopes.';

create function administration.is_owner() returns boolean language sql stable parallel safe set search_path = ''
return pg_catalog.pg_has_role(identity.current_role_name(), 'l9_owner', 'usage');
comment on function administration.is_owner is 'True for a DBA with the rights of l9_owner, and false in any definer function.';

-- The owner in psql and operators reach every tenant and may grant everything; an admin reaches its own and grants what it has.
create function administration.require_administrator(tenant_id uuid) returns administration.administrator
language plpgsql stable set search_path = '' as $$
declare
  me identity.identity;
  admin administration.administrator;
begin
  -- The owner in psql has no identity, so what names the administrator stays null: it has no tenant of its own to lock out.
  if administration.is_owner() then
    admin.target_tenant_id := coalesce(require_administrator.tenant_id, identity.default_tenant_id());
    admin.is_operator := true;
  else
    me := identity.require_admin();
    admin.target_tenant_id := coalesce(require_administrator.tenant_id, me.tenant_id);
    admin.own_tenant_id := me.tenant_id;
    admin.caller := me.caller;
    admin.org_id := me.org_id;
    admin.user_id := me.user_id;
    admin.is_operator := me.role = 'l9_platform_admin';
  end if;

  if admin.is_operator then
    -- An operator (not the owner, who has no token) may be given everything below, so its token must not be limited.
    if me.caller is not null and not ('*' = any (me.projects) and '*' = any (identity.list_claim('scopes'))) then
      perform identity.raise_error('L9SCP', 'a token that is limited to some scopes or projects cannot administer other tenants');
    elsif not exists (select from public.tenants t where t.tenant_id = admin.target_tenant_id) then
      perform identity.raise_error('L9VAL', 'tenant_id: no such tenant');
    end if;
    admin.readable_scopes := '{*}';
    admin.writable_scopes := '{*}';
    admin.projects := '{*}';
    admin.can_clean_up := true;
    return admin;
  end if;

  if admin.target_tenant_id <> me.tenant_id then
    perform identity.raise_error('L9SCP', 'tenant_id: not your tenant');
  end if;
  admin.readable_scopes := case when identity.has_every_scope() then '{*}' else me.readable_scopes end;
  admin.writable_scopes := case when identity.has_every_scope() then '{*}' else me.writable_scopes end;
  admin.projects := me.projects;
  admin.can_clean_up := me.can_clean_up;
  return admin;
end $$;
comment on function administration.require_administrator is 'Returns the administrator of this tenant (of the caller''s own, if '
  'none is named): an admin for its own tenant, operators and the owner in psql for any. Else raises L9AUT or L9SCP.';

create function administration.require_operator() returns administration.administrator
language plpgsql stable set search_path = '' as $$
declare
  admin administration.administrator := administration.require_administrator(null);
begin
  if not admin.is_operator then
    perform identity.raise_error('L9SCP', 'only operators (l9_platform_admin) and l9_owner in psql can do this');
  end if;
  return admin;
end $$;
comment on function administration.require_operator is 'Returns an administrator of all tenants; else raises L9AUT or L9SCP.';

create function administration.require_whole_token(admin administration.administrator) returns void
language plpgsql stable set search_path = '' as $$
begin
  if not ('*' = any (admin.projects) and '*' = any (admin.readable_scopes)) then
    perform identity.raise_error('L9SCP',
      'only an administrator of every scope can do this, with a token that is not limited to some scopes or projects');
  end if;
end $$;
comment on function administration.require_whole_token is 'Raises L9SCP if the token is limited: the change would exceed it.';

create function administration.require_unlimited(tenant_id uuid) returns administration.administrator
language plpgsql stable set search_path = '' as $$
declare
  admin administration.administrator := administration.require_administrator(require_unlimited.tenant_id);
begin
  perform administration.require_whole_token(admin);
  return admin;
end $$;
comment on function administration.require_unlimited is 'require_administrator() and require_whole_token().';
