-- Operations begin with require_identity(), so that a session without a caller gets an error and not an empty answer;
-- require_admin() is for what only administrators do.
create function identity.require_identity() returns identity.identity
language plpgsql stable parallel safe set search_path = '' as $$
declare
  me identity.identity := identity.current_identity();
begin
  if me.caller is null then
    perform identity.raise_error('L9AUT', 'this session has no identity: its claims do not name an active caller of its role');
  end if;
  return me;
end $$;
comment on function identity.require_identity is 'Returns current_identity(), or raises L9AUT if there is none.';

create function identity.require_admin() returns identity.identity
language plpgsql stable parallel safe set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
begin
  if me.role not in ('l9_admin', 'l9_platform_admin') then
    perform identity.raise_error('L9SCP', 'only administrators can do this');
  end if;
  return me;
end $$;
comment on function identity.require_admin is 'current_identity() of an administrator; else raises L9AUT or L9SCP.';
grant execute on function identity.require_identity, identity.require_admin to l9_agent, l9_admin, l9_platform_admin, l9_worker;
