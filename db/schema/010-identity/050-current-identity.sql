-- The caller of a transaction and what it may do. Policies, triggers and operations ask current_identity(), most of
-- them through current_tenant_id() and its neighbours.
create type identity.identity as (
  tenant_id uuid, org_id uuid, user_id uuid, caller text, creator text, source text, agent text, role text,
  readable_scopes text[], writable_scopes text[], projects text[], can_clean_up boolean);
comment on type identity.identity is 'The caller of this transaction, and what its claims and the actor''s row permit.';

-- Every policy and row trigger calls this function, so it must be fast: plpgsql caches its plan for the session, missing
-- claims are not parsed, and the common path calls no other function (each call costs about 20 µs).
create function identity.current_identity() returns identity.identity
language plpgsql stable parallel safe security definer set search_path = ''
-- These force the primary-key lookup: on tiny tables the planner prefers a sequential scan over all tenants.
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  me identity.identity;
  tenant_claim text := nullif(current_setting('jwt.claims.tenant_id', true), '');
  org_claim text := nullif(current_setting('jwt.claims.org_id', true), '');
  user_claim text := nullif(current_setting('jwt.claims.user_id', true), '');
  key_claim text := nullif(current_setting('jwt.claims.key_id', true), '');
  caller_claim text := nullif(current_setting('jwt.claims.caller', true), '');
  via_claim text := nullif(current_setting('jwt.claims.via', true), '');
  scopes_claim text := nullif(current_setting('jwt.claims.scopes', true), '');
  projects_claim text := nullif(current_setting('jwt.claims.projects', true), '');
  role_name text := case current_setting('role') when 'none' then session_user else current_setting('role') end;
  bound_actor record;
begin
  -- Anyone with a database session can set claims, and only the gateway verifies them. Any other login is the actor it is
  -- bound to or has no identity; its claims can only reduce its scopes and projects.
  if session_user <> 'l9_gateway' and not pg_has_role(session_user, 'l9_gateway', 'member') then
    select a.tenant_id, a.caller into bound_actor from public.actors a where a.login = session_user;
    if not found or tenant_claim <> bound_actor.tenant_id::text or caller_claim <> bound_actor.caller
      or org_claim is not null or user_claim is not null or key_claim is not null then
      return null;
    end if;
    tenant_claim := bound_actor.tenant_id;
    caller_claim := bound_actor.caller;
    if role_name = session_user then
      -- The session has not taken one of our roles but inherits one. With more than one, its role is ambiguous.
      role_name := (
        select case count(*) when 1 then min(r.name) end
        from unnest(identity.caller_roles()) as r (name)
        where pg_has_role(session_user, r.name, 'usage'));
    end if;
  end if;

  -- A malformed claim yields no identity. If it were ignored, the caller would write to a wider audience than it asked for.
  if caller_claim is null or tenant_claim is null or not pg_input_is_valid(tenant_claim, 'uuid')
    or not pg_input_is_valid(org_claim, 'uuid') or not pg_input_is_valid(user_claim, 'uuid')
    or not pg_input_is_valid(key_claim, 'uuid') then
    return null;
  end if;
  me.projects := case when projects_claim is null then '{*}' else identity.list_claim('projects') end;

  select a.tenant_id, org_claim::uuid, user_claim::uuid, a.caller, a.creator, a.source, a.agent, a.role,
    a.readable_scopes, a.writable_scopes, me.projects,
    case when a.move_state is null then a.can_clean_up else identity.refuse_moving(a.move_state) end
  into me
  from identity.active_actors a
  where a.tenant_id = tenant_claim::uuid and a.caller = caller_claim and a.role = role_name
    -- The key is that of another caller, which may speak only for clients that are known by their name alone.
    and (via_claim is null or a.registered_by = via_claim);

  if scopes_claim is not null then
    me.readable_scopes := identity.intersect_scopes(me.readable_scopes, identity.list_claim('scopes'));
    me.writable_scopes := identity.intersect_scopes(me.writable_scopes, identity.list_claim('scopes'));
  end if;
  if (org_claim is not null or user_claim is not null or key_claim is not null)
    and not identity.are_claims_valid(
      me.tenant_id, coalesce(via_claim, me.caller), me.org_id, me.user_id, key_claim::uuid) then
    return null;
  end if;
  return me;
end $$;
comment on function identity.current_identity is 'The caller of this transaction, computed from its login, claims, role and '
  'actor''s row; null if these do not match. Raises L9BSY while its tenant moves to another database. '
  'Definer: reads identity tables, which callers see only in part.';
grant execute on function identity.current_identity to l9_agent, l9_admin, l9_platform_admin, l9_worker;
