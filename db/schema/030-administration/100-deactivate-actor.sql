-- Switches actors off and on. Admins call these functions in psql or GraphQL.
create function administration.set_actor_active(caller text, tenant_id uuid, is_active boolean) returns public.actors
language plpgsql volatile set search_path = '' as $$
declare
  admin administration.administrator := administration.require_administrator(set_actor_active.tenant_id);
  actor public.actors;
begin
  select a.* into actor from public.actors a
  where a.tenant_id = admin.target_tenant_id and a.caller = set_actor_active.caller for update;
  if not found then
    perform administration.raise_not_found('caller');
  elsif admin.own_tenant_id = admin.target_tenant_id and admin.caller = actor.caller then
    perform identity.raise_error('L9SCP', 'caller: this is your own actor; you would lock yourself out');
  end if;
  perform administration.check_grantable(
    admin, actor.role, actor.readable_scopes, actor.writable_scopes, '{*}', actor.can_clean_up);
  update public.actors a set is_active = set_actor_active.is_active
  where a.tenant_id = actor.tenant_id and a.caller = actor.caller returning a.* into actor;
  return actor;
end $$;
comment on function administration.set_actor_active is 'Implements deactivate_actor() and reactivate_actor().';

create function public.deactivate_actor(caller text, tenant_id uuid default null) returns public.actors
language sql volatile security definer set search_path = '' return administration.set_actor_active(caller, tenant_id, false);
comment on function public.deactivate_actor is 'The next request of this actor fails, whatever its token or key says. For admins '
  'of the tenant; not for their own actor. Definer: identity tables change through functions only.';

create function public.reactivate_actor(caller text, tenant_id uuid default null) returns public.actors
language sql volatile security definer set search_path = '' return administration.set_actor_active(caller, tenant_id, true);
comment on function public.reactivate_actor is 'Undoes deactivate_actor(). Definer: identity tables change through functions '
  'only.';
grant execute on function public.deactivate_actor, public.reactivate_actor to l9_admin, l9_platform_admin;
