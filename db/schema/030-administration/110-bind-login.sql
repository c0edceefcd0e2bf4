-- Makes every session of a database login act as one actor, for people and programs that connect without the gateway.
-- Operators call it in psql or GraphQL.
create function public.bind_login(caller text, login text, tenant_id uuid default null) returns public.actors
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator;
  actor public.actors;
begin
  perform administration.require_operator();
  admin := administration.require_administrator(bind_login.tenant_id);
  select a.* into actor from public.actors a
  where a.tenant_id = admin.target_tenant_id and a.caller = bind_login.caller for update;
  if not found then
    perform administration.raise_not_found('caller');
  elsif bind_login.login is not null then
    if not exists (select from pg_roles r where r.rolname = bind_login.login and r.rolcanlogin) then
      perform identity.raise_error('L9VAL', 'login: no such login');
    elsif pg_has_role(bind_login.login, 'l9_gateway', 'member') then
      perform identity.raise_error('L9VAL',
        'login: l9_gateway and its members cannot be bound, because their claims are trusted');
    elsif not pg_has_role(bind_login.login, actor.role, 'member') then
      perform identity.raise_error('L9VAL', format('login: must be a member of %s, the role of this actor', actor.role));
    elsif exists (
        select from public.actors a
        where a.login = bind_login.login and (a.tenant_id, a.caller) <> (actor.tenant_id, actor.caller)) then
      perform identity.raise_error('L9VAL', 'login: already bound to another actor');
    end if;
    perform l9_guard.limit_login(bind_login.login);
  end if;
  update public.actors a set login = bind_login.login, registered_by = null
  where a.tenant_id = actor.tenant_id and a.caller = actor.caller returning a.* into actor;
  return actor;
end $$;
comment on function public.bind_login is 'Binds a database login to this actor: its sessions are always this actor, whatever '
  'claims they set. Its statements end after 30 seconds, its waits for a lock after 5, and a transaction that is left open after '
  '60, unless a session sets other limits for itself. A null login removes the binding. For operators, because all tenants share '
  'the logins of the server. Errors: L9VAL, L9OWN, L9SCP, L9AUT. Definer: identity tables change through functions only.';
grant execute on function public.bind_login to l9_platform_admin;
