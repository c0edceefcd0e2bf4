-- The one place that reads claims. Policies call the current_*() functions inside (select …), once a query.

create function identity.claim(name text)
returns text
language sql
stable
parallel safe
set search_path = ''
return nullif(pg_catalog.current_setting('jwt.claims.' || name, true), '');

comment on function identity.claim(text) is 'A claim of this transaction, or null; an empty claim counts as none.';

create function identity.list_claim(name text)
returns text[]
language sql
stable
parallel safe
set search_path = ''
return case
  when identity.claim(name) is null then array['*']
  when pg_catalog.left(identity.claim(name), 1) <> '[' then pg_catalog.string_to_array(identity.claim(name), ',')
  when identity.claim(name) is json array then
    array(select pg_catalog.jsonb_array_elements_text(identity.claim(name)::jsonb))
  else '{}'
end;

comment on function identity.list_claim(text) is
  'A claim that is a list, as JSON or separated by commas: {*} when it is missing, empty when it is malformed.';

create type identity.identity as (
  tenant_id uuid,
  org_id uuid,
  user_id uuid,
  caller text,
  creator text,
  source text,
  agent text,
  role text,
  readable_scopes text[],
  writable_scopes text[],
  projects text[],
  can_clean_up boolean
);

comment on type identity.identity is 'Who this transaction acts for, and how far, after its claims were cut down by the actor''s row.';

create function identity.current_role_name()
returns text
language sql
stable
parallel safe
set search_path = ''
return case pg_catalog.current_setting('role')
  when 'none' then session_user::text
  else pg_catalog.current_setting('role')
end;

comment on function identity.current_role_name() is
  'The role that the session has taken. Unlike current_user it is still the caller''s inside a definer function.';

create function identity.intersect_scopes(list text[], claimed text[])
returns text[]
language sql
immutable
parallel safe
set search_path = ''
return case when '*' = any (claimed) then list
  else array(select l.entry from unnest(list) with ordinality as l (entry, place) where l.entry = any (claimed) order by l.place) end;

comment on function identity.intersect_scopes(text[], text[]) is 'What of a list is claimed; {*} claims all of it.';

create function identity.are_claims_valid(tenant_id uuid, caller text, org_id uuid, user_id uuid, key_id uuid)
returns boolean
language sql
stable
parallel safe
security definer
set search_path = ''
return
  (org_id is null or not exists (
    select from public.orgs o
    where o.tenant_id = are_claims_valid.tenant_id and o.org_id = are_claims_valid.org_id and not o.is_active))
  and (user_id is null or not exists (
    select from public.users u
    where u.tenant_id = are_claims_valid.tenant_id and u.user_id = are_claims_valid.user_id
      and not (u.is_active and (u.org_id is null or u.org_id is not distinct from are_claims_valid.org_id))))
  and (key_id is null or exists (
    select from public.api_keys k
    where k.key_id = are_claims_valid.key_id and k.tenant_id = are_claims_valid.tenant_id and k.caller = are_claims_valid.caller
      and k.revoked_at is null and (k.expires_at is null or k.expires_at > pg_catalog.clock_timestamp())));

comment on function identity.are_claims_valid(uuid, text, uuid, uuid, uuid) is
  'Whether an org and a user that are registered are active and belong together, and an API key is its caller''s and still holds. Definer: reads identity tables. Not executable by callers.';

-- Every policy and row trigger asks for it, so its cost is felt: plpgsql keeps its plan for the session, claims that are
-- not there are not parsed, and what it does always is done without calling another function (20 µs each).
create function identity.current_identity()
returns identity.identity
language plpgsql
stable
parallel safe
security definer
set search_path = ''
-- A row by its key: over a page or two the planner would rather read all tenants' rows.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  me identity.identity;
  tenant_claim text := nullif(current_setting('jwt.claims.tenant_id', true), '');
  org_claim text := nullif(current_setting('jwt.claims.org_id', true), '');
  user_claim text := nullif(current_setting('jwt.claims.user_id', true), '');
  key_claim text := nullif(current_setting('jwt.claims.key_id', true), '');
  caller_claim text := nullif(current_setting('jwt.claims.caller', true), '');
  scopes_claim text := nullif(current_setting('jwt.claims.scopes', true), '');
  projects_claim text := nullif(current_setting('jwt.claims.projects', true), '');
  role_name text := case current_setting('role') when 'none' then session_user else current_setting('role') end;
  bound record;
