create function administration.check_scope_list(tenant_id uuid, field text, list text[])
returns text[]
language plpgsql
stable
set search_path = ''
as $$
declare
  unknown text;
begin
  if list is null then
    return null;
  elsif '*' = any (list) then
    return '{*}';
  end if;
  select l.scope into unknown from unnest(list) as l (scope)
  where not exists (select from public.scopes s where s.tenant_id = check_scope_list.tenant_id and s.scope = l.scope)
  limit 1;
  if found then
    perform identity.raise_error('L9VAL', format('%s: scope %s is not registered', field, coalesce(left(unknown, 63), 'null')), field);
  end if;
  return array(select distinct l.scope from unnest(list) as l (scope) order by l.scope);
end
$$;

comment on function administration.check_scope_list(uuid, text, text[]) is
  'A list of scopes, sorted and without repeats ({*} for every scope); L9VAL where one is not registered.';

create function public.register_actor(
  caller text,
  creator text default null,
  source text default null,
  agent text default null,
  role text default null,
  readable_scopes text[] default null,
  writable_scopes text[] default null,
  can_clean_up boolean default null,
  tenant_id uuid default null
)
returns public.actors
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(register_actor.tenant_id);
  plain constant text := '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,98}[^[:cntrl:][:space:]])?$';
  actor public.actors;
  is_new boolean;
begin
  if register_actor.caller is null or register_actor.caller !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' then
    perform identity.raise_error('L9VAL', 'caller: 1 to 63 letters, digits, ., _ and -', 'caller');
  end if;
  select a.* into actor from public.actors a
  where a.tenant_id = admin.target_tenant_id and a.caller = register_actor.caller
  for update;
  is_new := not found;

  if is_new then
    actor.tenant_id := admin.target_tenant_id;
    actor.caller := register_actor.caller;
    actor.creator := coalesce(register_actor.creator, register_actor.caller);
    actor.source := lower(register_actor.caller);
    actor.agent := lower(register_actor.caller);
    actor.role := 'l9_agent';
    actor.readable_scopes := '{developer,global}';
    actor.writable_scopes := coalesce(register_actor.readable_scopes, '{developer,global}');
    actor.can_clean_up := false;
  elsif admin.own_tenant_id = admin.target_tenant_id and admin.caller = actor.caller then
    perform identity.raise_error('L9SCP', 'caller: your own actor is another administrator''s to change', 'caller');
  elsif register_actor.creator <> actor.creator then
    -- Agents own what carries their creator: under a new one it would lose its memories, and whoever took the old one would get them.
    perform identity.raise_error('L9IMM', 'creator: it never changes, for the memories of this actor carry it', 'creator');
  else
    perform administration.check_reach(admin, actor.role, actor.readable_scopes, actor.writable_scopes, '{*}', actor.can_clean_up);
  end if;

  actor.source := coalesce(register_actor.source, actor.source);
  actor.agent := coalesce(register_actor.agent, actor.agent);
  actor.role := coalesce(register_actor.role, actor.role);
  actor.readable_scopes := coalesce(register_actor.readable_scopes, actor.readable_scopes);
  actor.writable_scopes := coalesce(register_actor.writable_scopes, actor.writable_scopes);
  actor.can_clean_up := coalesce(register_actor.can_clean_up, actor.can_clean_up);

  if actor.creator !~ plain then
    perform identity.raise_error('L9VAL', 'creator: 1 to 100 characters, no white space around them', 'creator');
  elsif actor.source !~ plain then
    perform identity.raise_error('L9VAL', 'source: 1 to 100 characters, no white space around them', 'source');
  elsif actor.agent !~ plain then
    perform identity.raise_error('L9VAL', 'agent: 1 to 100 characters, no white space around them', 'agent');
  elsif actor.role not in ('l9_agent', 'l9_admin', 'l9_platform_admin') then
    perform identity.raise_error('L9VAL', 'role: l9_agent, l9_admin or l9_platform_admin', 'role');
  end if;
  perform administration.check_reach(admin, actor.role, actor.readable_scopes, actor.writable_scopes, '{*}', actor.can_clean_up);
  actor.readable_scopes := administration.check_scope_list(admin.target_tenant_id, 'readable_scopes', actor.readable_scopes);
  actor.writable_scopes := administration.check_scope_list(admin.target_tenant_id, 'writable_scopes', actor.writable_scopes);
  if not ('*' = any (actor.readable_scopes) or actor.writable_scopes <@ actor.readable_scopes) then
    perform identity.raise_error('L9VAL', 'writable_scopes: only such as it may also read', 'writable_scopes');
  end if;

  if is_new then
    insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
    values (actor.tenant_id, actor.caller, actor.creator, actor.source, actor.agent, actor.role, actor.readable_scopes,
      actor.writable_scopes, actor.can_clean_up)
    on conflict do nothing
    returning actors.* into actor;
    if not found then
      perform identity.raise_error('L9VAL', 'caller, creator: another actor of this tenant has it', 'creator');
    end if;
  else
    update public.actors a set
      source = actor.source, agent = actor.agent, role = actor.role, readable_scopes = actor.readable_scopes,
      writable_scopes = actor.writable_scopes, can_clean_up = actor.can_clean_up
    where a.tenant_id = actor.tenant_id and a.caller = actor.caller
    returning a.* into actor;
  end if;
  return actor;
