-- Checks of what administrators grant: scopes, projects, rights and limits of calls. register_actor(),
-- create_api_key() and the functions that deactivate something call them.
create function administration.check_grantable(
  admin administration.administrator, role text, readable_scopes text[], writable_scopes text[], projects text[],
  can_clean_up boolean) returns void
language plpgsql stable set search_path = '' as $$
begin
  if admin.is_operator then
    return;
  end if;
  if role = 'l9_platform_admin' then
    perform identity.raise_error('L9SCP', 'role: only operators can create or change operators (l9_platform_admin)');
  elsif not ('*' = any (admin.readable_scopes) or readable_scopes <@ admin.readable_scopes) then
    perform identity.raise_error('L9SCP',
      format('readable_scopes: you can grant only %s', array_to_string(admin.readable_scopes, ', ')));
  elsif not ('*' = any (admin.writable_scopes) or writable_scopes <@ admin.writable_scopes) then
    perform identity.raise_error('L9SCP',
      format('writable_scopes: you can grant only %s', array_to_string(admin.writable_scopes, ', ')));
  elsif not ('*' = any (admin.projects) or projects <@ admin.projects) then
    perform identity.raise_error('L9SCP', format('projects: you can grant only %s', array_to_string(admin.projects, ', ')));
  elsif can_clean_up and not admin.can_clean_up then
    perform identity.raise_error('L9SCP', 'can_clean_up: you cannot grant it, because you do not have it');
  end if;
end $$;
comment on function administration.check_grantable is 'Raises L9SCP unless the administrator has these permissions itself.';

create function administration.check_scope_list(tenant_id uuid, field text, list text[]) returns text[]
language plpgsql stable set search_path = '' as $$
declare
  unknown_scope text;
begin
  if list is null then
    return null;
  elsif '*' = any (list) then
    return '{*}';
  end if;
  select l.scope into unknown_scope from unnest(list) as l (scope)
  where not exists (select from public.scopes s where s.tenant_id = check_scope_list.tenant_id and s.scope = l.scope) limit 1;
  if found then
    perform identity.raise_error('L9VAL',
      format('%s: scope %s is not registered', field, coalesce(left(unknown_scope, 63), 'null')));
  end if;
  return array(select distinct l.scope from unnest(list) as l (scope) order by l.scope);
end $$;
comment on function administration.check_scope_list is 'The scopes sorted, each once, or {*}. Raises L9VAL for an unknown one.';

create function administration.check_call_limit(field text, calls integer) returns void
language plpgsql stable set search_path = '' as $$
begin
  if not identity.is_call_limit(calls) then
    perform identity.raise_error('L9VAL', format('%s: from 1 to 100000000', field));
  end if;
end $$;
comment on function administration.check_call_limit is 'Raises L9VAL if this is no number of calls a minute. Null passes.';

create function administration.raise_not_found(field text) returns void language sql immutable parallel safe set search_path = ''
return identity.raise_error('L9OWN', pg_catalog.format('%s: not found, or not yours', field));
comment on function administration.raise_not_found is 'Raises L9OWN for an org, user, scope, actor or key that does not exist or '
  'belongs to another tenant; the error never tells the two apart.';
