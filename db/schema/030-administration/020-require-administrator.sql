create type administration.administrator as (
  target_tenant_id uuid,
  own_tenant_id uuid,
  caller text,
  org_id uuid,
  user_id uuid,
  is_operator boolean,
  readable_scopes text[],
  writable_scopes text[],
  projects text[],
  can_clean_up boolean
);

comment on type administration.administrator is
  'Who administers, which tenant, and what it can give: scopes {*} only where it has every scope, those to come included.';

create function administration.is_owner()
returns boolean
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.pg_has_role(identity.current_role_name(), 'l9_owner', 'usage');

comment on function administration.is_owner() is
  'Whether this is a DBA''s session with the rights of l9_owner, of no role below it, rather than a function that runs as the owner.';

create function administration.require_administrator(tenant_id uuid)
returns administration.administrator
language plpgsql
stable
set search_path = ''
as $$
declare
  me identity.identity;
  answer administration.administrator;
begin
  if administration.is_owner() then
    answer.target_tenant_id := coalesce(require_administrator.tenant_id, '00000000-0000-7000-8000-000000000001');
    answer.is_operator := true;
  else
    me := identity.require_admin();
    answer.target_tenant_id := coalesce(require_administrator.tenant_id, me.tenant_id);
    answer.own_tenant_id := me.tenant_id;
    answer.caller := me.caller;
    answer.org_id := me.org_id;
    answer.user_id := me.user_id;
    answer.is_operator := me.role = 'l9_platform_admin';
  end if;

  if answer.is_operator then
    if me.caller is not null and not ('*' = any (me.projects) and '*' = any (identity.list_claim('scopes'))) then
      perform identity.raise_error('L9SCP', 'a token that is cut down to some scopes or projects administers nothing across tenants');
    elsif not exists (select from public.tenants t where t.tenant_id = answer.target_tenant_id) then
      perform identity.raise_error('L9VAL', 'tenant_id: there is no such tenant', 'tenant_id');
    end if;
    answer.readable_scopes := '{*}';
    answer.writable_scopes := '{*}';
    answer.projects := '{*}';
    answer.can_clean_up := true;
    return answer;
  end if;

  if answer.target_tenant_id <> me.tenant_id then
    perform identity.raise_error('L9SCP', 'tenant_id: not your tenant', 'tenant_id');
  end if;
  answer.readable_scopes := case when identity.has_every_scope() then '{*}' else me.readable_scopes end;
  answer.writable_scopes := case when identity.has_every_scope() then '{*}' else me.writable_scopes end;
  answer.projects := me.projects;
  answer.can_clean_up := me.can_clean_up;
  return answer;
end
$$;

comment on function administration.require_administrator(uuid) is
  'Who administers this tenant (its own, if none is named): L its own, operators and the owner in psql any. Else L9AUT or L9SCP.';

create function administration.require_operator()
returns administration.administrator
language plpgsql
stable
set search_path = ''
as $$
declare
  admin administration.administrator := administration.require_administrator(null);
begin
  if not admin.is_operator then
    perform identity.raise_error('L9SCP', 'this is for operators (l9_platform_admin) and for l9_owner in psql');
  end if;
  return admin;
end
$$;

comment on function administration.require_operator() is 'An administrator across tenants; else L9AUT or L9SCP.';

create function administration.require_whole_token(admin administration.administrator)
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if not ('*' = any (admin.projects) and '*' = any (admin.readable_scopes)) then
    perform identity.raise_error('L9SCP', 'this takes an administrator of every scope, with a token that is not cut down to some scopes or projects');
  end if;
end
$$;

comment on function administration.require_whole_token(administration.administrator) is
  'L9SCP for an administrator whose token is cut down: what it changes would be felt beyond its scopes and projects.';

create function administration.check_reach(
  admin administration.administrator, role text, readable_scopes text[], writable_scopes text[], projects text[], can_clean_up boolean)
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if admin.is_operator then
    return;
  end if;
  if role = 'l9_platform_admin' then
    perform identity.raise_error('L9SCP', 'role: operators (l9_platform_admin) are for operators to make and to change', 'role');
  elsif not ('*' = any (admin.readable_scopes) or readable_scopes <@ admin.readable_scopes) then
    perform identity.raise_error('L9SCP',
      format('readable_scopes: you may give %s', array_to_string(admin.readable_scopes, ', ')), 'readable_scopes');
  elsif not ('*' = any (admin.writable_scopes) or writable_scopes <@ admin.writable_scopes) then
    perform identity.raise_error('L9SCP',
      format('writable_scopes: you may give %s', array_to_string(admin.writable_scopes, ', ')), 'writable_scopes');
  elsif not ('*' = any (admin.projects) or projects <@ admin.projects) then
    perform identity.raise_error('L9SCP', format('projects: you may give %s', array_to_string(admin.projects, ', ')), 'projects');
  elsif can_clean_up and not admin.can_clean_up then
    perform identity.raise_error('L9SCP', 'can_clean_up: you may not clean up yourself', 'can_clean_up');
  end if;
end
$$;

comment on function administration.check_reach(administration.administrator, text, text[], text[], text[], boolean) is
  'L9SCP unless the administrator has all of this itself.';

create function administration.raise_not_found(what text, field text)
returns void
language sql
immutable
parallel safe
set search_path = ''
return identity.raise_error('L9OWN', pg_catalog.format('%s: not there, or not yours', what), field);

comment on function administration.raise_not_found(text, text) is
  'The error for an org, user, scope, actor or key that is not there, or of another tenant: the two are never told apart.';
