-- Makes a transaction in psql act as a caller. People and scripts call act_as() after `set local role`; GraphQL does
-- not offer it.
create function administration.explain_refusal(tenant_id uuid, caller text) returns text
language sql stable security definer set search_path = ''
return case
  when not pg_catalog.pg_has_role(session_user, 'l9_gateway', 'member') then
    'this login can act only as the actor that it is bound to (bind_login)'
  else coalesce(
    (select pg_catalog.format('%s acts under the role %s: run `begin; set local role %s;` first', a.caller, a.role, a.role)
     from public.actors a
     where a.tenant_id = explain_refusal.tenant_id and a.caller = explain_refusal.caller and a.is_active
       and a.role <> identity.current_role_name()),
    'caller, tenant_id, org_id, user_id: one of them is not active, or they do not match')
end;
comment on function administration.explain_refusal is 'Explains why act_as() gives no identity. Definer: reads actors, and '
  'reveals them only to sessions whose claims are trusted.';

-- Sets every claim of the transaction, those that are not given to an empty text, and asks whether they make an identity.
create function public.act_as(
  caller text, tenant_id uuid default null, org_id uuid default null, user_id uuid default null, projects text[] default null,
  scopes text[] default null) returns text
language plpgsql volatile set search_path = '' as $$
declare
  target_tenant_id uuid := coalesce(act_as.tenant_id, identity.default_tenant_id());
  me identity.identity;
begin
  if act_as.caller is null then
    perform identity.raise_error('L9VAL', 'caller: required, for example C');
  end if;
  perform
    set_config('jwt.claims.caller', act_as.caller, true),
    set_config('jwt.claims.via', '', true),
    set_config('jwt.claims.tenant_id', target_tenant_id::text, true),
    set_config('jwt.claims.org_id', coalesce(act_as.org_id::text, ''), true),
    set_config('jwt.claims.user_id', coalesce(act_as.user_id::text, ''), true),
    set_config('jwt.claims.projects', coalesce(to_json(act_as.projects)::text, ''), true),
    set_config('jwt.claims.scopes', coalesce(to_json(act_as.scopes)::text, ''), true),
    set_config('jwt.claims.key_id', '', true),
    set_config('jwt.claims.default_project', '', true),
    set_config('jwt.claims.correlation_id', '', true),
    set_config('jwt.claims.session_id', '', true),
    set_config('jwt.claims.trace_id', '', true);
  me := identity.current_identity();
  if me.caller is null then
    perform identity.raise_error('L9AUT', administration.explain_refusal(target_tenant_id, act_as.caller), 'caller');
  end if;
  return format('%s reads %s; writes %s; projects %s', me.caller,
    coalesce(nullif(array_to_string(me.readable_scopes, ', '), ''), 'nothing'),
    coalesce(nullif(array_to_string(me.writable_scopes, ', '), ''), 'nothing'),
    coalesce(nullif(array_to_string(me.projects, ', '), ''), 'none'));
end $$;
comment on function public.act_as is 'For psql, after `begin; set local role …`: for the rest of the transaction the session has '
  'the permissions of that caller, in the default tenant if none is given. Raises L9AUT if the caller does not act under that '
  'role. It grants nothing: a session of l9_gateway can set claims anyway, and in other sessions claims are not trusted.';
grant execute on function administration.explain_refusal, public.act_as to l9_agent, l9_admin, l9_platform_admin;
