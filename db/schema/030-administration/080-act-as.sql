create function administration.why_not_acting(tenant_id uuid, caller text)
returns text
language sql
stable
security definer
set search_path = ''
return case
  when not pg_catalog.pg_has_role(session_user, 'l9_gateway', 'member') then
    'this login acts only as the actor it is bound to (bind_login)'
  else coalesce(
    (select pg_catalog.format('%s acts under the role %s: first `begin; set local role %s;`', a.caller, a.role, a.role)
     from public.actors a
     where a.tenant_id = why_not_acting.tenant_id and a.caller = why_not_acting.caller and a.is_active
       and a.role <> identity.current_role_name()),
    'caller, tenant_id, org_id, user_id: not active, or they do not belong together')
end;

comment on function administration.why_not_acting(uuid, text) is
  'Why act_as() gives no identity. Definer: reads actors; it tells of them only sessions whose claims are believed.';

create function public.act_as(
  caller text,
  tenant_id uuid default null,
  org_id uuid default null,
  user_id uuid default null,
  projects text[] default null,
  scopes text[] default null
)
returns text
language plpgsql
volatile
set search_path = ''
as $$
declare
  tenant uuid := coalesce(act_as.tenant_id, '00000000-0000-7000-8000-000000000001');
  me identity.identity;
begin
  if act_as.caller is null then
    perform identity.raise_error('L9VAL', 'caller: whose eyes?', 'caller');
  end if;
  perform
    set_config('jwt.claims.caller', act_as.caller, true),
    set_config('jwt.claims.tenant_id', tenant::text, true),
    set_config('jwt.claims.org_id', coalesce(act_as.org_id::text, ''), true),
    set_config('jwt.claims.user_id', coalesce(act_as.user_id::text, ''), true),
    set_config('jwt.claims.projects', coalesce(to_json(act_as.projects)::text, ''), true),
    set_config('jwt.claims.scopes', coalesce(to_json(act_as.scopes)::text, ''), true),
    set_config('jwt.claims.key_id', '', true),
    set_config('jwt.claims.session_id', '', true),
    set_config('jwt.claims.trace_id', '', true);
  me := identity.current_identity();
  if me.caller is null then
    perform identity.raise_error('L9AUT', administration.why_not_acting(tenant, act_as.caller), 'caller');
  end if;
  return format('%s reads %s; writes %s; projects %s', me.caller,
    coalesce(nullif(array_to_string(me.readable_scopes, ', '), ''), 'nothing'),
    coalesce(nullif(array_to_string(me.writable_scopes, ', '), ''), 'nothing'),
    coalesce(nullif(array_to_string(me.projects, ', '), ''), 'none'));
end
$$;

comment on function public.act_as(text, uuid, uuid, uuid, text[], text[]) is
  'In psql, after `begin; set local role …`: this transaction sees and does what that caller would, in the default tenant if none is given. L9AUT where the caller does not act under that role. It grants nothing: whoever logs in as l9_gateway can set claims anyway, and in other sessions they count for nothing.';

grant execute on function administration.why_not_acting(uuid, text), public.act_as(text, uuid, uuid, uuid, text[], text[])
  to l9_agent, l9_admin, l9_platform_admin;