begin
  -- Anyone with a database session can set claims. Those of the gateway's login are verified; any other login is the
  -- actor it is bound to, or nobody, and may at most take scopes and projects away from itself.
  if session_user <> 'l9_gateway' and not pg_has_role(session_user, 'l9_gateway', 'member') then
    select a.tenant_id, a.caller into bound from public.actors a where a.login = session_user;
    if not found or tenant_claim <> bound.tenant_id::text or caller_claim <> bound.caller
      or org_claim is not null or user_claim is not null or key_claim is not null then
      return null;
    end if;
    tenant_claim := bound.tenant_id;
    caller_claim := bound.caller;
    if role_name = session_user then
      -- It has not taken one of our roles, but inherits: from one, else it is not clear which it acts under.
      role_name := (
        select case count(*) when 1 then min(r.name) end
        from unnest(array['l9_agent', 'l9_admin', 'l9_platform_admin']) as r (name)
        where pg_has_role(session_user, r.name, 'usage'));
    end if;
  end if;

  -- A claim that is there but malformed is no identity at all, rather than one that is shared more widely.
  if caller_claim is null or tenant_claim is null or not pg_input_is_valid(tenant_claim, 'uuid')
    or not pg_input_is_valid(org_claim, 'uuid') or not pg_input_is_valid(user_claim, 'uuid')
    or not pg_input_is_valid(key_claim, 'uuid') then
    return null;
  end if;
  me.projects := case when projects_claim is null then '{*}' else identity.list_claim('projects') end;

  select a.tenant_id, org_claim::uuid, user_claim::uuid, a.caller, a.creator, a.source, a.agent, a.role,
    a.readable_scopes, a.writable_scopes, me.projects, a.can_clean_up
  into me
  from identity.active_actors a
  where a.tenant_id = tenant_claim::uuid and a.caller = caller_claim and a.role = role_name;

  if scopes_claim is not null then
    me.readable_scopes := identity.intersect_scopes(me.readable_scopes, identity.list_claim('scopes'));
    me.writable_scopes := identity.intersect_scopes(me.writable_scopes, identity.list_claim('scopes'));
  end if;
  if (org_claim is not null or user_claim is not null or key_claim is not null)
    and not identity.are_claims_valid(me.tenant_id, me.caller, me.org_id, me.user_id, key_claim::uuid) then
    return null;
  end if;
  return me;
end
$$;

comment on function identity.current_identity() is
  'The caller of this transaction from its login, its claims, its role and its actor''s row; null when they do not fit together. Definer: reads identity tables, which callers see only in part.';

create function identity.require_identity()
returns identity.identity
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  me identity.identity := identity.current_identity();
begin
  if me.caller is null then
    perform identity.raise_error('L9AUT', 'this session has no identity: its claims name no active caller of its role');
  end if;
  return me;
end
$$;

comment on function identity.require_identity() is 'current_identity(), or the error L9AUT where there is none.';

create function identity.require_admin()
returns identity.identity
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
begin
  if me.role not in ('l9_admin', 'l9_platform_admin') then
    perform identity.raise_error('L9SCP', 'this is for administrators');
  end if;
  return me;
end
$$;

comment on function identity.require_admin() is
  'current_identity() where it is an administrator''s; else the error L9AUT (nobody) or L9SCP (somebody else).';

create function identity.has_every_scope()
returns boolean
language sql
stable
parallel safe
security definer
set search_path = ''
return '*' = any (identity.list_claim('scopes')) and exists (
  select from public.actors a, identity.current_identity() as me
  where a.tenant_id = me.tenant_id and a.caller = me.caller and '*' = any (a.readable_scopes) and '*' = any (a.writable_scopes));

comment on function identity.has_every_scope() is
  'Whether the caller may read and write every scope of its tenant, those to come included: its actor''s row says so, and its token is not cut down. Definer: reads actors.';

create function identity.current_tenant_id() returns uuid
language sql stable parallel safe set search_path = ''
return (identity.current_identity()).tenant_id;

create function identity.current_org_id() returns uuid
language sql stable parallel safe set search_path = ''
return (identity.current_identity()).org_id;

create function identity.current_user_id() returns uuid
language sql stable parallel safe set search_path = ''
return (identity.current_identity()).user_id;

create function identity.current_caller() returns text
language sql stable parallel safe set search_path = ''
return (identity.current_identity()).caller;

create function identity.current_creator() returns text
language sql stable parallel safe set search_path = ''
return (identity.current_identity()).creator;

create function identity.current_scopes() returns text[]
language sql stable parallel safe set search_path = ''
return coalesce((identity.current_identity()).readable_scopes, '{}');

create function identity.current_writable_scopes() returns text[]
language sql stable parallel safe set search_path = ''
return coalesce((identity.current_identity()).writable_scopes, '{}');

create function identity.current_projects() returns text[]
language sql stable parallel safe set search_path = ''
return coalesce((identity.current_identity()).projects, '{}');

-- Asked once a query: '*' = any (…) in a policy would be asked of every row, and take longer than all the rest of it.
create function identity.has_every_project() returns boolean
language sql stable parallel safe set search_path = ''
return coalesce('*' = any ((identity.current_identity()).projects), false);

comment on function identity.has_every_project() is 'Whether the caller may work in every project of its tenant.';
comment on function identity.current_tenant_id() is 'The caller''s tenant, or null without an identity.';
comment on function identity.current_org_id() is 'The caller''s org, or null.';
comment on function identity.current_user_id() is 'The user the caller acts for, or null.';
comment on function identity.current_caller() is 'The caller, such as L or C, or null without an identity.';
comment on function identity.current_creator() is 'What metadata.creator of the caller''s own memories says, or null.';
comment on function identity.current_scopes() is 'Scopes the caller may read: claimed and registered. Empty without an identity.';
comment on function identity.current_writable_scopes() is 'Scopes the caller may write: claimed and registered. Empty without an identity.';
comment on function identity.current_projects() is 'Projects the caller may work in; {*} is every one. Empty without an identity.';

grant execute on function
  identity.claim(text), identity.list_claim(text),
  identity.current_role_name(), identity.current_identity(), identity.require_identity(),
  identity.require_admin(), identity.has_every_scope(),
  identity.current_tenant_id(), identity.current_org_id(), identity.current_user_id(),
  identity.current_caller(), identity.current_creator(),
  identity.current_scopes(), identity.current_writable_scopes(), identity.current_projects(), identity.has_every_project()
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