end
$$;

comment on function public.register_actor(text, text, text, text, text, text[], text[], boolean, uuid) is
  'Registers an actor, or changes what is given of one that is there; its creator never changes. Left out, a new one is an agent that reads and writes developer and global, as C. Nobody can give more than it has, or change its own actor. For admins of the tenant. Errors: L9VAL, L9SCP, L9IMM, L9AUT. Definer: identity tables change by functions only.';

create function administration.set_actor_active(caller text, tenant_id uuid, is_active boolean)
returns public.actors
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(set_actor_active.tenant_id);
  actor public.actors;
begin
  select a.* into actor from public.actors a
  where a.tenant_id = admin.target_tenant_id and a.caller = set_actor_active.caller
  for update;
  if not found then
    perform administration.raise_not_found('caller', 'caller');
  elsif admin.own_tenant_id = admin.target_tenant_id and admin.caller = actor.caller then
    perform identity.raise_error('L9SCP', 'caller: your own actor; you would lock yourself out', 'caller');
  end if;
  perform administration.check_reach(admin, actor.role, actor.readable_scopes, actor.writable_scopes, '{*}', actor.can_clean_up);
  update public.actors a set is_active = set_actor_active.is_active
  where a.tenant_id = actor.tenant_id and a.caller = actor.caller
  returning a.* into actor;
  return actor;
end
$$;

comment on function administration.set_actor_active(text, uuid, boolean) is 'deactivate_actor() and reactivate_actor().';

create function public.deactivate_actor(caller text, tenant_id uuid default null)
returns public.actors
language sql volatile security definer set search_path = ''
return administration.set_actor_active(caller, tenant_id, false);

create function public.reactivate_actor(caller text, tenant_id uuid default null)
returns public.actors
language sql volatile security definer set search_path = ''
return administration.set_actor_active(caller, tenant_id, true);

comment on function public.deactivate_actor(text, uuid) is
  'The next request of this actor fails, whatever its token or key says. For admins of the tenant, and not for their own actor. Definer: identity tables change by functions only.';
comment on function public.reactivate_actor(text, uuid) is
  'Undoes deactivate_actor(). Definer: identity tables change by functions only.';

create function public.bind_login(caller text, login text, tenant_id uuid default null)
returns public.actors
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator;
  actor public.actors;
begin
  perform administration.require_operator();
  admin := administration.require_administrator(bind_login.tenant_id);
  select a.* into actor from public.actors a
  where a.tenant_id = admin.target_tenant_id and a.caller = bind_login.caller
  for update;
  if not found then
    perform administration.raise_not_found('caller', 'caller');
  elsif bind_login.login is not null then
    if not exists (select from pg_roles r where r.rolname = bind_login.login and r.rolcanlogin) then
      perform identity.raise_error('L9VAL', 'login: there is no such login', 'login');
    elsif pg_has_role(bind_login.login, 'l9_gateway', 'member') then
      perform identity.raise_error('L9VAL', 'login: the claims of l9_gateway and its members are believed, so it can''t be bound', 'login');
    elsif not pg_has_role(bind_login.login, actor.role, 'member') then
      perform identity.raise_error('L9VAL', format('login: not a member of %s, the role of this actor', actor.role), 'login');
    elsif exists (
        select from public.actors a
        where a.login = bind_login.login and (a.tenant_id, a.caller) <> (actor.tenant_id, actor.caller)) then
      perform identity.raise_error('L9VAL', 'login: another actor is bound to it', 'login');
    end if;
  end if;
  update public.actors a set login = bind_login.login
  where a.tenant_id = actor.tenant_id and a.caller = actor.caller
  returning a.* into actor;
  return actor;
end
$$;

comment on function public.bind_login(text, text, uuid) is
  'Makes a database login this actor, whatever claims its sessions set; null: none any more. For operators, since logins are shared by all tenants. Errors: L9VAL, L9OWN, L9SCP, L9AUT. Definer: identity tables change by functions only.';

grant execute on function
  public.register_actor(text, text, text, text, text, text[], text[], boolean, uuid),
  public.deactivate_actor(text, uuid), public.reactivate_actor(text, uuid)
to l9_admin, l9_platform_admin;
grant execute on function public.bind_login(text, text, uuid) to l9_platform_admin;
