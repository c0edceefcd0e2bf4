--! Previous: -
--! Hash: sha1:49261f43c39f0c92423706f1c682371c970a2057
--! Message: the first schema

--! split: 1-current.sql
--! Included 010-identity/000-schema.sql
-- This stands before the first function, so that no function is executable unless a later line grants it.
alter default privileges revoke execute on functions from public;

create schema identity;

comment on schema identity is
  'Who is calling: claims, actors, scopes, and the functions through which every policy learns the caller. Not exposed over GraphQL; callers can execute only the functions granted to them one by one.';

grant usage on schema public, identity to l9_agent, l9_admin, l9_platform_admin, l9_worker;

-- A gateway without owner rights checks here whether all migrations have run.
grant usage on schema graphile_migrate to l9_worker;

grant select on graphile_migrate.migrations to l9_worker;
--! EndIncluded 010-identity/000-schema.sql
--! Included 010-identity/010-raise-error.sql
create function identity.raise_error(errcode text, message text, field text default null, hint text default null)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  raise exception using
    errcode = errcode,
    message = message,
    column = coalesce(field, ''),
    hint = coalesce(hint, '');
end
$$;

comment on function identity.raise_error(text, text, text, text) is
  'Raises one of the documented errors (docs/reference/errors.md): a SQLSTATE that begins with L9, a message fit for the caller, and the name of the field that the error is about.';

grant execute on function identity.raise_error(text, text, text, text) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 010-identity/010-raise-error.sql
--! Included 010-identity/020-check-bytes.sql
create function identity.check_bytes(value text, max_bytes integer, field text)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if octet_length(value) > max_bytes then
    perform identity.raise_error('L9LIM', format('%s: at most %s bytes, got %s', field, max_bytes, octet_length(value)), field);
  end if;
end
$$;

comment on function identity.check_bytes(text, integer, text) is
  'Raises L9LIM for this field if the text exceeds the byte limit.';

grant execute on function identity.check_bytes(text, integer, text) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 010-identity/020-check-bytes.sql
--! Included 010-identity/030-names.sql
-- Patterns and lists that tables and functions share. They are inlined into the statements that call them: hence no
-- `set search_path`; their bodies are parsed here, once.

create function identity.is_identifier(value text)
returns boolean
language sql
immutable
parallel safe
return value ~ '^[a-z0-9][a-z0-9_-]{0,62}$';

comment on function identity.is_identifier(text) is
  'True if the value can name a tenant or a scope: 1 to 63 lower-case letters, digits, - and _. Null for null.';

create function identity.is_display_name(value text, max_length integer)
returns boolean
language sql
immutable
parallel safe
return value ~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]*[^[:cntrl:][:space:]])?$' and pg_catalog.char_length(value) <= max_length;

comment on function identity.is_display_name(text, integer) is
  'True if the value can be shown as a name: 1 to max_length characters, no control characters, no leading or trailing white space. Null for null.';

create function identity.is_caller_name(value text)
returns boolean
language sql
immutable
parallel safe
return value ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$';

comment on function identity.is_caller_name(text) is
  'True if the value can name a caller: 1 to 63 letters, digits, ., _ and -. Null for null.';

create function identity.is_project_id(value text)
returns boolean
language sql
immutable
parallel safe
return value ~ '^[A-Za-z0-9._/@:+-]{1,200}$';

comment on function identity.is_project_id(text) is
  'True if the value can name a project: 1 to 200 letters, digits or ._/@:+-. Null for null.';

create function identity.caller_roles()
returns text[]
language sql
immutable
parallel safe
return array['l9_agent', 'l9_admin', 'l9_platform_admin'];

comment on function identity.caller_roles() is 'The database roles under which an actor can call.';

create function identity.default_tenant_id()
returns uuid
language sql
immutable
parallel safe
return '00000000-0000-7000-8000-000000000001'::uuid;

comment on function identity.default_tenant_id() is 'Id of the tenant default, which every installation has.';

grant execute on function
  identity.is_identifier(text),
  identity.is_display_name(text, integer),
  identity.is_caller_name(text),
  identity.is_project_id(text),
  identity.caller_roles(),
  identity.default_tenant_id()
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 010-identity/030-names.sql
--! Included 010-identity/040-claims.sql
-- Claims are read here and nowhere else. Policies call the current_*() functions inside (select …), once per query.

create function identity.claim(name text)
returns text
language sql
stable
parallel safe
set search_path = ''
return nullif(pg_catalog.current_setting('jwt.claims.' || name, true), '');

comment on function identity.claim(text) is 'A claim of this transaction, or null if the claim is missing or empty.';

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
  'A claim that is a list, given as JSON or separated by commas: {*} if it is missing, empty if it is malformed.';

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
  'Role that the session has taken. Unlike current_user, it is the caller''s role inside a definer function too.';

create function identity.intersect_scopes(list text[], claimed text[])
returns text[]
language sql
immutable
parallel safe
set search_path = ''
return case when '*' = any (claimed) then list
  else array(select l.entry from unnest(list) with ordinality as l (entry, position) where l.entry = any (claimed) order by l.position) end;

comment on function identity.intersect_scopes(text[], text[]) is 'Intersection of a list with the claimed values; {*} means all.';

grant execute on function
  identity.claim(text),
  identity.list_claim(text),
  identity.current_role_name()
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 010-identity/040-claims.sql
--! Included 010-identity/050-current-identity.sql
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

comment on type identity.identity is
  'The caller of this transaction and its permissions, after its claims were limited by the actor''s row.';

-- Every policy and row trigger calls this function, so it must be fast: plpgsql caches its plan for the session, missing
-- claims are not parsed, and the common path calls no other function (each call costs about 20 µs).
create function identity.current_identity()
returns identity.identity
language plpgsql
stable
parallel safe
security definer
set search_path = ''
-- These force the primary-key lookup: on tiny tables the planner prefers a sequential scan over all tenants.
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
  'The caller of this transaction, computed from its login, claims, role and actor''s row; null if these do not match. Definer: reads identity tables, which callers see only in part.';

grant execute on function identity.current_identity() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 010-identity/050-current-identity.sql
--! Included 010-identity/060-current-claims.sql
create function identity.current_tenant_id() returns uuid
language sql stable parallel safe set search_path = ''
return (identity.current_identity()).tenant_id;

comment on function identity.current_tenant_id() is 'The caller''s tenant, or null without an identity.';

create function identity.current_org_id() returns uuid
language sql stable parallel safe set search_path = ''
return (identity.current_identity()).org_id;

comment on function identity.current_org_id() is 'The caller''s org, or null.';

create function identity.current_user_id() returns uuid
language sql stable parallel safe set search_path = ''
return (identity.current_identity()).user_id;

comment on function identity.current_user_id() is 'The user that the caller acts for, or null.';

create function identity.current_caller() returns text
language sql stable parallel safe set search_path = ''
return (identity.current_identity()).caller;

comment on function identity.current_caller() is 'The caller''s name, such as L or C, or null without an identity.';

create function identity.current_creator() returns text
language sql stable parallel safe set search_path = ''
return (identity.current_identity()).creator;

comment on function identity.current_creator() is 'The value of metadata.creator in the caller''s own memories, or null.';

create function identity.current_scopes() returns text[]
language sql stable parallel safe set search_path = ''
return coalesce((identity.current_identity()).readable_scopes, '{}');

comment on function identity.current_scopes() is
  'Scopes that the caller can read: both claimed and registered. Empty without an identity.';

create function identity.current_writable_scopes() returns text[]
language sql stable parallel safe set search_path = ''
return coalesce((identity.current_identity()).writable_scopes, '{}');

comment on function identity.current_writable_scopes() is
  'Scopes that the caller can write: both claimed and registered. Empty without an identity.';

create function identity.current_projects() returns text[]
language sql stable parallel safe set search_path = ''
return coalesce((identity.current_identity()).projects, '{}');

comment on function identity.current_projects() is
  'Projects that the caller can work in; {*} means every project. Empty without an identity.';

-- A policy evaluates this once per query; '*' = any (…) in the policy itself would run for every row and dominate its cost.
create function identity.has_every_project() returns boolean
language sql stable parallel safe set search_path = ''
return coalesce('*' = any ((identity.current_identity()).projects), false);

comment on function identity.has_every_project() is 'True if the caller can work in every project of its tenant.';

grant execute on function
  identity.current_tenant_id(),
  identity.current_org_id(),
  identity.current_user_id(),
  identity.current_caller(),
  identity.current_creator(),
  identity.current_scopes(),
  identity.current_writable_scopes(),
  identity.current_projects(),
  identity.has_every_project()
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 010-identity/060-current-claims.sql
--! Included 010-identity/070-require-identity.sql
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
    perform identity.raise_error('L9AUT', 'this session has no identity: its claims do not name an active caller of its role');
  end if;
  return me;
end
$$;

comment on function identity.require_identity() is 'Returns current_identity(), or raises L9AUT if there is none.';

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
    perform identity.raise_error('L9SCP', 'only administrators can do this');
  end if;
  return me;
end
$$;

comment on function identity.require_admin() is
  'Returns current_identity() if the caller is an administrator; else raises L9AUT (no identity) or L9SCP (another role).';

grant execute on function
  identity.require_identity(),
  identity.require_admin()
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 010-identity/070-require-identity.sql
--! Included 010-identity/080-has-every-scope.sql
create function identity.has_every_scope()
returns boolean
language plpgsql
stable
parallel safe
security definer
set search_path = ''
as $$
begin
  return '*' = any (identity.list_claim('scopes')) and exists (
    select from public.actors a, identity.current_identity() as me
    where a.tenant_id = me.tenant_id and a.caller = me.caller and '*' = any (a.readable_scopes) and '*' = any (a.writable_scopes));
end
$$;

comment on function identity.has_every_scope() is
  'True if the caller can read and write every present and future scope of its tenant: its actor''s row says so, and its token is not limited to some scopes. Definer: reads actors.';

grant execute on function identity.has_every_scope() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 010-identity/080-has-every-scope.sql
--! Included 010-identity/090-operator-reads.sql
create function identity.allow_and_audit_operator_read(table_name text)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.current_identity();
begin
  if me.role is distinct from 'l9_platform_admin' then
    return false;
  end if;
  -- A rollback also removes the audit row, so the read is written to the server's log as well.
  raise log 'l9-memory: platform admin % of tenant % reads %', me.caller, me.tenant_id, table_name;
  perform audit.write_audit('READ', table_name, details => '{"look": "platform"}');
  return true;
end
$$;

comment on function identity.allow_and_audit_operator_read(text) is
  'Returns true if the caller is an active platform admin, and then writes an audit row READ. Policies for l9_platform_admin call it inside (select …), so each query writes one row per table that it reads. Raises in a read-only transaction, because the read could not be audited. It calls audit.write_audit(), which a later chapter creates: this is the only reference from a chapter to a later one. Definer: writes audit_log.';

grant execute on function identity.allow_and_audit_operator_read(text) to l9_platform_admin;
--! EndIncluded 010-identity/090-operator-reads.sql
--! Included 010-identity/100-refresh-active-actors.sql
create function identity.refresh_active_actors(tenant_id uuid)
returns void
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
begin
  -- The lock serialises changes of one tenant, so that the second transaction sees the changes of the first: each statement
  -- after this one takes a new snapshot.
  perform pg_advisory_xact_lock(hashtextextended('identity.active_actors ' || refresh_active_actors.tenant_id, 0));
  delete from identity.active_actors cached where cached.tenant_id = refresh_active_actors.tenant_id;
  insert into identity.active_actors
    (tenant_id, caller, creator, source, agent, role, can_clean_up, readable_scopes, writable_scopes)
  select a.tenant_id, a.caller, a.creator, a.source, a.agent, a.role, a.can_clean_up,
    coalesce(array_agg(s.scope order by s.scope)
      filter (where '*' = any (a.readable_scopes) or s.scope = any (a.readable_scopes)), '{}'),
    coalesce(array_agg(s.scope order by s.scope)
      filter (where '*' = any (a.writable_scopes) or s.scope = any (a.writable_scopes)), '{}')
  from public.actors a
  join public.tenants t on t.tenant_id = a.tenant_id and t.is_active
  left join public.scopes s on s.tenant_id = a.tenant_id and s.is_active
  where a.tenant_id = refresh_active_actors.tenant_id and a.is_active
  group by a.tenant_id, a.caller;
end
$$;

comment on function identity.refresh_active_actors(uuid) is
  'Recomputes the rows of a tenant in active_actors. Not executable by callers.';

create function identity.tg__refresh_active_actors()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  if tg_op = 'TRUNCATE' then
    -- Truncating one of these tables also truncates the tables that reference it, so no active actor remains.
    delete from identity.active_actors;
    return null;
  end if;
  if tg_op <> 'INSERT' then
    perform identity.refresh_active_actors(old.tenant_id);
  end if;
  if tg_op = 'INSERT' or tg_op = 'UPDATE' and new.tenant_id <> old.tenant_id then
    perform identity.refresh_active_actors(new.tenant_id);
  end if;
  return null;
end
$$;

comment on function identity.tg__refresh_active_actors() is
  'Keeps active_actors equal to what actors, scopes and tenants say. Definer: the roles that change these tables cannot write active_actors.';
--! EndIncluded 010-identity/100-refresh-active-actors.sql
--! Included 010-identity/110-tenants.sql
create table public.tenants (
  tenant_id uuid primary key default uuidv7(),
  name text not null,
  is_active boolean not null default true,
  audits_query_text boolean not null default false,
  created_at timestamptz not null default now(),
  constraint tenant_name_unique unique (name),
  constraint tenant_name_plain check (identity.is_identifier(name))
);

comment on table public.tenants is 'Top-level owner. Nothing is shared between tenants.';
comment on column public.tenants.tenant_id is 'Id, as in the claim tenant_id.';
comment on column public.tenants.created_at is 'When the tenant was created.';
comment on column public.tenants.name is 'Unique name: lower-case letters, digits, - and _.';
comment on column public.tenants.is_active is 'If false, no caller of this tenant has an identity, whatever its token says.';
comment on column public.tenants.audits_query_text is
  'If true, the texts of searches are kept in audit_query_texts; audit_log always keeps only their hashes.';

create trigger _600_active_actors after insert or update or delete on public.tenants
  for each row execute function identity.tg__refresh_active_actors();
create trigger _610_active_actors after truncate on public.tenants
  for each statement execute function identity.tg__refresh_active_actors();

alter table public.tenants enable row level security;
alter table public.tenants force row level security;

create policy tenant_isolation on public.tenants as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.tenants for select to l9_agent, l9_admin using (true);
create policy platform_override on public.tenants for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('tenants')));
create policy definer_functions on public.tenants for select to l9_owner using (true);
create policy definer_inserts on public.tenants for insert to l9_owner with check (true);
create policy definer_updates on public.tenants for update to l9_owner using (true);
comment on policy tenant_isolation on public.tenants is 'A caller sees its own tenant.';
comment on policy scope_access on public.tenants is 'No further limit within the tenant.';
comment on policy platform_override on public.tenants is 'Operators see every tenant; each read is audited.';
comment on policy definer_functions on public.tenants is 'current_identity() checks whether the tenant is active.';
comment on policy definer_inserts on public.tenants is 'create_tenant() inserts.';
comment on policy definer_updates on public.tenants is
  'deactivate_tenant(), reactivate_tenant() and set_query_text_audit() update. Nothing deletes a tenant.';

grant select on public.tenants to l9_agent, l9_admin, l9_platform_admin;
-- No role can insert, update or delete: identity tables change through functions only.
--! EndIncluded 010-identity/110-tenants.sql
--! Included 010-identity/120-orgs.sql
-- Ids are unique within a tenant only. If they were unique across tenants, one tenant could block another's org by registering its id.
create table public.orgs (
  tenant_id uuid not null references public.tenants,
  org_id uuid not null default uuidv7(),
  name text not null,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (tenant_id, org_id),
  constraint org_name_unique unique (tenant_id, name),
  constraint org_name_plain check (identity.is_display_name(name, 200))
);

comment on table public.orgs is
  'Organisations of a tenant. A token may name an org that is not registered here, because an identity provider may manage orgs; a registered org must be active.';
comment on column public.orgs.tenant_id is 'Tenant that the org belongs to.';
comment on column public.orgs.org_id is 'Id, as in the claim org_id.';
comment on column public.orgs.name is 'Display name, unique in the tenant.';
comment on column public.orgs.is_active is 'If false, a caller that claims this org has no identity, whatever its token says.';
comment on column public.orgs.created_at is 'When the org was registered.';

alter table public.orgs enable row level security;
alter table public.orgs force row level security;

create policy tenant_isolation on public.orgs as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy org_isolation on public.orgs as restrictive to l9_agent
  using (org_id = (select identity.current_org_id()));
create policy scope_access on public.orgs for select to l9_agent using (true);
create policy admin_override on public.orgs for select to l9_admin using (true);
create policy platform_override on public.orgs for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('orgs')));
create policy definer_functions on public.orgs for select to l9_owner using (true);
create policy definer_inserts on public.orgs for insert to l9_owner with check (true);
create policy definer_updates on public.orgs for update to l9_owner using (true);
comment on policy tenant_isolation on public.orgs is 'A caller sees only the orgs of its tenant.';
comment on policy org_isolation on public.orgs is
  'Agents have no grant on this table. With one, an agent would see only its own org.';
comment on policy scope_access on public.orgs is 'No further limit. Agents have no grant on this table.';
comment on policy admin_override on public.orgs is 'Admins see the orgs of their tenant.';
comment on policy platform_override on public.orgs is 'Operators see every org; each read is audited.';
comment on policy definer_functions on public.orgs is 'current_identity() checks whether the org is active.';
comment on policy definer_inserts on public.orgs is 'create_org() inserts.';
comment on policy definer_updates on public.orgs is 'deactivate_org() and reactivate_org() update. Nothing deletes an org.';

grant select on public.orgs to l9_admin, l9_platform_admin;
-- No grant for l9_agent: an agent does not need to know the orgs of its tenant. No role can insert, update or delete: identity
-- tables change through functions only.
--! EndIncluded 010-identity/120-orgs.sql
--! Included 010-identity/130-users.sql
create table public.users (
  tenant_id uuid not null references public.tenants,
  user_id uuid not null default uuidv7(),
  org_id uuid,
  name text not null,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (tenant_id, user_id),
  foreign key (tenant_id, org_id) references public.orgs (tenant_id, org_id),
  constraint user_name_plain check (identity.is_display_name(name, 200))
);

create index users_org_idx on public.users (tenant_id, org_id);

-- The planner's statistics would keep sampled names after their erasure.
alter table public.users alter column name set statistics 0;

comment on table public.users is
  'Users of a tenant. A token may name a user that is not registered here; a registered user must be active, and its claim must come with the claim of its org.';
comment on column public.users.tenant_id is 'Tenant that the user belongs to.';
comment on column public.users.user_id is 'Id, as in the claim user_id.';
comment on column public.users.org_id is 'Org that the user belongs to. Null: no fixed org; any org in the token is accepted.';
comment on column public.users.name is 'Display name.';
comment on column public.users.is_active is 'If false, a caller that claims this user has no identity, whatever its token says.';
comment on column public.users.created_at is 'When the user was registered.';

alter table public.users enable row level security;
alter table public.users force row level security;

create policy tenant_isolation on public.users as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy org_isolation on public.users as restrictive to l9_agent
  using (org_id is null or org_id = (select identity.current_org_id()));
create policy user_visibility on public.users as restrictive to l9_agent
  using (user_id = (select identity.current_user_id()));
create policy scope_access on public.users for select to l9_agent using (true);
create policy admin_override on public.users for select to l9_admin using (true);
create policy platform_override on public.users for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('users')));
create policy definer_functions on public.users for select to l9_owner using (true);
create policy definer_inserts on public.users for insert to l9_owner with check (true);
create policy definer_updates on public.users for update to l9_owner using (true);
comment on policy tenant_isolation on public.users is 'A caller sees only the users of its tenant.';
comment on policy org_isolation on public.users is
  'Agents have no grant on this table. With one, an agent would see only users of its own org or of none.';
comment on policy user_visibility on public.users is
  'Agents have no grant on this table. With one, an agent would see only the user that it acts for.';
comment on policy scope_access on public.users is 'No further limit. Agents have no grant on this table.';
comment on policy admin_override on public.users is 'Admins see the users of their tenant.';
comment on policy platform_override on public.users is 'Operators see every user; each read is audited.';
comment on policy definer_functions on public.users is 'current_identity() checks whether the user is active.';
comment on policy definer_inserts on public.users is 'create_user() inserts.';
comment on policy definer_updates on public.users is 'deactivate_user() and reactivate_user() update. Nothing deletes a user.';

grant select on public.users to l9_admin, l9_platform_admin;
-- No grant for l9_agent: an agent does not need to know the users of its tenant. No role can insert, update or delete: identity
-- tables change through functions only.
--! EndIncluded 010-identity/130-users.sql
--! Included 010-identity/140-scopes.sql
create table public.scopes (
  tenant_id uuid not null references public.tenants,
  scope text not null,
  is_project_scoped boolean not null,
  description text not null default '',
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (tenant_id, scope),
  constraint scope_name_plain check (identity.is_identifier(scope))
);

comment on table public.scopes is
  'Scopes decide who can see a memory; its author does not. The scopes developer, l-private and global are built in, and a tenant can add its own.';
comment on column public.scopes.tenant_id is 'Tenant that the scope belongs to.';
comment on column public.scopes.scope is 'Name: lower-case letters, digits, - and _.';
comment on column public.scopes.description is 'Purpose of the scope.';
comment on column public.scopes.is_active is
  'If false, no caller can read or write the scope until it is reactivated. Its memories are kept.';
comment on column public.scopes.created_at is 'When the scope was registered.';
comment on column public.scopes.is_project_scoped is
  'True: each memory of this scope belongs to a project. False: its memories belong to no project, and their project_id is null.';

create trigger _600_active_actors after insert or update or delete on public.scopes
  for each row execute function identity.tg__refresh_active_actors();
create trigger _610_active_actors after truncate on public.scopes
  for each statement execute function identity.tg__refresh_active_actors();

alter table public.scopes enable row level security;
alter table public.scopes force row level security;

create policy tenant_isolation on public.scopes as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.scopes for select to l9_agent, l9_admin
  using (scope = any ((select identity.current_scopes())::text[]));
create policy inactive_scopes on public.scopes for select to l9_admin
  using (not is_active and (select identity.has_every_scope()));
create policy platform_override on public.scopes for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('scopes')));
create policy definer_functions on public.scopes for select to l9_owner using (true);
create policy definer_inserts on public.scopes for insert to l9_owner with check (true);
create policy definer_updates on public.scopes for update to l9_owner using (true);
comment on policy tenant_isolation on public.scopes is 'A caller sees only the scopes of its tenant.';
comment on policy scope_access on public.scopes is
  'A caller sees only the scopes that it can read; it does not learn that others exist.';
comment on policy inactive_scopes on public.scopes is
  'An admin that has every scope also sees the inactive scopes, so that it can reactivate them.';
comment on policy platform_override on public.scopes is 'Operators see every scope; each read is audited.';
comment on policy definer_functions on public.scopes is 'current_identity() and the scope checks of triggers read scopes.';
comment on policy definer_inserts on public.scopes is 'register_scope() and create_tenant() insert.';
comment on policy definer_updates on public.scopes is
  'register_scope(), deactivate_scope() and reactivate_scope() update. Nothing deletes a scope.';

grant select on public.scopes to l9_agent, l9_admin, l9_platform_admin;
-- No role can insert, update or delete: identity tables change through functions only.
--! EndIncluded 010-identity/140-scopes.sql
--! Included 010-identity/150-actors.sql
create table public.actors (
  tenant_id uuid not null references public.tenants,
  caller text not null,
  creator text not null,
  source text not null,
  agent text not null,
  role text not null,
  readable_scopes text[] not null,
  writable_scopes text[] not null,
  can_clean_up boolean not null default false,
  login text,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (tenant_id, caller),
  constraint actor_creator_unique unique (tenant_id, creator),
  constraint actor_login_unique unique (login),
  constraint actor_caller_plain check (identity.is_caller_name(caller)),
  constraint actor_names_plain check (
    identity.is_display_name(creator, 100)
    and identity.is_display_name(source, 100)
    and identity.is_display_name(agent, 100)),
  constraint actor_role_known check (role = any (identity.caller_roles())),
  -- An actor that could write a scope without reading it could not see the duplicates of its own memories.
  constraint actor_reads_what_it_writes check ('*' = any (readable_scopes) or writable_scopes <@ readable_scopes)
);

comment on table public.actors is
  'The agents known to the system. The claims of a token are limited by its actor''s row: the effective scopes are those that are both claimed and registered here.';
comment on column public.actors.tenant_id is 'Tenant that the actor belongs to.';
comment on column public.actors.created_at is 'When the actor was registered.';
comment on column public.actors.caller is 'Name that the claim `caller` of a token, or an API key, stands for, such as L or C.';
comment on column public.actors.creator is
  'Written to metadata.creator of every memory that this actor saves; the actor owns the memories that carry it. It never changes, and no other actor can take it.';
comment on column public.actors.source is 'Written to metadata.source of every memory that this actor saves.';
comment on column public.actors.agent is 'Default for metadata.agent if the writer gives none.';
comment on column public.actors.role is
  'The only database role under which this caller has an identity. A session as l9_agent that claims to be L has none.';
comment on column public.actors.readable_scopes is 'Scopes that the actor can read; {*} means every scope of the tenant.';
comment on column public.actors.writable_scopes is 'Scopes that the actor can write; {*} means every scope of the tenant.';
comment on column public.actors.can_clean_up is 'True if the actor can delete expired memories.';
comment on column public.actors.login is
  'Database login whose sessions are always this actor, whatever claims they set. Null: none. The login l9_gateway and its members cannot be bound, because their claims are trusted.';
comment on column public.actors.is_active is 'If false, the next request of this actor fails, whatever its token says.';

create trigger _600_active_actors after insert or update or delete on public.actors
  for each row execute function identity.tg__refresh_active_actors();
create trigger _610_active_actors after truncate on public.actors
  for each statement execute function identity.tg__refresh_active_actors();

alter table public.actors enable row level security;
alter table public.actors force row level security;

create policy tenant_isolation on public.actors as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.actors for select to l9_agent
  using (caller = (select identity.current_caller()));
create policy admin_override on public.actors for select to l9_admin
  using ((select identity.current_caller()) is not null);
create policy platform_override on public.actors for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('actors')));
create policy definer_functions on public.actors for select to l9_owner using (true);
create policy definer_inserts on public.actors for insert to l9_owner with check (true);
create policy definer_updates on public.actors for update to l9_owner using (true);
comment on policy tenant_isolation on public.actors is 'A caller sees only the actors of its tenant.';
comment on policy scope_access on public.actors is 'An agent sees its own row.';
comment on policy admin_override on public.actors is 'Admins see the actors of their tenant.';
comment on policy platform_override on public.actors is 'Operators see every actor; each read is audited.';
comment on policy definer_functions on public.actors is 'current_identity() reads the row that limits the claims.';
comment on policy definer_inserts on public.actors is 'register_actor() and create_tenant() insert.';
comment on policy definer_updates on public.actors is
  'register_actor(), bind_login(), deactivate_actor() and reactivate_actor() update. Nothing deletes an actor, because its memories name it.';

grant select on public.actors to l9_agent, l9_admin, l9_platform_admin;
-- No role can insert, update or delete: identity tables change through functions only.
--! EndIncluded 010-identity/150-actors.sql
--! Included 010-identity/160-active-actors.sql
-- A cache of each actor's effective scopes. Every statement reads it, usually several times, and computing the scopes from
-- three tables took four times as long as reading one row by its key.
create table identity.active_actors (
  tenant_id uuid not null references public.tenants on delete cascade,
  caller text not null,
  creator text not null,
  source text not null,
  agent text not null,
  role text not null,
  can_clean_up boolean not null,
  readable_scopes text[] not null,
  writable_scopes text[] not null,
  primary key (tenant_id, caller)
);

comment on table identity.active_actors is
  'Cache of the active actors with the scopes that they can use now. Triggers of actors, scopes and tenants recompute it in the same transaction; nothing else writes it.';

alter table identity.active_actors enable row level security;
alter table identity.active_actors force row level security;

create policy tenant_isolation on identity.active_actors as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on identity.active_actors for select to l9_agent, l9_admin
  using (caller = (select identity.current_caller()));
create policy definer_functions on identity.active_actors to l9_owner using (true);
comment on policy tenant_isolation on identity.active_actors is
  'The same rule as on actors. Callers have no grant on this table.';
comment on policy scope_access on identity.active_actors is 'The same rule as on actors. Callers have no grant on this table.';
comment on policy definer_functions on identity.active_actors is
  'current_identity() reads the row that limits the claims; triggers of actors, scopes and tenants write it.';

-- No role has a grant on this table.
--! EndIncluded 010-identity/160-active-actors.sql
--! Included 010-identity/170-api-keys.sql
create table public.api_keys (
  key_id uuid primary key default uuidv7(),
  tenant_id uuid not null references public.tenants,
  name text not null,
  caller text not null,
  org_id uuid,
  user_id uuid,
  scopes text[],
  projects text[],
  created_at timestamptz not null default now(),
  created_by text not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  foreign key (tenant_id, caller) references public.actors (tenant_id, caller),
  constraint api_key_name_plain check (identity.is_display_name(name, 100)),
  constraint api_key_limits_not_empty check (scopes <> '{}' and projects <> '{}')
);

create index api_keys_caller_idx on public.api_keys (tenant_id, caller);

comment on table public.api_keys is
  'MCP keys that are stored in the database: the actor that each key stands for, and the limits of the key. The keys themselves are not stored.';
comment on column public.api_keys.key_id is 'Id, the argument of revoke_api_key().';
comment on column public.api_keys.tenant_id is 'Tenant of the key''s caller.';
comment on column public.api_keys.name is 'Purpose of the key, for people.';
comment on column public.api_keys.caller is 'Actor that the key stands for.';
comment on column public.api_keys.org_id is 'Org that the key acts for, or null.';
comment on column public.api_keys.user_id is 'User that the key acts for, or null.';
comment on column public.api_keys.scopes is 'Limits the key to these scopes of its caller. Null: all of them.';
comment on column public.api_keys.projects is 'Limits the key to these projects. Null: all projects.';
comment on column public.api_keys.created_at is 'When the key was created.';
comment on column public.api_keys.created_by is 'Caller that created the key, or db:<role>.';
comment on column public.api_keys.expires_at is 'The key is refused from this time on. Null: it does not expire.';
comment on column public.api_keys.revoked_at is 'When the key was revoked. Null: it is not revoked.';

alter table public.api_keys enable row level security;
alter table public.api_keys force row level security;

create policy tenant_isolation on public.api_keys as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy org_isolation on public.api_keys as restrictive to l9_agent
  using (org_id is null or org_id = (select identity.current_org_id()));
create policy user_visibility on public.api_keys as restrictive to l9_agent
  using (user_id is null or user_id = (select identity.current_user_id()));
create policy scope_access on public.api_keys for select to l9_agent using (true);
create policy admin_override on public.api_keys for select to l9_admin using (true);
create policy platform_override on public.api_keys for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('api_keys')));
create policy definer_functions on public.api_keys for select to l9_owner using (true);
create policy definer_inserts on public.api_keys for insert to l9_owner with check (true);
create policy definer_updates on public.api_keys for update to l9_owner using (true);
comment on policy tenant_isolation on public.api_keys is 'A caller sees only the keys of its tenant.';
comment on policy org_isolation on public.api_keys is 'The same rule as on memories. Agents have no grant on this table.';
comment on policy user_visibility on public.api_keys is 'The same rule as on memories. Agents have no grant on this table.';
comment on policy scope_access on public.api_keys is 'No further limit. Agents have no grant on this table.';
comment on policy admin_override on public.api_keys is 'Admins see the keys of their tenant.';
comment on policy platform_override on public.api_keys is 'Operators see the keys of every tenant; each read is audited.';
comment on policy definer_functions on public.api_keys is 'current_identity() checks whether a key is still valid.';
comment on policy definer_inserts on public.api_keys is 'create_api_key() inserts.';
comment on policy definer_updates on public.api_keys is 'revoke_api_key() updates. Nothing deletes a key.';

grant select on public.api_keys to l9_admin, l9_platform_admin;
-- No grant for l9_agent: an agent does not need to know the keys of its tenant. No role can insert, update or delete: identity
-- tables change through functions only.
--! EndIncluded 010-identity/170-api-keys.sql
--! Included 010-identity/180-api-key-hashes.sql
-- The hashes have their own table, so that no present or future grant on api_keys reveals one.
create table identity.api_key_hashes (
  key_id uuid primary key references public.api_keys,
  hash bytea not null,
  constraint api_key_hash_unique unique (hash),
  constraint api_key_hash_sha256 check (octet_length(hash) = 32)
);

comment on table identity.api_key_hashes is
  'SHA-256 of each API key. A key holds 256 random bits, so its hash can be neither guessed nor reversed.';
comment on column identity.api_key_hashes.hash is 'SHA-256 of the key as it was shown on creation.';

alter table identity.api_key_hashes enable row level security;
alter table identity.api_key_hashes force row level security;

create policy definer_functions on identity.api_key_hashes for select to l9_owner using (true);
create policy definer_inserts on identity.api_key_hashes for insert to l9_owner with check (true);
comment on policy definer_functions on identity.api_key_hashes is 'identity_directory() passes the hashes to the gateway.';
comment on policy definer_inserts on identity.api_key_hashes is 'create_api_key() inserts.';

-- No role has a grant on this table.
--! EndIncluded 010-identity/180-api-key-hashes.sql
--! Included 010-identity/190-are-claims-valid.sql
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
  'True if the org and user (if registered) are active and match, and the API key belongs to the caller and is neither revoked nor expired. Definer: reads identity tables. Not executable by callers.';
--! EndIncluded 010-identity/190-are-claims-valid.sql
--! Included 010-identity/200-seed-tenant.sql
create function identity.seed_tenant(tenant_id uuid)
returns void
language sql
volatile
set search_path = ''
begin atomic
  insert into public.scopes (tenant_id, scope, is_project_scoped, description)
  values
    (seed_tenant.tenant_id, 'developer', true, 'Shared by L and coding agents, within a project.'),
    (seed_tenant.tenant_id, 'l-private', true, 'L''s own, within a project.'),
    (seed_tenant.tenant_id, 'global', false, 'Everyone in the tenant, in no project.');
  insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
  values
    (seed_tenant.tenant_id, 'L', 'L-CTO', 'l9-kernel', 'l-cto', 'l9_admin', '{*}', '{*}', true),
    (seed_tenant.tenant_id, 'C', 'Cursor-IDE', 'cursor-ide', 'cursor', 'l9_agent', '{developer,global}', '{developer,global}', false);
end;

comment on function identity.seed_tenant(uuid) is
  'Inserts what every new tenant has: the scopes developer, l-private and global, and the actors L and C.';

insert into public.tenants (tenant_id, name) values (identity.default_tenant_id(), 'default');

select identity.seed_tenant(tenant_id) from public.tenants;
--! EndIncluded 010-identity/200-seed-tenant.sql
--! Included 010-identity/210-visibility.sql
-- Who sees a row that belongs to a tenant, org, user, project and scope: the product's promise, written down once.
-- Policies get it as text, so that they stay plain expressions that the planner and explain_access() understand;
-- functions that run as the owner, to which those policies do not apply, call may_read(), which PostgreSQL inlines.

create function identity.project_condition()
returns text
language sql
immutable
parallel safe
set search_path = ''
return $sql$(project_id is null or (select identity.has_every_project())
      or project_id = any ((select identity.current_projects())::text[]))$sql$;

comment on function identity.project_condition() is
  'The text of a policy condition: the row belongs to no project, or to one that the caller may work in. Used by migrations only.';

create function identity.reader_condition()
returns text
language sql
immutable
parallel safe
set search_path = ''
return 'scope = any ((select identity.current_scopes())::text[]) and ' || identity.project_condition();

comment on function identity.reader_condition() is
  'The text of a policy condition: the caller may read the scope and the project of the row. Used by migrations only.';

create function identity.writer_condition()
returns text
language sql
immutable
parallel safe
set search_path = ''
return 'scope = any ((select identity.current_writable_scopes())::text[]) and ' || identity.project_condition();

comment on function identity.writer_condition() is
  'The text of a policy condition: the caller may write the scope and the project of the row. Used by migrations only.';

create function identity.owner_condition()
returns text
language sql
immutable
parallel safe
set search_path = ''
return $sql$(org_id is null or org_id = (select identity.current_org_id()))
      and (user_id is null or user_id = (select identity.current_user_id()))$sql$;

comment on function identity.owner_condition() is
  'The text of a policy condition: the row belongs to the org and the user that the caller acts for, or to no org or user. Used by migrations only.';

create function identity.definer_condition()
returns text
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.format($sql$tenant_id = (select identity.current_tenant_id())
      and %s
      and ((select identity.current_role_name()) = 'l9_admin' or %s)$sql$, identity.reader_condition(), identity.owner_condition());

comment on function identity.definer_condition() is
  'The text of a policy condition for functions of the owner: the agent or admin that called the function may read the row. Used by migrations only.';

create procedure identity.protect_like_memories(
  target regclass, noun text default 'memory', expires boolean default true, is_writable boolean default false)
language plpgsql
set search_path = ''
as $$
declare
  name constant text := (select c.relname from pg_class c where c.oid = target);
  unexpired constant text := case when expires then ' and (ttl is null or ttl > now())' else '' end;
  verb constant text := case when is_writable then 'read and write' else 'read' end;
  command constant text := case when is_writable then '' else 'for select ' end;
  check_of_writes constant text := case when is_writable then format(' with check (%s)', identity.writer_condition()) else '' end;
  policy record;
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  for policy in
    select * from (values
      ('tenant_isolation', 'as restrictive to l9_agent, l9_admin', 'tenant_id = (select identity.current_tenant_id())', '',
        'Nothing is shared between tenants.'),
      ('org_isolation', 'as restrictive to l9_agent', 'org_id is null or org_id = (select identity.current_org_id())', '',
        format('A %s of an org is visible to callers of that org; one without an org is visible to the whole tenant.', noun)),
      ('user_visibility', 'as restrictive to l9_agent', 'user_id is null or user_id = (select identity.current_user_id())', '',
        format('A %s of a user is visible to callers that act for that user; one without a user is visible to the whole org.', noun)),
      ('scope_access', command || 'to l9_agent', identity.reader_condition() || unexpired, check_of_writes,
        format('Agents %s in the scopes and projects of their claims.', verb) || case when expires then ' Expired rows are invisible.' else '' end),
      ('admin_override', command || 'to l9_admin', identity.reader_condition() || unexpired, check_of_writes,
        format('Admins %s in their whole tenant, across orgs, users and authors, within their claims.', verb)),
      ('platform_override', 'for select to l9_platform_admin',
        format('(select identity.allow_and_audit_operator_read(%L))', name) || unexpired, '',
        'Operators read across tenants, and each read is audited. They write nothing.')
    ) as p (name, addressed, condition, check_of_writes, description)
  loop
    execute format('create policy %I on %s %s using (%s)%s', policy.name, target, policy.addressed, policy.condition, policy.check_of_writes);
    execute format('comment on policy %I on %s is %L', policy.name, target, policy.description);
  end loop;
end
$$;

comment on procedure identity.protect_like_memories(regclass, text, boolean, boolean) is
  'Enables and forces row-level security on a table with the columns tenant_id, org_id, user_id, project_id and scope (and ttl, where rows expire), and creates the policies that decide who sees a memory: tenant_isolation, org_isolation, user_visibility, scope_access, admin_override, platform_override. noun: what a row is, for the comments. is_writable: agents and admins may also write rows of scopes that they may write. A table that differs from memories alters the policy after this call. Used by migrations only.';

-- Inlined into the query that calls it: hence no `set search_path`; the body is parsed here, once, with all names resolved.
create function identity.has_project(me identity.identity, project_id text)
returns boolean
language sql
immutable
parallel safe
return project_id is null or '*' = any ((me).projects) or project_id = any ((me).projects);

comment on function identity.has_project(identity.identity, text) is
  'True if a row of this project (null: of no project) lies within the projects of the caller.';

create function identity.may_read(
  me identity.identity, tenant_id uuid, org_id uuid, user_id uuid, project_id text, scope text)
returns boolean
language sql
immutable
parallel safe
return tenant_id = (me).tenant_id
  and scope = any ((me).readable_scopes)
  and identity.has_project(me, project_id)
  and ((me).role = 'l9_admin'
    or (org_id is null or org_id = (me).org_id) and (user_id is null or user_id = (me).user_id));

comment on function identity.may_read(identity.identity, uuid, uuid, uuid, text, text) is
  'True if an agent or admin may read a row that belongs to this tenant, org, user, project and scope: the rule of protect_like_memories() as a function. The expiry of the row is for the caller of this function to check.';

create function identity.may_write(me identity.identity, project_id text, scope text)
returns boolean
language sql
immutable
parallel safe
return scope = any ((me).writable_scopes)
  and identity.has_project(me, project_id);

comment on function identity.may_write(identity.identity, text, text) is
  'True if the claims of the caller allow it to write in this project (null: none) and scope.';

grant execute on function
  identity.has_project(identity.identity, text),
  identity.may_read(identity.identity, uuid, uuid, uuid, text, text),
  identity.may_write(identity.identity, text, text)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 010-identity/210-visibility.sql
--! Included 020-audit/000-schema.sql
create schema audit;

comment on schema audit is
  'Writing, sealing, verifying and exporting the audit log. Not exposed over GraphQL; callers can execute only the functions granted to them one by one.';

grant usage on schema audit to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create schema partitions;

comment on schema partitions is
  'Monthly partitions of audit_log and memory_access_log. No role has a grant on them: rows are read through the partitioned table.';

grant usage on schema partitions to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 020-audit/000-schema.sql
--! Included 020-audit/010-month-partitions.sql
create function audit.add_partition(parent regclass, partition text, from_time timestamptz, until_time timestamptz)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  trigger_of_parent record;
begin
  execute format(
    'create table partitions.%I (like %s including defaults including constraints including generated including storage including comments)',
    partition, parent);
  execute format('alter table partitions.%I enable row level security', partition);
  execute format('alter table partitions.%I force row level security', partition);
  -- Attaching a partition clones row triggers but not statement triggers, and the append-only trigger is a statement trigger.
  for trigger_of_parent in
    select t.tgname, pg_get_triggerdef(t.oid) as definition, t.tgenabled = 'A' as is_always
    from pg_catalog.pg_trigger t
    where t.tgrelid = parent and not t.tgisinternal and t.tgtype & 1 = 0
  loop
    execute replace(trigger_of_parent.definition, format(' ON %s ', parent), format(' ON partitions.%I ', partition));
    if trigger_of_parent.is_always then
      execute format('alter table partitions.%I enable always trigger %I', partition, trigger_of_parent.tgname);
    end if;
  end loop;
  execute format('comment on table partitions.%I is %L', partition, case
    when from_time is null then format('Rows of %s that fit no other partition, so that no row is ever lost.', parent)
    else format('%s from %s to %s.', parent, from_time, until_time) end);
  execute format('alter table %s attach partition partitions.%I ', parent, partition) || case
    when from_time is null then 'default'
    else format('for values from (%L) to (%L)', from_time, until_time) end;
end
$$;

comment on function audit.add_partition(regclass, text, timestamptz, timestamptz) is
  'Creates a partition with row-level security, no grants and the statement triggers of its parent, then attaches it. Without times it creates the default partition. Not executable by callers.';

create function audit.partition_name(parent regclass, month timestamptz)
returns text
language sql
stable
set search_path = ''
set timezone = 'UTC'
return (select c.relname from pg_catalog.pg_class c where c.oid = parent) || pg_catalog.to_char(month, '"_"YYYY"_"MM');

comment on function audit.partition_name(regclass, timestamptz) is
  'Name, in the schema partitions, of the partition of a table for the month of this time (in UTC).';

create function audit.create_month_partitions(parent regclass, from_month date, months integer)
returns text[]
language plpgsql
volatile
security definer
set search_path = ''
set timezone = 'UTC'
set lock_timeout = '3s'
as $$
declare
  table_name text;
  partition text;
  month timestamptz;
  created text[] := '{}';
begin
  select c.relname into table_name
  from pg_catalog.pg_partitioned_table p
  join pg_catalog.pg_class c on c.oid = p.partrelid and c.relowner = 'l9_owner'::regrole
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = p.partattrs[0] and a.atttypid = 'timestamptz'::regtype
  where p.partrelid = parent and p.partstrat = 'r' and p.partnatts = 1;
  if not found then
    perform identity.raise_error('L9VAL', 'parent: must be a table of l9_owner that is partitioned by range of one timestamptz column', 'parent');
  elsif from_month is null or months is null or months not between 1 and 120 then
    perform identity.raise_error('L9VAL', 'months: from 1 to 120, and from_month: a date', 'months');
  end if;

  if to_regclass(format('partitions.%I', table_name || '_default')) is null then
    perform audit.add_partition(parent, table_name || '_default', null, null);
  end if;
  for i in 0 .. months - 1 loop
    month := date_trunc('month', from_month::timestamptz) + make_interval(months => i);
    partition := audit.partition_name(parent, month);
    -- This also skips a month that was detached, whose table keeps the name: new rows of it go to the default partition.
    if to_regclass(format('partitions.%I', partition)) is not null then
      continue;
    end if;
    begin
      perform audit.add_partition(parent, partition, month, month + interval '1 month');
      created := created || partition;
    exception when check_violation then
      -- Rows of this month were written before the partition existed; they stay in the default partition.
      null;
    end;
  end loop;
  return created;
end
$$;

comment on function audit.create_month_partitions(regclass, date, integer) is
  'Creates the missing partitions for the given number of months (1 to 120, in UTC) and the default partition; returns the names of those created. A month whose rows are already in the default partition stays there. Definer: only the owner of a table can create its partitions.';

create function audit.require_past_partition(parent regclass, month date)
returns text
language plpgsql
stable
set search_path = ''
set timezone = 'UTC'
as $$
declare
  partition text := audit.partition_name(parent, month);
begin
  if identity.current_role_name() = 'l9_platform_admin' then
    perform identity.require_identity();
  end if;
  if month is null or not exists (
    select from pg_inherits i
    where i.inhparent = parent and i.inhrelid = to_regclass(format('partitions.%I', partition))) then
    perform identity.raise_error('L9VAL', format('month: %s has no partition for it', (select c.relname from pg_class c where c.oid = parent)), 'month');
  elsif date_trunc('month', month::timestamptz) + interval '1 month' > now() then
    perform identity.raise_error('L9VAL', 'month: must be a past month', 'month');
  end if;
  return partition;
end
$$;

comment on function audit.require_past_partition(regclass, date) is
  'Returns the name of the partition of a month that is over. Raises L9VAL if the table has no such partition or the month is not over, and L9AUT for an operator without an identity. Not executable by callers: the functions that detach and drop partitions call it.';

grant execute on function audit.create_month_partitions(regclass, date, integer) to l9_worker;
-- No grant on the other functions: only functions that run as l9_owner can call them.
--! EndIncluded 020-audit/010-month-partitions.sql
--! Included 020-audit/020-audit-log.sql
create table public.audit_log (
  audit_id uuid not null default uuidv7(),
  occurred_at timestamptz not null default clock_timestamp(),
  xid xid8 not null default pg_current_xact_id(),
  operation text not null,
  table_name text not null,
  row_id uuid,
  tenant_id uuid,
  project_id text,
  scope text,
  status text not null default 'success',
  sqlstate text,
  details jsonb not null,
  -- These columns are virtual, because the caller is stored in details only.
  caller text not null generated always as (details ->> 'caller') virtual,
  creator text generated always as (details ->> 'creator') virtual,
  source text generated always as (details ->> 'source') virtual,
  tool_name text not null generated always as (details ->> 'tool_name') virtual,
  primary key (audit_id, occurred_at),
  constraint audit_operation_known check (operation in
    ('INSERT', 'UPDATE', 'DELETE', 'SEARCH', 'READ', 'STATS', 'CLEANUP', 'EXPORT', 'ERASE', 'DENIED')),
  constraint audit_status_known check (status in ('success', 'error')),
  constraint audit_error_has_sqlstate check ((status = 'error') = (sqlstate is not null)),
  constraint audit_details_say_who check (
    details ?& array['caller', 'creator', 'source', 'tool_name']
    and (details ->> 'caller' <> '') is true and (details ->> 'tool_name' <> '') is true)
) partition by range (occurred_at);

create index audit_log_xid_idx on public.audit_log (xid);

create index audit_log_tenant_idx on public.audit_log (tenant_id, occurred_at, audit_id);

create index audit_log_row_idx on public.audit_log (row_id) where row_id is not null;

comment on table public.audit_log is
  'What each caller did, and what was refused. Append-only for every role, its owner included. Admins read the rows of their tenant. One partition per month.';
comment on column public.audit_log.audit_id is 'Id, a UUID version 7: it sorts by time.';
comment on column public.audit_log.occurred_at is 'When it happened, by the clock of the database.';
comment on column public.audit_log.xid is
  'Transaction that wrote the row. Rows are sealed in this order, once no earlier transaction is still in flight.';
comment on column public.audit_log.tenant_id is 'Tenant of the row that was affected, or of the caller.';
comment on column public.audit_log.operation is
  'INSERT, UPDATE, DELETE, SEARCH, READ, STATS, CLEANUP, EXPORT, ERASE, or DENIED. DENIED is a call that was refused before its operation was known, that had no identity, or that GraphQL refused.';
comment on column public.audit_log.table_name is 'Table that was affected or read.';
comment on column public.audit_log.row_id is 'Row that was affected or read, if it was a single one.';
comment on column public.audit_log.project_id is 'Project of that row, or the project that was asked for.';
comment on column public.audit_log.scope is 'Scope of that row, or the scope that was asked for.';
comment on column public.audit_log.caller is
  'Actor that did it; db:<role> for work that no actor asked for, such as a migration.';
comment on column public.audit_log.creator is 'Creator name of the actor at that time.';
comment on column public.audit_log.source is 'Source of the actor at that time.';
comment on column public.audit_log.tool_name is 'Tool, mutation or query; sql for a database session.';
comment on column public.audit_log.status is 'success or error.';
comment on column public.audit_log.sqlstate is 'Error code if it failed: one of docs/reference/errors.md or of PostgreSQL.';
comment on column public.audit_log.details is
  'Always holds caller, creator, source and tool_name, and org_id and user_id if the caller acted for them; then ids, filters and counts. It never holds contents.';

create trigger _200_append_only
  before update or delete or truncate on public.audit_log
  for each statement execute function l9_guard.tg_append_only();

alter table public.audit_log enable always trigger _200_append_only;
alter table public.audit_log enable row level security;
alter table public.audit_log force row level security;

create policy tenant_isolation on public.audit_log as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.audit_log for select to l9_admin
  using (scope is null or scope = any ((select identity.current_scopes())::text[]));
create policy platform_override on public.audit_log for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('audit_log')));
create policy definer_inserts on public.audit_log for insert to l9_owner with check (true);
create policy definer_functions on public.audit_log for select to l9_owner using (true);
comment on policy tenant_isolation on public.audit_log is 'A caller sees only the audit rows of its tenant.';
comment on policy scope_access on public.audit_log is 'Admins read them, within the scopes of their claims.';
comment on policy platform_override on public.audit_log is 'Operators read the rows of every tenant; each read is audited.';
comment on policy definer_inserts on public.audit_log is 'write_audit() and the audit triggers insert.';
comment on policy definer_functions on public.audit_log is 'seal_audit() and verify_audit() read the rows that they hash.';

grant select on public.audit_log to l9_admin, l9_platform_admin;
-- No grant for l9_agent: rows about other callers would reveal what it must not know.
-- No role can insert: a row that a caller could write would prove nothing.

-- The partitions are created last, so that each of them is protected like the table from the start.
select audit.create_month_partitions('public.audit_log', now()::date, 14);
--! EndIncluded 020-audit/020-audit-log.sql
--! Included 020-audit/030-write-audit.sql
create function audit.current_tool()
returns text
language sql
stable
parallel safe
set search_path = ''
return coalesce(nullif(pg_catalog.left(pg_catalog.current_setting('l9.tool_name', true), 100), ''), 'sql');

comment on function audit.current_tool() is
  'Tool, query or mutation that the gateway says it is running; sql in a database session.';

create function audit.audit_actor()
returns jsonb
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select pg_catalog.jsonb_build_object(
      'caller', coalesce(me.caller, 'db:' || identity.current_role_name()),
      'creator', me.creator,
      'source', me.source,
      'tool_name', audit.current_tool())
    || case when coalesce(me.org_id, me.user_id) is null then '{}' else
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('org_id', me.org_id, 'user_id', me.user_id)) end
  from identity.current_identity() as me;
end;

comment on function audit.audit_actor() is
  'The caller as the details of every audit row name it: caller, creator, source and tool_name, and org_id and user_id if the caller acts for them.';

create function audit.add_audit_row(
  audit_id uuid,
  operation text,
  table_name text,
  row_id uuid,
  project_id text,
  scope text,
  details jsonb,
  sqlstate text
)
returns void
language sql
volatile
set search_path = ''
begin atomic
  insert into public.audit_log (audit_id, operation, table_name, row_id, tenant_id, project_id, scope, status, sqlstate, details)
  values (
    add_audit_row.audit_id, add_audit_row.operation, add_audit_row.table_name, add_audit_row.row_id,
    identity.current_tenant_id(), add_audit_row.project_id, add_audit_row.scope,
    case when add_audit_row.sqlstate is null then 'success' else 'error' end, add_audit_row.sqlstate,
    coalesce(add_audit_row.details, '{}') || audit.audit_actor());
end;

comment on function audit.add_audit_row(uuid, text, text, uuid, text, text, jsonb, text) is
  'Inserts an audit row under the given id. Not executable by callers, and callers could not insert.';

create function audit.write_audit(
  operation text,
  table_name text,
  row_id uuid default null,
  project_id text default null,
  scope text default null,
  details jsonb default '{}',
  sqlstate text default null
)
returns void
language sql
volatile
security definer
set search_path = ''
begin atomic
  select audit.add_audit_row(uuidv7(), operation, table_name, row_id, project_id, scope, details, sqlstate);
end;

comment on function audit.write_audit(text, text, uuid, text, text, jsonb, text) is
  'Inserts an audit row about the current caller, whose name overrides any caller in details. Definer: callers cannot insert into audit_log. Not executable by callers: functions of the owner call it.';

create function audit.write_audit_of_tenant(
  tenant_id uuid,
  operation text,
  table_name text,
  row_id uuid default null,
  project_id text default null,
  scope text default null,
  details jsonb default '{}'
)
returns void
language sql
volatile
security definer
set search_path = ''
begin atomic
  insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
  values (
    write_audit_of_tenant.operation, write_audit_of_tenant.table_name, write_audit_of_tenant.row_id,
    write_audit_of_tenant.tenant_id, write_audit_of_tenant.project_id, write_audit_of_tenant.scope,
    coalesce(write_audit_of_tenant.details, '{}') || audit.audit_actor());
end;

comment on function audit.write_audit_of_tenant(uuid, text, text, uuid, text, text, jsonb) is
  'Like write_audit(), but the audit row belongs to the given tenant: for jobs, which have no tenant, and for operators, who can work in other tenants. Definer: callers cannot insert into audit_log. Not executable by callers.';

grant execute on function audit.current_tool() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
-- No grant on the other functions: only functions that run as l9_owner can call them.
--! EndIncluded 020-audit/030-write-audit.sql
--! Included 020-audit/040-audit-query-texts.sql
create table public.audit_query_texts (
  audit_id uuid primary key,
  tenant_id uuid not null references public.tenants,
  occurred_at timestamptz not null default clock_timestamp(),
  scope text,
  query text not null,
  user_id uuid
);

create index audit_query_texts_user_idx on public.audit_query_texts (tenant_id, user_id) where user_id is not null;

-- The planner's statistics would keep sampled texts after their erasure.
alter table public.audit_query_texts alter column query set statistics 0;

comment on table public.audit_query_texts is
  'Texts of searches, for tenants that keep them (set_query_text_audit). They are stored beside audit_log, not in it, so that they can be erased.';
comment on column public.audit_query_texts.audit_id is 'Audit row of the search.';
comment on column public.audit_query_texts.tenant_id is 'Tenant of the caller.';
comment on column public.audit_query_texts.occurred_at is 'When the search ran.';
comment on column public.audit_query_texts.scope is 'Scope, as in audit_log.';
comment on column public.audit_query_texts.query is 'Text that was searched for.';
comment on column public.audit_query_texts.user_id is 'User that the caller acted for.';

alter table public.audit_query_texts enable row level security;
alter table public.audit_query_texts force row level security;

create policy tenant_isolation on public.audit_query_texts as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy user_visibility on public.audit_query_texts as restrictive to l9_agent
  using (user_id = (select identity.current_user_id()));
create policy scope_access on public.audit_query_texts for select to l9_admin
  using (scope is null or scope = any ((select identity.current_scopes())::text[]));
create policy platform_override on public.audit_query_texts for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('audit_query_texts')));
create policy definer_functions on public.audit_query_texts to l9_owner using (true);
comment on policy tenant_isolation on public.audit_query_texts is 'A caller sees only the searches of its tenant.';
comment on policy user_visibility on public.audit_query_texts is
  'Agents have no grant on this table. With one, an agent would not see the searches of other users.';
comment on policy scope_access on public.audit_query_texts is 'Admins read them, like the rows of audit_log that they belong to.';
comment on policy platform_override on public.audit_query_texts is
  'Operators read the texts of every tenant; each read is audited.';
comment on policy definer_functions on public.audit_query_texts is 'Searches insert the texts, erasure deletes them.';

grant select on public.audit_query_texts to l9_admin, l9_platform_admin;
-- No grant for l9_agent, and no role can insert.

create function public.audit_log_query_text(audit_row public.audit_log)
returns text
language sql
stable
set search_path = ''
return (select q.query from public.audit_query_texts q where q.audit_id = (audit_row).audit_id);

comment on function public.audit_log_query_text(public.audit_log) is
  'Text of the search, if the tenant keeps these texts and this one was not erased.';

grant execute on function public.audit_log_query_text(public.audit_log) to l9_admin, l9_platform_admin;
--! EndIncluded 020-audit/040-audit-query-texts.sql
--! Included 020-audit/050-audit-read.sql
create function audit.keep_query_text(audit_id uuid, scope text, query text)
returns void
language sql
volatile
set search_path = ''
begin atomic
  insert into public.audit_query_texts (audit_id, tenant_id, scope, query, user_id)
  select keep_query_text.audit_id, t.tenant_id, keep_query_text.scope, keep_query_text.query, identity.current_user_id()
  from public.tenants t
  where t.tenant_id = identity.current_tenant_id() and t.audits_query_text;
end;

comment on function audit.keep_query_text(uuid, text, text) is
  'Stores the text of a search if the caller''s tenant keeps these texts. Not executable by callers: audit_read() calls it.';

create function audit.audit_read(
  operation text,
  details jsonb,
  row_id uuid default null,
  project_id text default null,
  scope text default null,
  query text default null
)
returns uuid
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  audit_id uuid := uuidv7();
begin
  perform identity.require_identity();
  if operation not in ('SEARCH', 'READ', 'STATS') then
    perform identity.raise_error('L9VAL', 'operation: must be SEARCH, READ or STATS', 'operation');
  end if;
  if octet_length(details::text) > 65536 or octet_length(query) > 32768 then
    perform identity.raise_error('L9LIM', 'details: at most 65536 bytes, query: at most 32768', 'details');
  end if;
  perform audit.add_audit_row(
    audit_id, operation, 'packet_store', row_id, left(project_id, 200), left(scope, 63), details - 'org_id' - 'user_id', null);
  if query is not null then
    perform audit.keep_query_text(audit_id, left(scope, 63), query);
  end if;
  return audit_id;
end
$$;

comment on function audit.audit_read(text, jsonb, uuid, text, text, text) is
  'Audits a read by the current caller, and keeps the text of a search if the tenant keeps these texts; returns the id of the audit row. Definer: writes audit_log. A caller can only add rows about itself.';

grant execute on function audit.audit_read(text, jsonb, uuid, text, text, text)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 020-audit/050-audit-read.sql
--! Included 020-audit/060-audit-graphql-read.sql
create function audit.audit_graphql_read(operation_name text, tables jsonb, totals jsonb, ids uuid[])
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform identity.require_identity();
  if jsonb_typeof(tables) <> 'object' or jsonb_typeof(totals) <> 'object'
    or octet_length(tables::text) + octet_length(totals::text) > 8192 or cardinality(ids) > 10000 then
    perform identity.raise_error('L9VAL', 'tables, totals: must be objects of at most 8192 bytes; ids: at most 10000', 'tables');
  end if;
  perform audit.write_audit(
    'READ',
    case when tables ? 'packet_store' then 'packet_store'
      else coalesce((select left(min(t.name), 63) from jsonb_object_keys(tables) as t (name)), 'packet_store') end,
    case when cardinality(ids) = 1 then ids[1] end,
    details => jsonb_build_object('operation_name', left(operation_name, 200), 'tables', tables, 'ids', to_jsonb(ids))
      || case when totals <> '{}' then jsonb_build_object('totals', totals) else '{}' end);
end
$$;

comment on function audit.audit_graphql_read(text, jsonb, jsonb, uuid[]) is
  'Audits what one GraphQL request read: the name of its operation, the number of rows per table, the totals that it returned, and the ids of the memories that it asked for. The gateway sends the answer only after this row was written. Definer: writes audit_log. A caller can only add rows about itself.';

grant execute on function audit.audit_graphql_read(text, jsonb, jsonb, uuid[]) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 020-audit/060-audit-graphql-read.sql
--! Included 020-audit/070-audit-refusal.sql
create function audit.audit_refusal(operation text, row_id uuid, project_id text, scope text, sqlstate text, details jsonb)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform identity.require_identity();
  if sqlstate !~ '^[0-9A-Z]{5}$' then
    perform identity.raise_error('L9VAL', 'sqlstate: must be five capital letters or digits', 'sqlstate');
  end if;
  perform audit.write_audit(
    operation, 'packet_store', row_id, pg_catalog.left(project_id, 200), pg_catalog.left(scope, 63),
    case when pg_catalog.octet_length(details::text) <= 4096 then details - 'org_id' - 'user_id' else '{"cut": true}' end, sqlstate);
end
$$;

comment on function audit.audit_refusal(text, uuid, text, text, text, jsonb) is
  'Audits a call that was refused or failed. The gateway calls it after the transaction of the call, with its audit row, was rolled back. A caller can only report its own failures. Definer: writes audit_log.';

grant execute on function audit.audit_refusal(text, uuid, text, text, text, jsonb)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 020-audit/070-audit-refusal.sql
--! Included 020-audit/080-audit-denial.sql
create function audit.audit_denial(
  entry_point text, reason text, address text, tenant_id uuid, caller text, times integer)
returns void
language sql
volatile
security definer
set search_path = ''
begin atomic
  insert into public.audit_log (operation, table_name, tenant_id, status, sqlstate, details)
  values ('DENIED', 'actors', tenant_id, 'error', 'L9AUT',
    pg_catalog.jsonb_build_object(
      'caller', coalesce(pg_catalog.left(nullif(caller, ''), 63), 'unknown'), 'creator', null, 'source', null,
      'tool_name', coalesce(pg_catalog.left(nullif(entry_point, ''), 100), 'unknown'),
      'reason', pg_catalog.left(reason, 200), 'address', pg_catalog.left(address, 100), 'times', times));
end;

comment on function audit.audit_denial(text, text, text, uuid, text, integer) is
  'Audits that the gateway refused a request without an identity; `times` counts requests that were refused alike. tenant_id and caller are those of a token with a valid signature or of a known key; if nothing names the caller, they are null and unknown. Definer: writes audit_log.';

grant execute on function audit.audit_denial(text, text, text, uuid, text, integer) to l9_worker;
--! EndIncluded 020-audit/080-audit-denial.sql
--! Included 020-audit/090-audit-seals.sql
create table public.audit_seals (
  seal_id bigint primary key,
  sealed_at timestamptz not null default clock_timestamp(),
  era integer not null,
  era_after timestamptz not null,
  from_xid xid8 not null,
  to_xid xid8 not null,
  row_count integer not null,
  first_occurred_at timestamptz,
  last_occurred_at timestamptz,
  audit_ids uuid[] not null,
  row_hashes bytea[] not null,
  rows_hash bytea not null,
  previous_hash bytea,
  seal_hash bytea not null,
  constraint audit_seal_hash_unique unique (seal_hash),
  constraint audit_seal_is_linked check ((seal_id = 1) = (previous_hash is null)),
  constraint audit_seal_is_a_range check (from_xid < to_xid),
  constraint audit_seal_counts_its_rows check (row_count = cardinality(audit_ids) and row_count = cardinality(row_hashes))
);

create index audit_seals_time_idx on public.audit_seals (last_occurred_at);

comment on table public.audit_seals is
  'A chain of hashes over audit_log. Each seal covers the rows that a range of transactions wrote, and the hash of the previous seal. Its rows are hashed one by one, so that an altered row can be named.';
comment on column public.audit_seals.seal_id is 'Number of the seal: 1, 2, 3 and so on, without gaps.';
comment on column public.audit_seals.sealed_at is 'When the seal was made.';
comment on column public.audit_seals.era is
  'Number of the database cluster, counted from 1: a restored database lives in a new cluster, which numbers its transactions from the start again.';
comment on column public.audit_seals.era_after is
  'Rows of this era occurred after this time, and not after the era_after of the next era.';
comment on column public.audit_seals.from_xid is 'First transaction that the seal covers.';
comment on column public.audit_seals.to_xid is 'First transaction that the seal does not cover; the next seal begins there.';
comment on column public.audit_seals.row_count is 'Number of rows that the seal covers.';
comment on column public.audit_seals.first_occurred_at is 'Earliest time of its rows.';
comment on column public.audit_seals.last_occurred_at is 'Latest time of its rows.';
comment on column public.audit_seals.audit_ids is 'Ids of its rows, sorted by transaction, then id.';
comment on column public.audit_seals.row_hashes is 'SHA-256 of each row, in the same order.';
comment on column public.audit_seals.rows_hash is 'SHA-256 over the ids and hashes of its rows.';
comment on column public.audit_seals.previous_hash is 'seal_hash of the previous seal; null for the first.';
comment on column public.audit_seals.seal_hash is 'SHA-256 over all other columns of the seal.';

create trigger _200_append_only
  before update or delete or truncate on public.audit_seals
  for each statement execute function l9_guard.tg_append_only();

alter table public.audit_seals enable always trigger _200_append_only;
alter table public.audit_seals enable row level security;
alter table public.audit_seals force row level security;

create policy platform_override on public.audit_seals for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('audit_seals')));
create policy definer_functions on public.audit_seals for select to l9_owner using (true);
create policy definer_inserts on public.audit_seals for insert to l9_owner with check (true);
comment on policy platform_override on public.audit_seals is
  'Operators see the seals, which span all tenants; each read is audited.';
comment on policy definer_functions on public.audit_seals is 'verify_audit() and audit_head() read the chain.';
comment on policy definer_inserts on public.audit_seals is 'seal_audit() inserts.';

grant select on public.audit_seals to l9_platform_admin;
-- No grant for l9_admin: seals reveal how active other tenants are. It has verify_audit() and audit_head().
--! EndIncluded 020-audit/090-audit-seals.sql
--! Included 020-audit/100-audit-archives.sql
create table public.audit_archives (
  table_name text primary key,
  month date not null,
  row_count bigint not null,
  seal_ids bigint[] not null,
  seal_rows bigint[] not null,
  archived_at timestamptz not null default clock_timestamp(),
  archived_by text not null,
  constraint audit_archive_counts_by_seal check (cardinality(seal_ids) = cardinality(seal_rows))
);

comment on table public.audit_archives is
  'Months of audit_log that were detached, with the number of rows that each seal lost with them.';
comment on column public.audit_archives.table_name is
  'Table that was a partition. It stays as a table of its own until a superuser drops it.';
comment on column public.audit_archives.month is 'First day of the month, in UTC.';
comment on column public.audit_archives.row_count is 'Number of rows that it holds.';
comment on column public.audit_archives.seal_ids is 'Seals that cover its rows.';
comment on column public.audit_archives.seal_rows is 'Number of its rows that each of these seals covers, in the same order.';
comment on column public.audit_archives.archived_at is 'When it was detached.';
comment on column public.audit_archives.archived_by is 'Caller that detached it.';

create trigger _200_append_only
  before update or delete or truncate on public.audit_archives
  for each statement execute function l9_guard.tg_append_only();

alter table public.audit_archives enable always trigger _200_append_only;
alter table public.audit_archives enable row level security;
alter table public.audit_archives force row level security;

create policy platform_override on public.audit_archives for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('audit_archives')));
create policy definer_functions on public.audit_archives for select to l9_owner using (true);
create policy definer_inserts on public.audit_archives for insert to l9_owner with check (true);
comment on policy platform_override on public.audit_archives is 'Operators see what was archived; each read is audited.';
comment on policy definer_functions on public.audit_archives is
  'verify_audit() reads which rows were archived, so that it does not report them as missing.';
comment on policy definer_inserts on public.audit_archives is 'detach_audit_partition() inserts.';

grant select on public.audit_archives to l9_platform_admin;
--! EndIncluded 020-audit/100-audit-archives.sql
--! Included 020-audit/110-hashes.sql
-- The hashed text is JSON, so that two different rows never have the same text. Times are seconds since 1970, so that the text
-- does not depend on session settings.

create function audit.audit_row_hash(audit_row public.audit_log)
returns bytea
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.jsonb_build_array(
  (audit_row).audit_id, extract(epoch from (audit_row).occurred_at)::text, (audit_row).xid::text,
  (audit_row).operation, (audit_row).table_name, (audit_row).row_id, (audit_row).tenant_id, (audit_row).project_id,
  (audit_row).scope, (audit_row).status, (audit_row).sqlstate, (audit_row).details)::text, 'UTF8'));

comment on function audit.audit_row_hash(public.audit_log) is
  'SHA-256 of the JSON array [audit_id, occurred_at, xid, operation, table_name, row_id, tenant_id, project_id, scope, status, sqlstate, details]. Times are seconds since 1970.';

create function audit.audit_rows_hash(audit_ids uuid[], row_hashes bytea[])
returns bytea
language sql
immutable
parallel safe
set search_path = ''
return (
  select pg_catalog.sha256(coalesce(pg_catalog.string_agg(pg_catalog.uuid_send(r.audit_id) || r.hash, '' order by r.position), ''))
  from rows from (pg_catalog.unnest(audit_ids), pg_catalog.unnest(row_hashes)) with ordinality as r (audit_id, hash, position));

comment on function audit.audit_rows_hash(uuid[], bytea[]) is 'SHA-256 over the ids and hashes of rows, in order.';

create function audit.audit_seal_hash(seal public.audit_seals)
returns bytea
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.jsonb_build_array(
  (seal).seal_id, extract(epoch from (seal).sealed_at)::text, (seal).era, extract(epoch from (seal).era_after)::text,
  (seal).from_xid::text, (seal).to_xid::text, (seal).row_count, extract(epoch from (seal).first_occurred_at)::text,
  extract(epoch from (seal).last_occurred_at)::text, pg_catalog.encode((seal).rows_hash, 'hex'),
  pg_catalog.encode((seal).previous_hash, 'hex'))::text, 'UTF8'));

comment on function audit.audit_seal_hash(public.audit_seals) is
  'SHA-256 of the JSON array [seal_id, sealed_at, era, era_after, from_xid, to_xid, row_count, first_occurred_at, last_occurred_at, rows_hash, previous_hash]. Times are seconds since 1970, hashes are hexadecimal.';
--! EndIncluded 020-audit/110-hashes.sql
--! Included 020-audit/120-seal-audit.sql
create function audit.seal_audit_until(horizon xid8, max_rows integer)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  last_xid constant xid8 := '18446744073709551615';
  last public.audit_seals;
  seal public.audit_seals;
  first_xid xid8;
begin
  select * into last from public.audit_seals s order by s.seal_id desc limit 1;
  seal.seal_id := coalesce(last.seal_id, 0) + 1;
  seal.sealed_at := clock_timestamp();
  seal.era := coalesce(last.era, 1);
  seal.era_after := coalesce(last.era_after, '-infinity');
  seal.from_xid := coalesce(last.to_xid, '0');
  seal.to_xid := horizon;
  seal.previous_hash := last.seal_hash;

  if last.to_xid = last_xid then
    -- The last seal closed an era: rows newer than every sealed row belong to the next era.
    seal.era := last.era + 1;
    seal.era_after := coalesce((select max(s.last_occurred_at) from public.audit_seals s), last.era_after);
    seal.from_xid := '0';
  elsif last.to_xid > pg_snapshot_xmax(pg_current_snapshot()) then
    -- The last sealed transaction lies in the future, so this database was restored from a dump into another cluster.
    -- The restored rows that were not sealed yet get the last seal of their era.
    seal.to_xid := last_xid;
  end if;

  if seal.to_xid <> last_xid then
    select a.xid into first_xid from public.audit_log a
    where a.xid >= seal.from_xid and a.xid < horizon and a.occurred_at > seal.era_after
    order by a.xid limit 1;
    if not found then
      return 0;
    end if;
    -- A seal covers at most max_rows rows, but a transaction is never split: one that exceeds max_rows is sealed whole.
    select case when a.xid > first_xid then a.xid else ((a.xid::text::bigint + 1)::text)::xid8 end into seal.to_xid
    from public.audit_log a
    where a.xid >= seal.from_xid and a.xid < horizon and a.occurred_at > seal.era_after
    order by a.xid offset max_rows limit 1;
    seal.to_xid := coalesce(seal.to_xid, horizon);
  end if;

  select count(*), min(r.occurred_at), max(r.occurred_at),
    coalesce(array_agg(r.audit_id order by r.xid, r.audit_id), '{}'),
    coalesce(array_agg(audit.audit_row_hash(r) order by r.xid, r.audit_id), '{}')
  into seal.row_count, seal.first_occurred_at, seal.last_occurred_at, seal.audit_ids, seal.row_hashes
  from public.audit_log r
  where r.xid >= seal.from_xid and r.xid < seal.to_xid and r.occurred_at > seal.era_after;
  seal.rows_hash := audit.audit_rows_hash(seal.audit_ids, seal.row_hashes);
  seal.seal_hash := audit.audit_seal_hash(seal);
  insert into public.audit_seals select seal.*;
  -- After closing an era this never returns 0, because the next era may have rows to seal.
  return greatest(seal.row_count, case when seal.to_xid = last_xid then 1 else 0 end);
end
$$;

comment on function audit.seal_audit_until(xid8, integer) is
  'Adds one seal, in order, over the unsealed rows of transactions before the horizon; returns the number of rows, 0 if there was nothing to seal. Definer: reads audit_log, writes audit_seals. Not executable by callers: seal_audit() computes the horizon.';

create function audit.seal_audit(max_rows integer default 10000)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  if max_rows is null or max_rows not between 1 and 100000 then
    perform identity.raise_error('L9VAL', 'max_rows: from 1 to 100000', 'max_rows');
  end if;
  -- The lock serialises sealing. A caller that had to wait sees the other seal, because each statement takes a new snapshot.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory audit seal', 0));
  -- All transactions before the oldest running one have ended, so no further row of theirs can appear.
  return audit.seal_audit_until(pg_snapshot_xmin(pg_current_snapshot()), max_rows);
end
$$;

comment on function audit.seal_audit(integer) is
  'Adds one seal of at most about max_rows rows (whole transactions) over the committed rows, in order, and returns how many rows it covers; 0 if nothing is left. Transactions in flight are never skipped. Definer: reads audit_log, writes audit_seals.';

create function audit.is_audit_unsealed()
returns boolean
language sql
stable
security definer
set search_path = ''
begin atomic
  with last as (select s.to_xid, s.era_after from public.audit_seals s order by s.seal_id desc limit 1)
  select exists (
    select from public.audit_log a
    where a.xid >= coalesce((select last.to_xid from last), '0')
      and a.occurred_at > coalesce((select last.era_after from last), '-infinity'))
    or exists (select from last where last.to_xid > pg_snapshot_xmax(pg_current_snapshot()));
end;

comment on function audit.is_audit_unsealed() is
  'True if there may be rows to seal; it is cheap, for a job that calls it often. Definer: jobs cannot read audit_log.';

create function audit.audit_backlog()
returns table (unsealed bigint, oldest_seconds double precision, last_sealed_at timestamptz)
language sql
stable
security definer
set search_path = ''
begin atomic
  with last as (select s.to_xid, s.era_after, s.sealed_at from public.audit_seals s order by s.seal_id desc limit 1)
  select count(*), coalesce(extract(epoch from clock_timestamp() - min(unsealed_rows.occurred_at)), 0)::double precision,
    (select last.sealed_at from last)
  from (
    select a.occurred_at from public.audit_log a
    where a.xid >= coalesce((select last.to_xid from last), '0')
      and a.occurred_at > coalesce((select last.era_after from last), '-infinity')
    limit 100000
  ) as unsealed_rows;
end;

comment on function audit.audit_backlog() is
  'Number of rows of audit_log that are not sealed yet (it counts at most 100,000), the age of the oldest in seconds, and when the last seal was made. Definer: jobs cannot read audit_log.';

grant execute on function audit.seal_audit(integer), audit.is_audit_unsealed(), audit.audit_backlog() to l9_worker;
--! EndIncluded 020-audit/120-seal-audit.sql
--! Included 020-audit/130-require-auditor.sql
create function audit.require_auditor(function_name text)
returns identity.identity
language plpgsql
stable
set search_path = ''
as $$
declare
  me identity.identity := identity.current_identity();
begin
  -- A database administrator has no claims and can read every row anyway.
  if identity.current_role_name() = any (identity.caller_roles() || 'l9_worker'::text) then
    me := identity.require_identity();
    if me.role not in ('l9_admin', 'l9_platform_admin') then
      perform identity.raise_error('L9SCP', pg_catalog.format('%s: only administrators can call this', function_name));
    end if;
  end if;
  return me;
end
$$;

comment on function audit.require_auditor(text) is
  'Returns the identity of an admin or operator, or of a DBA in psql, who may have none; else raises L9AUT or L9SCP. function_name begins the error text. Not executable by callers.';
--! EndIncluded 020-audit/130-require-auditor.sql
--! Included 020-audit/140-verify-audit.sql
create type public.audit_verification as (
  ok boolean,
  seals bigint,
  rows bigint,
  unsealed bigint,
  archived bigint,
  broken_seal bigint,
  broken_row uuid,
  reason text,
  head text,
  last_seal bigint,
  is_complete boolean
);

comment on type public.audit_verification is
  'Result of verify_audit(). An admin of a tenant gets the rows of its tenant only; the chain itself is one for all tenants.';
comment on column public.audit_verification.ok is
  'False if a row or seal was altered, removed or added; the other columns say which.';
comment on column public.audit_verification.seals is 'Number of seals that were checked.';
comment on column public.audit_verification.rows is 'Number of rows that were checked against their seals.';
comment on column public.audit_verification.unsealed is
  'Number of rows that are too new to be sealed; null if the end of the chain was not reached.';
comment on column public.audit_verification.archived is
  'Number of rows of these seals that lie in detached partitions: the chain still covers their hashes, but the rows were not read. Null for an admin of a tenant.';
comment on column public.audit_verification.broken_seal is 'First seal that is broken, or whose rows were changed.';
comment on column public.audit_verification.broken_row is
  'First row that was changed, if it is a single row and the caller may know of it.';
comment on column public.audit_verification.reason is 'What is wrong.';
comment on column public.audit_verification.head is
  'Hash of the newest seal. Store it outside the database, and pass it to a later verify_audit.';
comment on column public.audit_verification.last_seal is 'Last seal that was checked.';
comment on column public.audit_verification.is_complete is
  'False if max_rows was reached; continue with after_seal => last_seal.';

create function audit.audit_seal_problem(
  seal public.audit_seals, era_until timestamptz, only_tenant uuid,
  out row_count bigint, out archived bigint, out broken_row uuid, out reason text)
language plpgsql
stable
set search_path = ''
as $$
declare
  missing bigint;
  added bigint;
  first_altered uuid;
  first_missing uuid;
  first_added uuid;
begin
  if audit.audit_rows_hash(seal.audit_ids, seal.row_hashes) <> seal.rows_hash
    or audit.audit_seal_hash(seal) <> seal.seal_hash then
    reason := 'the seal was altered';
    return;
  end if;
  select coalesce(sum(a.seal_rows[array_position(a.seal_ids, seal.seal_id)]), 0) into archived
  from public.audit_archives a where seal.seal_id = any (a.seal_ids);

  with current_rows as (
    select r.audit_id, r.tenant_id, audit.audit_row_hash(r) as hash
    from public.audit_log r
    where r.xid >= seal.from_xid and r.xid < seal.to_xid and r.occurred_at > seal.era_after and r.occurred_at <= era_until
  ), sealed_rows as (
    select s.audit_id, s.hash, s.position
    from rows from (unnest(seal.audit_ids), unnest(seal.row_hashes)) with ordinality as s (audit_id, hash, position)
  )
  select
    count(*) filter (where p.audit_id is not null and (only_tenant is null or p.tenant_id = only_tenant)),
    count(*) filter (where p.audit_id is null),
    count(*) filter (where s.audit_id is null),
    (array_agg(s.audit_id order by s.position) filter (where p.hash <> s.hash))[1],
    (array_agg(s.audit_id order by s.position) filter (where p.audit_id is null))[1],
    (array_agg(p.audit_id order by p.audit_id) filter (where s.audit_id is null))[1]
  into row_count, missing, added, first_altered, first_missing, first_added
  from current_rows p full join sealed_rows s on s.audit_id = p.audit_id;

  if first_altered is not null then
    reason := 'a row was altered';
    broken_row := first_altered;
  elsif missing <> archived then
    reason := case when archived = 0 then 'a row was removed'
      else format('%s rows were archived, but %s are missing', archived, missing) end;
    if archived = 0 then
      broken_row := first_missing;
      -- If it still exists, its xid or time was altered, so that this seal no longer covers it.
      if exists (select from public.audit_log r where r.audit_id = first_missing) then
        reason := 'a row was altered';
      end if;
    end if;
  elsif added > 0 then
    reason := 'a row was added';
    broken_row := first_added;
  end if;

  if broken_row is not null and only_tenant is not null
    and not exists (select from public.audit_log r where r.audit_id = broken_row and r.tenant_id = only_tenant) then
    broken_row := null;
  end if;
end
$$;

comment on function audit.audit_seal_problem(public.audit_seals, timestamptz, uuid) is
  'Compares a seal with its own hash and with its rows. reason is null if nothing is wrong.';

create function public.verify_audit(
  "from" timestamptz default null,
  "to" timestamptz default null,
  head text default null,
  after_seal bigint default null,
  max_rows bigint default null
)
returns public.audit_verification
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  me identity.identity := audit.require_auditor('verify_audit');
  only_tenant uuid;
  result public.audit_verification;
  seal public.audit_seals;
  previous public.audit_seals;
  newest public.audit_seals;
  era_until timestamptz;
  first_seal bigint;
  final_seal bigint;
  problem record;
  rows_read bigint := 0;
begin
  if me.role = 'l9_admin' then
    only_tenant := me.tenant_id;
  end if;
  if head !~ '^[0-9a-f]{64}$' then
    perform identity.raise_error('L9VAL', 'head: must be 64 hexadecimal digits, as audit_head returns them', 'head');
  elsif max_rows < 1 then
    perform identity.raise_error('L9VAL', 'max_rows: at least 1', 'max_rows');
  end if;

  result := row(true, 0, 0, null, case when only_tenant is null then 0 end, null, null, null, null, null, true);
  select * into newest from public.audit_seals s order by s.seal_id desc limit 1;
  result.head := encode(newest.seal_hash, 'hex');

  -- The range of seals that covers this time, from the first to the last, without gaps.
  select coalesce(min(s.seal_id), newest.seal_id + 1) into first_seal
  from public.audit_seals s where verify_audit."from" is null or s.last_occurred_at >= verify_audit."from";
  select coalesce(max(s.seal_id), 0) into final_seal
  from public.audit_seals s where verify_audit."to" is null or s.first_occurred_at < verify_audit."to";
  if verify_audit."from" is null then
    first_seal := 1;
  end if;
  if verify_audit."to" is null then
    final_seal := newest.seal_id;
  end if;
  first_seal := greatest(first_seal, coalesce(after_seal, 0) + 1);
  select * into previous from public.audit_seals s where s.seal_id = first_seal - 1;
  result.last_seal := previous.seal_id;

  for seal in
    select * from public.audit_seals s where s.seal_id between first_seal and final_seal order by s.seal_id
  loop
    if rows_read >= max_rows then
      result.is_complete := false;
      exit;
    end if;
    -- If a seal is missing, the next one does not match its predecessor.
    if seal.seal_id <> coalesce(previous.seal_id, 0) + 1
      or seal.previous_hash is distinct from previous.seal_hash
      or previous.seal_id is null and (seal.era <> 1 or seal.from_xid <> '0')
      or seal.era = previous.era and seal.from_xid <> previous.to_xid
      or seal.era <> previous.era and (
        seal.era <> previous.era + 1 or previous.to_xid <> '18446744073709551615' or seal.from_xid <> '0') then
      result.broken_seal := seal.seal_id;
      result.reason := 'the seal does not match the previous one: a seal was removed, or the chain was rebuilt';
      exit;
    end if;
    if era_until is null or seal.era is distinct from previous.era then
      select coalesce(min(s.era_after), 'infinity') into era_until from public.audit_seals s where s.era > seal.era;
    end if;
    select * into problem from audit.audit_seal_problem(seal, era_until, only_tenant);
    if problem.reason is not null then
      result.broken_seal := seal.seal_id;
      result.broken_row := problem.broken_row;
      result.reason := problem.reason;
      exit;
    end if;
    rows_read := rows_read + greatest(seal.row_count, 1);
    result.rows := result.rows + problem.row_count;
    result.archived := result.archived + problem.archived;
    result.seals := result.seals + 1;
    result.last_seal := seal.seal_id;
    previous := seal;
  end loop;

  if result.reason is null and head is not null and not exists (
    select from public.audit_seals s where s.seal_hash = decode(verify_audit.head, 'hex')) then
    result.reason := 'no seal has the hash given as head: the end of the chain was removed, or the chain was rebuilt';
  end if;
  if result.reason is null and result.is_complete and final_seal is not distinct from newest.seal_id then
    select count(*) into result.unsealed from public.audit_log a
    where a.xid >= coalesce(newest.to_xid, '0') and a.occurred_at > coalesce(newest.era_after, '-infinity')
      and (only_tenant is null or a.tenant_id = only_tenant);
  end if;
  result.ok := result.reason is null;
  return result;
end
$$;

comment on function public.verify_audit(timestamptz, timestamptz, text, bigint, bigint) is
  'Checks the audit log against its seals, seal by seal: the seals that cover the time between from and to, or all seals. head is a hash that audit_head returned earlier and that was stored outside the database; if it is no longer in the chain, the end of the chain was removed. after_seal and max_rows split the check of a large log into parts. For admins; an admin of a tenant learns nothing about the rows of other tenants. Definer: reads audit_log of every tenant, and audit_seals.';

grant execute on function public.verify_audit(timestamptz, timestamptz, text, bigint, bigint) to l9_admin, l9_platform_admin;
--! EndIncluded 020-audit/140-verify-audit.sql
--! Included 020-audit/150-audit-head.sql
create type public.audit_head as (hash text, sealed_at timestamptz);

comment on type public.audit_head is 'The newest seal.';
comment on column public.audit_head.hash is 'Hash of the seal, in hexadecimal.';
comment on column public.audit_head.sealed_at is 'When the seal was made.';

create function public.audit_head()
returns public.audit_head
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  newest public.audit_head;
begin
  perform audit.require_auditor('audit_head');
  select encode(s.seal_hash, 'hex'), s.sealed_at into newest from public.audit_seals s order by s.seal_id desc limit 1;
  return newest;
end
$$;

comment on function public.audit_head() is
  'The newest seal of the chain. Store its hash outside the database: with it, verify_audit() can prove later that no earlier row was removed. Definer: admins of a tenant cannot read audit_seals.';

grant execute on function public.audit_head() to l9_admin, l9_platform_admin;
--! EndIncluded 020-audit/150-audit-head.sql
--! Included 020-audit/160-detach-audit-partition.sql
create function public.detach_audit_partition(month date)
returns public.audit_archives
language plpgsql
volatile
security definer
set search_path = ''
set timezone = 'UTC'
set lock_timeout = '5s'
as $$
declare
  partition constant text := audit.require_past_partition('public.audit_log', month);
  archive public.audit_archives;
  newest public.audit_seals;
  is_sealed boolean;
begin
  -- The lock keeps a seal from being added meanwhile, which this count would miss.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory audit seal', 0));
  select * into newest from public.audit_seals s order by s.seal_id desc limit 1;
  execute format('lock table only partitions.%I in share mode', partition);

  archive.table_name := format('partitions.%I', partition);
  archive.month := date_trunc('month', month);
  archive.archived_at := clock_timestamp();
  archive.archived_by := audit.audit_actor() ->> 'caller';
  select count(*),
    coalesce(bool_and(newest.seal_id is not null and (a.xid < newest.to_xid or a.occurred_at <= newest.era_after)), true)
  into archive.row_count, is_sealed
  from public.audit_log a
  where a.occurred_at >= archive.month::timestamptz and a.occurred_at < archive.month::timestamptz + interval '1 month';
  if not is_sealed then
    perform identity.raise_error('L9VAL', 'month: some of its rows are not sealed yet; try again in a minute', 'month');
  end if;
  select coalesce(array_agg(c.seal_id order by c.seal_id), '{}'), coalesce(array_agg(c.n order by c.seal_id), '{}')
  into archive.seal_ids, archive.seal_rows
  from (
    select s.seal_id, count(*) as n
    from public.audit_seals s
    cross join lateral (select coalesce(min(later.era_after), 'infinity') as until from public.audit_seals later where later.era > s.era) as era
    join public.audit_log a on a.xid >= s.from_xid and a.xid < s.to_xid and a.occurred_at > s.era_after and a.occurred_at <= era.until
    where s.last_occurred_at >= archive.month::timestamptz
      and s.first_occurred_at < archive.month::timestamptz + interval '1 month'
      and a.occurred_at >= archive.month::timestamptz and a.occurred_at < archive.month::timestamptz + interval '1 month'
    group by s.seal_id
  ) as c;

  -- The insert must come first: the guard allows detaching a partition only once it is listed in audit_archives.
  insert into public.audit_archives select archive.*;
  execute format('alter table public.audit_log detach partition partitions.%I', partition);
  -- Erasure finds the texts of searches through their audit rows. Without those rows it could not erase them, so delete them now.
  delete from public.audit_query_texts q
  where q.occurred_at >= archive.month::timestamptz and q.occurred_at < archive.month::timestamptz + interval '1 month';
  perform audit.write_audit('CLEANUP', 'audit_log', details => jsonb_build_object(
    'detached', archive.table_name, 'rows', archive.row_count));
  return archive;
end
$$;

comment on function public.detach_audit_partition(date) is
  'Detaches a past, sealed month of audit_log. It remains as the table partitions.audit_log_YYYY_MM, unreadable and append-only, for a superuser to dump and drop; verify_audit() knows the number of its rows. The texts of its searches are deleted, because erasure could no longer find them. Audited. Definer: only the owner of a table can detach its partitions.';

grant execute on function public.detach_audit_partition(date) to l9_platform_admin;
--! EndIncluded 020-audit/160-detach-audit-partition.sql
--! Included 020-audit/170-export-audit.sql
create type public.audit_page as (rows jsonb, cursor text, "to" timestamptz);

comment on type public.audit_page is 'A page of the audit log.';
comment on column public.audit_page.rows is 'Rows as JSON objects, in order of time, with their transaction (xid).';
comment on column public.audit_page.cursor is 'Start of the next page (its after argument). Null: this was the last page.';
comment on column public.audit_page."to" is 'End of the exported time; pass it as to with the next page.';

create function audit.audit_export(details jsonb)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
begin
  if me.role not in ('l9_admin', 'l9_platform_admin') then
    perform identity.raise_error('L9SCP', 'export_audit: only administrators can call this');
  elsif octet_length(details::text) > 4096 then
    perform identity.raise_error('L9LIM', 'details: at most 4096 bytes', 'details');
  end if;
  perform audit.write_audit('EXPORT', 'audit_log', details => details - 'org_id' - 'user_id');
end
$$;

comment on function audit.audit_export(jsonb) is
  'Audits an export of the audit log by the current caller. Definer: writes audit_log. An admin can only add rows about itself.';

create function public.export_audit(
  "from" timestamptz default null,
  "to" timestamptz default null,
  after text default null,
  page_size integer default 1000
)
returns public.audit_page
language plpgsql
volatile
set search_path = ''
set timezone = 'UTC'
as $$
declare
  page public.audit_page;
  after_time timestamptz := coalesce(export_audit."from", '-infinity');
  after_id uuid := '00000000-0000-0000-0000-000000000000';
begin
  perform identity.require_identity();
  if page_size is null or page_size not between 1 and 5000 then
    perform identity.raise_error('L9VAL', 'page_size: from 1 to 5000', 'page_size');
  end if;
  if after is not null then
    if after !~ '^\S+Z_[0-9a-f-]{36}$' or not pg_input_is_valid(split_part(after, '_', 1), 'timestamptz')
      or not pg_input_is_valid(split_part(after, '_', 2), 'uuid') then
      perform identity.raise_error('L9VAL', 'after: must be the cursor of the previous page', 'after');
    end if;
    after_time := split_part(after, '_', 1);
    after_id := split_part(after, '_', 2);
  end if;
  -- The audit rows of this export, and all rows written while it runs, belong to the next export.
  page."to" := least(coalesce(export_audit."to", now()), now());

  with candidate_rows as (
    select a.audit_id, a.occurred_at,
      jsonb_build_object(
        'audit_id', a.audit_id, 'occurred_at', to_char(a.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'xid', a.xid::text,
        'operation', a.operation, 'table_name', a.table_name, 'row_id', a.row_id, 'tenant_id', a.tenant_id,
        'project_id', a.project_id, 'scope', a.scope, 'status', a.status, 'sqlstate', a.sqlstate, 'details', a.details) as line
    from public.audit_log a
    where a.occurred_at >= after_time and a.occurred_at < page."to" and (a.occurred_at, a.audit_id) > (after_time, after_id)
    order by a.occurred_at, a.audit_id
    limit page_size
  ), sized_rows as (
    select *, sum(octet_length(l.line::text)) over (order by l.occurred_at, l.audit_id) as bytes from candidate_rows l
  ), page_rows as (
    -- Details can be long, so a page ends early when it reaches 4 MB, but holds at least one row.
    select *, count(*) over () < (select count(*) from candidate_rows) as is_cut from sized_rows c
    where c.bytes <= 4000000 or c.audit_id = (select l.audit_id from candidate_rows l order by l.occurred_at, l.audit_id limit 1)
  )
  select coalesce(jsonb_agg(k.line order by k.occurred_at, k.audit_id), '[]'),
    case when count(*) = page_size or bool_or(k.is_cut) then
      (array_agg(to_char(k.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '_' || k.audit_id order by k.occurred_at desc, k.audit_id desc))[1] end
  into page.rows, page.cursor
  from page_rows k;
  perform audit.audit_export(jsonb_strip_nulls(jsonb_build_object(
    'from', export_audit."from", 'to', page."to", 'after', after, 'rows', jsonb_array_length(page.rows))));
  return page;
end
$$;

comment on function public.export_audit(timestamptz, timestamptz, text, integer) is
  'A page of the audit log, as far as the caller can read it, in order of time, from (inclusive) to (exclusive; by default now). after is the cursor of the previous page; page_size is 1 to 5000. Each page writes an audit row EXPORT, which is not part of the same export. For admins.';

grant execute on function audit.audit_export(jsonb) to l9_admin, l9_platform_admin;

grant execute on function public.export_audit(timestamptz, timestamptz, text, integer) to l9_admin, l9_platform_admin;
--! EndIncluded 020-audit/170-export-audit.sql
--! Included 030-administration/000-schema.sql
create schema administration;

comment on schema administration is
  'Creating and changing tenants, orgs, users, scopes, actors and API keys. Not exposed over GraphQL; callers can execute only the functions granted to them one by one.';

grant usage on schema administration to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 030-administration/000-schema.sql
--! Included 030-administration/010-require-administrator.sql
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
  'The administrator, the target tenant, and the most it may grant. Scopes are {*} only if it has all current and future scopes.';

create function administration.is_owner()
returns boolean
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.pg_has_role(identity.current_role_name(), 'l9_owner', 'usage');

comment on function administration.is_owner() is
  'True if the session has the rights of l9_owner (a DBA in psql); false for every other role, even inside a function that runs as the owner.';

create function administration.require_administrator(tenant_id uuid)
returns administration.administrator
language plpgsql
stable
set search_path = ''
as $$
declare
  me identity.identity;
  admin administration.administrator;
begin
  if administration.is_owner() then
    admin.target_tenant_id := coalesce(require_administrator.tenant_id, identity.default_tenant_id());
    admin.is_operator := true;
  else
    me := identity.require_admin();
    admin.target_tenant_id := coalesce(require_administrator.tenant_id, me.tenant_id);
    admin.own_tenant_id := me.tenant_id;
    admin.caller := me.caller;
    admin.org_id := me.org_id;
    admin.user_id := me.user_id;
    admin.is_operator := me.role = 'l9_platform_admin';
  end if;

  if admin.is_operator then
    if me.caller is not null and not ('*' = any (me.projects) and '*' = any (identity.list_claim('scopes'))) then
      perform identity.raise_error('L9SCP', 'a token that is limited to some scopes or projects cannot administer other tenants');
    elsif not exists (select from public.tenants t where t.tenant_id = admin.target_tenant_id) then
      perform identity.raise_error('L9VAL', 'tenant_id: no such tenant', 'tenant_id');
    end if;
    admin.readable_scopes := '{*}';
    admin.writable_scopes := '{*}';
    admin.projects := '{*}';
    admin.can_clean_up := true;
    return admin;
  end if;

  if admin.target_tenant_id <> me.tenant_id then
    perform identity.raise_error('L9SCP', 'tenant_id: not your tenant', 'tenant_id');
  end if;
  admin.readable_scopes := case when identity.has_every_scope() then '{*}' else me.readable_scopes end;
  admin.writable_scopes := case when identity.has_every_scope() then '{*}' else me.writable_scopes end;
  admin.projects := me.projects;
  admin.can_clean_up := me.can_clean_up;
  return admin;
end
$$;

comment on function administration.require_administrator(uuid) is
  'Returns the administrator of this tenant (of the caller''s own, if none is named): an admin for its own tenant, operators and the owner in psql for any. Else raises L9AUT or L9SCP.';

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
    perform identity.raise_error('L9SCP', 'only operators (l9_platform_admin) and l9_owner in psql can do this');
  end if;
  return admin;
end
$$;

comment on function administration.require_operator() is 'Returns an administrator of all tenants; else raises L9AUT or L9SCP.';

create function administration.require_whole_token(admin administration.administrator)
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if not ('*' = any (admin.projects) and '*' = any (admin.readable_scopes)) then
    perform identity.raise_error('L9SCP', 'only an administrator of every scope can do this, with a token that is not limited to some scopes or projects');
  end if;
end
$$;

comment on function administration.require_whole_token(administration.administrator) is
  'Raises L9SCP if the administrator''s token is limited: the change would affect more than its scopes and projects.';
--! EndIncluded 030-administration/010-require-administrator.sql
--! Included 030-administration/020-check-grantable.sql
create function administration.check_grantable(
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
    perform identity.raise_error('L9SCP', 'role: only operators can create or change operators (l9_platform_admin)', 'role');
  elsif not ('*' = any (admin.readable_scopes) or readable_scopes <@ admin.readable_scopes) then
    perform identity.raise_error('L9SCP',
      format('readable_scopes: you can grant only %s', array_to_string(admin.readable_scopes, ', ')), 'readable_scopes');
  elsif not ('*' = any (admin.writable_scopes) or writable_scopes <@ admin.writable_scopes) then
    perform identity.raise_error('L9SCP',
      format('writable_scopes: you can grant only %s', array_to_string(admin.writable_scopes, ', ')), 'writable_scopes');
  elsif not ('*' = any (admin.projects) or projects <@ admin.projects) then
    perform identity.raise_error('L9SCP', format('projects: you can grant only %s', array_to_string(admin.projects, ', ')), 'projects');
  elsif can_clean_up and not admin.can_clean_up then
    perform identity.raise_error('L9SCP', 'can_clean_up: you cannot grant it, because you do not have it', 'can_clean_up');
  end if;
end
$$;

comment on function administration.check_grantable(administration.administrator, text, text[], text[], text[], boolean) is
  'Raises L9SCP unless the administrator has all of these permissions itself.';

create function administration.check_scope_list(tenant_id uuid, field text, list text[])
returns text[]
language plpgsql
stable
set search_path = ''
as $$
declare
  unknown_scope text;
begin
  if list is null then
    return null;
  elsif '*' = any (list) then
    return '{*}';
  end if;
  select l.scope into unknown_scope from unnest(list) as l (scope)
  where not exists (select from public.scopes s where s.tenant_id = check_scope_list.tenant_id and s.scope = l.scope)
  limit 1;
  if found then
    perform identity.raise_error('L9VAL', format('%s: scope %s is not registered', field, coalesce(left(unknown_scope, 63), 'null')), field);
  end if;
  return array(select distinct l.scope from unnest(list) as l (scope) order by l.scope);
end
$$;

comment on function administration.check_scope_list(uuid, text, text[]) is
  'Returns a list of scopes sorted and without duplicates, or {*} if it contains *. Raises L9VAL if a scope is not registered.';

create function administration.raise_not_found(field text)
returns void
language sql
immutable
parallel safe
set search_path = ''
return identity.raise_error('L9OWN', pg_catalog.format('%s: not found, or not yours', field), field);

comment on function administration.raise_not_found(text) is
  'Raises L9OWN for an org, user, scope, actor or key that does not exist or belongs to another tenant; the error never tells the two apart.';
--! EndIncluded 030-administration/020-check-grantable.sql
--! Included 030-administration/030-watch-changes.sql
create function administration.tg__audit_identity()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  new_row jsonb := to_jsonb(new);
  old_row jsonb := case tg_op when 'UPDATE' then to_jsonb(old) else '{}' end;
  id_column text := tg_argv[0];
  audited_columns text[] := tg_argv[1:];
begin
  if new_row = old_row then
    return null;
  end if;
  -- Names of people are left out, because the audit log cannot erase them. The audit row belongs to the tenant that was changed,
  -- even if an operator or the owner changed it.
  perform audit.write_audit_of_tenant(
    (new_row ->> 'tenant_id')::uuid, tg_op, tg_table_name::text, (new_row ->> id_column)::uuid,
    scope => case tg_table_name when 'scopes' then new_row ->> 'scope' end,
    -- The columns are nested in `row`, because details itself has keys of the same names for the caller.
    details => jsonb_build_object('row', (
      select jsonb_object_agg(t.name, t.value)
      from jsonb_each(new_row) as t (name, value)
      where t.name in ('tenant_id', 'caller', 'scope') or t.name = any (audited_columns) and t.value is distinct from old_row -> t.name)));
  return null;
end
$$;

comment on function administration.tg__audit_identity() is
  'Audits a row that was inserted or updated: its key columns, and those of the named columns that changed.';

create trigger _500_audit after insert or update on public.tenants
  for each row execute function administration.tg__audit_identity('tenant_id', 'name', 'is_active', 'audits_query_text');
create trigger _500_audit after insert or update on public.orgs
  for each row execute function administration.tg__audit_identity('org_id', 'is_active');
create trigger _500_audit after insert or update on public.users
  for each row execute function administration.tg__audit_identity('user_id', 'org_id', 'is_active');
create trigger _500_audit after insert or update on public.scopes
  for each row execute function administration.tg__audit_identity('', 'is_project_scoped', 'is_active');
create trigger _500_audit after insert or update on public.actors
  for each row execute function administration.tg__audit_identity(
    '', 'creator', 'source', 'role', 'readable_scopes', 'writable_scopes', 'can_clean_up', 'login', 'is_active');
create trigger _500_audit after insert or update on public.api_keys
  for each row execute function administration.tg__audit_identity(
    'key_id', 'org_id', 'user_id', 'scopes', 'projects', 'expires_at', 'revoked_at');

create function administration.tg__notify()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform pg_notify(tg_argv[0], '');
  return null;
end
$$;

comment on function administration.tg__notify() is
  'Tells the running gateways, on the channel given as argument, to reload what they cache. The notification has no payload.';

create trigger _900_notify after insert or update or delete or truncate on public.tenants
  for each statement execute function administration.tg__notify('l9_identity');
create trigger _900_notify after insert or update or delete or truncate on public.orgs
  for each statement execute function administration.tg__notify('l9_identity');
create trigger _900_notify after insert or update or delete or truncate on public.users
  for each statement execute function administration.tg__notify('l9_identity');
create trigger _900_notify after insert or update or delete or truncate on public.scopes
  for each statement execute function administration.tg__notify('l9_identity');
create trigger _900_notify after insert or update or delete or truncate on public.actors
  for each statement execute function administration.tg__notify('l9_identity');
create trigger _900_notify after insert or update or delete or truncate on public.api_keys
  for each statement execute function administration.tg__notify('l9_identity');
--! EndIncluded 030-administration/030-watch-changes.sql
--! Included 030-administration/040-tenants.sql
create function public.create_tenant(name text)
returns public.tenants
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  created public.tenants;
begin
  perform administration.require_operator();
  if identity.is_identifier(create_tenant.name) is not true then
    perform identity.raise_error('L9VAL', 'name: 1 to 63 lower-case letters, digits, - and _', 'name');
  end if;
  insert into public.tenants (name) values (create_tenant.name) on conflict do nothing returning tenants.* into created;
  if not found then
    perform identity.raise_error('L9VAL', 'name: already used by another tenant', 'name');
  end if;
  perform identity.seed_tenant(created.tenant_id);
  return created;
end
$$;

comment on function public.create_tenant(text) is
  'Creates a tenant with the scopes developer, l-private and global and the actors L and C. For operators. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change through functions only.';

create function administration.set_tenant_active(tenant_id uuid, is_active boolean)
returns public.tenants
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_operator();
  changed public.tenants;
begin
  if set_tenant_active.tenant_id = admin.own_tenant_id then
    perform identity.raise_error('L9SCP', 'tenant_id: this is your own tenant; you would lock yourself out', 'tenant_id');
  end if;
  update public.tenants t set is_active = set_tenant_active.is_active
  where t.tenant_id = set_tenant_active.tenant_id
  returning t.* into changed;
  if not found then
    perform administration.raise_not_found('tenant_id');
  end if;
  return changed;
end
$$;

comment on function administration.set_tenant_active(uuid, boolean) is 'Implements deactivate_tenant() and reactivate_tenant().';

create function public.deactivate_tenant(tenant_id uuid)
returns public.tenants
language sql volatile security definer set search_path = ''
return administration.set_tenant_active(tenant_id, false);

comment on function public.deactivate_tenant(uuid) is
  'From the next request on no caller of this tenant has an identity, whatever its token or key says. For operators; not for their own tenant. Definer: identity tables change through functions only.';

create function public.reactivate_tenant(tenant_id uuid)
returns public.tenants
language sql volatile security definer set search_path = ''
return administration.set_tenant_active(tenant_id, true);

comment on function public.reactivate_tenant(uuid) is
  'Undoes deactivate_tenant(). For operators. Definer: identity tables change through functions only.';

grant execute on function public.create_tenant(text), public.deactivate_tenant(uuid), public.reactivate_tenant(uuid)
  to l9_platform_admin;
--! EndIncluded 030-administration/040-tenants.sql
--! Included 030-administration/050-set-query-text-audit.sql
create function public.set_query_text_audit(enabled boolean, tenant_id uuid default null)
returns public.tenants
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(set_query_text_audit.tenant_id);
  changed public.tenants;
begin
  perform administration.require_whole_token(admin);
  if enabled is null then
    perform identity.raise_error('L9VAL', 'enabled: must be true or false', 'enabled');
  end if;
  update public.tenants t set audits_query_text = enabled where t.tenant_id = admin.target_tenant_id returning * into changed;
  return changed;
end
$$;

comment on function public.set_query_text_audit(boolean, uuid) is
  'Sets whether the texts of searches are kept for the tenant (by default the caller''s own), for its admins to read. Texts that are already stored are kept. For admins with an unlimited token. Audited. Definer: identity tables change through functions only.';

grant execute on function public.set_query_text_audit(boolean, uuid) to l9_admin, l9_platform_admin;
--! EndIncluded 030-administration/050-set-query-text-audit.sql
--! Included 030-administration/060-orgs.sql
create function public.create_org(name text, org_id uuid default null, tenant_id uuid default null)
returns public.orgs
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(create_org.tenant_id);
  created public.orgs;
begin
  perform administration.require_whole_token(admin);
  if identity.is_display_name(create_org.name, 200) is not true then
    perform identity.raise_error('L9VAL', 'name: 1 to 200 characters, with no leading or trailing white space', 'name');
  end if;
  insert into public.orgs (tenant_id, org_id, name)
  values (admin.target_tenant_id, coalesce(create_org.org_id, uuidv7()), create_org.name)
  on conflict do nothing
  returning orgs.* into created;
  if not found then
    perform identity.raise_error('L9VAL', 'name, org_id: already used by another org of this tenant', 'name');
  end if;
  return created;
end
$$;

comment on function public.create_org(text, uuid, uuid) is
  'Registers an org, under the id that an identity provider uses for it or a new one. For admins of the tenant. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change through functions only.';

create function administration.set_org_active(org_id uuid, tenant_id uuid, is_active boolean)
returns public.orgs
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(set_org_active.tenant_id);
  changed public.orgs;
begin
  perform administration.require_whole_token(admin);
  if admin.own_tenant_id = admin.target_tenant_id and set_org_active.org_id = admin.org_id then
    perform identity.raise_error('L9SCP', 'org_id: your token acts for this org; you would lock yourself out', 'org_id');
  end if;
  update public.orgs o set is_active = set_org_active.is_active
  where o.tenant_id = admin.target_tenant_id and o.org_id = set_org_active.org_id
  returning o.* into changed;
  if not found then
    perform administration.raise_not_found('org_id');
  end if;
  return changed;
end
$$;

comment on function administration.set_org_active(uuid, uuid, boolean) is 'Implements deactivate_org() and reactivate_org().';

create function public.deactivate_org(org_id uuid, tenant_id uuid default null)
returns public.orgs
language sql volatile security definer set search_path = ''
return administration.set_org_active(org_id, tenant_id, false);

comment on function public.deactivate_org(uuid, uuid) is
  'From the next request on a token or key that names this org has no identity. For admins of the tenant. Raises L9OWN if the org is not registered. Definer: identity tables change through functions only.';

create function public.reactivate_org(org_id uuid, tenant_id uuid default null)
returns public.orgs
language sql volatile security definer set search_path = ''
return administration.set_org_active(org_id, tenant_id, true);

comment on function public.reactivate_org(uuid, uuid) is
  'Undoes deactivate_org(). Definer: identity tables change through functions only.';

grant execute on function
  public.create_org(text, uuid, uuid), public.deactivate_org(uuid, uuid), public.reactivate_org(uuid, uuid)
to l9_admin, l9_platform_admin;
--! EndIncluded 030-administration/060-orgs.sql
--! Included 030-administration/070-users.sql
create function public.create_user(name text, user_id uuid default null, org_id uuid default null, tenant_id uuid default null)
returns public.users
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(create_user.tenant_id);
  created public.users;
begin
  perform administration.require_whole_token(admin);
  if identity.is_display_name(create_user.name, 200) is not true then
    perform identity.raise_error('L9VAL', 'name: 1 to 200 characters, with no leading or trailing white space', 'name');
  elsif create_user.org_id is not null and not exists (
      select from public.orgs o where o.tenant_id = admin.target_tenant_id and o.org_id = create_user.org_id) then
    perform identity.raise_error('L9VAL', 'org_id: no such org in this tenant', 'org_id');
  end if;
  insert into public.users (tenant_id, user_id, org_id, name)
  values (admin.target_tenant_id, coalesce(create_user.user_id, uuidv7()), create_user.org_id, create_user.name)
  on conflict do nothing
  returning users.* into created;
  if not found then
    perform identity.raise_error('L9VAL', 'user_id: already used by another user of this tenant', 'user_id');
  end if;
  return created;
end
$$;

comment on function public.create_user(text, uuid, uuid, uuid) is
  'Registers a user, under the id that an identity provider uses for it or a new one. If an org is given, only tokens that claim that org can act for the user. For admins of the tenant. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change through functions only.';

create function administration.set_user_active(user_id uuid, tenant_id uuid, is_active boolean)
returns public.users
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(set_user_active.tenant_id);
  changed public.users;
begin
  perform administration.require_whole_token(admin);
  if admin.own_tenant_id = admin.target_tenant_id and set_user_active.user_id = admin.user_id then
    perform identity.raise_error('L9SCP', 'user_id: your token acts for this user; you would lock yourself out', 'user_id');
  end if;
  update public.users u set is_active = set_user_active.is_active
  where u.tenant_id = admin.target_tenant_id and u.user_id = set_user_active.user_id
  returning u.* into changed;
  if not found then
    perform administration.raise_not_found('user_id');
  end if;
  return changed;
end
$$;

comment on function administration.set_user_active(uuid, uuid, boolean) is 'Implements deactivate_user() and reactivate_user().';

create function public.deactivate_user(user_id uuid, tenant_id uuid default null)
returns public.users
language sql volatile security definer set search_path = ''
return administration.set_user_active(user_id, tenant_id, false);

comment on function public.deactivate_user(uuid, uuid) is
  'From the next request on a token or key that names this user has no identity. For admins of the tenant. Raises L9OWN if the user is not registered. Definer: identity tables change through functions only.';

create function public.reactivate_user(user_id uuid, tenant_id uuid default null)
returns public.users
language sql volatile security definer set search_path = ''
return administration.set_user_active(user_id, tenant_id, true);

comment on function public.reactivate_user(uuid, uuid) is
  'Undoes deactivate_user(). Definer: identity tables change through functions only.';

grant execute on function
  public.create_user(text, uuid, uuid, uuid), public.deactivate_user(uuid, uuid), public.reactivate_user(uuid, uuid)
to l9_admin, l9_platform_admin;
--! EndIncluded 030-administration/070-users.sql
--! Included 030-administration/080-scopes.sql
create function public.register_scope(
  scope text, is_project_scoped boolean default true, description text default null, tenant_id uuid default null)
returns public.scopes
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(register_scope.tenant_id);
  registered public.scopes;
begin
  perform administration.require_whole_token(admin);
  if identity.is_identifier(register_scope.scope) is not true then
    perform identity.raise_error('L9VAL', 'scope: 1 to 63 lower-case letters, digits, - and _', 'scope');
  elsif register_scope.is_project_scoped is null then
    perform identity.raise_error('L9VAL', 'is_project_scoped: must be true or false', 'is_project_scoped');
  elsif octet_length(register_scope.description) > 1000 then
    perform identity.raise_error('L9LIM', 'description: at most 1000 bytes', 'description');
  end if;
  insert into public.scopes as s (tenant_id, scope, is_project_scoped, description)
  values (admin.target_tenant_id, register_scope.scope, register_scope.is_project_scoped, coalesce(register_scope.description, ''))
  on conflict (tenant_id, scope) do update set description = coalesce(register_scope.description, s.description)
  returning s.* into registered;
  if registered.is_project_scoped <> register_scope.is_project_scoped then
    perform identity.raise_error('L9VAL',
      format('is_project_scoped: scope %s is registered as %s and cannot change', registered.scope, registered.is_project_scoped),
      'is_project_scoped');
  end if;
  return registered;
end
$$;

comment on function public.register_scope(text, boolean, text, uuid) is
  'Adds a scope to a tenant, or changes its description. At first only actors with every scope can read it; register_actor() gives it to others. For admins of the tenant. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: identity tables change through functions only.';

create function administration.set_scope_active(scope text, tenant_id uuid, is_active boolean)
returns public.scopes
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(set_scope_active.tenant_id);
  changed public.scopes;
begin
  perform administration.require_whole_token(admin);
  update public.scopes s set is_active = set_scope_active.is_active
  where s.tenant_id = admin.target_tenant_id and s.scope = set_scope_active.scope
  returning s.* into changed;
  if not found then
    perform administration.raise_not_found('scope');
  end if;
  return changed;
end
$$;

comment on function administration.set_scope_active(text, uuid, boolean) is
  'Implements deactivate_scope() and reactivate_scope().';

create function public.deactivate_scope(scope text, tenant_id uuid default null)
returns public.scopes
language sql volatile security definer set search_path = ''
return administration.set_scope_active(scope, tenant_id, false);

comment on function public.deactivate_scope(text, uuid) is
  'From the next statement on no caller of the tenant can read or write this scope; its memories are kept. For admins of the tenant. Definer: identity tables change through functions only.';

create function public.reactivate_scope(scope text, tenant_id uuid default null)
returns public.scopes
language sql volatile security definer set search_path = ''
return administration.set_scope_active(scope, tenant_id, true);

comment on function public.reactivate_scope(text, uuid) is
  'Undoes deactivate_scope(). Definer: identity tables change through functions only.';

grant execute on function
  public.register_scope(text, boolean, text, uuid), public.deactivate_scope(text, uuid), public.reactivate_scope(text, uuid)
to l9_admin, l9_platform_admin;
--! EndIncluded 030-administration/080-scopes.sql
--! Included 030-administration/090-register-actor.sql
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
  actor public.actors;
  is_new boolean;
begin
  if identity.is_caller_name(register_actor.caller) is not true then
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
    perform identity.raise_error('L9SCP', 'caller: this is your own actor; only another administrator can change it', 'caller');
  elsif register_actor.creator <> actor.creator then
    -- An agent owns the memories that carry its creator. With a new creator it would lose them, and the next actor with the old
    -- creator would get them.
    perform identity.raise_error('L9IMM', 'creator: cannot change, because the memories of this actor carry it', 'creator');
  else
    perform administration.check_grantable(admin, actor.role, actor.readable_scopes, actor.writable_scopes, '{*}', actor.can_clean_up);
  end if;

  actor.source := coalesce(register_actor.source, actor.source);
  actor.agent := coalesce(register_actor.agent, actor.agent);
  actor.role := coalesce(register_actor.role, actor.role);
  actor.readable_scopes := coalesce(register_actor.readable_scopes, actor.readable_scopes);
  actor.writable_scopes := coalesce(register_actor.writable_scopes, actor.writable_scopes);
  actor.can_clean_up := coalesce(register_actor.can_clean_up, actor.can_clean_up);

  if not identity.is_display_name(actor.creator, 100) then
    perform identity.raise_error('L9VAL', 'creator: 1 to 100 characters, with no leading or trailing white space', 'creator');
  elsif not identity.is_display_name(actor.source, 100) then
    perform identity.raise_error('L9VAL', 'source: 1 to 100 characters, with no leading or trailing white space', 'source');
  elsif not identity.is_display_name(actor.agent, 100) then
    perform identity.raise_error('L9VAL', 'agent: 1 to 100 characters, with no leading or trailing white space', 'agent');
  elsif actor.role <> all (identity.caller_roles()) then
    perform identity.raise_error('L9VAL', 'role: must be l9_agent, l9_admin or l9_platform_admin', 'role');
  end if;
  perform administration.check_grantable(admin, actor.role, actor.readable_scopes, actor.writable_scopes, '{*}', actor.can_clean_up);
  actor.readable_scopes := administration.check_scope_list(admin.target_tenant_id, 'readable_scopes', actor.readable_scopes);
  actor.writable_scopes := administration.check_scope_list(admin.target_tenant_id, 'writable_scopes', actor.writable_scopes);
  if not ('*' = any (actor.readable_scopes) or actor.writable_scopes <@ actor.readable_scopes) then
    perform identity.raise_error('L9VAL', 'writable_scopes: must be scopes that the actor can also read', 'writable_scopes');
  end if;

  if is_new then
    insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
    values (actor.tenant_id, actor.caller, actor.creator, actor.source, actor.agent, actor.role, actor.readable_scopes,
      actor.writable_scopes, actor.can_clean_up)
    on conflict do nothing
    returning actors.* into actor;
    if not found then
      perform identity.raise_error('L9VAL', 'caller, creator: already used by another actor of this tenant', 'creator');
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
  'Registers an actor, or changes the given properties of an existing one; its creator never changes. By default a new actor is an agent that reads and writes developer and global, like C. An administrator cannot grant more than it has, and cannot change its own actor. For admins of the tenant. Errors: L9VAL, L9SCP, L9IMM, L9AUT. Definer: identity tables change through functions only.';

grant execute on function public.register_actor(text, text, text, text, text, text[], text[], boolean, uuid)
  to l9_admin, l9_platform_admin;
--! EndIncluded 030-administration/090-register-actor.sql
--! Included 030-administration/100-deactivate-actor.sql
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
    perform administration.raise_not_found('caller');
  elsif admin.own_tenant_id = admin.target_tenant_id and admin.caller = actor.caller then
    perform identity.raise_error('L9SCP', 'caller: this is your own actor; you would lock yourself out', 'caller');
  end if;
  perform administration.check_grantable(admin, actor.role, actor.readable_scopes, actor.writable_scopes, '{*}', actor.can_clean_up);
  update public.actors a set is_active = set_actor_active.is_active
  where a.tenant_id = actor.tenant_id and a.caller = actor.caller
  returning a.* into actor;
  return actor;
end
$$;

comment on function administration.set_actor_active(text, uuid, boolean) is
  'Implements deactivate_actor() and reactivate_actor().';

create function public.deactivate_actor(caller text, tenant_id uuid default null)
returns public.actors
language sql volatile security definer set search_path = ''
return administration.set_actor_active(caller, tenant_id, false);

comment on function public.deactivate_actor(text, uuid) is
  'The next request of this actor fails, whatever its token or key says. For admins of the tenant; not for their own actor. Definer: identity tables change through functions only.';

create function public.reactivate_actor(caller text, tenant_id uuid default null)
returns public.actors
language sql volatile security definer set search_path = ''
return administration.set_actor_active(caller, tenant_id, true);

comment on function public.reactivate_actor(text, uuid) is
  'Undoes deactivate_actor(). Definer: identity tables change through functions only.';

grant execute on function public.deactivate_actor(text, uuid), public.reactivate_actor(text, uuid) to l9_admin, l9_platform_admin;
--! EndIncluded 030-administration/100-deactivate-actor.sql
--! Included 030-administration/110-bind-login.sql
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
    perform administration.raise_not_found('caller');
  elsif bind_login.login is not null then
    if not exists (select from pg_roles r where r.rolname = bind_login.login and r.rolcanlogin) then
      perform identity.raise_error('L9VAL', 'login: no such login', 'login');
    elsif pg_has_role(bind_login.login, 'l9_gateway', 'member') then
      perform identity.raise_error('L9VAL', 'login: l9_gateway and its members cannot be bound, because their claims are trusted', 'login');
    elsif not pg_has_role(bind_login.login, actor.role, 'member') then
      perform identity.raise_error('L9VAL', format('login: must be a member of %s, the role of this actor', actor.role), 'login');
    elsif exists (
        select from public.actors a
        where a.login = bind_login.login and (a.tenant_id, a.caller) <> (actor.tenant_id, actor.caller)) then
      perform identity.raise_error('L9VAL', 'login: already bound to another actor', 'login');
    end if;
  end if;
  update public.actors a set login = bind_login.login
  where a.tenant_id = actor.tenant_id and a.caller = actor.caller
  returning a.* into actor;
  return actor;
end
$$;

comment on function public.bind_login(text, text, uuid) is
  'Binds a database login to this actor: its sessions are always this actor, whatever claims they set. A null login removes the binding. For operators, because all tenants share the logins of the server. Errors: L9VAL, L9OWN, L9SCP, L9AUT. Definer: identity tables change through functions only.';

grant execute on function public.bind_login(text, text, uuid) to l9_platform_admin;
--! EndIncluded 030-administration/110-bind-login.sql
--! Included 030-administration/120-create-api-key.sql
create type public.new_api_key as (
  api_key text,
  key_id uuid,
  name text,
  caller text,
  expires_at timestamptz
);

comment on type public.new_api_key is 'An API key that was just created.';
comment on column public.new_api_key.api_key is 'The key. It is returned only once, here.';
comment on column public.new_api_key.key_id is 'Id, the argument of revoke_api_key().';
comment on column public.new_api_key.name is 'Purpose of the key, for people.';
comment on column public.new_api_key.caller is 'Actor that the key stands for.';
comment on column public.new_api_key.expires_at is 'The key is refused from this time on. Null: it does not expire.';

create function administration.check_key_grantable(admin administration.administrator, actor public.actors, scopes text[], projects text[])
returns void
language sql
stable
set search_path = ''
return administration.check_grantable(
  admin, (actor).role,
  case
    when scopes is null then (actor).readable_scopes
    when '*' = any ((actor).readable_scopes) then scopes
    else array(select s.scope from unnest(scopes) as s (scope) where s.scope = any ((actor).readable_scopes))
  end,
  case
    when scopes is null then (actor).writable_scopes
    when '*' = any ((actor).writable_scopes) then scopes
    else array(select s.scope from unnest(scopes) as s (scope) where s.scope = any ((actor).writable_scopes))
  end,
  coalesce(projects, '{*}'), (actor).can_clean_up);

comment on function administration.check_key_grantable(administration.administrator, public.actors, text[], text[]) is
  'Raises L9SCP unless the administrator has all permissions of a key of this actor with these limits.';

create function public.create_api_key(
  name text,
  caller text,
  scopes text[] default null,
  projects text[] default null,
  org_id uuid default null,
  user_id uuid default null,
  expires_at timestamptz default null,
  tenant_id uuid default null
)
returns public.new_api_key
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(create_api_key.tenant_id);
  actor public.actors;
  key_scopes text[] := case when '*' = any (create_api_key.scopes) then null else create_api_key.scopes end;
  key_projects text[] := case when '*' = any (create_api_key.projects) then null else create_api_key.projects end;
  created public.new_api_key;
begin
  select a.* into actor from public.actors a
  where a.tenant_id = admin.target_tenant_id and a.caller = create_api_key.caller and a.is_active;
  if not found then
    perform identity.raise_error('L9VAL', 'caller: no active actor of this tenant', 'caller');
  end if;
  perform administration.check_key_grantable(admin, actor, key_scopes, key_projects);
  key_scopes := administration.check_scope_list(admin.target_tenant_id, 'scopes', key_scopes);

  if identity.is_display_name(create_api_key.name, 100) is not true then
    perform identity.raise_error('L9VAL', 'name: 1 to 100 characters, with no leading or trailing white space', 'name');
  elsif cardinality(create_api_key.scopes) = 0 then
    perform identity.raise_error('L9VAL', 'scopes: must name at least one, or be omitted', 'scopes');
  elsif cardinality(create_api_key.projects) = 0 then
    perform identity.raise_error('L9VAL', 'projects: must name at least one, or be omitted', 'projects');
  elsif cardinality(key_projects) > 1000 then
    perform identity.raise_error('L9LIM', 'projects: at most 1000', 'projects');
  elsif exists (select from unnest(key_projects) as p (id) where identity.is_project_id(p.id) is not true) then
    perform identity.raise_error('L9VAL', 'projects: each must be 1 to 200 letters, digits or ._/@:+-', 'projects');
  elsif create_api_key.expires_at <= clock_timestamp() then
    perform identity.raise_error('L9VAL', 'expires_at: must be in the future', 'expires_at');
  elsif not identity.are_claims_valid(admin.target_tenant_id, actor.caller, create_api_key.org_id, create_api_key.user_id, null) then
    perform identity.raise_error('L9VAL', 'org_id, user_id: not active, or the user belongs to another org', 'user_id');
  end if;

  created.api_key := 'l9_' || translate(encode(extensions.gen_random_bytes(32), 'base64'), '+/=', '-_');
  insert into public.api_keys (tenant_id, name, caller, org_id, user_id, scopes, projects, created_by, expires_at)
  values (admin.target_tenant_id, create_api_key.name, actor.caller, create_api_key.org_id, create_api_key.user_id, key_scopes,
    key_projects, coalesce(admin.caller, 'db:' || identity.current_role_name()), create_api_key.expires_at)
  returning api_keys.key_id, api_keys.name, api_keys.caller, api_keys.expires_at
  into created.key_id, created.name, created.caller, created.expires_at;
  insert into identity.api_key_hashes (key_id, hash) values (created.key_id, sha256(convert_to(created.api_key, 'UTF8')));
  return created;
end
$$;

comment on function public.create_api_key(text, text, text[], text[], uuid, uuid, timestamptz, uuid) is
  'Creates an MCP key for an actor, limited to the given scopes and projects, and returns it. Only its hash is stored, so the key cannot be returned again. An administrator cannot create a key that can do more than itself. For admins of the tenant. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: identity tables change through functions only.';

grant execute on function public.create_api_key(text, text, text[], text[], uuid, uuid, timestamptz, uuid)
  to l9_admin, l9_platform_admin;
--! EndIncluded 030-administration/120-create-api-key.sql
--! Included 030-administration/130-revoke-api-key.sql
create function public.revoke_api_key(key_id uuid)
returns public.api_keys
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(null);
  old_key public.api_keys;
  actor public.actors;
begin
  select k.* into old_key from public.api_keys k
  where k.key_id = revoke_api_key.key_id and (admin.is_operator or k.tenant_id = admin.target_tenant_id)
  for update;
  if not found then
    perform administration.raise_not_found('key_id');
  end if;
  select a.* into actor from public.actors a where a.tenant_id = old_key.tenant_id and a.caller = old_key.caller;
  perform administration.check_key_grantable(admin, actor, old_key.scopes, old_key.projects);
  update public.api_keys k set revoked_at = clock_timestamp()
  where k.key_id = old_key.key_id and k.revoked_at is null
  returning k.* into old_key;
  if not found then
    select k.* into old_key from public.api_keys k where k.key_id = revoke_api_key.key_id;
  end if;
  return old_key;
end
$$;

comment on function public.revoke_api_key(uuid) is
  'From the next request on this key is refused. Revoking it again changes nothing. For admins of the tenant. Raises L9OWN if there is no such key. Definer: identity tables change through functions only.';

grant execute on function public.revoke_api_key(uuid) to l9_admin, l9_platform_admin;
--! EndIncluded 030-administration/130-revoke-api-key.sql
--! Included 030-administration/140-act-as.sql
create function administration.explain_refusal(tenant_id uuid, caller text)
returns text
language sql
stable
security definer
set search_path = ''
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

comment on function administration.explain_refusal(uuid, text) is
  'Explains why act_as() gives no identity. Definer: reads actors, and reveals them only to sessions whose claims are trusted.';

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
  target_tenant_id uuid := coalesce(act_as.tenant_id, identity.default_tenant_id());
  me identity.identity;
begin
  if act_as.caller is null then
    perform identity.raise_error('L9VAL', 'caller: required, for example C', 'caller');
  end if;
  perform
    set_config('jwt.claims.caller', act_as.caller, true),
    set_config('jwt.claims.tenant_id', target_tenant_id::text, true),
    set_config('jwt.claims.org_id', coalesce(act_as.org_id::text, ''), true),
    set_config('jwt.claims.user_id', coalesce(act_as.user_id::text, ''), true),
    set_config('jwt.claims.projects', coalesce(to_json(act_as.projects)::text, ''), true),
    set_config('jwt.claims.scopes', coalesce(to_json(act_as.scopes)::text, ''), true),
    set_config('jwt.claims.key_id', '', true),
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
end
$$;

comment on function public.act_as(text, uuid, uuid, uuid, text[], text[]) is
  'For psql, after `begin; set local role …`: for the rest of the transaction the session has the permissions of that caller, in the default tenant if none is given. Raises L9AUT if the caller does not act under that role. It grants nothing: a session of l9_gateway can set claims anyway, and in other sessions claims are not trusted.';

grant execute on function administration.explain_refusal(uuid, text), public.act_as(text, uuid, uuid, uuid, text[], text[])
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 030-administration/140-act-as.sql
--! Included 030-administration/150-identity-directory.sql
create function administration.identity_directory()
returns jsonb
language sql
stable
security definer
set search_path = ''
return pg_catalog.jsonb_build_object(
  'actors', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'tenant_id', a.tenant_id, 'caller', a.caller, 'role', a.role)), '[]')
    from public.actors a join public.tenants t on t.tenant_id = a.tenant_id and t.is_active
    where a.is_active),
  'scopes', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('tenant_id', s.tenant_id, 'scope', s.scope)), '[]')
    from public.scopes s),
  'inactive_orgs', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('tenant_id', o.tenant_id, 'org_id', o.org_id)), '[]')
    from public.orgs o where not o.is_active),
  'limited_users', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'tenant_id', u.tenant_id, 'user_id', u.user_id, 'org_id', u.org_id, 'is_active', u.is_active)), '[]')
    from public.users u where not u.is_active or u.org_id is not null),
  'api_keys', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'key_id', k.key_id, 'hash', pg_catalog.encode(h.hash, 'hex'), 'tenant_id', k.tenant_id, 'caller', k.caller,
      'org_id', k.org_id, 'user_id', k.user_id, 'scopes', k.scopes, 'projects', k.projects, 'expires_at', k.expires_at)), '[]')
    from public.api_keys k join identity.api_key_hashes h on h.key_id = k.key_id
    where k.revoked_at is null and (k.expires_at is null or k.expires_at > pg_catalog.now())));

comment on function administration.identity_directory() is
  'All identities that the gateway can accept, for its cache, so that it refuses unknown callers without a database call: active actors, scopes, inactive orgs, inactive or org-bound users, and the hashes of valid API keys. Definer: reads the identity tables. For l9_worker, never for callers.';

grant execute on function administration.identity_directory() to l9_worker;
--! EndIncluded 030-administration/150-identity-directory.sql
--! Included 040-packets/000-schema.sql
create schema packets;
comment on schema packets is
  'Helpers of packet_store, the table of memories: checks, stamps, hashes and triggers. They are not exposed over GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema packets to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 040-packets/000-schema.sql
--! Included 040-packets/010-tenant-buckets.sql
-- A ranked index scan (BM25, HNSW) has to skip the rows of other tenants. Tenants are therefore hashed into 16 partial
-- indexes, and a search scans that of its own tenant. More would slow planning, which examines each. The embedded engine
-- practically always has one tenant, so it uses one.

create function packets.is_embedded_engine()
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.version() like '%wasm%';

comment on function packets.is_embedded_engine() is
  'True on PostgreSQL compiled to WebAssembly (the embedded engine). It usually serves one person, and indexes half-precision vectors several times slower than full ones.';

create function packets.bucket_mask()
returns integer
language sql
immutable
parallel safe
set search_path = ''
return case when packets.is_embedded_engine() then 0 else 15 end;

comment on function packets.bucket_mask() is 'The bits of a tenant id''s hash that select its bucket.';

create function packets.tenant_buckets()
returns integer[]
language sql
immutable
parallel safe
set search_path = ''
return array(select generate_series(0, packets.bucket_mask()));

comment on function packets.tenant_buckets() is 'All bucket numbers.';

create function packets.tenant_bucket(tenant_id uuid)
returns integer
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.uuid_hash(tenant_id) & packets.bucket_mask();

comment on function packets.tenant_bucket(uuid) is 'The bucket of a tenant.';

create function packets.in_bucket(alias text, bucket integer)
returns text
language sql
immutable
strict
parallel safe
set search_path = ''
-- Only built-in functions, so that the planner can match the condition with that of the index.
return pg_catalog.format('(pg_catalog.uuid_hash(%stenant_id) & %s) = %s',
  case when alias <> '' then alias || '.' end, packets.bucket_mask(), bucket);

comment on function packets.in_bucket(text, integer) is
  'The SQL condition that selects the partial index of a bucket. Pass an empty alias when creating the index itself.';

grant execute on function
  packets.is_embedded_engine(), packets.bucket_mask(), packets.tenant_buckets(), packets.tenant_bucket(uuid), packets.in_bucket(text, integer)
  to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 040-packets/010-tenant-buckets.sql
--! Included 040-packets/020-legacy-import-session.sql
-- Imported memories keep their writers and times. Only `l9-memory migrate-legacy`, through the functions of schema
-- legacy, may insert them; this function tells when.

create function packets.is_legacy_import()
returns boolean
language sql
stable
parallel safe
set search_path = ''
return current_user = 'l9_owner'
  and identity.current_role_name() = 'l9_owner'
  and coalesce(pg_catalog.current_setting('l9.legacy_import', true), '') = 'on';

comment on function packets.is_legacy_import() is
  'True if this statement imports old memories: it runs as l9_owner, the session''s own role is l9_owner too, and the session has set l9.legacy_import = on. A definer function called by an agent, an admin or a job also runs as l9_owner, but its session keeps the caller''s role, so the result is false for them whatever they set.';

-- Triggers call this as the writing role, so it must be executable. It returns false for them and grants nothing.
grant execute on function packets.is_legacy_import() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 040-packets/020-legacy-import-session.sql
--! Included 040-packets/030-job-session.sql
create function packets.is_job_writing()
returns boolean
language sql
stable
parallel safe
set search_path = ''
return current_user = 'l9_owner' and identity.current_role_name() = 'l9_worker';

comment on function packets.is_job_writing() is
  'True if a background job, which has no identity, saves a memory: the statement runs in a function of l9_owner and the session''s own role is l9_worker. The policies of packet_store decide which memories the job may save.';

-- Triggers call this as the writing role, so it must be executable. It returns false for them and grants nothing.
grant execute on function packets.is_job_writing() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 040-packets/030-job-session.sql
--! Included 040-packets/040-limits.sql
-- The limits of a memory, each in one place. No search_path is set, so that calls are inlined as constants.

create function packets.max_content_bytes() returns integer language sql immutable parallel safe return 1048576;
create function packets.max_envelope_bytes() returns integer language sql immutable parallel safe return 262144;
create function packets.max_metadata_bytes() returns integer language sql immutable parallel safe return 65536;
create function packets.max_reference_bytes() returns integer language sql immutable parallel safe return 200;
create function packets.max_tags() returns integer language sql immutable parallel safe return 64;
create function packets.max_parents() returns integer language sql immutable parallel safe return 64;
create function packets.kind_pattern() returns text language sql immutable parallel safe return '^[a-z][a-z0-9_]{0,62}$';

comment on function packets.max_content_bytes() is 'The maximum size of a content: 1 MiB.';
comment on function packets.max_envelope_bytes() is 'The maximum size of the envelope without its content: 256 KiB.';
comment on function packets.max_metadata_bytes() is 'The maximum size of metadata, routing and provenance, each: 64 KiB.';
comment on function packets.max_reference_bytes() is 'The maximum size of a thread, correlation, session or trace id, and of a tag.';
comment on function packets.max_tags() is 'The maximum number of tags.';
comment on function packets.max_parents() is 'The maximum number of parents.';
comment on function packets.kind_pattern() is 'The pattern of the name of a kind: a lower-case word of letters, digits and _, at most 63 characters.';

grant execute on function
  packets.max_content_bytes(), packets.max_envelope_bytes(), packets.max_metadata_bytes(), packets.max_reference_bytes(),
  packets.max_tags(), packets.max_parents(), packets.kind_pattern()
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 040-packets/040-limits.sql
--! Included 040-packets/050-content-hash.sql
create function packets.content_hash(content text)
returns bytea
language sql
immutable
parallel safe
strict
set search_path = ''
return pg_catalog.sha256(pg_catalog.convert_to(
  pg_catalog.lower(pg_catalog.btrim(
    -- Replace only if there is something to collapse: the test is ten times faster than replacing every space.
    case when content ~ '\s\s|[^\S ]' then pg_catalog.regexp_replace(content, '\s+', ' ', 'g') else content end)), 'UTF8'));

comment on function packets.content_hash(text) is
  'SHA-256 of a text after trimming, collapsing white space and lower-casing it. Two contents with equal hashes count as the same.';

grant execute on function packets.content_hash(text) to l9_agent, l9_admin;
--! EndIncluded 040-packets/050-content-hash.sql
--! Included 040-packets/060-audience-id.sql
create function packets.audience_id(tenant_id uuid, org_id uuid, user_id uuid, project_id text, scope text)
returns uuid
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.encode(pg_catalog.substring(pg_catalog.sha256(pg_catalog.convert_to(
  -- None of the values can contain the separator.
  tenant_id::text || '|' || coalesce(org_id::text, '') || '|' || coalesce(user_id::text, '') || '|' || scope || '|'
    || coalesce(project_id, ''), 'UTF8')), 1, 16), 'hex')::uuid;

comment on function packets.audience_id(uuid, uuid, uuid, text, text) is
  'Hash of tenant, org, user, project and scope. Rows with equal values are visible to the same callers.';

grant execute on function packets.audience_id(uuid, uuid, uuid, text, text) to l9_agent, l9_admin, l9_worker;
--! EndIncluded 040-packets/060-audience-id.sql
--! Included 040-packets/070-normalise.sql
create function packets.tg_packet_store__normalise()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  content text := new.envelope ->> 'content';
  bytes integer := octet_length(content);
begin
  if content is null or jsonb_typeof(new.envelope -> 'content') <> 'string' then
    perform identity.raise_error('L9VAL', 'content: a text is required', 'content');
  elsif bytes > packets.max_content_bytes() then
    perform identity.raise_error('L9LIM', format('content: at most %s bytes (1 MiB), got %s', packets.max_content_bytes(), bytes), 'content');
  elsif content !~ '\S' then
    perform identity.raise_error('L9VAL', 'content: must not be blank', 'content');
  end if;

  if octet_length((new.envelope - 'content')::text) > packets.max_envelope_bytes() then
    perform identity.raise_error('L9LIM',
      format('envelope: at most %s bytes (256 KiB) beside the content', packets.max_envelope_bytes()), 'envelope');
  end if;
  if new.metadata is null or jsonb_typeof(new.metadata) <> 'object' then
    perform identity.raise_error('L9VAL', 'metadata: must be an object', 'metadata');
  elsif jsonb_typeof(new.metadata -> 'notes') <> 'object' then
    perform identity.raise_error('L9VAL', 'metadata.notes: must be an object', 'metadata');
  end if;
  if greatest(octet_length(new.routing::text), octet_length(new.provenance::text)) > packets.max_metadata_bytes() then
    perform identity.raise_error('L9LIM',
      format('routing, provenance: at most %s bytes (64 KiB) each', packets.max_metadata_bytes()), 'provenance');
  end if;

  -- Deeper values could be stored, but clients that read them may fail to parse them.
  if jsonb_path_exists(new.envelope, '$.**{64}') or jsonb_path_exists(new.metadata, '$.**{64}')
    or jsonb_path_exists(new.routing, '$.**{64}') or jsonb_path_exists(new.provenance, '$.**{64}') then
    perform identity.raise_error('L9LIM', 'envelope, metadata, routing, provenance: at most 64 levels deep', 'metadata');
  end if;

  if cardinality(new.tags) > 0 then
    new.tags := array(
      select btrim(t.tag) from unnest(new.tags) with ordinality as t (tag, place)
      where btrim(t.tag) <> '' group by btrim(t.tag) order by min(t.place));
    if cardinality(new.tags) > packets.max_tags() then
      perform identity.raise_error('L9LIM', format('tags: at most %s, got %s', packets.max_tags(), cardinality(new.tags)), 'tags');
    elsif exists (select from unnest(new.tags) as t (tag) where octet_length(t.tag) > packets.max_reference_bytes()) then
      perform identity.raise_error('L9LIM', format('tags: at most %s bytes each', packets.max_reference_bytes()), 'tags');
    end if;
  end if;
  if new.packet_type !~ packets.kind_pattern() then
    perform identity.raise_error('L9VAL', 'kind: must be a lower-case word of letters, digits and _, at most 63 characters', 'kind');
  elsif not new.importance_score between 0 and 1 then
    perform identity.raise_error('L9VAL', 'importance: must be from 0 to 1', 'importance');
  elsif cardinality(new.parent_ids) > packets.max_parents() then
    perform identity.raise_error('L9LIM',
      format('parent_ids: at most %s, got %s', packets.max_parents(), cardinality(new.parent_ids)), 'parent_ids');
  elsif greatest(octet_length(new.thread_id), octet_length(new.correlation_id),
      octet_length(new.session_id), octet_length(new.trace_id)) > packets.max_reference_bytes() then
    perform identity.raise_error('L9LIM', format('thread_id, correlation_id, session_id, trace_id: at most %s bytes each',
      packets.max_reference_bytes()), 'thread_id');
  end if;

  if tg_op = 'INSERT' or new.envelope is distinct from old.envelope then
    new.content_hash := packets.content_hash(content);
  end if;
  return new;
end
$$;

comment on function packets.tg_packet_store__normalise() is
  'Enforces limits with errors that name the field, cleans the tags and computes the content hash. The table''s constraints enforce the same limits.';
--! EndIncluded 040-packets/070-normalise.sql
--! Included 040-packets/080-stamp.sql
create function packets.tg_packet_store__stamp()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
  -- The client's creator and source are ignored.
  client_metadata jsonb := new.metadata - 'creator' - 'source';
begin
  if jsonb_strip_nulls(client_metadata) <> client_metadata then
    -- A null at the top level takes the default. Nested nulls, such as in notes, are kept.
    client_metadata := (
      select coalesce(jsonb_object_agg(m.key, m.value), '{}') from jsonb_each(client_metadata) as m where m.value <> 'null');
  end if;
  new.metadata := jsonb_build_object('agent', me.agent, 'tool_name', audit.current_tool())
    || client_metadata
    || jsonb_build_object('creator', me.creator, 'source', me.source);
  if octet_length(new.metadata::text) > packets.max_metadata_bytes() then
    perform identity.raise_error('L9LIM', format('metadata: at most %s bytes (64 KiB), got %s',
      packets.max_metadata_bytes(), octet_length(new.metadata::text)), 'metadata');
  end if;
  new.updated_at := clock_timestamp();
  if tg_op = 'INSERT' then
    new.tenant_id := me.tenant_id;
    new.org_id := me.org_id;
    new.user_id := me.user_id;
    new."timestamp" := new.updated_at;
    new.session_id := coalesce(new.session_id, left(identity.claim('session_id'), packets.max_reference_bytes()));
    new.trace_id := coalesce(new.trace_id, left(identity.claim('trace_id'), packets.max_reference_bytes()));
  else
    -- updated_at must move even if the clock is coarse or went back, because it distinguishes a change from a job's
    -- bookkeeping.
    new.updated_at := greatest(new.updated_at, old.updated_at + interval '1 microsecond');
  end if;
  return new;
end
$$;

comment on function packets.tg_packet_store__stamp() is
  'Writes creator, source, tenant, org and user from the caller''s identity, replacing what the client sent.';
--! EndIncluded 040-packets/080-stamp.sql
--! Included 040-packets/090-check-scope.sql
create function packets.scope_has_projects(scope text)
returns boolean
language sql
stable
parallel safe
security definer
set search_path = ''
return (
  select s.is_project_scoped from public.scopes s
  where s.tenant_id = identity.current_tenant_id()
    and s.scope = scope_has_projects.scope
    and s.scope = any (identity.current_scopes()));

comment on function packets.scope_has_projects(text) is
  'True if memories of the scope belong to projects; null for a scope that the caller may not read. Definer: reads scopes.';

create function packets.check_scope(scope text, project_id text)
returns void
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
  has_projects boolean;
begin
  -- A scope that does not exist and one that the caller may not write give the same error, so that callers can't tell
  -- them apart.
  if scope is null or scope <> all (me.writable_scopes) then
    perform identity.raise_error('L9SCP', format('scope: you may write %s', array_to_string(me.writable_scopes, ', ')), 'scope');
  end if;
  select s.is_project_scoped into has_projects from public.scopes s
  where s.tenant_id = me.tenant_id and s.scope = check_scope.scope;
  if has_projects and project_id is null then
    perform identity.raise_error('L9VAL', format('project_id: required in scope %s', scope), 'project_id');
  elsif not has_projects and project_id is not null then
    perform identity.raise_error('L9VAL', format('project_id: scope %s belongs to no project; leave it out', scope), 'project_id');
  elsif not identity.is_project_id(project_id) then
    perform identity.raise_error('L9VAL', 'project_id: must be 1 to 200 letters, digits or ._/@:+-', 'project_id');
  elsif has_projects and not identity.has_project(me, project_id) then
    perform identity.raise_error('L9SCP', 'project_id: must be one of your projects', 'project_id');
  end if;
end
$$;

comment on function packets.check_scope(text, text) is
  'Raises a clear error (L9SCP or L9VAL) unless the caller may write in this scope and project. The policies enforce the same rule. Definer: reads in the scopes table whether the scope has projects.';

create function packets.tg_packet_store__check_scope()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform packets.check_scope(new.scope, new.project_id);
  return new;
end
$$;

comment on function packets.tg_packet_store__check_scope() is 'Refuses a scope or project that the caller may not write.';

grant execute on function packets.scope_has_projects(text), packets.check_scope(text, text)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 040-packets/090-check-scope.sql
--! Included 040-packets/100-check-parents.sql
create function packets.is_scope_within(narrow text, wide text)
returns boolean
language sql
stable
parallel safe
security definer
set search_path = ''
return narrow = wide or (
  -- Nothing is revealed about scopes that the caller may not read.
  array[narrow, wide] <@ identity.current_scopes()
  and not exists (
    select from public.actors a
    where a.tenant_id = identity.current_tenant_id()
      and ('*' = any (a.readable_scopes) or narrow = any (a.readable_scopes))
      and not ('*' = any (a.readable_scopes) or wide = any (a.readable_scopes))));

comment on function packets.is_scope_within(text, text) is
  'True if everyone who may read scope `narrow` may also read `wide`; false if the caller may not read both. Definer: reads the tenant''s actors.';

create function packets.tg_packet_store__check_parents()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  parent record;
  to_check uuid[];
  found_parents integer := 0;
  newest_time timestamptz;
  newest_id uuid;
begin
  new.parent_ids := array(select distinct p.id from unnest(new.parent_ids) as p (id) where p.id is not null order by p.id);
  to_check := new.parent_ids;
  if tg_op = 'UPDATE' and new.scope = old.scope and new.project_id is not distinct from old.project_id then
    -- Parents the memory already had may since be deleted or hidden from the writer, and must not block other updates.
    to_check := array(select p.id from unnest(to_check) as p (id) where p.id <> all (old.parent_ids));
  end if;

  -- The query runs as the writer, so a parent that it can't see is not found.
  for parent in
    select p.packet_id, p.scope, p.project_id, p.org_id, p.user_id, p."timestamp" from public.packet_store p
    where p.packet_id = any (to_check) and p.packet_id <> new.packet_id
    order by p."timestamp", p.packet_id
  loop
    found_parents := found_parents + 1;
    newest_time := parent."timestamp";
    newest_id := parent.packet_id;
    -- Otherwise the child would reveal the id of a memory that its readers may not know.
    if not packets.is_scope_within(new.scope, parent.scope) then
      perform identity.raise_error('L9VAL', format(
        'parent_ids: a memory in scope %s can''t have a parent in scope %s, which fewer callers may read', new.scope, parent.scope), 'parent_ids');
    elsif not (parent.project_id is null or parent.project_id is not distinct from new.project_id)
      or not (parent.org_id is null or parent.org_id is not distinct from new.org_id)
      or not (parent.user_id is null or parent.user_id is not distinct from new.user_id) then
      perform identity.raise_error('L9VAL',
        'parent_ids: a memory can''t have a parent of another project, org or user, which fewer callers may read', 'parent_ids');
    end if;
  end loop;
  if found_parents < cardinality(to_check) then
    perform identity.raise_error('L9VAL', 'parent_ids: at least one of these memories was not found', 'parent_ids');
  end if;

  -- Parents are older than children (by time of saving, then by id, which never change), so cycles are impossible and
  -- need no search through memories that the writer can't see. Ids alone would not do, because imported memories kept
  -- ids that say nothing of time.
  if (newest_time, newest_id) >= (new."timestamp", new.packet_id) then
    if tg_op = 'UPDATE' then
      perform identity.raise_error('L9VAL', 'parent_ids: a parent must be older than its child', 'parent_ids');
    end if;
    -- The clock went back since the parent was saved, so date the child a microsecond after the parent.
    new."timestamp" := newest_time + interval '1 microsecond';
  end if;
  return new;
end
$$;

comment on function packets.tg_packet_store__check_parents() is
  'Requires that parents exist, are visible to the writer, are older than the child and are readable by everyone who may read the child. So parents form a DAG and reveal nothing new to any reader.';

grant execute on function packets.is_scope_within(text, text) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 040-packets/100-check-parents.sql
--! Included 040-packets/110-release-expired.sql
create function packets.tg_packet_store__release_expired()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  expired uuid;
begin
  select p.packet_id into expired
  from public.packet_store p
  -- `is not distinct from` keeps the planner on the hash column; with `=` it may choose the (tenant, scope) index and
  -- scan all of it.
  where p.content_hash = new.content_hash
    and p.tenant_id is not distinct from new.tenant_id
    and p.scope is not distinct from new.scope
    and p.project_id is not distinct from new.project_id
    and p.packet_type = new.packet_type
    and p.org_id is not distinct from new.org_id
    and p.user_id is not distinct from new.user_id
    and p.ttl <= now()
    and p.packet_id <> new.packet_id;
  if found then
    delete from public.packet_store p where p.packet_id = expired;
  end if;
  return new;
end
$$;

comment on function packets.tg_packet_store__release_expired() is
  'Deletes an expired memory that would collide with a new one of the same content, as cleanup would have done. Definer: callers can''t see expired memories. It deletes a row only if the writer, already checked by then, writes to the same key.';
--! EndIncluded 040-packets/110-release-expired.sql
--! Included 040-packets/120-audit-writes.sql
create function packets.tg_packet_store__audit()
returns trigger
language plpgsql
security definer
set search_path = ''
-- tg__audit_derived() is not used here: it would copy each content, of up to 1 MiB, into a jsonb value.
-- The plan is cached for the session. Made for an update of one row, its nested loop took 40 s over 10,000 rows.
set enable_nestloop = off
as $$
declare
  actor jsonb := audit.audit_actor();
begin
  if tg_op = 'INSERT' then
    insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
    select 'INSERT', tg_table_name, n.packet_id, n.tenant_id, n.project_id, n.scope,
      jsonb_build_object('kind', n.packet_type) || actor
    from new_rows n;
  elsif tg_op = 'DELETE' then
    insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
    select 'DELETE', tg_table_name, o.packet_id, o.tenant_id, o.project_id, o.scope,
      jsonb_build_object('kind', o.packet_type, 'was_created_by', o.metadata -> 'creator') || actor
    from old_rows o;
  else
    -- Bookkeeping by jobs (chunk counts) leaves updated_at unchanged and is not audited.
    insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
    select 'UPDATE', tg_table_name, n.packet_id, n.tenant_id, n.project_id, n.scope,
      jsonb_build_object('kind', n.packet_type, 'was_created_by', o.metadata -> 'creator')
        || case when o.scope <> n.scope then jsonb_build_object('was_scope', o.scope) else '{}' end
        || case when o.project_id is distinct from n.project_id then jsonb_build_object('was_project_id', o.project_id) else '{}' end
        || actor
    from new_rows n
    join old_rows o using (packet_id)
    where n.updated_at is distinct from o.updated_at or n.metadata is distinct from o.metadata;
  end if;
  return null;
end
$$;

comment on function packets.tg_packet_store__audit() is
  'Writes one audit row for each memory written, in one statement for the whole batch. Definer: callers can''t insert into audit_log.';

create function packets.tg_packet_store__refuse_truncate()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform identity.raise_error('L9IMM', 'packet_store: TRUNCATE is not allowed; use DELETE, which is audited');
  return null;
end
$$;

comment on function packets.tg_packet_store__refuse_truncate() is 'Refuses TRUNCATE, which has no rows to audit.';
--! EndIncluded 040-packets/120-audit-writes.sql
--! Included 040-packets/130-packet-store.sql
create table public.packet_store (
  packet_id uuid primary key default uuidv7(),
  packet_type text not null default 'note',
  envelope jsonb not null,
  -- Virtual, so that it is computed from the envelope and takes no storage.
  content text generated always as (envelope ->> 'content') virtual,
  "timestamp" timestamptz not null default now(),
  routing jsonb not null default '{}',
  provenance jsonb not null default '{}',
  metadata jsonb not null default '{}',
  thread_id text,
  parent_ids uuid[] not null default '{}',
  tags text[] not null default '{}',
  ttl timestamptz,
  project_id text,
  scope text not null default 'developer',
  importance_score real not null default 0.5,
  access_count bigint not null default 0,
  last_accessed timestamptz,
  contradiction_count integer not null default 0,
  content_hash bytea not null,
  chunk_count integer not null default 0,
  is_chunked boolean not null generated always as (chunk_count > 0) stored,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  correlation_id text,
  session_id text,
  trace_id text,
  updated_at timestamptz not null default now(),
  foreign key (tenant_id, scope) references public.scopes (tenant_id, scope),
  constraint packet_kind_plain check (packet_type ~ packets.kind_pattern()),
  constraint packet_envelope_object check (jsonb_typeof(envelope) = 'object'),
  constraint packet_content_text check (jsonb_typeof(envelope -> 'content') = 'string'),
  constraint packet_routing_object check (jsonb_typeof(routing) = 'object'),
  constraint packet_provenance_object check (jsonb_typeof(provenance) = 'object'),
  constraint packet_metadata_object check (jsonb_typeof(metadata) = 'object'),
  constraint packet_metadata_has_writer check (metadata ->> 'creator' <> '' and metadata ->> 'source' <> ''),
  constraint packet_content_not_blank check (envelope ->> 'content' ~ '\S'),
  constraint packet_content_at_most_1_mib check (octet_length(envelope ->> 'content') <= packets.max_content_bytes()),
  constraint packet_metadata_at_most_64_kib check (octet_length(metadata::text) <= packets.max_metadata_bytes()),
  constraint packet_tags_at_most_64 check (cardinality(tags) <= packets.max_tags()),
  constraint packet_parents_at_most_64 check (cardinality(parent_ids) <= packets.max_parents()),
  constraint packet_notes_object check (coalesce(jsonb_typeof(metadata -> 'notes'), 'object') = 'object'),
  constraint packet_project_plain check (identity.is_project_id(project_id)),
  constraint packet_importance_between_0_and_1 check (importance_score between 0 and 1),
  constraint packet_counts_not_negative check (access_count >= 0 and contradiction_count >= 0 and chunk_count >= 0),
  constraint packet_content_hash_sha256 check (octet_length(content_hash) = 32),
  constraint packet_not_its_own_parent check (packet_id <> all (parent_ids)),
  constraint packet_ids_short check (
    greatest(octet_length(thread_id), octet_length(correlation_id), octet_length(session_id), octet_length(trace_id))
      <= packets.max_reference_bytes())
) with (fillfactor = 90);

-- The planner needs no statistics of contents. Without samples, EXPLAIN estimates reveal nothing about hidden memories,
-- and an erased memory leaves nothing in pg_statistic.
alter table public.packet_store
  alter column envelope set statistics 0, alter column routing set statistics 0, alter column provenance set statistics 0,
  alter column metadata set statistics 0, alter column tags set statistics 0, alter column content_hash set statistics 0,
  alter column correlation_id set statistics 0, alter column session_id set statistics 0, alter column trace_id set statistics 0;

comment on table public.packet_store is
  'Memories: what agents and people asked the system to keep. Tenant, org, user, scope and project decide who may read a memory; its author never does.';
comment on column public.packet_store.packet_id is
  'UUID version 7, so ids are ordered by the time of saving. Memories imported from the old tables keep the id they had there.';
comment on column public.packet_store.packet_type is
  'The kind of memory, such as note, decision or section: a lower-case word of at most 63 characters.';
comment on column public.packet_store.envelope is
  'The content (key `content`) and any structured fields the writer sent beside it.';
comment on column public.packet_store.content is 'The text as it was saved, at most 1 MiB.';
comment on column public.packet_store."timestamp" is 'When the memory was saved.';
comment on column public.packet_store.routing is 'Where the packet was sent: an object, stored as the writer gave it.';
comment on column public.packet_store.provenance is 'What the memory was made from: an object, stored as the writer gave it.';
comment on column public.packet_store.metadata is
  'An object of at most 64 KiB. creator and source are stamped from the caller and can''t be forged; agent, tool_name and notes (an object) are stored as given.';
comment on column public.packet_store.thread_id is 'The conversation or task that the memory belongs to.';
comment on column public.packet_store.parent_ids is
  'Ids of the memories it was derived from. Each parent is older, visible to the writer, and visible to everyone who may read this memory.';
comment on column public.packet_store.tags is 'Labels: at most 64, trimmed, without repeats.';
comment on column public.packet_store.ttl is
  'When the memory expires; null means never. After that time nobody can find or read it, and cleanup deletes it.';
comment on column public.packet_store.project_id is
  'A repository or product, such as l9. It is null exactly when the scope has no projects.';
comment on column public.packet_store.scope is
  'Decides who may read the memory: developer, l-private, global, or a scope of the tenant''s own.';
comment on column public.packet_store.importance_score is
  'How much the memory matters by the writer''s own estimate, from 0 to 1. packet_store_importance_score() also takes usage and feedback into account.';
comment on column public.packet_store.access_count is
  'How often the memory was used before it was imported. Later use is counted in memory_signals.';
comment on column public.packet_store.last_accessed is
  'When the memory was last used before it was imported. Later use is in memory_signals.';
comment on column public.packet_store.contradiction_count is
  'How many facts contradicted the memory before it was imported. Later contradictions are counted in memory_signals.';
comment on column public.packet_store.content_hash is
  'SHA-256 of the content after trimming, collapsing white space and lower-casing it.';
comment on column public.packet_store.chunk_count is
  'The number of chunks a long content was cut into for embedding. It is 0 if the content was embedded whole, or is not embedded yet.';
comment on column public.packet_store.is_chunked is 'True if the content was cut into chunks for embedding.';
comment on column public.packet_store.tenant_id is 'The tenant that owns the memory.';
comment on column public.packet_store.org_id is 'The org that owns the memory; null means the whole tenant.';
comment on column public.packet_store.user_id is 'The user who owns the memory; null means the whole org.';
comment on column public.packet_store.correlation_id is 'The writer''s own reference, at most 200 bytes.';
comment on column public.packet_store.session_id is 'The session in which the memory was written.';
comment on column public.packet_store.trace_id is 'The trace in which the memory was written.';
comment on column public.packet_store.updated_at is 'When a caller last changed the memory.';

-- One memory for one text in each owner, project, scope and kind. The key holds owner and scope, so that a collision is
-- never with a row that the writer can't see.
create unique index packet_content_unique on public.packet_store
  (content_hash, tenant_id, scope, project_id, packet_type, org_id, user_id) nulls not distinct;

do $$
declare
  bucket integer;
  name text;
begin
  foreach bucket in array packets.tenant_buckets() loop
    name := 'packet_store_content_bm25_' || bucket;
    execute format(
      $sql$create index %I on public.packet_store using bm25 ((envelope ->> 'content')) with (text_config = 'english') where %s$sql$,
      name, packets.in_bucket('', bucket));
    -- Statistics of an index expression hold samples of contents, which EXPLAIN estimates would reveal bit by bit.
    execute format('alter index public.%I alter column 1 set statistics 0', name);
    execute format('comment on index public.%I is %L', name,
      'Words (BM25) of one bucket of tenants. It is scanned in order of rank, so row-level security only filters after it.');
  end loop;
end
$$;

create index packet_store_newest_idx on public.packet_store (tenant_id, scope, project_id, packet_id desc);
-- A cheap bounded count of the rows that a caller may read; search uses it to choose its plan.
create index packet_store_readers_idx on public.packet_store (tenant_id, scope, user_id, org_id, project_id) include (packet_id, ttl);
create index packet_store_timestamp_idx on public.packet_store (tenant_id, "timestamp");
create index packet_store_thread_idx on public.packet_store (tenant_id, thread_id, "timestamp", packet_id) where thread_id is not null;
create index packet_store_ttl_idx on public.packet_store (ttl) where ttl is not null;

comment on index public.packet_content_unique is 'Prevents exact duplicates, also between concurrent writers.';
-- There is no GIN index on tags or envelope: their operators are not leakproof, so row-level security would prevent its
-- use.

call identity.protect_like_memories('public.packet_store', is_writable => true);

create policy creator_updates on public.packet_store as restrictive for update to l9_agent
  using (
    metadata ->> 'creator' = (select identity.current_creator())
    and scope = any ((select identity.current_writable_scopes())::text[]));
create policy creator_deletes on public.packet_store as restrictive for delete to l9_agent
  using (
    metadata ->> 'creator' = (select identity.current_creator())
    and scope = any ((select identity.current_writable_scopes())::text[]));
create policy writable_updates on public.packet_store as restrictive for update to l9_admin
  using (scope = any ((select identity.current_writable_scopes())::text[]));
create policy writable_deletes on public.packet_store as restrictive for delete to l9_admin
  using (scope = any ((select identity.current_writable_scopes())::text[]));
create policy worker_access on public.packet_store to l9_worker using (true);
create policy definer_functions on public.packet_store for select to l9_owner
  using (ttl <= now());
create policy definer_locks on public.packet_store for update to l9_owner
  using (ttl <= now()) with check (false);
create policy definer_cleanup on public.packet_store for delete to l9_owner
  using (ttl <= now());

comment on policy creator_updates on public.packet_store is 'Agents may change only memories that they wrote.';
comment on policy creator_deletes on public.packet_store is 'Agents may delete only memories that they wrote.';
comment on policy writable_updates on public.packet_store is 'Admins may not change memories in a scope that they may only read.';
comment on policy writable_deletes on public.packet_store is 'Admins may not delete memories in a scope that they may only read.';
comment on policy worker_access on public.packet_store is
  'Jobs read contents in order to embed them, and set chunk_count; the grants list the columns.';
comment on policy definer_functions on public.packet_store is 'Functions of the owner see expired memories, and no others.';
comment on policy definer_locks on public.packet_store is
  'Functions of the owner lock expired memories, so that concurrent cleanups share the work. They can''t change any.';
comment on policy definer_cleanup on public.packet_store is 'Functions of the owner delete expired memories, and no others.';

create trigger _100_normalise
  before insert or update of envelope, metadata, routing, provenance, tags, packet_type, importance_score, parent_ids,
    thread_id, correlation_id, session_id, trace_id
  on public.packet_store
  for each row execute function packets.tg_packet_store__normalise();

create trigger _300_stamp
  before insert or update of envelope, packet_type, metadata, routing, provenance, thread_id, parent_ids, tags, ttl, project_id,
    scope, importance_score, correlation_id, session_id, trace_id
  on public.packet_store
  for each row when (current_user <> 'l9_owner' or not (packets.is_legacy_import() or packets.is_job_writing()))
  execute function packets.tg_packet_store__stamp();

create trigger _350_check_scope
  before insert or update of scope, project_id on public.packet_store
  for each row when (current_user <> 'l9_owner' or not (packets.is_legacy_import() or packets.is_job_writing()))
  execute function packets.tg_packet_store__check_scope();

create trigger _400_check_parents
  before insert or update of parent_ids, scope, project_id on public.packet_store
  for each row when (cardinality(new.parent_ids) > 0)
  execute function packets.tg_packet_store__check_parents();

create trigger _450_release_expired
  before insert or update of envelope, scope, project_id, packet_type on public.packet_store
  for each row execute function packets.tg_packet_store__release_expired();

create trigger _500_audit_insert after insert on public.packet_store
  referencing new table as new_rows
  for each statement execute function packets.tg_packet_store__audit();
create trigger _500_audit_update after update on public.packet_store
  referencing old table as old_rows new table as new_rows
  for each statement execute function packets.tg_packet_store__audit();
create trigger _500_audit_delete after delete on public.packet_store
  referencing old table as old_rows
  for each statement execute function packets.tg_packet_store__audit();

create trigger _200_refuse_truncate before truncate on public.packet_store
  for each statement execute function packets.tg_packet_store__refuse_truncate();

grant select, delete on public.packet_store to l9_agent, l9_admin;
grant insert (
  packet_type, envelope, routing, provenance, metadata, thread_id, parent_ids, tags, ttl, project_id, scope, importance_score,
  correlation_id, session_id, trace_id
) on public.packet_store to l9_agent, l9_admin;
grant update (
  packet_type, envelope, routing, provenance, metadata, thread_id, parent_ids, tags, ttl, project_id, scope, importance_score,
  correlation_id, session_id, trace_id
) on public.packet_store to l9_agent, l9_admin;
grant select on public.packet_store to l9_platform_admin, l9_worker;
grant maintain on public.packet_store to l9_worker; -- To run ANALYZE where no autovacuum does.
grant update (chunk_count) on public.packet_store to l9_worker;
-- packet_id, content_hash, tenant_id, org_id, user_id, timestamp and counters can't be inserted or updated by callers:
-- triggers and jobs set them.
--! EndIncluded 040-packets/130-packet-store.sql
--! Included 040-packets/140-packet-versions.sql
create table public.packet_versions (
  packet_id uuid not null references public.packet_store on delete cascade,
  version_id uuid not null default uuidv7(),
  valid_from timestamptz not null,
  valid_until timestamptz not null,
  replaced_by text not null,
  replaced_with text not null,
  packet_type text not null,
  envelope jsonb not null,
  content text generated always as (envelope ->> 'content') virtual,
  routing jsonb not null,
  provenance jsonb not null,
  metadata jsonb not null,
  thread_id text,
  parent_ids uuid[] not null,
  tags text[] not null,
  ttl timestamptz,
  project_id text,
  scope text not null,
  importance_score real not null,
  tenant_id uuid not null,
  org_id uuid,
  user_id uuid,
  correlation_id text,
  session_id text,
  trace_id text,
  -- There is no version number: a gap would reveal a version that the agent may not see. memory_history() counts the
  -- visible ones.
  primary key (packet_id, version_id)
);

-- The planner needs no statistics of contents, and they would keep samples of erased ones.
alter table public.packet_versions
  alter column envelope set statistics 0, alter column routing set statistics 0, alter column provenance set statistics 0,
  alter column metadata set statistics 0, alter column tags set statistics 0, alter column correlation_id set statistics 0,
  alter column session_id set statistics 0, alter column trace_id set statistics 0, alter column thread_id set statistics 0;

comment on table public.packet_versions is
  'Earlier states of memories: one row for each state that an update replaced. They are deleted with their memory.';
comment on column public.packet_versions.packet_id is 'The memory.';
comment on column public.packet_versions.version_id is 'UUID version 7, so versions are ordered by the time they were replaced.';
comment on column public.packet_versions.valid_from is 'Start of the period in which the memory had this state.';
comment on column public.packet_versions.valid_until is 'When this state was replaced.';
comment on column public.packet_versions.replaced_by is 'The caller that replaced this state.';
comment on column public.packet_versions.replaced_with is
  'The tool or mutation that replaced this state; sql in a database session.';
comment on column public.packet_versions.packet_type is 'The kind of memory in this version.';
comment on column public.packet_versions.envelope is
  'The content (key `content`) of this version and the structured fields beside it.';
comment on column public.packet_versions.content is 'The text of this version.';
comment on column public.packet_versions.routing is 'The routing of this version.';
comment on column public.packet_versions.provenance is 'The provenance of this version.';
comment on column public.packet_versions.metadata is 'The metadata of this version; creator and source name its writer.';
comment on column public.packet_versions.thread_id is 'The thread of this version.';
comment on column public.packet_versions.parent_ids is 'The parents of this version.';
comment on column public.packet_versions.tags is 'The tags of this version.';
comment on column public.packet_versions.ttl is
  'The ttl of this version. The memory''s present ttl decides whether the version can still be read.';
comment on column public.packet_versions.project_id is 'The project of this version.';
comment on column public.packet_versions.scope is
  'The scope of this version: only callers who may read that scope see the version.';
comment on column public.packet_versions.importance_score is 'The writer''s estimate in this version.';
comment on column public.packet_versions.tenant_id is 'The tenant of the memory.';
comment on column public.packet_versions.org_id is 'The org of the memory.';
comment on column public.packet_versions.user_id is 'The user of the memory.';
comment on column public.packet_versions.correlation_id is 'The correlation id of this version.';
comment on column public.packet_versions.session_id is 'The session of this version.';
comment on column public.packet_versions.trace_id is 'The trace of this version.';

-- The scope and project that the version itself had count, too: what was private stays private when the memory is shared.
call identity.protect_like_memories('public.packet_versions', noun => 'version', expires => false);

-- Evaluated under the reader's own policies: a memory that it can't see has no history for it either.
create policy packet_visibility on public.packet_versions as restrictive to l9_agent, l9_admin, l9_platform_admin
  using (exists (select from public.packet_store p where p.packet_id = packet_versions.packet_id));
create policy definer_functions on public.packet_versions for select to l9_owner using (true);
create policy definer_keeping on public.packet_versions for insert to l9_owner with check (true);

comment on policy packet_visibility on public.packet_versions is
  'A version is visible only to callers who may see its memory in its present state: a memory that moved to l-private hides all its versions.';
comment on policy definer_functions on public.packet_versions is
  'The trigger that keeps versions reads the previous one; erasure counts them.';
comment on policy definer_keeping on public.packet_versions is
  'The trigger that keeps versions inserts them. Nobody may change one.';

grant select on public.packet_versions to l9_agent, l9_admin, l9_platform_admin;
-- Nobody may insert, update or delete: the trigger writes versions, and they are deleted with their memory.

create function packets.tg_packet_store__keep_version()
returns trigger
language plpgsql
security definer
set search_path = ''
-- The plan is cached for the session. Made for an update of one row, its nested loop took 36 s over 10,000 rows instead
-- of 2.
set enable_nestloop = off
as $$
declare
  changed_by text := coalesce(identity.current_caller(), 'db:' || identity.current_role_name());
  changed_with text := audit.current_tool();
begin
  insert into public.packet_versions (
    packet_id, valid_from, valid_until, replaced_by, replaced_with, packet_type, envelope, routing, provenance, metadata,
    thread_id, parent_ids, tags, ttl, project_id, scope, importance_score, tenant_id, org_id, user_id,
    correlation_id, session_id, trace_id)
  select
    o.packet_id, previous.valid_from, greatest(n.updated_at, previous.valid_from), changed_by, changed_with, o.packet_type, o.envelope, o.routing,
    o.provenance, o.metadata, o.thread_id, o.parent_ids, o.tags, o.ttl, o.project_id, o.scope, o.importance_score,
    o.tenant_id, o.org_id, o.user_id, o.correlation_id, o.session_id, o.trace_id
  from old_rows o
  join new_rows n using (packet_id)
  -- updated_at also moves when nothing else changed, so a version begins where the one before it ended.
  cross join lateral (
    select coalesce(
      (select v.valid_until from public.packet_versions v
       where v.packet_id = o.packet_id order by v.version_id desc limit 1),
      o."timestamp") as valid_from
  ) previous
  where n.updated_at is distinct from o.updated_at
    and (
      n.packet_type, n.envelope, n.routing, n.provenance, n.metadata, n.thread_id, n.parent_ids, n.tags, n.ttl, n.project_id,
      n.scope, n.importance_score, n.correlation_id, n.session_id, n.trace_id
    ) is distinct from (
      o.packet_type, o.envelope, o.routing, o.provenance, o.metadata, o.thread_id, o.parent_ids, o.tags, o.ttl, o.project_id,
      o.scope, o.importance_score, o.correlation_id, o.session_id, o.trace_id);
  return null;
end
$$;

comment on function packets.tg_packet_store__keep_version() is
  'Saves the state that a caller''s update replaced. An update that changes nothing, or a job''s bookkeeping, makes no version. Definer: callers can''t write versions.';

create trigger _550_keep_version after update on public.packet_store
  referencing old table as old_rows new table as new_rows
  for each statement execute function packets.tg_packet_store__keep_version();
--! EndIncluded 040-packets/140-packet-versions.sql
--! Included 050-embeddings/000-schema.sql
create schema embeddings;
comment on schema embeddings is
  'Embedding models, vectors, and the queues of memories that wait for vectors. Not exposed over GraphQL; callers may execute only the functions that are granted to them one by one.';
grant usage on schema embeddings to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 050-embeddings/000-schema.sql
--! Included 050-embeddings/010-embedding-models.sql
create function embeddings.max_dimensions()
returns integer
language sql
immutable
parallel safe
return 1536;

comment on function embeddings.max_dimensions() is 'Dimensions of every stored vector and every query vector. Vectors of smaller models are padded with zeros.';

create function embeddings.is_model_name(name text)
returns boolean
language sql
immutable
parallel safe
return name ~ '^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,99}$';

comment on function embeddings.is_model_name(text) is 'True for 1 to 100 letters, digits or ._/:@- that begin with a letter or digit.';

grant execute on function embeddings.max_dimensions() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function embeddings.is_model_name(text) to l9_worker;

create table public.embedding_models (
  model text primary key,
  dimensions integer not null,
  created_at timestamptz not null default now(),
  state text,
  state_since timestamptz,
  constraint embedding_model_plain check (embeddings.is_model_name(model)),
  constraint embedding_dimensions_fit check (dimensions between 1 and embeddings.max_dimensions()),
  constraint embedding_state_known check (state in ('serving', 'arriving', 'leaving')),
  constraint embedding_state_dated check ((state is null) = (state_since is null)),
  -- The constraint is deferred so that the switch can be one update of two rows.
  constraint embedding_state_one_each exclude using btree (state with =) where (state in ('serving', 'arriving'))
    deferrable initially deferred
);

comment on table public.embedding_models is 'Embedding models whose vectors are stored. A search compares vectors of one model only.';
comment on column public.embedding_models.model is 'Name of the model. Each of its vectors carries this name.';
comment on column public.embedding_models.created_at is 'Time when the model was registered.';
comment on column public.embedding_models.dimensions is 'Number of dimensions of the model, at most 1536. Its vectors are padded with zeros to 1536 dimensions, which does not change cosine similarities.';
comment on column public.embedding_models.state is
  'serving: searches compare the vectors of this model; arriving: memories are also embedded with this model, so that it can serve later; leaving: the vectors of this model are being deleted; null: none of these.';
comment on column public.embedding_models.state_since is 'Time when the model entered its state.';

alter table public.embedding_models enable row level security;
alter table public.embedding_models force row level security;

create policy scope_access on public.embedding_models for select to l9_agent, l9_admin, l9_platform_admin, l9_worker using (true);
create policy worker_access on public.embedding_models for update to l9_worker using (true);
create policy definer_functions on public.embedding_models to l9_owner using (true);
comment on policy scope_access on public.embedding_models is 'The list of models is not secret.';
comment on policy worker_access on public.embedding_models is 'Jobs change from one model to another.';
comment on policy definer_functions on public.embedding_models is 'register_embedding_model() inserts rows, and drop_embedding_model() deletes them.';

grant select on public.embedding_models to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant update (state, state_since) on public.embedding_models to l9_worker;

create trigger _900_notify after insert or update or delete on public.embedding_models
  for each statement execute function administration.tg__notify('l9_embedding_models');

create function embeddings.serving_model()
returns text
language sql
stable
parallel safe
set search_path = ''
return (select m.model from public.embedding_models m where m.state = 'serving');

comment on function embeddings.serving_model() is 'The model whose vectors searches compare; null before a gateway has started for the first time.';

grant execute on function embeddings.serving_model() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 050-embeddings/010-embedding-models.sql
--! Included 050-embeddings/020-pending-embeddings.sql
create table embeddings.pending_embeddings (
  packet_id uuid not null references public.packet_store on delete cascade,
  model text not null references public.embedding_models on delete cascade,
  enqueued_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  leased_until timestamptz,
  last_error text,
  primary key (packet_id, model)
);

create index pending_embeddings_due_idx on embeddings.pending_embeddings (model, next_attempt_at);

comment on table embeddings.pending_embeddings is
  'Queue of memories that wait for their vectors. A row is inserted in the transaction of the save and deleted in the transaction that stores the vectors, so no memory is lost or embedded twice.';
comment on column embeddings.pending_embeddings.model is
  'The model that the memory waits for: the one that serves and, during a model change, also the one that arrives.';
comment on column embeddings.pending_embeddings.leased_until is 'A job works on the memory until this time; after it, another job may lease the row.';
comment on column embeddings.pending_embeddings.attempts is 'Number of times that the content of this memory was refused or failed.';
comment on column embeddings.pending_embeddings.last_error is 'Name of the last error. It never holds a text of the memory.';

alter table embeddings.pending_embeddings enable row level security;
alter table embeddings.pending_embeddings force row level security;

create policy worker_access on embeddings.pending_embeddings to l9_worker using (true);
create policy definer_functions on embeddings.pending_embeddings to l9_owner using (true);
comment on policy worker_access on embeddings.pending_embeddings is 'Jobs work through the queue.';
comment on policy definer_functions on embeddings.pending_embeddings is 'Triggers of packet_store insert memories into the queue.';

grant select, insert (packet_id, model), update, delete on embeddings.pending_embeddings to l9_worker;

create function embeddings.enqueue_memory(packet_id uuid)
returns void
language sql
volatile
set search_path = ''
begin atomic
  insert into embeddings.pending_embeddings (packet_id, model)
  select enqueue_memory.packet_id, m.model from public.embedding_models m where m.state in ('serving', 'arriving')
  order by m.model
  on conflict (packet_id, model) do update
    set attempts = 0, next_attempt_at = now(), leased_until = null, last_error = null;
end;

comment on function embeddings.enqueue_memory(uuid) is
  'Queues a memory that changed, for each model that serves or arrives. If it is queued already, its lease and failed attempts are reset.';
--! EndIncluded 050-embeddings/020-pending-embeddings.sql
--! Included 050-embeddings/030-stale-contexts.sql
create table embeddings.stale_contexts (
  -- No foreign key: rows are inserted while memories are being deleted, and the job checks whether the memory still exists.
  packet_id uuid primary key
);

comment on table embeddings.stale_contexts is 'Queue of memories whose context must be created again.';
comment on column embeddings.stale_contexts.packet_id is 'The memory, which may have been deleted since.';

alter table embeddings.stale_contexts enable row level security;
alter table embeddings.stale_contexts force row level security;

create policy worker_access on embeddings.stale_contexts to l9_worker using (true);
create policy definer_functions on embeddings.stale_contexts to l9_owner using (true);
comment on policy worker_access on embeddings.stale_contexts is 'Jobs work through the queue.';
comment on policy definer_functions on embeddings.stale_contexts is 'Triggers insert memories into the queue.';

grant select, insert, delete on embeddings.stale_contexts to l9_worker;
--! EndIncluded 050-embeddings/030-stale-contexts.sql
--! Included 050-embeddings/040-memory-contexts.sql
create table public.memory_contexts (
  context_id uuid primary key default uuidv7(),
  packet_id uuid not null unique references public.packet_store on delete cascade,
  predecessor_id uuid not null references public.packet_store on delete cascade,
  context text not null,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  created_at timestamptz not null default now()
);

-- Statistics are off because the planner would keep samples of the texts.
alter table public.memory_contexts alter column context set statistics 0;

do $$
declare
  bucket integer;
begin
  foreach bucket in array packets.tenant_buckets() loop
    execute format(
      $sql$create index %I on public.memory_contexts using bm25 (context) with (text_config = 'english') where %s$sql$,
      'memory_contexts_bm25_' || bucket, packets.in_bucket('', bucket));
  end loop;
end
$$;
create index memory_contexts_readers_idx on public.memory_contexts (tenant_id, scope, user_id, org_id, project_id) include (packet_id, ttl);
create index memory_contexts_predecessor_idx on public.memory_contexts (predecessor_id);

comment on table public.memory_contexts is
  'Memories together with their predecessor in the thread, so that an answer is also found by the question before it. A predecessor is used only if it has the same owner, scope and project: a caller who may read the row may read both memories.';
comment on column public.memory_contexts.context_id is 'UUID version 7. A changed text gets a new context_id, because vectors refer to the text that they were made from.';
comment on column public.memory_contexts.packet_id is 'The memory.';
comment on column public.memory_contexts.predecessor_id is 'The memory before it in the thread.';
comment on column public.memory_contexts.context is 'The end of the predecessor (500 characters) and the beginning of the memory (2000). A search never shows it.';
comment on column public.memory_contexts.tenant_id is 'Tenant of both memories.';
comment on column public.memory_contexts.org_id is 'Org of both memories.';
comment on column public.memory_contexts.user_id is 'User of both memories.';
comment on column public.memory_contexts.project_id is 'Project of both memories.';
comment on column public.memory_contexts.scope is 'Scope of both memories.';
comment on column public.memory_contexts.ttl is 'Time when the first of the two memories expires. After it nobody can read the row.';
comment on column public.memory_contexts.created_at is 'Time when the context was created.';

call identity.protect_like_memories('public.memory_contexts', noun => 'context');

create policy worker_access on public.memory_contexts to l9_worker using (true);
create policy definer_functions on public.memory_contexts to l9_owner using (true);

comment on policy worker_access on public.memory_contexts is 'The embedding job writes contexts.';
comment on policy definer_functions on public.memory_contexts is 'Triggers delete a context when one of its memories changes or is deleted.';

grant select on public.memory_contexts to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, predecessor_id, context, tenant_id, org_id, user_id, project_id, scope, ttl)
  on public.memory_contexts to l9_worker;
-- The job needs an update privilege to lock a context while it stores the vector.
grant update (created_at) on public.memory_contexts to l9_worker;
grant delete, maintain on public.memory_contexts to l9_worker;
-- Callers have no write privilege: contexts follow from the memories.

create function embeddings.tg_memory_contexts__list_stale()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into embeddings.stale_contexts (packet_id)
  select o.packet_id from old_rows o order by o.packet_id
  on conflict do nothing;
  return null;
end
$$;

comment on function embeddings.tg_memory_contexts__list_stale() is
  'Queues a memory that lost its context, for example because its predecessor was deleted, so that it gets a new one. Definer: callers cannot see that queue.';

create trigger _900_list_stale after delete on public.memory_contexts
  referencing old table as old_rows
  for each statement execute function embeddings.tg_memory_contexts__list_stale();
--! EndIncluded 050-embeddings/040-memory-contexts.sql
--! Included 050-embeddings/050-memory-embeddings.sql
create function embeddings.embedding_types()
returns text[]
language sql
immutable
parallel safe
return array['content', 'context', 'entity', 'summary', 'reasoning'];

comment on function embeddings.embedding_types() is 'The types of texts that are embedded. Each has an index for each model.';

grant execute on function embeddings.embedding_types() to l9_worker;

create table public.memory_embeddings (
  embedding_id uuid primary key default uuidv7(),
  packet_id uuid not null references public.packet_store on delete cascade,
  embedding_type text not null default 'content',
  model text not null references public.embedding_models,
  vector extensions.vector(1536) not null,
  chunk_index integer not null default 0,
  chunk_text text,
  context_id uuid references public.memory_contexts on delete cascade,
  metadata jsonb not null default '{}',
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  created_at timestamptz not null default now(),
  constraint embedding_unique unique (packet_id, embedding_type, model, chunk_index),
  constraint embedding_type_known check (embedding_type = any (embeddings.embedding_types())),
  constraint embedding_of_context check ((embedding_type = 'context') = (context_id is not null)),
  constraint embedding_chunk_has_text check (chunk_index >= 0 and (chunk_index = 0) = (chunk_text is null)),
  constraint embedding_metadata_object check (jsonb_typeof(metadata) = 'object')
);

-- Most models fill only part of the 1536 dimensions. lz4 compresses the zeros behind them, so the row stays in one page. pglz gives
-- up if the first kilobyte does not compress, which is always so for a vector, and would move four times as much to the TOAST table.
-- The embedded engine does not support lz4.
alter table public.memory_embeddings alter column vector set storage extended;
do $$
begin
  alter table public.memory_embeddings alter column vector set compression lz4;
exception when feature_not_supported then
  null;
end
$$;
-- No plan depends on the frequency of vectors or texts.
alter table public.memory_embeddings alter column vector set statistics 0, alter column chunk_text set statistics 0;

create index memory_embeddings_visible_idx on public.memory_embeddings (tenant_id, scope, project_id);
create index memory_embeddings_context_idx on public.memory_embeddings (context_id) where context_id is not null;

comment on table public.memory_embeddings is 'Vectors of memories, whole and in chunks. Owner, project, scope and expiry are kept equal to those of the memory.';
comment on column public.memory_embeddings.embedding_id is 'UUID version 7.';
comment on column public.memory_embeddings.packet_id is 'The memory.';
comment on column public.memory_embeddings.tenant_id is 'Tenant of the memory.';
comment on column public.memory_embeddings.org_id is 'Org of the memory.';
comment on column public.memory_embeddings.user_id is 'User of the memory.';
comment on column public.memory_embeddings.project_id is 'Project of the memory.';
comment on column public.memory_embeddings.scope is 'Scope of the memory.';
comment on column public.memory_embeddings.ttl is 'Time when the memory expires. After it nobody can read the row.';
comment on column public.memory_embeddings.created_at is 'Time when the text was embedded.';
comment on column public.memory_embeddings.embedding_type is 'Type of the text that was embedded: content, context (the memory with its predecessor in the thread), entity, summary or reasoning.';
comment on column public.memory_embeddings.model is 'The model that made the vector.';
comment on column public.memory_embeddings.vector is 'L2-normalised, padded with zeros to 1536 dimensions. The gateway never sends it to clients.';
comment on column public.memory_embeddings.chunk_index is '0: the memory as a whole; 1 and up: its chunks in order.';
comment on column public.memory_embeddings.chunk_text is 'Text of a chunk; null for the whole.';
comment on column public.memory_embeddings.context_id is 'The context that a vector of type context was made from, and with which it is deleted; null for all other types.';
comment on column public.memory_embeddings.metadata is 'For a chunk: start and end, character offsets into the content.';

call identity.protect_like_memories('public.memory_embeddings', noun => 'vector');

create policy worker_access on public.memory_embeddings to l9_worker using (true);
create policy definer_functions on public.memory_embeddings to l9_owner using (true);

comment on policy worker_access on public.memory_embeddings is 'The embedding job writes vectors.';
comment on policy definer_functions on public.memory_embeddings is 'A trigger keeps the vectors equal to their memory.';

grant select on public.memory_embeddings to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, embedding_type, model, vector, chunk_index, chunk_text, context_id, metadata, tenant_id, org_id, user_id, project_id, scope, ttl)
  on public.memory_embeddings to l9_worker;
grant delete, maintain on public.memory_embeddings to l9_worker;
-- Callers have no write privilege: a caller must not decide what a memory means.
--! EndIncluded 050-embeddings/050-memory-embeddings.sql
--! Included 050-embeddings/060-register-embedding-model.sql
create function embeddings.embedding_type_name(dimensions integer)
returns text
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.format(
  case when packets.is_embedded_engine() then 'extensions.vector(%s)' else 'extensions.halfvec(%s)' end, dimensions);

comment on function embeddings.embedding_type_name(integer) is 'The type that the indexes of a model hold: half precision on a server.';

create function embeddings.embedding_expression(dimensions integer)
returns text
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.format('(extensions.subvector(vector, 1, %s)::%s)', dimensions, embeddings.embedding_type_name(dimensions));

comment on function embeddings.embedding_expression(integer) is
  'The expression over memory_embeddings that the indexes of a model hold: only the dimensions of that model. A search must use the same expression.';

create function embeddings.embedding_index_name(model text, embedding_type text, bucket integer)
returns text
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.concat_ws('_', 'hnsw', embedding_type,
  pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(model, 'UTF8')), 'hex'), 16), bucket);

comment on function embeddings.embedding_index_name(text, text, integer) is
  'Name of the index of a model for one embedding type and one bucket of tenants. bucket is null if the type is not split into buckets.';

create function embeddings.embedding_indexes(model text)
returns table (name text, condition text)
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select
    embeddings.embedding_index_name(model, t.kind, b.bucket),
    pg_catalog.format('model = %L and embedding_type = %L', model, t.kind)
      || coalesce(' and ' || packets.in_bucket('', b.bucket), '')
  from pg_catalog.unnest(embeddings.embedding_types()) as t (kind)
  -- Only indexes that searches scan in order of distance are split into buckets.
  cross join lateral pg_catalog.unnest(
    case when t.kind in ('content', 'context', 'reasoning') then packets.tenant_buckets() else array[null::integer] end) as b (bucket);
end;

comment on function embeddings.embedding_indexes(text) is
  'The indexes of a model: one for each embedding type and, for the types that searches scan, one for each bucket of tenants. name: of the index; condition: its predicate.';

create function public.register_embedding_model(model text, dimensions integer)
returns void
language plpgsql
volatile
security definer
set search_path = ''
set client_min_messages = warning
as $$
declare
  index record;
  registered_dimensions integer;
begin
  if model is null or not embeddings.is_model_name(model) then
    perform identity.raise_error('L9VAL', 'model: must be 1 to 100 letters, digits or ._/:@- and begin with a letter or digit', 'model');
  elsif dimensions is null or dimensions not between 1 and embeddings.max_dimensions() then
    perform identity.raise_error('L9VAL', format('dimensions: must be from 1 to %s', embeddings.max_dimensions()), 'dimensions');
  end if;
  insert into public.embedding_models as m (model, dimensions) values (model, dimensions) on conflict on constraint embedding_models_pkey do nothing;
  select m.dimensions into registered_dimensions from public.embedding_models m where m.model = register_embedding_model.model;
  if registered_dimensions <> dimensions then
    perform identity.raise_error(
      'L9VAL', format('dimensions: model %s is registered with %s dimensions', model, registered_dimensions), 'dimensions');
  end if;

  for index in select * from embeddings.embedding_indexes(model) loop
    execute format(
      'create index if not exists %I on public.memory_embeddings using hnsw ((%s) extensions.%s) where %s',
      index.name,
      embeddings.embedding_expression(dimensions),
      case when packets.is_embedded_engine() then 'vector_cosine_ops' else 'halfvec_cosine_ops' end,
      index.condition);
  end loop;
end
$$;

comment on function public.register_embedding_model(text, integer) is
  'Registers a model and creates its partial HNSW indexes. A second call changes nothing. Errors: L9VAL. Definer: only the owner of the table can create indexes.';

grant execute on function
  embeddings.embedding_index_name(text, text, integer), embeddings.embedding_type_name(integer), embeddings.embedding_expression(integer)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function public.register_embedding_model(text, integer) to l9_worker, l9_platform_admin;
--! EndIncluded 050-embeddings/060-register-embedding-model.sql
--! Included 050-embeddings/070-reasoning-text.sql
create function embeddings.reasoning_text(kind text, envelope jsonb)
returns text
language sql
immutable
parallel safe
set search_path = ''
return case when kind = 'reasoning_trace' and jsonb_typeof(envelope -> 'steps') = 'array' then (
  select pg_catalog.string_agg(step.text #>> '{}', E'\n' order by step.place)
  from pg_catalog.jsonb_path_query(envelope -> 'steps', 'strict $.** ? (@.type() == "string")') with ordinality as step (text, place)
  where step.text #>> '{}' ~ '\S') end;

comment on function embeddings.reasoning_text(text, jsonb) is
  'All texts in the steps of a reasoning trace, one on each line. Null if there are none, and for memories of other kinds. The text is embedded beside the content, as type reasoning.';

grant execute on function embeddings.reasoning_text(text, jsonb) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 050-embeddings/070-reasoning-text.sql
--! Included 050-embeddings/080-follow-packets.sql
-- Triggers on packet_store that keep queues, vectors and contexts in step with the memories.

create function embeddings.tg_packet_store__enqueue_embedding()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into embeddings.pending_embeddings (packet_id, model)
  select n.packet_id, m.model
  from new_rows n cross join public.embedding_models m
  where m.state in ('serving', 'arriving')
  order by n.packet_id, m.model;
  return null;
end
$$;

comment on function embeddings.tg_packet_store__enqueue_embedding() is
  'Queues new memories for embedding. Definer: callers cannot see that queue.';

create trigger _900_enqueue_embedding after insert on public.packet_store
  referencing new table as new_rows
  for each statement execute function embeddings.tg_packet_store__enqueue_embedding();

create function embeddings.tg_packet_store__embeddings_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  if new.content_hash <> old.content_hash then
    -- A search must not find the memory by the meaning of its former text.
    delete from public.memory_embeddings e where e.packet_id = new.packet_id;
    perform embeddings.enqueue_memory(new.packet_id);
    if new.chunk_count > 0 then
      new.chunk_count := 0;
    end if;
  else
    update public.memory_embeddings e
    set tenant_id = new.tenant_id, org_id = new.org_id, user_id = new.user_id, project_id = new.project_id, scope = new.scope,
      ttl = new.ttl
    where e.packet_id = new.packet_id;
  end if;
  return new;
end
$$;

comment on function embeddings.tg_packet_store__embeddings_follow() is
  'Keeps owner, project, scope and expiry of the vectors equal to those of the memory, and deletes the vectors when its content changes. Definer: callers cannot write vectors.';

create trigger _600_embeddings_follow before update on public.packet_store
  for each row
  when (
    new.content_hash is distinct from old.content_hash
    or (new.tenant_id, new.scope) is distinct from (old.tenant_id, old.scope)
    or new.org_id is distinct from old.org_id
    or new.user_id is distinct from old.user_id
    or new.project_id is distinct from old.project_id
    or new.ttl is distinct from old.ttl)
  execute function embeddings.tg_packet_store__embeddings_follow();

create function embeddings.tg_packet_store__reasoning_follows()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  delete from public.memory_embeddings e where e.packet_id = new.packet_id and e.embedding_type = 'reasoning';
  perform embeddings.enqueue_memory(new.packet_id);
  return null;
end
$$;

comment on function embeddings.tg_packet_store__reasoning_follows() is
  'Deletes the vectors of the former steps of a reasoning trace, and queues the memory so that its new steps are embedded. Definer: callers cannot write vectors.';

create trigger _600_reasoning_follows after update of envelope, packet_type on public.packet_store
  for each row when (
    (old.packet_type = 'reasoning_trace' or new.packet_type = 'reasoning_trace')
    and (new.packet_type <> old.packet_type or new.envelope -> 'steps' is distinct from old.envelope -> 'steps'))
  execute function embeddings.tg_packet_store__reasoning_follows();

create function embeddings.tg_packet_store__contexts_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  -- The job locks rows in the same order: the context first, then rows of a queue.
  delete from public.memory_contexts c where c.packet_id = new.packet_id;
  delete from public.memory_contexts c where c.predecessor_id = new.packet_id;
  if new.thread_id is not null then
    insert into embeddings.stale_contexts (packet_id) values (new.packet_id) on conflict do nothing;
  end if;
  return null;
end
$$;

comment on function embeddings.tg_packet_store__contexts_follow() is
  'Deletes the context of a memory that changed and the context of its successor in the thread. Definer: callers cannot write contexts.';

-- 690: contexts are deleted after the derived rows of the memory have been recomputed.
create trigger _690_contexts_follow
  after update of envelope, thread_id, project_id, scope, ttl, tenant_id, org_id, user_id, "timestamp" on public.packet_store
  for each row
  when (
    coalesce(new.thread_id, old.thread_id) is not null
    and (
      new.envelope ->> 'content' is distinct from old.envelope ->> 'content'
      or new.thread_id is distinct from old.thread_id
      or (new.tenant_id, new.scope, new."timestamp") is distinct from (old.tenant_id, old.scope, old."timestamp")
      or new.org_id is distinct from old.org_id
      or new.user_id is distinct from old.user_id
      or new.project_id is distinct from old.project_id
      or new.ttl is distinct from old.ttl))
  execute function embeddings.tg_packet_store__contexts_follow();
--! EndIncluded 050-embeddings/080-follow-packets.sql
--! Included 050-embeddings/090-embedding-queue.sql
-- Functions over the queue that the embedding job calls, as l9_worker. Each call is one short transaction, so no transaction is
-- open while a provider answers.

create function embeddings.lease_pending_embeddings(model text, batch_size integer, lease interval)
returns table (packet_id uuid, content text, content_hash bytea, attempts integer, reasoning text)
language sql
volatile
set search_path = ''
begin atomic
  with due as (
    select q.packet_id from embeddings.pending_embeddings q
    where q.model = lease_pending_embeddings.model and q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until < now())
    order by q.next_attempt_at
    limit batch_size
    for update skip locked
  ), leased as (
    update embeddings.pending_embeddings q set leased_until = now() + lease
    from due where q.packet_id = due.packet_id and q.model = lease_pending_embeddings.model
    returning q.packet_id, q.attempts
  )
  select p.packet_id, p.envelope ->> 'content', p.content_hash, leased.attempts,
    embeddings.reasoning_text(p.packet_type, p.envelope)
  from leased join public.packet_store p on p.packet_id = leased.packet_id;
end;

comment on function embeddings.lease_pending_embeddings(text, integer, interval) is
  'Leases up to batch_size memories that wait for this model, those due first. For reasoning traces it also returns the texts in their steps.';

create function embeddings.postpone_embeddings(model text, packet_ids uuid[], delay interval, error text, counts_as_attempt boolean)
returns void
language sql
volatile
set search_path = ''
begin atomic
  -- A row that is locked is skipped: a change of the memory queues it again, and waiting for that change could block it.
  with free as materialized (
    select q.packet_id from embeddings.pending_embeddings q
    where q.packet_id = any (packet_ids) and q.model = postpone_embeddings.model
    for no key update skip locked
  )
  update embeddings.pending_embeddings q
  set leased_until = null,
    next_attempt_at = now() + delay,
    last_error = left(error, 100),
    attempts = q.attempts + case when counts_as_attempt then 1 else 0 end
  from free f where q.packet_id = f.packet_id and q.model = postpone_embeddings.model;
end;

comment on function embeddings.postpone_embeddings(text, uuid[], interval, text, boolean) is
  'Ends the leases of memories and makes them due after a delay. counts_as_attempt: the content of the memory failed, not the provider.';

create function embeddings.renew_embedding_leases(model text, packet_ids uuid[], lease interval)
returns void
language sql
volatile
set search_path = ''
begin atomic
  with free as materialized (
    select q.packet_id from embeddings.pending_embeddings q
    where q.packet_id = any (packet_ids) and q.model = renew_embedding_leases.model and q.leased_until is not null
    for no key update skip locked
  )
  update embeddings.pending_embeddings q set leased_until = now() + lease
  from free f where q.packet_id = f.packet_id and q.model = renew_embedding_leases.model;
end;

comment on function embeddings.renew_embedding_leases(text, uuid[], interval) is
  'Extends the leases of memories that a job still works on. Leases are short and renewed, so that another process soon takes over from one that died.';

create function embeddings.release_embedding_leases()
returns void
language sql
volatile
set search_path = ''
begin atomic
  update embeddings.pending_embeddings q set leased_until = null where q.leased_until is not null;
end;

comment on function embeddings.release_embedding_leases() is
  'Ends all leases. A process that is alone on its database calls it at its start, when every lease belongs to a process that died.';

create function embeddings.enqueue_missing_embeddings(model text)
returns bigint
language sql
volatile
set search_path = ''
begin atomic
  -- Memories are locked before they are queued, in the same order as by a caller's change.
  with missing as materialized (
    select p.packet_id from public.packet_store p
    where not exists (
      select from public.memory_embeddings e
      where e.packet_id = p.packet_id and e.embedding_type = 'content' and e.model = enqueue_missing_embeddings.model)
    for key share of p
  ), enqueued as (
    insert into embeddings.pending_embeddings (packet_id, model)
    select m.packet_id, enqueue_missing_embeddings.model from missing m
    on conflict do nothing
    returning packet_id
  )
  select count(*) from enqueued;
end;

comment on function embeddings.enqueue_missing_embeddings(text) is
  'Queues every memory without a vector of this model, and returns how many were queued. It serves a model that begins to serve or to arrive, and memories that were saved while no gateway knew the model.';

create function embeddings.embedding_backlog()
returns table (pending bigint, failing bigint, oldest_seconds double precision)
language sql
stable
set search_path = ''
begin atomic
  select count(*), count(*) filter (where q.last_error is not null),
    coalesce(extract(epoch from now() - min(q.enqueued_at)), 0)::double precision
  from embeddings.pending_embeddings q
  where q.model = embeddings.serving_model();
end;

comment on function embeddings.embedding_backlog() is
  'The queue of the model that serves. pending: memories that wait; failing: those of them that failed before; oldest_seconds: age of the oldest row.';

create function embeddings.has_due_embeddings(models text[])
returns boolean
language sql
stable
set search_path = ''
return cardinality(models) > 0 and (
  exists (
    select from embeddings.pending_embeddings q
    where q.model = any (models) and q.next_attempt_at <= now() and (q.leased_until is null or q.leased_until < now()))
  or exists (select from embeddings.stale_contexts));

comment on function embeddings.has_due_embeddings(text[]) is
  'True if a memory that waits for one of these models can be leased, or if a memory has lost its context.';

grant execute on function
  embeddings.has_due_embeddings(text[]),
  embeddings.lease_pending_embeddings(text, integer, interval),
  embeddings.postpone_embeddings(text, uuid[], interval, text, boolean),
  embeddings.renew_embedding_leases(text, uuid[], interval),
  embeddings.release_embedding_leases(),
  embeddings.enqueue_missing_embeddings(text),
  embeddings.embedding_backlog()
to l9_worker;
--! EndIncluded 050-embeddings/090-embedding-queue.sql
--! Included 050-embeddings/100-refresh-contexts.sql
-- Functions over contexts that the embedding job calls, as l9_worker. The job locks a memory first, then its context, then rows of a
-- queue, in the same order as a caller's change. A change of many memories can still conflict with it, so the job waits for a lock
-- only for a moment (55P03), less than the deadlock timeout: a caller's change never fails because of the job.

create function embeddings.context_text(predecessor text, content text)
returns text
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.right(predecessor, 500) || E'\n\n' || pg_catalog.left(content, 2000);

comment on function embeddings.context_text(text, text) is
  'The end of the predecessor (500 characters) and the beginning of the memory (2000), so that a small model reads both.';

create function embeddings.requeue_stale_contexts()
returns void
language sql
volatile
set search_path = ''
begin atomic
  -- The memories are locked before their rows leave a queue, in the same order as by a caller's change. A memory that is being
  -- changed now waits for the next call. So does one that is already queued for embedding: it may have been read before the change.
  with free as materialized (
    select p.packet_id
    from embeddings.stale_contexts s
    join public.packet_store p on p.packet_id = s.packet_id
    where not exists (select from embeddings.pending_embeddings q where q.packet_id = s.packet_id)
    for no key update of p skip locked
  ), taken as (
    delete from embeddings.stale_contexts s
    where s.packet_id in (select f.packet_id from free f)
      or not exists (select from public.packet_store p where p.packet_id = s.packet_id)
    returning s.packet_id
  )
  insert into embeddings.pending_embeddings (packet_id, model)
  select t.packet_id, m.model
  from taken t
  join free f on f.packet_id = t.packet_id
  cross join public.embedding_models m
  where m.state in ('serving', 'arriving')
  on conflict do nothing;
end;

comment on function embeddings.requeue_stale_contexts() is 'Queues memories that lost their context for embedding.';

create function embeddings.is_same_thread(one public.packet_store, other public.packet_store)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return one.thread_id = other.thread_id and one.tenant_id = other.tenant_id and one.scope = other.scope
  and one.project_id is not distinct from other.project_id
  and one.org_id is not distinct from other.org_id
  and one.user_id is not distinct from other.user_id;

comment on function embeddings.is_same_thread(public.packet_store, public.packet_store) is
  'True if two memories belong to one thread and are visible to the same callers. Memories of another scope form another thread.';

create function embeddings.thread_neighbour(memory public.packet_store, is_before boolean)
returns uuid
language plpgsql
stable
set search_path = ''
as $$
begin
  if is_before then
    return (
      select p.packet_id from public.packet_store p
      where p.tenant_id = memory.tenant_id and p.thread_id = memory.thread_id
        and (p."timestamp", p.packet_id) < (memory."timestamp", memory.packet_id)
        and p.scope = memory.scope and p.project_id is not distinct from memory.project_id
        and p.org_id is not distinct from memory.org_id and p.user_id is not distinct from memory.user_id
        and (p.ttl is null or p.ttl > now())
      order by p."timestamp" desc, p.packet_id desc
      limit 1);
  end if;
  return (
    select p.packet_id from public.packet_store p
    where p.tenant_id = memory.tenant_id and p.thread_id = memory.thread_id
      and (p."timestamp", p.packet_id) > (memory."timestamp", memory.packet_id)
      and p.scope = memory.scope and p.project_id is not distinct from memory.project_id
      and p.org_id is not distinct from memory.org_id and p.user_id is not distinct from memory.user_id
    order by p."timestamp", p.packet_id
    limit 1);
end
$$;

comment on function embeddings.thread_neighbour(public.packet_store, boolean) is
  'The memory before or after this one in its thread, among those visible to the same callers; null if there is none.';

create function embeddings.refresh_contexts(packet_ids uuid[])
returns table (packet_id uuid, is_busy boolean, context_id uuid, context text)
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
#variable_conflict use_column
declare
  id uuid;
  memory public.packet_store;
  before_id uuid;
  predecessor public.packet_store;
  new_context text;
begin
  foreach id in array packet_ids loop
    refresh_contexts.packet_id := id;
    before_id := null;
    context_id := null;
    context := null;
    -- The memory is locked so that nobody changes it before the commit: a trigger would not see the context that is written here.
    -- A memory that is being changed now is not waited for; the job tries it again.
    select p.* into memory from public.packet_store p
    where p.packet_id = id for no key update skip locked;
    is_busy := not found;
    if not is_busy and memory.thread_id is not null then
      before_id := embeddings.thread_neighbour(memory, true);
      if before_id is not null then
        select p.* into predecessor from public.packet_store p
        where p.packet_id = before_id and embeddings.is_same_thread(p, memory) and (p.ttl is null or p.ttl > now())
        for share skip locked;
        is_busy := not found;
      end if;
    end if;
    if not is_busy then
      new_context := case when memory.thread_id is not null and before_id is not null
        then embeddings.context_text(predecessor.envelope ->> 'content', memory.envelope ->> 'content') end;
      select c.context_id into context_id from public.memory_contexts c
      where c.packet_id = memory.packet_id and c.predecessor_id = before_id and c.context = new_context;
      if not found then
        delete from public.memory_contexts c where c.packet_id = memory.packet_id;
        if new_context is not null then
          insert into public.memory_contexts as c
            (packet_id, predecessor_id, context, tenant_id, org_id, user_id, project_id, scope, ttl)
          values (memory.packet_id, before_id, new_context, memory.tenant_id, memory.org_id, memory.user_id, memory.project_id,
            memory.scope, least(memory.ttl, predecessor.ttl))
          returning c.context_id into context_id;
        end if;
      end if;
      context := new_context;
      delete from embeddings.stale_contexts s where s.packet_id = memory.packet_id;
      -- If the memory came into the middle of a thread, its successor now needs a context with this memory.
      insert into embeddings.stale_contexts (packet_id)
      select after.packet_id from (select embeddings.thread_neighbour(memory, false) as packet_id) after
      where after.packet_id is not null
        and not exists (
          select from public.memory_contexts c
          where c.packet_id = after.packet_id and c.predecessor_id = memory.packet_id)
        and not exists (select from embeddings.pending_embeddings q where q.packet_id = after.packet_id)
      on conflict do nothing;
    end if;
    return next;
  end loop;
end
$$;

comment on function embeddings.refresh_contexts(uuid[]) is
  'Creates the contexts of memories and returns the texts to embed; context is null for a memory without a predecessor. is_busy: the memory or its predecessor is being changed or was deleted, and the job must try again.';

grant execute on function
  embeddings.context_text(text, text), embeddings.requeue_stale_contexts(), embeddings.refresh_contexts(uuid[]),
  embeddings.is_same_thread(public.packet_store, public.packet_store),
  embeddings.thread_neighbour(public.packet_store, boolean)
to l9_worker;
--! EndIncluded 050-embeddings/100-refresh-contexts.sql
--! Included 050-embeddings/110-store-vectors.sql
-- Functions that store vectors, called by the embedding job as l9_worker.

create function embeddings.insert_vectors(
  packet_id uuid, embedding_type text, model text, vectors text[], chunk_texts text[], chunk_starts integer[], chunk_ends integer[])
returns void
language sql
volatile
set search_path = ''
begin atomic
  insert into public.memory_embeddings
    (packet_id, embedding_type, model, vector, chunk_index, chunk_text, metadata, tenant_id, org_id, user_id, project_id, scope, ttl)
  select p.packet_id, insert_vectors.embedding_type, insert_vectors.model, v.vector::extensions.vector, v.place - 1, chunk_texts[v.place - 1],
    case when v.place > 1
      then jsonb_build_object('start', chunk_starts[v.place - 1], 'end', chunk_ends[v.place - 1]) else '{}' end,
    p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope, p.ttl
  from public.packet_store p
  cross join unnest(vectors) with ordinality as v (vector, place)
  where p.packet_id = insert_vectors.packet_id
  on conflict do nothing;
end;

comment on function embeddings.insert_vectors(uuid, text, text, text[], text[], integer[], integer[]) is
  'Inserts the vectors of a memory: first that of the whole, then those of its chunks. The caller must hold a lock on the memory.';

create function embeddings.store_embeddings(
  packet_id uuid, content_hash bytea, model text, vectors text[], chunk_texts text[], chunk_starts integer[], chunk_ends integer[])
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  chunks_before integer;
begin
  select p.chunk_count into chunks_before
  from public.packet_store p
  where p.packet_id = store_embeddings.packet_id and p.content_hash = store_embeddings.content_hash
  for update;
  if not found then
    return false; -- The memory was deleted, or changed since it was leased, which queued it again.
  end if;

  perform embeddings.insert_vectors(
    store_embeddings.packet_id, 'content', store_embeddings.model, vectors, chunk_texts, chunk_starts, chunk_ends);

  if chunks_before <> coalesce(cardinality(chunk_texts), 0) then
    update public.packet_store p set chunk_count = coalesce(cardinality(chunk_texts), 0)
    where p.packet_id = store_embeddings.packet_id;
  end if;
  delete from embeddings.pending_embeddings q
  where q.packet_id = store_embeddings.packet_id and q.model = store_embeddings.model;
  return true;
end
$$;

comment on function embeddings.store_embeddings(uuid, bytea, text, text[], text[], integer[], integer[]) is
  'Stores the vectors of a memory, first that of the whole and then those of its chunks, and removes the memory from the queue, in one transaction. Returns false and stores nothing if the content has changed since it was leased.';

create function embeddings.store_reasoning(
  packet_id uuid, reasoning text, model text, vectors text[], chunk_texts text[], chunk_starts integer[], chunk_ends integer[])
returns boolean
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
#variable_conflict use_column
begin
  perform from public.packet_store p
  where p.packet_id = store_reasoning.packet_id
    and embeddings.reasoning_text(p.packet_type, p.envelope) = store_reasoning.reasoning
  for update;
  if not found then
    update embeddings.pending_embeddings q set leased_until = null
    where q.packet_id = store_reasoning.packet_id and q.model = store_reasoning.model;
    return false;
  end if;
  perform embeddings.insert_vectors(
    store_reasoning.packet_id, 'reasoning', store_reasoning.model, vectors, chunk_texts, chunk_starts, chunk_ends);
  return true;
end
$$;

comment on function embeddings.store_reasoning(uuid, text, text, text[], text[], integer[], integer[]) is
  'Stores the vectors of the steps of a reasoning trace, first that of the whole and then those of its chunks; store_vectors() follows in the same statement. Returns false and stores nothing if the steps have changed; the memory then stays in the queue.';

create function embeddings.store_vectors(
  packet_id uuid, content_hash bytea, model text, vectors text[], chunk_texts text[], chunk_starts integer[],
  chunk_ends integer[], context_id uuid, context_vector text)
returns boolean
language plpgsql
volatile
set search_path = ''
set lock_timeout = '100ms'
as $$
#variable_conflict use_column
begin
  if context_id is null then
    return embeddings.store_embeddings(packet_id, content_hash, model, vectors, chunk_texts, chunk_starts, chunk_ends);
  end if;
  -- The locks keep both rows until the vector is committed. A change that waits for them deletes the context and its vector.
  perform from public.packet_store p where p.packet_id = store_vectors.packet_id for update;
  perform from public.memory_contexts c
  where c.context_id = store_vectors.context_id and c.packet_id = store_vectors.packet_id
  for update;
  if not found then
    update embeddings.pending_embeddings q set leased_until = null
    where q.packet_id = store_vectors.packet_id and q.model = store_vectors.model;
    return false;
  end if;
  insert into public.memory_embeddings
    (packet_id, embedding_type, model, vector, context_id, tenant_id, org_id, user_id, project_id, scope, ttl)
  select c.packet_id, 'context', store_vectors.model, context_vector::extensions.vector, c.context_id,
    c.tenant_id, c.org_id, c.user_id, c.project_id, c.scope, c.ttl
  from public.memory_contexts c
  where c.context_id = store_vectors.context_id
  on conflict do nothing;
  return embeddings.store_embeddings(packet_id, content_hash, model, vectors, chunk_texts, chunk_starts, chunk_ends);
end
$$;

comment on function embeddings.store_vectors(uuid, bytea, text, text[], text[], integer[], integer[], uuid, text) is
  'Does what store_embeddings() does, and stores the vector of the memory''s context. Returns false and stores nothing if one of the two memories has changed since its text was read; the memory then stays in the queue.';

grant execute on function
  embeddings.insert_vectors(uuid, text, text, text[], text[], integer[], integer[]),
  embeddings.store_embeddings(uuid, bytea, text, text[], text[], integer[], integer[]),
  embeddings.store_reasoning(uuid, text, text, text[], text[], integer[], integer[]),
  embeddings.store_vectors(uuid, bytea, text, text[], text[], integer[], integer[], uuid, text)
to l9_worker;
--! EndIncluded 050-embeddings/110-store-vectors.sql
--! Included 050-embeddings/120-embedding-changes.sql
create table embeddings.embedding_changes (
  model text primary key references public.embedding_models on delete cascade,
  began_at timestamptz not null default now(),
  memories_to_embed bigint not null,
  constraint embedding_change_not_negative check (memories_to_embed >= 0)
);

comment on table embeddings.embedding_changes is
  'Size of the model change that is under way. It is a table of its own because it counts the memories of all tenants, and callers may read embedding_models.';
comment on column embeddings.embedding_changes.model is 'The model that arrives.';
comment on column embeddings.embedding_changes.began_at is 'Time when the change began.';
comment on column embeddings.embedding_changes.memories_to_embed is 'Number of memories that had no vector of this model when the change began.';

alter table embeddings.embedding_changes enable row level security;
alter table embeddings.embedding_changes force row level security;

create policy worker_access on embeddings.embedding_changes to l9_worker using (true);
create policy definer_functions on embeddings.embedding_changes to l9_owner using (true);
comment on policy worker_access on embeddings.embedding_changes is 'Jobs change from one model to another.';
comment on policy definer_functions on embeddings.embedding_changes is 'drop_embedding_model() deletes the row of its model.';

grant select, insert (model, memories_to_embed), update (memories_to_embed), delete on embeddings.embedding_changes to l9_worker;
--! EndIncluded 050-embeddings/120-embedding-changes.sql
--! Included 050-embeddings/130-change-model.sql
-- The change from one model to another, made as l9_worker. Its state is in the database, so the process that drives it can stop anywhere.

create function embeddings.adopt_embedding_model(model text, dimensions integer)
returns text
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  serving text;
begin
  -- If several gateways start at the same time, the first to take the lock decides.
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  serving := embeddings.serving_model();
  if serving is null
    or serving <> adopt_embedding_model.model and not exists (select from public.packet_store)
      and not exists (select from public.embedding_models m where m.state = 'arriving') then
    perform public.register_embedding_model(adopt_embedding_model.model, dimensions);
    update public.embedding_models m
    set state = case when m.model = adopt_embedding_model.model then 'serving' else 'leaving' end, state_since = clock_timestamp()
    where m.model in (adopt_embedding_model.model, serving);
    return adopt_embedding_model.model;
  end if;
  if serving = adopt_embedding_model.model then
    perform public.register_embedding_model(adopt_embedding_model.model, dimensions);
  end if;
  return serving;
end
$$;

comment on function embeddings.adopt_embedding_model(text, integer) is
  'Called at the start of a gateway. The model begins to serve if no model serves, or if there is no memory yet. Returns the model that serves.';

create function embeddings.begin_embedding_change(model text, dimensions integer)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  other text;
  missing bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  if embeddings.serving_model() = begin_embedding_change.model then
    perform identity.raise_error('L9VAL', format('model: %s is already serving', begin_embedding_change.model), 'model');
  end if;
  select m.model into other from public.embedding_models m where m.state = 'arriving' and m.model <> begin_embedding_change.model;
  if found then
    perform identity.raise_error('L9VAL', format('model: a change to %s is under way; finish it or abandon it', other), 'model');
  end if;
  perform public.register_embedding_model(begin_embedding_change.model, dimensions);
  -- From now on new memories wait for this model too. The change of a model that already arrives continues.
  update public.embedding_models m set state = 'arriving', state_since = clock_timestamp()
  where m.model = begin_embedding_change.model and m.state is distinct from 'arriving';
  perform embeddings.enqueue_missing_embeddings(begin_embedding_change.model);
  select count(*) into missing from embeddings.pending_embeddings q where q.model = begin_embedding_change.model;
  insert into embeddings.embedding_changes as c (model, memories_to_embed) values (begin_embedding_change.model, missing)
  on conflict on constraint embedding_changes_pkey do update set memories_to_embed = greatest(c.memories_to_embed, missing);
  return missing;
end
$$;

comment on function embeddings.begin_embedding_change(text, integer) is
  'Begins a change to another model, which then arrives: every memory, and every new one, is queued for it. A second call continues the change. Returns the number of memories that wait. Errors: L9VAL.';

create function embeddings.embedding_change()
returns table (model text, serving text, to_embed bigint, remaining bigint, refused bigint)
language sql
stable
set search_path = ''
begin atomic
  select m.model, embeddings.serving_model(), greatest(max(c.memories_to_embed), count(q.packet_id)), count(q.packet_id),
    count(q.packet_id) filter (where q.attempts > 0)
  from public.embedding_models m
  left join embeddings.embedding_changes c on c.model = m.model
  left join embeddings.pending_embeddings q on q.model = m.model
  where m.state = 'arriving'
  group by m.model;
end;

comment on function embeddings.embedding_change() is
  'Progress of the model change. to_embed: all memories to embed; remaining: those that still wait; refused: those of them that failed. No row if no change is under way.';

create function embeddings.switch_embedding_model(model text, allow_missing bigint default 0)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  serving text;
  missing bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  serving := embeddings.serving_model();
  if serving = switch_embedding_model.model then
    return 0;
  elsif not exists (
      select from public.embedding_models m where m.model = switch_embedding_model.model and m.state = 'arriving') then
    perform identity.raise_error('L9VAL', format('model: %s is not arriving', switch_embedding_model.model), 'model');
  end if;
  -- A memory that can be found by meaning must stay so. Memories that were saved just now wait for both models, and do not count.
  select count(*) into missing
  from public.packet_store p
  where (p.ttl is null or p.ttl > now())
    and exists (
      select from public.memory_embeddings e
      where e.packet_id = p.packet_id and e.embedding_type = 'content' and e.model = serving)
    and not exists (
      select from public.memory_embeddings e
      where e.packet_id = p.packet_id and e.embedding_type = 'content' and e.model = switch_embedding_model.model);
  if missing > allow_missing then
    perform embeddings.enqueue_missing_embeddings(switch_embedding_model.model);
    return missing;
  end if;
  update public.embedding_models m
  set state = case when m.model = switch_embedding_model.model then 'serving' else 'leaving' end, state_since = clock_timestamp()
  where m.model in (switch_embedding_model.model, serving);
  delete from embeddings.pending_embeddings q where q.model = serving;
  delete from embeddings.embedding_changes c where c.model = switch_embedding_model.model;
  return 0;
end
$$;

comment on function embeddings.switch_embedding_model(text, bigint) is
  'Makes the arriving model serve, in one update, if at most allow_missing memories can no longer be found by meaning afterwards, and returns 0. Otherwise it changes nothing and returns the number of those memories. Errors: L9VAL.';

create function embeddings.abandon_embedding_change()
returns text
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  abandoned text;
begin
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  update public.embedding_models m set state = 'leaving', state_since = clock_timestamp()
  where m.state = 'arriving' returning m.model into abandoned;
  delete from embeddings.pending_embeddings q where q.model = abandoned;
  delete from embeddings.embedding_changes c where c.model = abandoned;
  return abandoned;
end
$$;

comment on function embeddings.abandon_embedding_change() is
  'Abandons the change that is under way; the vectors made for it will be deleted. Returns the model, or null if no change was under way.';

grant execute on function
  embeddings.adopt_embedding_model(text, integer),
  embeddings.begin_embedding_change(text, integer),
  embeddings.embedding_change(),
  embeddings.switch_embedding_model(text, bigint),
  embeddings.abandon_embedding_change()
to l9_worker;
--! EndIncluded 050-embeddings/130-change-model.sql
--! Included 050-embeddings/140-drop-model.sql
create function embeddings.drop_leaving_vectors(model text, batch_size integer, after uuid default null)
returns table (dropped bigint, last_packet_id uuid)
language sql
volatile
set search_path = ''
-- Rows are deleted in order of packet_id, so that the next batch does not scan the rows that this one deleted.
set enable_seqscan = off
begin atomic
  with batch as (
    select e.embedding_id, e.packet_id from public.memory_embeddings e
    where e.model = drop_leaving_vectors.model and (after is null or e.packet_id > after)
      and exists (select from public.embedding_models m where m.model = e.model and m.state = 'leaving')
    order by e.packet_id
    limit batch_size
  ), deleted as (
    delete from public.memory_embeddings e using batch b where e.embedding_id = b.embedding_id
    returning e.packet_id
  )
  -- There is no aggregate max(uuid).
  select count(*), (array_agg(d.packet_id order by d.packet_id desc))[1] from deleted d;
end;

comment on function embeddings.drop_leaving_vectors(text, integer, uuid) is
  'Deletes up to batch_size vectors of a model that leaves, in order of packet_id and after the one given. dropped: the number of deleted vectors; last_packet_id: pass it to the next call.';

create function embeddings.drop_embedding_model(model text)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
-- Dropping an index needs an exclusive lock on the table. It is better to try again later than to block everyone who queues behind.
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  index_name text;
begin
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  perform from public.embedding_models m where m.model = drop_embedding_model.model and m.state = 'leaving' for update;
  if not found or exists (select from public.memory_embeddings e where e.model = drop_embedding_model.model) then
    return false;
  end if;
  for index_name in
    select format('%I.%I', 'public', i.name) from embeddings.embedding_indexes(drop_embedding_model.model) as i
  loop
    execute format('drop index if exists %s', index_name);
  end loop;
  delete from public.embedding_models m where m.model = drop_embedding_model.model;
  return true;
end
$$;

comment on function embeddings.drop_embedding_model(text) is
  'Drops the indexes and the row of a model that leaves. Returns false if the model still has vectors or does not leave. Definer: only the owner of the table can drop indexes.';

grant execute on function embeddings.drop_leaving_vectors(text, integer, uuid), embeddings.drop_embedding_model(text) to l9_worker;
--! EndIncluded 050-embeddings/140-drop-model.sql
--! Included 050-embeddings/150-semantic-memory.sql
-- Readers of the old table semantic_memory select from this view. It stores no vectors: it shows those of memory_embeddings, under
-- the policies of its reader, with the columns and the payload of the old table.

create view public.semantic_memory with (security_invoker = true, security_barrier = true) as
select
  e.embedding_id,
  coalesce(p.metadata ->> 'agent', p.metadata ->> 'creator') as agent_id,
  e.vector,
  jsonb_build_object(
    'packet_id', e.packet_id,
    'text', coalesce(e.chunk_text, case e.embedding_type
      when 'reasoning' then embeddings.reasoning_text(p.packet_type, p.envelope) else p.envelope ->> 'content' end),
    'kind', p.packet_type,
    'tags', to_jsonb(p.tags),
    'importance', p.importance_score,
    'metadata', p.metadata) as payload,
  e.packet_id,
  e.embedding_type,
  e.model,
  e.chunk_index,
  e.tenant_id,
  e.org_id,
  e.user_id,
  e.project_id,
  e.scope,
  e.created_at,
  p.updated_at
from public.memory_embeddings e
join public.packet_store p on p.packet_id = e.packet_id
where e.model = (select embeddings.serving_model())
  -- Contexts are left out because their payload would have to show words of another memory, the predecessor.
  and e.embedding_type <> 'context';

comment on view public.semantic_memory is
  'The vectors of the model that serves, of memories whole and in chunks, with the texts that they were made from. It exists for readers of the old table of this name and is read only; new readers call search_memory().';
comment on column public.semantic_memory.embedding_id is 'The vector, as in memory_embeddings.';
comment on column public.semantic_memory.agent_id is 'The agent in the metadata of the memory; if there is none, its creator.';
comment on column public.semantic_memory.vector is 'L2-normalised, padded with zeros to 1536 dimensions. Only database sessions can read it: the gateway never sends it to clients.';
comment on column public.semantic_memory.payload is
  'packet_id, text (of the chunk or the whole memory), kind, tags, importance and metadata, built from the memory.';
comment on column public.semantic_memory.packet_id is 'The memory.';
comment on column public.semantic_memory.embedding_type is 'Type of the text that was embedded: content, reasoning, entity or summary.';
comment on column public.semantic_memory.model is 'The model that made the vector, which is the one that serves.';
comment on column public.semantic_memory.chunk_index is '0: the memory as a whole; 1 and up: its chunks in order.';
comment on column public.semantic_memory.tenant_id is 'Tenant of the memory.';
comment on column public.semantic_memory.org_id is 'Org of the memory.';
comment on column public.semantic_memory.user_id is 'User of the memory.';
comment on column public.semantic_memory.project_id is 'Project of the memory.';
comment on column public.semantic_memory.scope is 'Scope of the memory.';
comment on column public.semantic_memory.created_at is 'Time when the text was embedded.';
comment on column public.semantic_memory.updated_at is 'Time when a caller last changed the memory.';

grant select on public.semantic_memory to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-embeddings/150-semantic-memory.sql
--! Included 060-duplicates/000-schema.sql
create schema duplicates;
comment on schema duplicates is
  'Functions that find near-duplicate memories and decide what a save does about them. They are not exposed over GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema duplicates to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 060-duplicates/000-schema.sql
--! Included 060-duplicates/010-save-result.sql
create type public.similar_memory as (packet_id uuid, similarity real);
comment on type public.similar_memory is 'A memory that is a near-duplicate of another text.';
comment on column public.similar_memory.packet_id is 'The near-duplicate memory.';
comment on column public.similar_memory.similarity is 'The similarity, from 0 to 1; 1 means the same words.';

create type public.save_result as (status text, memory public.packet_store, "similar" public.similar_memory[]);
comment on type public.save_result is
  'The answer of a save: its status, the memory''s row after the save, and near-duplicates, most similar first (null if they were not searched for).';
comment on column public.save_result.status is 'inserted, updated or skipped_dedupe.';
comment on column public.save_result.memory is 'The memory''s row after the save.';
comment on column public.save_result."similar" is 'Near-duplicates, most similar first; null if they were not searched for.';
--! EndIncluded 060-duplicates/010-save-result.sql
--! Included 060-duplicates/020-compare-words.sql
create function duplicates.max_parsed_chars()
returns integer
language sql
immutable
parallel safe
return 65536;

comment on function duplicates.max_parsed_chars() is
  'How many characters are parsed into words at once: a longer text may have more words than fit into one tsvector.';

create function duplicates.distinct_words(content text)
returns text[]
language sql
stable
parallel safe
strict
set search_path = ''
-- to_tsvector warns about and skips words over 2 kB; the warning is of no use here.
set client_min_messages = warning
return case
  when pg_catalog.length(content) <= duplicates.max_parsed_chars() and content !~ '[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]' then
    pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.simple', content))
  else array(
    -- Long texts are split, because a text of 1 MiB may have more words than fit into one tsvector. Characters of
    -- scripts without spaces count as words.
    select distinct w.lexeme
    from pg_catalog.generate_series(1, pg_catalog.length(content), duplicates.max_parsed_chars()) as piece (start)
    cross join lateral pg_catalog.unnest(pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.simple',
      pg_catalog.regexp_replace(pg_catalog.substr(content, piece.start, duplicates.max_parsed_chars()),
        '([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])', '\1 ', 'g')))) as w (lexeme))
end;

comment on function duplicates.distinct_words(text) is
  'The distinct words of a text in lower case; for scripts without spaces, its characters.';

create function duplicates.compare_words(one text, other text, out similarity real, out is_distinguished boolean)
returns record
language sql
stable
parallel safe
strict
set search_path = ''
begin atomic
  with words as (
    select
      coalesce(stem.stems[1], w.word) as word,
      bool_or(w.place = 1) and bool_or(w.place = 2) as is_shared,
      bool_or(stem.stems = '{}') as is_stop_word,
      -- The t is what the parser leaves of "don't".
      bool_or(w.word in ('not', 'no', 'never', 'none', 'nor', 'without', 'cannot', 't')) as is_negation,
      bool_or(
        w.word ~ '[0-9]'
        or stem.stems <> '{}' and (
          position(upper(left(w.word, 1)) || substr(w.word, 2) in case w.place when 1 then one else other end) > 0
          or length(w.word) > 1 and position(upper(w.word) in case w.place when 1 then one else other end) > 0)
          and lower(w.word) <> upper(w.word)) as is_name_or_number
    from (
      select 1 as place, a.word from unnest(duplicates.distinct_words(one)) as a (word)
      union all
      select 2, b.word from unnest(duplicates.distinct_words(other)) as b (word)
    ) w
    cross join lateral (select ts_lexize('pg_catalog.english_stem', w.word) as stems) stem
    group by 1
  ), weighed as (
    select is_shared, is_negation or is_name_or_number as is_distinguishing,
      -- A word that only one text has weighs more if it is likely to change the meaning.
      case
        when not is_shared and is_negation then 3
        when not is_shared and is_name_or_number then 1.5
        when is_stop_word then 0.5
        else 1
      end as weight
    from words
  )
  select
    coalesce(sum(weight) filter (where is_shared) / sum(weight), 0)::real,
    coalesce(bool_or(is_distinguishing) filter (where not is_shared), false)
  from weighed;
end;

comment on function duplicates.compare_words(text, text) is
  'How much of their words two texts share, from 0 to 1: the weighted Jaccard index of English stems, without regard to word order. is_distinguished is true if a number, a name (recognised by its capitals) or a negation occurs in only one of them.';

grant execute on function duplicates.max_parsed_chars(), duplicates.distinct_words(text), duplicates.compare_words(text, text)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 060-duplicates/020-compare-words.sql
--! Included 060-duplicates/030-find-similar.sql
create function duplicates.similarity_threshold()
returns real
language sql
immutable
parallel safe
set search_path = ''
return 0.75;

comment on function duplicates.similarity_threshold() is
  'The lowest similarity at which two memories count as near-duplicates. docs/explanation/duplicates.md lists the pairs it was judged on.';

create function duplicates.find_similar(
  content text, scope text, project_id text, kind text, org_id uuid, user_id uuid, except_id uuid default null,
  content_vector extensions.vector default null, model text default null)
returns table (packet_id uuid, similarity real, content_hash bytea)
language plpgsql
stable
-- pg_textsearch looks up one of its functions by an unqualified name at planning time.
set search_path = pg_catalog, extensions
-- A near-duplicate is among the nearest vectors of all rows, visible or not, so one scan without iteration finds it at a
-- bounded cost.
set hnsw.iterative_scan = 'off'
set hnsw.ef_search = 100
set max_parallel_workers_per_gather = 0
set enable_sort = off
-- walk_words() explains this setting.
set pg_textsearch.filtered_seed = off
as $$
#variable_conflict use_variable
declare
  max_compared constant integer := 50;
  max_candidates constant integer := 10;
  tenant_id uuid := identity.current_tenant_id();
  -- Long words are rare ones, so twelve of them are enough to find a near-duplicate.
  long_words text[] := array(
    select t.word from unnest(duplicates.distinct_words(left(content, duplicates.max_parsed_chars()))) as t (word)
    order by length(t.word) desc, t.word limit 12);
  long_stems text[] := array(
    select coalesce(nullif((ts_lexize('pg_catalog.english_stem', t.word))[1], ''), t.word) from unnest(long_words) as t (word));
  dimensions integer;
  candidates uuid[];
  nearest uuid[];
  place_count integer;
  -- Both conditions use $1 to $7 of the statements below.
  project_condition text := 'p.tenant_id = $1 and p.scope = $2 and '
    || case when project_id is null then '$3 is null and p.project_id is null' else 'p.project_id = $3' end;
  place_condition text := 'p.packet_type = $4 and p.org_id is not distinct from $5 and p.user_id is not distinct from $6'
    || ' and p.packet_id is distinct from $7 and (p.ttl is null or p.ttl > now())';
begin
  -- A place with few memories is compared whole: an index scan is slowest where next to nothing matches.
  execute format($sql$
    select count(*), array_agg(f.packet_id) filter (where f.is_same_place)
    from (select p.packet_id, %s as is_same_place from public.packet_store p where %s limit %s) f$sql$,
    place_condition, project_condition, max_compared + 1)
  into place_count, candidates
  using tenant_id, scope, project_id, kind, org_id, user_id, except_id;

  if place_count > max_compared then
    -- As in search_memory, a dynamic statement in which the query of the select list is spelled differently from that of
    -- the order by.
    execute format($sql$
      select array_agg(f.packet_id)
      from (
        select p.packet_id,
          (p.envelope ->> 'content') <@> to_bm25query($8, '' || %4$L) as distance
        from public.packet_store p
        where %1$s and %5$s and %2$s
        order by (p.envelope ->> 'content') <@> to_bm25query($8, %4$L)
        limit %3$s
      ) f
      where f.distance < 0$sql$, project_condition, place_condition, max_candidates,
      'public.packet_store_content_bm25_' || packets.tenant_bucket(tenant_id),
      packets.in_bucket('p', packets.tenant_bucket(tenant_id)))
    into candidates
    using tenant_id, scope, project_id, kind, org_id, user_id, except_id, array_to_string(long_words[1:8], ' ');

    select m.dimensions into dimensions from public.embedding_models m
    where m.model = find_similar.model and m.state = 'serving' and vector_dims(content_vector) = 1536;
    if found then
      execute format($sql$
        select array_agg(f.packet_id)
        from (
          select p.packet_id
          from public.memory_embeddings e
          join public.packet_store p on p.packet_id = e.packet_id
          where e.model = %3$L and e.embedding_type = 'content' and %8$s and %7$s and %4$s
          order by %1$s operator(extensions.<=>) extensions.subvector($8, 1, %6$s)::%2$s
          limit %5$s
        ) f$sql$,
        embeddings.embedding_expression(dimensions), embeddings.embedding_type_name(dimensions), model, place_condition,
        max_candidates, dimensions, project_condition, packets.in_bucket('e', packets.tenant_bucket(tenant_id)))
      into nearest
      using tenant_id, scope, project_id, kind, org_id, user_id, except_id, content_vector;
    end if;
  end if;

  candidates := candidates || nearest;
  if candidates is null then
    return;
  end if;
  return query
  with compared as materialized (
    select p.packet_id, p.content_hash,
      case
        -- If both texts agree on numbers, names and negations, similar meaning raises the similarity a quarter of the
        -- way to the cosine. More would equate `writes to` and `reads from`, whose cosine is .97.
        when not w.is_distinguished then greatest(w.similarity, (3 * w.similarity + (
          select (1 - (e.vector operator(extensions.<=>) content_vector))::real
          from public.memory_embeddings e
          where e.packet_id = p.packet_id and e.model = find_similar.model and e.embedding_type = 'content'
            and e.chunk_index = 0 and vector_dims(content_vector) = 1536)) / 4)
        else w.similarity
      end as similarity
    from public.packet_store p
    cross join lateral (
      select c.* from duplicates.compare_words(content, p.envelope ->> 'content') c
      -- A candidate without half of the long words is not worth comparing word by word.
      where (
        select 2 * count(*) filter (where position(s.stem in lowered.text) > 0) >= count(*)
        from (select lower(p.envelope ->> 'content') as text offset 0) lowered, unnest(long_stems) as s (stem))
      offset 0
    ) w
    where p.packet_id = any (candidates)
  )
  select c.packet_id, least(c.similarity, 1)::real, c.content_hash
  from compared c
  where c.similarity >= duplicates.similarity_threshold()
  order by c.similarity desc, c.packet_id
  limit max_candidates;
end
$$;

comment on function duplicates.find_similar(text, text, text, text, uuid, uuid, uuid, extensions.vector, text) is
  'Near-duplicates of a text among memories of one owner, scope, project and kind that the caller may read, most similar first. It compares words and, if a vector of the text is given, meaning.';

grant execute on function
  duplicates.similarity_threshold(),
  duplicates.find_similar(text, text, text, text, uuid, uuid, uuid, extensions.vector, text)
to l9_agent, l9_admin;
--! EndIncluded 060-duplicates/030-find-similar.sql
--! Included 060-duplicates/040-similar-to-memory.sql
create function duplicates.similar_to_memory(packet_id uuid, content_vector extensions.vector default null, model text default null)
returns public.similar_memory[]
language sql
stable
set search_path = ''
return coalesce((
  select pg_catalog.array_agg(row(s.packet_id, s.similarity)::public.similar_memory order by s.similarity desc, s.packet_id)
  from public.packet_store p
  cross join lateral duplicates.find_similar(
    p.envelope ->> 'content', p.scope, p.project_id, p.packet_type, p.org_id, p.user_id, p.packet_id,
    content_vector, model) s
  where p.packet_id = similar_to_memory.packet_id), '{}');

comment on function duplicates.similar_to_memory(uuid, extensions.vector, text) is
  'The result of find_similar for a saved memory. The gateway reports it after a save with on_similar keep.';

grant execute on function duplicates.similar_to_memory(uuid, extensions.vector, text) to l9_agent, l9_admin;
--! EndIncluded 060-duplicates/040-similar-to-memory.sql
--! Included 060-duplicates/050-merge-into.sql
create function duplicates.merge_into(
  target public.packet_store, content text, tags text[], parent_ids uuid[], ttl timestamptz, importance real, metadata jsonb,
  envelope jsonb)
returns public.save_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_variable
declare
  answer public.save_result;
  saved public.packet_store;
  old_content text := target.envelope ->> 'content';
  -- If the lengths are equal the newer text wins, because it may be a correction.
  new_content text := case
    when packets.content_hash(content) <> target.content_hash and length(content) >= length(old_content) then content
    else old_content
  end;
  merged_tags text[] := target.tags || array(
    select btrim(t.tag) from unnest(tags) as t (tag) where btrim(t.tag) <> '' and btrim(t.tag) <> all (target.tags));
  merged_parents uuid[] := target.parent_ids || array(
    select distinct p.id from unnest(parent_ids) as p (id) where p.id <> all (target.parent_ids) and p.id <> target.packet_id);
  merged_envelope jsonb := coalesce(envelope, '{}') || target.envelope || jsonb_build_object('content', new_content);
  merged_metadata jsonb := coalesce(metadata, '{}') || target.metadata;
  -- The result lives as long and matters as much as the more generous of the two saves says.
  merged_ttl timestamptz := greatest(coalesce(target.ttl, 'infinity'), coalesce(ttl, 'infinity'));
  merged_importance real := greatest(target.importance_score, importance);
begin
  if merged_ttl = 'infinity' then
    merged_ttl := null;
  end if;
  if (merged_tags, merged_parents, merged_envelope, merged_metadata, merged_importance)
      = (target.tags, target.parent_ids, target.envelope, target.metadata, target.importance_score)
    and merged_ttl is not distinct from target.ttl then
    answer.status := 'skipped_dedupe';
    answer.memory := target;
    return answer;
  end if;
  begin
    update public.packet_store p set
      envelope = merged_envelope, tags = merged_tags, parent_ids = merged_parents, ttl = merged_ttl,
      importance_score = merged_importance, metadata = merged_metadata
    where p.packet_id = target.packet_id
    returning p.* into saved;
    answer.status := 'updated';
    answer.memory := saved;
  exception
    -- Too many tags together, a parent younger than the memory, or a text that a third memory has: keep both memories.
    when sqlstate 'L9LIM' or sqlstate 'L9VAL' or unique_violation then
      answer := null;
  end;
  return answer;
end
$$;

comment on function duplicates.merge_into(public.packet_store, text, text[], uuid[], timestamptz, real, jsonb, jsonb) is
  'Merges a save into a near-duplicate memory, as an update by that memory''s writer: the longer text wins, and all tags and parents are kept. The status is updated, or skipped_dedupe if nothing is new; the result is null if the two can''t be merged.';

grant execute on function
  duplicates.merge_into(public.packet_store, text, text[], uuid[], timestamptz, real, jsonb, jsonb)
to l9_agent, l9_admin;
--! EndIncluded 060-duplicates/050-merge-into.sql
--! Included 060-duplicates/060-resolve-similar.sql
create function duplicates.resolve_similar(
  on_similar text, content text, scope text, project_id text, kind text, tags text[], parent_ids uuid[], ttl timestamptz,
  importance real, metadata jsonb, envelope jsonb, content_vector extensions.vector, model text)
returns public.save_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_variable
declare
  me identity.identity := identity.require_identity();
  answer public.save_result;
  merged public.save_result;
  candidate record;
  target public.packet_store;
begin
  if on_similar not in ('keep', 'skip', 'merge') then
    perform identity.raise_error('L9VAL', 'on_similar: must be keep, skip or merge', 'on_similar');
  elsif content is null or content !~ '\S' or octet_length(content) > packets.max_content_bytes() then
    return null; -- The insert raises the error.
  end if;
  scope := coalesce(scope, 'developer');
  kind := coalesce(kind, 'note');
  perform packets.check_scope(scope, project_id);

  if on_similar <> 'keep' then
    -- The lock is held until the end of the transaction. The following statements see what its previous holders
    -- committed.
    perform pg_advisory_xact_lock(hashtextextended(format('l9-memory similar %s %s',
      packets.audience_id(me.tenant_id, me.org_id, me.user_id, project_id, scope), kind), 0));
  end if;

  answer."similar" := '{}';
  for candidate in
    select s.* from duplicates.find_similar(
      content, scope, project_id, kind, me.org_id, me.user_id, null, content_vector, model) s
    order by s.similarity desc, s.packet_id
  loop
    answer."similar" := answer."similar" || row(candidate.packet_id, candidate.similarity)::public.similar_memory;
    continue when on_similar = 'keep' or answer.status is not null;
    if on_similar = 'skip' then
      select p.* into target from public.packet_store p where p.packet_id = candidate.packet_id;
    else
      -- Under row-level security FOR UPDATE finds only rows that the caller may change, so another writer's memory stays
      -- as it is.
      select p.* into target from public.packet_store p where p.packet_id = candidate.packet_id for update;
    end if;
    -- The memory was deleted or changed by a concurrent transaction.
    continue when not found or target.content_hash <> candidate.content_hash;
    if on_similar = 'skip' then
      answer.status := 'skipped_dedupe';
      answer.memory := target;
    else
      merged := duplicates.merge_into(target, content, tags, parent_ids, ttl, importance, metadata, envelope);
      answer.status := merged.status;
      answer.memory := merged.memory;
    end if;
  end loop;
  return answer;
end
$$;

comment on function duplicates.resolve_similar(
  text, text, text, text, text, text[], uuid[], timestamptz, real, jsonb, jsonb, extensions.vector, text) is
  'Handles near-duplicates for save_memory: reports them and, with on_similar skip or merge, answers with a status if it can. Without a status the memory has to be inserted.';

grant execute on function duplicates.resolve_similar(
  text, text, text, text, text, text[], uuid[], timestamptz, real, jsonb, jsonb, extensions.vector, text)
to l9_agent, l9_admin;
--! EndIncluded 060-duplicates/060-resolve-similar.sql
--! Included 070-importance/000-schema.sql
create schema importance;
comment on schema importance is
  'The access log, feedback, and the importance of a memory. The helpers are not exposed over GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema importance to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 070-importance/000-schema.sql
--! Included 070-importance/010-memory-access-log.sql
create function importance.tg_memory_access_log__append_only()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform identity.raise_error('L9IMM', 'memory_access_log is append-only');
  return null;
end
$$;

comment on function importance.tg_memory_access_log__append_only() is
  'Refuses every UPDATE, DELETE and TRUNCATE. It is not the guard of audit_log because that one also refuses to drop partitions; this log serves learning, and audit_log is the evidence.';

-- Texts that must be erasable (queries, feedback) are stored elsewhere; the view public.memory_access_log joins them.
create table importance.memory_access_log (
  access_id uuid not null default uuidv7(),
  accessed_at timestamptz not null,
  xid xid8 not null default pg_current_xact_id(),
  target_type text not null default 'memory',
  target_id uuid not null,
  agent_id text not null,
  access_context text not null,
  relevance_score real,
  audit_id uuid,
  tenant_id uuid not null,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  is_admin boolean not null,
  primary key (access_id, accessed_at),
  -- There is no foreign key to the target, because the log outlives it.
  constraint access_target_known check (target_type in ('memory', 'fact')),
  constraint access_context_known check (access_context in ('search', 'get')),
  -- Lets a row be found by its id alone, in the one partition that can hold it.
  constraint access_time_is_of_id check (accessed_at = uuid_extract_timestamp(access_id))
) partition by range (accessed_at);

create index memory_access_log_xid_idx on importance.memory_access_log (xid);

comment on table importance.memory_access_log is
  'Which agent saw which memory or fact, and when. Searches and get_memory write it. Append-only; it holds ids and numbers but no texts, with one partition a month.';
comment on column importance.memory_access_log.access_id is 'The id to pass to record_feedback. UUID version 7.';
comment on column importance.memory_access_log.accessed_at is 'The time of the access to the millisecond, taken from access_id.';
comment on column importance.memory_access_log.xid is
  'The transaction that wrote the row. Rows are rolled up in this order, once no earlier transaction is in progress.';
comment on column importance.memory_access_log.target_type is 'The type of the target: memory or fact.';
comment on column importance.memory_access_log.target_id is 'The id of the memory or fact.';
comment on column importance.memory_access_log.agent_id is 'The caller.';
comment on column importance.memory_access_log.access_context is
  'search if the target was among the hits of a search; get if it was read in full.';
comment on column importance.memory_access_log.relevance_score is 'The score of the hit, from 0 to 1.';
comment on column importance.memory_access_log.audit_id is
  'The id of the search in audit_log, and of the text of its query if the tenant keeps those.';
comment on column importance.memory_access_log.tenant_id is 'The tenant of the caller.';
comment on column importance.memory_access_log.org_id is 'The org that the caller acted for.';
comment on column importance.memory_access_log.user_id is 'The user that the caller acted for.';
comment on column importance.memory_access_log.project_id is 'The project of the target at the time of the access.';
comment on column importance.memory_access_log.scope is 'The scope of the target at the time of the access.';
comment on column importance.memory_access_log.is_admin is
  'True if the caller was an administrator, who is not restricted by org and user.';

call identity.protect_like_memories('importance.memory_access_log', noun => 'access', expires => false);
-- An access belongs to the caller, so that these differ from the policies of memories.
alter policy org_isolation on importance.memory_access_log using (org_id is not distinct from (select identity.current_org_id()));
alter policy user_visibility on importance.memory_access_log using (user_id is not distinct from (select identity.current_user_id()));
create policy own_accesses on importance.memory_access_log as restrictive for select to l9_agent
  using (agent_id = (select identity.current_caller()));
comment on policy org_isolation on importance.memory_access_log is 'What an agent did for one org is hidden from it while it acts for another, or for none.';
comment on policy user_visibility on importance.memory_access_log is 'What an agent did for one user is hidden from it while it acts for another, or for none.';
comment on policy own_accesses on importance.memory_access_log is 'Agents see their own accesses only, never who else read what.';

create policy worker_access on importance.memory_access_log for select to l9_worker using (true);
create policy definer_inserts on importance.memory_access_log for insert to l9_owner with check (true);
create policy definer_functions on importance.memory_access_log for select to l9_owner using (true);

comment on policy worker_access on importance.memory_access_log is 'The roll-up job reads the log.';
comment on policy definer_inserts on importance.memory_access_log is 'log_accesses() inserts.';
comment on policy definer_functions on importance.memory_access_log is
  'The audit triggers of feedback and drop_access_partition() read the log.';

grant select on importance.memory_access_log to l9_agent, l9_admin, l9_platform_admin, l9_worker;
-- Nobody may insert: log_accesses() stamps the caller. Nobody may update or delete, including the owner.

create trigger _200_append_only
  before update or delete or truncate on importance.memory_access_log
  for each statement execute function importance.tg_memory_access_log__append_only();
alter table importance.memory_access_log enable always trigger _200_append_only;

-- Partitions are created after the guard so that they have it from the start.
select audit.create_month_partitions('importance.memory_access_log', now()::date, 14);
--! EndIncluded 070-importance/010-memory-access-log.sql
--! Included 070-importance/020-log-accesses.sql
create function importance.log_accesses(
  access_context text,
  target_ids uuid[],
  scopes text[],
  project_ids text[],
  relevance_scores real[] default null,
  audit_id uuid default null,
  target_type text default 'memory'
)
returns uuid[]
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
  access_ids uuid[];
begin
  if cardinality(target_ids) > 100 or cardinality(scopes) <> cardinality(target_ids) then
    perform identity.raise_error('L9LIM', 'target_ids: at most 100, each with its scope', 'target_ids');
  end if;
  access_ids := array(select uuidv7() from unnest(target_ids));
  insert into importance.memory_access_log (
    access_id, accessed_at, target_type, target_id, agent_id, access_context, relevance_score, audit_id,
    tenant_id, org_id, user_id, project_id, scope, is_admin)
  select a.access_id, uuid_extract_timestamp(a.access_id), log_accesses.target_type, a.target_id, me.caller, log_accesses.access_context, a.score,
    log_accesses.audit_id, me.tenant_id, me.org_id, me.user_id, a.project_id, a.scope, me.role = 'l9_admin'
  from unnest(access_ids, target_ids, log_accesses.scopes, project_ids, relevance_scores) as a (access_id, target_id, scope, project_id, score)
  where a.scope = any (me.readable_scopes)
    and identity.has_project(me, a.project_id);
  return access_ids;
end
$$;

comment on function importance.log_accesses(text, uuid[], text[], text[], real[], uuid, text) is
  'Writes what the caller was shown to the access log, in one statement, and returns the access ids in the same order. It writes nothing when an operator reads another tenant, because that is not use. Definer: callers can''t insert there. Whatever a caller could forge with it concerns only itself and its own scopes, and roll_up_accesses counts a row only if the memory or fact agrees with it.';

grant execute on function importance.log_accesses(text, uuid[], text[], text[], real[], uuid, text)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 070-importance/020-log-accesses.sql
--! Included 070-importance/030-memory-feedback.sql
create function importance.max_reason_bytes()
returns integer
language sql
immutable
parallel safe
return 1000;

comment on function importance.max_reason_bytes() is 'The maximum size of the reason of feedback.';
grant execute on function importance.max_reason_bytes() to l9_agent, l9_admin;

create function importance.tg_memory_feedback__stamp()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
begin
  perform identity.check_bytes(new.reason, importance.max_reason_bytes(), 'reason');
  new.agent_id := me.caller;
  new.tenant_id := me.tenant_id;
  new.org_id := me.org_id;
  new.user_id := me.user_id;
  new.given_at := clock_timestamp();
  new.xid := pg_current_xact_id();
  return new;
end
$$;

create function importance.tg_memory_feedback__audit()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
  select tg_op, tg_table_name, n.access_id, n.tenant_id, a.project_id, a.scope,
    jsonb_build_object('packet_id', n.packet_id, 'was_useful', n.was_useful) || audit.audit_actor()
  from new_rows n
  join importance.memory_access_log a on a.access_id = n.access_id and a.accessed_at = uuid_extract_timestamp(n.access_id);
  return null;
end
$$;

comment on function importance.tg_memory_feedback__stamp() is
  'Writes who gives the feedback and when, replacing what the client sent.';

comment on function importance.tg_memory_feedback__audit() is
  'Writes one audit row for each vote, without its reason. Definer: callers can''t insert into audit_log.';

create table public.memory_feedback (
  -- One vote for each access: a second vote replaces the first.
  access_id uuid primary key,
  packet_id uuid not null references public.packet_store on delete cascade,
  agent_id text not null,
  was_useful boolean not null,
  reason text,
  given_at timestamptz not null,
  xid xid8 not null,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  constraint feedback_reason_at_most_1000_bytes check (octet_length(reason) <= importance.max_reason_bytes())
);

create index memory_feedback_packet_idx on public.memory_feedback (packet_id);
create index memory_feedback_xid_idx on public.memory_feedback (xid);
create index memory_feedback_user_idx on public.memory_feedback (tenant_id, user_id) where user_id is not null;

-- Erased reasons must not stay in the planner's statistics.
alter table public.memory_feedback alter column reason set statistics 0;

comment on table public.memory_feedback is
  'Whether a memory was useful to the agent that it was shown to: at most one row for each access. Feedback is kept beside the access log so that the log is never changed and feedback can be erased.';
comment on column public.memory_feedback.access_id is 'The access, in memory_access_log.';
comment on column public.memory_feedback.packet_id is 'The memory. Feedback on it is deleted with it.';
comment on column public.memory_feedback.agent_id is 'The caller that made the access.';
comment on column public.memory_feedback.was_useful is 'True if the memory helped.';
comment on column public.memory_feedback.reason is
  'Why the memory helped or did not, in the caller''s words: at most 1000 bytes.';
comment on column public.memory_feedback.given_at is 'When the feedback was last given.';
comment on column public.memory_feedback.xid is 'The transaction that last gave the feedback. Votes are rolled up in this order.';
comment on column public.memory_feedback.tenant_id is 'The tenant of the memory and of the caller.';
comment on column public.memory_feedback.org_id is 'The org that the caller acted for.';
comment on column public.memory_feedback.user_id is 'The user that the caller acted for.';

alter table public.memory_feedback enable row level security;
alter table public.memory_feedback force row level security;

create policy tenant_isolation on public.memory_feedback as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy org_isolation on public.memory_feedback as restrictive to l9_agent
  using (org_id is not distinct from (select identity.current_org_id()));
create policy user_visibility on public.memory_feedback as restrictive to l9_agent
  using (user_id is not distinct from (select identity.current_user_id()));
-- Evaluated under the caller's own policies: it can neither give nor see feedback on a memory that it can't see.
create policy packet_visibility on public.memory_feedback as restrictive to l9_agent, l9_admin, l9_platform_admin
  using (exists (
    select from public.packet_store p where p.packet_id = memory_feedback.packet_id and p.tenant_id = memory_feedback.tenant_id));
create policy own_access on public.memory_feedback as restrictive for insert to l9_agent, l9_admin
  with check (
    agent_id = (select identity.current_caller())
    and exists (
      select from importance.memory_access_log a
      where a.access_id = memory_feedback.access_id and a.accessed_at = uuid_extract_timestamp(memory_feedback.access_id)
        and a.target_id = memory_feedback.packet_id and a.tenant_id = memory_feedback.tenant_id
        and a.agent_id = memory_feedback.agent_id
        and a.org_id is not distinct from memory_feedback.org_id and a.user_id is not distinct from memory_feedback.user_id));
create policy own_feedback on public.memory_feedback as restrictive for update to l9_agent, l9_admin
  using (
    agent_id = (select identity.current_caller())
    and org_id is not distinct from (select identity.current_org_id())
    and user_id is not distinct from (select identity.current_user_id()));
create policy scope_access on public.memory_feedback to l9_agent
  using (agent_id = (select identity.current_caller()));
create policy admin_override on public.memory_feedback to l9_admin using (true);
create policy platform_override on public.memory_feedback for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('memory_feedback')));
create policy worker_access on public.memory_feedback for select to l9_worker using (true);

comment on policy tenant_isolation on public.memory_feedback is 'Nothing is shared between tenants.';
comment on policy org_isolation on public.memory_feedback is
  'Feedback that an agent gave for one org is hidden from it while it acts for another, or for none.';
comment on policy user_visibility on public.memory_feedback is
  'Feedback that an agent gave for one user is hidden from it while it acts for another, or for none.';
comment on policy packet_visibility on public.memory_feedback is
  'Feedback is visible only on memories that the caller may read at present.';
comment on policy own_access on public.memory_feedback is
  'A caller may give feedback only on an access that it made itself, for the same org and user.';
comment on policy own_feedback on public.memory_feedback is 'A caller may change only its own feedback.';
comment on policy scope_access on public.memory_feedback is 'Agents see their own feedback.';
comment on policy admin_override on public.memory_feedback is
  'Admins see the feedback of their tenant''s agents on memories that the admin may read.';
comment on policy platform_override on public.memory_feedback is 'Operators read across tenants, and each read is audited.';
comment on policy worker_access on public.memory_feedback is 'The roll-up job reads feedback.';

grant select on public.memory_feedback to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (access_id, packet_id, was_useful, reason) on public.memory_feedback to l9_agent, l9_admin;
grant update (was_useful, reason) on public.memory_feedback to l9_agent, l9_admin;
-- Triggers stamp the caller and the time. Nobody may delete: feedback is deleted or erased with its memory.

create trigger _300_stamp before insert or update on public.memory_feedback
  for each row execute function importance.tg_memory_feedback__stamp();

create trigger _500_audit_insert after insert on public.memory_feedback
  referencing new table as new_rows
  for each statement execute function importance.tg_memory_feedback__audit();
create trigger _500_audit_update after update on public.memory_feedback
  referencing new table as new_rows
  for each statement execute function importance.tg_memory_feedback__audit();
--! EndIncluded 070-importance/030-memory-feedback.sql
--! Included 070-importance/040-access-log-view.sql
create function importance.query_text_of(audit_id uuid)
returns text
language sql
stable
security definer
set search_path = ''
return (
  select q.query
  from public.audit_query_texts q
  left join identity.current_identity() as me on true
  where q.audit_id = query_text_of.audit_id
    and (me.role = 'l9_platform_admin' or pg_catalog.current_setting('is_superuser') = 'on'
      or me.role = 'l9_admin' and q.tenant_id = me.tenant_id and (q.scope is null or q.scope = any (me.readable_scopes))));

comment on function importance.query_text_of(uuid) is
  'The text of a search, if the tenant keeps it, for callers who may read it in audit_query_texts; null for agents. Definer: agents have no grant on that table, and without this function they could not read a view that joins it.';

grant execute on function importance.query_text_of(uuid) to l9_agent, l9_admin, l9_platform_admin;

create view public.memory_access_log
with (security_invoker = true)
as
select
  a.access_id, a.target_type, a.target_id, a.agent_id, a.access_context,
  case when a.audit_id is not null then importance.query_text_of(a.audit_id) end as query_text, a.relevance_score,
  f.was_useful, f.reason as feedback_reason, a.accessed_at, a.tenant_id, a.org_id, a.user_id, a.project_id, a.scope
from importance.memory_access_log a
left join public.memory_feedback f on f.access_id = a.access_id;

comment on view public.memory_access_log is
  'Which agent saw which memory or fact, when, for which query, and whether it helped. Agents see their own accesses, admins those of their tenant. The underlying table, importance.memory_access_log, is append-only.';
comment on column public.memory_access_log.access_id is 'The id to pass to record_feedback. UUID version 7.';
comment on column public.memory_access_log.target_type is 'The type of the target: memory or fact.';
comment on column public.memory_access_log.target_id is 'The id of the memory or fact, which may have been deleted since.';
comment on column public.memory_access_log.agent_id is 'The caller.';
comment on column public.memory_access_log.access_context is
  'search if the target was among the hits of a search; get if it was read in full.';
comment on column public.memory_access_log.query_text is
  'The text of the query. Admins see it if the tenant keeps query texts (set_query_text_audit) and it was not erased.';
comment on column public.memory_access_log.relevance_score is
  'The score of the hit, from 0 to 1; null if the access was not a search.';
comment on column public.memory_access_log.was_useful is
  'True if the agent reported that it helped; null if it gave no feedback.';
comment on column public.memory_access_log.feedback_reason is 'The reason for the feedback, in the agent''s words.';
comment on column public.memory_access_log.accessed_at is 'The time of the access, to the millisecond.';
comment on column public.memory_access_log.tenant_id is 'The tenant of the caller.';
comment on column public.memory_access_log.org_id is 'The org that the caller acted for.';
comment on column public.memory_access_log.user_id is 'The user that the caller acted for.';
comment on column public.memory_access_log.project_id is 'The project of the target at the time of the access.';
comment on column public.memory_access_log.scope is 'The scope of the target at the time of the access.';

grant select on public.memory_access_log to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 070-importance/040-access-log-view.sql
--! Included 070-importance/050-record-feedback.sql
create function public.record_feedback(access_id uuid, was_useful boolean, reason text default null)
returns public.memory_feedback
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  memory_id uuid;
  vote public.memory_feedback;
begin
  if access_id is null then
    perform identity.raise_error('L9VAL', 'access_id: required', 'access_id');
  elsif was_useful is null then
    perform identity.raise_error('L9VAL', 'was_useful: must be true or false', 'was_useful');
  end if;
  select p.packet_id into memory_id
  from importance.memory_access_log a
  join public.packet_store p on p.packet_id = a.target_id and p.tenant_id = a.tenant_id
  where a.access_id = record_feedback.access_id and a.accessed_at = uuid_extract_timestamp(record_feedback.access_id)
    and a.tenant_id = me.tenant_id and a.agent_id = me.caller
    and a.org_id is not distinct from me.org_id and a.user_id is not distinct from me.user_id;
  if not found then
    perform identity.raise_error('L9OWN', format('access %s does not exist, or is not yours', record_feedback.access_id), 'access_id');
  end if;
  insert into public.memory_feedback as f (access_id, packet_id, was_useful, reason)
  values (record_feedback.access_id, memory_id, record_feedback.was_useful, nullif(btrim(record_feedback.reason), ''))
  on conflict (access_id) do update set was_useful = excluded.was_useful, reason = excluded.reason
  returning f.* into vote;
  return vote;
exception when foreign_key_violation then
  -- The memory was deleted concurrently.
  perform identity.raise_error('L9OWN', format('access %s does not exist, or is not yours', record_feedback.access_id), 'access_id');
end
$$;

comment on function public.record_feedback(uuid, boolean, text) is
  'Records whether a memory that the caller was shown was useful, and why (at most 1000 bytes). access_id is that of the hit. A second call for the same access replaces the first. Audited. L9OWN if the access does not exist, is not the caller''s, or its memory can''t be read any more; the three cases give the same error. Errors: L9OWN, L9VAL, L9LIM, L9AUT.';

grant execute on function public.record_feedback(uuid, boolean, text) to l9_agent, l9_admin;
-- Operators get no grant: feedback is for those who work in the tenant.
--! EndIncluded 070-importance/050-record-feedback.sql
--! Included 070-importance/060-importance.sql
-- These functions set no search_path, so that they can be inlined where they are called for many rows (a call costs 0.1
-- ms otherwise). Their SQL-standard bodies were parsed at creation, so a search_path could not change them. Each
-- argument occurs once unless callers pass plain columns: an expression that occurs twice would prevent inlining.

create function importance.kind_weight(kind text)
returns double precision
language sql
immutable
parallel safe
return case
  when kind in ('decision', 'runbook', 'ddl') then 0.3
  when kind in ('todo', 'pr_context', 'change') then -0.3
  else 0
end::double precision;

comment on function importance.kind_weight(text) is
  'What the kind of a memory adds to its importance, in log-odds: decisions, runbooks and DDL stay useful; todos, changes and the context of a pull request go out of date.';

create function importance.importance(
  estimate double precision,
  kind text,
  useful double precision,
  useless double precision,
  uses double precision,
  contradictions double precision,
  age_days double precision
)
returns double precision
language sql
immutable
parallel safe
return 1 / (1 + exp(-(
  -- The writer's estimate, as log-odds: without other evidence the score is the estimate (.5 exactly, 0 and 1 nearly).
  ln((estimate + 0.02) / (1 - estimate + 0.02))
  + importance.kind_weight(kind)
  -- Feedback: each agent weighs less than 1 in sum. The + 1 expresses doubt, so that one agent moves the term half way
  -- at most.
  + 3.0 * (useful - useless) / (useful + useless + 1)
  -- Use has diminishing returns.
  + 1.0 * (1 - 5 / (uses + 5))
  - 1.5 * (1 - 1 / (contradictions + 1))
  -- Age subtracts at most 0.5, half of it in 180 days.
  - 0.5 * (1 - power(2, -least(age_days / 180, 200)))
)));

comment on function importance.importance(
  double precision, text, double precision, double precision, double precision, double precision, double precision) is
  'How much a memory matters, between 0 and 1, both excluded. It rises with the writer''s estimate (0 to 1), useful feedback and use; it falls with useless feedback, contradictions and age. useful and useless are sums over agents, each below 1 (see opinion); uses is decayed to the present. docs/explanation/importance.md lists the weights. Pure.';

create function importance.opinion(votes_for bigint, votes_against bigint)
returns double precision
language sql
immutable
parallel safe
return greatest(votes_for - votes_against, 0)::double precision / (votes_for + votes_against + 1);

comment on function importance.opinion(bigint, bigint) is
  'The strength of one agent''s opinion from its votes, from 0 to below 1: 0.5 after one vote, 0.95 after twenty. However often an agent votes, it counts as one agent.';

create function importance.decayed(amount double precision, since timestamptz, until timestamptz)
returns double precision
language sql
immutable
parallel safe
return coalesce(
  -- The exponent is capped so that a double does not underflow.
  amount * power(2::double precision, -least(greatest(extract(epoch from until - since)::double precision / (30 * 86400), 0), 200)),
  0);

comment on function importance.decayed(double precision, timestamptz, timestamptz) is
  'The amount left after a time: it halves every 30 days. The result is 0 if the amount or a time is null.';

grant execute on function
  importance.kind_weight(text),
  importance.importance(
    double precision, text, double precision, double precision, double precision, double precision, double precision),
  importance.opinion(bigint, bigint), importance.decayed(double precision, timestamptz, timestamptz)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 070-importance/060-importance.sql
--! Included 070-importance/070-memory-signals.sql
create table public.memory_signals (
  packet_id uuid primary key references public.packet_store on delete cascade,
  tenant_id uuid not null references public.tenants,
  last_accessed timestamptz,
  access_count bigint not null default 0,
  use_weight double precision not null default 0,
  useful double precision not null default 0,
  useless double precision not null default 0,
  contradiction_count integer not null default 0,
  constraint signals_not_negative check (
    access_count >= 0 and use_weight >= 0 and useful >= 0 and useless >= 0 and contradiction_count >= 0)
) with (
  -- All rows of a page may change at once and still fit beside their old versions; with no index but the key each update
  -- is HOT.
  fillfactor = 45
);

comment on table public.memory_signals is
  'Usage statistics of memories: one narrow row for each memory that was ever used, kept up to date by a job. Importance is not stored; importance() computes it from these statistics, the writer''s estimate and the memory''s age.';
comment on column public.memory_signals.packet_id is 'The memory.';
comment on column public.memory_signals.tenant_id is 'The tenant of the memory.';
comment on column public.memory_signals.last_accessed is 'When the memory was last found or read.';
comment on column public.memory_signals.access_count is 'How often the memory was found or read.';
comment on column public.memory_signals.use_weight is
  'The memory''s use as of last_accessed, each use halved every 30 days: 1 for a read in full, 0.1 for a hit in a search.';
comment on column public.memory_signals.useful is 'How useful agents found the memory: the sum of their opinions, each below 1.';
comment on column public.memory_signals.useless is
  'How useless agents found the memory: the sum of their opinions, each below 1.';
comment on column public.memory_signals.contradiction_count is 'How many facts from other memories contradict this one.';

alter table public.memory_signals enable row level security;
alter table public.memory_signals force row level security;

create policy tenant_isolation on public.memory_signals as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.memory_signals for select to l9_agent, l9_admin
  using (exists (select from public.packet_store p where p.packet_id = memory_signals.packet_id));
create policy platform_override on public.memory_signals for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('memory_signals')));
create policy worker_access on public.memory_signals to l9_worker using (true);

comment on policy tenant_isolation on public.memory_signals is 'Nothing is shared between tenants.';
comment on policy scope_access on public.memory_signals is
  'Callers see the statistics of memories that they may read. The caller''s own policies are applied, so this holds when a memory moves.';
comment on policy platform_override on public.memory_signals is 'Operators read across tenants, and each read is audited.';
comment on policy worker_access on public.memory_signals is 'The job that rolls up the access log maintains the statistics.';

grant select on public.memory_signals to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, tenant_id, last_accessed, access_count, use_weight, useful, useless, contradiction_count)
  on public.memory_signals to l9_worker;
grant update (last_accessed, access_count, use_weight, useful, useless, contradiction_count) on public.memory_signals to l9_worker;
grant maintain on public.memory_signals to l9_worker;
-- Callers may not write: no single caller decides what matters.
--! EndIncluded 070-importance/070-memory-signals.sql
--! Included 070-importance/080-importance-of-memory.sql
create function importance.importance_of(memory public.packet_store, signals public.memory_signals, at timestamptz)
returns real
language sql
immutable
parallel safe
return importance.importance(
  (memory).importance_score,
  (memory).packet_type,
  coalesce((signals).useful, 0),
  coalesce((signals).useless, 0),
  -- Use before the import counts as that many search hits.
  importance.decayed(coalesce((signals).use_weight, 0), (signals).last_accessed, at)
    + importance.decayed(0.1 * (memory).access_count, (memory).last_accessed, at),
  (memory).contradiction_count + coalesce((signals).contradiction_count, 0),
  greatest(extract(epoch from at - (memory)."timestamp")::double precision / 86400, 0))::real;

comment on function importance.importance_of(public.packet_store, public.memory_signals, timestamptz) is
  'The importance() of a memory at a time, given its usage statistics; null signals mean that it was never used. Pure.';

grant execute on function importance.importance_of(public.packet_store, public.memory_signals, timestamptz)
  to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create function public.packet_store_importance_score(memory public.packet_store)
returns real
language sql
stable
parallel safe
set search_path = ''
return importance.importance_of(
  memory, (select s from public.memory_signals s where s.packet_id = (memory).packet_id), pg_catalog.now());

create function public.packet_store_access_count(memory public.packet_store)
returns bigint
language sql
stable
parallel safe
set search_path = ''
return (memory).access_count
  + coalesce((select s.access_count from public.memory_signals s where s.packet_id = (memory).packet_id), 0);

create function public.packet_store_last_accessed(memory public.packet_store)
returns timestamptz
language sql
stable
parallel safe
set search_path = ''
return greatest(
  (memory).last_accessed, (select s.last_accessed from public.memory_signals s where s.packet_id = (memory).packet_id));

create function public.packet_store_contradiction_count(memory public.packet_store)
returns integer
language sql
stable
parallel safe
set search_path = ''
return (memory).contradiction_count
  + coalesce((select s.contradiction_count from public.memory_signals s where s.packet_id = (memory).packet_id), 0);

comment on function public.packet_store_importance_score(public.packet_store) is
  'How much the memory matters, from 0 to 1: computed from the writer''s estimate, its kind, feedback, use, contradictions and age.';
comment on function public.packet_store_access_count(public.packet_store) is
  'How often the memory was found or read, up to the last roll-up of the access log.';
comment on function public.packet_store_last_accessed(public.packet_store) is
  'When the memory was last found or read, up to the last roll-up of the access log.';
comment on function public.packet_store_contradiction_count(public.packet_store) is
  'How many facts from other memories contradict this one.';

grant execute on function
  public.packet_store_importance_score(public.packet_store), public.packet_store_access_count(public.packet_store),
  public.packet_store_last_accessed(public.packet_store), public.packet_store_contradiction_count(public.packet_store)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 070-importance/080-importance-of-memory.sql
--! Included 070-importance/090-access-roll-up.sql
create table importance.access_roll_up (
  is_only boolean primary key default true check (is_only),
  to_xid xid8 not null default '0',
  era_after timestamptz not null default '-infinity',
  newest_at timestamptz not null default '-infinity',
  rolled_up_at timestamptz
);

comment on table importance.access_roll_up is 'How far the access log and feedback have been rolled up: one row.';
comment on column importance.access_roll_up.is_only is 'Always true; as the primary key it limits the table to one row.';
comment on column importance.access_roll_up.to_xid is
  'Everything written by transactions before this one is included in memory_signals.';
comment on column importance.access_roll_up.era_after is
  'Accesses up to this time were written in another cluster, from which this database was restored, and are all rolled up.';
comment on column importance.access_roll_up.newest_at is 'The time of the newest access that is rolled up.';
comment on column importance.access_roll_up.rolled_up_at is 'When the last roll-up that found something ran.';

alter table importance.access_roll_up enable row level security;
alter table importance.access_roll_up force row level security;
create policy worker_access on importance.access_roll_up to l9_worker using (true);
create policy definer_functions on importance.access_roll_up to l9_owner using (true);
comment on policy worker_access on importance.access_roll_up is 'The job continues from this position.';
comment on policy definer_functions on importance.access_roll_up is
  'drop_access_partition() drops only partitions that are rolled up.';
grant select, update (to_xid, era_after, newest_at, rolled_up_at) on importance.access_roll_up to l9_worker;

insert into importance.access_roll_up default values;
--! EndIncluded 070-importance/090-access-roll-up.sql
--! Included 070-importance/100-roll-up-accesses.sql
create function importance.roll_up_accesses_between(from_xid xid8, to_xid xid8, era_after timestamptz)
returns void
language sql
volatile
set search_path = ''
begin atomic
  with accesses as (
    select a.target_id as packet_id, a.accessed_at, case a.access_context when 'get' then 1 else 0.1 end as weight,
      max(a.accessed_at) over (partition by a.target_id) as last_accessed
    from importance.memory_access_log a
    -- An access counts only if the caller could read the memory, because callers could forge rows of the log.
    join public.packet_store p on p.packet_id = a.target_id and p.tenant_id = a.tenant_id and p.scope = a.scope
      and p.project_id is not distinct from a.project_id
      and (a.is_admin or (p.org_id is null or p.org_id = a.org_id) and (p.user_id is null or p.user_id = a.user_id))
    where a.target_type = 'memory'
      and a.xid >= roll_up_accesses_between.from_xid and a.xid < roll_up_accesses_between.to_xid
      and a.accessed_at > roll_up_accesses_between.era_after
  ), accessed as (
    select a.packet_id, a.last_accessed, count(*) as times,
      sum(importance.decayed(a.weight, a.accessed_at, a.last_accessed)) as use_weight
    from accesses a
    group by a.packet_id, a.last_accessed
  ), changed as (
    select a.packet_id from accessed a
    union
    select f.packet_id from public.memory_feedback f
    where f.xid >= roll_up_accesses_between.from_xid and f.xid < roll_up_accesses_between.to_xid
  ), locked as materialized (
    -- Rows are locked in order of their ids, so that this waits for a concurrent delete and can't deadlock.
    select p.packet_id, p.tenant_id
    from public.packet_store p
    where p.packet_id in (select c.packet_id from changed c)
    order by p.packet_id
    for key share
  ), opinions as (
    -- All votes on the memory, the last one for each access, so that counting them again does no harm.
    select f.packet_id, f.agent_id, count(*) filter (where f.was_useful) as votes_for,
      count(*) filter (where not f.was_useful) as votes_against
    from public.memory_feedback f
    where f.packet_id in (select k.packet_id from locked k)
    group by f.packet_id, f.agent_id
  ), feedback as (
    select o.packet_id, sum(importance.opinion(o.votes_for, o.votes_against)) as useful,
      sum(importance.opinion(o.votes_against, o.votes_for)) as useless
    from opinions o
    group by o.packet_id
  )
  insert into public.memory_signals as s (packet_id, tenant_id, last_accessed, access_count, use_weight, useful, useless)
  select k.packet_id, k.tenant_id, a.last_accessed, coalesce(a.times, 0), coalesce(a.use_weight, 0),
    coalesce(j.useful, 0), coalesce(j.useless, 0)
  from locked k
  left join accessed a on a.packet_id = k.packet_id
  left join feedback j on j.packet_id = k.packet_id
  order by k.packet_id
  on conflict (packet_id) do update set
    access_count = s.access_count + excluded.access_count,
    last_accessed = greatest(s.last_accessed, excluded.last_accessed),
    use_weight =
      importance.decayed(s.use_weight, s.last_accessed, greatest(s.last_accessed, excluded.last_accessed))
      + importance.decayed(excluded.use_weight, excluded.last_accessed, greatest(s.last_accessed, excluded.last_accessed)),
    useful = excluded.useful,
    useless = excluded.useless;
end;

comment on function importance.roll_up_accesses_between(xid8, xid8, timestamptz) is
  'Adds the accesses of these transactions that are later than era_after to memory_signals, and counts all votes on the memories these transactions voted on. Not executable by callers: roll_up_accesses() chooses the range.';

create function importance.are_accesses_waiting()
returns boolean
language sql
stable
set search_path = ''
begin atomic
  select exists (
      select from importance.memory_access_log a
      where a.xid >= r.to_xid and a.xid < pg_snapshot_xmin(pg_current_snapshot()) and a.accessed_at > r.era_after)
    or exists (
      select from public.memory_feedback f
      where f.xid >= r.to_xid and f.xid < pg_snapshot_xmin(pg_current_snapshot()))
    or r.to_xid > pg_snapshot_xmax(pg_current_snapshot())
  from importance.access_roll_up r;
end;

comment on function importance.are_accesses_waiting() is
  'True if there may be something to roll up. Cheap, for a job that asks often.';

create function importance.access_backlog()
returns table (waiting bigint, oldest_seconds double precision, rolled_up_at timestamptz)
language sql
stable
set search_path = ''
begin atomic
  with progress as (select r.to_xid, r.era_after, r.rolled_up_at from importance.access_roll_up r)
  select count(*), coalesce(extract(epoch from clock_timestamp() - min(w.at)), 0)::double precision,
    (select d.rolled_up_at from progress d)
  from (
    (select a.accessed_at as at from importance.memory_access_log a
     where a.xid >= (select d.to_xid from progress d) and a.accessed_at > (select d.era_after from progress d) limit 100000)
    union all
    (select f.given_at from public.memory_feedback f where f.xid >= (select d.to_xid from progress d) limit 100000)
  ) w;
end;

comment on function importance.access_backlog() is
  'How many accesses and votes are not rolled up yet (at most 100,000 of each are counted), the age of the oldest in seconds, and when something was last rolled up.';

grant execute on function
  importance.roll_up_accesses_between(xid8, xid8, timestamptz), importance.are_accesses_waiting(), importance.access_backlog()
to l9_worker;
--! EndIncluded 070-importance/100-roll-up-accesses.sql
--! Included 070-importance/110-drop-access-partition.sql
create function public.drop_access_partition(month date)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
set timezone = 'UTC'
set lock_timeout = '5s'
as $$
declare
  partition constant text := audit.require_past_partition('importance.memory_access_log', month);
  roll_up importance.access_roll_up;
  dropped bigint;
  is_rolled_up boolean;
begin
  execute format('lock table only partitions.%I in access exclusive mode', partition);
  select * into strict roll_up from importance.access_roll_up;
  select count(*), coalesce(bool_and(a.xid < roll_up.to_xid or a.accessed_at <= roll_up.era_after), true) into dropped, is_rolled_up
  from importance.memory_access_log a
  where a.accessed_at >= date_trunc('month', month::timestamptz)
    and a.accessed_at < date_trunc('month', month::timestamptz) + interval '1 month';
  if not is_rolled_up then
    perform identity.raise_error('L9VAL', 'month: not all of its rows are rolled up yet; try again in a minute', 'month');
  end if;
  execute format('drop table partitions.%I', partition);
  perform audit.write_audit('CLEANUP', 'memory_access_log', details => jsonb_build_object(
    'dropped', format('partitions.%I', partition), 'rows', dropped));
  return dropped;
end
$$;

comment on function public.drop_access_partition(date) is
  'Drops a past month of the access log once it is rolled up, and returns how many rows it held. The statistics in memory_signals and the feedback in memory_feedback stay. Audited. Definer: only the owner of a table can drop partitions. Errors: L9VAL, naming month.';

grant execute on function public.drop_access_partition(date) to l9_platform_admin;
--! EndIncluded 070-importance/110-drop-access-partition.sql
--! Included 080-memories/000-schema.sql
create schema memories;
comment on schema memories is
  'Helpers of the functions that save, read, change and delete memories. They are not exposed over GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema memories to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 080-memories/000-schema.sql
--! Included 080-memories/010-idempotency-keys.sql
create table public.idempotency_keys (
  tenant_id uuid not null references public.tenants,
  caller text not null,
  idempotency_key text not null,
  packet_id uuid references public.packet_store on delete cascade,
  status text,
  created_at timestamptz not null default now(),
  primary key (tenant_id, caller, idempotency_key),
  constraint idempotency_key_short check (octet_length(idempotency_key) between 1 and 200)
);

create index idempotency_keys_packet_idx on public.idempotency_keys (packet_id);
-- A key may contain text about its memory and is deleted with it, so the planner keeps no samples of it.
alter table public.idempotency_keys alter column idempotency_key set statistics 0;

comment on table public.idempotency_keys is
  'The first answer given for each idempotency key of a caller, so that a retried save returns it again.';
comment on column public.idempotency_keys.tenant_id is 'The tenant of the caller.';
comment on column public.idempotency_keys.caller is 'The caller that used the key.';
comment on column public.idempotency_keys.idempotency_key is 'The key, 1 to 200 bytes.';
comment on column public.idempotency_keys.created_at is 'When the key was first used.';
comment on column public.idempotency_keys.packet_id is 'The memory of the first answer; the key is deleted with it.';
comment on column public.idempotency_keys.status is 'The status first answered: inserted, updated or skipped_dedupe.';

alter table public.idempotency_keys enable row level security;
alter table public.idempotency_keys force row level security;

create policy tenant_isolation on public.idempotency_keys as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.idempotency_keys to l9_agent, l9_admin
  using (caller = (select identity.current_caller()))
  -- A foreign key check sees every row. Without this condition its result would reveal whether a hidden memory has the
  -- id.
  with check (
    caller = (select identity.current_caller())
    and (packet_id is null or exists (select from public.packet_store p where p.packet_id = idempotency_keys.packet_id)));

comment on policy tenant_isolation on public.idempotency_keys is 'Callers see keys of their own tenant only.';
comment on policy scope_access on public.idempotency_keys is
  'A key is visible only to the caller that used it, and may refer only to a memory that this caller may read.';

grant select, insert (tenant_id, caller, idempotency_key), update (packet_id, status) on public.idempotency_keys to l9_agent, l9_admin;
-- Nobody may delete: a key is deleted with its memory.
--! EndIncluded 080-memories/010-idempotency-keys.sql
--! Included 080-memories/020-memory-json.sql
create function memories.memory_json(memory public.packet_store)
returns jsonb
language sql
stable
parallel safe
set search_path = ''
return case when (memory).packet_id is not null then pg_catalog.jsonb_build_object(
  'packet_id', (memory).packet_id,
  'content', (memory).envelope ->> 'content',
  'kind', (memory).packet_type,
  'scope', (memory).scope,
  'project_id', (memory).project_id,
  'tags', (memory).tags,
  'metadata', (memory).metadata,
  'envelope', (memory).envelope - 'content',
  'routing', (memory).routing,
  'provenance', (memory).provenance,
  'thread_id', (memory).thread_id,
  'parent_ids', (memory).parent_ids,
  'importance', (memory).importance_score,
  'ttl', (memory).ttl,
  'timestamp', (memory)."timestamp",
  'updated_at', (memory).updated_at,
  'correlation_id', (memory).correlation_id,
  'session_id', (memory).session_id,
  'trace_id', (memory).trace_id
) end;

comment on function memories.memory_json(public.packet_store) is
  'A memory as the gateway returns it; its fields are named like the parameters of save_memory.';

grant execute on function memories.memory_json(public.packet_store) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 080-memories/020-memory-json.sql
--! Included 080-memories/030-raise-not-yours.sql
create function memories.raise_not_yours(packet_id uuid)
returns void
language sql
immutable
parallel safe
set search_path = ''
return identity.raise_error('L9OWN', pg_catalog.format('memory %s does not exist, or is not yours', packet_id), 'packet_id');

comment on function memories.raise_not_yours(uuid) is
  'Raises L9OWN for a memory that does not exist, is not visible or belongs to someone else. One text serves all three so that callers can''t tell them apart.';

grant execute on function memories.raise_not_yours(uuid) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 080-memories/030-raise-not-yours.sql
--! Included 080-memories/040-save-memory.sql
create function public.save_memory(
  content text,
  scope text default 'developer',
  project_id text default null,
  kind text default 'note',
  tags text[] default '{}',
  thread_id text default null,
  parent_ids uuid[] default '{}',
  ttl timestamptz default null,
  importance real default 0.5,
  metadata jsonb default '{}',
  envelope jsonb default '{}',
  routing jsonb default '{}',
  provenance jsonb default '{}',
  correlation_id text default null,
  session_id text default null,
  trace_id text default null,
  idempotency_key text default null,
  on_similar text default null,
  content_vector extensions.vector default null,
  model text default null
)
returns public.save_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  first_answer record;
  saved public.packet_store;
  hash bytea;
  answer public.save_result;
begin
  if ttl <= now() then
    perform identity.raise_error('L9VAL', 'ttl: must be in the future', 'ttl');
  end if;
  if jsonb_typeof(save_memory.envelope) <> 'object' then
    perform identity.raise_error('L9VAL', 'envelope: must be an object', 'envelope');
  end if;

  if save_memory.idempotency_key is not null then
    if octet_length(save_memory.idempotency_key) not between 1 and 200 then
      perform identity.raise_error('L9LIM', 'idempotency_key: 1 to 200 bytes', 'idempotency_key');
    end if;
    -- A concurrent save with the same key is waited for here; its answer is then found below.
    insert into public.idempotency_keys (tenant_id, caller, idempotency_key)
    values (me.tenant_id, me.caller, save_memory.idempotency_key)
    on conflict do nothing;
    if not found then
      select k.status into first_answer from public.idempotency_keys k
      where k.tenant_id = me.tenant_id and k.caller = me.caller and k.idempotency_key = save_memory.idempotency_key;
      select p.* into saved from public.packet_store p
      join public.idempotency_keys k on k.packet_id = p.packet_id
      where k.tenant_id = me.tenant_id and k.caller = me.caller and k.idempotency_key = save_memory.idempotency_key;
      if saved.packet_id is not null then
        answer.status := first_answer.status;
        answer.memory := saved;
        return answer;
      end if;
      -- The caller can no longer see the key's memory. That must look as if it were deleted, so save again.
    end if;
  end if;

  if on_similar is not null then
    answer := duplicates.resolve_similar(
      on_similar, save_memory.content, save_memory.scope, save_memory.project_id, kind, tags, parent_ids, ttl, importance,
      save_memory.metadata, save_memory.envelope, content_vector, model);
    saved := answer.memory;
  end if;

  for attempt in 1..3 loop
    -- A near-duplicate has already answered the save.
    exit when answer.status is not null;
    insert into public.packet_store (
      packet_type, envelope, routing, provenance, metadata, thread_id, parent_ids, tags, ttl, project_id, scope,
      importance_score, correlation_id, session_id, trace_id)
    values (
      coalesce(kind, 'note'),
      coalesce(save_memory.envelope, '{}') || jsonb_build_object('content', save_memory.content),
      coalesce(save_memory.routing, '{}'), coalesce(save_memory.provenance, '{}'), coalesce(save_memory.metadata, '{}'),
      save_memory.thread_id, coalesce(save_memory.parent_ids, '{}'), coalesce(save_memory.tags, '{}'), save_memory.ttl,
      save_memory.project_id, coalesce(save_memory.scope, 'developer'), coalesce(importance, 0.5),
      save_memory.correlation_id, save_memory.session_id, save_memory.trace_id)
    on conflict do nothing
    returning packet_store.* into saved;
    if found then
      answer.status := 'inserted';
      exit;
    end if;

    hash := coalesce(hash, packets.content_hash(save_memory.content));
    select p.* into saved
    from public.packet_store p
    -- `is not distinct from` keeps the planner on the hash column; with `=` it may choose the (tenant, scope) index and
    -- scan all of it.
    where p.content_hash = hash
      and p.tenant_id is not distinct from me.tenant_id
      and p.scope is not distinct from coalesce(save_memory.scope, 'developer')
      and p.project_id is not distinct from save_memory.project_id
      and p.packet_type = coalesce(kind, 'note')
      and p.org_id is not distinct from me.org_id
      and p.user_id is not distinct from me.user_id;
    if found then
      answer.status := 'skipped_dedupe';
      exit;
    end if;

    -- The conflicting memory was deleted concurrently: retry.
  end loop;

  if answer.status is null then
    raise exception using errcode = '40001', message = 'save_memory: too many concurrent saves of this content; try again';
  end if;
  if save_memory.idempotency_key is not null then
    update public.idempotency_keys k
    set packet_id = saved.packet_id, status = answer.status
    where k.tenant_id = me.tenant_id and k.caller = me.caller and k.idempotency_key = save_memory.idempotency_key;
  end if;
  answer.memory := saved;
  return answer;
end
$$;

comment on function public.save_memory(
  text, text, text, text, text[], text, uuid[], timestamptz, real, jsonb, jsonb, jsonb, jsonb, text, text, text, text, text,
  extensions.vector, text) is
  'Saves a memory. The status is inserted, or skipped_dedupe with the existing memory if one with the same content (ignoring case and white space) exists in this scope, project and kind. on_similar controls near-duplicates: keep saves and reports them, skip saves nothing, merge joins the two; null does not search for them. content_vector, of the given model, lets the search compare meaning too. The writer comes from the caller''s identity. Errors: L9SCP, L9VAL, L9LIM, L9AUT.';
grant execute on function public.save_memory(
  text, text, text, text, text[], text, uuid[], timestamptz, real, jsonb, jsonb, jsonb, jsonb, text, text, text, text, text,
  extensions.vector, text)
  to l9_agent, l9_admin;
--! EndIncluded 080-memories/040-save-memory.sql
--! Included 080-memories/050-get-memory.sql
create function public.get_memory(packet_id uuid)
returns public.packet_store
language plpgsql
volatile
set search_path = ''
as $$
declare
  memory public.packet_store;
begin
  perform identity.require_identity();
  select p.* into memory from public.packet_store p where p.packet_id = get_memory.packet_id;
  if not found then
    perform memories.raise_not_yours(get_memory.packet_id);
  end if;
  perform audit.audit_read('READ', '{}', memory.packet_id, memory.project_id, memory.scope);
  perform importance.log_accesses('get', array[memory.packet_id], array[memory.scope], array[memory.project_id]);
  return memory;
end
$$;

comment on function public.get_memory(uuid) is
  'Returns one memory in full. Writes an audit row and an access log row. L9OWN if the memory does not exist or is not visible; the two cases give the same error.';
grant execute on function public.get_memory(uuid) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 080-memories/050-get-memory.sql
--! Included 080-memories/060-update-memory.sql
create function public.update_memory(
  packet_id uuid,
  content text default null,
  scope text default null,
  project_id text default null,
  kind text default null,
  tags text[] default null,
  thread_id text default null,
  parent_ids uuid[] default null,
  ttl timestamptz default null,
  importance real default null,
  metadata jsonb default null,
  envelope jsonb default null
)
returns public.save_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  old_row public.packet_store;
  saved public.packet_store;
  answer public.save_result;
  new_scope text;
  new_project text;
begin
  -- Under row-level security FOR UPDATE finds only rows that the caller may change.
  select p.* into old_row from public.packet_store p where p.packet_id = update_memory.packet_id for update;
  if not found then
    perform memories.raise_not_yours(update_memory.packet_id);
  end if;
  if update_memory.ttl <= now() then
    perform identity.raise_error('L9VAL', 'ttl: must be in the future; delete the memory instead', 'ttl');
  elsif jsonb_typeof(update_memory.envelope) <> 'object' then
    perform identity.raise_error('L9VAL', 'envelope: must be an object', 'envelope');
  elsif jsonb_typeof(update_memory.metadata) <> 'object' then
    perform identity.raise_error('L9VAL', 'metadata: must be an object', 'metadata');
  end if;
  new_scope := coalesce(update_memory.scope, old_row.scope);
  -- A memory that moves to a scope without projects loses its project.
  new_project := case
    when update_memory.project_id is not null then update_memory.project_id
    when update_memory.scope is null or packets.scope_has_projects(new_scope) then old_row.project_id
  end;

  begin
    update public.packet_store p set
      envelope = p.envelope || coalesce(update_memory.envelope, '{}')
        || jsonb_build_object('content', coalesce(update_memory.content, p.envelope ->> 'content')),
      scope = new_scope,
      project_id = new_project,
      packet_type = coalesce(kind, p.packet_type),
      tags = coalesce(update_memory.tags, p.tags),
      thread_id = coalesce(update_memory.thread_id, p.thread_id),
      parent_ids = coalesce(update_memory.parent_ids, p.parent_ids),
      ttl = nullif(coalesce(update_memory.ttl, p.ttl), 'infinity'),
      importance_score = coalesce(importance, p.importance_score),
      metadata = p.metadata || coalesce(update_memory.metadata, '{}')
    where p.packet_id = update_memory.packet_id
    returning p.* into saved;
  exception when unique_violation then
    perform identity.raise_error('L9VAL', 'content: another memory of this scope, project and kind already has this content', 'content');
  end;
  answer.status := 'updated';
  answer.memory := saved;
  return answer;
end
$$;

comment on function public.update_memory(
  uuid, text, text, text, text, text[], text, uuid[], timestamptz, real, jsonb, jsonb) is
  'Changes the given fields of a memory and leaves the others; ttl infinity removes the expiry. Changed content is embedded again. Agents may change only what they wrote; otherwise, or if the memory does not exist, L9OWN. Errors: L9OWN, L9SCP, L9VAL, L9LIM, L9AUT.';

grant execute on function public.update_memory(
  uuid, text, text, text, text, text[], text, uuid[], timestamptz, real, jsonb, jsonb) to l9_agent, l9_admin;
--! EndIncluded 080-memories/060-update-memory.sql
--! Included 080-memories/070-delete-memory.sql
create function public.delete_memory(packet_id uuid)
returns uuid
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
begin
  perform identity.require_identity();
  delete from public.packet_store p where p.packet_id = delete_memory.packet_id;
  if not found then
    perform memories.raise_not_yours(delete_memory.packet_id);
  end if;
  return delete_memory.packet_id;
end
$$;

comment on function public.delete_memory(uuid) is
  'Deletes a memory and everything derived from it, and returns its id. Agents may delete only what they wrote; otherwise, or if the memory does not exist, L9OWN.';

grant execute on function public.delete_memory(uuid) to l9_agent, l9_admin;
--! EndIncluded 080-memories/070-delete-memory.sql
--! Included 080-memories/080-delete-expired-memories.sql
create function memories.delete_expired(
  max_rows integer, me identity.identity default null)
returns table (of_tenant uuid, deleted bigint)
language plpgsql
volatile
set search_path = ''
as $$
begin
  if max_rows is null or max_rows not between 1 and 100000 then
    perform identity.raise_error('L9VAL', 'max_rows: must be from 1 to 100000', 'max_rows');
  end if;
  return query
  with expired as (
    select p.packet_id from public.packet_store p
    where p.ttl <= now()
      and ((me).caller is null
        or p.tenant_id = (me).tenant_id and identity.may_write(me, p.project_id, p.scope)
          -- Agents clean up the memories of their org and user, admins those of the whole tenant.
          and ((me).role = 'l9_admin' or (
            (p.org_id is null or p.org_id = (me).org_id) and (p.user_id is null or p.user_id = (me).user_id))))
    order by p.ttl
    limit max_rows
    -- Rows locked by another cleanup or a job are skipped.
    for update skip locked
  ), removed as (
    delete from public.packet_store p using expired where p.packet_id = expired.packet_id returning p.tenant_id
  )
  select g.tenant_id, count(*) from removed g group by g.tenant_id;
end
$$;

comment on function memories.delete_expired(integer, identity.identity) is
  'Deletes expired memories, the oldest first, and returns how many in each tenant. An identity restricts it to the memories in that identity''s reach; without one it covers all. Not executable by callers: the two functions that call it check who may.';

create function public.delete_expired_memories(max_rows integer default 10000)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
  deleted bigint;
begin
  if not me.can_clean_up then
    perform identity.raise_error('L9SCP', 'delete_expired_memories: you are not allowed to clean up expired memories');
  end if;
  select coalesce(sum(d.deleted), 0) into deleted
  from memories.delete_expired(max_rows, me) d;
  perform audit.write_audit('CLEANUP', 'packet_store', details => jsonb_build_object('deleted', deleted, 'max_rows', max_rows));
  return deleted;
end
$$;

comment on function public.delete_expired_memories(integer) is
  'Deletes expired memories of the caller''s tenant, org, user (for an admin: the whole tenant), scopes and projects, the oldest first and at most max_rows (1 to 100000); returns how many. L9SCP unless the actor may clean up. Definer: expired memories are hidden from everyone.';

create function memories.delete_expired_batch(max_rows integer default 1000)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  tenant_result record;
  deleted bigint := 0;
begin
  for tenant_result in select g.of_tenant, g.deleted from memories.delete_expired(max_rows) g loop
    perform audit.write_audit_of_tenant(tenant_result.of_tenant, 'CLEANUP', 'packet_store',
      details => jsonb_build_object('deleted', tenant_result.deleted, 'max_rows', max_rows));
    deleted := deleted + tenant_result.deleted;
  end loop;
  return deleted;
end
$$;

comment on function memories.delete_expired_batch(integer) is
  'The scheduled cleanup: deletes expired memories of every tenant, the oldest first and at most max_rows (1 to 100000), returns how many and audits them in each tenant. Fewer than max_rows means that only rows locked by others are left. Definer: expired memories are hidden from everyone.';

grant execute on function public.delete_expired_memories(integer) to l9_agent, l9_admin;
grant execute on function memories.delete_expired_batch(integer) to l9_worker;
--! EndIncluded 080-memories/080-delete-expired-memories.sql
--! Included 080-memories/090-memory-history.sql
create type public.memory_change as (
  version integer,
  version_id uuid,
  changed_at timestamptz,
  until timestamptz,
  creator text,
  source text,
  tool_name text,
  changed_fields text[],
  content text,
  state jsonb
);

comment on type public.memory_change is 'One state of a memory: who wrote it, when, and what the change was.';
comment on column public.memory_change.version is
  'The number of the state, counted from 1 for the oldest that the caller may see; the highest is the present state.';
comment on column public.memory_change.version_id is 'The version; null for the present state.';
comment on column public.memory_change.changed_at is 'Start of the period in which the memory had this state.';
comment on column public.memory_change.until is 'When this state was replaced; null for the present state.';
comment on column public.memory_change.creator is 'The writer of this state.';
comment on column public.memory_change.source is 'The source of the writer.';
comment on column public.memory_change.tool_name is
  'The tool or mutation that wrote this state; null if the caller may not see the state that it replaced.';
comment on column public.memory_change.changed_fields is
  'The fields that differ from the previous state, named like the parameters of save_memory, and creator; empty for the oldest state.';
comment on column public.memory_change.content is 'The text in this state.';
comment on column public.memory_change.state is 'The other fields of this state, named like the parameters of save_memory.';

create function public.memory_history(packet_id uuid, max_versions integer default 100)
returns setof public.memory_change
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  current_row public.packet_store;
begin
  perform identity.require_identity();
  if max_versions is null or max_versions not between 1 and 1000 then
    perform identity.raise_error('L9VAL', 'max_versions: must be from 1 to 1000', 'max_versions');
  end if;
  select p.* into current_row from public.packet_store p where p.packet_id = memory_history.packet_id;
  if not found then
    perform memories.raise_not_yours(memory_history.packet_id);
  end if;
  perform audit.audit_read('READ', '{"history": true}', current_row.packet_id, current_row.project_id, current_row.scope);

  return query
  with states as (
    select v.version_id, v.valid_from, v.valid_until, v.replaced_with, v.content, jsonb_build_object(
      'kind', v.packet_type, 'scope', v.scope, 'project_id', v.project_id, 'tags', v.tags, 'metadata', v.metadata,
      'envelope', v.envelope - 'content', 'routing', v.routing, 'provenance', v.provenance, 'thread_id', v.thread_id,
      'parent_ids', v.parent_ids, 'importance', v.importance_score, 'ttl', v.ttl, 'correlation_id', v.correlation_id,
      'session_id', v.session_id, 'trace_id', v.trace_id) as memory
    from public.packet_versions v
    where v.packet_id = memory_history.packet_id
    union all
    select null, current_row.updated_at, null, null, current_row.envelope ->> 'content',
      memories.memory_json(current_row) - array['packet_id', 'content', 'timestamp', 'updated_at']
  ), numbered as (
    select s.version_id, s.valid_from as changed_at, s.valid_until, s.content, s.memory,
      row_number() over past as place,
      -- The previous state here is the previous visible one, which need not be the state that was replaced.
      lag(s.valid_until) over past as previous_until,
      lag(s.replaced_with) over past as previous_replaced_with,
      lag(s.content) over past as previous_content,
      lag(s.memory) over past as previous_memory
    from states s
    window past as (order by s.version_id nulls last)
  )
  select
    p.place::integer, p.version_id, p.changed_at, p.valid_until, p.memory -> 'metadata' ->> 'creator',
    p.memory -> 'metadata' ->> 'source',
    case
      when p.previous_until = p.changed_at then p.previous_replaced_with
      when p.changed_at = current_row."timestamp" then p.memory -> 'metadata' ->> 'tool_name'
    end,
    case when p.previous_memory is null then '{}' else array(
      select f.name
      from (
        select 'content', p.content is distinct from p.previous_content
        union all
        select 'creator', p.memory -> 'metadata' -> 'creator' is distinct from p.previous_memory -> 'metadata' -> 'creator'
        union all
        select 'metadata', (p.memory -> 'metadata') - array['creator', 'source']
          is distinct from (p.previous_memory -> 'metadata') - array['creator', 'source']
        union all
        select m.key, m.value is distinct from p.previous_memory -> m.key from jsonb_each(p.memory) as m where m.key <> 'metadata'
      ) as f (name, is_changed)
      where f.is_changed
      order by f.name) end,
    p.content, p.memory
  from numbered p
  order by p.place desc
  limit max_versions;
end
$$;

comment on function public.memory_history(uuid, integer) is
  'Returns who changed a memory, which fields and when: its states, the newest first, at most max_versions (1 to 1000). A state is listed if the caller may see both the memory and that state. Writes an audit row. L9OWN if the memory does not exist or is not visible.';

grant execute on function public.memory_history(uuid, integer) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 080-memories/090-memory-history.sql
--! Included 080-memories/100-memory-stats.sql
create type public.memory_stats as (
  total bigint,
  by_kind jsonb,
  by_scope jsonb,
  by_project jsonb,
  by_creator jsonb,
  embedded bigint,
  awaiting_embedding bigint,
  oldest timestamptz,
  newest timestamptz
);

comment on type public.memory_stats is 'Counts of the memories that the caller may read, and of no others.';
comment on column public.memory_stats.total is 'The number of memories.';
comment on column public.memory_stats.oldest is 'When the oldest memory was saved.';
comment on column public.memory_stats.newest is 'When the newest memory was saved.';
comment on column public.memory_stats.by_kind is 'An object of kind and count.';
comment on column public.memory_stats.by_scope is 'An object of scope and count.';
comment on column public.memory_stats.by_project is
  'An object of project and count; memories without a project are not included.';
comment on column public.memory_stats.by_creator is 'An object of creator and count.';
comment on column public.memory_stats.embedded is 'The number of memories that can be found by meaning.';
comment on column public.memory_stats.awaiting_embedding is
  'The number of memories that can be found only by words until their vectors are stored.';

create function public.get_memory_stats(project_id text default null)
returns public.memory_stats
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  stats public.memory_stats;
begin
  perform identity.require_identity();
  with readable as (
    select p.packet_id, p.packet_type, p.scope, p.project_id, p.metadata ->> 'creator' as creator, p."timestamp",
      exists (
        select from public.memory_embeddings e
        where e.packet_id = p.packet_id and e.embedding_type = 'content'
          and e.model = (select embeddings.serving_model())) as is_embedded
    from public.packet_store p
    where (p.ttl is null or p.ttl > now())
      and (get_memory_stats.project_id is null or p.project_id = get_memory_stats.project_id)
  ), counts as (
    select grouping(packet_type) = 0 as is_kind, grouping(scope) = 0 as is_scope, grouping(project_id) = 0 as is_project,
      grouping(creator) = 0 as is_creator,
      coalesce(packet_type, scope, project_id, creator) as name, count(*) as n,
      count(*) filter (where is_embedded) as embedded, min("timestamp") as oldest, max("timestamp") as newest
    from readable
    group by grouping sets ((), (packet_type), (scope), (project_id), (creator))
  )
  select
    max(n) filter (where not (is_kind or is_scope or is_project or is_creator)),
    coalesce(jsonb_object_agg(name, n) filter (where is_kind), '{}'),
    coalesce(jsonb_object_agg(name, n) filter (where is_scope), '{}'),
    coalesce(jsonb_object_agg(name, n) filter (where is_project and name is not null), '{}'),
    coalesce(jsonb_object_agg(name, n) filter (where is_creator), '{}'),
    max(embedded) filter (where not (is_kind or is_scope or is_project or is_creator)),
    max(n - embedded) filter (where not (is_kind or is_scope or is_project or is_creator)),
    min(oldest), max(newest)
  into stats
  from counts;
  perform audit.audit_read(
    'STATS', jsonb_strip_nulls(jsonb_build_object('project_id', get_memory_stats.project_id, 'total', stats.total)),
    project_id => get_memory_stats.project_id);
  return stats;
end
$$;

comment on function public.get_memory_stats(text) is
  'Counts the memories that the caller may read, in one project or in all. Writes an audit row.';

grant execute on function public.get_memory_stats(text) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 080-memories/100-memory-stats.sql
--! Included 090-derived/000-schema.sql
create schema derived;
comment on schema derived is
  'Shared by all tables whose rows are derived from memories: their triggers, and the lock of the source memory. The helpers are not exposed over GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema derived to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 090-derived/000-schema.sql
--! Included 090-derived/010-definer-sources.sql
-- Functions of the owner derive rows from memories of other writers: they see, and lock, the memories that the caller
-- sees.

do $$
begin
  execute format($sql$
    create policy definer_sources on public.packet_store for select to l9_owner
    using (
      (ttl is null or ttl > now()) and (select identity.current_role_name()) = 'l9_worker'
      or (select identity.current_role_name()) in ('l9_agent', 'l9_admin') and %s and (ttl is null or ttl > now()))$sql$,
    identity.definer_condition());
end
$$;
create policy definer_source_locks on public.packet_store for update to l9_owner
  using (
    (select identity.current_role_name()) = 'l9_worker'
    or (select identity.current_role_name()) in ('l9_agent', 'l9_admin')
      and tenant_id = (select identity.current_tenant_id()))
  with check (false);

comment on policy definer_sources on public.packet_store is
  'Functions of the owner see the memories that the caller sees, to derive rows from them; for jobs, all memories that have not expired.';
comment on policy definer_source_locks on public.packet_store is
  'Functions of the owner lock a memory that the caller sees while they derive from it. They can''t change any.';

create function derived.is_source(memory public.packet_store)
returns boolean
language sql
stable
set search_path = ''
-- Other policies show the owner more: expired memories for cleanup, and a whole tenant for erasure.
return case
  when identity.current_role_name() = 'l9_worker' then (memory).ttl is null or (memory).ttl > pg_catalog.now()
  when identity.current_role_name() in ('l9_agent', 'l9_admin') then
    ((memory).ttl is null or (memory).ttl > pg_catalog.now())
    and identity.may_read(identity.current_identity(),
      (memory).tenant_id, (memory).org_id, (memory).user_id, (memory).project_id, (memory).scope)
  else true
end;

comment on function derived.is_source(public.packet_store) is
  'True if the caller sees a memory and may derive from it; the condition is that of policy definer_sources. Functions of the owner check it for each memory named to them. It is always true for migrations, which import old memories. Not executable by callers.';
--! EndIncluded 090-derived/010-definer-sources.sql
--! Included 090-derived/020-lock-source-memory.sql
create function derived.lock_source_memory(packet_id uuid, field text default 'source_packet')
returns public.packet_store
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source public.packet_store;
begin
  -- The lock makes a concurrent move to other readers wait, and that move then also moves the new row; a move that came
  -- first is read here.
  select p.* into source from public.packet_store p where p.packet_id = lock_source_memory.packet_id and derived.is_source(p) for share;
  if not found then
    perform identity.raise_error('L9OWN', format('%s: memory %s does not exist, or is not yours', field, lock_source_memory.packet_id), field);
  end if;
  if identity.current_role_name() in ('l9_agent', 'l9_admin') then
    perform packets.check_scope(source.scope, source.project_id);
  end if;
  return source;
end
$$;

comment on function derived.lock_source_memory(uuid, text) is
  'Returns the memory that a row is derived from, locked until the end of the transaction. L9OWN unless the caller sees it; L9SCP unless the caller may write in its scope and project. Not executable by callers: functions of the owner call it. Definer: locks memories of other writers.';
--! EndIncluded 090-derived/020-lock-source-memory.sql
--! Included 090-derived/025-packet-for.sql
create function derived.packet_for(
  kind text, content text, scope text, project_id text, source_packet uuid, envelope jsonb default '{}')
returns uuid
language sql
volatile
set search_path = ''
return coalesce(source_packet, ((public.save_memory(
  content => content, scope => scope, project_id => project_id, kind => kind, envelope => envelope)).memory).packet_id);

comment on function derived.packet_for(text, text, text, text, uuid, jsonb) is
  'The memory that something is to be derived from: source_packet or, if it is null, a new memory of this kind and content. Runs with the rights of the caller.';

grant execute on function derived.packet_for(text, text, text, text, uuid, jsonb) to l9_agent, l9_admin;
--! EndIncluded 090-derived/025-packet-for.sql
--! Included 090-derived/030-triggers.sql
-- derive_from_packets() puts these triggers on each table. Their first argument is the column that names the source.

create function derived.tg__take_from_source()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  source public.packet_store := derived.lock_source_memory((to_jsonb(new) ->> tg_argv[0])::uuid, tg_argv[0]);
begin
  new.tenant_id := source.tenant_id;
  new.org_id := source.org_id;
  new.user_id := source.user_id;
  new.project_id := source.project_id;
  new.scope := source.scope;
  new.ttl := source.ttl;
  new.creator := coalesce(identity.current_creator(), 'job');
  new.created_at := clock_timestamp();
  new.updated_at := new.created_at;
  return new;
end
$$;

comment on function derived.tg__take_from_source() is
  'Copies owner, project, scope and expiry from the source memory to a derived row, and records who derived it. Definer: reads and locks the source.';

create function derived.tg_packet_store__derived_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  execute format(
    'update public.%I d set tenant_id = $1, org_id = $2, user_id = $3, project_id = $4, scope = $5, ttl = $6, updated_at = clock_timestamp()
     where d.%I = $7', tg_argv[0], tg_argv[1])
  using new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope, new.ttl, new.packet_id;
  return null;
end
$$;

comment on function derived.tg_packet_store__derived_follow() is
  'Copies a memory''s new owner, project, scope and expiry to the rows derived from it. Arguments: the table, its column that names the source. Definer: callers can''t write these tables.';

create function derived.tg__audit_derived()
returns trigger
language plpgsql
security definer
set search_path = ''
-- As for packets, a plan cached for a few rows must not be used for a thousand.
set enable_nestloop = off
as $$
declare
  actor jsonb := audit.audit_actor();
begin
  if tg_op = 'INSERT' then
    insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
    select 'INSERT', tg_table_name, (n.row ->> tg_argv[1])::uuid, (n.row ->> 'tenant_id')::uuid, n.row ->> 'project_id', n.row ->> 'scope',
      jsonb_build_object('source_packet', n.row -> tg_argv[0]) || actor
    from (select to_jsonb(new_rows) as row from new_rows) n;
  elsif tg_op = 'DELETE' then
    insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
    select 'DELETE', tg_table_name, (o.row ->> tg_argv[1])::uuid, (o.row ->> 'tenant_id')::uuid, o.row ->> 'project_id', o.row ->> 'scope',
      jsonb_build_object('source_packet', o.row -> tg_argv[0]) || actor
    from (select to_jsonb(old_rows) as row from old_rows) o;
  else
    -- Counters that jobs keep leave updated_at unchanged and are not audited.
    insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
    select 'UPDATE', tg_table_name, (n.row ->> tg_argv[1])::uuid, (n.row ->> 'tenant_id')::uuid, n.row ->> 'project_id', n.row ->> 'scope',
      jsonb_build_object('source_packet', n.row -> tg_argv[0])
        || case when n.row -> 'scope' <> o.row -> 'scope' then jsonb_build_object('was_scope', o.row -> 'scope') else '{}' end
        || actor
    from (select to_jsonb(new_rows) as row from new_rows) n
    join (select to_jsonb(old_rows) as row from old_rows) o on o.row -> tg_argv[1] = n.row -> tg_argv[1]
    where n.row -> 'updated_at' is distinct from o.row -> 'updated_at';
  end if;
  return null;
end
$$;

comment on function derived.tg__audit_derived() is
  'Writes one audit row for each derived row written, without contents. Arguments: the column that names the source, the key. Definer: callers can''t insert into audit_log.';
--! EndIncluded 090-derived/030-triggers.sql
--! Included 090-derived/040-follow-packets.sql
create procedure derived.follow_packets(trigger_name text, function_name text, variadic arguments text[] default '{}')
language plpgsql
set search_path = ''
as $$
begin
  execute format($sql$
    create trigger %I after update on public.packet_store for each row
    when (
      (new.tenant_id, new.scope) is distinct from (old.tenant_id, old.scope)
      or new.org_id is distinct from old.org_id
      or new.user_id is distinct from old.user_id
      or new.project_id is distinct from old.project_id
      or new.ttl is distinct from old.ttl)
    execute function %s(%s)$sql$,
    trigger_name, function_name,
    (select string_agg(quote_literal(a.argument), ', ' order by a.place) from unnest(arguments) with ordinality as a (argument, place)));
end
$$;

comment on procedure derived.follow_packets(text, text, text[]) is
  'Creates a trigger that runs a trigger function (named with its schema) for each memory whose readers or expiry change. Run by migrations only.';
--! EndIncluded 090-derived/040-follow-packets.sql
--! Included 090-derived/050-derive-from-packets.sql
create procedure derived.derive_from_packets(
  derived regclass,
  key_column text,
  source_column text default 'source_packet',
  follows boolean default true,
  takes_from_source boolean default true
)
language plpgsql
set search_path = ''
as $$
declare
  name text := (select c.relname from pg_class c where c.oid = derived);
  described record;
begin
  call identity.protect_like_memories(derived);
  execute format('create policy worker_access on %s for select to l9_worker using (true)', derived);
  execute format('comment on policy worker_access on %s is %L', derived, 'Background jobs read all rows.');
  execute format($sql$
    create policy definer_functions on %s to l9_owner
    using ((select identity.current_role_name()) not in ('l9_agent', 'l9_admin') or %s)$sql$, derived, identity.definer_condition());
  execute format('comment on policy definer_functions on %s is %L', derived,
    'Functions of the owner see and write, for an agent or an admin, rows within its claims, expired or not; for jobs and operators, all rows.');
  execute format('grant select on %s to l9_agent, l9_admin, l9_platform_admin, l9_worker', derived);
  execute format('grant maintain on %s to l9_worker', derived);

  for described in
    select * from (values
      ('tenant_id', 'The tenant of the source memory.'),
      ('org_id', 'The org of the source memory.'),
      ('user_id', 'The user of the source memory.'),
      ('project_id', 'The project of the source memory.'),
      ('scope', 'The scope of the source memory; it decides who may read the row.'),
      ('ttl', 'The expiry of the source memory; after it nobody can read the row.'),
      ('creator', 'Who derived the row: the creator name of the caller, or job.'),
      ('created_at', 'When the row was first derived.'),
      ('updated_at', 'When the row last changed, or moved with its source memory.')
    ) as c (name, description)
  loop
    execute format('comment on column %s.%I is %L', derived, described.name, described.description);
  end loop;

  if takes_from_source then
    execute format('create trigger _300_take_from_source before insert on %s for each row
      execute function derived.tg__take_from_source(%L)', derived, source_column);
  end if;
  execute format('create trigger _500_audit_insert after insert on %s referencing new table as new_rows for each statement
    execute function derived.tg__audit_derived(%L, %L)', derived, source_column, key_column);
  execute format('create trigger _500_audit_update after update on %s referencing old table as old_rows new table as new_rows for each statement
    execute function derived.tg__audit_derived(%L, %L)', derived, source_column, key_column);
  execute format('create trigger _500_audit_delete after delete on %s referencing old table as old_rows for each statement
    execute function derived.tg__audit_derived(%L, %L)', derived, source_column, key_column);
  if follows then
    call derived.follow_packets('_620_' || name || '_follow', 'derived.tg_packet_store__derived_follow', name, source_column);
  end if;
end
$$;

comment on procedure derived.derive_from_packets(regclass, text, text, boolean, boolean) is
  'Makes a table one of rows derived from memories. It creates the policies and read grants that all such tables have, comments, and triggers that copy owner, project, scope and expiry from the source (unless takes_from_source is false and the table has a trigger of its own), audit each write, and (follows) keep rows in step with their source. The table needs source_column (not null, references packet_store on delete cascade), tenant_id, org_id, user_id, project_id, scope, ttl, creator, created_at, updated_at and a uuid key. Run by migrations only.';
--! EndIncluded 090-derived/050-derive-from-packets.sql
--! Included 100-entities/000-schema.sql
create schema entities;
comment on schema entities is
  'Names of entities and their aliases. The helpers are not exposed over GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema entities to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 100-entities/000-schema.sql
--! Included 100-entities/010-names.sql
create function entities.normalise_name(name text)
returns text
language sql
immutable
parallel safe
strict
set search_path = ''
return pg_catalog.lower(pg_catalog.btrim(pg_catalog.regexp_replace(
  pg_catalog.normalize(name, 'NFKC'), '\s+', ' ', 'g')));

comment on function entities.normalise_name(text) is
  'Returns the form in which names are compared: Unicode NFKC, lower case, white space trimmed and collapsed.';

create function entities.max_name_bytes()
returns integer
language sql
immutable
parallel safe
set search_path = ''
return 1000;

comment on function entities.max_name_bytes() is 'The length of a name in bytes, as given and normalised, at most.';

create function entities.check_name(name text, field text)
returns text
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  normalised text := entities.normalise_name(name);
begin
  if coalesce(normalised, '') = '' then
    perform identity.raise_error('L9VAL', format('%s: a name is required', field), field);
  end if;
  perform identity.check_bytes(name, entities.max_name_bytes(), field),
    identity.check_bytes(normalised, entities.max_name_bytes(), field);
  return normalised;
end
$$;

comment on function entities.check_name(text, text) is
  'Returns normalise_name() of a name. Raises L9VAL for this field if the name is missing or blank, L9LIM if it is longer than 1000 bytes.';

create function entities.check_names(names text[], field text)
returns text[]
language sql
immutable
parallel safe
set search_path = ''
return array(
  select checked.name
  from pg_catalog.unnest(names) with ordinality as input (name, place)
  cross join lateral (select entities.check_name(input.name, field) as name) checked
  group by checked.name order by pg_catalog.min(input.place));

comment on function entities.check_names(text[], text) is
  'Returns check_name() of each name, without duplicates, in the order of the list.';

grant execute on function
  entities.normalise_name(text), entities.max_name_bytes(), entities.check_name(text, text), entities.check_names(text[], text)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 100-entities/010-names.sql
--! Included 100-entities/020-confidence.sql
create function entities.check_confidence(confidence double precision, field text default 'confidence')
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if confidence is null or not confidence between 0 and 1 then
    perform identity.raise_error('L9VAL', format('%s: must be a number from 0 to 1', field), field);
  end if;
end
$$;

comment on function entities.check_confidence(double precision, text) is
  'Raises L9VAL for this field unless the confidence is a number from 0 to 1.';

grant execute on function entities.check_confidence(double precision, text) to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create function entities.noisy_or(
  confidences double precision[], highest double precision default 0.99, digits integer default 9)
returns double precision
language sql
immutable
parallel safe
set search_path = ''
return (
  -- Rounded, so that the result does not depend on the order in which the logarithms are added. The bounds keep ln() and
  -- exp() from failing on a confidence of 1; they change nothing within these digits.
  select pg_catalog.round(
    least(highest, 1 - pg_catalog.exp(greatest(coalesce(sum(pg_catalog.ln(greatest(1 - c.confidence, 1e-99))), 0), -99)))::numeric,
    digits)::double precision
  from pg_catalog.unnest(confidences) as c (confidence));

comment on function entities.noisy_or(double precision[], double precision, integer) is
  'Returns the combined confidence of independent statements: 1 - Π(1 - c) over their confidences c, at most highest, rounded to so many digits after the point. A result that is combined again later should keep 15.';

grant execute on function entities.noisy_or(double precision[], double precision, integer)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 100-entities/020-confidence.sql
--! Included 100-entities/030-entity-aliases.sql
create table public.entity_aliases (
  alias_id uuid primary key default uuidv7(),
  alias text not null,
  entity text not null,
  alias_normalized text not null,
  entity_normalized text not null,
  source_packet uuid not null references public.packet_store on delete cascade,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (tenant_id, scope) references public.scopes (tenant_id, scope),
  constraint alias_of_another_name check (alias_normalized <> entity_normalized)
);

alter table public.entity_aliases
  alter column alias set statistics 0, alter column entity set statistics 0,
  alter column alias_normalized set statistics 0, alter column entity_normalized set statistics 0;

comment on table public.entity_aliases is
  'Other names of entities: one row for each memory that states an alias. Readers of facts and relationships resolve aliases one step far at query time; stored names are never rewritten. add_alias() writes this table.';
comment on column public.entity_aliases.alias_id is 'UUID version 7.';
comment on column public.entity_aliases.alias is 'The other name, as the memory spells it.';
comment on column public.entity_aliases.entity is 'The entity that the alias names, as the memory spells it.';
comment on column public.entity_aliases.alias_normalized is
  'The alias in the form in which names are compared: Unicode NFKC, lower case, white space collapsed.';
comment on column public.entity_aliases.entity_normalized is
  'The entity in the form in which names are compared: Unicode NFKC, lower case, white space collapsed.';
comment on column public.entity_aliases.source_packet is 'The memory that states the alias.';

call derived.derive_from_packets('public.entity_aliases', 'alias_id');

create unique index alias_unique_of_packet on public.entity_aliases (source_packet, alias_normalized);
create index entity_aliases_alias_idx on public.entity_aliases (tenant_id, alias_normalized, scope);
create index entity_aliases_entity_idx on public.entity_aliases (tenant_id, entity_normalized, scope);
create index entity_aliases_readers_idx on public.entity_aliases (tenant_id, scope, alias_id);

comment on index public.alias_unique_of_packet is 'A memory gives a name at most one meaning.';
--! EndIncluded 100-entities/030-entity-aliases.sql
--! Included 100-entities/040-names-of.sql
create function entities.max_aliases()
returns integer
language sql
immutable
parallel safe
set search_path = ''
return 100;

comment on function entities.max_aliases() is 'The number of aliases of one entity that are resolved at most, the oldest first.';

create function entities.names_of(entity text)
returns text[]
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  given_name constant text := entities.normalise_name(entity);
  -- Jobs belong to no tenant, so for them an entity has only the given name.
  tenant constant uuid := identity.current_tenant_id();
begin
  return array(
    with canonical as (
      select given_name as name
      union
      select a.entity_normalized from public.entity_aliases a
      where a.tenant_id = tenant and a.alias_normalized = given_name and (a.ttl is null or a.ttl > now())
    )
    select c.name from canonical c where c.name is not null
    union
    (select a.alias_normalized from public.entity_aliases a join canonical c on c.name = a.entity_normalized
     where a.tenant_id = tenant and (a.ttl is null or a.ttl > now())
     order by a.created_at
     limit entities.max_aliases()));
end
$$;

comment on function entities.names_of(text) is
  'Returns all names of an entity, normalised: the given name, the entity that it is an alias of, and the aliases of both (at most 100), as far as the caller can read them.';

grant execute on function entities.max_aliases(), entities.names_of(text) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 100-entities/040-names-of.sql
--! Included 100-entities/050-add-alias.sql
create function entities.add_alias_from(packet_id uuid, alias text, entity text)
returns public.entity_aliases
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  alias_name constant text := entities.check_name(add_alias_from.alias, 'alias');
  entity_name constant text := entities.check_name(add_alias_from.entity, 'entity');
  memory public.packet_store;
  conflicting public.entity_aliases;
  saved public.entity_aliases;
begin
  if alias_name = entity_name then
    perform identity.raise_error('L9VAL', 'alias: must differ from the entity''s own name', 'alias');
  end if;
  memory := derived.lock_source_memory(add_alias_from.packet_id);
  -- The rule below spans rows, so writers of one audience take turns.
  perform pg_advisory_xact_lock(hashtextextended(format('l9-memory aliases %s',
    packets.audience_id(memory.tenant_id, memory.org_id, memory.user_id, memory.project_id, memory.scope)), 0));
  for conflicting in
    select a.* from public.entity_aliases a
    where a.tenant_id = memory.tenant_id and a.scope = memory.scope
      and a.project_id is not distinct from memory.project_id
      and a.org_id is not distinct from memory.org_id
      and a.user_id is not distinct from memory.user_id
      and (a.ttl is null or a.ttl > now())
      and (a.alias_normalized in (alias_name, entity_name) or a.entity_normalized = alias_name)
      and (a.alias_normalized, a.entity_normalized) <> (alias_name, entity_name)
    order by a.created_at
    limit 1
  loop
    -- Readers resolve one step only, so an alias of an alias would be found from one end only.
    if conflicting.alias_normalized = alias_name then
      perform identity.raise_error('L9VAL', format('alias: is already a name of %s', conflicting.entity), 'alias');
    elsif conflicting.alias_normalized = entity_name then
      perform identity.raise_error('L9VAL', format('entity: is itself an alias; use the entity %s', conflicting.entity), 'entity');
    else
      perform identity.raise_error('L9VAL', format('alias: has aliases of its own, such as %s; use it as the entity', conflicting.alias), 'alias');
    end if;
  end loop;

  insert into public.entity_aliases (alias, entity, alias_normalized, entity_normalized, source_packet)
  values (btrim(add_alias_from.alias), btrim(add_alias_from.entity), alias_name, entity_name, add_alias_from.packet_id)
  on conflict (source_packet, alias_normalized) do nothing
  returning * into saved;
  if not found then
    select a.* into saved from public.entity_aliases a
    where a.source_packet = add_alias_from.packet_id and a.alias_normalized = alias_name;
  end if;
  return saved;
end
$$;

comment on function entities.add_alias_from(uuid, text, text) is
  'Stores an alias that a memory states, for a caller who can read the memory and write in its scope, or for a job. Errors: L9OWN, L9SCP, L9VAL, L9LIM. Definer: callers can''t write the table.';

create function public.add_alias(
  alias text,
  entity text,
  source_packet uuid default null,
  scope text default 'developer',
  project_id text default null
)
returns public.entity_aliases
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  packet_id uuid := add_alias.source_packet;
begin
  perform identity.require_identity();
  perform entities.check_name(add_alias.alias, 'alias'), entities.check_name(add_alias.entity, 'entity');
  if packet_id is null then
    packet_id := ((public.save_memory(
      format('%s is another name of %s', btrim(add_alias.alias), btrim(add_alias.entity)),
      add_alias.scope, add_alias.project_id, kind => 'fact')).memory).packet_id;
  end if;
  return entities.add_alias_from(packet_id, add_alias.alias, add_alias.entity);
end
$$;

comment on function public.add_alias(text, text, uuid, text, text) is
  'States that alias is another name of entity, so that facts and relationships of either name are found by both. A name is an alias of only one entity, and an alias has no aliases. source_packet: the memory that states the alias and decides where it is visible; if it is left out, a memory of kind fact is saved in scope and project_id. Errors: L9VAL, L9LIM, L9SCP, L9OWN, L9AUT.';

grant execute on function entities.add_alias_from(uuid, text, text) to l9_agent, l9_admin, l9_worker;
grant execute on function public.add_alias(text, text, uuid, text, text) to l9_agent, l9_admin;
--! EndIncluded 100-entities/050-add-alias.sql
--! Included 100-entities/060-resolve-aliases.sql
create type entities.known_alias as (alias_normalized text, entity_normalized text, entity text);

comment on type entities.known_alias is 'An alias and the entity that it names.';

create function entities.aliases_for(names text[])
returns setof entities.known_alias
language plpgsql
stable
rows 10
set search_path = ''
set enable_seqscan = off
as $$
declare
  me constant identity.identity := identity.require_identity();
begin
  if names is null then
    return;
  end if;
  -- If two audiences give a name two meanings, a caller who can read both gets the older one.
  return query
  select distinct on (a.alias_normalized) a.alias_normalized, a.entity_normalized, a.entity
  from public.entity_aliases a
  where a.tenant_id = me.tenant_id and a.alias_normalized = any (names) and a.scope = any (me.readable_scopes)
    and (a.ttl is null or a.ttl > now())
  order by a.alias_normalized, a.created_at, a.alias_id;
end
$$;

comment on function entities.aliases_for(text[]) is
  'Returns the names in the list that are aliases the caller can read, each with its entity.';

create function entities.aliases_of(entity_name text)
returns setof text
language plpgsql
stable
rows 5
set search_path = ''
set enable_seqscan = off
as $$
declare
  me constant identity.identity := identity.require_identity();
begin
  return query
  select a.alias_normalized
  from public.entity_aliases a
  where a.tenant_id = me.tenant_id and a.entity_normalized = entity_name and a.scope = any (me.readable_scopes)
    and (a.ttl is null or a.ttl > now())
  group by a.alias_normalized
  order by min(a.created_at), a.alias_normalized
  limit entities.max_aliases();
end
$$;

comment on function entities.aliases_of(text) is
  'Returns the aliases of an entity that the caller can read: at most the 100 oldest.';

grant execute on function entities.aliases_for(text[]), entities.aliases_of(text) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 100-entities/060-resolve-aliases.sql
--! Included 110-events/000-schema.sql
create schema events;
comment on schema events is
  'Event and reasoning-trace rows that are filled from memories. The helpers are not exposed over GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema events to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 110-events/000-schema.sql
--! Included 110-events/010-check-envelope.sql
create function events.check_word_of(envelope jsonb, field text, is_required boolean)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if coalesce(jsonb_typeof(envelope -> field), 'null') = 'null' and not is_required then
    return;
  elsif jsonb_typeof(envelope -> field) is distinct from 'string' or envelope ->> field !~ '\S' then
    perform identity.raise_error('L9VAL', format('envelope.%s: must be a text that is not blank', field), 'envelope.' || field);
  end if;
  perform identity.check_bytes(envelope ->> field, 200, 'envelope.' || field);
end
$$;

comment on function events.check_word_of(jsonb, text, boolean) is
  'Raises L9VAL or L9LIM for this field of the envelope unless it is a text of 1 to 200 bytes. An optional field may be absent or null.';

create function events.check_event(envelope jsonb)
returns void
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  event_time text := envelope ->> 'timestamp';
begin
  perform events.check_word_of(envelope, 'event_type', true);
  perform events.check_word_of(envelope, 'agent_id', false);
  -- PostgreSQL also accepts words such as tomorrow and a bare time of day, so the format is checked first.
  if event_time !~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$'
    or not pg_input_is_valid(event_time, 'timestamptz') then
    perform identity.raise_error('L9VAL',
      'envelope.timestamp: must be a time such as 2026-12-31T23:59:59Z', 'envelope.timestamp');
  end if;
end
$$;

comment on function events.check_event(jsonb) is
  'Checks the envelope of a memory of kind event: event_type is required; agent_id and timestamp are optional. Raises L9VAL or L9LIM for the field.';

create function events.check_reasoning(envelope jsonb)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  field text;
begin
  perform events.check_word_of(envelope, 'agent_id', false);
  if jsonb_typeof(envelope -> 'steps') is distinct from 'array' or jsonb_array_length(envelope -> 'steps') = 0
    or jsonb_path_exists(envelope -> 'steps', 'strict $[*] ? (@.type() != "string" && @.type() != "object")') then
    perform identity.raise_error('L9VAL', 'envelope.steps: must be a list of at least one text or object', 'envelope.steps');
  elsif coalesce(jsonb_typeof(envelope -> 'inference_steps'), 'null') not in ('array', 'null') then
    perform identity.raise_error('L9VAL', 'envelope.inference_steps: must be a list', 'envelope.inference_steps');
  elsif coalesce(jsonb_typeof(envelope -> 'extracted_features'), 'null') not in ('object', 'null') then
    perform identity.raise_error('L9VAL', 'envelope.extracted_features: must be an object', 'envelope.extracted_features');
  end if;
  foreach field in array array['steps', 'inference_steps'] loop
    if jsonb_typeof(envelope -> field) = 'array' and jsonb_array_length(envelope -> field) > 1000 then
      perform identity.raise_error('L9LIM',
        format('envelope.%s: at most 1000 items, got %s', field, jsonb_array_length(envelope -> field)), 'envelope.' || field);
    end if;
  end loop;
  foreach field in array array['reasoning_tokens', 'decision_tokens'] loop
    if coalesce(jsonb_typeof(envelope -> field), 'null') not in ('array', 'number', 'null')
      or jsonb_typeof(envelope -> field) = 'number'
        and ((envelope ->> field)::numeric < 0 or (envelope ->> field)::numeric % 1 <> 0)
      or jsonb_typeof(envelope -> field) = 'array'
        and jsonb_path_exists(envelope -> field, 'strict $[*] ? (@.type() != "string")') then
      perform identity.raise_error('L9VAL',
        format('envelope.%s: must be a whole number of tokens or a list of texts', field), 'envelope.' || field);
    elsif jsonb_typeof(envelope -> field) = 'array' and jsonb_array_length(envelope -> field) > 10000 then
      perform identity.raise_error('L9LIM',
        format('envelope.%s: at most 10000 items, got %s', field, jsonb_array_length(envelope -> field)), 'envelope.' || field);
    end if;
  end loop;
  if coalesce(jsonb_typeof(envelope -> 'confidence_scores'), 'null') not in ('object', 'null')
    or jsonb_typeof(envelope -> 'confidence_scores') = 'object' and exists (
      select from jsonb_each(envelope -> 'confidence_scores') as score
      where jsonb_typeof(score.value) <> 'number' or not (score.value #>> '{}')::numeric between 0 and 1) then
    perform identity.raise_error('L9VAL',
      'envelope.confidence_scores: must be an object of numbers from 0 to 1', 'envelope.confidence_scores');
  end if;
end
$$;

comment on function events.check_reasoning(jsonb) is
  'Checks the envelope of a memory of kind reasoning_trace: steps is required; agent_id, extracted_features, inference_steps, reasoning_tokens, decision_tokens and confidence_scores are optional. Raises L9VAL or L9LIM for the field.';

create function events.tg_packet_store__check_envelope()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  if new.packet_type = 'event' then
    perform events.check_event(new.envelope);
  else
    perform events.check_reasoning(new.envelope);
  end if;
  return new;
end
$$;

comment on function events.tg_packet_store__check_envelope() is
  'Rejects an event or a reasoning trace whose envelope misses a required field or holds a wrong value.';

-- The import of legacy memories takes their envelopes unchecked.
create trigger _200_check_envelope before insert on public.packet_store
  for each row when (
    new.packet_type in ('event', 'reasoning_trace') and (current_user <> 'l9_owner' or not packets.is_legacy_import()))
  execute function events.tg_packet_store__check_envelope();
create trigger _200_check_envelope_changed before update of envelope, packet_type on public.packet_store
  for each row when (
    new.packet_type in ('event', 'reasoning_trace')
    and (new.packet_type <> old.packet_type or new.envelope is distinct from old.envelope)
    and (current_user <> 'l9_owner' or not packets.is_legacy_import()))
  execute function events.tg_packet_store__check_envelope();

grant execute on function
  events.check_word_of(jsonb, text, boolean), events.check_event(jsonb), events.check_reasoning(jsonb)
to l9_agent, l9_admin;
--! EndIncluded 110-events/010-check-envelope.sql
--! Included 110-events/020-agent-memory-events.sql
create table public.agent_memory_events (
  event_id uuid primary key default uuidv7(),
  agent_id text not null,
  "timestamp" timestamptz not null,
  packet_id uuid not null unique references public.packet_store on delete cascade,
  event_type text not null,
  content jsonb not null,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- Erased contents must not survive in the planner's statistics.
alter table public.agent_memory_events
  alter column agent_id set statistics 0, alter column event_type set statistics 0, alter column content set statistics 0;

create index agent_memory_events_readers_idx on public.agent_memory_events (tenant_id, scope, "timestamp");
create index agent_memory_events_type_idx on public.agent_memory_events (tenant_id, event_type, "timestamp");
create index agent_memory_events_agent_idx on public.agent_memory_events (tenant_id, agent_id, "timestamp");

comment on table public.agent_memory_events is
  'Events: one row for each memory of kind event, with its envelope as columns. Triggers keep the row in step with its memory.';
comment on column public.agent_memory_events.event_id is 'UUID version 7. It does not change while the memory stays an event.';
comment on column public.agent_memory_events.agent_id is
  'The agent that the event names: envelope.agent_id, else metadata.agent, else the creator. The column creator says who wrote the memory.';
comment on column public.agent_memory_events."timestamp" is
  'When the event happened: envelope.timestamp, else the time of saving.';
comment on column public.agent_memory_events.packet_id is 'The memory that holds the event.';
comment on column public.agent_memory_events.event_type is
  'The type of the event: envelope.event_type, such as deploy.finished.';
comment on column public.agent_memory_events.content is
  'The other fields of the envelope; the text of the memory is its field content.';

call derived.derive_from_packets('public.agent_memory_events', 'event_id', 'packet_id');

create function events.tg_packet_store__fill_event()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  -- An imported legacy memory may have the kind event without an event_type.
  if new.packet_type <> 'event' or new.envelope ->> 'event_type' is null or new.ttl <= now() then
    delete from public.agent_memory_events e where e.packet_id = new.packet_id;
    return null;
  end if;
  insert into public.agent_memory_events as e (packet_id, agent_id, "timestamp", event_type, content)
  values (
    new.packet_id,
    left(coalesce(new.envelope ->> 'agent_id', new.metadata ->> 'agent', new.metadata ->> 'creator'), 200),
    coalesce((new.envelope ->> 'timestamp')::timestamptz, new."timestamp"),
    new.envelope ->> 'event_type',
    new.envelope - array['event_type', 'agent_id', 'timestamp'])
  on conflict (packet_id) do update
    set agent_id = excluded.agent_id, "timestamp" = excluded."timestamp", event_type = excluded.event_type,
      content = excluded.content, updated_at = clock_timestamp();
  return null;
end
$$;

comment on function events.tg_packet_store__fill_event() is
  'Writes the event row of a memory and deletes it when the memory is no longer an event. Definer: callers can''t write events.';

create trigger _610_fill_event after insert on public.packet_store
  for each row when (new.packet_type = 'event' and (current_user <> 'l9_owner' or not packets.is_legacy_import()))
  execute function events.tg_packet_store__fill_event();
create trigger _610_fill_event_changed after update on public.packet_store
  for each row when (
    (old.packet_type = 'event' or new.packet_type = 'event')
    and (new.packet_type <> old.packet_type or new.envelope is distinct from old.envelope
      or new.metadata -> 'agent' is distinct from old.metadata -> 'agent')
    and (current_user <> 'l9_owner' or not packets.is_legacy_import()))
  execute function events.tg_packet_store__fill_event();
--! EndIncluded 110-events/020-agent-memory-events.sql
--! Included 110-events/030-reasoning-traces.sql
create table public.reasoning_traces (
  trace_id uuid primary key default uuidv7(),
  agent_id text not null,
  packet_id uuid not null unique references public.packet_store on delete cascade,
  steps jsonb not null,
  extracted_features jsonb not null,
  inference_steps jsonb not null,
  reasoning_tokens jsonb not null,
  decision_tokens jsonb not null,
  confidence_scores jsonb not null,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- Erased contents must not survive in the planner's statistics.
alter table public.reasoning_traces
  alter column agent_id set statistics 0, alter column steps set statistics 0,
  alter column extracted_features set statistics 0, alter column inference_steps set statistics 0,
  alter column reasoning_tokens set statistics 0, alter column decision_tokens set statistics 0,
  alter column confidence_scores set statistics 0;

-- A search counts the traces that its caller may read with an index-only scan, as it does for memory_contexts.
create index reasoning_traces_readers_idx on public.reasoning_traces (tenant_id, scope, user_id, org_id, project_id) include (packet_id, ttl);
create index reasoning_traces_agent_idx on public.reasoning_traces (tenant_id, agent_id, created_at);

comment on table public.reasoning_traces is
  'Reasoning traces: one row for each memory of kind reasoning_trace, with its envelope as columns. Triggers keep the row in step with its memory. The text of the steps is embedded as type reasoning.';
comment on column public.reasoning_traces.trace_id is
  'UUID version 7. It does not change while the memory stays a reasoning trace.';
comment on column public.reasoning_traces.agent_id is
  'The agent that the trace names: envelope.agent_id, else metadata.agent, else the creator. The column creator says who wrote the memory.';
comment on column public.reasoning_traces.packet_id is 'The memory that holds the trace.';
comment on column public.reasoning_traces.steps is 'The steps in order: a list of texts, or of objects that contain texts.';
comment on column public.reasoning_traces.extracted_features is 'What the agent took from its input: an object.';
comment on column public.reasoning_traces.inference_steps is 'What the agent inferred: a list.';
comment on column public.reasoning_traces.reasoning_tokens is
  'The number of tokens that the reasoning took, or a list of the tokens.';
comment on column public.reasoning_traces.decision_tokens is
  'The number of tokens that the decision took, or a list of the tokens.';
comment on column public.reasoning_traces.confidence_scores is 'An object that maps names to confidences from 0 to 1.';

call derived.derive_from_packets('public.reasoning_traces', 'trace_id', 'packet_id');

create function events.field_or_default(envelope jsonb, field text, default_value jsonb)
returns jsonb
language sql
immutable
parallel safe
set search_path = ''
return coalesce(nullif(envelope -> field, 'null'), default_value);

comment on function events.field_or_default(jsonb, text, jsonb) is
  'Returns a field of the envelope, or the default if the field is absent or null.';

create function events.tg_packet_store__fill_reasoning()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  -- An imported legacy memory may have the kind reasoning_trace without steps.
  if new.packet_type <> 'reasoning_trace' or new.envelope -> 'steps' is null or new.ttl <= now() then
    delete from public.reasoning_traces t where t.packet_id = new.packet_id;
    return null;
  end if;
  insert into public.reasoning_traces as t (
    packet_id, agent_id, steps, extracted_features, inference_steps, reasoning_tokens, decision_tokens, confidence_scores)
  values (
    new.packet_id,
    left(coalesce(new.envelope ->> 'agent_id', new.metadata ->> 'agent', new.metadata ->> 'creator'), 200),
    new.envelope -> 'steps',
    events.field_or_default(new.envelope, 'extracted_features', '{}'),
    events.field_or_default(new.envelope, 'inference_steps', '[]'),
    events.field_or_default(new.envelope, 'reasoning_tokens', '[]'),
    events.field_or_default(new.envelope, 'decision_tokens', '[]'),
    events.field_or_default(new.envelope, 'confidence_scores', '{}'))
  on conflict (packet_id) do update
    set agent_id = excluded.agent_id, steps = excluded.steps, extracted_features = excluded.extracted_features,
      inference_steps = excluded.inference_steps, reasoning_tokens = excluded.reasoning_tokens,
      decision_tokens = excluded.decision_tokens, confidence_scores = excluded.confidence_scores,
      updated_at = clock_timestamp();
  return null;
end
$$;

comment on function events.tg_packet_store__fill_reasoning() is
  'Writes the trace row of a memory and deletes it when the memory is no longer a reasoning trace. Definer: callers can''t write traces.';

create trigger _610_fill_reasoning after insert on public.packet_store
  for each row when (
    new.packet_type = 'reasoning_trace' and (current_user <> 'l9_owner' or not packets.is_legacy_import()))
  execute function events.tg_packet_store__fill_reasoning();
create trigger _610_fill_reasoning_changed after update on public.packet_store
  for each row when (
    (old.packet_type = 'reasoning_trace' or new.packet_type = 'reasoning_trace')
    and (new.packet_type <> old.packet_type or new.envelope is distinct from old.envelope
      or new.metadata -> 'agent' is distinct from old.metadata -> 'agent')
    and (current_user <> 'l9_owner' or not packets.is_legacy_import()))
  execute function events.tg_packet_store__fill_reasoning();
--! EndIncluded 110-events/030-reasoning-traces.sql
--! Included 120-tasks/000-schema.sql
create schema tasks;
comment on schema tasks is
  'The log of background job runs. The helpers are not exposed over GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema tasks to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 120-tasks/000-schema.sql
--! Included 120-tasks/010-tasks.sql
create function tasks.is_bare(value jsonb)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return not pg_catalog.jsonb_path_exists(value,
    'strict $.** ? (@.type() == "string" && !(@ like_regex "^[A-Za-z0-9._:/@+-]{0,100}$"))')
  and not pg_catalog.jsonb_path_exists(value,
    '$.** ? (@.type() == "object").keyvalue().key ? (!(@ like_regex "^[A-Za-z0-9._:/@+-]{1,100}$"))')
  and pg_catalog.octet_length(value::text) <= 4096;

comment on function tasks.is_bare(jsonb) is
  'True if a value holds only numbers, truth values, ids and names, at most 4 KiB: it then contains no text that somebody wrote.';

create function tasks.is_error_name(name text)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return name ~ '^[A-Za-z0-9._:-]{1,100}$';

comment on function tasks.is_error_name(text) is
  'True if a text can be the name of an error: 1 to 100 letters, digits or ._:- and so no text that somebody wrote.';

create function tasks.error_name(error text)
returns text
language sql
immutable
parallel safe
set search_path = ''
return coalesce(
  nullif(pg_catalog.left(pg_catalog.regexp_replace(error, '[^A-Za-z0-9._:-].*$', ''), 100), ''), 'Error');

comment on function tasks.error_name(text) is 'Returns the name at the start of an error, for which is_error_name() is true; Error if there is none.';

create table public.tasks (
  id uuid primary key default uuidv7(),
  type text not null,
  status text not null,
  payload jsonb not null default '{}',
  result jsonb,
  error text,
  job_key text,
  job_id bigint,
  caller text,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text,
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  updated_at timestamptz not null default clock_timestamp(),
  foreign key (tenant_id, scope) references public.scopes (tenant_id, scope),
  constraint task_type_plain check (type ~ packets.kind_pattern()),
  constraint task_status_known check (status in ('queued', 'running', 'completed', 'failed')),
  constraint task_without_contents check (tasks.is_bare(payload) and tasks.is_bare(coalesce(result, '{}'))),
  constraint task_error_is_a_name check (tasks.is_error_name(error)),
  constraint task_job_key_short check (octet_length(job_key) between 1 and 200),
  constraint task_fails_with_error check ((status = 'failed') = (error is not null)),
  constraint task_ends_once check ((status in ('completed', 'failed')) = (completed_at is not null)),
  constraint task_starts_before_it_runs check (status = 'queued' or started_at is not null)
);

create index tasks_newest_idx on public.tasks (tenant_id, created_at);
create index tasks_status_idx on public.tasks (tenant_id, status, type);
create index tasks_caller_idx on public.tasks (tenant_id, caller) where caller is not null;
create index tasks_completed_idx on public.tasks (completed_at);
create unique index tasks_open_key on public.tasks (tenant_id, job_key) where status in ('queued', 'running');

comment on table public.tasks is
  'Runs of background jobs for a tenant: one row for each run. Only jobs write this table. A row is deleted 30 days after its run ended.';
comment on column public.tasks.id is 'UUID version 7.';
comment on column public.tasks.type is 'The kind of work, such as reembed: a lower-case word.';
comment on column public.tasks.status is 'queued, running, completed or failed.';
comment on column public.tasks.payload is 'The parameters of the run: numbers, ids and names, never contents.';
comment on column public.tasks.result is 'The outcome of the run: numbers, ids and names, never contents.';
comment on column public.tasks.error is
  'The name of the error that ended the run; interrupted if its process died. Null unless status is failed.';
comment on column public.tasks.job_key is
  'The object of the work, such as extract and the id of a memory. At most one run with the same key is queued or running.';
comment on column public.tasks.job_id is
  'graphile_worker.jobs.id of the job that does the work, for l9_worker. Null: a command does it.';
comment on column public.tasks.caller is 'The caller who asked for the run. Null: a schedule started it.';
comment on column public.tasks.tenant_id is 'The tenant that the run works for.';
comment on column public.tasks.org_id is 'The org that the run works for. Null: the whole tenant.';
comment on column public.tasks.user_id is 'The user that the run works for. Null: the whole org.';
comment on column public.tasks.project_id is 'The project that the run works on. Null: all projects.';
comment on column public.tasks.scope is
  'The scope that the run works on; callers who can read this scope can read the row. Null: all scopes, and then only admins can read the row.';
comment on column public.tasks.created_at is 'When the run was queued, or when it started if it was never queued.';
comment on column public.tasks.started_at is 'When the run started.';
comment on column public.tasks.completed_at is 'When the run completed or failed.';
comment on column public.tasks.updated_at is 'When the status last changed.';

call identity.protect_like_memories('public.tasks', noun => 'task', expires => false);
do $$
begin
  execute format('create policy unscoped_tasks on public.tasks for select to l9_admin using (scope is null and %s)', identity.project_condition());
end
$$;
comment on policy unscoped_tasks on public.tasks is 'Admins also read rows without a scope, within their projects; agents can not.';

create policy worker_access on public.tasks to l9_worker using (true);
create policy definer_functions on public.tasks to l9_owner using (true);

comment on policy worker_access on public.tasks is 'Jobs record the progress and the outcome of their runs.';
comment on policy definer_functions on public.tasks is 'start_task() inserts and updates rows; only jobs may call it.';

grant select on public.tasks to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant update (status, result, error, started_at, completed_at, updated_at) on public.tasks to l9_worker;
grant delete, maintain on public.tasks to l9_worker;
grant execute on function tasks.is_bare(jsonb), tasks.is_error_name(text), tasks.error_name(text) to l9_worker;
-- Callers have no write privilege: rows report what jobs really did.
--! EndIncluded 120-tasks/010-tasks.sql
--! Included 120-tasks/020-start-task.sql
create function tasks.start_task(
  type text,
  tenant_id uuid default null,
  payload jsonb default '{}',
  scope text default null,
  project_id text default null,
  org_id uuid default null,
  user_id uuid default null,
  caller text default null,
  job_key text default null,
  is_queued boolean default false,
  job_id bigint default null
)
returns uuid[]
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  tenant uuid;
  id uuid;
  ids uuid[] := '{}';
begin
  if not coalesce(tasks.is_bare(start_task.payload), false) then
    perform identity.raise_error('L9VAL', 'payload: may hold only numbers, ids and names, at most 4 KiB', 'payload');
  end if;
  for tenant in
    select t.tenant_id from public.tenants t
    where t.tenant_id = start_task.tenant_id or start_task.tenant_id is null and t.is_active
    order by t.tenant_id
  loop
    id := null;
    if start_task.job_key is not null then
      perform pg_advisory_xact_lock(hashtextextended(format('l9 task %s %s', tenant, start_task.job_key), 0));
      if is_queued then
        -- A key is queued or running at most once, so an existing run is used again.
        select t.id into id from public.tasks t
        where t.tenant_id = tenant and t.job_key = start_task.job_key and t.status in ('queued', 'running');
      else
        -- A run of this key that is still marked as running was left behind by a dead process.
        update public.tasks t
        set status = 'failed', error = 'interrupted', completed_at = clock_timestamp(), updated_at = clock_timestamp()
        where t.tenant_id = tenant and t.job_key = start_task.job_key and t.status = 'running';
        update public.tasks t set status = 'running', job_id = start_task.job_id, started_at = clock_timestamp(), updated_at = clock_timestamp()
        where t.tenant_id = tenant and t.job_key = start_task.job_key and t.status = 'queued'
        returning t.id into id;
      end if;
    end if;
    if id is null then
      insert into public.tasks as t (type, status, payload, job_key, job_id, caller, tenant_id, org_id, user_id, project_id, scope, started_at)
      values (
        start_task.type, case when is_queued then 'queued' else 'running' end, start_task.payload, start_task.job_key,
        start_task.job_id, start_task.caller, tenant, start_task.org_id, start_task.user_id, start_task.project_id, start_task.scope,
        case when not is_queued then clock_timestamp() end)
      returning t.id into id;
    end if;
    ids := ids || id;
  end loop;
  return ids;
end
$$;

comment on function tasks.start_task(text, uuid, jsonb, text, text, uuid, uuid, text, text, boolean, bigint) is
  'Records that a run starts, or is queued (is_queued), for one tenant or for each active tenant. Returns the ids for finish_task(). With a job_key, a queued run of the same key starts, and a run of that key that a dead process left running is marked as failed. Definer: reads tenants, which jobs can''t read.';

grant execute on function tasks.start_task(text, uuid, jsonb, text, text, uuid, uuid, text, text, boolean, bigint) to l9_worker;
--! EndIncluded 120-tasks/020-start-task.sql
--! Included 120-tasks/030-finish-task.sql
create function tasks.finish_task(ids uuid[], result jsonb default null, error text default null)
returns integer
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  finished integer;
begin
  if not coalesce(tasks.is_bare(coalesce(result, '{}')), false) then
    perform identity.raise_error('L9VAL', 'result: may hold only numbers, ids and names, at most 4 KiB', 'result');
  end if;
  update public.tasks t
  set status = case when finish_task.error is null then 'completed' else 'failed' end,
    result = finish_task.result,
    -- Only the name of an error is stored, because its text may quote contents.
    error = case when finish_task.error is not null then tasks.error_name(finish_task.error) end,
    completed_at = clock_timestamp(), updated_at = clock_timestamp()
  where t.id = any (ids) and t.status in ('queued', 'running');
  get diagnostics finished = row_count;
  return finished;
end
$$;

comment on function tasks.finish_task(uuid[], jsonb, text) is
  'Records that runs ended: failed if an error is named, else completed. Returns the number of runs that were still queued or running.';

grant execute on function tasks.finish_task(uuid[], jsonb, text) to l9_worker;
--! EndIncluded 120-tasks/030-finish-task.sql
--! Included 120-tasks/040-sweep-tasks.sql
create function tasks.sweep_tasks(batch_size integer default 1000)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
  deleted_count bigint;
begin
  update public.tasks t
  set status = 'failed', error = 'interrupted', completed_at = clock_timestamp(), updated_at = clock_timestamp()
  where t.status in ('queued', 'running') and t.updated_at < now() - interval '7 days';
  delete from public.tasks t where t.id in (
    select expired.id from public.tasks expired
    where expired.completed_at < now() - interval '30 days'
    limit batch_size
    for update skip locked);
  get diagnostics deleted_count = row_count;
  return deleted_count;
end
$$;

comment on function tasks.sweep_tasks(integer) is
  'Deletes up to batch_size runs that ended more than 30 days ago and returns their number. Also marks runs as failed (interrupted) that have not changed for 7 days and have not ended.';

grant execute on function tasks.sweep_tasks(integer) to l9_worker;
--! EndIncluded 120-tasks/040-sweep-tasks.sql
--! Included 130-facts/000-schema.sql
create schema facts;
comment on schema facts is
  'Facts, their evidence, and which fact superseded which. The helpers are not exposed over GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema facts to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 130-facts/000-schema.sql
--! Included 130-facts/010-fact-predicates.sql
create table public.fact_predicates (
  tenant_id uuid not null references public.tenants,
  predicate text not null,
  is_single_valued boolean not null,
  description text not null default '',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, predicate),
  constraint predicate_normalised check (predicate = entities.normalise_name(predicate) and predicate <> ''),
  constraint predicate_description_at_most_1000_bytes check (octet_length(description) <= 1000)
);

comment on table public.fact_predicates is
  'Predicates that a tenant''s admins registered. A predicate without a row is multi-valued: its facts hold side by side.';
comment on column public.fact_predicates.tenant_id is 'The tenant.';
comment on column public.fact_predicates.predicate is
  'The predicate in the form that facts store: lower case, white space trimmed and collapsed.';
comment on column public.fact_predicates.is_single_valued is
  'Single-valued: asserting a new object supersedes the previous one.';
comment on column public.fact_predicates.description is 'What the predicate says of a subject, at most 1000 bytes.';
comment on column public.fact_predicates.created_at is 'When the predicate was first registered.';
comment on column public.fact_predicates.updated_at is 'When the predicate was last registered again.';

alter table public.fact_predicates enable row level security;
alter table public.fact_predicates force row level security;

create policy tenant_isolation on public.fact_predicates as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.fact_predicates for select to l9_agent using (true);
create policy admin_override on public.fact_predicates for select to l9_admin using (true);
create policy platform_override on public.fact_predicates for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('fact_predicates')));
create policy worker_access on public.fact_predicates for select to l9_worker using (true);
create policy definer_functions on public.fact_predicates to l9_owner
  using (
    (select identity.current_role_name()) not in ('l9_agent', 'l9_admin')
    or tenant_id = (select identity.current_tenant_id()));

comment on policy tenant_isolation on public.fact_predicates is 'Callers read only predicates of their own tenant.';
comment on policy scope_access on public.fact_predicates is
  'Agents read all predicates of their tenant, because everyone who asserts facts needs them.';
comment on policy admin_override on public.fact_predicates is 'Admins read all predicates of their tenant.';
comment on policy platform_override on public.fact_predicates is
  'Operators read predicates of all tenants; each such read is audited.';
comment on policy worker_access on public.fact_predicates is 'Jobs that assert facts read predicates.';
comment on policy definer_functions on public.fact_predicates is
  'register_predicate() writes predicates and assert_fact() reads them: those of the caller''s tenant; for jobs and operators, those of all tenants.';

grant select on public.fact_predicates to l9_agent, l9_admin, l9_platform_admin, l9_worker;
-- No role may insert, update or delete: register_predicate() checks who may, and recomputes the facts that change.

create function facts.is_single_valued(tenant_id uuid, predicate text)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return coalesce((
  select p.is_single_valued from public.fact_predicates p
  where p.tenant_id = is_single_valued.tenant_id and p.predicate = is_single_valued.predicate), false);

comment on function facts.is_single_valued(uuid, text) is
  'True if the predicate is registered as single-valued in the tenant. Not executable by callers: functions of the owner call it.';
--! EndIncluded 130-facts/010-fact-predicates.sql
--! Included 130-facts/020-holds-at.sql
-- Inlined into its callers, which is why it sets no search_path: indexes and plans stay those of the written-out condition.
create function facts.holds_at(valid_from timestamptz, valid_to timestamptz, point_in_time timestamptz)
returns boolean
language sql
immutable
parallel safe
return valid_from <= point_in_time and (valid_to is null or valid_to > point_in_time);

comment on function facts.holds_at(timestamptz, timestamptz, timestamptz) is
  'True if the point in time lies in the validity of a fact: from valid_from, inclusive, to valid_to, exclusive; valid_to null means no end.';

grant execute on function facts.holds_at(timestamptz, timestamptz, timestamptz) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 130-facts/020-holds-at.sql
--! Included 130-facts/030-knowledge-facts.sql
create table public.knowledge_facts (
  fact_id uuid primary key default uuidv7(),
  subject text not null,
  predicate text not null,
  object jsonb not null,
  confidence double precision not null,
  -- References fact_evidence, which references the memory. A foreign key to packet_store would deadlock with a concurrent
  -- delete that recomputes this fact.
  source_packet uuid not null,
  subject_normalized text not null,
  object_normalized text not null,
  is_single_valued boolean not null default false,
  supporting_packet_count integer not null default 1,
  contradiction_count integer not null default 0,
  access_count bigint not null default 0,
  valid_from timestamptz not null,
  valid_to timestamptz,
  recorded_at timestamptz not null,
  superseded_by uuid,
  superseded_at timestamptz,
  retracted_at timestamptz,
  retraction_reason text,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  audience_id uuid not null,
  unique (fact_id, audience_id),
  -- The key includes the audience, so a link never leads to a fact that other callers see.
  constraint knowledge_facts_superseded_by_fkey foreign key (superseded_by, audience_id) references public.knowledge_facts (fact_id, audience_id)
    on delete set null (superseded_by),
  constraint fact_names_not_blank check (subject_normalized <> '' and predicate <> '' and object_normalized <> ''),
  constraint fact_predicate_normalised check (predicate = entities.normalise_name(predicate)),
  constraint fact_confidence_between_0_and_099 check (confidence between 0 and 0.99),
  constraint fact_counts_not_negative check (supporting_packet_count > 0 and contradiction_count >= 0 and access_count >= 0),
  constraint fact_ends_after_it_begins check (valid_to >= valid_from),
  constraint fact_retraction_has_time check (retraction_reason is null or retracted_at is not null),
  constraint fact_retraction_reason_at_most_1000_bytes check (octet_length(retraction_reason) <= 1000)
) with (
  -- Leaves room for HOT updates of access_count, which no index contains.
  fillfactor = 80
);

-- Guarantees one current value also under concurrent writes.
create unique index fact_has_one_current_value on public.knowledge_facts (audience_id, subject_normalized, predicate)
  where is_single_valued and valid_to is null and retracted_at is null;
create unique index fact_is_current_once
  on public.knowledge_facts (audience_id, subject_normalized, predicate, packets.content_hash(object_normalized))
  where valid_to is null and retracted_at is null;
create index knowledge_facts_history_idx on public.knowledge_facts (audience_id, subject_normalized, predicate, valid_from);
create index knowledge_facts_subject_idx on public.knowledge_facts (tenant_id, subject_normalized, predicate);
create index knowledge_facts_predicate_idx on public.knowledge_facts (tenant_id, predicate);
-- A hash index, because an object may be longer than a B-tree entry can be.
create index knowledge_facts_object_idx on public.knowledge_facts using hash (object_normalized);
create index knowledge_facts_source_idx on public.knowledge_facts (source_packet);
create index knowledge_facts_superseded_by_idx on public.knowledge_facts (superseded_by, audience_id);

-- Erased contents must not survive in the planner's statistics.
alter table public.knowledge_facts
  alter column subject set statistics 0, alter column predicate set statistics 0, alter column object set statistics 0,
  alter column subject_normalized set statistics 0, alter column object_normalized set statistics 0,
  alter column retraction_reason set statistics 0;

call derived.derive_from_packets('public.knowledge_facts', 'fact_id', 'source_packet', follows => false);

comment on table public.knowledge_facts is
  'Facts: subject, predicate and object, with two time axes. Validity: from valid_from to valid_to. Knowledge: from recorded_at until superseded_at or retracted_at. Every fact is computed from its rows in fact_evidence. assert_fact() and retract_fact() write this table.';
comment on column public.knowledge_facts.fact_id is 'UUID version 7.';
comment on column public.knowledge_facts.subject is
  'The entity that the fact is about, spelled as in the oldest memory that states the fact.';
comment on column public.knowledge_facts.predicate is
  'What the fact says of its subject: lower case, white space trimmed and collapsed.';
comment on column public.knowledge_facts.object is 'The value: a text, number, truth value, list or object.';
comment on column public.knowledge_facts.confidence is 'From 0 to 0.99. It grows with each memory that states the fact.';
comment on column public.knowledge_facts.source_packet is
  'The oldest memory that states the fact. fact_evidence lists all of them.';
comment on column public.knowledge_facts.subject_normalized is 'The subject in the form in which names are compared.';
comment on column public.knowledge_facts.object_normalized is 'The object in the form in which objects are compared.';
comment on column public.knowledge_facts.is_single_valued is 'True if the predicate is registered as single-valued.';
comment on column public.knowledge_facts.supporting_packet_count is
  'How often the fact was stated: once for each memory, and once more each time a caller repeated the fact without naming a memory.';
comment on column public.knowledge_facts.contradiction_count is
  'How often this fact superseded, or was superseded by, a different value of the same subject and predicate, up to the end of its validity.';
comment on column public.knowledge_facts.access_count is
  'How often find_facts() returned the fact, as of the last roll-up of the access log.';
comment on column public.knowledge_facts.valid_from is 'Start of validity: the earliest that any of its memories states.';
comment on column public.knowledge_facts.valid_to is
  'End of validity: when the superseding fact started to hold. Null: the fact still holds unless it is retracted.';
comment on column public.knowledge_facts.recorded_at is 'When the fact was first asserted.';
comment on column public.knowledge_facts.superseded_by is
  'The fact that superseded this one; it has the same tenant, org, user, project and scope.';
comment on column public.knowledge_facts.superseded_at is 'When the superseding fact was recorded.';
comment on column public.knowledge_facts.retracted_at is 'When a caller retracted the fact: it is not true and never was.';
comment on column public.knowledge_facts.retraction_reason is 'The reason that the caller gave for the retraction.';
comment on column public.knowledge_facts.audience_id is
  'Hash of tenant, org, user, project and scope. Rows with equal values are visible to the same callers.';

create policy worker_counts on public.knowledge_facts for update to l9_worker using (true);
comment on policy worker_counts on public.knowledge_facts is
  'The job that rolls up the access log updates access_count; the grant allows no other column.';
grant update (access_count) on public.knowledge_facts to l9_worker;
-- No role has any other privilege to insert, update or delete.

create function facts.tg_knowledge_facts__audience()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  new.audience_id := packets.audience_id(new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope);
  return new;
end
$$;

comment on function facts.tg_knowledge_facts__audience() is 'Sets audience_id from tenant, org, user, project and scope.';

create trigger _310_audience before insert or update of tenant_id, org_id, user_id, project_id, scope on public.knowledge_facts
  for each row execute function facts.tg_knowledge_facts__audience();
--! EndIncluded 130-facts/030-knowledge-facts.sql
--! Included 130-facts/040-fact-evidence.sql
create table public.fact_evidence (
  evidence_id uuid primary key default uuidv7(),
  fact_id uuid not null references public.knowledge_facts on delete cascade,
  packet_id uuid not null references public.packet_store on delete cascade,
  subject text not null,
  object jsonb not null,
  confidence double precision not null,
  mentions integer not null default 1,
  valid_from timestamptz not null,
  asserted_by text[] not null default '{}',
  extracted_by text,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint evidence_counts_once unique (fact_id, packet_id),
  constraint evidence_confidence_between_0_and_1 check (confidence between 0 and 1),
  constraint evidence_is_mentioned check (mentions > 0),
  constraint evidence_extracted_by_at_most_200_bytes check (octet_length(extracted_by) <= 200)
);

-- Deferred, because a fact is inserted before its evidence.
alter table public.knowledge_facts add constraint knowledge_facts_source_is_evidence
  foreign key (fact_id, source_packet) references public.fact_evidence (fact_id, packet_id) deferrable initially deferred;

create index fact_evidence_packet_idx on public.fact_evidence (packet_id);

alter table public.fact_evidence
  alter column subject set statistics 0, alter column object set statistics 0, alter column extracted_by set statistics 0;

call derived.derive_from_packets('public.fact_evidence', 'evidence_id', 'packet_id');

comment on table public.fact_evidence is
  'Evidence of facts: one row for each memory that states a fact. A fact is computed from these rows.';
comment on column public.fact_evidence.evidence_id is 'UUID version 7.';
comment on column public.fact_evidence.fact_id is 'The fact that the memory states.';
comment on column public.fact_evidence.packet_id is 'The memory that states the fact.';
comment on column public.fact_evidence.subject is 'The subject as this memory spells it.';
comment on column public.fact_evidence.object is 'The object as this memory spells it.';
comment on column public.fact_evidence.confidence is 'The confidence in the fact that this memory alone gives, from 0 to 1.';
comment on column public.fact_evidence.mentions is
  'How often callers stated the fact in the same words without naming a memory; otherwise 1.';
comment on column public.fact_evidence.valid_from is 'The start of validity that this memory states.';
comment on column public.fact_evidence.asserted_by is 'The creator names of all who asserted the fact from this memory.';
comment on column public.fact_evidence.extracted_by is
  'The chat model that extracted the fact from the memory. Null: a caller asserted it.';
--! EndIncluded 130-facts/040-fact-evidence.sql
--! Included 130-facts/050-fact-keys.sql
create type facts.fact_key as (
  tenant_id uuid,
  audience_id uuid,
  subject_normalized text,
  predicate text,
  object_normalized text
);

comment on type facts.fact_key is
  'Identifies the facts that are recomputed together: within one audience, all facts of a subject and a single-valued predicate; for a multi-valued predicate, only those with one object.';

create function facts.lock_facts(key facts.fact_key)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- A shared lock: register_predicate() takes it exclusively, so no fact is written under an old registration.
  perform pg_advisory_xact_lock_shared(hashtextextended(format('l9-memory predicate %s %s', key.tenant_id, key.predicate), 0));
  perform pg_advisory_xact_lock(
    hashtextextended(format('l9-memory facts %s %s %s', key.audience_id, key.predicate, key.subject_normalized), 0));
  return facts.is_single_valued(key.tenant_id, key.predicate);
end
$$;

comment on function facts.lock_facts(facts.fact_key) is
  'Waits until no other transaction changes these facts, holds them until the end of this one, and returns true if the predicate is single-valued. Not executable by callers.';

create function facts.facts_with_key(key facts.fact_key, is_single boolean)
returns setof public.knowledge_facts
language sql
stable
begin atomic
  select f.* from public.knowledge_facts f
  where f.audience_id = (key).audience_id and f.subject_normalized = (key).subject_normalized and f.predicate = (key).predicate
    and (is_single or f.object_normalized = (key).object_normalized);
end;

comment on function facts.facts_with_key(facts.fact_key, boolean) is
  'Returns the facts that are recomputed together, including facts that ended, expired or were retracted. Not executable by callers.';
--! EndIncluded 130-facts/050-fact-keys.sql
--! Included 130-facts/060-combine-evidence.sql
create function facts.compute_fact_confidence(key facts.fact_key, is_single boolean, new_fact_id uuid)
returns void
language sql
volatile
set search_path = ''
begin atomic
  with evidence as (
    select e.fact_id,
      array_agg(e.subject order by e.created_at, e.evidence_id) as subjects,
      array_agg(e.object order by e.created_at, e.evidence_id) as objects,
      array_agg(e.packet_id order by e.created_at, e.evidence_id) as packets,
      array_agg(e.creator order by e.created_at, e.evidence_id) as creators,
      entities.noisy_or(array_agg(e.confidence)) as confidence,
      sum(e.mentions)::integer as mentions,
      min(e.valid_from) as valid_from,
      min(e.created_at) as recorded_at,
      case when bool_and(e.ttl is not null) then max(e.ttl) end as ttl
    from facts.facts_with_key(key, is_single) f
    join public.fact_evidence e on e.fact_id = f.fact_id
    group by e.fact_id
  )
  update public.knowledge_facts f set
    subject = s.subjects[1], object = s.objects[1], source_packet = s.packets[1], creator = s.creators[1],
    confidence = s.confidence, supporting_packet_count = s.mentions,
    valid_from = s.valid_from, valid_to = case when f.valid_to is not null then greatest(f.valid_to, s.valid_from) end,
    recorded_at = s.recorded_at, ttl = s.ttl,
    updated_at = case when f.fact_id = new_fact_id then f.updated_at else clock_timestamp() end
  from evidence s
  where f.fact_id = s.fact_id
    and (f.subject, f.object, f.source_packet, f.creator, f.confidence, f.supporting_packet_count, f.valid_from, f.recorded_at, f.ttl)
      is distinct from
      (s.subjects[1], s.objects[1], s.packets[1], s.creators[1], s.confidence, s.mentions, s.valid_from, s.recorded_at, s.ttl);
end;

comment on function facts.compute_fact_confidence(facts.fact_key, boolean, uuid) is
  'Computes spelling, confidence, counts and times of facts from their evidence. The new fact keeps its updated_at. Not executable by callers.';

create function facts.merge_facts(key facts.fact_key, is_single boolean)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
  duplicate record;
  has_merged boolean := false;
begin
  for duplicate in
    -- Consecutive facts with the same object; for a multi-valued predicate all facts of the key are consecutive.
    with ordered as (
      select f.fact_id, f.valid_from, f.recorded_at, f.retracted_at,
        f.retracted_at is not null or lag(f.retracted_at) over w is not null
          or lag(f.object_normalized) over w is distinct from f.object_normalized as is_first,
        row_number() over w as place
      from facts.facts_with_key(key, is_single) f
      window w as (order by not is_single and f.retracted_at is not null, f.valid_from, f.recorded_at, f.fact_id)
    ), grouped as (
      select o.fact_id, o.place, count(*) filter (where o.is_first) over (order by o.place) as group_number
      from ordered o
    )
    select g.fact_id, first_value(g.fact_id) over (partition by g.group_number order by g.place) as kept
    from grouped g
    order by g.place
  loop
    continue when duplicate.fact_id = duplicate.kept;
    has_merged := true;
    update public.fact_evidence k set
      confidence = greatest(k.confidence, e.confidence), mentions = greatest(k.mentions, e.mentions),
      valid_from = least(k.valid_from, e.valid_from), updated_at = clock_timestamp(),
      asserted_by = array(select distinct a.name from unnest(k.asserted_by || e.asserted_by) as a (name) order by a.name)
    from public.fact_evidence e
    where k.fact_id = duplicate.kept and e.fact_id = duplicate.fact_id and e.packet_id = k.packet_id;
    update public.fact_evidence e set fact_id = duplicate.kept, updated_at = clock_timestamp()
    where e.fact_id = duplicate.fact_id
      and not exists (select from public.fact_evidence k where k.fact_id = duplicate.kept and k.packet_id = e.packet_id);
    update public.knowledge_facts f set access_count = f.access_count + merged.access_count
    from public.knowledge_facts merged
    where f.fact_id = duplicate.kept and merged.fact_id = duplicate.fact_id;
    delete from public.knowledge_facts f where f.fact_id = duplicate.fact_id;
  end loop;
  return has_merged;
end
$$;

comment on function facts.merge_facts(facts.fact_key, boolean) is
  'Merges facts that state the same with no other value between them, and keeps the evidence of all. Returns true if any were merged. Not executable by callers.';
--! EndIncluded 130-facts/060-combine-evidence.sql
--! Included 130-facts/070-supersession.sql
create function facts.supersession_chain(key facts.fact_key, is_single boolean)
returns table (fact_id uuid, valid_to timestamptz, superseded_by uuid, superseded_at timestamptz, contradictions integer)
language sql
stable
begin atomic
  with chain as (
    select f.fact_id, f.object_normalized, f.valid_from, f.recorded_at,
      lead(f.fact_id) over w as next_id, lead(f.valid_from) over w as next_from, lead(f.recorded_at) over w as next_recorded,
      (coalesce(lead(f.object_normalized) over w <> f.object_normalized, false))::integer
        + (coalesce(lag(f.object_normalized) over w <> f.object_normalized, false))::integer as conflicts
    from facts.facts_with_key(key, is_single) f
    where is_single and f.retracted_at is null
    window w as (order by f.valid_from, f.recorded_at, f.fact_id)
  ), counted as (
    select c.*,
      sum(c.conflicts) over (partition by c.object_normalized order by c.valid_from, c.recorded_at, c.fact_id) as contradictions
    from chain c
  )
  -- Multi-valued and retracted facts have no successor and contradict nothing.
  select f.fact_id, c.next_from, c.next_id,
    case when c.next_id is not null then greatest(c.recorded_at, c.next_recorded) end,
    coalesce(c.contradictions, 0)::integer
  from facts.facts_with_key(key, is_single) f
  left join counted c on c.fact_id = f.fact_id;
end;

comment on function facts.supersession_chain(facts.fact_key, boolean) is
  'Computes which fact superseded which: facts are ordered by valid_from, then by recorded_at, and each ends where the next begins. Not executable by callers.';
--! EndIncluded 130-facts/070-supersession.sql
--! Included 130-facts/080-count-contradictions.sql
create policy definer_functions on public.memory_signals to l9_owner
  using (
    (select identity.current_role_name()) not in ('l9_agent', 'l9_admin')
    or tenant_id = (select identity.current_tenant_id()));
comment on policy definer_functions on public.memory_signals is
  'Recomputing facts updates the contradiction counts of their source memories: in the caller''s tenant; for jobs and operators, in all tenants.';

create function facts.count_contradictions(packet_ids uuid[])
returns void
language sql
volatile
set search_path = ''
-- The planner can't know that the lists are short and would choose sequential scans.
set enable_seqscan = off
begin atomic
  with stated as (
    select e.packet_id, f.fact_id, f.superseded_by, f.object_normalized
    from public.fact_evidence e
    join public.knowledge_facts f on f.fact_id = e.fact_id
    where e.packet_id = any (packet_ids)
  ), contradicting as (
    select s.packet_id, g.fact_id
    from stated s join public.knowledge_facts g on g.fact_id = s.superseded_by and g.object_normalized <> s.object_normalized
    union
    select s.packet_id, g.fact_id
    from stated s join public.knowledge_facts g on g.superseded_by = s.fact_id and g.object_normalized <> s.object_normalized
  ), counted as (
    select m.packet_id, count(a.fact_id)::integer as contradictions
    from (select distinct p.id as packet_id from unnest(packet_ids) as p (id)) m
    left join contradicting a on a.packet_id = m.packet_id
      and not exists (select from public.fact_evidence own where own.fact_id = a.fact_id and own.packet_id = m.packet_id)
    group by m.packet_id
  ), locked as (
    select s.packet_id, c.contradictions
    from public.memory_signals s join counted c on c.packet_id = s.packet_id
    where s.contradiction_count <> c.contradictions
    order by s.packet_id
    for no key update of s
  )
  update public.memory_signals s set contradiction_count = l.contradictions
  from locked l
  where s.packet_id = l.packet_id;
end;

comment on function facts.count_contradictions(uuid[]) is
  'Counts for each memory how many facts of other memories contradict it, and writes the count to memory_signals, which lowers its importance. Not executable by callers.';
--! EndIncluded 130-facts/080-count-contradictions.sql
--! Included 130-facts/090-recompute-facts.sql
create function facts.recompute_facts(
  key facts.fact_key, is_single boolean, new_fact_id uuid default null, packet_ids uuid[] default '{}')
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  changed_ids uuid[] := '{}';
  batch_ids uuid[];
begin
  -- Rows are locked in the order of their ids, as in the roll-up job, so that the two can't deadlock.
  perform from public.knowledge_facts f
  where f.fact_id in (select k.fact_id from facts.facts_with_key(key, is_single) k)
  order by f.fact_id for no key update;

  -- The check avoids an empty statement, which would still run the statement triggers.
  if exists (
    select from facts.facts_with_key(key, is_single) f join public.fact_evidence e on e.fact_id = f.fact_id where e.ttl <= now()) then
    delete from public.fact_evidence e
    where e.ttl <= now() and e.fact_id in (select f.fact_id from facts.facts_with_key(key, is_single) f);
  end if;
  if exists (
    select from facts.facts_with_key(key, is_single) f
    where not exists (select from public.fact_evidence e where e.fact_id = f.fact_id)) then
    delete from public.knowledge_facts f
    where f.fact_id in (select k.fact_id from facts.facts_with_key(key, is_single) k)
      and not exists (select from public.fact_evidence e where e.fact_id = f.fact_id);
  end if;

  perform facts.compute_fact_confidence(key, is_single, new_fact_id);
  if facts.merge_facts(key, is_single) then
    perform facts.compute_fact_confidence(key, is_single, new_fact_id);
  end if;

  -- Facts that end are updated first, so that the unique index never sees two current values.
  for is_current in 0..1 loop
    with written as (
      update public.knowledge_facts f set
        valid_to = c.valid_to, superseded_by = c.superseded_by, superseded_at = c.superseded_at,
        contradiction_count = c.contradictions, is_single_valued = is_single,
        updated_at = case when f.fact_id = new_fact_id then f.updated_at else clock_timestamp() end
      from facts.supersession_chain(key, is_single) c
      where f.fact_id = c.fact_id and (c.valid_to is null) = (is_current = 1)
        and (f.valid_to, f.superseded_by, f.superseded_at, f.contradiction_count, f.is_single_valued)
          is distinct from (c.valid_to, c.superseded_by, c.superseded_at, c.contradictions, is_single)
      returning f.fact_id, f.superseded_by, old.superseded_by as was_superseded_by
    )
    select array_agg(w.fact_id) || array_agg(w.superseded_by) || array_agg(w.was_superseded_by) into batch_ids from written w;
    changed_ids := changed_ids || coalesce(batch_ids, '{}');
  end loop;

  packet_ids := packet_ids || array(select e.packet_id from public.fact_evidence e where e.fact_id = any (changed_ids));
  if cardinality(packet_ids) > 0 then
    perform facts.count_contradictions(packet_ids);
  end if;
end
$$;

comment on function facts.recompute_facts(facts.fact_key, boolean, uuid, uuid[]) is
  'Recomputes facts from their evidence, which fact superseded which, and the contradiction counts of their source memories and of packet_ids. The caller must hold the locks of lock_facts(), or the exclusive lock of the predicate. Not executable by callers.';
--! EndIncluded 130-facts/090-recompute-facts.sql
--! Included 130-facts/100-check-fact.sql
create function facts.object_text(object jsonb)
returns text
language sql
immutable
parallel safe
set search_path = ''
return entities.normalise_name(object #>> '{}');

comment on function facts.object_text(jsonb) is
  'Returns the form in which objects are compared: texts, numbers and truth values like names, lists and objects by their JSON.';

create function facts.check_object(object jsonb)
returns text
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  normalised text := facts.object_text(object);
begin
  if coalesce(normalised, '') = '' then
    perform identity.raise_error('L9VAL', 'object: a value is required that is not blank', 'object');
  end if;
  perform identity.check_bytes(object::text, 8192, 'object'), identity.check_bytes(normalised, 8192, 'object');
  if jsonb_path_exists(object, '$.**{60}') then
    perform identity.raise_error('L9LIM', 'object: may be nested at most 60 levels deep', 'object');
  end if;
  return normalised;
end
$$;

comment on function facts.check_object(jsonb) is
  'Returns object_text() of an object. Raises L9VAL if it is missing or blank, L9LIM if it is longer than 8192 bytes or nested deeper than 60 levels.';

create function facts.key_of_fact(source public.packet_store, subject text, predicate text, object jsonb)
returns facts.fact_key
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  key facts.fact_key;
begin
  key.tenant_id := source.tenant_id;
  key.audience_id := packets.audience_id(source.tenant_id, source.org_id, source.user_id, source.project_id, source.scope);
  key.subject_normalized := entities.check_name(subject, 'subject');
  key.predicate := entities.check_name(predicate, 'predicate');
  key.object_normalized := facts.check_object(object);
  return key;
end
$$;

comment on function facts.key_of_fact(public.packet_store, text, text, jsonb) is
  'Returns the key of a fact that a memory states. Raises L9VAL or L9LIM if subject, predicate or object break a rule.';

grant execute on function facts.object_text(jsonb), facts.check_object(jsonb) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 130-facts/100-check-fact.sql
--! Included 130-facts/110-assert-fact-from.sql
create function facts.fact_at(key facts.fact_key, is_single boolean, at timestamptz)
returns uuid
language sql
stable
set search_path = ''
begin atomic
  select neighbour.fact_id
  from (
    (select f.fact_id, f.object_normalized, 1 as place from facts.facts_with_key(key, is_single) f
     where f.retracted_at is null and (f.valid_from <= fact_at.at or not is_single)
     order by f.valid_from desc, f.recorded_at desc, f.fact_id desc limit 1)
    union all
    (select f.fact_id, f.object_normalized, 2 from facts.facts_with_key(key, is_single) f
     where f.retracted_at is null and f.valid_from > fact_at.at and is_single
     order by f.valid_from, f.recorded_at, f.fact_id limit 1)
  ) neighbour
  where neighbour.object_normalized = (key).object_normalized
  order by neighbour.place
  limit 1;
end;

comment on function facts.fact_at(facts.fact_key, boolean, timestamptz) is
  'Returns the fact that already states this and holds at that time, or the next one to begin after it, which then began earlier than was known. Not executable by callers.';

create function facts.insert_fact(
  key facts.fact_key, source_packet uuid, subject text, object jsonb, valid_from timestamptz)
returns uuid
language sql
volatile
set search_path = ''
begin atomic
  insert into public.knowledge_facts as f (
    subject, predicate, object, confidence, source_packet, subject_normalized, object_normalized,
    -- An empty validity, so that the fact is not current until it is recomputed.
    valid_from, valid_to, recorded_at)
  values (
    insert_fact.subject, (key).predicate, insert_fact.object, 0, insert_fact.source_packet, (key).subject_normalized,
    (key).object_normalized, insert_fact.valid_from, insert_fact.valid_from, clock_timestamp())
  returning f.fact_id;
end;

comment on function facts.insert_fact(facts.fact_key, uuid, text, jsonb, timestamptz) is
  'Inserts a fact without evidence. Not executable by callers.';

create function facts.assert_fact_from(
  packet_id uuid,
  subject text,
  predicate text,
  object jsonb,
  confidence double precision default 0.8,
  valid_from timestamptz default null,
  extracted_by text default null,
  is_mention boolean default false
)
returns public.knowledge_facts
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source public.packet_store := derived.lock_source_memory(assert_fact_from.packet_id);
  key facts.fact_key := facts.key_of_fact(source, assert_fact_from.subject, assert_fact_from.predicate, assert_fact_from.object);
  -- Only a job may name the model that found the fact.
  model text := case when identity.current_role_name() = 'l9_worker' then left(assert_fact_from.extracted_by, 200) end;
  creator_name text := coalesce(identity.current_creator(), 'job');
  is_single boolean;
  begins_at timestamptz := assert_fact_from.valid_from;
  id uuid;
  new_fact_id uuid;
  fact public.knowledge_facts;
begin
  perform entities.check_confidence(assert_fact_from.confidence);
  if not isfinite(begins_at) then
    perform identity.raise_error('L9VAL', 'valid_from: must be a finite point in time', 'valid_from');
  end if;
  is_single := facts.lock_facts(key);
  -- Read the clock after taking the lock so that lock order and timestamps agree. Model-extracted facts are dated at the
  -- memory's timestamp.
  begins_at := coalesce(begins_at, case when model is not null then source."timestamp" end, clock_timestamp());

  if model is not null then
    -- A fact that somebody retracted is not extracted from the same memory again.
    select f.* into fact
    from facts.facts_with_key(key, is_single) f
    join public.fact_evidence e on e.fact_id = f.fact_id and e.packet_id = assert_fact_from.packet_id
    where f.retracted_at is not null and f.object_normalized = key.object_normalized
    limit 1;
    if found then
      return fact;
    end if;
  end if;

  id := facts.fact_at(key, is_single, begins_at);
  if id is null then
    new_fact_id := facts.insert_fact(key, assert_fact_from.packet_id, assert_fact_from.subject, assert_fact_from.object, begins_at);
    id := new_fact_id;
  end if;
  insert into public.fact_evidence as e (fact_id, packet_id, subject, object, confidence, valid_from, asserted_by, extracted_by)
  values (
    id, assert_fact_from.packet_id, assert_fact_from.subject, assert_fact_from.object, assert_fact_from.confidence, begins_at,
    array[creator_name], model)
  on conflict (fact_id, packet_id) do update set
    -- One memory is one piece of evidence, however often it is named; only a repeated statement counts as a mention.
    confidence = case when is_mention then entities.noisy_or(array[e.confidence, excluded.confidence], digits => 15)
      else greatest(e.confidence, excluded.confidence) end,
    mentions = e.mentions + is_mention::integer,
    valid_from = least(e.valid_from, excluded.valid_from),
    asserted_by = case when creator_name = any (e.asserted_by) then e.asserted_by else e.asserted_by || creator_name end,
    -- Once a caller asserts the fact, it is no longer only a model's extraction.
    extracted_by = case when excluded.extracted_by is not null then e.extracted_by end,
    updated_at = clock_timestamp();
  -- Inserted while the memory is locked, so that recompute_facts() never waits for this row.
  insert into public.memory_signals (packet_id, tenant_id) values (assert_fact_from.packet_id, key.tenant_id)
  on conflict do nothing;
  perform facts.recompute_facts(key, is_single, new_fact_id, array[assert_fact_from.packet_id]);

  -- The fact may have been merged with an equal one.
  select f.* into fact
  from public.knowledge_facts f join public.fact_evidence e on e.fact_id = f.fact_id
  where e.packet_id = assert_fact_from.packet_id and f.audience_id = key.audience_id and f.subject_normalized = key.subject_normalized
    and f.predicate = key.predicate and f.object_normalized = key.object_normalized and f.retracted_at is null
  order by f.fact_id = id desc, f.valid_from desc
  limit 1;
  return fact;
end
$$;

comment on function facts.assert_fact_from(uuid, text, text, jsonb, double precision, timestamptz, text, boolean) is
  'Asserts a fact that a memory states. For jobs, extracted_by is the chat model that found it. is_mention: the memory holds the caller''s own words, so that repeating them counts as another mention. Errors: L9OWN, L9SCP, L9VAL, L9LIM. Definer: writes tables that callers can''t write; the caller must be able to read the memory and to write in its scope.';

grant execute on function
  facts.assert_fact_from(uuid, text, text, jsonb, double precision, timestamptz, text, boolean)
to l9_agent, l9_admin, l9_worker;
--! EndIncluded 130-facts/110-assert-fact-from.sql
--! Included 130-facts/120-assert-fact.sql
create function public.assert_fact(
  subject text,
  predicate text,
  object jsonb,
  confidence double precision default 0.8,
  source_packet uuid default null,
  valid_from timestamptz default null,
  scope text default null,
  project_id text default null
)
returns public.knowledge_facts
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  packet_id uuid := assert_fact.source_packet;
begin
  if packet_id is not null then
    if assert_fact.scope is not null or assert_fact.project_id is not null then
      perform identity.raise_error('L9VAL', 'scope, project_id: are taken from source_packet; leave them out', 'scope');
    end if;
    return facts.assert_fact_from(
      packet_id, assert_fact.subject, assert_fact.predicate, assert_fact.object, assert_fact.confidence, assert_fact.valid_from);
  end if;

  perform entities.check_name(assert_fact.subject, 'subject');
  perform entities.check_name(assert_fact.predicate, 'predicate');
  perform facts.check_object(assert_fact.object);
  packet_id := ((public.save_memory(
    btrim(assert_fact.subject) || ' ' || entities.normalise_name(assert_fact.predicate) || ': ' || (assert_fact.object #>> '{}'),
    scope => coalesce(assert_fact.scope, 'developer'),
    project_id => assert_fact.project_id,
    kind => 'fact',
    envelope => jsonb_build_object(
      'subject', assert_fact.subject, 'predicate', assert_fact.predicate, 'object', assert_fact.object))).memory).packet_id;
  return facts.assert_fact_from(
    packet_id, assert_fact.subject, assert_fact.predicate, assert_fact.object, assert_fact.confidence, assert_fact.valid_from,
    is_mention => true);
end
$$;

comment on function public.assert_fact(text, text, jsonb, double precision, uuid, timestamptz, text, text) is
  'Asserts a fact: subject, predicate, object. source_packet: the memory that states it; if it is left out, a memory of kind fact is saved in scope (default developer) and project_id. Asserting the same fact again increases its support and confidence. If the predicate is registered as single-valued, the new value supersedes the previous one; a valid_from in the past adds history. Errors: L9OWN, L9SCP, L9VAL, L9LIM, L9AUT.';

grant execute on function public.assert_fact(text, text, jsonb, double precision, uuid, timestamptz, text, text)
  to l9_agent, l9_admin;
--! EndIncluded 130-facts/120-assert-fact.sql
--! Included 130-facts/130-withdraw-evidence.sql
create function facts.keys_of_evidence(packet_id uuid, audience_id uuid default null)
returns setof facts.fact_key
language sql
stable
set search_path = ''
begin atomic
  select distinct (f.tenant_id, coalesce(keys_of_evidence.audience_id, f.audience_id), f.subject_normalized, f.predicate, f.object_normalized)::facts.fact_key
  from public.fact_evidence e join public.knowledge_facts f on f.fact_id = e.fact_id
  where e.packet_id = keys_of_evidence.packet_id
  -- All callers take the locks in this order, which rules out deadlocks.
  order by 1;
end;

comment on function facts.keys_of_evidence(uuid, uuid) is
  'Returns the keys of all facts that a memory states and that must be recomputed when the memory changes. audience_id: the keys as they will be in that audience. Not executable by callers.';

create function facts.withdraw_evidence(packet_id uuid, only_extracted boolean default true)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  keys facts.fact_key[];
  key facts.fact_key;
begin
  keys := array(select k from facts.keys_of_evidence(withdraw_evidence.packet_id) k);
  if cardinality(keys) = 0 then
    return;
  end if;
  foreach key in array keys loop
    perform facts.lock_facts(key);
  end loop;
  delete from public.fact_evidence e
  where e.packet_id = withdraw_evidence.packet_id
    and (not only_extracted or e.extracted_by is not null
      -- Evidence of retracted facts stays, so that a job does not extract them again.
      and not exists (select from public.knowledge_facts f where f.fact_id = e.fact_id and f.retracted_at is not null));
  foreach key in array keys loop
    perform facts.recompute_facts(
      key, facts.is_single_valued(key.tenant_id, key.predicate), packet_ids => array[withdraw_evidence.packet_id]);
  end loop;
end
$$;

comment on function facts.withdraw_evidence(uuid, boolean) is
  'Deletes the evidence of a memory and recomputes its facts without it. only_extracted: deletes only what a model extracted and no caller retracted. For jobs. Definer: writes tables that callers can''t write.';

grant execute on function facts.withdraw_evidence(uuid, boolean) to l9_worker;

create function facts.tg_packet_store__withdraw_facts()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  perform facts.withdraw_evidence(old.packet_id, only_extracted => false);
  return old;
end
$$;

comment on function facts.tg_packet_store__withdraw_facts() is
  'Deletes the evidence of a memory before the memory is deleted: facts that other memories state are recomputed, the others are deleted. Definer: callers can''t write these tables.';

-- A before trigger, because the foreign keys would delete facts that other memories still state.
create trigger _620_withdraw_facts before delete on public.packet_store
  for each row execute function facts.tg_packet_store__withdraw_facts();
--! EndIncluded 130-facts/130-withdraw-evidence.sql
--! Included 130-facts/140-move-evidence.sql
create function facts.move_evidence(evidence public.fact_evidence, source public.packet_store, audience_id uuid)
returns void
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  fact public.knowledge_facts;
  key facts.fact_key;
  target_id uuid;
begin
  select f.* into fact from public.knowledge_facts f where f.fact_id = evidence.fact_id;
  key := (source.tenant_id, move_evidence.audience_id, fact.subject_normalized, fact.predicate, fact.object_normalized);
  if not exists (select from public.fact_evidence e where e.fact_id = fact.fact_id and e.evidence_id <> evidence.evidence_id) then
    -- The fact moves as a whole. Links to facts of the old audience and the reason given there stay behind.
    update public.knowledge_facts f set superseded_by = null, superseded_at = null where f.superseded_by = fact.fact_id;
    update public.knowledge_facts f set
      tenant_id = source.tenant_id, org_id = source.org_id, user_id = source.user_id, project_id = source.project_id,
      scope = source.scope, superseded_by = null, superseded_at = null, retraction_reason = null,
      -- An empty validity, so that the fact is not current until it is recomputed.
      valid_to = f.valid_from, updated_at = clock_timestamp()
    where f.fact_id = fact.fact_id;
  elsif fact.retracted_at is not null then
    delete from public.fact_evidence e where e.evidence_id = evidence.evidence_id;
  else
    target_id := coalesce(
      facts.fact_at(key, facts.is_single_valued(key.tenant_id, key.predicate), evidence.valid_from),
      facts.insert_fact(key, source.packet_id, evidence.subject, evidence.object, evidence.valid_from));
    if exists (select from public.fact_evidence e where e.fact_id = target_id and e.packet_id = source.packet_id) then
      delete from public.fact_evidence e where e.evidence_id = evidence.evidence_id;
    else
      update public.fact_evidence e set fact_id = target_id where e.evidence_id = evidence.evidence_id;
    end if;
  end if;
end
$$;

comment on function facts.move_evidence(public.fact_evidence, public.packet_store, uuid) is
  'Moves the evidence of a memory to another audience: together with the fact if no other memory states it, otherwise to an equal fact there or to a new one. Not executable by callers.';

create function facts.tg_packet_store__facts_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  audience_id uuid := packets.audience_id(new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope);
  has_moved boolean := audience_id <> packets.audience_id(old.tenant_id, old.org_id, old.user_id, old.project_id, old.scope);
  keys facts.fact_key[] := array(
    select k from facts.keys_of_evidence(new.packet_id) k
    union select k from facts.keys_of_evidence(new.packet_id, audience_id) k where has_moved
    order by 1);
  key facts.fact_key;
  evidence public.fact_evidence;
begin
  foreach key in array keys loop
    perform facts.lock_facts(key);
  end loop;
  if has_moved then
    for evidence in
      select e.* from public.fact_evidence e where e.packet_id = new.packet_id order by e.created_at, e.evidence_id
    loop
      perform facts.move_evidence(evidence, new, audience_id);
    end loop;
  end if;
  foreach key in array keys loop
    perform facts.recompute_facts(
      key, facts.is_single_valued(key.tenant_id, key.predicate), packet_ids => array[new.packet_id]);
  end loop;
  return null;
end
$$;

comment on function facts.tg_packet_store__facts_follow() is
  'Moves the facts of a memory to the memory''s new audience and lets a fact expire with the last memory that states it. Definer: callers can''t write these tables.';

-- Fires after _620_fact_evidence_follow, which updates owner and scope of the evidence.
call derived.follow_packets('_630_facts_follow', 'facts.tg_packet_store__facts_follow');
--! EndIncluded 130-facts/140-move-evidence.sql
--! Included 130-facts/150-retract-fact.sql
create function public.retract_fact(fact_id uuid, reason text default null)
returns public.knowledge_facts
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  fact public.knowledge_facts;
  key facts.fact_key;
  is_single boolean;
begin
  perform identity.check_bytes(reason, 1000, 'reason');
  for attempt in 1..2 loop
    -- The policies of the owner return only facts that the caller can read.
    select f.* into fact from public.knowledge_facts f
    where f.fact_id = retract_fact.fact_id and (f.ttl is null or f.ttl > now());
    if not found then
      perform identity.raise_error('L9OWN', format('fact %s does not exist, or is not yours', retract_fact.fact_id), 'fact_id');
    end if;
    exit when attempt = 2;
    key := (fact.tenant_id, fact.audience_id, fact.subject_normalized, fact.predicate, fact.object_normalized);
    is_single := facts.lock_facts(key);
  end loop;
  if fact.audience_id <> key.audience_id then
    raise exception using errcode = '40001', message = 'retract_fact: the fact was moved concurrently; try again';
  end if;

  perform packets.check_scope(fact.scope, fact.project_id);
  if me.role = 'l9_agent' and exists (
    -- An agent may retract only facts that nobody else asserted.
    select from public.fact_evidence e where e.fact_id = fact.fact_id and not e.asserted_by <@ array[me.creator]) then
    perform identity.raise_error('L9OWN', format('fact %s does not exist, or is not yours', retract_fact.fact_id), 'fact_id');
  elsif fact.retracted_at is not null then
    perform identity.raise_error('L9VAL', 'fact_id: the fact is already retracted', 'fact_id');
  end if;

  update public.knowledge_facts f
  set retracted_at = clock_timestamp(), retraction_reason = nullif(btrim(retract_fact.reason), ''), updated_at = clock_timestamp()
  where f.fact_id = fact.fact_id;
  perform facts.recompute_facts(key, is_single, fact.fact_id);
  select f.* into fact from public.knowledge_facts f where f.fact_id = fact.fact_id;
  return fact;
end
$$;

comment on function public.retract_fact(uuid, text) is
  'Retracts a fact: it is not true and never was. reason: at most 1000 bytes. The row stays as history, and the fact that it superseded holds again. Agents can retract facts that only they asserted, admins all facts within their claims; otherwise, and for a fact that does not exist, L9OWN. Errors: L9OWN, L9SCP, L9VAL, L9LIM, L9AUT. Definer: callers can''t write the table; ownership is checked here.';

grant execute on function public.retract_fact(uuid, text) to l9_agent, l9_admin;
--! EndIncluded 130-facts/150-retract-fact.sql
--! Included 130-facts/160-register-predicate.sql
create function public.register_predicate(
  predicate text, is_single_valued boolean default true, description text default null, tenant_id uuid default null)
returns public.fact_predicates
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(register_predicate.tenant_id);
  name text := entities.check_name(register_predicate.predicate, 'predicate');
  was_single boolean;
  registered public.fact_predicates;
  key facts.fact_key;
begin
  perform administration.require_whole_token(admin);
  if register_predicate.is_single_valued is null then
    perform identity.raise_error('L9VAL', 'is_single_valued: must be true or false', 'is_single_valued');
  end if;
  perform identity.check_bytes(register_predicate.description, 1000, 'description');
  -- Waits for running assertions of this predicate; later ones see the new registration.
  perform pg_advisory_xact_lock(hashtextextended(format('l9-memory predicate %s %s', admin.target_tenant_id, name), 0));
  was_single := facts.is_single_valued(admin.target_tenant_id, name);
  insert into public.fact_predicates as p (tenant_id, predicate, is_single_valued, description)
  values (admin.target_tenant_id, name, register_predicate.is_single_valued, coalesce(register_predicate.description, ''))
  on conflict (tenant_id, predicate) do update set
    is_single_valued = excluded.is_single_valued,
    description = coalesce(register_predicate.description, p.description),
    updated_at = clock_timestamp()
  returning p.* into registered;
  perform audit.write_audit_of_tenant(admin.target_tenant_id, 'UPDATE', 'fact_predicates', details => jsonb_build_object(
    'predicate', name, 'is_single_valued', registered.is_single_valued, 'was_single_valued', was_single));

  if was_single <> registered.is_single_valued then
    for key in
      select distinct f.tenant_id, f.audience_id, f.subject_normalized, f.predicate,
        case when not registered.is_single_valued then f.object_normalized end
      from public.knowledge_facts f
      where f.tenant_id = admin.target_tenant_id and f.predicate = name
    loop
      perform facts.recompute_facts(key, registered.is_single_valued);
    end loop;
  end if;
  return registered;
end
$$;

comment on function public.register_predicate(text, boolean, text, uuid) is
  'Registers a predicate as single-valued or multi-valued. Existing facts are recomputed within each scope and project: single-valued, the value that began last holds and ends the others; multi-valued, all superseded values hold again. For admins of every scope of the tenant. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: writes tables that callers can''t write.';

grant execute on function public.register_predicate(text, boolean, text, uuid) to l9_admin, l9_platform_admin;
--! EndIncluded 130-facts/160-register-predicate.sql
--! Included 130-facts/170-log-fact-reads.sql
create function facts.max_facts_per_read()
returns integer
language sql
immutable
parallel safe
set search_path = ''
return 100;

comment on function facts.max_facts_per_read() is 'The number of facts that one read returns at most.';

create function facts.check_k(k integer)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if k is null or k not between 1 and facts.max_facts_per_read() then
    perform identity.raise_error('L9LIM', format('k: must be from 1 to %s', facts.max_facts_per_read()), 'k');
  end if;
end
$$;

comment on function facts.check_k(integer) is 'Raises L9LIM unless k is from 1 to max_facts_per_read().';

create function facts.log_fact_reads(details jsonb, facts public.knowledge_facts[], is_use boolean)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  read_id uuid := uuidv7();
begin
  perform identity.require_identity();
  if octet_length(details::text) > 65536 or cardinality(facts) > facts.max_facts_per_read() then
    perform identity.raise_error(
      'L9LIM', format('details: at most 65536 bytes, facts: at most %s', facts.max_facts_per_read()), 'details');
  end if;
  perform audit.add_audit_row(
    read_id, 'READ', 'knowledge_facts', null, null, null,
    details - 'org_id' - 'user_id' || jsonb_build_object('ids', array(select f.fact_id from unnest(facts) f)), null);
  if is_use and cardinality(facts) > 0 then
    perform importance.log_accesses('search', array_agg(f.fact_id), array_agg(f.scope), array_agg(f.project_id),
      audit_id => read_id, target_type => 'fact')
    from unnest(facts) f;
  end if;
end
$$;

comment on function facts.log_fact_reads(jsonb, public.knowledge_facts[], boolean) is
  'Audits which facts the caller was shown, without their texts; is_use also counts them as used. A caller can only add rows about itself, within its own scopes; the roll-up counts a row only if the caller could read the fact. Definer: writes audit_log.';

grant execute on function
  facts.max_facts_per_read(), facts.check_k(integer), facts.log_fact_reads(jsonb, public.knowledge_facts[], boolean)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 130-facts/170-log-fact-reads.sql
--! Included 130-facts/180-find-facts.sql
create function facts.names_of_object(object jsonb)
returns text[]
language sql
stable
parallel safe
set search_path = ''
return case when jsonb_typeof(object) = 'string' then entities.names_of(object #>> '{}') else array[facts.object_text(object)] end;

comment on function facts.names_of_object(jsonb) is
  'Returns the forms that an object may be stored in: all names of the entity if it is a text, otherwise the value.';

create function public.find_facts(
  subject text default null,
  predicate text default null,
  object jsonb default null,
  min_confidence double precision default 0,
  include_history boolean default false,
  valid_at timestamptz default null,
  scope text default null,
  project_id text default null,
  k integer default 20
)
returns setof public.knowledge_facts
language plpgsql
volatile
set search_path = ''
-- The best plan depends on which filters are set, so no generic plan is cached.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  at timestamptz := coalesce(find_facts.valid_at, now());
  subjects text[] := entities.names_of(find_facts.subject);
  objects text[] := facts.names_of_object(find_facts.object);
  matching_facts public.knowledge_facts[];
begin
  perform identity.require_identity();
  perform facts.check_k(find_facts.k);
  perform entities.check_confidence(find_facts.min_confidence, 'min_confidence');
  matching_facts := array(
    select f
    from public.knowledge_facts f
    where (find_facts.subject is null or f.subject_normalized = any (subjects))
      and (find_facts.predicate is null or f.predicate = entities.normalise_name(find_facts.predicate))
      and (find_facts.object is null or f.object_normalized = any (objects))
      and f.confidence >= find_facts.min_confidence
      and (find_facts.scope is null or f.scope = find_facts.scope)
      and (find_facts.project_id is null or f.project_id is null or f.project_id = find_facts.project_id)
      and (include_history or f.retracted_at is null and facts.holds_at(f.valid_from, f.valid_to, at))
    order by f.confidence desc, f.valid_from desc, f.fact_id desc
    limit find_facts.k);
  perform facts.log_fact_reads(
    jsonb_strip_nulls(jsonb_build_object('k', find_facts.k, 'min_confidence', nullif(find_facts.min_confidence, 0),
      'include_history', include_history, 'valid_at', find_facts.valid_at, 'scope', left(find_facts.scope, 63),
      'project_id', left(find_facts.project_id, 200))),
    matching_facts, is_use => true);
  return query select (f).* from unnest(matching_facts) f;
end
$$;

comment on function public.find_facts(text, text, jsonb, double precision, boolean, timestamptz, text, text, integer) is
  'Returns facts that the caller can read and that hold (at valid_at, as known today), most confident first. Subject and object match by any name or alias of the entity. include_history: also facts that ended or were retracted. project_id: facts of this project and of no project. k: 1 to 100 facts. Writes a READ audit row without texts, and counts the facts as used. Errors: L9VAL, L9LIM, L9AUT.';

grant execute on function
  facts.names_of_object(jsonb),
  public.find_facts(text, text, jsonb, double precision, boolean, timestamptz, text, text, integer)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 130-facts/180-find-facts.sql
--! Included 130-facts/190-facts-as-of.sql
create type public.fact_as_of as (
  fact public.knowledge_facts,
  valid_from timestamptz,
  valid_to timestamptz,
  replaced public.knowledge_facts
);

comment on type public.fact_as_of is 'A fact as it was known at a point in time.';
comment on column public.fact_as_of.fact is 'The fact with the present values of its row.';
comment on column public.fact_as_of.valid_from is 'Start of validity, as known at that time.';
comment on column public.fact_as_of.valid_to is 'End of validity, as known at that time. Null: no end was known.';
comment on column public.fact_as_of.replaced is 'The fact that this one had superseded, as known at that time.';

create function facts.facts_known_at(subjects text[], predicate text, known_at timestamptz)
returns table (fact_id uuid, valid_from timestamptz, valid_to timestamptz, replaced uuid)
language sql
stable
set search_path = ''
set plan_cache_mode = force_custom_plan
begin atomic
  with known_then as (
    select f.fact_id, f.audience_id, f.subject_normalized, f.predicate, f.is_single_valued, min(e.valid_from) as valid_from,
      min(e.created_at) as recorded_at
    from public.knowledge_facts f
    join public.fact_evidence e on e.fact_id = f.fact_id and e.created_at <= facts_known_at.known_at
    where (facts_known_at.subjects is null or f.subject_normalized = any (facts_known_at.subjects))
      and (facts_known_at.predicate is null or f.predicate = facts_known_at.predicate)
      and (f.retracted_at is null or f.retracted_at > facts_known_at.known_at)
    group by f.fact_id
  )
  select n.fact_id, n.valid_from, lead(n.valid_from) over w, lag(n.fact_id) over w
  from known_then n
  -- Each fact of a multi-valued predicate is its own partition.
  window w as (
    partition by n.audience_id, n.subject_normalized, n.predicate, case when not n.is_single_valued then n.fact_id end
    order by n.valid_from, n.recorded_at, n.fact_id);
end;

comment on function facts.facts_known_at(text[], text, timestamptz) is
  'Returns facts as they were known at a time, from what had been recorded and not retracted by then: when each began and ended, and which fact it had superseded.';

create function public.facts_as_of(
  valid_at timestamptz default null,
  known_at timestamptz default null,
  subject text default null,
  predicate text default null,
  object jsonb default null,
  k integer default 100
)
returns setof public.fact_as_of
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  matching public.fact_as_of[];
begin
  perform identity.require_identity();
  perform facts.check_k(facts_as_of.k);
  matching := array(
    select (f, n.valid_from, n.valid_to, r)::public.fact_as_of
    from facts.facts_known_at(
      case when facts_as_of.subject is not null then entities.names_of(facts_as_of.subject) end,
      entities.normalise_name(facts_as_of.predicate), coalesce(facts_as_of.known_at, now())) n
    join public.knowledge_facts f on f.fact_id = n.fact_id
    left join public.knowledge_facts r on r.fact_id = n.replaced
    where facts.holds_at(n.valid_from, n.valid_to, coalesce(facts_as_of.valid_at, now()))
      and (facts_as_of.object is null or f.object_normalized = any (facts.names_of_object(facts_as_of.object)))
    order by f.confidence desc, n.valid_from desc, f.fact_id desc
    limit facts_as_of.k);
  perform facts.log_fact_reads(
    jsonb_strip_nulls(jsonb_build_object('valid_at', facts_as_of.valid_at, 'known_at', facts_as_of.known_at, 'k', facts_as_of.k)),
    array(select (a).fact from unnest(matching) a), is_use => false);
  return query select (a).* from unnest(matching) a;
end
$$;

comment on function public.facts_as_of(timestamptz, timestamptz, text, text, jsonb, integer) is
  'Returns the facts that held at valid_at (default now) as they were known at known_at (default now), each with the fact that it had superseded. A retracted fact was known until its retraction. Facts that were erased, or moved to where the caller can''t read them, are never included. k: 1 to 100 facts. Writes a READ audit row. Errors: L9LIM, L9AUT.';

grant execute on function
  facts.facts_known_at(text[], text, timestamptz), public.facts_as_of(timestamptz, timestamptz, text, text, jsonb, integer)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 130-facts/190-facts-as-of.sql
--! Included 130-facts/200-facts-of-memories.sql
create function public.packet_store_facts(memory public.packet_store)
returns setof public.knowledge_facts
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select f.* from public.fact_evidence e join public.knowledge_facts f on f.fact_id = e.fact_id
  where e.packet_id = (memory).packet_id
  order by f.fact_id;
end;

comment on function public.packet_store_facts(public.packet_store) is
  'The facts that this memory states, including facts that ended or were retracted.';

grant execute on function public.packet_store_facts(public.packet_store) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 130-facts/200-facts-of-memories.sql
--! Included 130-facts/210-count-fact-accesses.sql
create function facts.roll_up_fact_accesses_between(from_xid xid8, to_xid xid8, era_after timestamptz)
returns void
language sql
volatile
set search_path = ''
begin atomic
  with accessed as (
    select a.target_id as fact_id, count(*) as times
    from importance.memory_access_log a
    -- Callers write their own log rows, so a row counts only if that caller could read the fact.
    join public.knowledge_facts f on f.fact_id = a.target_id and f.tenant_id = a.tenant_id and f.scope = a.scope
      and f.project_id is not distinct from a.project_id
      and (a.is_admin or (f.org_id is null or f.org_id = a.org_id) and (f.user_id is null or f.user_id = a.user_id))
    where a.target_type = 'fact' and a.xid >= from_xid and a.xid < to_xid and a.accessed_at > era_after
    group by a.target_id
  ), locked as (
    -- Rows are locked in the order of their ids, as in recompute_facts(), so that the two can't deadlock.
    select f.fact_id from public.knowledge_facts f
    where f.fact_id in (select a.fact_id from accessed a)
    order by f.fact_id
    for no key update
  )
  update public.knowledge_facts f set access_count = f.access_count + a.times
  from accessed a join locked l on l.fact_id = a.fact_id
  where f.fact_id = a.fact_id;
end;

comment on function facts.roll_up_fact_accesses_between(xid8, xid8, timestamptz) is
  'Adds the accesses of these transactions that are later than era_after to access_count of the facts. roll_up_accesses() chooses the range.';

-- An index on knowledge_facts calls content_hash(), so updating a fact needs the right to execute it.
grant execute on function facts.roll_up_fact_accesses_between(xid8, xid8, timestamptz), packets.content_hash(text) to l9_worker;
--! EndIncluded 130-facts/210-count-fact-accesses.sql
--! Included 130-facts/220-roll-up-accesses.sql
create function facts.roll_up_accesses(max_rows integer default 10000)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
  last_xid constant xid8 := '18446744073709551615';
  progress importance.access_roll_up;
  horizon xid8;
  until_xid xid8;
  first_xid xid8;
  row_total bigint;
begin
  if max_rows is null or max_rows not between 1 and 100000 then
    perform identity.raise_error('L9VAL', 'max_rows: must be from 1 to 100000', 'max_rows');
  end if;
  -- One run at a time. The select is a statement of its own, so its snapshot includes what a previous run committed.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory access roll-up', 0));
  select * into strict progress from importance.access_roll_up;
  -- All transactions before the oldest running one have ended, so no further row of theirs can appear.
  horizon := pg_snapshot_xmin(pg_current_snapshot());
  if progress.to_xid > pg_snapshot_xmax(pg_current_snapshot()) then
    -- The progress lies in the future, so this database was restored from a dump into another cluster. First the rows of
    -- the dump that are not rolled up yet are counted; then its rows are skipped, because their transaction ids mean
    -- nothing in this cluster.
    if not exists (
        select from importance.memory_access_log a where a.xid >= progress.to_xid and a.accessed_at > progress.era_after)
      and not exists (select from public.memory_feedback f where f.xid >= progress.to_xid) then
      update importance.access_roll_up set to_xid = '0', era_after = newest_at;
      return 0;
    end if;
    horizon := last_xid;
  end if;

  -- About max_rows rows: a transaction is never split, even if it alone has more.
  select min(n.xid), (array_agg(n.xid order by n.xid))[max_rows + 1], count(*) into first_xid, until_xid, row_total
  from (
    (select a.xid from importance.memory_access_log a
     where a.xid >= progress.to_xid and a.xid < horizon and a.accessed_at > progress.era_after order by a.xid limit max_rows + 1)
    union all
    (select f.xid from public.memory_feedback f
     where f.xid >= progress.to_xid and f.xid < horizon order by f.xid limit max_rows + 1)
  ) n;
  if row_total = 0 then
    return 0;
  end if;
  until_xid := case when until_xid is null then horizon when until_xid > first_xid then until_xid else ((first_xid::text::numeric + 1)::text)::xid8 end;
  perform importance.roll_up_accesses_between(progress.to_xid, until_xid, progress.era_after);
  perform facts.roll_up_fact_accesses_between(progress.to_xid, until_xid, progress.era_after);
  update importance.access_roll_up
  set to_xid = until_xid, rolled_up_at = clock_timestamp(), newest_at = greatest(newest_at, (
    select max(a.accessed_at) from importance.memory_access_log a
    where a.xid >= progress.to_xid and a.xid < until_xid and a.accessed_at > progress.era_after));
  return least(row_total, max_rows);
end
$$;

comment on function facts.roll_up_accesses(integer) is
  'Counts committed accesses and feedback into memory_signals (accesses of facts into their own rows), each exactly once, in whole transactions and in order, about max_rows rows at most. Returns about how many; 0 means nothing is left. Counters and progress commit together, so the job can be interrupted, run twice or run concurrently. Accesses of transactions that are still running are counted later, never skipped.';

grant execute on function facts.roll_up_accesses(integer) to l9_worker;
--! EndIncluded 130-facts/220-roll-up-accesses.sql
--! Included 140-graph/000-schema.sql
create schema graph;
comment on schema graph is
  'Relationships between entities, and walks over them. The helpers are not exposed over GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema graph to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 140-graph/000-schema.sql
--! Included 140-graph/010-entity-relationships.sql
create table public.entity_relationships (
  relationship_id uuid primary key default uuidv7(),
  source_entity text not null,
  relationship_type text not null,
  target_entity text not null,
  source_normalized text not null,
  target_normalized text not null,
  confidence double precision not null,
  mention_count bigint not null default 1,
  first_seen timestamptz not null default clock_timestamp(),
  last_seen timestamptz not null default clock_timestamp(),
  -- References relationship_evidence, which references the memory. A foreign key to packet_store would deadlock with a
  -- concurrent delete that recomputes this relationship.
  source_packet uuid not null,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (tenant_id, scope) references public.scopes (tenant_id, scope),
  constraint relationship_of_two_entities check (source_normalized <> target_normalized),
  constraint relationship_type_normalised check (relationship_type ~ '^\S+$' and octet_length(relationship_type) <= 200),
  constraint relationship_confidence_at_most_99 check (confidence between 0 and 0.99),
  constraint relationship_mentioned check (mention_count > 0)
) with (fillfactor = 90);

-- Erased contents must not survive in the planner's statistics.
alter table public.entity_relationships
  alter column source_entity set statistics 0, alter column relationship_type set statistics 0,
  alter column target_entity set statistics 0, alter column source_normalized set statistics 0,
  alter column target_normalized set statistics 0;

comment on table public.entity_relationships is
  'The entity graph: how two entities are related, one row for each triple (source, type, target) in one tenant, org, user, project and scope. Everything but the triple is computed from relationship_evidence. relate() writes this table.';
comment on column public.entity_relationships.relationship_id is
  'UUID version 7, so ids are ordered by when the relationship was first stated.';
comment on column public.entity_relationships.source_entity is
  'The entity that the relationship starts from, as its source memory spells it.';
comment on column public.entity_relationships.relationship_type is
  'The type of the relationship: lower case with underscores, such as depends_on.';
comment on column public.entity_relationships.target_entity is
  'The entity that the relationship leads to, as its source memory spells it.';
comment on column public.entity_relationships.source_normalized is
  'source_entity in the form in which names are compared: Unicode NFKC, lower case, white space collapsed.';
comment on column public.entity_relationships.target_normalized is
  'target_entity in the form in which names are compared: Unicode NFKC, lower case, white space collapsed.';
comment on column public.entity_relationships.confidence is
  'From 0 to 0.99: 1 - Π(1 - c) over the confidences c of all mentions (noisy-or), so it grows with every mention.';
comment on column public.entity_relationships.mention_count is 'How often the relationship was stated.';
comment on column public.entity_relationships.first_seen is 'When a memory that still exists first stated the relationship.';
comment on column public.entity_relationships.last_seen is 'When a memory that still exists last stated the relationship.';
comment on column public.entity_relationships.source_packet is
  'The memory that states the relationship and expires last; of several such memories, the oldest.';

call derived.derive_from_packets('public.entity_relationships', 'relationship_id', follows => false);

create unique index relationship_triple_unique on public.entity_relationships
  (source_normalized, relationship_type, target_normalized, tenant_id, scope, project_id, org_id, user_id) nulls not distinct;
-- One index for each direction, most confident first. The scope comes before the confidence, so a scan never skips rows of
-- scopes that the caller can't read.
create index entity_relationships_outgoing_idx on public.entity_relationships (tenant_id, source_normalized, scope, confidence desc);
create index entity_relationships_incoming_idx on public.entity_relationships (tenant_id, target_normalized, scope, confidence desc);
create index entity_relationships_readers_idx on public.entity_relationships (tenant_id, scope, relationship_id);
create index entity_relationships_source_idx on public.entity_relationships (source_packet);

comment on index public.relationship_triple_unique is
  'Prevents a second row for the same triple in one audience, also under concurrent writes.';

create function graph.check_relationship_type(type text, field text default 'type')
returns text
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  normalised constant text := replace(entities.normalise_name(type), ' ', '_');
begin
  if coalesce(normalised, '') = '' then
    perform identity.raise_error('L9VAL', format('%s: a relationship type is required, such as depends_on', field), field);
  end if;
  perform identity.check_bytes(type, 200, field), identity.check_bytes(normalised, 200, field);
  return normalised;
end
$$;

comment on function graph.check_relationship_type(text, text) is
  'Returns the stored form of a relationship type: normalised like a name, with underscores for spaces, at most 200 bytes. Raises L9VAL or L9LIM for this field.';

grant execute on function graph.check_relationship_type(text, text) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 140-graph/010-entity-relationships.sql
--! Included 140-graph/020-relationship-evidence.sql
create table public.relationship_evidence (
  evidence_id uuid primary key default uuidv7(),
  relationship_id uuid not null references public.entity_relationships on delete cascade,
  packet_id uuid not null references public.packet_store on delete cascade,
  source_entity text not null,
  target_entity text not null,
  confidence double precision not null,
  mentions bigint not null default 1,
  extracted_by text,
  last_seen timestamptz not null default clock_timestamp(),
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (tenant_id, scope) references public.scopes (tenant_id, scope),
  constraint relationship_evidence_once unique (relationship_id, packet_id),
  constraint evidence_confidence_between_0_and_1 check (confidence between 0 and 1),
  constraint evidence_mentioned check (mentions > 0),
  constraint evidence_extractor_short check (octet_length(extracted_by) <= 200)
) with (fillfactor = 90);

-- Deferred, because a relationship is inserted before its evidence.
alter table public.entity_relationships add constraint relationship_source_is_evidence
  foreign key (relationship_id, source_packet) references public.relationship_evidence (relationship_id, packet_id)
  deferrable initially deferred;

alter table public.relationship_evidence
  alter column source_entity set statistics 0, alter column target_entity set statistics 0, alter column extracted_by set statistics 0;

comment on table public.relationship_evidence is
  'Evidence of relationships: which memory states a relationship, with which confidence and how often. Confidence and counts of a relationship are computed from these rows.';
comment on column public.relationship_evidence.evidence_id is 'UUID version 7.';
comment on column public.relationship_evidence.relationship_id is
  'The relationship; it has the same tenant, org, user, project and scope as the memory.';
comment on column public.relationship_evidence.packet_id is 'The memory that states the relationship.';
comment on column public.relationship_evidence.source_entity is
  'The entity that the relationship starts from, as this memory spells it.';
comment on column public.relationship_evidence.target_entity is
  'The entity that the relationship leads to, as this memory spells it.';
comment on column public.relationship_evidence.confidence is
  'The confidence in the relationship that this memory gives, from 0 to 1: 1 - Π(1 - c) over the confidences c of its mentions (noisy-or).';
comment on column public.relationship_evidence.mentions is 'How often the relationship was stated from this memory.';
comment on column public.relationship_evidence.extracted_by is
  'The chat model that extracted the relationship from the memory. Null: a caller stated it, possibly besides a model.';
comment on column public.relationship_evidence.last_seen is 'When the relationship was last stated from this memory.';

call derived.derive_from_packets('public.relationship_evidence', 'evidence_id', 'packet_id', follows => false);

create index relationship_evidence_packet_idx on public.relationship_evidence (packet_id);
create index relationship_evidence_readers_idx on public.relationship_evidence (tenant_id, scope, evidence_id);
--! EndIncluded 140-graph/020-relationship-evidence.sql
--! Included 140-graph/030-recompute-relationships.sql
create function graph.lock_relationships(ids uuid[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- Every transaction locks in the order of the ids, which rules out deadlocks.
  perform from public.entity_relationships r where r.relationship_id = any (ids) order by r.relationship_id for update;
end
$$;

comment on function graph.lock_relationships(uuid[]) is
  'Locks these relationships until the end of the transaction. Not executable by callers: functions of the owner call it.';

create function graph.recompute_relationships(ids uuid[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  delete from public.entity_relationships r
  where r.relationship_id = any (ids)
    and not exists (select from public.relationship_evidence e where e.relationship_id = r.relationship_id);

  update public.entity_relationships r
  set source_packet = first.packet_id, source_entity = first.source_entity, target_entity = first.target_entity,
    ttl = first.ttl, creator = first.creator, confidence = t.confidence, mention_count = t.mentions,
    first_seen = t.first_seen, last_seen = t.last_seen, updated_at = clock_timestamp()
  from (
    select e.relationship_id, entities.noisy_or(array_agg(e.confidence)) as confidence, sum(e.mentions) as mentions,
      min(e.created_at) as first_seen, max(e.last_seen) as last_seen
    from public.relationship_evidence e
    where e.relationship_id = any (ids)
    group by e.relationship_id
  ) t
  cross join lateral (
    select e.packet_id, e.source_entity, e.target_entity, e.ttl, e.creator
    from public.relationship_evidence e
    where e.relationship_id = t.relationship_id
    order by e.ttl desc nulls first, e.created_at, e.evidence_id
    limit 1
  ) first
  where r.relationship_id = t.relationship_id;
end
$$;

comment on function graph.recompute_relationships(uuid[]) is
  'Recomputes relationships from their evidence and deletes relationships without evidence. The caller must hold their locks. Not executable by callers: functions of the owner call it.';
--! EndIncluded 140-graph/030-recompute-relationships.sql
--! Included 140-graph/040-follow-memories.sql
-- The relationships of a memory are deleted and moved with it; relationships that other memories also state are recomputed.

create function graph.tg_packet_store__withdraw_relationships()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  ids constant uuid[] := array(
    select distinct e.relationship_id from public.relationship_evidence e where e.packet_id = old.packet_id);
begin
  if ids <> '{}' then
    -- Done here because the foreign key would delete the evidence without recomputing shared relationships.
    perform graph.lock_relationships(ids);
    delete from public.relationship_evidence e where e.packet_id = old.packet_id;
    perform graph.recompute_relationships(ids);
  end if;
  return old;
end
$$;

comment on function graph.tg_packet_store__withdraw_relationships() is
  'Deletes the evidence of a memory that is about to be deleted and recomputes its relationships. Definer: callers can''t write these tables.';

create trigger _620_withdraw_relationships before delete on public.packet_store
  for each row execute function graph.tg_packet_store__withdraw_relationships();

create function graph.tg_packet_store__relationships_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  old_ids constant uuid[] := array(
    select distinct e.relationship_id from public.relationship_evidence e where e.packet_id = new.packet_id);
  has_moved constant boolean := packets.audience_id(new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope)
    <> packets.audience_id(old.tenant_id, old.org_id, old.user_id, old.project_id, old.scope);
  relation record;
  target_id uuid;
  new_ids uuid[] := '{}';
begin
  if old_ids = '{}' then
    return null;
  end if;
  perform graph.lock_relationships(old_ids);
  if has_moved and new.ttl <= now() then
    -- An expired memory is not readable in any audience.
    delete from public.relationship_evidence e where e.packet_id = new.packet_id;
  elsif has_moved then
    for relation in
      select e.evidence_id, e.source_entity, e.target_entity, r.source_normalized, r.relationship_type, r.target_normalized, r.confidence
      from public.relationship_evidence e join public.entity_relationships r on r.relationship_id = e.relationship_id
      where e.packet_id = new.packet_id
      order by r.source_normalized, r.relationship_type, r.target_normalized
    loop
      insert into public.entity_relationships as r (
        source_entity, relationship_type, target_entity, source_normalized, target_normalized, confidence, source_packet)
      values (
        relation.source_entity, relation.relationship_type, relation.target_entity, relation.source_normalized, relation.target_normalized,
        0, new.packet_id)
      on conflict (source_normalized, relationship_type, target_normalized, tenant_id, scope, project_id, org_id, user_id)
      do update set relationship_id = r.relationship_id
      returning r.relationship_id into target_id;
      update public.relationship_evidence e
      set relationship_id = target_id, tenant_id = new.tenant_id, org_id = new.org_id, user_id = new.user_id,
        project_id = new.project_id, scope = new.scope, ttl = new.ttl, updated_at = clock_timestamp()
      where e.evidence_id = relation.evidence_id;
      new_ids := new_ids || target_id;
    end loop;
  else
    update public.relationship_evidence e set ttl = new.ttl, updated_at = clock_timestamp() where e.packet_id = new.packet_id;
  end if;
  perform graph.recompute_relationships(old_ids || new_ids);
  return null;
end
$$;

comment on function graph.tg_packet_store__relationships_follow() is
  'Moves the evidence of a memory to the memory''s new audience, joins it with equal triples there, and recomputes the relationships on both sides. Definer: callers can''t write these tables.';

call derived.follow_packets('_620_relationships_follow', 'graph.tg_packet_store__relationships_follow');
--! EndIncluded 140-graph/040-follow-memories.sql
--! Included 140-graph/050-relate.sql
create function graph.relate_from(
  packet_id uuid,
  source text,
  type text,
  target text,
  confidence double precision default 0.8,
  extracted_by text default null
)
returns public.entity_relationships
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source_name constant text := entities.check_name(relate_from.source, 'source');
  type_name constant text := graph.check_relationship_type(relate_from.type);
  target_name constant text := entities.check_name(relate_from.target, 'target');
  -- Only a job may name the model that extracted the relationship.
  extractor constant text := case when identity.current_role_name() = 'l9_worker' then relate_from.extracted_by end;
  stated record;
  relation public.entity_relationships;
begin
  perform entities.check_confidence(relate_from.confidence);
  if source_name = target_name then
    perform identity.raise_error('L9VAL', 'target: must be another entity than source', 'target');
  end if;
  perform identity.check_bytes(extractor, 200, 'extracted_by');
  perform derived.lock_source_memory(relate_from.packet_id);

  -- The upsert locks an existing row, so concurrent statements of one triple are counted one after the other.
  insert into public.entity_relationships as r (
    source_entity, relationship_type, target_entity, source_normalized, target_normalized, confidence, source_packet)
  values (
    btrim(relate_from.source), type_name, btrim(relate_from.target), source_name, target_name,
    entities.noisy_or(array[relate_from.confidence]), relate_from.packet_id)
  on conflict (source_normalized, relationship_type, target_normalized, tenant_id, scope, project_id, org_id, user_id)
  do update set relationship_id = r.relationship_id
  returning r.relationship_id, old.relationship_id is null as is_new into stated;

  insert into public.relationship_evidence as e (relationship_id, packet_id, source_entity, target_entity, confidence, extracted_by)
  values (
    stated.relationship_id, relate_from.packet_id, btrim(relate_from.source), btrim(relate_from.target), relate_from.confidence, extractor)
  on conflict (relationship_id, packet_id) do update
  set confidence = entities.noisy_or(array[e.confidence, excluded.confidence], highest => 1, digits => 15), mentions = e.mentions + 1,
    source_entity = excluded.source_entity, target_entity = excluded.target_entity,
    extracted_by = case when e.extracted_by is not null then excluded.extracted_by end,
    last_seen = clock_timestamp(), updated_at = clock_timestamp();

  if not stated.is_new then
    perform graph.recompute_relationships(array[stated.relationship_id]);
  end if;
  select r.* into relation from public.entity_relationships r where r.relationship_id = stated.relationship_id;
  return relation;
end
$$;

comment on function graph.relate_from(uuid, text, text, text, double precision, text) is
  'States a relationship from a memory, for a caller who can read the memory and write in its scope, or for a job. extracted_by: the model that extracted it; ignored unless a job calls. Errors: L9OWN, L9SCP, L9VAL, L9LIM. Definer: callers can''t write these tables.';

create function public.relate(
  source text,
  type text,
  target text,
  confidence double precision default 0.8,
  source_packet uuid default null,
  scope text default 'developer',
  project_id text default null
)
returns public.entity_relationships
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  type_name constant text := graph.check_relationship_type(relate.type);
  packet_id uuid := relate.source_packet;
begin
  perform identity.require_identity();
  perform entities.check_name(relate.source, 'source'), entities.check_name(relate.target, 'target');
  perform entities.check_confidence(relate.confidence);
  if entities.normalise_name(relate.target) = any (entities.names_of(relate.source)) then
    perform identity.raise_error('L9VAL', 'target: must be another entity than source; both are names of the same entity', 'target');
  end if;
  if packet_id is null then
    packet_id := ((public.save_memory(
      format('%s %s %s', btrim(relate.source), replace(type_name, '_', ' '), btrim(relate.target)),
      relate.scope, relate.project_id, kind => 'fact')).memory).packet_id;
  end if;
  return graph.relate_from(packet_id, relate.source, relate.type, relate.target, relate.confidence);
end
$$;

comment on function public.relate(text, text, text, double precision, uuid, text, text) is
  'States that source is related to target, such as relate(''billing'', ''depends_on'', ''postgres''). Stating it again raises its confidence towards 0.99 and counts a mention. source_packet: the memory that states the relationship and decides where it is visible; if it is left out, a memory of kind fact is saved in scope and project_id. Errors: L9VAL, L9LIM, L9SCP, L9OWN, L9AUT.';

grant execute on function graph.relate_from(uuid, text, text, text, double precision, text) to l9_agent, l9_admin, l9_worker;
grant execute on function public.relate(text, text, text, double precision, uuid, text, text) to l9_agent, l9_admin;
--! EndIncluded 140-graph/050-relate.sql
--! Included 140-graph/060-edges-of.sql
create type graph.graph_edge as (
  place integer,
  is_outgoing boolean,
  relationship_id uuid,
  source_entity text,
  source_normalized text,
  relationship_type text,
  target_entity text,
  target_normalized text,
  confidence double precision
);

comment on type graph.graph_edge is
  'A relationship as seen from one of its two entities, the name at a position (place) of a list.';

create function graph.max_edges_per_name()
returns integer
language sql
immutable
parallel safe
set search_path = ''
return 1000;

comment on function graph.max_edges_per_name() is
  'The number of relationships of one name that a walk follows at most, most confident first.';

create function graph.edges_of(names text[], max_edges integer)
returns setof graph.graph_edge
language plpgsql
stable
set search_path = ''
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- Only an index scan returns the most confident relationship of a name first, so other plans are ruled out.
set enable_bitmapscan = off
set enable_nestloop = on
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  me constant identity.identity := identity.require_identity();
  -- Fetches one more than a walk follows, so that the caller can tell whether there are more.
  bound constant integer := graph.max_edges_per_name() + 1;
begin
  return query
  select n.place::integer, e.*
  from unnest(edges_of.names) with ordinality as n (name, place)
  cross join lateral (
    select *
    from (
      select true, r.relationship_id, r.source_entity, r.source_normalized, r.relationship_type, r.target_entity,
        r.target_normalized, r.confidence
      from unnest(me.readable_scopes) as s (name)
      cross join lateral (
        select * from public.entity_relationships r
        where r.tenant_id = me.tenant_id and r.source_normalized = n.name and r.scope = s.name and (r.ttl is null or r.ttl > now())
        order by r.confidence desc
        limit bound
      ) r
      union all
      select false, r.relationship_id, r.source_entity, r.source_normalized, r.relationship_type, r.target_entity,
        r.target_normalized, r.confidence
      from unnest(me.readable_scopes) as s (name)
      cross join lateral (
        select * from public.entity_relationships r
        where r.tenant_id = me.tenant_id and r.target_normalized = n.name and r.scope = s.name and (r.ttl is null or r.ttl > now())
        order by r.confidence desc
        limit bound
      ) r
    ) both_ways
    order by both_ways.confidence desc
    limit bound
  ) e
  limit edges_of.max_edges;
end
$$;

comment on function graph.edges_of(text[], integer) is
  'Returns the relationships of these names that the caller can read: names in the order of the list, relationships of each name most confident first. At most max_edges_per_name() + 1 for each name, and max_edges in total.';

grant execute on function graph.max_edges_per_name(), graph.edges_of(text[], integer)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 140-graph/060-edges-of.sql
--! Included 140-graph/070-walk-graph.sql
create type public.graph_step as (
  source_entity text,
  relationship_type text,
  target_entity text,
  direction text,
  confidence double precision,
  relationship_ids uuid[]
);

comment on type public.graph_step is 'One step of a path: a relationship and the direction in which it is followed.';
comment on column public.graph_step.source_entity is 'The entity that the relationship starts from.';
comment on column public.graph_step.relationship_type is 'The type of the relationship, such as depends_on.';
comment on column public.graph_step.target_entity is 'The entity that the relationship leads to.';
comment on column public.graph_step.direction is
  'outgoing: the path leads from source to target; incoming: from target to source.';
comment on column public.graph_step.confidence is
  'The combined confidence of all relationships with this triple that the caller can read.';
comment on column public.graph_step.relationship_ids is
  'The relationships with this triple, most confident first: one for each scope, project, owner and spelling.';

create type graph.graph_node as (
  name text,
  entity text,
  confidence double precision,
  depth integer,
  steps public.graph_step[],
  is_new boolean
);

comment on type graph.graph_node is 'An entity that a walk reached, and the best path to it.';

create type graph.graph_walk as (nodes graph.graph_node[], followed integer, is_truncated boolean);

comment on type graph.graph_walk is
  'The result of a walk: the entities reached (start entities first, then most confident first), the number of relationships followed, and whether there are more.';

create function graph.max_edges_followed()
returns integer
language sql
immutable
parallel safe
set search_path = ''
return 20000;

comment on function graph.max_edges_followed() is 'The number of relationships that one walk follows at most.';

create function graph.walk_graph(
  entities text[], depth integer, types text[], min_confidence double precision, max_nodes integer)
returns graph.graph_walk
language plpgsql
stable
set search_path = ''
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- The joins below may see 20000 rows, which the planner can't estimate; nested loops would be quadratic.
set enable_nestloop = off
set jit = off
as $$
#variable_conflict use_variable
declare
  me constant identity.identity := identity.require_identity();
  budget constant integer := graph.max_edges_followed();
  -- Without readable aliases, the alias lookups are skipped.
  has_aliases constant boolean := exists (
    select from public.entity_aliases a where a.tenant_id = me.tenant_id and a.scope = any (me.readable_scopes));
  walk graph.graph_walk;
  names text[];
  places integer[];
  level_result record;
  start_count integer;
begin
  walk.followed := 0;
  walk.is_truncated := false;
  select array_agg(row(s.name, s.entity, 1, 0, '{}', true)::graph.graph_node) into walk.nodes
  from (
    select distinct on (n.name) n.name, coalesce(n.alias_of, g.entity) as entity
    from unnest(entities) as g (entity)
    cross join lateral (
      select coalesce(a.entity_normalized, entities.normalise_name(g.entity)) as name, a.entity as alias_of
      from (select) one left join entities.aliases_for(array[entities.normalise_name(g.entity)]) a on has_aliases
    ) n
    order by n.name
  ) s;

  start_count := cardinality(walk.nodes);

  for level in 1 .. depth loop
    select array_agg(n.name order by node.confidence desc, node.place, n.name),
      array_agg(node.place order by node.confidence desc, node.place, n.name)
    into names, places
    from unnest(walk.nodes) with ordinality as node (name, entity, confidence, depth, steps, is_new, place)
    cross join lateral (
      select node.name
      union
      select a.name from entities.aliases_of(node.name) as a (name) where has_aliases
    ) n
    where node.is_new;
    exit when names is null or walk.followed >= budget;

    with edges as materialized (
      select e.* from graph.edges_of(names, budget - walk.followed + 1) e
    ), wanted as materialized (
      select places[e.place] as place, e.is_outgoing, e.relationship_id, e.source_entity, e.relationship_type, e.target_entity,
        e.confidence,
        case when e.is_outgoing then e.target_normalized else e.source_normalized end as name,
        case when e.is_outgoing then e.target_entity else e.source_entity end as entity
      from edges e
      where types is null or e.relationship_type = any (types)
    ), resolved as (
      select w.*, coalesce(a.entity_normalized, w.name) as node, coalesce(a.entity, w.entity) as node_entity
      from wanted w
      left join entities.aliases_for(case when has_aliases then array(select distinct w.name from wanted w) end) a
        on a.alias_normalized = w.name
    ), combined as (
      -- A triple may have a row in several audiences; the caller gets the combined confidence of those it can read.
      select r.place, r.node, r.relationship_type, r.is_outgoing,
        case when count(*) = 1 then max(r.confidence) else entities.noisy_or(array_agg(r.confidence)) end as confidence,
        (array_agg(r.node_entity order by r.confidence desc, r.relationship_id))[1] as entity,
        (array_agg(r.source_entity order by r.confidence desc, r.relationship_id))[1] as source_entity,
        (array_agg(r.target_entity order by r.confidence desc, r.relationship_id))[1] as target_entity,
        array_agg(r.relationship_id order by r.confidence desc, r.relationship_id) as relationship_ids
      from resolved r
      group by r.place, r.node, r.relationship_type, r.is_outgoing
    ), reached as (
      select k.* from unnest(walk.nodes) with ordinality as k (name, entity, confidence, depth, steps, is_new, place)
    ), candidates as (
      select k.name, k.entity, k.confidence, k.depth, k.steps, false as is_new, null::integer as place, null as source_entity,
        null as relationship_type, null as target_entity, null::boolean as is_outgoing, null::double precision as step_confidence,
        null::uuid[] as relationship_ids
      from reached k
      union all
      select c.node, c.entity, k.confidence * c.confidence, level, k.steps, true, c.place, c.source_entity,
        c.relationship_type, c.target_entity, c.is_outgoing, c.confidence, c.relationship_ids
      from combined c join reached k on k.place = c.place
      where k.confidence * c.confidence > 0 and k.confidence * c.confidence >= min_confidence
    ), merged as (
      -- A cycle can only lower the confidence, so the better path to a node never contains one.
      select distinct on (c.name) c.* from candidates c
      order by c.name, c.confidence desc, c.is_new, c.relationship_type, c.is_outgoing desc, c.place
    ), best as (
      -- Confidence never rises along a path, so a node that is dropped here could not lead to a kept one.
      select m.* from merged m
      order by m.depth = 0 desc, m.confidence desc, m.depth, m.name
      limit max_nodes + start_count
    )
    select array_agg(
        row(b.name, b.entity, b.confidence, b.depth,
          case when b.is_new then b.steps || row(
            b.source_entity, b.relationship_type, b.target_entity, case when b.is_outgoing then 'outgoing' else 'incoming' end,
            b.step_confidence, b.relationship_ids)::public.graph_step
          else b.steps end,
          b.is_new)::graph.graph_node
        order by b.depth = 0 desc, b.confidence desc, b.depth, b.name) as nodes,
      (select count(*)::integer from edges) as followed,
      (select count(*) from merged) > (select count(*) from best b)
        or exists (select from edges e group by e.place having count(*) > graph.max_edges_per_name()) as has_more
    into level_result
    from best b;

    walk.nodes := level_result.nodes;
    walk.followed := walk.followed + level_result.followed;
    walk.is_truncated := walk.is_truncated or level_result.has_more or walk.followed > budget;
  end loop;
  walk.followed := least(walk.followed, budget);
  return walk;
end
$$;

comment on function graph.walk_graph(text[], integer, text[], double precision, integer) is
  'Walks the graph from these entities in both directions, level by level, and keeps the max_nodes entities with the best paths. Follows at most max_edges_followed() relationships, and max_edges_per_name() of one name; is_truncated is true if there were more.';

grant execute on function
  graph.max_edges_followed(), graph.walk_graph(text[], integer, text[], double precision, integer)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 140-graph/070-walk-graph.sql
--! Included 140-graph/080-explore-graph.sql
create type public.graph_path as (
  entity text,
  confidence double precision,
  depth integer,
  steps public.graph_step[]
);

comment on type public.graph_path is 'An entity that was reached, and the best path to it.';
comment on column public.graph_path.entity is 'The entity that was reached.';
comment on column public.graph_path.confidence is 'The product of the confidences of the steps.';
comment on column public.graph_path.depth is 'The number of steps.';
comment on column public.graph_path.steps is 'The relationships of the path, in order.';

create type public.graph_exploration as (
  entity text,
  known_as text[],
  paths public.graph_path[],
  edges_followed integer,
  is_truncated boolean
);

comment on type public.graph_exploration is 'The entities that are related to an entity, as far as the caller can read.';
comment on column public.graph_exploration.entity is
  'The start entity: the given name, or the entity that the given alias names.';
comment on column public.graph_exploration.known_as is 'All names of the start entity, normalised.';
comment on column public.graph_exploration.paths is
  'The entities that were reached, each with its best path, most confident first.';
comment on column public.graph_exploration.edges_followed is 'The number of relationships that were followed.';
comment on column public.graph_exploration.is_truncated is
  'True if there is more: more entities than limit, or more relationships than a call follows (20000 in total, and the 1000 most confident of one name).';

create function public.explore_graph(
  entity text,
  depth integer default 2,
  types text[] default null,
  min_confidence double precision default 0,
  "limit" integer default 50
)
returns public.graph_exploration
language plpgsql
volatile
set search_path = ''
as $$
declare
  walk graph.graph_walk;
  exploration public.graph_exploration;
begin
  perform identity.require_identity();
  perform entities.check_name(explore_graph.entity, 'entity');
  perform entities.check_confidence(explore_graph.min_confidence, 'min_confidence');
  if explore_graph.depth is null or explore_graph.depth not between 1 and 5 then
    perform identity.raise_error('L9VAL', 'depth: must be from 1 to 5', 'depth');
  elsif explore_graph."limit" is null or explore_graph."limit" not between 1 and 500 then
    perform identity.raise_error('L9VAL', 'limit: must be from 1 to 500', 'limit');
  elsif cardinality(explore_graph.types) > 64 then
    perform identity.raise_error('L9LIM', 'types: at most 64', 'types');
  end if;
  walk := graph.walk_graph(
    array[btrim(explore_graph.entity)], explore_graph.depth,
    case when explore_graph.types is not null then
      array(select graph.check_relationship_type(t.type, 'types') from unnest(explore_graph.types) as t (type)) end,
    explore_graph.min_confidence, explore_graph."limit");
  exploration.entity := walk.nodes[1].entity;
  exploration.known_as := entities.names_of(explore_graph.entity);
  exploration.paths := array(
    select row(n.entity, n.confidence, n.depth, n.steps)::public.graph_path
    from unnest(walk.nodes) with ordinality as n (name, entity, confidence, depth, steps, is_new, place)
    where n.depth > 0
    order by n.place);
  exploration.edges_followed := walk.followed;
  exploration.is_truncated := walk.is_truncated;
  perform audit.audit_read(
    'READ', jsonb_build_object('function', 'explore_graph', 'edges_followed', exploration.edges_followed));
  return exploration;
end
$$;

comment on function public.explore_graph(text, integer, text[], double precision, integer) is
  'Returns what an entity is related to, directly and through other entities: each entity that is reached, with its best path, most confident first. Relationships are followed in both directions. entity: a name or an alias. depth: 1 to 5 steps. types: only relationships of these types. min_confidence: the least confidence of a path, the product of its steps. limit: 1 to 500 entities. Writes a READ audit row. Errors: L9VAL, L9LIM, L9AUT.';

grant execute on function public.explore_graph(text, integer, text[], double precision, integer)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 140-graph/080-explore-graph.sql
--! Included 140-graph/090-facts-about.sql
-- Facts about entities: a fact whose object is a plain value counts for its subject.

create function graph.entities_of_facts(names text[])
returns text[]
language plpgsql
stable
set search_path = ''
set enable_seqscan = off
as $$
declare
  me constant identity.identity := identity.require_identity();
begin
  return array(
    select n.name
    from unnest(names) as n (name)
    cross join lateral (
      (select from public.knowledge_facts f
       where f.tenant_id = me.tenant_id and f.subject_normalized = n.name and f.scope = any (me.readable_scopes)
         and (f.ttl is null or f.ttl > now())
       limit 1)
      union all
      (select from public.knowledge_facts f
       where f.tenant_id = me.tenant_id and f.object_normalized = n.name and f.scope = any (me.readable_scopes)
         and (f.ttl is null or f.ttl > now())
       limit 1)
      limit 1
    ) matching_fact);
end
$$;

comment on function graph.entities_of_facts(text[]) is
  'Returns the names in the list that are subject or object of a fact that the caller can read.';

create type graph.fact_of_entity as (
  place integer, fact_id uuid, subject text, predicate text, object text, confidence double precision);

comment on type graph.fact_of_entity is 'A fact about the entity at a position (place) of a list.';

create function graph.facts_about(names text[], max_facts integer)
returns setof graph.fact_of_entity
language plpgsql
stable
set search_path = ''
set enable_seqscan = off
as $$
declare
  me constant identity.identity := identity.require_identity();
begin
  return query
  select n.place::integer, k.fact_id, k.subject, k.predicate, k.object, k.confidence
  from unnest(names) with ordinality as n (name, place)
  cross join lateral (
    select * from (
      select f.fact_id, f.subject, f.predicate, f.object #>> '{}' as object, f.confidence::double precision as confidence
      from public.knowledge_facts f
      where f.tenant_id = me.tenant_id and f.subject_normalized = n.name and f.scope = any (me.readable_scopes)
        and f.retracted_at is null and facts.holds_at(f.valid_from, f.valid_to, now())
        and (f.ttl is null or f.ttl > now())
      union
      select f.fact_id, f.subject, f.predicate, f.object #>> '{}', f.confidence::double precision
      from public.knowledge_facts f
      where f.tenant_id = me.tenant_id and f.object_normalized = n.name and f.scope = any (me.readable_scopes)
        and f.retracted_at is null and facts.holds_at(f.valid_from, f.valid_to, now())
        and (f.ttl is null or f.ttl > now())
      limit 2000
    ) f
    order by f.confidence desc
    limit 100
  ) k
  limit max_facts;
end
$$;

comment on function graph.facts_about(text[], integer) is
  'Returns facts about these entities that hold now and that the caller can read, most confident first: at most 100 for each entity, and max_facts in total.';

create function graph.packets_of_fact(fact_id uuid)
returns setof uuid
language sql
stable
rows 3
set search_path = ''
begin atomic
  select e.packet_id from public.fact_evidence e where e.fact_id = packets_of_fact.fact_id order by e.packet_id desc limit 20;
end;

comment on function graph.packets_of_fact(uuid) is
  'Returns the memories that state a fact and that the caller can read: at most the 20 newest.';

grant execute on function
  graph.entities_of_facts(text[]), graph.facts_about(text[], integer), graph.packets_of_fact(uuid)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 140-graph/090-facts-about.sql
--! Included 140-graph/100-named-entities.sql
create function graph.max_query_words()
returns integer
language sql
immutable
parallel safe
set search_path = ''
return 48;

comment on function graph.max_query_words() is 'The number of words of a query, from its start, in which entity names are recognised.';

create function graph.phrases_of(query text)
returns table (phrase text, first integer, last integer)
language sql
immutable
parallel safe
set search_path = ''
begin atomic
  with words as (
    select (regexp_split_to_array(entities.normalise_name(left(query, 8000)), ' '))[1:graph.max_query_words()] as list
  ), runs as (
    select s.start, s.start + n.size - 1 as stop, array_to_string(w.list[s.start : s.start + n.size - 1], ' ') as run
    from words w
    cross join lateral generate_series(1, cardinality(w.list)) as s (start)
    cross join lateral generate_series(1, least(6, cardinality(w.list) - s.start + 1)) as n (size)
  )
  -- Each run as written, without the punctuation around it, and without a genitive 's.
  select distinct v.phrase, r.start, r.stop
  from runs r
  cross join lateral (values (r.run), (regexp_replace(r.run, '[''’]s$', ''))) as g (run)
  cross join lateral (values (g.run), (regexp_replace(g.run, '^[[:punct:]“”„«»‘’¿¡]+|[[:punct:]“”„«»‘’…]+$', '', 'g'))) as v (phrase)
  where v.phrase <> '' and octet_length(v.phrase) <= entities.max_name_bytes();
end;

comment on function graph.phrases_of(text) is
  'Returns all runs of one to six words among the first max_query_words() words of a text, normalised like names, with the positions of their first and last word.';

create function graph.named_entities(query text, max_entities integer)
returns text[]
language plpgsql
stable
set search_path = ''
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  me constant identity.identity := identity.require_identity();
  is_taken boolean[] := array_fill(false, array[graph.max_query_words()]);
  of_facts text[] := graph.entities_of_facts(array(select distinct p.phrase from graph.phrases_of(query) p));
  entity_names text[] := '{}';
  candidate record;
begin
  for candidate in
    select p.phrase, p.first, p.last
    from graph.phrases_of(query) p
    left join lateral (
      (select true as is_known from unnest(me.readable_scopes) as s (name), public.entity_relationships r
       where r.tenant_id = me.tenant_id and r.source_normalized = p.phrase and r.scope = s.name and (r.ttl is null or r.ttl > now())
       limit 1)
      union all
      (select true from unnest(me.readable_scopes) as s (name), public.entity_relationships r
       where r.tenant_id = me.tenant_id and r.target_normalized = p.phrase and r.scope = s.name and (r.ttl is null or r.ttl > now())
       limit 1)
      union all
      (select true from unnest(me.readable_scopes) as s (name), public.entity_aliases a
       where a.tenant_id = me.tenant_id and a.alias_normalized = p.phrase and a.scope = s.name and (a.ttl is null or a.ttl > now())
       limit 1)
      union all
      (select true from unnest(me.readable_scopes) as s (name), public.entity_aliases a
       where a.tenant_id = me.tenant_id and a.entity_normalized = p.phrase and a.scope = s.name and (a.ttl is null or a.ttl > now())
       limit 1)
      limit 1
    ) graph on true
    where graph.is_known or p.phrase = any (of_facts)
    -- The longest phrase wins: "billing api" rather than "api".
    order by p.last - p.first desc, p.first, p.phrase
  loop
    exit when cardinality(entity_names) >= max_entities;
    continue when true = any (is_taken[candidate.first : candidate.last]) or candidate.phrase = any (entity_names);
    entity_names := entity_names || candidate.phrase;
    for word in candidate.first .. candidate.last loop
      is_taken[word] := true;
    end loop;
  end loop;
  return entity_names;
end
$$;

comment on function graph.named_entities(text, integer) is
  'Returns the entities that a text names, normalised: names and aliases in the graph and in facts that the caller can read, longest first, at most max_entities.';

grant execute on function graph.max_query_words(), graph.phrases_of(text), graph.named_entities(text, integer)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 140-graph/100-named-entities.sql
--! Included 140-graph/110-relationships-of-memories.sql
create function public.packet_store_relationships(packet public.packet_store)
returns setof public.entity_relationships
language sql
stable
parallel safe
rows 5
set search_path = ''
begin atomic
  select r.* from public.entity_relationships r
  where r.relationship_id in (
    select e.relationship_id from public.relationship_evidence e where e.packet_id = packet.packet_id)
  order by r.relationship_id;
end;

comment on function public.packet_store_relationships(public.packet_store) is 'The relationships that this memory states.';

create function public.entity_relationships_memories(relationship public.entity_relationships)
returns setof public.packet_store
language sql
stable
parallel safe
rows 5
set search_path = ''
begin atomic
  select p.* from public.packet_store p
  where p.packet_id in (
    select e.packet_id from public.relationship_evidence e where e.relationship_id = relationship.relationship_id)
  order by p.packet_id;
end;

comment on function public.entity_relationships_memories(public.entity_relationships) is
  'The memories that state this relationship, oldest first.';

grant execute on function public.packet_store_relationships(public.packet_store), public.entity_relationships_memories(public.entity_relationships)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 140-graph/110-relationships-of-memories.sql
--! Included 150-search/000-schema.sql
create schema search;
comment on schema search is
  'Search: retrievers, fusion of their scores, and the form of the answer. Not exposed over GraphQL; callers may execute only the functions that are granted to them one by one.';
grant usage on schema search to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 150-search/000-schema.sql
--! Included 150-search/010-limits.sql
-- Limits that more than one function uses. Functions that only one body uses keep their numbers there.

create function search.max_scored_rows()
returns integer
language sql
immutable
parallel safe
return 2000;

comment on function search.max_scored_rows() is
  'If at most this many rows match, they are scored one by one. Scoring 2,000 rows costs as much as scanning an index of which a caller can read 2 %.';

create function search.max_scanned_rows()
returns integer
language sql
immutable
parallel safe
return 20000;

comment on function search.max_scanned_rows() is
  'Most rows that one step of a search reads before it filters them. Reading 20,000 rows costs less than scanning a ranked index past them to find the few with a tag.';

create function search.max_query_characters()
returns integer
language sql
immutable
parallel safe
return 2000;

comment on function search.max_query_characters() is
  'Beginning of a query whose words are used for snippets and for scoring rows one by one. Index scans use the whole query.';

create function search.candidate_count(k integer)
returns integer
language sql
immutable
parallel safe
return least(greatest(5 * k, 100), 300);

comment on function search.candidate_count(integer) is
  'Number of candidates that each retriever returns for k hits: five times k, from 100 to 300. In tests more than 100 never changed the first ten hits, and 50 lowered nDCG@10 by .002 and recall@10 by .004.';

grant execute on function
  search.max_scored_rows(), search.max_scanned_rows(), search.max_query_characters(), search.candidate_count(integer)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/010-limits.sql
--! Included 150-search/020-search-settings.sql
create table public.search_settings (
  tenant_id uuid primary key references public.tenants,
  lexical_weight real not null,
  semantic_weight real not null,
  context_weight real not null,
  uses_chunks boolean not null,
  recency_boost real not null,
  importance_boost real not null,
  half_life_days jsonb not null,
  updated_at timestamptz not null default now(),
  constraint search_weights_from_0_to_1 check (
    lexical_weight between 0 and 1 and semantic_weight between 0 and 1 and context_weight between 0 and 1),
  constraint search_weights_not_both_0 check (lexical_weight + semantic_weight > 0),
  constraint search_boosts_at_most_a_fifth check (
    recency_boost >= 0 and importance_boost >= 0 and recency_boost + importance_boost <= 0.2001),
  constraint search_half_lives_object check (jsonb_typeof(half_life_days) = 'object' and half_life_days ? 'default')
);

comment on table public.search_settings is
  'Weights of a tenant''s searches. Only a tenant that changed a default has a row. set_search_settings() writes it.';
comment on column public.search_settings.tenant_id is 'The tenant.';
comment on column public.search_settings.lexical_weight is 'Weight of words in a hybrid search, from 0 to 1, relative to semantic_weight.';
comment on column public.search_settings.semantic_weight is 'Weight of meaning in a hybrid search, from 0 to 1, relative to lexical_weight.';
comment on column public.search_settings.context_weight is
  'From 0 to 1. If a memory matches better together with its predecessor in the thread, its score is raised by this part of the difference.';
comment on column public.search_settings.uses_chunks is 'True if long memories are also compared chunk by chunk.';
comment on column public.search_settings.recency_boost is 'Part of its score that a memory saved just now gains. The gain halves with every half-life.';
comment on column public.search_settings.importance_boost is 'Part of its score that a memory of importance 1 gains. Both boosts together are at most 0.2.';
comment on column public.search_settings.half_life_days is 'Maps kinds to half-lives in days; default is used for all other kinds.';
comment on column public.search_settings.updated_at is 'Time when the settings were last changed.';

alter table public.search_settings enable row level security;
alter table public.search_settings force row level security;

create policy tenant_isolation on public.search_settings as restrictive to l9_agent, l9_admin, l9_platform_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.search_settings for select to l9_agent, l9_admin using (true);
create policy platform_override on public.search_settings for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('search_settings')));
create policy definer_functions on public.search_settings to l9_owner using (true);

comment on policy tenant_isolation on public.search_settings is 'A search uses the settings of its caller''s tenant, also for an operator.';
comment on policy scope_access on public.search_settings is 'Every caller in the tenant may read how its searches are weighted.';
comment on policy platform_override on public.search_settings is 'Operators read the settings of their own tenant, and each read is audited.';
comment on policy definer_functions on public.search_settings is 'set_search_settings() writes the settings.';

grant select on public.search_settings to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: set_search_settings() checks the values and writes the audit row.

create trigger _500_audit after insert or update on public.search_settings
  for each row execute function administration.tg__audit_identity(
    '', 'lexical_weight', 'semantic_weight', 'context_weight', 'uses_chunks', 'recency_boost', 'importance_boost', 'half_life_days');

create function search.default_settings()
returns public.search_settings
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  settings public.search_settings;
begin
  settings.lexical_weight := 0.35;
  settings.semantic_weight := 0.65;
  settings.context_weight := 0.5;
  settings.uses_chunks := true;
  settings.recency_boost := 0.04;
  settings.importance_boost := 0.15;
  settings.half_life_days := '{"default": 180}';
  return settings;
end
$$;

comment on function search.default_settings() is 'The defaults of all tenants. They stand only here.';

create function search.current_search_settings()
returns public.search_settings
language plpgsql
stable
set search_path = ''
as $$
declare
  settings public.search_settings;
begin
  select s.* into settings from public.search_settings s where s.tenant_id = (select identity.current_tenant_id());
  if not found then
    settings := search.default_settings();
  end if;
  return settings;
end
$$;

comment on function search.current_search_settings() is
  'The settings of the caller''s tenant. If the tenant has none, the defaults, with null as tenant_id.';

grant execute on function search.default_settings(), search.current_search_settings() to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/020-search-settings.sql
--! Included 150-search/030-set-search-settings.sql
create function search.check_search_settings(settings public.search_settings, half_life_days jsonb)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  name text;
  value real;
  half_life record;
begin
  for name, value in
    select w.key, w.value::real
    from jsonb_each_text(to_jsonb(settings)) as w
    where w.key in ('lexical_weight', 'semantic_weight', 'context_weight')
  loop
    if value not between 0 and 1 then
      perform identity.raise_error('L9VAL', format('%s: must be from 0 to 1', name), name);
    end if;
  end loop;
  if settings.lexical_weight + settings.semantic_weight = 0 then
    perform identity.raise_error('L9VAL', 'semantic_weight: lexical_weight or semantic_weight must be above 0', 'semantic_weight');
  elsif not (settings.recency_boost >= 0 and settings.importance_boost >= 0
    and settings.recency_boost + settings.importance_boost <= 0.2001) then
    perform identity.raise_error(
      'L9VAL', 'importance_boost: recency_boost and importance_boost must be at least 0, and together at most 0.2', 'importance_boost');
  end if;
  if jsonb_typeof(half_life_days) <> 'object' then
    perform identity.raise_error('L9VAL', 'half_life_days: must be an object that maps kinds to days', 'half_life_days');
  end if;
  for half_life in select d.key, d.value from jsonb_each(half_life_days) as d where d.value <> 'null' loop
    if jsonb_typeof(half_life.value) <> 'number' or half_life.value::numeric not between 0.01 and 36500 then
      perform identity.raise_error('L9VAL', 'half_life_days: each value must be a number of days from 0.01 to 36500', 'half_life_days');
    end if;
  end loop;
end
$$;

comment on function search.check_search_settings(public.search_settings, jsonb) is
  'Raises L9VAL, naming the field, if a setting is out of range.';

create function public.set_search_settings(
  lexical_weight real default null,
  semantic_weight real default null,
  context_weight real default null,
  uses_chunks boolean default null,
  recency_boost real default null,
  importance_boost real default null,
  half_life_days jsonb default null,
  tenant_id uuid default null
)
returns public.search_settings
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(set_search_settings.tenant_id);
  settings public.search_settings := search.default_settings();
  saved public.search_settings;
begin
  perform administration.require_whole_token(admin);
  settings.tenant_id := admin.target_tenant_id;
  settings.updated_at := now();
  insert into public.search_settings as s select settings.* on conflict do nothing;
  select s.* into settings from public.search_settings s where s.tenant_id = admin.target_tenant_id for update;
  settings.lexical_weight := coalesce(set_search_settings.lexical_weight, settings.lexical_weight);
  settings.semantic_weight := coalesce(set_search_settings.semantic_weight, settings.semantic_weight);
  settings.context_weight := coalesce(set_search_settings.context_weight, settings.context_weight);
  settings.uses_chunks := coalesce(set_search_settings.uses_chunks, settings.uses_chunks);
  settings.recency_boost := coalesce(set_search_settings.recency_boost, settings.recency_boost);
  settings.importance_boost := coalesce(set_search_settings.importance_boost, settings.importance_boost);
  perform search.check_search_settings(settings, set_search_settings.half_life_days);
  settings.half_life_days := settings.half_life_days || coalesce(jsonb_strip_nulls(set_search_settings.half_life_days), '{}');
  if octet_length(settings.half_life_days::text) > 16384 then
    perform identity.raise_error('L9LIM', 'half_life_days: must be at most 16384 bytes', 'half_life_days');
  end if;
  update public.search_settings s
  set lexical_weight = settings.lexical_weight, semantic_weight = settings.semantic_weight, context_weight = settings.context_weight,
    uses_chunks = settings.uses_chunks, recency_boost = settings.recency_boost, importance_boost = settings.importance_boost,
    half_life_days = settings.half_life_days, updated_at = clock_timestamp()
  where s.tenant_id = admin.target_tenant_id
  returning s.* into saved;
  return saved;
end
$$;

comment on function public.set_search_settings(real, real, real, boolean, real, real, jsonb, uuid) is
  'Changes the given weights of a tenant''s searches, from the next search on. Arguments left out, and half-lives of kinds not named, stay as they are. For admins whose token covers all scopes and projects. Audited. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: this function is the only way to change settings.';

grant execute on function public.set_search_settings(real, real, real, boolean, real, real, jsonb, uuid) to l9_admin, l9_platform_admin;
--! EndIncluded 150-search/030-set-search-settings.sql
--! Included 150-search/040-search-types.sql
create type public.memory_hit as (
  packet_id uuid,
  access_id uuid,
  content text,
  is_truncated boolean,
  snippet text,
  score real,
  lexical_score real,
  semantic_score real,
  chunk_index integer,
  kind text,
  scope text,
  project_id text,
  tags text[],
  thread_id text,
  creator text,
  importance real,
  "timestamp" timestamptz,
  explanation jsonb
);

comment on type public.memory_hit is 'A memory that a search found, and the reasons for its score.';
comment on column public.memory_hit.packet_id is 'The memory.';
comment on column public.memory_hit.kind is 'Kind of the memory.';
comment on column public.memory_hit.scope is 'Scope of the memory, which decides which callers can read it.';
comment on column public.memory_hit.project_id is 'Project of the memory; null in scope global.';
comment on column public.memory_hit.tags is 'Labels of the memory.';
comment on column public.memory_hit.thread_id is 'Conversation or task that the memory belongs to.';
comment on column public.memory_hit.creator is 'Agent that wrote the memory.';
comment on column public.memory_hit."timestamp" is 'Time when the memory was saved.';
comment on column public.memory_hit.access_id is 'Identifies this hit of this search. Pass it to record_feedback.';
comment on column public.memory_hit.content is 'Text of the memory, truncated after 8000 characters, or a preview if max_tokens leaves no room for more. get_memory returns the whole text.';
comment on column public.memory_hit.is_truncated is 'True if content was truncated.';
comment on column public.memory_hit.snippet is 'The part that matched best, with words of the query between ** and **.';
comment on column public.memory_hit.score is
  'From 0 to 1, after the boosts: the weighted sum of lexical_score and semantic_score, in mode lexical or semantic that score alone, in mode graph the confidence of the path; 1 if nothing was ranked.';
comment on column public.memory_hit.lexical_score is 'BM25 score relative to that of the best hit, from 0 to 1; null if the memory was not found by words.';
comment on column public.memory_hit.semantic_score is 'Cosine similarity to the query, from 0 to 1; null if the memory was not compared.';
comment on column public.memory_hit.importance is 'Importance of the memory, from 0 to 1, as learned from its use.';
comment on column public.memory_hit.chunk_index is 'Chunk that is nearest to the query in meaning. 0: the memory as a whole; null: the memory was not compared.';
comment on column public.memory_hit.explanation is
  'With explain: found_by (the retrievers), lexical and semantic (scores of content and context, each from 0 to 1; the semantic score of content is that of the reasoning steps if they are nearer), graph (the entity that the query names, and the path from it), chunk, weights, fused (the score before the boosts) and boosts (recency, importance, factor). Otherwise null.';

create type public.search_result as (hits public.memory_hit[], searched jsonb);

comment on type public.search_result is 'Hits, best first, and what was searched, so that an empty result is not mistaken for a missing permission.';
comment on column public.search_result.hits is 'The hits, best first.';
comment on column public.search_result.searched is
  'mode (the one that ran), requested_mode, scopes, projects, filters, like (packet_id), as_of, k, threshold, vectors (used, unavailable or not asked for), candidates (their number), cut (what max_tokens removed), entities (those that the query names, in mode graph) and notice.';

create type search.search_request as (
  started_at timestamptz,
  caller identity.identity,
  searched_scopes text[],
  requested_scopes text[],
  project_id text,
  filters jsonb,
  query text,
  like_packet_id uuid,
  k integer,
  requested_mode text,
  mode text,
  vector extensions.vector,
  model text,
  dimensions integer,
  threshold real,
  as_of timestamptz,
  max_tokens integer,
  candidates integer,
  is_explained boolean,
  settings public.search_settings,
  buckets integer[],
  current_condition text,
  current_or_past_condition text,
  past_condition text,
  own_row_condition text,
  range_condition text,
  joins_packets boolean,
  ids uuid[],
  context_ids uuid[],
  reasoning_ids uuid[],
  scans_words boolean,
  scans_context_words boolean,
  scans_vectors boolean,
  scans_context_vectors boolean,
  entities text[],
  paths jsonb,
  notices text[]
);

comment on type search.search_request is 'A checked search: the arguments of its steps, and the results that they pass on.';
comment on column search.search_request.searched_scopes is 'Scopes that the caller may read and that the search covers.';
comment on column search.search_request.requested_scopes is 'The scopes argument; null: all that the caller may read.';
comment on column search.search_request.query is 'The query, or the most frequent words of the memory like_packet_id.';
comment on column search.search_request.mode is 'The mode that runs: hybrid becomes lexical without a vector, and recent without a query.';
comment on column search.search_request.candidates is 'Number of candidates that each retriever returns.';
comment on column search.search_request.buckets is 'Buckets of the tenants that are searched: one, or all for an operator.';
comment on column search.search_request.current_condition is 'Conditions on packet_store p, for the memory as it is now.';
comment on column search.search_request.current_or_past_condition is
  'Conditions on packet_store p. With as_of they also hold for a memory that changed later, if its content is the same.';
comment on column search.search_request.past_condition is 'With as_of: conditions on packet_versions v and packet_store p.';
comment on column search.search_request.own_row_condition is 'Conditions on a table m that has its memory''s scope, project and expiry.';
comment on column search.search_request.range_condition is 'Conditions on p that are ranges of an index.';
comment on column search.search_request.joins_packets is 'True if the filters need columns of packet_store, so that a join is required.';
comment on column search.search_request.ids is 'All memories that match, if they are few: then they are scored one by one. Null if they are many.';
comment on column search.search_request.context_ids is 'The same for memories that have a context.';
comment on column search.search_request.reasoning_ids is
  'Ids of readable reasoning traces, matching or not, if there are few; null if many, empty to skip this retriever.';
comment on column search.search_request.scans_words is 'True if scanning the BM25 index is estimated cheaper than scoring ids one by one.';
comment on column search.search_request.scans_context_words is 'The same for the BM25 index of contexts and context_ids.';
comment on column search.search_request.scans_vectors is 'The same for the HNSW index of the model and ids.';
comment on column search.search_request.scans_context_vectors is 'The same for the HNSW index of contexts and context_ids.';
comment on column search.search_request.entities is 'In mode graph: the entities that the query names.';
comment on column search.search_request.paths is 'In mode graph, with explain: maps each memory to its entity and the path from it.';
comment on column search.search_request.notices is 'Sentences for the caller, which become searched.notice.';

create type search.search_source as (
  table_name text,
  columns text,
  visibility_branches text[],
  content text,
  bm25_index text,
  extra_condition text
);

comment on type search.search_source is
  'The rows that a retriever reads, as SQL fragments. They have a type of their own, so that text from a caller is never mistaken for SQL.';

create type search.ranked_memories as (ids uuid[], scores real[], chunks integer[]);

comment on type search.ranked_memories is 'The answer of a retriever: memories with their scores, best first.';

create type search.ranked_hits as (hits public.memory_hit[], considered integer);

comment on type search.ranked_hits is 'Hits, best first, and the number of candidates that they were chosen from.';
--! EndIncluded 150-search/040-search-types.sql
--! Included 150-search/050-search-conditions.sql
-- Conditions are SQL text with their values quoted in it, so that each statement is planned for the filters it has.

create function search.own_conditions(alias text, scopes text[], project_id text, checks_expiry boolean default true)
returns text
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.concat_ws(' and ',
  case when checks_expiry then pg_catalog.format('(%1$I.ttl is null or %1$I.ttl > now())', alias) else 'true' end,
  case when scopes is not null then pg_catalog.format('%I.scope = any (%L::text[])', alias, scopes) end,
  case when project_id is not null then
    pg_catalog.format('(%1$I.project_id = %2$L or %1$I.project_id is null)', alias, project_id) end);

comment on function search.own_conditions(text, text[], text, boolean) is
  'Conditions on expiry, scope and project, for any table that has these columns of its memory. checks_expiry: false for versions, which expire with their memory.';

create function search.packet_conditions(
  alias text, kinds text[], tags text[], tags_match text, since timestamptz, until timestamptz, thread_id text, creator text,
  excluded_packet_id uuid)
returns text
language sql
stable
parallel safe
set search_path = ''
return nullif(pg_catalog.concat_ws(' and ',
  case when kinds is not null then pg_catalog.format('%I.packet_type = any (%L::text[])', alias, kinds) end,
  case when tags is not null then pg_catalog.format(
    '%I.tags operator(pg_catalog.%s) %L::text[]', alias, case tags_match when 'all' then '@>' else '&&' end, tags) end,
  -- A change of a memory does not change the time when it was saved, so the filter always applies to the memory itself.
  case when since is not null then pg_catalog.format('p."timestamp" >= %L', since) end,
  case when until is not null then pg_catalog.format('p."timestamp" < %L', until) end,
  case when thread_id is not null then pg_catalog.format('%I.thread_id = %L', alias, thread_id) end,
  case when creator is not null then pg_catalog.format('%I.metadata ->> ''creator'' = %L', alias, creator) end,
  case when excluded_packet_id is not null then pg_catalog.format('p.packet_id <> %L', excluded_packet_id) end), '');

comment on function search.packet_conditions(text, text[], text[], text, timestamptz, timestamptz, text, text, uuid) is
  'Conditions on the fields of a memory or, with alias v, of a version of it; null if there are none.';

create function search.reader_branches(me identity.identity, alias text, scopes text[], project_id text)
returns text[]
language sql
stable
parallel safe
set search_path = ''
begin atomic
  -- Each branch is one range of an index. A single condition with "or" would filter row by row after an index scan.
  select pg_catalog.array_agg(pg_catalog.concat_ws(' and ',
    case when me.role <> 'l9_platform_admin' then
      pg_catalog.format('%1$I.tenant_id = %2$L and %1$I.scope = any (%3$L::text[])', alias, me.tenant_id, scopes) end,
    case when me.role = 'l9_agent' then
      pg_catalog.format('%1$I.user_id %2$s and %1$I.org_id %3$s', alias, of_user.condition, of_org.condition) end,
    case when of_project.condition is not null then pg_catalog.format('%I.project_id %s', alias, of_project.condition) end))
  from (
    select 'is null' union all
    select pg_catalog.format('= %L', me.user_id) where me.user_id is not null and me.role = 'l9_agent') as of_user (condition)
  cross join (
    select 'is null' union all
    select pg_catalog.format('= %L', me.org_id) where me.org_id is not null and me.role = 'l9_agent') as of_org (condition)
  cross join (
    select null where project_id is null and '*' = any (me.projects) union all
    select 'is null' where project_id is not null or not '*' = any (me.projects) union all
    select pg_catalog.format('= %L', project_id) where project_id is not null union all
    select pg_catalog.format('= any (%L::text[])', me.projects) where project_id is null and not '*' = any (me.projects)
  ) as of_project (condition);
end;

comment on function search.reader_branches(identity.identity, text, text[], text) is
  'Conditions for the rows that a caller may read, each of which is one range of an index. They only make the search faster: row-level security still applies.';

create function search.searched_buckets(me identity.identity)
returns integer[]
language sql
stable
parallel safe
set search_path = ''
return case when me.role = 'l9_platform_admin' then packets.tenant_buckets() else array[packets.tenant_bucket(me.tenant_id)] end;

comment on function search.searched_buckets(identity.identity) is
  'The buckets of tenants whose indexes a caller''s search scans: that of its tenant, or all for an operator.';

grant execute on function
  search.searched_buckets(identity.identity),
  search.own_conditions(text, text[], text, boolean),
  search.packet_conditions(text, text[], text[], text, timestamptz, timestamptz, text, text, uuid),
  search.reader_branches(identity.identity, text, text[], text)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/050-search-conditions.sql
--! Included 150-search/060-narrow-search.sql
create function search.few_matches(source search.search_source, max_matches integer, max_scanned integer)
returns uuid[]
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  scanned bigint;
  matches uuid[];
begin
  execute format($sql$
    select count(*), array_agg(p.packet_id) filter (where %s)
    from (%s limit %s) p$sql$,
    coalesce(source.extra_condition, 'true'),
    (select string_agg(format('select %s from %s p where %s', source.columns, source.table_name, coalesce(nullif(b.branch, ''), 'true')), ' union all ')
     from unnest(source.visibility_branches) as b (branch)),
    max_scanned + 1)
  into scanned, matches;
  return case when scanned <= max_scanned and coalesce(cardinality(matches), 0) <= max_matches then coalesce(matches, '{}') end;
end
$$;

comment on function search.few_matches(search.search_source, integer, integer) is
  'The memories of a table that the caller may read and that match. Null if more than max_matches match, or if more than max_scanned would have to be read.';

create function search.estimated_rows(index_name text)
returns real
language sql
stable
parallel safe
set search_path = ''
return (
  select greatest(c.reltuples, 0) from pg_catalog.pg_class c
  where c.relname = index_name and c.relnamespace = 'public'::regnamespace);

comment on function search.estimated_rows(text) is
  'The planner''s estimate of the rows of an index; 0 before its table was first analyzed, while the table is small and every plan is fast.';

create function search.is_word_scan_cheaper(index_rows real, matches integer, candidates integer)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return matches > 0 and 6 * matches + 4000 > least(1, candidates / matches::real) * index_rows;

comment on function search.is_word_scan_cheaper(real, integer, integer) is
  'True if scanning a BM25 index past rows of others costs less than scoring the matches one by one. To pass one row takes 4 µs, to check whether a match has the words takes six times that, and to score the likely ones takes 15 ms.';

create function search.is_vector_scan_cheaper(index_rows real, matches integer, candidates integer)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return matches > 0 and 15 * matches > 7 * greatest(150, least(1, candidates / matches::real) * index_rows);

comment on function search.is_vector_scan_cheaper(real, integer, integer) is
  'The same for an HNSW index. To compare one vector takes 15 µs, to pass one takes 7 µs, and no scan visits fewer than 150.';

create function search.as_context_search(request search.search_request)
returns search.search_request
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  request.candidates := request.candidates / 2;
  return request;
end
$$;

comment on function search.as_context_search(search.search_request) is
  'The same search over contexts. Half as many candidates are enough, because most memories that a context lifts are also found on their own.';

create function search.choose_scans(request search.search_request)
returns search.search_request
language plpgsql
stable
set search_path = ''
as $$
declare
  -- Operators usually see many rows, so the plan for few rows is not considered for each tenant.
  bucket integer := request.buckets[1];
  context_candidates integer := (search.as_context_search(request)).candidates;
begin
  request.scans_words := request.ids is null or search.is_word_scan_cheaper(
    search.estimated_rows('packet_store_content_bm25_' || bucket), cardinality(request.ids), request.candidates);
  request.scans_context_words := request.context_ids is null or search.is_word_scan_cheaper(
    search.estimated_rows('memory_contexts_bm25_' || bucket), cardinality(request.context_ids), context_candidates);
  request.scans_vectors := request.ids is null or search.is_vector_scan_cheaper(
    search.estimated_rows(embeddings.embedding_index_name(request.model, 'content', bucket)),
    cardinality(request.ids), request.candidates);
  request.scans_context_vectors := request.context_ids is null or search.is_vector_scan_cheaper(
    search.estimated_rows(embeddings.embedding_index_name(request.model, 'context', bucket)),
    cardinality(request.context_ids), context_candidates);
  return request;
end
$$;

comment on function search.choose_scans(search.search_request) is
  'Decides for each retriever whether it scans its index or scores the few matches one by one.';

create function search.narrow_search(request search.search_request)
returns search.search_request
language plpgsql
stable
set search_path = ''
as $$
declare
  max_scanned integer := case when request.joins_packets then search.max_scanned_rows() else search.max_scored_rows() end;
  branches text[] := search.reader_branches(request.caller, 'p', request.searched_scopes, request.project_id);
  source search.search_source;
begin
  if request.k is null then
    return request;
  end if;
  source.table_name := 'public.packet_store';
  -- Without filters these columns are all that is needed, and an index-only scan can return them.
  source.columns := case when request.joins_packets then 'p.*' else 'p.packet_id, p.ttl' end;
  source.extra_condition := case
    when request.joins_packets then request.current_or_past_condition else '(p.ttl is null or p.ttl > now())' end;
  source.visibility_branches := array(
    select concat_ws(' and ', nullif(b.branch, ''), nullif(request.range_condition, '')) from unnest(branches) as b (branch));
  request.ids := search.few_matches(source, search.max_scored_rows(), max_scanned);
  request.context_ids := case
    when request.ids is not null then request.ids
    -- Contexts can be few though the memories are many, and a scan past those of other tenants would be long.
    else search.few_matches(
      row('public.memory_contexts', 'p.packet_id, p.ttl', branches, null, null, null)::search.search_source,
      search.max_scored_rows(), search.max_scored_rows()) end;
  request.reasoning_ids := case
    when request.mode in ('hybrid', 'semantic') and request.as_of is null then search.few_matches(
      row('public.reasoning_traces', 'p.packet_id, p.ttl', branches, null, null, null)::search.search_source,
      search.max_scored_rows(), search.max_scored_rows())
    else '{}' end;
  return search.choose_scans(request);
end
$$;

comment on function search.narrow_search(search.search_request) is
  'If few rows can match, collects their ids, so that they are scored directly instead of scanning an index.';

grant execute on function
  search.estimated_rows(text), search.as_context_search(search.search_request),
  search.is_word_scan_cheaper(real, integer, integer), search.is_vector_scan_cheaper(real, integer, integer),
  search.few_matches(search.search_source, integer, integer), search.choose_scans(search.search_request),
  search.narrow_search(search.search_request)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/060-narrow-search.sql
--! Included 150-search/070-word-stems.sql
create function search.word_stems(query text, skipped integer default 0)
returns text[]
language sql
stable
parallel safe
set search_path = ''
return array(
  -- Trim the stem to a common prefix of all word forms (English stemming drops a final e and maps y to i). It may match other words too.
  select pg_catalog.regexp_replace(words.lexeme, '(..)[eiy]$', '\1')
  from pg_catalog.unnest(pg_catalog.to_tsvector('pg_catalog.english', pg_catalog.left(query, search.max_query_characters()))) as words
  order by pg_catalog.length(words.lexeme) desc, words.lexeme
  limit 12 offset skipped);

comment on function search.word_stems(text, integer) is
  'Stems of the 12 longest words of a text, skipping the first `skipped`; empty if there are none.';

grant execute on function search.word_stems(text, integer) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/070-word-stems.sql
--! Included 150-search/080-snippet.sql
create function search.snippet_query(query text)
returns tsquery
language sql
stable
parallel safe
set search_path = ''
return (
  -- The lexemes are quoted, because parsing them again would stem them twice. Without words the result is null, not empty.
  select pg_catalog.string_agg(
    '''' || pg_catalog.replace(pg_catalog.replace(words.lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::pg_catalog.tsquery
  from (
    select lexeme
    from pg_catalog.unnest(pg_catalog.to_tsvector('pg_catalog.english', pg_catalog.left(query, search.max_query_characters())))
    limit 50
  ) words);

comment on function search.snippet_query(text) is 'A query for any of the first 50 words of a text, in English stems; null if it has none.';

create function search.truncate_to_bytes(content text, bytes integer)
returns text
language sql
immutable
parallel safe
set search_path = ''
return case
  when pg_catalog.octet_length(content) <= bytes then content
  else (
    select case when pg_catalog.octet_length(prefix.text) <= bytes then prefix.text else pg_catalog.left(content, bytes / 4) end
    from (
      -- Assume that all characters take the same number of bytes. If that is too long: no character takes more than four bytes.
      select pg_catalog.left(content, (bytes::bigint * pg_catalog.length(content) / pg_catalog.octet_length(content))::integer) as text
    ) prefix)
end;

comment on function search.truncate_to_bytes(text, integer) is 'The beginning of a text, in whole characters, of at most this number of bytes.';

create function search.snippet(content text, words tsquery)
returns text
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  snippet text;
begin
  if words is null then
    return search.truncate_to_bytes(left(btrim(content), 240), 750);
  end if;
  snippet := ts_headline('pg_catalog.english', content, words, 'StartSel=**, StopSel=**, MaxWords=40, MinWords=20, MaxFragments=1');
  if octet_length(snippet) <= 750 then
    return snippet;
  end if;
  -- The limit of forty words does not help if the text has no spaces.
  snippet := rtrim(search.truncate_to_bytes(substr(snippet, greatest(strpos(snippet, '**') - 60, 1)), 748), '*');
  return snippet || case when regexp_count(snippet, '\*\*') % 2 = 1 then '**' else '' end;
end
$$;

comment on function search.snippet(text, tsquery) is
  'The part of a text that holds most of the words, with ** around them, or the beginning of the text if words is null. At most 40 words and 750 bytes.';

create function search.passage_pattern(query text)
returns text
language plpgsql
stable
parallel safe
set search_path = ''
as $$
begin
  return (
    select '(?i)' || string_agg(case when s.stem ~ '^\w' then '\m' else '' end
      || regexp_replace(s.stem, '([][(){}.*+?^$|\\])', '\\\1', 'g'), '|')
    from unnest(search.word_stems(query)) as s (stem));
end
$$;

comment on function search.passage_pattern(text) is 'A regular expression that matches the beginning of any word of the query; null if it has none.';

create function search.passage(content text, pattern text)
returns text
language sql
stable
parallel safe
set search_path = ''
return case
  when pg_catalog.length(content) <= 4000 or pattern is null then pg_catalog.left(content, 4000)
  else pg_catalog.substr(
    content, greatest(pg_catalog.regexp_instr(content, pattern) - 500, 1), 4000)
end;

comment on function search.passage(text, text) is '4000 characters of a long text around the first match of a pattern, or the first 4000 if nothing matches.';

grant execute on function
  search.snippet_query(text), search.truncate_to_bytes(text, integer), search.snippet(text, tsquery), search.passage_pattern(text),
  search.passage(text, text)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/080-snippet.sql
--! Included 150-search/090-score-words.sql
create function search.stem_test(stem text)
returns text
language sql
immutable
parallel safe
set search_path = ''
return case
  -- The fastest test. A match in the middle of a word does no harm.
  when stem ~ '^[ -~]{4,}$' then pg_catalog.format('pg_catalog.strpos(s.lowered, %L) > 0', stem)
  when stem ~ '^[a-z0-9]+$' then pg_catalog.format('s.lowered ~ %L', '\m' || stem)
  else pg_catalog.format('s.content ~* %L', pg_catalog.regexp_replace(stem, '([][(){}.*+?^$|\\])', '\\\1', 'g')) end;

comment on function search.stem_test(text) is
  'A condition on s.content and s.lowered (the content with ASCII letters in lower case, under collation C) that holds if a word begins with the stem. It may also hold for other rows.';

create function search.score_some_words(source search.search_source, ids uuid[], query text, stems text[], max_scored integer)
returns search.ranked_memories
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  stem_numbers integer[] := array(select generate_series(1, cardinality(stems)));
  stem_score text := (select string_agg(format('m.h%1$s::integer * weights.w%1$s', n), ' + ') from unnest(stem_numbers) as n);
  answer search.ranked_memories;
begin
  if source.table_name is null or coalesce(cardinality(stems), 0) = 0 then
    return answer;
  end if;
  execute format($sql$
    with matched as materialized (
      select s.packet_id, length(s.lowered) as length, %5$s
      from (
        select s.packet_id, %2$s as content, lower(%2$s collate "C") as lowered
        from %1$s s
        where s.packet_id = any ($1) and %4$s
        offset 0 -- Keeps the subquery separate, so that each content is detoasted once.
      ) s
    ), weights as (
      select %6$s from matched
    ), likely as (
      select m.packet_id
      from matched m, weights
      where %7$s > 0
      order by %7$s desc, m.length
      limit %8$s
    )
    -- The order uses another expression than the index does, because otherwise the planner would scan the index.
    select array_agg(f.packet_id order by f.score desc), array_agg(f.score order by f.score desc)
    from (
      select s.packet_id, (-(%2$s <@> to_bm25query($2, %3$L)))::real as score
      from likely join %1$s s using (packet_id)
      where %4$s
      offset 0
    ) f
    where f.score > 0$sql$,
    source.table_name, source.content, source.bm25_index, coalesce(source.extra_condition, 'true'),
    (select string_agg(format('%s as h%s', search.stem_test(x.stem), x.place), ', ') from unnest(stems) with ordinality as x (stem, place)),
    (select string_agg(format('ln(1 + count(*)::real / (1 + count(*) filter (where h%1$s))) as w%1$s', n), ', ') from unnest(stem_numbers) as n),
    stem_score, max_scored)
  into answer.ids, answer.scores
  using ids, query;
  return answer;
end
$$;

comment on function search.score_some_words(search.search_source, uuid[], text, text[], integer) is
  'BM25 scores of those of the given rows that have any of the stems. Rows are first ranked by the stems they have, with more weight for rare ones; then the best max_scored are scored by BM25.';

create function search.score_words(source search.search_source, ids uuid[], request search.search_request)
returns search.ranked_memories
language plpgsql
stable
set search_path = ''
as $$
declare
  -- The operator takes at least a quarter of a millisecond for each row: 60 rows are scored, and 30 contexts.
  max_scored constant integer := greatest(least(60, request.candidates * 3 / 5), request.k);
  stems text[] := search.word_stems(request.query);
  skipped integer := 0;
  part search.ranked_memories;
  answer search.ranked_memories;
begin
  while cardinality(stems) > 0 and cardinality(ids) > 0 loop
    part := search.score_some_words(source, ids, request.query, stems, max_scored);
    answer.ids := answer.ids || part.ids;
    answer.scores := answer.scores || part.scores;
    -- If the search also compares meaning, the twelve longest words are enough; otherwise the next words follow until k rows are found.
    exit when request.mode <> 'lexical' or coalesce(cardinality(answer.ids), 0) >= request.k;
    skipped := skipped + 12;
    stems := search.word_stems(request.query, skipped);
    ids := array(select i.id from unnest(ids) as i (id) where i.id <> all (coalesce(part.ids, '{}')));
  end loop;
  if skipped > 0 then
    select array_agg(f.id order by f.score desc), array_agg(f.score order by f.score desc) into answer.ids, answer.scores
    from unnest(answer.ids, answer.scores) as f (id, score);
  end if;
  return answer;
end
$$;

comment on function search.score_words(search.search_source, uuid[], search.search_request) is
  'BM25 scores of few rows, without an index scan. In mode lexical it finds k rows if k of them match.';

grant execute on function
  search.stem_test(text),
  search.score_some_words(search.search_source, uuid[], text, text[], integer),
  search.score_words(search.search_source, uuid[], search.search_request)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/090-score-words.sql
--! Included 150-search/100-find-words.sql
create function search.scan_words(request search.search_request, source search.search_source, alias text)
returns search.ranked_memories
language plpgsql
stable
-- pg_textsearch calls one of its functions by an unqualified name while it plans.
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- The index must be scanned in order. Without statistics (the embedded engine has no autovacuum, and a new database has none yet)
-- the planner expects one or two rows, and would score and sort every memory instead.
set enable_sort = off
-- By default pg_textsearch guesses how many rows to rank first from the selectivity of the policies, for which a partial index
-- has no statistics, and ranks every match. Off, it begins with the limit and continues while rows are filtered out: a fortieth.
set pg_textsearch.filtered_seed = off
as $$
declare
  bucket integer;
  part search.ranked_memories;
  answer search.ranked_memories;
begin
  foreach bucket in array request.buckets loop
    -- The index scan returns its scores, instead of computing each again, only outside a CTE and only if the selected and the
    -- ordering expression are spelled differently.
    execute format($sql$
      select array_agg(f.packet_id), array_agg((-f.distance)::real)
      from (
        select %1$s.packet_id, %2$s <@> to_bm25query($1, '' || %3$L) as distance
        from %4$s
        where %5$s and %6$s
        order by %2$s <@> to_bm25query($1, %3$L)
        limit %7$s
      ) f
      where f.distance < 0$sql$,
      alias, source.content, source.bm25_index || bucket, source.table_name, packets.in_bucket(alias, bucket),
      source.extra_condition, request.candidates)
    into part.ids, part.scores
    using request.query;
    answer.ids := answer.ids || part.ids;
    answer.scores := answer.scores || part.scores;
  end loop;
  if cardinality(request.buckets) > 1 then
    select array_agg(f.id), array_agg(f.score) into answer.ids, answer.scores
    from (
      select * from unnest(answer.ids, answer.scores) as f (id, score) order by f.score desc limit request.candidates
    ) f;
  end if;
  return answer;
end
$$;

comment on function search.scan_words(search.search_request, search.search_source, text) is
  'BM25 scores from a scan of the index of each bucket of tenants that is searched.';

create function search.find_words(request search.search_request)
returns search.ranked_memories
language plpgsql
stable
set search_path = ''
as $$
declare
  source search.search_source;
begin
  source.bm25_index := 'public.packet_store_content_bm25_';
  if request.scans_words then
    source.table_name := 'public.packet_store p';
    source.content := '(p.envelope ->> ''content'')';
    source.extra_condition := request.current_condition;
    return search.scan_words(request, source, 'p');
  end if;
  source.table_name := 'public.packet_store';
  source.content := '(s.envelope ->> ''content'')';
  source.bm25_index := source.bm25_index || request.buckets[1];
  source.extra_condition := case when request.as_of is not null then format('s.updated_at <= %L', request.as_of) end;
  return search.score_words(source, request.ids, request);
end
$$;

comment on function search.find_words(search.search_request) is
  'Retriever over the words of memories. Long memories are indexed as a whole: BM25 weights a word by the length of its text, and a second index over chunks would hold every word twice.';

create function search.find_context_words(request search.search_request)
returns search.ranked_memories
language plpgsql
stable
set search_path = ''
as $$
declare
  source search.search_source;
begin
  source.bm25_index := 'public.memory_contexts_bm25_';
  if request.scans_context_words then
    source.table_name := concat_ws(' ', 'public.memory_contexts m',
      case when request.joins_packets then 'join public.packet_store p on p.packet_id = m.packet_id' end);
    source.content := 'm.context';
    source.extra_condition := case when request.joins_packets then request.current_condition else request.own_row_condition end;
    return search.scan_words(request, source, 'm');
  end if;
  source.table_name := 'public.memory_contexts';
  source.content := 's.context';
  source.bm25_index := source.bm25_index || request.buckets[1];
  source.extra_condition := case when request.ids is null and request.joins_packets then format(
    'exists (select from public.packet_store p where p.packet_id = s.packet_id and %s)', request.current_condition) end;
  return search.score_words(source, request.context_ids, request);
end
$$;

comment on function search.find_context_words(search.search_request) is
  'Retriever over the words of memories together with their predecessors.';

grant execute on function
  search.scan_words(search.search_request, search.search_source, text), search.find_words(search.search_request),
  search.find_context_words(search.search_request)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/100-find-words.sql
--! Included 150-search/110-find-version-words.sql
-- A search as of a time reads the versions that were replaced after it.
create index packet_versions_until_idx on public.packet_versions (tenant_id, valid_until);

create function search.find_version_words(request search.search_request)
returns search.ranked_memories
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  was_valid constant text := format('%L between s.valid_from and s.valid_until - interval ''1 microsecond''', request.as_of);
  ids uuid[];
begin
  execute format($sql$
    select array_agg(v.packet_id) from (
      select v.packet_id
      from public.packet_versions v join public.packet_store p on p.packet_id = v.packet_id
      where v.valid_until > $1 and v.valid_from <= $1 and %s
      order by v.valid_until
      limit %s
    ) v$sql$, request.past_condition, search.max_scanned_rows())
  into ids
  using request.as_of;
  return search.score_words(
    row('public.packet_versions', null, null, '(s.envelope ->> ''content'')',
      'public.packet_store_content_bm25_' || request.buckets[1], was_valid)::search.search_source,
    ids, request);
end
$$;

comment on function search.find_version_words(search.search_request) is
  'Retriever over texts that memories had at a time and have no longer. It reads versions that the caller may read, of memories that it may read: at most the 20,000 that were replaced first after that time.';

grant execute on function search.find_version_words(search.search_request) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/110-find-version-words.sql
--! Included 150-search/120-find-meaning.sql
create function search.score_vectors(
  request search.search_request, embedding_type text, source search.search_source, ids uuid[])
returns search.ranked_memories
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  answer search.ranked_memories;
begin
  if request.k is null or source.extra_condition is null then
    return answer;
  end if;
  -- The expression is the plain vector, so that no HNSW index of a model matches it.
  execute format($sql$
    select array_agg(f.packet_id order by f.distance), array_agg((1 - f.distance)::real order by f.distance),
      array_agg(f.chunk_index order by f.distance)
    from (
      select * from (
        select distinct on (m.packet_id) m.packet_id, m.chunk_index, m.vector operator(extensions.<=>) $1 as distance
        from public.memory_embeddings m %s
        where ($2 is null or m.packet_id = any ($2)) and m.model = $3 and m.embedding_type = $4 %s and %s
        order by m.packet_id, distance
      ) nearest
      order by nearest.distance
      limit %s
    ) f$sql$,
    case when source.extra_condition <> request.own_row_condition then 'join public.packet_store p on p.packet_id = m.packet_id' end,
    case when not (request.settings).uses_chunks then 'and m.chunk_index = 0' end,
    source.extra_condition, request.candidates)
  into answer.ids, answer.scores, answer.chunks
  using request.vector, ids, request.model, embedding_type;
  return answer;
end
$$;

comment on function search.score_vectors(search.search_request, text, search.search_source, uuid[]) is
  'Compares vectors one by one: those of the given memories or, if ids is null, of all that match the conditions.';

create function search.find_meaning(request search.search_request, embedding_type text)
returns search.ranked_memories
language plpgsql
stable
set search_path = pg_catalog, extensions
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 150
-- The scan must get past rows that the caller cannot read. The default of 20,000 is too low for a caller that sees one row in a thousand.
set hnsw.max_scan_tuples = 100000
set hnsw.scan_mem_multiplier = 8
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- The reason is the same as in scan_words().
set enable_sort = off
as $$
declare
  candidate_ids uuid[] := case
    when embedding_type = 'context' and not request.scans_context_vectors then request.context_ids
    when embedding_type = 'content' and not request.scans_vectors then request.ids
    when embedding_type = 'reasoning' then request.reasoning_ids end;
  condition constant text := case when request.joins_packets then request.current_or_past_condition else request.own_row_condition end;
  row_limit integer := request.candidates;
  source search.search_source;
  bucket integer;
  rows integer;
  part_rows integer;
  part search.ranked_memories;
  answer search.ranked_memories;
begin
  if request.k is null then
    return answer;
  end if;
  -- One round of the scan is enough if the caller can read two thirds of the rows.
  perform set_config('hnsw.ef_search', least(request.candidates * 3 / 2, 1000)::text, true);
  if candidate_ids is not null then
    source.extra_condition := case when request.ids is null or embedding_type = 'reasoning' then condition else request.own_row_condition end;
    return search.score_vectors(request, embedding_type, source, candidate_ids);
  end if;
  loop
    answer := null;
    rows := 0;
    foreach bucket in array request.buckets loop
      execute format($sql$
        with nearest as materialized (
          select m.packet_id, m.chunk_index, %1$s operator(extensions.<=>) extensions.subvector($1, 1, %6$s)::%2$s as distance
          from public.memory_embeddings m %7$s
          where m.model = %3$L and m.embedding_type = %8$L and %10$s %9$s and %4$s
          order by %1$s operator(extensions.<=>) extensions.subvector($1, 1, %6$s)::%2$s
          limit %5$s
        )
        select array_agg(f.packet_id order by f.distance), array_agg((1 - f.distance)::real order by f.distance),
          array_agg(f.chunk_index order by f.distance), (select count(*) from nearest)
        from (select distinct on (n.packet_id) n.* from nearest n order by n.packet_id, n.distance) f$sql$,
        embeddings.embedding_expression(request.dimensions),
        embeddings.embedding_type_name(request.dimensions),
        request.model, condition, row_limit, request.dimensions,
        case when request.joins_packets then 'join public.packet_store p on p.packet_id = m.packet_id' end,
        embedding_type,
        case when not (request.settings).uses_chunks then 'and m.chunk_index = 0' end,
        packets.in_bucket('m', bucket))
      into part.ids, part.scores, part.chunks, part_rows
      using request.vector;
      answer.ids := answer.ids || part.ids;
      answer.scores := answer.scores || part.scores;
      answer.chunks := answer.chunks || part.chunks;
      rows := greatest(rows, part_rows);
    end loop;
    -- The scan is repeated with a higher limit because the nearest rows may all be chunks of a few long memories.
    exit when coalesce(cardinality(answer.ids), 0) >= request.k or rows < row_limit or row_limit >= search.max_scanned_rows();
    row_limit := row_limit * 5;
  end loop;
  if cardinality(request.buckets) > 1 then
    select array_agg(f.id), array_agg(f.score), array_agg(f.chunk) into answer.ids, answer.scores, answer.chunks
    from (
      select * from unnest(answer.ids, answer.scores, answer.chunks) as f (id, score, chunk)
      order by f.score desc limit request.candidates
    ) f;
  end if;
  if embedding_type = 'content' and coalesce(cardinality(answer.ids), 0) < request.k then
    -- The HNSW scan stopped before it found k visible rows, so an exact scan follows.
    source.extra_condition := condition;
    return search.score_vectors(request, embedding_type, source, null);
  end if;
  return answer;
end
$$;

comment on function search.find_meaning(search.search_request, text) is
  'Retriever over vectors of one model: those of memories, whole and in chunks (content), of memories together with their predecessors (context), or of the steps of reasoning traces (reasoning). Each memory is found once, by its nearest vector.';

grant execute on function
  search.score_vectors(search.search_request, text, search.search_source, uuid[]),
  search.find_meaning(search.search_request, text)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/120-find-meaning.sql
--! Included 150-search/130-find-recent.sql
create function search.find_recent(request search.search_request)
returns search.ranked_memories
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  answer search.ranked_memories;
begin
  execute format($sql$
    select array_agg(f.packet_id), array_agg(1::real)
    from (
      select p.packet_id from public.packet_store p
      where %s and %s
      order by p."timestamp" desc, p.packet_id desc
      limit %s
    ) f$sql$,
    case when request.ids is null then 'true' else 'p.packet_id = any ($1)' end, request.current_or_past_condition, request.k)
  into answer.ids, answer.scores
  using request.ids;
  return answer;
end
$$;

comment on function search.find_recent(search.search_request) is 'Retriever of a search without a query: memories that match the filters, newest first.';

grant execute on function search.find_recent(search.search_request) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/130-find-recent.sql
--! Included 150-search/140-find-in-graph.sql
create type search.graph_matches as (memories search.ranked_memories, entities text[], paths jsonb, is_truncated boolean);

comment on type search.graph_matches is
  'The answer of the graph retriever. memories: best first; entities: those that the query names; paths: maps each memory to its path, with explain; is_truncated: true if not all relations were followed.';

create function search.find_in_graph(request search.search_request)
returns search.graph_matches
language plpgsql
stable
set search_path = ''
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set jit = off
as $$
declare
  walk graph.graph_walk;
  names text[];
  places integer[];
  memories search.ranked_memories;
  answer search.graph_matches;
begin
  answer.entities := graph.named_entities(request.query, 8);
  if answer.entities = '{}' then
    return answer;
  end if;
  -- One step, and then every relation of the nodes: that makes two steps, and includes relations beside the best paths.
  walk := graph.walk_graph(answer.entities, 1, null, 0, 100);
  answer.is_truncated := walk.is_truncated;
  select array_agg(n.name order by node.place, n.name), array_agg(node.place order by node.place, n.name)
  into names, places
  from unnest(walk.nodes) with ordinality as node (name, entity, confidence, depth, steps, is_new, place)
  cross join lateral (select node.name union select a.name from entities.aliases_of(node.name) as a (name)) n;

  execute format($sql$
    with nodes as materialized (
      select * from unnest($1) with ordinality as n (name, entity, confidence, depth, steps, is_new, place)
    ), related as materialized (
      select distinct on (e.relationship_id) n.place, n.confidence * e.confidence as score, e.relationship_id, null::uuid as fact_id,
        row(e.source_entity, e.relationship_type, e.target_entity, case when e.is_outgoing then 'outgoing' else 'incoming' end,
          e.confidence, array[e.relationship_id])::public.graph_step as step
      from graph.edges_of($2, 10000) e join nodes n on n.place = ($3)[e.place]
      order by e.relationship_id, n.confidence * e.confidence desc
    ), stated as materialized (
      select distinct on (f.fact_id) n.place, n.confidence * f.confidence as score, null::uuid as relationship_id, f.fact_id,
        row(f.subject, f.predicate, f.object, 'outgoing', f.confidence, '{}')::public.graph_step as step
      from graph.facts_about($2, 2000) f join nodes n on n.place = ($3)[f.place]
      order by f.fact_id, n.confidence * f.confidence desc
    ), statements as materialized (
      select * from related union all select * from stated order by score desc limit 5000
    ), evidence as materialized (
      select s.place, s.score, s.step, m.packet_id
      from statements s
      cross join lateral (
        (select e.packet_id from public.relationship_evidence e
         where e.relationship_id = s.relationship_id and (e.ttl is null or e.ttl > now())
         order by e.packet_id desc limit 20)
        union all
        select f.packet_id from graph.packets_of_fact(s.fact_id) as f (packet_id) where s.fact_id is not null
      ) m
      limit %s
    ), best as (
      select distinct on (v.packet_id) v.* from evidence v order by v.packet_id, v.score desc, v.place
    ), kept as materialized (
      select b.*, row_number() over (order by b.score desc, b.packet_id desc) as rank
      from best b join public.packet_store p on p.packet_id = b.packet_id
      where b.score > 0 and %s
      order by b.score desc, b.packet_id desc
      limit %s
    )
    select array_agg(k.packet_id order by k.rank), array_agg(k.score::real order by k.rank),
      case when $4 then jsonb_object_agg(k.packet_id, jsonb_build_object(
        'entity', case (n.steps[1]).direction
          when 'outgoing' then (n.steps[1]).source_entity when 'incoming' then (n.steps[1]).target_entity else n.entity end,
        'path', (
          select jsonb_agg(jsonb_build_object(
            'source_entity', s.source_entity, 'relationship_type', s.relationship_type, 'target_entity', s.target_entity,
            'direction', s.direction, 'confidence', s.confidence) order by s.place)
          from unnest(n.steps || k.step) with ordinality as s (source_entity, relationship_type, target_entity, direction, confidence, relationship_ids, place)))) end
    from kept k join nodes n on n.place = k.place$sql$,
    search.max_scanned_rows(), request.current_or_past_condition, request.candidates)
  into memories.ids, memories.scores, answer.paths
  using walk.nodes, names, places, request.is_explained;
  answer.memories := memories;
  return answer;
end
$$;

comment on function search.find_in_graph(search.search_request) is
  'Retriever over the entity graph: memories that state the relations and facts within two steps of the entities that the query names. The score of a memory is the confidence of the best path to a relation or fact that it states. At most the 5000 relations and facts of highest confidence are used, with 20 memories for each.';

grant execute on function search.find_in_graph(search.search_request)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/140-find-in-graph.sql
--! Included 150-search/150-boost.sql
-- These functions set no search_path, so that they are inlined: each runs for hundreds of candidates, and setting it takes ten times
-- as long as the formula. It is safe because their bodies were parsed when the functions were created.

create function search.lift_by_context(content real, context real, weight real)
returns real
language sql
immutable
parallel safe
return case
  when context > coalesce(content, 0) then coalesce(content, 0) + weight * (context - coalesce(content, 0))
  else content end;

comment on function search.lift_by_context(real, real, real) is
  'Score of a memory, given its own score and its score together with its predecessor. A better context raises the score by weight times the difference; a worse one changes nothing.';

create function search.recency(age interval, half_life_days double precision)
returns real
language sql
immutable
parallel safe
return power(
  0.5, least(greatest(extract(epoch from age)::double precision, 0) / (86400 * half_life_days), 100))::real;

comment on function search.recency(interval, double precision) is '1 for a memory saved now, 0.5 after one half-life, 0.25 after two, and so on.';

create function search.max_boost(settings public.search_settings)
returns real
language sql
immutable
parallel safe
return 1 + settings.recency_boost + settings.importance_boost;

comment on function search.max_boost(public.search_settings) is 'The boost of a memory for which every signal is 1, before it is scaled to 1.';

create function search.boost(recency real, importance real, settings public.search_settings)
returns real
language sql
immutable
parallel safe
return (1 + settings.recency_boost * recency + settings.importance_boost * importance) / search.max_boost(settings);

comment on function search.boost(real, real, public.search_settings) is
  'Boost factor of a score, at most 1. It is bounded: a hit with a lower score overtakes a higher one only if its score is more than 1 / (1 + recency_boost + importance_boost) of it, which is 84 % by default and never less than 83 %.';

grant execute on function
  search.lift_by_context(real, real, real), search.recency(interval, double precision),
  search.max_boost(public.search_settings), search.boost(real, real, public.search_settings)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/150-boost.sql
--! Included 150-search/160-fuse.sql
create function search.fuse(
  request search.search_request, words search.ranked_memories, context_words search.ranked_memories,
  meaning search.ranked_memories, context_meaning search.ranked_memories, reasoning search.ranked_memories)
returns search.ranked_hits
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- The plan does not depend on the request, and planning takes four times as long as running it.
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_variable
declare
  settings public.search_settings := request.settings;
  compares boolean := request.vector is not null and request.mode <> 'recent';
  has_contexts boolean := request.as_of is null and coalesce(cardinality(request.context_ids), 1) > 0;
  snippet_words tsquery := search.snippet_query(request.query);
  pattern text := search.passage_pattern(request.query);
  own_types text[] := case when request.as_of is null then array['content', 'reasoning'] else array['content'] end;
  answer search.ranked_hits;
begin
  with retrieved as (
    select w.packet_id, w.position, w.score as bm25, null::real as context_bm25, null::real as similarity,
      null::real as context_similarity, null::integer as chunk, false as is_reasoning
    from unnest(words.ids, words.scores) with ordinality as w (packet_id, score, position)
    union all
    select w.packet_id, w.position, null, w.score, null, null, null, false
    from unnest(context_words.ids, context_words.scores) with ordinality as w (packet_id, score, position)
    union all
    select n.packet_id, n.position, null, null, n.score, null, n.chunk, false
    from unnest(meaning.ids, meaning.scores, meaning.chunks) with ordinality as n (packet_id, score, chunk, position)
    union all
    select n.packet_id, n.position, null, null, null, n.score, null, false
    from unnest(context_meaning.ids, context_meaning.scores) with ordinality as n (packet_id, score, position)
    union all
    -- A memory is as near as its content or its reasoning steps, whichever is nearer.
    select n.packet_id, n.position, null, null, n.score, null, null, true
    from unnest(reasoning.ids, reasoning.scores) with ordinality as n (packet_id, score, position)
  ), candidates as (
    select f.packet_id, min(f.position) as position, max(f.bm25) as bm25, max(f.context_bm25) as context_bm25,
      max(f.similarity) as similarity, max(f.context_similarity) as context_similarity, max(f.chunk) as chunk,
      array_remove(array[
        case when max(f.bm25) is not null then case request.mode when 'graph' then 'graph' else 'lexical content' end end,
        case when max(f.context_bm25) is not null then 'lexical context' end,
        case when bool_or(f.similarity is not null and not f.is_reasoning) then 'semantic content' end,
        case when bool_or(f.is_reasoning) then 'semantic reasoning' end,
        case when max(f.context_similarity) is not null then 'semantic context' end], null) as found_by
    from retrieved f
    group by f.packet_id
  ), compared as (
    -- Candidates that the retrievers of meaning did not find are compared too, so that every candidate is scored by the same sum.
    -- Skip comparing candidates ranked below 2k in every retriever; in tests none reached the top k.
    select c.packet_id, c.bm25, c.context_bm25, c.found_by,
      coalesce(c.similarity, n.similarity) as similarity,
      coalesce(c.context_similarity, n.context_similarity) as context_similarity, coalesce(c.chunk, n.chunk) as chunk
    from candidates c
    left join lateral (
      select max(e.similarity) filter (where e.embedding_type <> 'context') as similarity,
        max(e.similarity) filter (where e.embedding_type = 'context') as context_similarity,
        (array_agg(e.chunk_index order by e.similarity desc) filter (where e.embedding_type = 'content'))[1] as chunk
      from (
        select e.embedding_type, e.chunk_index, (1 - (e.vector operator(extensions.<=>) request.vector))::real as similarity
        from public.memory_embeddings e
        where compares and (c.similarity is null or (has_contexts and c.context_similarity is null))
          and (c.position <= 2 * request.k or request.threshold is not null)
          and e.packet_id = c.packet_id and e.model = request.model
          and (e.embedding_type = any (own_types) and c.similarity is null and (e.chunk_index = 0 or settings.uses_chunks)
            or e.embedding_type = 'context' and has_contexts and c.context_similarity is null)
          and (request.as_of is null or exists (
            select from public.packet_store p where p.packet_id = e.packet_id and p.updated_at <= request.as_of))
      ) e
    ) n on true
  ), scored as (
    select c.*,
      c.bm25 / m.best as lexical_content, c.context_bm25 / m.best as lexical_context,
      search.lift_by_context((c.bm25 / m.best)::real, (c.context_bm25 / m.best)::real, settings.context_weight) as lexical_score,
      -- greatest() ignores nulls, so without the condition a candidate that was not compared would score 0.
      search.lift_by_context(
        case when c.similarity is not null then greatest(c.similarity, 0) end::real,
        case when c.context_similarity is not null then greatest(c.context_similarity, 0) end::real, settings.context_weight) as semantic_score
    from compared c
    cross join (select nullif(greatest(max(c.bm25), max(c.context_bm25)), 0) as best from candidates c) m
    -- The threshold stands outside the retrievers: inside, with too few hits, a scan would read its whole index.
    where request.threshold is null or coalesce(c.similarity, c.context_similarity) is null
      or 1 - greatest(c.similarity, c.context_similarity) <= request.threshold
  ), ranked as (
    select s.*,
      (case request.mode
        when 'recent' then 1
        when 'graph' then s.bm25
        when 'lexical' then s.lexical_score
        when 'semantic' then s.semantic_score
        else (settings.lexical_weight * coalesce(s.lexical_score, 0) + settings.semantic_weight * coalesce(s.semantic_score, 0))
          / (settings.lexical_weight + settings.semantic_weight)
      end)::real as fused
    from scored s
  ), within_reach as (
    -- No boost can lift a candidate below this bound into the first k. The factor 1.0001 covers rounding errors of real numbers.
    select r.* from ranked r
    -- A memory that was compared is found however far it is, so that k hits are found if k memories are visible.
    where (r.fused > 0 or r.semantic_score is not null)
      and r.fused * search.max_boost(settings) * 1.0001 >= coalesce((
        select other.fused from ranked other order by other.fused desc nulls last offset request.k - 1 limit 1), 0)
  ), as_of_states as (
    select r.*, p."timestamp", past.packet_id is not null as is_past,
      case when past.packet_id is null then p.packet_type else past.packet_type end as kind,
      case when past.packet_id is null then importance.importance_of(p, signals, now()) else past.importance_score end as importance
    from within_reach r
    join public.packet_store p on p.packet_id = r.packet_id
    left join public.memory_signals signals on signals.packet_id = p.packet_id
    left join public.packet_versions past on request.as_of is not null and p.updated_at > request.as_of
      and past.packet_id = p.packet_id and past.valid_from <= request.as_of and past.valid_until > request.as_of
    where request.as_of is null or p.updated_at <= request.as_of or past.packet_id is not null
  ), boosted as (
    select s.*, b.recency,
      case request.mode when 'recent' then 1 else search.boost(b.recency, s.importance, settings) end as factor
    from as_of_states s
    cross join lateral (
      select search.recency(
        coalesce(request.as_of, now()) - s."timestamp",
        coalesce(settings.half_life_days ->> s.kind, settings.half_life_days ->> 'default')::double precision) as recency
    ) b
  ), first_k as (
    select b.* from boosted b
    order by b.fused * b.factor desc, b.similarity desc nulls last, b."timestamp" desc, b.packet_id desc
    limit request.k
  )
  select
    array_agg(row(
      b.packet_id, null, left(t.content, 8000), length(t.content) > 8000,
      search.snippet(coalesce(chunk.chunk_text, search.passage(t.content, pattern)), snippet_words),
      b.fused * b.factor, case when request.mode not in ('recent', 'graph') then b.lexical_score end, b.semantic_score, b.chunk,
      t.packet_type, t.scope, t.project_id, t.tags, t.thread_id, t.metadata ->> 'creator', b.importance, b."timestamp",
      case when request.is_explained then jsonb_build_object(
        'found_by', b.found_by,
        'lexical', case when request.mode <> 'graph' then jsonb_build_object('content', b.lexical_content, 'context', b.lexical_context) end,
        'semantic', jsonb_build_object('content', b.similarity, 'context', b.context_similarity),
        'graph', request.paths -> b.packet_id::text,
        'chunk', jsonb_build_object('index', b.chunk) || coalesce(chunk.metadata, '{}'),
        'weights', jsonb_build_object(
          'lexical', settings.lexical_weight, 'semantic', settings.semantic_weight, 'context', settings.context_weight),
        'fused', b.fused,
        'boosts', jsonb_build_object('recency', b.recency, 'importance', b.importance, 'factor', b.factor)) end
    )::public.memory_hit order by b.fused * b.factor desc, b.similarity desc nulls last, b."timestamp" desc, b.packet_id desc),
    (select count(*)::integer from scored)
  into answer.hits, answer.considered
  from first_k b
  cross join lateral (
    select p.envelope ->> 'content' as content, p.packet_type, p.scope, p.project_id, p.tags, p.thread_id, p.metadata
    from public.packet_store p where not b.is_past and p.packet_id = b.packet_id
    union all
    select v.envelope ->> 'content', v.packet_type, v.scope, v.project_id, v.tags, v.thread_id, v.metadata
    from public.packet_versions v
    where b.is_past and v.packet_id = b.packet_id and v.valid_from <= request.as_of and v.valid_until > request.as_of
  ) t
  left join public.memory_embeddings chunk on b.chunk > 0 and chunk.packet_id = b.packet_id
    and chunk.model = request.model and chunk.embedding_type = 'content' and chunk.chunk_index = b.chunk;
  answer.hits := coalesce(answer.hits, '{}');
  return answer;
end
$$;

comment on function search.fuse(
  search.search_request, search.ranked_memories, search.ranked_memories, search.ranked_memories, search.ranked_memories, search.ranked_memories) is
  'The k best of the retrieved memories. Scores of words are relative to the best hit, scores of meaning are cosine similarities; each is lifted by context, then they are summed by weight, then boosted.';

grant execute on function search.fuse(
  search.search_request, search.ranked_memories, search.ranked_memories, search.ranked_memories, search.ranked_memories, search.ranked_memories)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/160-fuse.sql
--! Included 150-search/170-fit-hits.sql
create function search.token_estimate(text text)
returns integer
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.ceil(pg_catalog.octet_length(text) / 3.0)::integer;

comment on function search.token_estimate(text) is
  'Upper estimate of the tokens of a text: a third of its bytes, which holds for prose, code and most scripts.';

create function search.fit_hits(hits public.memory_hit[], max_tokens integer, out fitted public.memory_hit[], out cut jsonb)
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  -- Tokens of a hit besides its text: ids, scores, tags and the names of the fields.
  frame_tokens constant integer := 150;
  -- With this size and the longest snippet, one hit fits in 500 tokens.
  preview_bytes constant integer := 240;
  hit public.memory_hit;
  used integer := 0;
  extra_tokens integer;
  previews integer := 0;
begin
  fitted := '{}';
  if max_tokens is null then
    fitted := hits;
    return;
  end if;
  -- First as many previews as fit are taken, best first. Then, best first, previews become whole contents while there is room.
  foreach hit in array hits loop
    used := used + frame_tokens + search.token_estimate(hit.snippet)
      + search.token_estimate(search.truncate_to_bytes(hit.content, preview_bytes));
    exit when used > max_tokens;
    fitted := fitted || hit;
  end loop;
  used := 0;
  foreach hit in array fitted loop
    used := used + frame_tokens + search.token_estimate(hit.snippet) + search.token_estimate(search.truncate_to_bytes(hit.content, preview_bytes));
  end loop;
  for place in 1 .. cardinality(fitted) loop
    hit := fitted[place];
    extra_tokens := search.token_estimate(hit.content) - search.token_estimate(search.truncate_to_bytes(hit.content, preview_bytes));
    if used + extra_tokens <= max_tokens then
      used := used + extra_tokens;
    else
      hit.content := search.truncate_to_bytes(hit.content, preview_bytes);
      hit.is_truncated := true;
      fitted[place] := hit;
      previews := previews + 1;
    end if;
  end loop;
  cut := jsonb_build_object(
    'max_tokens', max_tokens, 'tokens', used, 'previews', previews, 'left_out', cardinality(hits) - cardinality(fitted));
end
$$;

comment on function search.fit_hits(public.memory_hit[], integer) is
  'Trims hits to about max_tokens: contents become previews, the last hits first, and hits that still do not fit are left out. cut: numbers of previews and of hits left out; null without a limit.';

grant execute on function search.token_estimate(text), search.fit_hits(public.memory_hit[], integer)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/170-fit-hits.sql
--! Included 150-search/180-open-search.sql
create function search.check_search(
  query text, k integer, mode text, tags_match text, since timestamptz, until timestamptz, threshold real,
  packet_id uuid, as_of timestamptz, max_tokens integer, filters jsonb)
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  -- The class includes all characters that JavaScript treats as white space, because the gateway makes no vector of a blank query.
  if query is not null and query !~ '[^\s\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]' then
    perform identity.raise_error('L9VAL', 'query: must not be blank', 'query');
  elsif octet_length(query) > 32768 then
    perform identity.raise_error('L9LIM', format('query: must be at most 32768 bytes, got %s', octet_length(query)), 'query');
  elsif query is not null and packet_id is not null then
    perform identity.raise_error('L9VAL', 'packet_id: must not be given together with a query', 'packet_id');
  elsif k is null or k not between 1 and 100 then
    perform identity.raise_error('L9VAL', 'k: must be from 1 to 100', 'k');
  elsif mode is null or mode not in ('hybrid', 'lexical', 'semantic', 'graph') then
    perform identity.raise_error('L9VAL', 'mode: must be hybrid, lexical, semantic or graph', 'mode');
  elsif mode = 'graph' and packet_id is not null then
    perform identity.raise_error('L9VAL', 'mode: graph starts from the entities that a query names; leave out packet_id or choose another mode', 'mode');
  elsif tags_match is null or tags_match not in ('any', 'all') then
    perform identity.raise_error('L9VAL', 'tags_match: must be any or all', 'tags_match');
  elsif not coalesce(threshold between 0 and 2, true) then
    perform identity.raise_error('L9VAL', 'threshold: must be a cosine distance from 0 to 2', 'threshold');
  elsif since > until then
    perform identity.raise_error('L9VAL', 'since: must not be after until', 'since');
  elsif max_tokens not between 500 and 1000000 then
    perform identity.raise_error('L9VAL', 'max_tokens: must be from 500 to 1000000', 'max_tokens');
  elsif as_of > clock_timestamp() then
    perform identity.raise_error('L9VAL', 'as_of: must not be in the future', 'as_of');
  elsif octet_length(filters::text) > 16384 then
    perform identity.raise_error('L9LIM', 'filters: scopes, kinds, tags and the other filters must be at most 16384 bytes together', 'filters');
  elsif query is null and packet_id is null and not filters ?| array['since', 'until', 'tags', 'kinds', 'thread_id', 'creator'] then
    perform identity.raise_error(
      'L9VAL', 'query: give a query, the packet_id of a memory to find similar ones, or a filter such as since, until or tags', 'query');
  end if;
end
$$;

comment on function search.check_search(
  text, integer, text, text, timestamptz, timestamptz, real, uuid, timestamptz, integer, jsonb) is
  'Raises L9VAL or L9LIM, naming the field, for arguments that are not valid.';

create function search.choose_mode(request search.search_request)
returns search.search_request
language plpgsql
stable
set search_path = pg_catalog, extensions
as $$
begin
  request.mode := case
    when request.query is null and request.like_packet_id is null then 'recent' else request.requested_mode end;
  if request.mode in ('hybrid', 'semantic') then
    -- Only vectors of the serving model are compared: of a model that arrives or leaves, some are missing.
    select m.dimensions into request.dimensions
    from public.embedding_models m where m.model = request.model and m.state = 'serving';
    if request.vector is null or request.dimensions is null then
      if request.requested_mode = 'semantic' then
        perform identity.raise_error('L9VAL', case
          when request.like_packet_id is null
            then 'mode: semantic needs the vector of the query, and the embedder is not available; try lexical'
          else 'mode: semantic needs the vector of the memory, which has none yet; try lexical' end, 'mode');
      end if;
      request.mode := 'lexical';
      request.notices := request.notices || case
        when request.like_packet_id is not null then 'The memory has no vector yet: searched by words only.'
        when request.vector is null then 'The embedder is not available: searched by words only.'
        else 'The vector of the query is of a model that does not serve: searched by words only.' end;
    elsif extensions.vector_dims(request.vector) <> embeddings.max_dimensions() then
      perform identity.raise_error(
        'L9VAL', format('query_vector: must have %s dimensions', embeddings.max_dimensions()), 'query_vector');
    end if;
  end if;
  request.vector := case when request.mode in ('hybrid', 'semantic') then request.vector end;
  return request;
end
$$;

comment on function search.choose_mode(search.search_request) is
  'The mode that a search runs in. Raises L9VAL if mode semantic was requested and there is no vector.';

create function search.open_search(
  query text, k integer, filters jsonb, scopes text[], project_id text, query_vector extensions.vector, model text,
  max_tokens integer, mode text default 'hybrid', tags_match text default 'any', since timestamptz default null,
  until timestamptz default null, threshold real default null, packet_id uuid default null, as_of timestamptz default null,
  is_explained boolean default false)
returns search.search_request
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_variable
declare
  request search.search_request;
begin
  request.started_at := clock_timestamp();
  request.caller := identity.require_identity();
  perform search.check_search(query, k, mode, tags_match, since, until, threshold, packet_id, as_of, max_tokens, filters);

  -- Scopes that the caller may not read and scopes that do not exist are both left out without an error.
  request.searched_scopes := array(
    select s.name from unnest((request.caller).readable_scopes) as s (name)
    where scopes is null or s.name = any (scopes) order by s.name);
  request.requested_scopes := scopes;
  request.project_id := project_id;
  request.filters := filters;
  request.query := query;
  request.vector := query_vector;
  request.model := model;
  request.requested_mode := mode;
  request.notices := '{}';
  if packet_id is not null then
    request := search.more_like_this(request, packet_id);
  end if;
  request := search.choose_mode(request);
  request.k := k;
  request.candidates := search.candidate_count(k);
  request.threshold := threshold;
  request.as_of := as_of;
  request.max_tokens := max_tokens;
  request.is_explained := is_explained;
  request.settings := search.current_search_settings();
  request.buckets := search.searched_buckets(request.caller);
  return request;
end
$$;

comment on function search.open_search(
  text, integer, jsonb, text[], text, extensions.vector, text, integer, text, text, timestamptz, timestamptz, real, uuid,
  timestamptz, boolean) is
  'Begins a search: checks its arguments and decides its mode. Conditions are added by the function that calls it. Errors: L9VAL, L9LIM, L9OWN, L9AUT.';

grant execute on function
  search.check_search(text, integer, text, text, timestamptz, timestamptz, real, uuid, timestamptz, integer, jsonb),
  search.choose_mode(search.search_request),
  search.open_search(
    text, integer, jsonb, text[], text, extensions.vector, text, integer, text, text, timestamptz, timestamptz, real, uuid,
    timestamptz, boolean)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/180-open-search.sql
--! Included 150-search/190-more-like-this.sql
create function search.more_like_this(request search.search_request, packet_id uuid)
returns search.search_request
language plpgsql
stable
set search_path = ''
as $$
declare
  content text;
begin
  select p.envelope ->> 'content' into content from public.packet_store p where p.packet_id = more_like_this.packet_id;
  if not found then
    perform memories.raise_not_yours(more_like_this.packet_id);
  end if;
  request.like_packet_id := packet_id;
  request.query := (
    select string_agg(w.lexeme, ' ')
    from (
      select w.lexeme from unnest(to_tsvector('pg_catalog.english', left(content, 20000))) as w
      order by cardinality(w.positions) desc, length(w.lexeme) desc, w.lexeme
      limit 25
    ) w);
  select e.vector, e.model into request.vector, request.model
  from public.memory_embeddings e
  join public.embedding_models m on m.model = e.model and m.state = 'serving'
  where e.packet_id = more_like_this.packet_id and e.embedding_type = 'content' and e.chunk_index = 0;
  return request;
end
$$;

comment on function search.more_like_this(search.search_request, uuid) is
  'A search for the 25 most frequent words of a memory, and for its vector. Raises L9OWN if the memory does not exist or is not visible.';

grant execute on function search.more_like_this(search.search_request, uuid) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/190-more-like-this.sql
--! Included 150-search/200-find-hits.sql
create function search.find_hits(request search.search_request)
returns search.ranked_hits
language plpgsql
stable
set search_path = ''
as $$
declare
  uses_contexts boolean := request.as_of is null and (request.settings).context_weight > 0
    and request.context_ids is distinct from '{}';
  context_request search.search_request := search.as_context_search(request);
  words search.ranked_memories;
  versions search.ranked_memories;
  context_words search.ranked_memories;
  meaning search.ranked_memories;
  context_meaning search.ranked_memories;
  reasoning search.ranked_memories;
begin
  if request.mode = 'recent' then
    words := search.find_recent(request);
  end if;
  if request.mode in ('hybrid', 'lexical') and request.query is not null then
    words := search.find_words(request);
    if request.as_of is not null then
      versions := search.find_version_words(request);
      words.ids := words.ids || versions.ids;
      words.scores := words.scores || versions.scores;
    elsif uses_contexts then
      context_words := search.find_context_words(context_request);
    end if;
  end if;
  if request.mode in ('hybrid', 'semantic') then
    meaning := search.find_meaning(request, 'content');
    if uses_contexts then
      context_meaning := search.find_meaning(context_request, 'context');
    end if;
    if request.as_of is null and request.reasoning_ids is distinct from '{}' then
      reasoning := search.find_meaning(request, 'reasoning');
    end if;
  end if;
  return search.fuse(request, words, context_words, meaning, context_meaning, reasoning);
end
$$;

comment on function search.find_hits(search.search_request) is
  'Runs the retrievers of the mode of a narrowed search, and fuses their answers.';

grant execute on function search.find_hits(search.search_request) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/200-find-hits.sql
--! Included 150-search/210-close-search.sql
create function search.log_hits(hits public.memory_hit[], audit_id uuid)
returns public.memory_hit[]
language plpgsql
volatile
set search_path = ''
as $$
declare
  access_ids uuid[];
  hit public.memory_hit;
begin
  if cardinality(hits) = 0 then
    return hits;
  end if;
  access_ids := (
    select importance.log_accesses('search', array_agg(h.packet_id), array_agg(h.scope), array_agg(h.project_id), array_agg(h.score),
      log_hits.audit_id)
    from unnest(hits) as h);
  for i in 1 .. cardinality(hits) loop
    hit := hits[i];
    hit.access_id := access_ids[i];
    hits[i] := hit;
  end loop;
  return hits;
end
$$;

comment on function search.log_hits(public.memory_hit[], uuid) is
  'Writes the hits of a search to the access log, and returns them, each with its access_id.';

create function search.close_search(request search.search_request, ranked search.ranked_hits)
returns public.search_result
language plpgsql
volatile
set search_path = ''
as $$
declare
  trimmed record := search.fit_hits(ranked.hits, request.max_tokens);
  -- For a memory like another, the query is made of that memory's words and is not logged.
  query text := case when request.like_packet_id is null then request.query end;
  result public.search_result;
begin
  result.searched := jsonb_build_object(
    'mode', request.mode, 'requested_mode', request.requested_mode, 'scopes', request.searched_scopes,
    'projects', (request.caller).projects, 'filters', request.filters, 'like', request.like_packet_id, 'as_of', request.as_of,
    'k', request.k, 'threshold', request.threshold, 'candidates', coalesce(ranked.considered, 0),
    'entities', to_jsonb(request.entities), 'cut', trimmed.cut, 'notice', nullif(array_to_string(request.notices, ' '), ''),
    'vectors', case
      when request.mode in ('hybrid', 'semantic') then 'used'
      when request.requested_mode in ('lexical', 'graph') or request.mode = 'recent' then 'not asked for'
      else 'unavailable' end);

  -- The audit row and the access log are all that a search writes.
  result.hits := search.log_hits(trimmed.fitted, audit.audit_read('SEARCH', jsonb_build_object(
    'query_sha256', encode(sha256(convert_to(query, 'UTF8')), 'hex'), 'mode', request.mode,
    'requested_mode', request.requested_mode, 'k', request.k, 'threshold', request.threshold, 'filters', request.filters,
    'scopes', request.searched_scopes, 'ids', to_jsonb(array(select h.packet_id from unnest(trimmed.fitted) as h)),
    'duration_ms', round(extract(epoch from clock_timestamp() - request.started_at) * 1000, 2))
    || jsonb_strip_nulls(jsonb_build_object('like', request.like_packet_id, 'as_of', request.as_of)),
    project_id => request.project_id,
    scope => case when cardinality(request.requested_scopes) = 1 then request.requested_scopes[1] end,
    query => query));
  return result;
end
$$;

comment on function search.close_search(search.search_request, search.ranked_hits) is
  'Ends a search: trims its hits, fills searched, and writes the audit row and the access log.';

grant execute on function
  search.log_hits(public.memory_hit[], uuid), search.close_search(search.search_request, search.ranked_hits)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/210-close-search.sql
--! Included 150-search/220-search-memory.sql
create function public.search_memory(
  query text default null,
  k integer default 10,
  mode text default 'hybrid',
  scopes text[] default null,
  project_id text default null,
  kinds text[] default null,
  tags text[] default null,
  tags_match text default 'any',
  since timestamptz default null,
  until timestamptz default null,
  thread_id text default null,
  creator text default null,
  threshold real default null,
  query_vector extensions.vector default null,
  model text default null,
  packet_id uuid default null,
  as_of timestamptz default null,
  explain boolean default false,
  max_tokens integer default null
)
returns public.search_result
language plpgsql
volatile
set search_path = pg_catalog, extensions
as $$
#variable_conflict use_variable
declare
  request search.search_request := search.open_search(
    query, k,
    jsonb_strip_nulls(jsonb_build_object(
      'scopes', to_jsonb(scopes), 'project_id', project_id, 'kinds', to_jsonb(kinds), 'tags', to_jsonb(tags),
      'tags_match', case when tags is not null then tags_match end, 'since', since, 'until', until,
      'thread_id', thread_id, 'creator', creator)),
    scopes, project_id, query_vector, model, max_tokens, mode, tags_match, since, until, threshold, packet_id, as_of, explain);
  field_conditions text := search.packet_conditions(
    'p', kinds, tags, tags_match, since, until, thread_id, creator, packet_id);
  matches record;
  ranked search.ranked_hits;
begin
  request.joins_packets := field_conditions is not null or as_of is not null;
  request.own_row_condition := search.own_conditions('m', scopes, project_id);
  request.current_condition := concat_ws(' and ', search.own_conditions('p', scopes, project_id), field_conditions,
    case when as_of is not null then format('p.updated_at <= %L', as_of) end);
  request.current_or_past_condition := request.current_condition;
  if as_of is not null then
    request.past_condition := concat_ws(' and ', '(p.ttl is null or p.ttl > now())',
      search.own_conditions('v', scopes, project_id, checks_expiry => false),
      search.packet_conditions('v', kinds, tags, tags_match, since, until, thread_id, creator, packet_id));
    request.current_or_past_condition := format($sql$(%s or p.updated_at > %4$L and exists (
      select from public.packet_versions v
      where v.packet_id = p.packet_id and v.valid_from <= %4$L and v.valid_until > %4$L
        and (%3$L = 'recent' or v.envelope ->> 'content' = p.envelope ->> 'content') and %2$s))$sql$,
      request.current_condition, request.past_condition, request.mode, as_of);
    request.notices := request.notices
      || 'As of that time: texts that have changed since are found by words, not by meaning; deleted memories are not found.'::text;
  end if;
  request.range_condition := concat_ws(' and ',
    case when thread_id is not null and as_of is null then format('p.thread_id = %L', thread_id) end,
    case when since is not null then format('p."timestamp" >= %L', since) end,
    case when until is not null then format('p."timestamp" < %L', until) end,
    case when as_of is not null then format('p."timestamp" <= %L', as_of) end);

  if request.mode = 'graph' then
    select g.* into matches from search.find_in_graph(request) g;
    request.entities := matches.entities;
    request.paths := matches.paths;
    request.notices := request.notices || case
      when matches.entities = '{}' then
        'The query names no entity of the graph that you may read; a hybrid search finds memories by words and meaning.'
      when matches.is_truncated then 'The entities have more relations than were followed; those of highest confidence were.' end;
    if as_of is not null then
      request.notices := request.notices || 'Relations are the current ones.'::text;
    end if;
    ranked := search.fuse(request, matches.memories, null, null, null, null);
  else
    request := search.narrow_search(request);
    if 'reasoning_trace' <> all (kinds) then
      request.reasoning_ids := '{}';
    end if;
    ranked := search.find_hits(request);
  end if;
  return search.close_search(request, ranked);
end
$$;

comment on function public.search_memory(
  text, integer, text, text[], text, text[], text[], text, timestamptz, timestamptz, text, text, real, extensions.vector, text,
  uuid, timestamptz, boolean, integer) is
  'Finds memories that the caller may read, best first: by words (BM25), by meaning (query_vector, made by model), by both (hybrid) or by the relations of entities that the query names (graph). A memory is also found by its predecessor in the thread. Without a query: memories similar to packet_id, or the newest that match the filters. k: from 1 to 100. project_id: memories of this project and of no project. tags_match: any or all. since, until: saved at or after, and before. as_of: memories as they were at that time, as far as the caller may read both the memory and the version. threshold: leaves out hits further in meaning than this cosine distance (0 to 2). explain: adds how each hit was scored. max_tokens: trims the hits to about that many tokens. Without a vector a hybrid search is a lexical one, and searched.notice says so. Audited. Errors: L9VAL, L9LIM, L9OWN, L9AUT.';

grant execute on function public.search_memory(
  text, integer, text, text[], text, text[], text[], text, timestamptz, timestamptz, text, text, real, extensions.vector, text,
  uuid, timestamptz, boolean, integer)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 150-search/220-search-memory.sql
--! Included 160-world-model/000-schema.sql
create schema world_model;
comment on schema world_model is
  'The world model: an event log of insights, folded into entities. Not exposed over GraphQL; callers may execute only the functions that are granted individually.';
grant usage on schema world_model to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 160-world-model/000-schema.sql
--! Included 160-world-model/010-limits.sql
-- Limits and forms that several tables and functions of this chapter share.

create function world_model.max_description_bytes()
returns integer
language sql
immutable
parallel safe
return 1000;

create function world_model.is_version_number(value text)
returns boolean
language sql
immutable
parallel safe
return value ~ '^\d{1,9}$';

comment on function world_model.max_description_bytes() is 'The maximum length of the description of a snapshot, in bytes.';
comment on function world_model.is_version_number(text) is
  'True for the number of a version; where a snapshot or a version can be given, any other text must be the id of a snapshot.';

grant execute on function
  world_model.max_description_bytes(), world_model.is_version_number(text)
to l9_agent, l9_admin;
--! EndIncluded 160-world-model/010-limits.sql
--! Included 160-world-model/020-worlds.sql
create table world_model.worlds (
  audience_id uuid primary key,
  state_version integer not null default 0
);

comment on table world_model.worlds is
  'The current version number of each world. It is a table of its own so that no version number is used twice, even after updates were erased.';
comment on column world_model.worlds.state_version is
  'The current version of the world. A transaction that changes the world locks this row.';

alter table world_model.worlds enable row level security;
alter table world_model.worlds force row level security;

create policy definer_functions on world_model.worlds to l9_owner using (true);

comment on policy definer_functions on world_model.worlds is
  'Only functions of the owner read and write it; they take the world from a memory that the caller may read.';

create function world_model.lock_world(audience_id uuid)
returns integer
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  version integer;
begin
  insert into world_model.worlds (audience_id) values (lock_world.audience_id) on conflict do nothing;
  select w.state_version into version from world_model.worlds w where w.audience_id = lock_world.audience_id for update;
  return version;
end
$$;

comment on function world_model.lock_world(uuid) is
  'Locks a world until the end of the transaction and returns its current version, 0 for a new one. Not executable by callers.';

create function world_model.take_next_version(audience_id uuid, expected_version integer)
returns integer
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  version integer := world_model.lock_world(audience_id);
begin
  if expected_version <> version then
    perform identity.raise_error('L9VAL', format('expected_version: the world is at version %s', version), 'expected_version',
      'Read the world again, then decide.');
  end if;
  update world_model.worlds w set state_version = version + 1 where w.audience_id = take_next_version.audience_id;
  return version + 1;
end
$$;

comment on function world_model.take_next_version(uuid, integer) is
  'Takes the next version number of a world and locks the world until the end of the transaction. Raises L9VAL if the current version is not expected_version. Not executable by callers.';
--! EndIncluded 160-world-model/020-worlds.sql
--! Included 160-world-model/030-removed-entities.sql
create table world_model.removed_entities (
  audience_id uuid not null references world_model.worlds,
  entity_key text not null,
  version integer not null,
  primary key (audience_id, entity_key)
);
alter table world_model.removed_entities alter column entity_key set statistics 0;

comment on table world_model.removed_entities is
  'The last version of each removed entity, kept while an update still names the entity: if the entity comes back, its version numbers continue.';
comment on column world_model.removed_entities.entity_key is 'The name of the entity, normalised as in entity_id_normalized.';
comment on column world_model.removed_entities.version is 'The last version that the entity had.';

alter table world_model.removed_entities enable row level security;
alter table world_model.removed_entities force row level security;

create policy definer_functions on world_model.removed_entities to l9_owner using (true);

comment on policy definer_functions on world_model.removed_entities is
  'Only functions of the owner read and write it; they take the world from a memory that the caller may read.';
--! EndIncluded 160-world-model/030-removed-entities.sql
--! Included 160-world-model/040-stale-worlds.sql
create table world_model.stale_worlds (
  audience_id uuid not null,
  state_version integer
);

comment on table world_model.stale_worlds is
  'Worlds to recompute before the statement that moves memories ends. A row trigger inserts them; a statement trigger deletes and recomputes them.';
comment on column world_model.stale_worlds.state_version is
  'The version of an update that left the world; null when updates were added or their expiry changed.';

alter table world_model.stale_worlds enable row level security;
alter table world_model.stale_worlds force row level security;

create policy definer_functions on world_model.stale_worlds to l9_owner using (true);

comment on policy definer_functions on world_model.stale_worlds is
  'Only functions of the owner read and write it; they take the world from a memory that the caller may read.';
--! EndIncluded 160-world-model/040-stale-worlds.sql
--! Included 160-world-model/050-world-model-updates.sql
create table public.world_model_updates (
  update_id uuid primary key default uuidv7(),
  source_packet uuid not null references public.packet_store on delete cascade,
  insight_id uuid not null,
  insight_type text not null,
  entities jsonb not null default '[]',
  content text,
  confidence double precision not null default 1,
  restored_version integer,
  restored_versions int4multirange,
  applied_at timestamptz not null default clock_timestamp(),
  state_version_before integer not null,
  state_version_after integer not null,
  audience_id uuid not null generated always as (packets.audience_id(tenant_id, org_id, user_id, project_id, scope)) stored,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint world_versions_once unique (audience_id, state_version_after),
  constraint world_versions_rise check (state_version_before >= 0 and state_version_after = state_version_before + 1),
  constraint world_update_type_plain check (insight_type ~ packets.kind_pattern()),
  constraint world_update_entities_list check (jsonb_typeof(entities) = 'array'),
  constraint world_update_confidence check (confidence between 0 and 1),
  constraint world_update_restores check (
    (restored_version is null) = (restored_versions is null) and (restored_version is null or insight_type = 'restore'))
);

alter table public.world_model_updates
  alter column entities set statistics 0, alter column content set statistics 0, alter column insight_type set statistics 0;

create index world_model_updates_source_idx on public.world_model_updates (source_packet);
create index world_model_updates_readers_idx on public.world_model_updates (tenant_id, scope, applied_at);
create index world_model_updates_restores_idx on public.world_model_updates (audience_id, state_version_after)
  where restored_versions is not null;

comment on table public.world_model_updates is
  'Event log of a world, one insight a row. The current state of the world is the fold of these rows in version order, and nothing else.';
comment on column public.world_model_updates.update_id is 'UUID version 7.';
comment on column public.world_model_updates.source_packet is
  'The memory that the insight comes from. When it is deleted, this row is deleted too and its changes are undone.';
comment on column public.world_model_updates.insight_id is
  'The id that the caller gave to the insight; by default the id of the memory.';
comment on column public.world_model_updates.insight_type is
  'The type of the insight, a lower-case word. An update of type restore takes the world back to restored_version.';
comment on column public.world_model_updates.entities is
  'The changes, one object for each entity: entity_id, entity_type, attributes (merged key by key; null removes a key), confidence, delete (true removes the entity).';
comment on column public.world_model_updates.content is 'The insight in words.';
comment on column public.world_model_updates.confidence is 'The confidence in the insight, from 0 to 1.';
comment on column public.world_model_updates.restored_version is
  'For a restore: the version that the world went back to. Null for other updates.';
comment on column public.world_model_updates.restored_versions is
  'For a restore: the versions of the updates that make up the restored state. Null for other updates.';
comment on column public.world_model_updates.applied_at is 'The time when the update was applied.';
comment on column public.world_model_updates.state_version_before is 'The version of the world before this update.';
comment on column public.world_model_updates.state_version_after is 'The version of the world after this update.';
comment on column public.world_model_updates.audience_id is
  'The world. There is one for each owner (tenant, org, user), project and scope.';

-- A trigger of its own (tg_packet_store__worlds_follow) moves updates with their source: in another world they need a new version.
call derived.derive_from_packets('public.world_model_updates', 'update_id', follows => false);

create function world_model.tg_world_model_updates__recompute()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  perform world_model.recompute_world_without(stale.audience_id, stale.lost_versions)
  from (
    select o.audience_id, array_agg(o.state_version_after) as lost_versions
    from old_rows o group by o.audience_id order by o.audience_id
  ) stale;
  return null;
end
$$;

comment on function world_model.tg_world_model_updates__recompute() is
  'Recomputes worlds whose updates were deleted with their memories. Definer: callers can''t write these tables.';

-- A statement that deletes memories fires this once, after foreign keys have deleted the updates of all of them.
create trigger _600_recompute after delete on public.world_model_updates
  referencing old table as old_rows
  for each statement execute function world_model.tg_world_model_updates__recompute();
--! EndIncluded 160-world-model/050-world-model-updates.sql
--! Included 160-world-model/060-world-model-entities.sql
create table public.world_model_entities (
  entity_row_id uuid primary key default uuidv7(),
  entity_id text not null,
  entity_id_normalized text not null generated always as (entities.normalise_name(entity_id)) stored,
  entity_type text not null,
  attributes jsonb not null,
  confidence double precision not null,
  version integer not null,
  -- A foreign key here could deadlock with a concurrent delete of that memory. None is needed: deleting a memory deletes its
  -- updates, and the same statement recomputes the entities under the lock of the world.
  source_packet uuid not null,
  audience_id uuid not null generated always as (packets.audience_id(tenant_id, org_id, user_id, project_id, scope)) stored,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint world_entity_once unique (audience_id, entity_id_normalized),
  constraint world_entity_confidence check (confidence between 0 and 1),
  constraint world_entity_version check (version > 0)
);

alter table public.world_model_entities
  alter column entity_id set statistics 0, alter column entity_id_normalized set statistics 0,
  alter column entity_type set statistics 0, alter column attributes set statistics 0;

create index world_model_entities_source_idx on public.world_model_entities (source_packet);
create index world_model_entities_readers_idx on public.world_model_entities (tenant_id, scope, entity_type);
create index world_model_entities_expiry_idx on public.world_model_entities (audience_id, ttl) where ttl is not null;

comment on table public.world_model_entities is
  'The current state of each world, one entity a row. It is computed from world_model_updates, and recomputed whenever one of those is deleted or moves.';
comment on column public.world_model_entities.entity_row_id is
  'UUID version 7, for references from other rows. The name of the entity is entity_id.';
comment on column public.world_model_entities.entity_id is 'The name of the entity, as it was last spelled.';
comment on column public.world_model_entities.entity_id_normalized is
  'The name as it is compared: Unicode NFKC, lower case, white space collapsed.';
comment on column public.world_model_entities.entity_type is 'The type of the entity, such as service.';
comment on column public.world_model_entities.attributes is
  'The attributes of the entity: for each key the value that was set last.';
comment on column public.world_model_entities.confidence is 'The confidence of the last update of the entity, from 0 to 1.';
comment on column public.world_model_entities.version is 'The version of the entity. It rises by one with each change.';
comment on column public.world_model_entities.source_packet is 'The memory behind the last update of the entity.';
comment on column public.world_model_entities.audience_id is
  'The world. There is one for each owner (tenant, org, user), project and scope.';

call derived.derive_from_packets('public.world_model_entities', 'entity_row_id', follows => false, takes_from_source => false);
comment on column public.world_model_entities.ttl is
  'The time when the first of the memories behind the entity expires. From then on the row is hidden, until it is recomputed without that memory.';

-- An entity takes its owner and scope from the updates it is folded from, which took theirs from their source. It does not ask
-- for the caller's permission again, because deleting a memory refolds other callers' updates, too.

create function world_model.tg_world_model_entities__take_from_update()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  select u.tenant_id, u.org_id, u.user_id, u.project_id, u.scope, u.creator
  into strict new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope, new.creator
  from public.world_model_updates u
  where u.source_packet = new.source_packet
  limit 1;
  new.created_at := clock_timestamp();
  new.updated_at := new.created_at;
  return new;
end
$$;

comment on function world_model.tg_world_model_entities__take_from_update() is
  'Gives an entity the owner, project and scope of its updates. Definer: callers can''t write entities.';

create trigger _300_take_from_update before insert on public.world_model_entities
  for each row execute function world_model.tg_world_model_entities__take_from_update();

create function world_model.tg_world_model_entities__record_removal()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into world_model.removed_entities as d (audience_id, entity_key, version)
  values (old.audience_id, old.entity_id_normalized, old.version)
  on conflict (audience_id, entity_key) do update set version = greatest(d.version, excluded.version);
  return null;
end
$$;

comment on function world_model.tg_world_model_entities__record_removal() is
  'Records the last version of an entity that is removed. Definer: callers can''t write removed_entities.';

create trigger _610_record_removal after delete on public.world_model_entities
  for each row execute function world_model.tg_world_model_entities__record_removal();
--! EndIncluded 160-world-model/060-world-model-entities.sql
--! Included 160-world-model/070-world-model-snapshots.sql
create table public.world_model_snapshots (
  snapshot_id uuid primary key default uuidv7(),
  snapshot int4multirange not null,
  state_version integer not null,
  entity_count integer not null,
  relation_count integer not null,
  description text,
  created_by text not null,
  source_packet uuid not null references public.packet_store on delete cascade,
  audience_id uuid not null generated always as (packets.audience_id(tenant_id, org_id, user_id, project_id, scope)) stored,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint world_snapshot_description_short check (octet_length(description) <= world_model.max_description_bytes()),
  constraint world_snapshot_counts check (state_version >= 0 and entity_count >= 0 and relation_count >= 0)
);

alter table public.world_model_snapshots
  alter column description set statistics 0, alter column snapshot set statistics 0;

create index world_model_snapshots_source_idx on public.world_model_snapshots (source_packet);
create index world_model_snapshots_readers_idx on public.world_model_snapshots (tenant_id, scope, created_at);
create index world_model_snapshots_world_idx on public.world_model_snapshots (audience_id, state_version);

comment on table public.world_model_snapshots is
  'Versions of a world that can be compared and restored. A snapshot holds no copy: the updates that make it up are folded on request, so it never shows anything that was erased.';
comment on column public.world_model_snapshots.snapshot_id is 'UUID version 7.';
comment on column public.world_model_snapshots.snapshot is
  'The versions of the updates that make up the snapshot; get_world_model(version => …) and diff_world() fold them.';
comment on column public.world_model_snapshots.state_version is 'The version of the world when the snapshot was made.';
comment on column public.world_model_snapshots.entity_count is
  'The number of entities in the snapshot. Entities erased since are not counted.';
comment on column public.world_model_snapshots.relation_count is
  'The number of attribute values that name another entity of the snapshot. Entities erased since are not counted.';
comment on column public.world_model_snapshots.description is
  'The purpose of the snapshot in the words of its creator: at most 1000 bytes.';
comment on column public.world_model_snapshots.created_by is 'The caller that made the snapshot.';
comment on column public.world_model_snapshots.source_packet is
  'The memory that records the snapshot. The snapshot is deleted when that memory is deleted or moves to another world.';
comment on column public.world_model_snapshots.audience_id is
  'The world. There is one for each owner (tenant, org, user), project and scope.';

call derived.derive_from_packets('public.world_model_snapshots', 'snapshot_id', follows => false);
--! EndIncluded 160-world-model/070-world-model-snapshots.sql
--! Included 160-world-model/080-fold-world.sql
-- These functions run with the rights of the caller and fold the updates that it may read. All updates of a world have the same
-- audience, so that a caller folds all of them or none.

create function world_model.world_lineage(audience_id uuid, version integer)
returns int4multirange
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select coalesce(
    (select u.restored_versions + int4multirange(int4range(u.state_version_after, world_lineage.version, '(]'))
     from public.world_model_updates u
     where u.audience_id = world_lineage.audience_id and u.restored_versions is not null
       and u.state_version_after <= world_lineage.version and (u.ttl is null or u.ttl > now())
     order by u.state_version_after desc
     limit 1),
    int4multirange(int4range(0, world_lineage.version, '(]')));
end;

comment on function world_model.world_lineage(uuid, integer) is
  'The versions of the updates that make up a version of a world: all versions up to it or, after a restore, those of the restored state and all since.';

create function world_model.fold_world(audience_id uuid, versions int4multirange)
returns table (
  entity_key text, entity_id text, entity_type text, attributes jsonb, confidence double precision, source_packet uuid, ttl timestamptz)
language sql
stable
parallel safe
set search_path = ''
begin atomic
  with changes as (
    select entities.normalise_name(change.entity ->> 'entity_id') as entity_key, change.entity, u.state_version_after as version,
      coalesce((change.entity ->> 'confidence')::double precision, u.confidence) as confidence, u.source_packet, u.ttl
    from public.world_model_updates u
    cross join lateral jsonb_array_elements(u.entities) as change (entity)
    where u.audience_id = fold_world.audience_id and u.state_version_after <@ versions and (u.ttl is null or u.ttl > now())
  ), dated_changes as (
    select c.*, max(c.version) filter (where c.entity -> 'delete' = 'true') over (partition by c.entity_key) as deleted_at_version
    from changes c
  ), effective_changes as (
    select d.* from dated_changes d where d.deleted_at_version is null or d.version > d.deleted_at_version
  ), last_values as (
    select distinct on (c.entity_key, a.key) c.entity_key, a.key, a.value
    from effective_changes c cross join lateral jsonb_each(coalesce(c.entity -> 'attributes', '{}')) as a (key, value)
    order by c.entity_key, a.key, c.version desc
  ), merged as (
    select l.entity_key, jsonb_object_agg(l.key, l.value) filter (where l.value <> 'null') as attributes
    from last_values l group by l.entity_key
  ), entities as (
    select c.entity_key,
      (array_agg(c.entity ->> 'entity_id' order by c.version desc))[1] as entity_id,
      (array_agg(c.entity ->> 'entity_type' order by c.version desc) filter (where c.entity ? 'entity_type'))[1] as entity_type,
      (array_agg(c.confidence order by c.version desc))[1] as confidence,
      (array_agg(c.source_packet order by c.version desc))[1] as source_packet,
      min(c.ttl) as ttl
    from effective_changes c group by c.entity_key
  )
  select e.entity_key, e.entity_id, coalesce(e.entity_type, 'entity'), coalesce(m.attributes, '{}'), e.confidence, e.source_packet, e.ttl
  from entities e left join merged m on m.entity_key = e.entity_key;
end;

comment on function world_model.fold_world(uuid, int4multirange) is
  'The entities that the updates of these versions make up: for each attribute the last value that was set since the entity was last deleted. Expired updates are left out.';

create type world_model.world_size as (entity_count integer, relation_count integer);
comment on type world_model.world_size is
  'The number of entities in a state of a world, and the number of attribute values that name another of these entities.';

create function world_model.measure_world(audience_id uuid, versions int4multirange)
returns world_model.world_size
language sql
stable
parallel safe
set search_path = ''
begin atomic
  with folded as materialized (
    select f.entity_key, f.attributes from world_model.fold_world(measure_world.audience_id, versions) f
  )
  select row(
    (select count(*) from folded),
    (select count(*) from folded f
     cross join lateral jsonb_path_query(f.attributes, '$.*[*] ? (@.type() == "string")') as named (name)
     join folded other on other.entity_key = entities.normalise_name(named.name #>> '{}') and other.entity_key <> f.entity_key)
  )::world_model.world_size;
end;

comment on function world_model.measure_world(uuid, int4multirange) is
  'Counts the entities that the updates of these versions make up, and the attribute values, also members of lists, that name another of these entities.';

grant execute on function
  world_model.world_lineage(uuid, integer), world_model.fold_world(uuid, int4multirange)
to l9_agent, l9_admin;
--! EndIncluded 160-world-model/080-fold-world.sql
--! Included 160-world-model/090-recompute-world.sql
create function world_model.recompute_world(audience_id uuid, counts_as_change boolean)
returns void
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  world uuid := recompute_world.audience_id;
  at_version integer := world_model.lock_world(world);
begin
  if counts_as_change then
    update world_model.worlds w set state_version = w.state_version + 1 where w.audience_id = world
    returning w.state_version into at_version;
  end if;
  with folded as materialized (
    select f.* from world_model.fold_world(world, world_model.world_lineage(world, at_version)) f
  ), removed as (
    delete from public.world_model_entities e
    where e.audience_id = world and not exists (select from folded f where f.entity_key = e.entity_id_normalized)
  ), changed as (
    update public.world_model_entities e
    set entity_id = f.entity_id, entity_type = f.entity_type, attributes = f.attributes, confidence = f.confidence,
      version = e.version + 1, source_packet = f.source_packet, ttl = f.ttl, updated_at = clock_timestamp()
    from folded f
    where e.audience_id = world and e.entity_id_normalized = f.entity_key
      and (e.entity_id, e.entity_type, e.attributes, e.confidence) is distinct from
        (f.entity_id, f.entity_type, f.attributes, f.confidence)
  ), resourced as (
    -- Only the memories behind the entity changed, so its version stays.
    update public.world_model_entities e set source_packet = f.source_packet, ttl = f.ttl
    from folded f
    where e.audience_id = world and e.entity_id_normalized = f.entity_key
      and (e.entity_id, e.entity_type, e.attributes, e.confidence) is not distinct from
        (f.entity_id, f.entity_type, f.attributes, f.confidence)
      and (e.source_packet, e.ttl) is distinct from (f.source_packet, f.ttl)
  )
  insert into public.world_model_entities (entity_id, entity_type, attributes, confidence, version, source_packet, ttl)
  select f.entity_id, f.entity_type, f.attributes, f.confidence, 1 + coalesce(d.version, 0), f.source_packet, f.ttl
  from folded f
  left join world_model.removed_entities d on d.audience_id = world and d.entity_key = f.entity_key
  where not exists (
    select from public.world_model_entities e where e.audience_id = world and e.entity_id_normalized = f.entity_key);

  -- The name of a removed entity is kept only while an update names the entity.
  delete from world_model.removed_entities d
  where d.audience_id = world and (
    d.entity_key not in (
      select entities.normalise_name(change.entity ->> 'entity_id')
      from public.world_model_updates u cross join lateral jsonb_array_elements(u.entities) as change (entity)
      where u.audience_id = world)
    or exists (select from public.world_model_entities e where e.audience_id = world and e.entity_id_normalized = d.entity_key));
end
$$;

comment on function world_model.recompute_world(uuid, boolean) is
  'Recomputes the entities of a world from its updates. With counts_as_change this is a new version of the world. Not executable by callers.';

create function world_model.recompute_world_without(audience_id uuid, lost_versions integer[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform world_model.recompute_world(recompute_world_without.audience_id, lost_versions <> '{}');
  update public.world_model_snapshots s
  set entity_count = size.entity_count, relation_count = size.relation_count
  from public.world_model_snapshots other
  cross join lateral world_model.measure_world(other.audience_id, other.snapshot) as size
  where s.snapshot_id = other.snapshot_id and other.audience_id = recompute_world_without.audience_id
    and exists (select from unnest(lost_versions) as lost (version) where lost.version <@ other.snapshot);
end
$$;

comment on function world_model.recompute_world_without(uuid, integer[]) is
  'Recomputes a world and the counts of its snapshots after it lost the updates of these versions. Not executable by callers.';
--! EndIncluded 160-world-model/090-recompute-world.sql
--! Included 160-world-model/100-follow-memories.sql
-- Updates and snapshots follow their memory when it moves to other readers or is to expire at another time.

create function world_model.tg_packet_store__worlds_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  target uuid := packets.audience_id(new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope);
  former uuid := packets.audience_id(old.tenant_id, old.org_id, old.user_id, old.project_id, old.scope);
  world_update record;
  next_version integer;
begin
  -- A snapshot belongs to one world and can't move to another.
  delete from public.world_model_snapshots s where s.source_packet = new.packet_id and s.audience_id <> target;
  update public.world_model_snapshots s set ttl = new.ttl, updated_at = clock_timestamp()
  where s.source_packet = new.packet_id and s.ttl is distinct from new.ttl;
  if not exists (select from public.world_model_updates u where u.source_packet = new.packet_id) then
    return null;
  end if;
  -- Every transaction locks worlds in the order of their ids, so that two can't deadlock.
  perform world_model.lock_world(w.audience_id) from (values (target), (former)) as w (audience_id) group by w.audience_id order by w.audience_id;
  for world_update in
    select u.update_id, u.audience_id, u.state_version_after from public.world_model_updates u
    where u.source_packet = new.packet_id order by u.state_version_after
  loop
    if world_update.audience_id = target then
      update public.world_model_updates u set ttl = new.ttl, updated_at = clock_timestamp() where u.update_id = world_update.update_id;
    else
      update world_model.worlds w set state_version = w.state_version + 1 where w.audience_id = target
      returning w.state_version into next_version;
      -- A restore loses its reference, which is to a version of the former world.
      update public.world_model_updates u
      set tenant_id = new.tenant_id, org_id = new.org_id, user_id = new.user_id, project_id = new.project_id, scope = new.scope,
        ttl = new.ttl, state_version_before = next_version - 1, state_version_after = next_version,
        restored_version = null, restored_versions = null, updated_at = clock_timestamp()
      where u.update_id = world_update.update_id;
      insert into world_model.stale_worlds (audience_id, state_version)
      values (world_update.audience_id, world_update.state_version_after);
    end if;
  end loop;
  insert into world_model.stale_worlds (audience_id) values (target);
  return null;
end
$$;

comment on function world_model.tg_packet_store__worlds_follow() is
  'Moves updates with their memory: they become the newest updates of the other world. Definer: callers can''t write these tables.';

call derived.follow_packets('_620_worlds_follow', 'world_model.tg_packet_store__worlds_follow');

create function world_model.tg_packet_store__recompute_worlds()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  stale record;
begin
  for stale in
    with deleted as (delete from world_model.stale_worlds returning audience_id, state_version)
    select d.audience_id, coalesce(array_agg(d.state_version) filter (where d.state_version is not null), '{}') as lost_versions
    from deleted d group by d.audience_id order by d.audience_id
  loop
    perform world_model.recompute_world_without(stale.audience_id, stale.lost_versions);
  end loop;
  return null;
end
$$;

comment on function world_model.tg_packet_store__recompute_worlds() is
  'Recomputes, at the end of a statement that moved memories, the worlds that lost or gained updates. Definer: callers can''t write these tables.';

create trigger _690_recompute_worlds after update of tenant_id, org_id, user_id, project_id, scope, ttl on public.packet_store
  for each statement execute function world_model.tg_packet_store__recompute_worlds();
--! EndIncluded 160-world-model/100-follow-memories.sql
--! Included 160-world-model/110-check-insight.sql
create function world_model.check_keys(value jsonb, allowed text[], field text)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  unknown_key text := (select min(k.key) from jsonb_object_keys(value) as k (key) where k.key <> all (allowed));
begin
  if unknown_key is not null then
    perform identity.raise_error('L9VAL',
      format('%s: the key %s is unknown; use %s', field, left(unknown_key, 60), array_to_string(allowed, ', ')), field);
  end if;
end
$$;

comment on function world_model.check_keys(jsonb, text[], text) is
  'Raises L9VAL, naming the field and the allowed keys, if an object has another key.';

create function world_model.check_insight_entity(entity jsonb)
returns jsonb
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if jsonb_typeof(entity) <> 'object' or jsonb_typeof(entity -> 'entity_id') is distinct from 'string' then
    perform identity.raise_error('L9VAL', 'insight.entities: must be a list of objects, each with an entity_id', 'insight.entities');
  end if;
  perform entities.check_name(entity ->> 'entity_id', 'insight.entities.entity_id');
  perform world_model.check_keys(entity, '{entity_id,entity_type,attributes,confidence,delete}', 'insight.entities');
  if jsonb_typeof(entity -> 'delete') not in ('boolean', 'null') then
    perform identity.raise_error('L9VAL', 'insight.entities.delete: must be true or false', 'insight.entities.delete');
  elsif jsonb_typeof(entity -> 'entity_type') not in ('string', 'null') then
    perform identity.raise_error('L9VAL', 'insight.entities.entity_type: must be a text', 'insight.entities.entity_type');
  elsif jsonb_typeof(entity -> 'attributes') not in ('object', 'null') then
    perform identity.raise_error('L9VAL', 'insight.entities.attributes: must be an object', 'insight.entities.attributes');
  elsif jsonb_typeof(entity -> 'confidence') not in ('number', 'null') then
    perform identity.raise_error('L9VAL', 'insight.entities.confidence: must be from 0 to 1', 'insight.entities.confidence');
  end if;
  if jsonb_typeof(entity -> 'entity_type') = 'string' then
    perform entities.check_name(entity ->> 'entity_type', 'insight.entities.entity_type');
  end if;
  if jsonb_typeof(entity -> 'confidence') = 'number' then
    perform entities.check_confidence((entity ->> 'confidence')::double precision, 'insight.entities.confidence');
  end if;
  if entity -> 'delete' = 'true' then
    return jsonb_build_object('entity_id', btrim(entity ->> 'entity_id'), 'delete', true);
  end if;
  -- A null means that a key is not given; within attributes a null removes the key, so those stay.
  return (select jsonb_object_agg(e.key, e.value) from jsonb_each(entity) as e where e.value <> 'null' and e.key <> 'delete')
    || jsonb_build_object('entity_id', btrim(entity ->> 'entity_id'));
end
$$;

comment on function world_model.check_insight_entity(jsonb) is
  'Checks what an insight says about one entity, and returns it without empty keys. Raises L9VAL or L9LIM, naming the field.';

create function world_model.check_insight(insight jsonb)
returns jsonb
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  entities jsonb;
begin
  if insight is null or jsonb_typeof(insight) <> 'object' then
    perform identity.raise_error('L9VAL', 'insight: must be an object with insight_type, content, confidence and entities', 'insight');
  end if;
  perform identity.check_bytes(insight::text, 262144, 'insight');
  if jsonb_path_exists(insight, '$.**{64}') then
    perform identity.raise_error('L9LIM', 'insight: at most 64 levels deep', 'insight');
  end if;
  perform world_model.check_keys(insight, '{insight_id,insight_type,content,confidence,entities}', 'insight');
  if jsonb_typeof(insight -> 'insight_type') is distinct from 'string'
    or insight ->> 'insight_type' !~ packets.kind_pattern() then
    perform identity.raise_error('L9VAL',
      'insight.insight_type: must be a word of lower-case letters, digits and _, at most 63 characters', 'insight.insight_type');
  elsif insight ->> 'insight_type' = 'restore' then
    perform identity.raise_error('L9VAL', 'insight.insight_type: restore is reserved for restore_world()', 'insight.insight_type');
  elsif jsonb_typeof(insight -> 'content') not in ('string', 'null') then
    perform identity.raise_error('L9VAL', 'insight.content: must be a text', 'insight.content');
  elsif jsonb_typeof(insight -> 'insight_id') not in ('string', 'null') or not pg_input_is_valid(insight ->> 'insight_id', 'uuid') then
    perform identity.raise_error('L9VAL', 'insight.insight_id: must be a uuid', 'insight.insight_id');
  elsif jsonb_typeof(insight -> 'confidence') not in ('number', 'null') then
    perform identity.raise_error('L9VAL', 'insight.confidence: must be from 0 to 1', 'insight.confidence');
  elsif jsonb_typeof(insight -> 'entities') not in ('array', 'null') then
    perform identity.raise_error('L9VAL', 'insight.entities: must be a list of objects, each with an entity_id', 'insight.entities');
  end if;
  perform identity.check_bytes(insight ->> 'content', 65536, 'insight.content');
  perform entities.check_confidence(coalesce((insight ->> 'confidence')::double precision, 1), 'insight.confidence');

  entities := coalesce(nullif(insight -> 'entities', 'null'), '[]');
  if jsonb_array_length(entities) > 200 then
    perform identity.raise_error('L9LIM', format('insight.entities: at most 200, got %s', jsonb_array_length(entities)), 'insight.entities');
  end if;
  entities := coalesce((
    select jsonb_agg(world_model.check_insight_entity(change.entity) order by change.place)
    from jsonb_array_elements(entities) with ordinality as change (entity, place)), '[]');
  if (select count(distinct entities.normalise_name(change.entity ->> 'entity_id')) < count(*)
      from jsonb_array_elements(entities) as change (entity)) then
    perform identity.raise_error('L9VAL', 'insight.entities: must name each entity only once', 'insight.entities');
  end if;
  return insight || jsonb_build_object('entities', entities);
end
$$;

comment on function world_model.check_insight(jsonb) is
  'Checks an insight and its entities (at most 200 of them, 256 KiB in all) and returns it. Raises L9VAL or L9LIM, naming the field.';

grant execute on function
  world_model.check_keys(jsonb, text[], text), world_model.check_insight_entity(jsonb), world_model.check_insight(jsonb)
to l9_agent, l9_admin;
--! EndIncluded 160-world-model/110-check-insight.sql
--! Included 160-world-model/120-apply-world-update.sql
create function world_model.merge_into_entity(
  audience_id uuid, change jsonb, confidence double precision, source_packet uuid, ttl timestamptz)
returns void
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  key text := entities.normalise_name(change ->> 'entity_id');
  new_attributes jsonb := coalesce(change -> 'attributes', '{}');
  removed_keys text[] := array(select a.key from jsonb_each(new_attributes) as a where a.value = 'null');
  new_confidence double precision := coalesce((change ->> 'confidence')::double precision, merge_into_entity.confidence);
  bytes integer;
begin
  if change -> 'delete' = 'true' then
    delete from public.world_model_entities e where e.audience_id = merge_into_entity.audience_id and e.entity_id_normalized = key;
    return;
  end if;
  update public.world_model_entities e
  set entity_id = change ->> 'entity_id', entity_type = coalesce(change ->> 'entity_type', e.entity_type),
    attributes = (e.attributes || new_attributes) - removed_keys, confidence = new_confidence, version = e.version + 1,
    source_packet = merge_into_entity.source_packet, ttl = least(e.ttl, merge_into_entity.ttl), updated_at = clock_timestamp()
  where e.audience_id = merge_into_entity.audience_id and e.entity_id_normalized = key
  returning octet_length(e.attributes::text) into bytes;
  if not found then
    insert into public.world_model_entities as e (entity_id, entity_type, attributes, confidence, version, source_packet, ttl)
    values (
      change ->> 'entity_id', coalesce(change ->> 'entity_type', 'entity'), new_attributes - removed_keys, new_confidence,
      1 + coalesce((
        select d.version from world_model.removed_entities d
        where d.audience_id = merge_into_entity.audience_id and d.entity_key = key), 0),
      merge_into_entity.source_packet, merge_into_entity.ttl)
    returning octet_length(e.attributes::text) into bytes;
    delete from world_model.removed_entities d where d.audience_id = merge_into_entity.audience_id and d.entity_key = key;
  end if;
  if bytes > 65536 then
    perform identity.raise_error('L9LIM',
      format('insight.entities.attributes: an entity has at most 65536 bytes (64 KiB), this one would have %s', bytes), 'insight.entities.attributes');
  end if;
end
$$;

comment on function world_model.merge_into_entity(uuid, jsonb, double precision, uuid, timestamptz) is
  'Merges what an update says about one entity into it, with the same result as fold_world(). Not executable by callers.';

create function world_model.write_world_update(source_packet uuid, insight jsonb, expected_version integer)
returns public.world_model_updates
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source public.packet_store := derived.lock_source_memory(source_packet);
  checked jsonb := world_model.check_insight(insight);
  world uuid := packets.audience_id(source.tenant_id, source.org_id, source.user_id, source.project_id, source.scope);
  applied public.world_model_updates;
  version integer := world_model.take_next_version(world, expected_version);
begin
  if exists (select from public.world_model_entities e where e.audience_id = world and e.ttl <= now()) then
    -- Leave out memories that have expired and are not cleaned up yet.
    perform world_model.recompute_world(world, false);
  end if;
  insert into public.world_model_updates as u (
    source_packet, insight_id, insight_type, entities, content, confidence, state_version_before, state_version_after)
  values (
    source.packet_id, coalesce((checked ->> 'insight_id')::uuid, source.packet_id), checked ->> 'insight_type', checked -> 'entities',
    checked ->> 'content', coalesce((checked ->> 'confidence')::double precision, 1), version - 1, version)
  returning u.* into applied;
  perform world_model.merge_into_entity(world, change.entity, applied.confidence, applied.source_packet, applied.ttl)
  from jsonb_array_elements(applied.entities) with ordinality as change (entity, place) order by change.place;
  return applied;
end
$$;

comment on function world_model.write_world_update(uuid, jsonb, integer) is
  'Does the work of apply_world_update() for an existing memory. The caller must see the memory and may write in its scope and project. Definer: callers can''t write these tables.';

create function public.apply_world_update(
  insight jsonb,
  expected_version integer default null,
  source_packet uuid default null,
  scope text default 'developer',
  project_id text default null
)
returns public.world_model_updates
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform identity.require_identity();
  if source_packet is null and coalesce(world_model.check_insight(insight) ->> 'content', '') !~ '\S' then
    perform identity.raise_error('L9VAL', 'insight.content: required unless source_packet is given', 'insight.content');
  end if;
  return world_model.write_world_update(
    derived.packet_for('insight', insight ->> 'content', scope, project_id, source_packet), insight, expected_version);
end
$$;

comment on function public.apply_world_update(jsonb, integer, uuid, text, text) is
  'Changes a world by an insight: insight_type, content, confidence (1 by default) and entities, each with entity_id, entity_type, attributes (merged; null removes a key), confidence, or delete: true. The world is that of source_packet; without source_packet the content is saved as a memory of kind insight in this scope and project, whose world it is. With expected_version the insight is applied only if that is the current version; else L9VAL names the current one. The versions of the world and of each entity in the insight rise by one. Errors: L9VAL, L9LIM, L9SCP, L9OWN, L9AUT.';

grant execute on function world_model.write_world_update(uuid, jsonb, integer) to l9_agent, l9_admin;
grant execute on function public.apply_world_update(jsonb, integer, uuid, text, text) to l9_agent, l9_admin;
--! EndIncluded 160-world-model/120-apply-world-update.sql
--! Included 160-world-model/130-resolve-version.sql
create type world_model.world_version as (audience_id uuid, scope text, project_id text, state_version integer, versions int4multirange);
comment on type world_model.world_version is 'A version of a world, current or former.';

create function world_model.resolve_world(scope text, project_id text, audience_id uuid default null)
returns world_model.world_version
language plpgsql
stable
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  resolved world_model.world_version;
begin
  if audience_id is null then
    -- The error is the same for a scope that does not exist and for one that the caller may not read.
    if scope is null or scope <> all (me.readable_scopes) then
      perform identity.raise_error('L9SCP', format('scope: you may read %s', array_to_string(me.readable_scopes, ', ')), 'scope');
    elsif not identity.has_project(me, project_id) then
      perform identity.raise_error('L9SCP', 'project_id: not one of your projects', 'project_id');
    elsif packets.scope_has_projects(resolve_world.scope) and project_id is null then
      perform identity.raise_error('L9VAL', format('project_id: required in scope %s', scope), 'project_id');
    elsif not packets.scope_has_projects(resolve_world.scope) and project_id is not null then
      perform identity.raise_error('L9VAL', format('project_id: scope %s belongs to no project; leave it out', scope), 'project_id');
    end if;
    resolved.scope := resolve_world.scope;
    resolved.project_id := resolve_world.project_id;
    resolved.audience_id := packets.audience_id(me.tenant_id, me.org_id, me.user_id, project_id, scope);
  else
    -- The policies for functions of the owner show only worlds of which the caller may read a row.
    select visible.audience_id, visible.scope, visible.project_id into resolved.audience_id, resolved.scope, resolved.project_id
    from (
      select u.audience_id, u.scope, u.project_id from public.world_model_updates u
      where u.audience_id = resolve_world.audience_id and (u.ttl is null or u.ttl > now())
      union all
      select s.audience_id, s.scope, s.project_id from public.world_model_snapshots s
      where s.audience_id = resolve_world.audience_id and (s.ttl is null or s.ttl > now())
    ) visible
    limit 1;
    if not found then
      perform identity.raise_error('L9OWN', format('audience_id: world %s does not exist, or is not yours', resolve_world.audience_id), 'audience_id');
    end if;
  end if;
  resolved.state_version := coalesce((select w.state_version from world_model.worlds w where w.audience_id = resolved.audience_id), 0);
  return resolved;
end
$$;

comment on function world_model.resolve_world(text, text, uuid) is
  'Resolves a scope and project to the caller''s own world, that of its org and user, or audience_id to a world of which the caller may read a row; and adds the current version. Else L9SCP, L9VAL or L9OWN. Definer: reads the versions of worlds.';

create function world_model.resolve_version(point text, field text, scope text, project_id text, audience_id uuid default null)
returns world_model.world_version
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_column
declare
  resolved world_model.world_version;
begin
  if point is not null and not world_model.is_version_number(point) then
    if not pg_input_is_valid(point, 'uuid') then
      perform identity.raise_error('L9VAL', format('%s: must be the id of a snapshot or a version', field), field);
    end if;
    -- The policies of the caller apply to this query.
    select s.audience_id, s.scope, s.project_id, s.state_version, s.snapshot into resolved
    from public.world_model_snapshots s
    where s.snapshot_id = point::uuid and (resolve_version.audience_id is null or s.audience_id = resolve_version.audience_id);
    if not found then
      perform identity.raise_error('L9OWN', format('%s: snapshot %s does not exist, is not yours, or is of another world', field, point), field);
    end if;
    return resolved;
  end if;
  resolved := world_model.resolve_world(scope, project_id, audience_id);
  if point::integer > resolved.state_version then
    perform identity.raise_error('L9VAL', format('%s: at most %s, the current version of the world', field, resolved.state_version), field);
  end if;
  resolved.state_version := coalesce(point::integer, resolved.state_version);
  resolved.versions := world_model.world_lineage(resolved.audience_id, resolved.state_version);
  return resolved;
end
$$;

comment on function world_model.resolve_version(text, text, text, text, uuid) is
  'Resolves the id of a snapshot, a version of a world, or null for its current version.';

grant execute on function world_model.resolve_world(text, text, uuid), world_model.resolve_version(text, text, text, text, uuid)
  to l9_agent, l9_admin;
--! EndIncluded 160-world-model/130-resolve-version.sql
--! Included 160-world-model/140-get-world-model.sql
create type public.world_entity as (
  entity_id text,
  entity_type text,
  attributes jsonb,
  confidence double precision,
  version integer,
  source_packet uuid
);
comment on type public.world_entity is 'An entity of a world.';
comment on column public.world_entity.entity_id is 'The name of the entity, as it was last spelled.';
comment on column public.world_entity.entity_type is 'The type of the entity, such as service.';
comment on column public.world_entity.attributes is 'The attributes of the entity: for each key the value that was set last.';
comment on column public.world_entity.confidence is 'The confidence of the last update of the entity, from 0 to 1.';
comment on column public.world_entity.version is
  'The version of the entity. It rises by one with each change; null in a former version of the world.';
comment on column public.world_entity.source_packet is 'The memory behind the last update of the entity.';

create type public.world_model as (
  audience_id uuid,
  scope text,
  project_id text,
  version integer,
  entity_count integer,
  entities public.world_entity[]
);
comment on type public.world_model is 'A world at one of its versions.';
comment on column public.world_model.audience_id is
  'The world. There is one for each owner (tenant, org, user), project and scope.';
comment on column public.world_model.scope is 'The scope of the world.';
comment on column public.world_model.project_id is 'The project of the world; null in scope global.';
comment on column public.world_model.version is 'The version of the world. apply_world_update() takes it as expected_version.';
comment on column public.world_model.entity_count is
  'The number of entities that match. It can be larger than the number in entities, which max_entities limits.';
comment on column public.world_model.entities is 'The entities that match, sorted by name.';

create function public.get_world_model(
  scope text default 'developer',
  project_id text default null,
  entity_ids text[] default null,
  entity_type text default null,
  version integer default null,
  max_entities integer default 100,
  audience_id uuid default null
)
returns public.world_model
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  wanted_keys text[];
  resolved world_model.world_version;
  result public.world_model;
begin
  if max_entities is null or max_entities not between 1 and 1000 then
    perform identity.raise_error('L9VAL', 'max_entities: must be from 1 to 1000', 'max_entities');
  elsif cardinality(entity_ids) > 1000 then
    perform identity.raise_error('L9LIM', format('entity_ids: at most 1000, got %s', cardinality(entity_ids)), 'entity_ids');
  elsif get_world_model.version < 0 then
    perform identity.raise_error('L9VAL', 'version: must be 0 or more', 'version');
  end if;
  wanted_keys := case when entity_ids is not null then array(select entities.normalise_name(i.id) from unnest(entity_ids) as i (id)) end;
  resolved := world_model.resolve_version(get_world_model.version::text, 'version', get_world_model.scope, get_world_model.project_id,
    get_world_model.audience_id);
  result.audience_id := resolved.audience_id;
  result.scope := resolved.scope;
  result.project_id := resolved.project_id;
  result.version := resolved.state_version;
  with matching as (
    select e.entity_id, e.entity_type, e.attributes, e.confidence, e.version, e.source_packet
    from public.world_model_entities e
    where get_world_model.version is null and e.audience_id = resolved.audience_id
      and (wanted_keys is null or e.entity_id_normalized = any (wanted_keys))
      and (get_world_model.entity_type is null or e.entity_type = get_world_model.entity_type)
    union all
    select f.entity_id, f.entity_type, f.attributes, f.confidence, null, f.source_packet
    from world_model.fold_world(resolved.audience_id, resolved.versions) f
    where get_world_model.version is not null
      and (wanted_keys is null or f.entity_key = any (wanted_keys))
      and (get_world_model.entity_type is null or f.entity_type = get_world_model.entity_type)
  ), first as (
    select * from matching order by entity_id limit max_entities
  )
  select (select count(*) from matching),
    coalesce((
      select array_agg(row(f.entity_id, f.entity_type, f.attributes, f.confidence, f.version, f.source_packet)::public.world_entity
        order by f.entity_id)
      from first f), '{}')
  into result.entity_count, result.entities;
  perform audit.audit_read(
    'READ',
    jsonb_build_object(
      'tables', jsonb_build_object('world_model_entities', cardinality(result.entities)), 'version', result.version),
    project_id => result.project_id, scope => result.scope);
  return result;
end
$$;

comment on function public.get_world_model(text, text, text[], text, integer, integer, uuid) is
  'The world of a scope and project, as it is now or as it was at a former version: its version and its entities by name, at most max_entities (1 to 1000); with entity_ids or entity_type only these. The world is that of the caller''s own org and user, unless audience_id names another one that the caller may read. A former version does not show anything that was erased since. Writes a READ audit row, hence volatile. Errors: L9SCP, L9VAL, L9LIM, L9OWN, L9AUT.';

grant execute on function public.get_world_model(text, text, text[], text, integer, integer, uuid) to l9_agent, l9_admin;
--! EndIncluded 160-world-model/140-get-world-model.sql
--! Included 160-world-model/150-snapshot-world.sql
create function world_model.write_world_snapshot(source_packet uuid, description text)
returns public.world_model_snapshots
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source public.packet_store := derived.lock_source_memory(source_packet);
  world uuid := packets.audience_id(source.tenant_id, source.org_id, source.user_id, source.project_id, source.scope);
  current_version integer := world_model.lock_world(world);
  lineage int4multirange := world_model.world_lineage(world, current_version);
  size world_model.world_size := world_model.measure_world(world, lineage);
  saved public.world_model_snapshots;
begin
  perform identity.check_bytes(write_world_snapshot.description, world_model.max_description_bytes(), 'description');
  insert into public.world_model_snapshots as s (
    snapshot, state_version, entity_count, relation_count, description, created_by, source_packet)
  values (
    lineage, current_version, size.entity_count, size.relation_count, write_world_snapshot.description,
    coalesce(identity.current_caller(), 'job'), source.packet_id)
  returning s.* into saved;
  return saved;
end
$$;

comment on function world_model.write_world_snapshot(uuid, text) is
  'Does the work of snapshot_world() for an existing memory. The caller must see the memory and may write in its scope and project. Definer: callers can''t write these tables.';

create function public.snapshot_world(
  description text default null,
  scope text default 'developer',
  project_id text default null,
  source_packet uuid default null
)
returns public.world_model_snapshots
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform identity.require_identity();
  perform identity.check_bytes(description, world_model.max_description_bytes(), 'description');
  return world_model.write_world_snapshot(
    derived.packet_for(
      'world_snapshot', concat_ws(' ', 'Snapshot of the world,', clock_timestamp()::text, nullif(': ' || description, ': ')),
      scope, project_id, source_packet),
    description);
end
$$;

comment on function public.snapshot_world(text, text, text, uuid) is
  'Records the current version of the world of a scope and project (or of the world of source_packet), to compare with and to restore later. Without source_packet a memory of kind world_snapshot is saved; the snapshot is deleted with it. A snapshot holds no copy of the world. Errors: L9LIM, L9SCP, L9VAL, L9OWN, L9AUT.';

grant execute on function world_model.write_world_snapshot(uuid, text) to l9_agent, l9_admin;
grant execute on function public.snapshot_world(text, text, text, uuid) to l9_agent, l9_admin;
--! EndIncluded 160-world-model/150-snapshot-world.sql
--! Included 160-world-model/160-diff-world.sql
create type public.world_difference as (
  entity_id text,
  change text,
  entity_type text,
  former_type text,
  attributes jsonb,
  former_attributes jsonb,
  confidence double precision,
  former_confidence double precision
);
comment on type public.world_difference is 'The difference of one entity between two versions of a world.';
comment on column public.world_difference.entity_id is
  'The name of the entity as spelled in the later version, or in the earlier version if it was removed.';
comment on column public.world_difference.entity_type is 'The type of the entity in the later version.';
comment on column public.world_difference.former_type is 'The type of the entity in the earlier version.';
comment on column public.world_difference.confidence is 'The confidence of the entity in the later version, from 0 to 1.';
comment on column public.world_difference.former_confidence is 'The confidence of the entity in the earlier version, from 0 to 1.';
comment on column public.world_difference.change is 'The kind of change: added, removed or changed.';
comment on column public.world_difference.attributes is
  'The attributes that differ, with their values in the later version; null for one that was removed.';
comment on column public.world_difference.former_attributes is
  'The attributes that differ, with their values in the earlier version; null for one that was added.';

create function world_model.changed_keys(attributes jsonb, other_attributes jsonb)
returns jsonb
language sql
immutable
parallel safe
set search_path = ''
return coalesce((
  select pg_catalog.jsonb_object_agg(a.key, attributes -> a.key)
  from pg_catalog.jsonb_object_keys(attributes || other_attributes) as a (key)
  where attributes -> a.key is distinct from other_attributes -> a.key), '{}');

comment on function world_model.changed_keys(jsonb, jsonb) is
  'The keys that differ between two objects, with their values in the first; null for a key that the first lacks.';

create function public.diff_world(
  a text,
  b text default null,
  scope text default 'developer',
  project_id text default null,
  audience_id uuid default null
)
returns setof public.world_difference
language plpgsql
stable
set search_path = ''
rows 100
as $$
#variable_conflict use_column
declare
  b_is_snapshot boolean := not world_model.is_version_number(b);
  earlier world_model.world_version;
  later world_model.world_version;
begin
  if a is null then
    perform identity.raise_error('L9VAL', 'a: must be the id of a snapshot or a version', 'a');
  end if;
  -- If one of the two is a snapshot, the other one is a version of its world.
  if b_is_snapshot then
    later := world_model.resolve_version(b, 'b', diff_world.scope, diff_world.project_id, diff_world.audience_id);
  end if;
  earlier := world_model.resolve_version(a, 'a', diff_world.scope, diff_world.project_id, coalesce(later.audience_id, diff_world.audience_id));
  if b_is_snapshot is distinct from true then
    later := world_model.resolve_version(b, 'b', earlier.scope, earlier.project_id, case
      when not world_model.is_version_number(a) then earlier.audience_id else diff_world.audience_id end);
  end if;
  return query
  select coalesce(n.entity_id, o.entity_id),
    case when o.entity_key is null then 'added' when n.entity_key is null then 'removed' else 'changed' end,
    n.entity_type, o.entity_type,
    case when n.entity_key is not null then world_model.changed_keys(n.attributes, coalesce(o.attributes, '{}')) end,
    case when o.entity_key is not null then world_model.changed_keys(o.attributes, coalesce(n.attributes, '{}')) end,
    n.confidence, o.confidence
  from world_model.fold_world(earlier.audience_id, earlier.versions) o
  full join world_model.fold_world(later.audience_id, later.versions) n on n.entity_key = o.entity_key
  where (o.entity_type, o.attributes, o.confidence) is distinct from (n.entity_type, n.attributes, n.confidence)
    or o.entity_key is null or n.entity_key is null
  order by coalesce(n.entity_id, o.entity_id);
end
$$;

comment on function public.diff_world(text, text, text, text, uuid) is
  'The differences of a world between a and b, each the id of a snapshot or a version (b null: the current version): entities added, removed, and changed with the attributes that differ. Both are folded from the updates that are left, so that neither shows anything that was erased. Errors: L9VAL, L9SCP, L9OWN, L9AUT.';

grant execute on function world_model.changed_keys(jsonb, jsonb) to l9_agent, l9_admin;
grant execute on function public.diff_world(text, text, text, text, uuid) to l9_agent, l9_admin;
--! EndIncluded 160-world-model/160-diff-world.sql
--! Included 160-world-model/170-restore-world.sql
create function world_model.write_world_restore(source_packet uuid, snapshot text, expected_version integer)
returns public.world_model_updates
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source public.packet_store := derived.lock_source_memory(source_packet);
  world uuid := packets.audience_id(source.tenant_id, source.org_id, source.user_id, source.project_id, source.scope);
  version integer := world_model.take_next_version(world, expected_version);
  target_version integer;
  lineage int4multirange;
  applied public.world_model_updates;
begin
  if world_model.is_version_number(snapshot) then
    target_version := snapshot::integer;
    if target_version >= version then
      perform identity.raise_error('L9VAL', format('snapshot: at most %s, the current version of the world', version - 1), 'snapshot');
    end if;
    lineage := world_model.world_lineage(world, target_version);
  else
    if snapshot is null or not pg_input_is_valid(snapshot, 'uuid') then
      perform identity.raise_error('L9VAL', 'snapshot: must be the id of a snapshot or a version', 'snapshot');
    end if;
    select s.state_version, s.snapshot into target_version, lineage from public.world_model_snapshots s
    where s.snapshot_id = write_world_restore.snapshot::uuid and s.audience_id = world and (s.ttl is null or s.ttl > now());
    if not found then
      perform identity.raise_error('L9OWN',
        format('snapshot: snapshot %s does not exist, is not yours, or is of another world', write_world_restore.snapshot), 'snapshot');
    end if;
  end if;
  insert into public.world_model_updates as u (
    source_packet, insight_id, insight_type, restored_version, restored_versions, state_version_before, state_version_after)
  values (source.packet_id, source.packet_id, 'restore', target_version, lineage, version - 1, version)
  returning u.* into applied;
  perform world_model.recompute_world(world, false);
  return applied;
end
$$;

comment on function world_model.write_world_restore(uuid, text, integer) is
  'Does the work of restore_world() for an existing memory. The caller must see the memory and may write in its scope and project. Definer: callers can''t write these tables.';

create function public.restore_world(
  snapshot text,
  expected_version integer default null,
  source_packet uuid default null,
  scope text default 'developer',
  project_id text default null
)
returns public.world_model_updates
language plpgsql
volatile
set search_path = ''
as $$
declare
  target world_model.world_version;
begin
  perform identity.require_identity();
  if snapshot is null then
    perform identity.raise_error('L9VAL', 'snapshot: must be the id of a snapshot or a version', 'snapshot');
  end if;
  if source_packet is null then
    target := world_model.resolve_version(snapshot, 'snapshot', scope, project_id);
    if target.audience_id <> (world_model.resolve_world(target.scope, target.project_id)).audience_id then
      perform identity.raise_error('L9VAL',
        'source_packet: required, since the snapshot is of the world of another org or user; name a memory of theirs that gives the reason', 'source_packet');
    end if;
  end if;
  return world_model.write_world_restore(
    derived.packet_for(
      'insight', format('The world is restored to version %s, %s', target.state_version, clock_timestamp()),
      target.scope, target.project_id, source_packet),
    snapshot, expected_version);
end
$$;

comment on function public.restore_world(text, integer, uuid, text, text) is
  'Takes a world back to a snapshot (by id) or to a former version. This makes a new version: an update of insight_type restore, which refers to the restored version and copies nothing. Without source_packet a memory of kind insight is saved that records the restore. Anything that was erased stays erased. Errors: L9VAL, L9SCP, L9OWN, L9AUT.';

grant execute on function world_model.write_world_restore(uuid, text, integer) to l9_agent, l9_admin;
grant execute on function public.restore_world(text, integer, uuid, text, text) to l9_agent, l9_admin;
--! EndIncluded 160-world-model/170-restore-world.sql
--! Included 170-reflection/000-schema.sql
create schema reflection;
comment on schema reflection is
  'Lessons and reflections on tasks. Not exposed over GraphQL; callers may execute only the functions that are granted individually.';
grant usage on schema reflection to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 170-reflection/000-schema.sql
--! Included 170-reflection/010-choices-and-limits.sql
-- The values that columns of this chapter take, and its limits: constraints, checks and ranks all use these functions.

create function reflection.reflection_types()
returns text[]
language sql
immutable
parallel safe
return array['lesson', 'pattern', 'failure', 'success', 'insight', 'improvement', 'false_constraint'];

create function reflection.priorities()
returns text[]
language sql
immutable
parallel safe
return array['low', 'medium', 'high', 'critical'];

create function reflection.task_outcomes()
returns text[]
language sql
immutable
parallel safe
return array['success', 'partial', 'failure', 'unknown'];

create function reflection.max_list_length()
returns integer
language sql
immutable
parallel safe
return 64;

create function reflection.max_text_bytes()
returns integer
language sql
immutable
parallel safe
return 8192;

comment on function reflection.reflection_types() is 'The types of reflections.';
comment on function reflection.priorities() is 'The priorities of reflections, lowest first.';
comment on function reflection.task_outcomes() is 'The outcomes of tasks.';
comment on function reflection.max_list_length() is 'The maximum number of entries in a list of entities, texts or memories.';
comment on function reflection.max_text_bytes() is 'The maximum length of a context, or of a text in a list, in bytes.';

grant execute on function
  reflection.reflection_types(), reflection.priorities(), reflection.task_outcomes(), reflection.max_list_length(),
  reflection.max_text_bytes()
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 170-reflection/010-choices-and-limits.sql
--! Included 170-reflection/020-reflection-store.sql
create table public.reflection_store (
  reflection_id uuid primary key default uuidv7(),
  source_packet uuid not null unique references public.packet_store on delete cascade,
  reflection_type text not null,
  context text,
  entities text[] not null default '{}',
  confidence double precision not null,
  priority text not null,
  times_seen integer not null default 1,
  last_seen timestamptz not null default clock_timestamp(),
  source_agent text,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  expires_at timestamptz generated always as (ttl) virtual,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint reflection_type_known check (reflection_type = any (reflection.reflection_types())),
  constraint reflection_priority_known check (priority = any (reflection.priorities())),
  constraint reflection_confidence_from_0_to_99 check (confidence between 0 and 0.99),
  constraint reflection_seen_once_at_least check (times_seen >= 1),
  constraint reflection_context_at_most_8_kib check (octet_length(context) <= reflection.max_text_bytes()),
  constraint reflection_entities_at_most_64 check (cardinality(entities) <= reflection.max_list_length())
);

alter table public.reflection_store alter column context set statistics 0, alter column entities set statistics 0;

-- A search uses this index to check whether the caller may read only few lessons.
create index reflection_store_readers_idx on public.reflection_store (tenant_id, scope, user_id, org_id, project_id);

comment on table public.reflection_store is
  'Lessons that agents learned, one row for each memory of kind reflection. Text, tags, vector and access count belong to the memory: reflection_store_content(), reflection_store_tags() and reflection_store_access_count() return them, and memory_embeddings holds the vector.';
comment on column public.reflection_store.reflection_id is
  'UUID version 7, ordered by the time when the reflection was first saved.';
comment on column public.reflection_store.source_packet is
  'The memory that holds the text, the tags and, in memory_embeddings, the vector. A memory has at most one row here.';
comment on column public.reflection_store.reflection_type is
  'lesson, pattern, failure, success, insight, improvement, or false_constraint (a constraint that was believed to hold and does not).';
comment on column public.reflection_store.context is
  'The circumstances in which the reflection applies or was learned: at most 8 KiB.';
comment on column public.reflection_store.entities is
  'The names of the entities that the reflection is about: at most 64, normalised (case, white space, Unicode).';
comment on column public.reflection_store.confidence is
  'The confidence, from 0 to 0.99. Each time the reflection is saved it becomes 1 - (1 - old) (1 - new), so it grows and never reaches 1.';
comment on column public.reflection_store.priority is 'critical, high, medium or low: the highest priority that anyone gave it.';
comment on column public.reflection_store.times_seen is 'The number of times that the reflection was saved.';
comment on column public.reflection_store.last_seen is 'The time when the reflection was last saved.';
comment on column public.reflection_store.source_agent is 'The agent that saved the reflection first.';
comment on column public.reflection_store.expires_at is 'The same as ttl: from then on the reflection is no longer recalled.';

call derived.derive_from_packets('public.reflection_store', 'reflection_id');
--! EndIncluded 170-reflection/020-reflection-store.sql
--! Included 170-reflection/030-columns-of-reflections.sql
create function public.reflection_store_content(reflection public.reflection_store)
returns text
language sql
stable
parallel safe
set search_path = ''
return (select p.envelope ->> 'content' from public.packet_store p where p.packet_id = (reflection).source_packet);

create function public.reflection_store_tags(reflection public.reflection_store)
returns text[]
language sql
stable
parallel safe
set search_path = ''
return (select p.tags from public.packet_store p where p.packet_id = (reflection).source_packet);

create function public.reflection_store_access_count(reflection public.reflection_store)
returns bigint
language sql
stable
parallel safe
set search_path = ''
return (
  select public.packet_store_access_count(p) from public.packet_store p where p.packet_id = (reflection).source_packet);

comment on function public.reflection_store_content(public.reflection_store) is 'The text of the reflection, from its memory.';
comment on function public.reflection_store_tags(public.reflection_store) is 'The tags of the reflection, from its memory.';
comment on function public.reflection_store_access_count(public.reflection_store) is
  'The number of times that the reflection was found, recalled or read, up to the last roll-up of the access log.';

grant execute on function
  public.reflection_store_content(public.reflection_store), public.reflection_store_tags(public.reflection_store),
  public.reflection_store_access_count(public.reflection_store)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 170-reflection/030-columns-of-reflections.sql
--! Included 170-reflection/040-check-reflection.sql
create function reflection.priority_rank(priority text)
returns integer
language sql
immutable
parallel safe
return array_position(reflection.priorities(), priority) - 1;

comment on function reflection.priority_rank(text) is 'The rank of a priority: low 0, medium 1, high 2, critical 3.';

create function reflection.can_reinforce(one_type text, other_type text)
returns boolean
language sql
immutable
parallel safe
return one_type = other_type
  or array[one_type, other_type] <@ array['lesson', 'pattern', 'insight', 'improvement'];

comment on function reflection.can_reinforce(text, text) is
  'True if reflections of these two types with the same text mean the same. The text of a success means something else as a failure, and the opposite as a false constraint.';

create function reflection.check_choice(value text, choices text[], field text)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if value is null or value <> all (choices) then
    perform identity.raise_error('L9VAL', format('%s: must be one of %s', field, array_to_string(choices, ', ')), field);
  end if;
end
$$;

comment on function reflection.check_choice(text, text[], text) is
  'Raises L9VAL, naming the field and the choices, if the value is not one of them.';

create function reflection.check_reflection(
  type text, context text, entities text[], confidence double precision, priority text, out names text[])
returns text[]
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  perform reflection.check_choice(type, reflection.reflection_types(), 'type');
  perform reflection.check_choice(priority, reflection.priorities(), 'priority');
  perform entities.check_confidence(confidence);
  perform identity.check_bytes(context, reflection.max_text_bytes(), 'context');
  if cardinality(entities) > reflection.max_list_length() then
    perform identity.raise_error('L9LIM',
      format('entities: at most %s, got %s', reflection.max_list_length(), cardinality(entities)), 'entities');
  end if;
  names := entities.check_names(entities, 'entities');
end
$$;

comment on function reflection.check_reflection(text, text, text[], double precision, text) is
  'Raises L9VAL or L9LIM, naming the field, for values that a reflection can''t have. Returns the entities, normalised and without duplicates.';

grant execute on function
  reflection.priority_rank(text), reflection.can_reinforce(text, text), reflection.check_choice(text, text[], text),
  reflection.check_reflection(text, text, text[], double precision, text)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 170-reflection/040-check-reflection.sql
--! Included 170-reflection/050-store-reflection.sql
create type public.reflect_result as (status text, reflection public.reflection_store);
comment on type public.reflect_result is 'The result of reflect(): the status inserted or reinforced, and the row as it is now.';
comment on column public.reflect_result.status is 'inserted, or reinforced if the reflection existed already.';
comment on column public.reflect_result.reflection is 'The reflection as it is now.';

create function reflection.store_reflection(
  packet_id uuid, type text, context text, entities text[], confidence double precision, priority text)
returns public.reflect_result
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source public.packet_store := derived.lock_source_memory(store_reflection.packet_id);
  names text[] := reflection.check_reflection(
    store_reflection.type, store_reflection.context, store_reflection.entities, store_reflection.confidence,
    store_reflection.priority);
  is_new boolean;
  result public.reflect_result;
begin
  if source.packet_type <> 'reflection' then
    perform identity.raise_error('L9VAL', 'source_packet: must be a memory of kind reflection', 'source_packet');
  end if;
  -- A repetition raises the confidence and the priority. The rest stays as it was first saved.
  insert into public.reflection_store as r (source_packet, reflection_type, context, entities, confidence, priority, source_agent)
  values (
    source.packet_id, store_reflection.type, nullif(btrim(store_reflection.context), ''), names,
    least(0.99, store_reflection.confidence), store_reflection.priority, source.metadata ->> 'agent')
  on conflict (source_packet) do update set
    confidence = entities.noisy_or(array[r.confidence, store_reflection.confidence]),
    priority = case
      when reflection.priority_rank(excluded.priority) > reflection.priority_rank(r.priority) then excluded.priority
      else r.priority end,
    times_seen = r.times_seen + 1,
    last_seen = clock_timestamp(),
    updated_at = clock_timestamp()
  returning old.reflection_id is null, r into is_new, result.reflection;
  if not reflection.can_reinforce((result.reflection).reflection_type, store_reflection.type) then
    perform identity.raise_error('L9VAL', format(
      'content: this text is already saved as a %s; use another text for a %s',
      (result.reflection).reflection_type, store_reflection.type), 'content');
  end if;
  result.status := case when is_new then 'inserted' else 'reinforced' end;
  return result;
end
$$;

comment on function reflection.store_reflection(uuid, text, text, text[], double precision, text) is
  'Writes the row of a memory of kind reflection or, if there is one, reinforces it: confidence (at most 0.99), times_seen, the higher priority. The caller must see the memory and may write in its scope and project. Definer: callers can''t write reflection_store.';

grant execute on function reflection.store_reflection(uuid, text, text, text[], double precision, text) to l9_agent, l9_admin;
--! EndIncluded 170-reflection/050-store-reflection.sql
--! Included 170-reflection/060-reflect.sql
create function reflection.distinguishing_words(content text)
returns text[]
language sql
stable
parallel safe
set search_path = ''
return array(
  select distinct case when w.word ~ '[0-9]' then w.word else 'not' end as word
  from pg_catalog.unnest(duplicates.distinct_words(content)) as w (word)
  -- "don't" is split into "don" and "t".
  where w.word ~ '[0-9]' or w.word in ('not', 'no', 'never', 'none', 'nor', 'without', 'cannot', 't')
  order by word);

comment on function reflection.distinguishing_words(text) is
  'The numbers in a text, and "not" if the text negates. Two texts that differ in these are never the same lesson, however similar they are.';

create function reflection.find_reflection(
  content text, type text, scope text, project_id text, content_vector extensions.vector, model text)
returns uuid
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_variable
declare
  me identity.identity := identity.require_identity();
begin
  if content is null or content !~ '\S' or octet_length(content) > packets.max_content_bytes() then
    return null; -- The insert raises the error that names the reason.
  end if;
  -- Check the scope before taking the lock: a caller that waited for it would learn that somebody writes in that scope.
  perform packets.check_scope(scope, project_id);
  -- Held until the end of the transaction. The next statement sees the rows that earlier holders of the lock committed.
  perform pg_advisory_xact_lock(hashtextextended(format('l9-memory reflections %s',
    packets.audience_id(me.tenant_id, me.org_id, me.user_id, project_id, scope)), 0));
  return (
    select s.packet_id
    from duplicates.find_similar(
      content, scope, project_id, 'reflection', me.org_id, me.user_id, null, content_vector, model) s
    join public.reflection_store r on r.source_packet = s.packet_id
    join public.packet_store p on p.packet_id = s.packet_id
    where reflection.can_reinforce(r.reflection_type, type)
      and reflection.distinguishing_words(p.envelope ->> 'content') = reflection.distinguishing_words(content)
    order by s.similarity desc, s.packet_id
    limit 1);
end
$$;

comment on function reflection.find_reflection(text, text, text, text, extensions.vector, text) is
  'The memory of a reflection with the same or nearly the same text for the caller''s audience (its owner, in this scope and project), or null. Locks the reflections of that audience until the end of the transaction, so that concurrent calls don''t save a reflection twice.';

create function public.reflect(
  content text,
  type text default 'lesson',
  context text default null,
  entities text[] default '{}',
  tags text[] default '{}',
  confidence double precision default 0.7,
  priority text default 'medium',
  expires_at timestamptz default null,
  scope text default 'developer',
  project_id text default null,
  learned_from uuid[] default '{}',
  thread_id text default null,
  content_vector extensions.vector default null,
  model text default null
)
returns public.reflect_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  target_scope text := coalesce(reflect.scope, 'developer');
  wanted_type text := coalesce(reflect.type, 'lesson');
  wanted_priority text := coalesce(reflect.priority, 'medium');
  wanted_confidence double precision := coalesce(reflect.confidence, 0.7);
  lesson_packet uuid;
  refused_field text;
  refused_message text;
begin
  perform reflection.check_reflection(wanted_type, reflect.context, reflect.entities, wanted_confidence, wanted_priority);
  if reflect.expires_at <= now() then
    perform identity.raise_error('L9VAL', 'expires_at: must be in the future', 'expires_at');
  end if;
  lesson_packet := reflection.find_reflection(
    reflect.content, wanted_type, target_scope, reflect.project_id, reflect.content_vector, reflect.model);
  if lesson_packet is null then
    begin
      lesson_packet := (public.save_memory(
        reflect.content, scope => target_scope, project_id => reflect.project_id, kind => 'reflection', tags => reflect.tags,
        thread_id => reflect.thread_id, parent_ids => reflect.learned_from, ttl => reflect.expires_at,
        importance => (0.3 + 0.2 * reflection.priority_rank(wanted_priority))::real)).memory.packet_id;
    exception when sqlstate 'L9VAL' or sqlstate 'L9LIM' then
      get stacked diagnostics refused_field = column_name, refused_message = message_text;
      if refused_field <> 'parent_ids' then
        raise;
      end if;
      -- Callers of this function know parent_ids as learned_from.
      perform identity.raise_error(sqlstate, regexp_replace(refused_message, '^parent_ids', 'learned_from'), 'learned_from');
    end;
  else
    -- Extend the expiry to the later one, if the policies let the caller change this memory.
    update public.packet_store p set ttl = reflect.expires_at
    where p.packet_id = lesson_packet and p.ttl < coalesce(reflect.expires_at, 'infinity');
  end if;
  return reflection.store_reflection(
    lesson_packet, wanted_type, reflect.context, reflect.entities, wanted_confidence, wanted_priority);
end
$$;

comment on function public.reflect(
  text, text, text, text[], text[], double precision, text, timestamptz, text, text, uuid[], text, extensions.vector, text) is
  'Saves a reflection as a memory of kind reflection. If one with the same or nearly the same text exists in this scope and project, it is reinforced instead, whoever saved it: confidence and times_seen rise and the higher priority is kept (status reinforced). type: lesson, pattern, failure, success, insight, improvement or false_constraint. learned_from: the memories that it was learned from. content_vector, a vector of model, lets the comparison with existing reflections use meaning. Errors: L9SCP, L9VAL, L9LIM, L9AUT.';

grant execute on function
  reflection.distinguishing_words(text), reflection.find_reflection(text, text, text, text, extensions.vector, text),
  public.reflect(
    text, text, text, text[], text[], double precision, text, timestamptz, text, text, uuid[], text, extensions.vector, text)
to l9_agent, l9_admin;

create function reflection.reflection_json(reflection public.reflection_store)
returns jsonb
language sql
-- Volatile, so that it sees a memory that the same statement has just saved.
volatile
set search_path = ''
return pg_catalog.jsonb_build_object(
  'reflection_id', (reflection).reflection_id,
  'packet_id', (reflection).source_packet,
  'content', public.reflection_store_content(reflection),
  'reflection_type', (reflection).reflection_type,
  'context', (reflection).context,
  'entities', (reflection).entities,
  'tags', public.reflection_store_tags(reflection),
  'confidence', (reflection).confidence,
  'priority', (reflection).priority,
  'times_seen', (reflection).times_seen,
  'scope', (reflection).scope,
  'project_id', (reflection).project_id,
  'source_agent', (reflection).source_agent,
  'created_at', (reflection).created_at,
  'last_seen', (reflection).last_seen,
  'expires_at', (reflection).ttl);

comment on function reflection.reflection_json(public.reflection_store) is
  'A reflection as the gateway returns it, with the text and tags of its memory.';

grant execute on function reflection.reflection_json(public.reflection_store) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 170-reflection/060-reflect.sql
--! Included 170-reflection/070-recall-types.sql
create type public.recalled_lesson as (
  reflection_id uuid,
  packet_id uuid,
  access_id uuid,
  content text,
  is_truncated boolean,
  reflection_type text,
  priority text,
  confidence double precision,
  times_seen integer,
  context text,
  entities text[],
  tags text[],
  scope text,
  project_id text,
  source_agent text,
  last_seen timestamptz,
  expires_at timestamptz,
  score real
);

comment on type public.recalled_lesson is 'A reflection that recall_lessons() found.';
comment on column public.recalled_lesson.reflection_id is 'The id of the reflection.';
comment on column public.recalled_lesson.is_truncated is 'True if content was cut.';
comment on column public.recalled_lesson.reflection_type is 'The type, as in reflection_store.';
comment on column public.recalled_lesson.priority is 'critical, high, medium or low.';
comment on column public.recalled_lesson.confidence is 'The confidence, from 0 to 0.99.';
comment on column public.recalled_lesson.times_seen is 'The number of times that the reflection was saved.';
comment on column public.recalled_lesson.context is 'The circumstances in which the reflection applies or was learned.';
comment on column public.recalled_lesson.entities is 'The names of the entities that the reflection is about, normalised.';
comment on column public.recalled_lesson.tags is 'The tags of the memory.';
comment on column public.recalled_lesson.scope is 'The scope, which decides who can read the reflection.';
comment on column public.recalled_lesson.project_id is 'The project; null in scope global.';
comment on column public.recalled_lesson.source_agent is 'The agent that saved the reflection first.';
comment on column public.recalled_lesson.last_seen is 'The time when the reflection was last saved.';
comment on column public.recalled_lesson.expires_at is 'The time from which the reflection is no longer recalled; null: never.';
comment on column public.recalled_lesson.packet_id is 'The memory of the reflection.';
comment on column public.recalled_lesson.access_id is 'The id of this access, which record_feedback() takes.';
comment on column public.recalled_lesson.content is 'The text: cut after 8000 characters, or earlier if max_tokens requires it.';
comment on column public.recalled_lesson.score is
  'The score from 0 to 1: as in search_memory(), raised by priority and confidence.';

create type public.recall_result as (lessons public.recalled_lesson[], searched jsonb);

comment on type public.recall_result is
  'Lessons, best first, and a description of the search, so that an empty result can''t be mistaken for a missing permission.';
comment on column public.recall_result.lessons is 'The lessons, best first.';
comment on column public.recall_result.searched is 'What was searched: the same object as in the result of search_memory().';

create function reflection.lesson_factor(priority text, confidence double precision)
returns real
language sql
immutable
parallel safe
return ((1 + 0.2 * reflection.priority_rank(priority) / 3.0 + 0.1 * confidence) / 1.3)::real;

comment on function reflection.lesson_factor(text, double precision) is
  'The factor by which the score of a lesson is multiplied. Priority adds at most 20 % and confidence at most 10 %. A lesson with a lower score can therefore overtake another one only if its score is more than 1 / 1.3 (77 %) of the other''s.';

grant execute on function reflection.lesson_factor(text, double precision) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 170-reflection/070-recall-types.sql
--! Included 170-reflection/080-narrow-to-lessons.sql
create function reflection.lesson_conditions(alias text, types text[], priority text)
returns text
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.concat_ws(' and ', 'true',
  case when types is not null then pg_catalog.format('%I.reflection_type = any (%L::text[])', alias, types) end,
  case when priority is not null then pg_catalog.format(
    'reflection.priority_rank(%I.priority) >= %s', alias, reflection.priority_rank(priority)) end);

comment on function reflection.lesson_conditions(text, text[], text) is
  'SQL conditions on the reflection_store columns of a lesson, with their values included.';

create function reflection.narrow_to_lessons(
  request search.search_request, types text[], priority text, tags text[], tags_match text)
returns search.search_request
language plpgsql
stable
set search_path = ''
as $$
declare
  own_conditions text := search.own_conditions('p', request.requested_scopes, request.project_id);
  source search.search_source;
begin
  if request.k is null then
    return request;
  end if;
  request.joins_packets := true;
  request.own_row_condition := search.own_conditions('m', request.requested_scopes, request.project_id);
  request.current_condition := concat_ws(' and ', own_conditions,
    search.packet_conditions('p', '{reflection}', tags, tags_match, null, null, null, null, null),
    format('exists (select from public.reflection_store r where r.source_packet = p.packet_id and %s)',
      reflection.lesson_conditions('r', types, priority)));
  request.current_or_past_condition := request.current_condition;

  -- Lessons are a small part of all memories and have their own index, which finds them fast.
  source.table_name := '(select r.*, r.source_packet as packet_id from public.reflection_store r)';
  source.columns := 'p.*';
  source.visibility_branches := search.reader_branches(request.caller, 'p', request.searched_scopes, request.project_id);
  source.extra_condition := concat_ws(' and ', own_conditions,
    reflection.lesson_conditions('p', types, priority),
    case when tags is not null then format(
      'exists (select from public.packet_store memory where memory.packet_id = p.packet_id and %s)',
      search.packet_conditions('memory', null, tags, tags_match, null, null, null, null, null)) end);
  request.ids := search.few_matches(source, search.max_scored_rows(), search.max_scored_rows());
  request.context_ids := request.ids;
  request.reasoning_ids := '{}';
  return search.choose_scans(request);
end
$$;

comment on function reflection.narrow_to_lessons(search.search_request, text[], text, text[], text) is
  'Restricts a search to lessons: adds its conditions and, if only few rows match, their ids. It is the counterpart of narrow_search for recall_lessons().';

grant execute on function
  reflection.lesson_conditions(text, text[], text),
  reflection.narrow_to_lessons(search.search_request, text[], text, text[], text)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 170-reflection/080-narrow-to-lessons.sql
--! Included 170-reflection/090-recall-lessons.sql
create function reflection.to_lessons(hits public.memory_hit[])
returns public.recalled_lesson[]
language sql
stable
set search_path = ''
return (
  select coalesce(pg_catalog.array_agg(row(
    r.reflection_id, h.packet_id, h.access_id, h.content, h.is_truncated, r.reflection_type, r.priority, r.confidence, r.times_seen,
    r.context, r.entities, h.tags, h.scope, h.project_id, r.source_agent, r.last_seen, r.ttl, h.score
  )::public.recalled_lesson order by h.place), '{}')
  from rows from (pg_catalog.unnest(hits)) with ordinality as h (
    packet_id, access_id, content, is_truncated, snippet, score, lexical_score, semantic_score, chunk_index, kind, scope,
    project_id, tags, thread_id, creator, importance, "timestamp", explanation, place)
  join public.reflection_store r on r.source_packet = h.packet_id);

comment on function reflection.to_lessons(public.memory_hit[]) is
  'Adds the values of reflection_store to hits that are lessons, in the same order.';

create function public.recall_lessons(
  query text default null,
  types text[] default null,
  tags text[] default null,
  tags_match text default 'any',
  priority text default null,
  k integer default 10,
  scopes text[] default null,
  project_id text default null,
  max_tokens integer default null,
  query_vector extensions.vector default null,
  model text default null
)
returns public.recall_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_variable
declare
  request search.search_request := search.open_search(
    query, k,
    jsonb_strip_nulls(jsonb_build_object(
      'kinds', '["reflection"]'::jsonb, 'types', to_jsonb(types), 'priority', priority, 'tags', to_jsonb(tags),
      'tags_match', case when tags is not null then tags_match end, 'scopes', to_jsonb(scopes), 'project_id', project_id)),
    scopes, project_id, query_vector, model, max_tokens, tags_match => tags_match);
  one_type text;
  wide_request search.search_request;
  ranked search.ranked_hits;
  closed public.search_result;
  result public.recall_result;
begin
  foreach one_type in array coalesce(types, '{}') loop
    perform reflection.check_choice(one_type, reflection.reflection_types(), 'types');
  end loop;
  if priority is not null then
    perform reflection.check_choice(priority, reflection.priorities(), 'priority');
  end if;

  -- Find more than k lessons: priority and confidence can raise a later one into the first k.
  wide_request := request;
  wide_request.k := greatest(3 * k, 30);
  wide_request.candidates := search.candidate_count(wide_request.k);
  wide_request := reflection.narrow_to_lessons(wide_request, types, priority, tags, tags_match);
  ranked := search.find_hits(wide_request);

  ranked.hits := array(
    select row(
      h.packet_id, h.access_id, h.content, h.is_truncated, h.snippet, h.score * f.factor, h.lexical_score, h.semantic_score,
      h.chunk_index, h.kind, h.scope, h.project_id, h.tags, h.thread_id, h.creator, h.importance, h."timestamp", h.explanation
    )::public.memory_hit
    from unnest(ranked.hits) as h
    join public.reflection_store r on r.source_packet = h.packet_id
    cross join lateral (select reflection.lesson_factor(r.priority, r.confidence) as factor) f
    order by h.score * f.factor desc, h."timestamp" desc, h.packet_id desc
    limit k);
  closed := search.close_search(request, ranked);
  result.searched := closed.searched;
  result.lessons := reflection.to_lessons(closed.hits);
  return result;
end
$$;

comment on function public.recall_lessons(
  text, text[], text[], text, text, integer, text[], text, integer, extensions.vector, text) is
  'Searches the reflections that the caller may read, as search_memory() searches memories: by words and, if query_vector (a vector of model) is given, by meaning. Priority and confidence together raise a score by at most 30 %. types: only these types. priority: this priority or a higher one. tags_match: any or all. k: 1 to 100. Without a query: the newest reflections, sorted by priority and confidence. max_tokens: trims the texts to about that many tokens. Writes an audit row. Errors: L9VAL, L9LIM, L9AUT.';

grant execute on function
  reflection.to_lessons(public.memory_hit[]),
  public.recall_lessons(text, text[], text[], text, text, integer, text[], text, integer, extensions.vector, text)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 170-reflection/090-recall-lessons.sql
--! Included 170-reflection/100-task-reflections.sql
create table public.task_reflections (
  task_reflection_id uuid primary key default uuidv7(),
  source_packet uuid not null unique references public.packet_store on delete cascade,
  task_id text not null,
  description text not null,
  outcome text not null,
  what_worked text[] not null default '{}',
  what_failed text[] not null default '{}',
  recommendations text[] not null default '{}',
  related_decisions uuid[] not null default '{}',
  execution_time_ms bigint,
  metrics_improved text[] not null default '{}',
  metrics_degraded text[] not null default '{}',
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint task_id_short check (task_id ~ '\S' and octet_length(task_id) <= 200),
  constraint task_outcome_known check (outcome = any (reflection.task_outcomes())),
  constraint task_time_not_negative check (execution_time_ms >= 0)
);

alter table public.task_reflections
  alter column task_id set statistics 0, alter column description set statistics 0, alter column what_worked set statistics 0,
  alter column what_failed set statistics 0, alter column recommendations set statistics 0, alter column related_decisions set statistics 0,
  alter column metrics_improved set statistics 0, alter column metrics_degraded set statistics 0;

-- One row for a task of an audience. The audience is in the key, so that a row never collides with one that its writer can't see.
create unique index task_reflections_task_unique on public.task_reflections
  (tenant_id, scope, project_id, org_id, user_id, task_id) nulls not distinct;

comment on table public.task_reflections is
  'Results of tasks: one row for each task of an audience (owner, project and scope). The memory of kind task_reflection holds the same in words, so that a search finds it. Its lessons are linked reflections: task_reflections_lessons() returns them, task_reflections_lessons_learned() their texts.';
comment on column public.task_reflections.task_reflection_id is
  'UUID version 7, ordered by the time when the row was first written.';
comment on column public.task_reflections.source_packet is 'The memory that holds the same in words.';
comment on column public.task_reflections.task_id is 'The name that the writer gives to the task: at most 200 bytes.';
comment on column public.task_reflections.description is 'The goal of the task.';
comment on column public.task_reflections.outcome is 'success, partial, failure or unknown.';
comment on column public.task_reflections.what_worked is 'The things that worked.';
comment on column public.task_reflections.what_failed is 'The things that failed.';
comment on column public.task_reflections.recommendations is 'Recommendations for the next such task.';
comment on column public.task_reflections.related_decisions is
  'Memories of decisions that the task rests on. When the row was written, the writer and everyone who could read the row could read each of them.';
comment on column public.task_reflections.execution_time_ms is 'The duration of the task in milliseconds.';
comment on column public.task_reflections.metrics_improved is 'The metrics that improved, such as p95 120 ms to 80 ms.';
comment on column public.task_reflections.metrics_degraded is 'The metrics that got worse.';

call derived.derive_from_packets('public.task_reflections', 'task_reflection_id');
--! EndIncluded 170-reflection/100-task-reflections.sql
--! Included 170-reflection/110-task-reflection-lessons.sql
create table public.task_reflection_lessons (
  task_reflection_id uuid not null references public.task_reflections on delete cascade,
  reflection_id uuid not null references public.reflection_store on delete cascade,
  tenant_id uuid not null references public.tenants,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (task_reflection_id, reflection_id)
);

create index task_reflection_lessons_reflection_idx on public.task_reflection_lessons (reflection_id);

comment on table public.task_reflection_lessons is 'Links between tasks and the lessons that were learned from them.';
comment on column public.task_reflection_lessons.task_reflection_id is 'The task.';
comment on column public.task_reflection_lessons.reflection_id is 'The lesson.';
comment on column public.task_reflection_lessons.tenant_id is 'The tenant of both the task and the lesson.';
comment on column public.task_reflection_lessons.created_at is 'The time when the two were linked.';
comment on column public.task_reflection_lessons.updated_at is 'The same as created_at, because a link never changes.';

alter table public.task_reflection_lessons enable row level security;
alter table public.task_reflection_lessons force row level security;

create policy tenant_isolation on public.task_reflection_lessons as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.task_reflection_lessons for select to l9_agent, l9_admin
  using (
    exists (select from public.task_reflections t where t.task_reflection_id = task_reflection_lessons.task_reflection_id)
    and exists (select from public.reflection_store r where r.reflection_id = task_reflection_lessons.reflection_id));
create policy platform_override on public.task_reflection_lessons for select to l9_platform_admin
  using (
    (select identity.allow_and_audit_operator_read('task_reflection_lessons'))
    and exists (select from public.task_reflections t where t.task_reflection_id = task_reflection_lessons.task_reflection_id)
    and exists (select from public.reflection_store r where r.reflection_id = task_reflection_lessons.reflection_id));
create policy worker_access on public.task_reflection_lessons for select to l9_worker using (true);
create policy definer_functions on public.task_reflection_lessons to l9_owner
  using ((select identity.current_role_name()) not in ('l9_agent', 'l9_admin')
    or tenant_id = (select identity.current_tenant_id()));

comment on policy tenant_isolation on public.task_reflection_lessons is 'Nothing is shared between tenants.';
comment on policy scope_access on public.task_reflection_lessons is
  'A link is visible to callers that may read both the task and the lesson. The policies of these two tables decide, so the link follows both wherever they move.';
comment on policy platform_override on public.task_reflection_lessons is
  'Operators read across tenants, and each read is audited. A link is hidden when the task or the lesson has expired.';
comment on policy worker_access on public.task_reflection_lessons is 'Background jobs read all rows.';
comment on policy definer_functions on public.task_reflection_lessons is
  'link_lesson() writes links in the tenant of the caller, after it has checked that the caller may read both ends.';

grant select on public.task_reflection_lessons to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant maintain on public.task_reflection_lessons to l9_worker;
--! EndIncluded 170-reflection/110-task-reflection-lessons.sql
--! Included 170-reflection/120-columns-of-tasks.sql
create function public.task_reflections_lessons(task public.task_reflections)
returns setof public.reflection_store
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select r.*
  from public.task_reflection_lessons l
  join public.reflection_store r on r.reflection_id = l.reflection_id
  where l.task_reflection_id = (task).task_reflection_id
  order by l.created_at, r.reflection_id;
end;

create function public.task_reflections_lessons_learned(task public.task_reflections)
returns text[]
language sql
stable
parallel safe
set search_path = ''
return array(select public.reflection_store_content(r) from public.task_reflections_lessons(task) r);

create function public.reflection_store_tasks(reflection public.reflection_store)
returns setof public.task_reflections
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select t.*
  from public.task_reflection_lessons l
  join public.task_reflections t on t.task_reflection_id = l.task_reflection_id
  where l.reflection_id = (reflection).reflection_id
  order by l.created_at, t.task_reflection_id;
end;

create function public.task_reflections_decisions(task public.task_reflections)
returns setof public.packet_store
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select p.* from public.packet_store p where p.packet_id = any ((task).related_decisions) order by p.packet_id;
end;

comment on function public.task_reflections_lessons(public.task_reflections) is 'The lessons from a task that the caller may read.';
comment on function public.task_reflections_lessons_learned(public.task_reflections) is
  'The texts of the lessons from a task that the caller may read. The texts are stored only with the lessons, so that erasing a lesson removes its text here too.';
comment on function public.reflection_store_tasks(public.reflection_store) is
  'The tasks that a lesson was learned from, as far as the caller may read them.';
comment on function public.task_reflections_decisions(public.task_reflections) is
  'The memories of decisions that a task rests on, as far as the caller may read them now.';

grant execute on function
  public.task_reflections_lessons(public.task_reflections), public.task_reflections_lessons_learned(public.task_reflections),
  public.reflection_store_tasks(public.reflection_store),
  public.task_reflections_decisions(public.task_reflections)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 170-reflection/120-columns-of-tasks.sql
--! Included 170-reflection/130-check-task.sql
create function reflection.check_texts(texts text[], field text)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if cardinality(texts) > reflection.max_list_length() then
    perform identity.raise_error('L9LIM',
      format('%s: at most %s, got %s', field, reflection.max_list_length(), cardinality(texts)), field);
  elsif exists (select from unnest(texts) as t (text) where octet_length(t.text) > reflection.max_text_bytes()) then
    perform identity.raise_error('L9LIM', format('%s: at most %s bytes each', field, reflection.max_text_bytes()), field);
  elsif exists (select from unnest(texts) as t (text) where coalesce(t.text, '') !~ '\S') then
    perform identity.raise_error('L9VAL', format('%s: no text may be blank', field), field);
  end if;
end
$$;

comment on function reflection.check_texts(text[], text) is
  'Raises L9LIM or L9VAL, naming the field, unless the list has at most 64 texts of at most 8 KiB each, none of them blank.';

create function reflection.check_task(
  task_id text, description text, outcome text, what_worked text[], what_failed text[], recommendations text[],
  related_decisions uuid[], execution_time_ms bigint, metrics_improved text[], metrics_degraded text[])
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if task_id is null or task_id !~ '\S' then
    perform identity.raise_error('L9VAL', 'task_id: required', 'task_id');
  elsif description is null or description !~ '\S' then
    perform identity.raise_error('L9VAL', 'description: required', 'description');
  elsif execution_time_ms < 0 then
    perform identity.raise_error('L9VAL', 'execution_time_ms: must be 0 or more', 'execution_time_ms');
  elsif cardinality(related_decisions) > reflection.max_list_length() then
    perform identity.raise_error('L9LIM',
      format('related_decisions: at most %s, got %s', reflection.max_list_length(), cardinality(related_decisions)), 'related_decisions');
  end if;
  perform identity.check_bytes(task_id, 200, 'task_id'), identity.check_bytes(description, 65536, 'description');
  perform reflection.check_choice(outcome, reflection.task_outcomes(), 'outcome');
  perform reflection.check_texts(what_worked, 'what_worked');
  perform reflection.check_texts(what_failed, 'what_failed');
  perform reflection.check_texts(recommendations, 'recommendations');
  perform reflection.check_texts(metrics_improved, 'metrics_improved');
  perform reflection.check_texts(metrics_degraded, 'metrics_degraded');
end
$$;

comment on function reflection.check_task(text, text, text, text[], text[], text[], uuid[], bigint, text[], text[]) is
  'Raises L9VAL or L9LIM, naming the field, for values that a reflection on a task can''t have.';

create function reflection.task_text(
  task_id text, description text, outcome text, what_worked text[], what_failed text[], recommendations text[],
  metrics_improved text[], metrics_degraded text[])
returns text
language sql
immutable
parallel safe
set search_path = ''
return (
  select pg_catalog.concat_ws(e'\n', pg_catalog.format('Task %s: %s', task_id, description), 'Outcome: ' || outcome, pg_catalog.string_agg(
    part.title || e':\n- ' || pg_catalog.array_to_string(part.texts, e'\n- '), e'\n' order by part.place))
  from (values
    (1, 'What worked', what_worked), (2, 'What failed', what_failed), (3, 'Recommendations', recommendations),
    (4, 'Improved', metrics_improved), (5, 'Degraded', metrics_degraded)
  ) as part (place, title, texts)
  where pg_catalog.cardinality(part.texts) > 0);

comment on function reflection.task_text(text, text, text, text[], text[], text[], text[], text[]) is
  'The result of a task in words: the text of its memory. Its lessons are memories of their own.';

grant execute on function
  reflection.check_texts(text[], text),
  reflection.check_task(text, text, text, text[], text[], text[], uuid[], bigint, text[], text[]),
  reflection.task_text(text, text, text, text[], text[], text[], text[], text[])
to l9_agent, l9_admin, l9_worker;
--! EndIncluded 170-reflection/130-check-task.sql
--! Included 170-reflection/140-store-task-reflection.sql
create function reflection.is_audience_within(narrow public.packet_store, wide public.packet_store)
returns boolean
language sql
stable
set search_path = ''
return packets.is_scope_within((narrow).scope, (wide).scope)
  and ((wide).project_id is null or (wide).project_id is not distinct from (narrow).project_id)
  and ((wide).org_id is null or (wide).org_id is not distinct from (narrow).org_id)
  and ((wide).user_id is null or (wide).user_id is not distinct from (narrow).user_id);

comment on function reflection.is_audience_within(public.packet_store, public.packet_store) is
  'True if everyone who may read the first memory may also read the second one, of the same tenant.';

create function reflection.check_references(source public.packet_store, ids uuid[], field text)
returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  visible_count integer;
  all_readable boolean;
begin
  select count(*), bool_and(reflection.is_audience_within(source, p)) into visible_count, all_readable
  from public.packet_store p where p.packet_id = any (ids) and derived.is_source(p);
  if not all_readable then
    -- Otherwise the row would show its readers the id of a memory that they may not know of.
    perform identity.raise_error('L9VAL', format('%s: names a memory that not every reader of scope %s may read', field, source.scope), field);
  end if;
  if visible_count < (select count(distinct i.id) from unnest(ids) as i (id)) then
    perform identity.raise_error('L9OWN', format('%s: at least one of these memories does not exist, or is not yours', field), field);
  end if;
end
$$;

comment on function reflection.check_references(public.packet_store, uuid[], text) is
  'Raises L9OWN unless the caller may read all of these memories, and L9VAL if one of them has fewer readers than the source of the row that names it. Not executable by callers: functions of the owner, which see what the caller sees, call it.';

create function reflection.shareable_decisions(task public.task_reflections, ids uuid[])
returns uuid[]
language sql
stable
set search_path = ''
return array(
  select p.packet_id
  from public.packet_store p
  join public.packet_store source on source.packet_id = (task).source_packet
  where p.packet_id = any (ids) and reflection.is_audience_within(source, p));

comment on function reflection.shareable_decisions(public.task_reflections, uuid[]) is
  'Those of these memories that the caller may read and that every reader of this task may read.';

create function reflection.store_task_reflection(
  packet_id uuid, task_id text, description text, outcome text, what_worked text[], what_failed text[], recommendations text[],
  related_decisions uuid[], execution_time_ms bigint, metrics_improved text[], metrics_degraded text[])
returns public.task_reflections
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source public.packet_store := derived.lock_source_memory(store_task_reflection.packet_id);
  expired_packet uuid;
  saved public.task_reflections;
begin
  if source.packet_type <> 'task_reflection' then
    perform identity.raise_error('L9VAL', 'source_packet: must be a memory of kind task_reflection', 'source_packet');
  elsif identity.current_role_name() = 'l9_agent' and source.metadata ->> 'creator' <> identity.current_creator() then
    perform memories.raise_not_yours(source.packet_id);
  end if;
  perform reflection.check_task(
    store_task_reflection.task_id, store_task_reflection.description, store_task_reflection.outcome,
    store_task_reflection.what_worked, store_task_reflection.what_failed, store_task_reflection.recommendations,
    store_task_reflection.related_decisions, store_task_reflection.execution_time_ms, store_task_reflection.metrics_improved,
    store_task_reflection.metrics_degraded);
  perform reflection.check_references(source, store_task_reflection.related_decisions, 'related_decisions');

  -- An expired row of the same task that is not cleaned up yet would violate the unique index.
  select t.source_packet into expired_packet
  from public.task_reflections t
  where t.tenant_id = source.tenant_id and t.scope = source.scope and t.project_id is not distinct from source.project_id
    and t.org_id is not distinct from source.org_id and t.user_id is not distinct from source.user_id
    and t.task_id = store_task_reflection.task_id and t.ttl <= now() and t.source_packet <> source.packet_id;
  delete from public.packet_store p where p.packet_id = expired_packet and p.ttl <= now();

  insert into public.task_reflections as t (
    source_packet, task_id, description, outcome, what_worked, what_failed, recommendations, related_decisions,
    execution_time_ms, metrics_improved, metrics_degraded)
  values (
    source.packet_id, store_task_reflection.task_id, store_task_reflection.description, store_task_reflection.outcome,
    coalesce(store_task_reflection.what_worked, '{}'), coalesce(store_task_reflection.what_failed, '{}'),
    coalesce(store_task_reflection.recommendations, '{}'), coalesce(store_task_reflection.related_decisions, '{}'),
    store_task_reflection.execution_time_ms, coalesce(store_task_reflection.metrics_improved, '{}'),
    coalesce(store_task_reflection.metrics_degraded, '{}'))
  on conflict (source_packet) do update set
    description = excluded.description, outcome = excluded.outcome, what_worked = excluded.what_worked,
    what_failed = excluded.what_failed, recommendations = excluded.recommendations,
    related_decisions = excluded.related_decisions, execution_time_ms = excluded.execution_time_ms,
    metrics_improved = excluded.metrics_improved, metrics_degraded = excluded.metrics_degraded,
    updated_at = clock_timestamp()
  where t.task_id = excluded.task_id
  returning t.* into saved;
  if not found then
    perform identity.raise_error('L9VAL', 'description: another task has the same text; describe this one in other words', 'description');
  end if;
  return saved;
end
$$;

comment on function reflection.store_task_reflection(
  uuid, text, text, text, text[], text[], text[], uuid[], bigint, text[], text[]) is
  'Writes or replaces the row of a memory of kind task_reflection that the caller wrote (an admin: any). related_decisions must be memories that the caller and every reader of the row may read. Definer: callers can''t write task_reflections.';

create function reflection.link_lesson(task_reflection_id uuid, reflection_id uuid)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  packet_id uuid := (
    select t.source_packet from public.task_reflections t
    where t.task_reflection_id = link_lesson.task_reflection_id and (t.ttl is null or t.ttl > now()));
  source public.packet_store;
begin
  if packet_id is not null then
    source := derived.lock_source_memory(packet_id, 'task_reflection_id');
  end if;
  -- The caller must see both rows and must have written the task.
  if source.packet_id is null
    or identity.current_role_name() = 'l9_agent' and source.metadata ->> 'creator' <> identity.current_creator()
    or not exists (
      select from public.reflection_store r
      where r.reflection_id = link_lesson.reflection_id and (r.ttl is null or r.ttl > now()))
  then
    perform identity.raise_error('L9OWN', 'task_reflection_id, reflection_id: one of them does not exist, or is not yours', 'reflection_id');
  end if;
  insert into public.task_reflection_lessons (task_reflection_id, reflection_id, tenant_id)
  values (link_lesson.task_reflection_id, link_lesson.reflection_id, source.tenant_id)
  on conflict do nothing;
end
$$;

comment on function reflection.link_lesson(uuid, uuid) is
  'Links a lesson that the caller may read to a task that it wrote (an admin: any). Definer: callers can''t write task_reflection_lessons.';

grant execute on function
  reflection.store_task_reflection(
    uuid, text, text, text, text[], text[], text[], uuid[], bigint, text[], text[]),
  reflection.link_lesson(uuid, uuid), reflection.shareable_decisions(public.task_reflections, uuid[]),
  reflection.is_audience_within(public.packet_store, public.packet_store)
to l9_agent, l9_admin;
--! EndIncluded 170-reflection/140-store-task-reflection.sql
--! Included 170-reflection/150-reflect-on-task.sql
create function public.reflect_on_task(
  task_id text,
  description text default null,
  outcome text default null,
  what_worked text[] default null,
  what_failed text[] default null,
  lessons text[] default '{}',
  recommendations text[] default null,
  related_decisions uuid[] default null,
  execution_time_ms bigint default null,
  metrics_improved text[] default null,
  metrics_degraded text[] default null,
  scope text default 'developer',
  project_id text default null
)
returns public.task_reflections
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  target_scope text := coalesce(reflect_on_task.scope, 'developer');
  task public.task_reflections;
  packet_id uuid;
  content text;
  lesson text;
  known_lesson uuid;
  saved_lesson public.reflection_store;
begin
  perform packets.check_scope(target_scope, reflect_on_task.project_id);
  perform reflection.check_texts(lessons, 'lessons');
  -- Concurrent calls for the same task wait here, so that the second one adds to the row of the first.
  perform pg_advisory_xact_lock(hashtextextended(format('l9-memory task %s %s',
    packets.audience_id(me.tenant_id, me.org_id, me.user_id, reflect_on_task.project_id, target_scope), reflect_on_task.task_id), 0));
  select t.* into task
  from public.task_reflections t
  where t.tenant_id = me.tenant_id and t.scope = target_scope and t.project_id is not distinct from reflect_on_task.project_id
    and t.org_id is not distinct from me.org_id and t.user_id is not distinct from me.user_id
    and t.task_id = reflect_on_task.task_id;

  -- Arguments that are null leave the stored values as they are.
  task.task_id := reflect_on_task.task_id;
  task.description := coalesce(reflect_on_task.description, task.description);
  task.outcome := coalesce(reflect_on_task.outcome, task.outcome, 'unknown');
  task.what_worked := coalesce(reflect_on_task.what_worked, task.what_worked, '{}');
  task.what_failed := coalesce(reflect_on_task.what_failed, task.what_failed, '{}');
  task.recommendations := coalesce(reflect_on_task.recommendations, task.recommendations, '{}');
  task.execution_time_ms := coalesce(reflect_on_task.execution_time_ms, task.execution_time_ms);
  task.metrics_improved := coalesce(reflect_on_task.metrics_improved, task.metrics_improved, '{}');
  task.metrics_degraded := coalesce(reflect_on_task.metrics_degraded, task.metrics_degraded, '{}');
  -- Stored decisions that were deleted or became hidden are dropped, so that the row can still be changed.
  task.related_decisions := array(
    select distinct d.id
    from unnest(coalesce(reflect_on_task.related_decisions, reflection.shareable_decisions(task, task.related_decisions))) as d (id)
    where d.id is not null order by d.id);
  perform reflection.check_task(
    task.task_id, task.description, task.outcome, task.what_worked, task.what_failed, task.recommendations,
    task.related_decisions, task.execution_time_ms, task.metrics_improved, task.metrics_degraded);

  content := reflection.task_text(
    task.task_id, task.description, task.outcome, task.what_worked, task.what_failed, task.recommendations,
    task.metrics_improved, task.metrics_degraded);
  packet_id := task.source_packet;
  if packet_id is not null then
    -- Raises L9OWN if another agent wrote the memory.
    perform public.update_memory(packet_id, content => content);
  else
    packet_id := (public.save_memory(
      content, scope => target_scope, project_id => reflect_on_task.project_id, kind => 'task_reflection')).memory.packet_id;
  end if;
  task := reflection.store_task_reflection(
    packet_id, task.task_id, task.description, task.outcome, task.what_worked, task.what_failed, task.recommendations,
    task.related_decisions, task.execution_time_ms, task.metrics_improved, task.metrics_degraded);

  foreach lesson in array coalesce(lessons, '{}') loop
    known_lesson := reflection.find_reflection(lesson, 'lesson', target_scope, reflect_on_task.project_id, null, null);
    -- A lesson that is already linked to this task is not reinforced again.
    continue when exists (
      select from public.task_reflections_lessons(task) r where r.source_packet = known_lesson);
    saved_lesson := (public.reflect(
      lesson, scope => target_scope, project_id => reflect_on_task.project_id, learned_from => array[packet_id])).reflection;
    perform reflection.link_lesson(task.task_reflection_id, saved_lesson.reflection_id);
  end loop;
  return task;
end
$$;

comment on function public.reflect_on_task(
  text, text, text, text[], text[], text[], text[], uuid[], bigint, text[], text[], text, text) is
  'Saves the result of a task, once for each task_id of a scope and project. A call with the same task_id replaces the values that it gives and keeps the others. The result is a memory of kind task_reflection, which agents can change only if they wrote it (else L9OWN). outcome: success, partial, failure or unknown. lessons: each is saved by reflect(), so repeated lessons are reinforced, and linked to the task. related_decisions: memories that the caller and every reader of this task may read. Errors: L9SCP, L9OWN, L9VAL, L9LIM, L9AUT.';

grant execute on function public.reflect_on_task(
  text, text, text, text[], text[], text[], text[], uuid[], bigint, text[], text[], text, text)
to l9_agent, l9_admin;
--! EndIncluded 170-reflection/150-reflect-on-task.sql
--! Included 180-summaries/000-schema.sql
create schema summaries;
comment on schema summaries is
  'Summaries of memories, and the audiences that may read them. Not exposed over GraphQL; callers may execute only the functions that are granted individually.';
grant usage on schema summaries to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 180-summaries/000-schema.sql
--! Included 180-summaries/010-choices-and-limits.sql
-- The values of scope_type and the limits of this chapter: constraints, checks and searches all use these functions.

create function summaries.scope_types()
returns text[]
language sql
immutable
parallel safe
return array['thread', 'agent', 'topic', 'time_period', 'project', 'task'];

create function summaries.max_sources()
returns integer
language sql
immutable
parallel safe
return 500;

create function summaries.max_subject_bytes()
returns integer
language sql
immutable
parallel safe
return 1000;

comment on function summaries.scope_types() is
  'The types of subjects that can be summarised. The column is named scope_type, but has nothing to do with the scope of memories.';
comment on function summaries.max_sources() is 'The maximum number of memories that a summary can rest on.';
comment on function summaries.max_subject_bytes() is 'The maximum length of scope_value in bytes.';

grant execute on function summaries.scope_types(), summaries.max_sources(), summaries.max_subject_bytes()
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 180-summaries/010-choices-and-limits.sql
--! Included 180-summaries/020-memory-summaries.sql
create table public.memory_summaries (
  summary_id uuid primary key default uuidv7(),
  source_packet uuid not null unique references public.packet_store on delete cascade,
  scope_type text not null,
  scope_value text not null,
  key_facts text[] not null default '{}',
  key_entities text[] not null default '{}',
  key_decisions text[] not null default '{}',
  packet_count integer not null,
  confidence double precision not null,
  coverage_start timestamptz not null,
  coverage_end timestamptz not null,
  valid_until timestamptz,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint summary_scope_type_known check (scope_type = any (summaries.scope_types())),
  constraint summary_scope_value_short check (scope_value ~ '\S' and octet_length(scope_value) <= summaries.max_subject_bytes()),
  constraint summary_rests_on_something check (packet_count between 1 and summaries.max_sources()),
  constraint summary_confidence_from_0_to_1 check (confidence between 0 and 1),
  constraint summary_coverage_in_order check (coverage_start <= coverage_end)
);

alter table public.memory_summaries
  alter column scope_value set statistics 0, alter column key_facts set statistics 0, alter column key_entities set statistics 0,
  alter column key_decisions set statistics 0;

-- One row for a subject of an audience. The audience is in the key, so that a row never collides with one that its writer can't see.
create unique index memory_summaries_current_unique on public.memory_summaries
  (tenant_id, scope, project_id, org_id, user_id, scope_type, scope_value) nulls not distinct;

comment on table public.memory_summaries is
  'Summaries of many memories, one row for each memory of kind summary. Text and vector belong to that memory: memory_summaries_summary_text() returns the text, memory_embeddings holds the vector. memory_summaries_sources() and memory_summaries_source_packet_ids() return the memories that a summary rests on.';
comment on column public.memory_summaries.summary_id is 'UUID version 7, ordered by the time when the summary was written.';
comment on column public.memory_summaries.source_packet is 'The memory that holds the text and, in memory_embeddings, the vector.';
comment on column public.memory_summaries.scope_type is
  'The type of the subject: thread, agent, topic, time_period, project or task. It has nothing to do with scope, which decides who can read the summary.';
comment on column public.memory_summaries.scope_value is
  'The subject: a thread_id, a creator, a tag, an ISO week such as 2026-W47, a project_id or a correlation_id.';
comment on column public.memory_summaries.key_facts is 'The most important facts.';
comment on column public.memory_summaries.key_entities is
  'The names of the entities that the summary is about, normalised (case, white space, Unicode).';
comment on column public.memory_summaries.key_decisions is 'The decisions that were made.';
comment on column public.memory_summaries.packet_count is 'The number of memories that the summary rests on, at most 500.';
comment on column public.memory_summaries.confidence is 'The confidence of the writer in the summary, from 0 to 1.';
comment on column public.memory_summaries.coverage_start is 'The time when the oldest source was saved.';
comment on column public.memory_summaries.coverage_end is 'The time when the newest source was saved.';
comment on column public.memory_summaries.valid_until is
  'The time from which the summary is due again although no memory was added; null: it never becomes due by time alone.';

call derived.derive_from_packets('public.memory_summaries', 'summary_id');
--! EndIncluded 180-summaries/020-memory-summaries.sql
--! Included 180-summaries/030-memory-summary-sources.sql
create table public.memory_summary_sources (
  summary_packet uuid not null references public.memory_summaries (source_packet) on delete cascade,
  packet_id uuid not null references public.packet_store on delete cascade,
  is_changed boolean not null default false,
  tenant_id uuid not null references public.tenants,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (summary_packet, packet_id)
);

create index memory_summary_sources_packet_idx on public.memory_summary_sources (packet_id);

comment on table public.memory_summary_sources is 'The memories that each summary rests on.';
comment on column public.memory_summary_sources.summary_packet is 'The memory of the summary.';
comment on column public.memory_summary_sources.packet_id is 'The memory that the summary rests on.';
comment on column public.memory_summary_sources.is_changed is
  'True if the text of the source was changed since; then the summary is due again.';
comment on column public.memory_summary_sources.tenant_id is 'The tenant of both memories.';
comment on column public.memory_summary_sources.created_at is 'The time when the summary was written.';
comment on column public.memory_summary_sources.updated_at is 'The time when is_changed was last set.';

alter table public.memory_summary_sources enable row level security;
alter table public.memory_summary_sources force row level security;

create policy tenant_isolation on public.memory_summary_sources as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.memory_summary_sources for select to l9_agent, l9_admin
  using (
    exists (select from public.memory_summaries s where s.source_packet = memory_summary_sources.summary_packet)
    and exists (select from public.packet_store p where p.packet_id = memory_summary_sources.packet_id));
create policy platform_override on public.memory_summary_sources for select to l9_platform_admin
  using (
    (select identity.allow_and_audit_operator_read('memory_summary_sources'))
    and exists (select from public.memory_summaries s where s.source_packet = memory_summary_sources.summary_packet)
    and exists (select from public.packet_store p where p.packet_id = memory_summary_sources.packet_id));
create policy worker_access on public.memory_summary_sources for select to l9_worker using (true);
create policy definer_functions on public.memory_summary_sources to l9_owner using (true);

comment on policy tenant_isolation on public.memory_summary_sources is 'Nothing is shared between tenants.';
comment on policy scope_access on public.memory_summary_sources is
  'A row is visible to callers that may read both the summary and the source. The policies of these two tables decide, so the row follows both wherever they move.';
comment on policy platform_override on public.memory_summary_sources is
  'Operators read across tenants, and each read is audited. A row is hidden when the summary or the source has expired.';
comment on policy worker_access on public.memory_summary_sources is 'Background jobs read all rows.';
comment on policy definer_functions on public.memory_summary_sources is
  'Functions that delete summaries when a source is deleted or moves must also see rows that the caller does not.';

grant select on public.memory_summary_sources to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant maintain on public.memory_summary_sources to l9_worker;

create function summaries.tg_memory_summary_sources__delete_summaries()
returns trigger
language plpgsql
security definer
set search_path = ''
set enable_nestloop = off
as $$
begin
  -- Summaries whose own memory was deleted in this statement no longer exist, and deleting them has no effect.
  perform summaries.delete_summaries(array(select distinct o.summary_packet from old_rows o));
  return null;
end
$$;

comment on function summaries.tg_memory_summary_sources__delete_summaries() is
  'Deletes a summary when the first of its sources is deleted. Definer: deletes also summaries that the caller does not see.';

create trigger _600_delete_summaries after delete on public.memory_summary_sources
  referencing old table as old_rows
  for each statement execute function summaries.tg_memory_summary_sources__delete_summaries();
--! EndIncluded 180-summaries/030-memory-summary-sources.sql
--! Included 180-summaries/040-summaries-being-deleted.sql
create table summaries.summaries_being_deleted (summary_packet uuid primary key);

comment on table summaries.summaries_being_deleted is
  'Summaries that are being deleted because one of their sources was deleted or moved. The policies let functions of the owner delete these; rows are gone at the end of the statement.';
comment on column summaries.summaries_being_deleted.summary_packet is 'The memory of the summary.';

alter table summaries.summaries_being_deleted enable row level security;
alter table summaries.summaries_being_deleted force row level security;
create policy definer_functions on summaries.summaries_being_deleted to l9_owner using (true);
comment on policy definer_functions on summaries.summaries_being_deleted is 'Only functions of the owner read and write it.';

create policy definer_upkeep_reads on public.packet_store for select to l9_owner
  using (packet_id in (select d.summary_packet from summaries.summaries_being_deleted d));
create policy definer_upkeep on public.packet_store for delete to l9_owner
  using (packet_id in (select d.summary_packet from summaries.summaries_being_deleted d));
comment on policy definer_upkeep_reads on public.packet_store is
  'Functions of the owner see the summaries that they are about to delete.';
comment on policy definer_upkeep on public.packet_store is
  'Deleting or moving a memory deletes, by a trigger, the summaries that rest on it, also those that the caller does not see.';

create function summaries.delete_summaries(summary_packets uuid[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  if coalesce(cardinality(summary_packets), 0) = 0 then
    return;
  end if;
  insert into summaries.summaries_being_deleted (summary_packet) select distinct s.id from unnest(summary_packets) as s (id)
  on conflict do nothing;
  delete from public.packet_store p where p.packet_id = any (summary_packets);
  delete from summaries.summaries_being_deleted d where d.summary_packet = any (summary_packets);
end
$$;

comment on function summaries.delete_summaries(uuid[]) is
  'Deletes summaries, also those that the caller does not see. Not executable by callers: functions of the owner call it for summaries whose sources were deleted or moved, and for summaries that are replaced.';
--! EndIncluded 180-summaries/040-summaries-being-deleted.sql
--! Included 180-summaries/050-columns-of-summaries.sql
create function summaries.summary_heading(scope_type text, scope_value text)
returns text
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.format('Summary of %s %s', pg_catalog.replace(scope_type, '_', ' '),
  pg_catalog.btrim(pg_catalog.regexp_replace(scope_value, '\s+', ' ', 'g')));

comment on function summaries.summary_heading(text, text) is
  'The first line of the memory of a summary, so that a search for the subject finds it.';

create function public.memory_summaries_summary_text(summary public.memory_summaries)
returns text
language sql
stable
parallel safe
set search_path = ''
return (
  select case
    when pg_catalog.starts_with(t.content, h.heading) then pg_catalog.substr(t.content, pg_catalog.length(h.heading) + 1)
    else t.content end
  from (select p.envelope ->> 'content' as content from public.packet_store p where p.packet_id = (summary).source_packet) t
  cross join (select summaries.summary_heading((summary).scope_type, (summary).scope_value) || e'\n' as heading) h);

create function public.memory_summaries_sources(summary public.memory_summaries)
returns setof public.packet_store
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select p.*
  from public.memory_summary_sources l
  join public.packet_store p on p.packet_id = l.packet_id
  where l.summary_packet = (summary).source_packet
  order by p."timestamp", p.packet_id;
end;

create function public.memory_summaries_source_packet_ids(summary public.memory_summaries)
returns uuid[]
language sql
stable
parallel safe
set search_path = ''
return array(
  select l.packet_id from public.memory_summary_sources l
  where l.summary_packet = (summary).source_packet order by l.packet_id);

create function public.memory_summaries_is_stale(summary public.memory_summaries)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return coalesce((summary).valid_until <= pg_catalog.now(), false) or exists (
  select from public.memory_summary_sources l where l.summary_packet = (summary).source_packet and l.is_changed);

comment on function public.memory_summaries_summary_text(public.memory_summaries) is
  'The text of the summary: the text of its memory without the heading.';
comment on function public.memory_summaries_sources(public.memory_summaries) is
  'The memories that the summary rests on, oldest first.';
comment on function public.memory_summaries_source_packet_ids(public.memory_summaries) is
  'The ids of the memories that the summary rests on.';
comment on function public.memory_summaries_is_stale(public.memory_summaries) is
  'True if the text of a source was changed since the summary was written, or valid_until has passed.';

grant execute on function summaries.summary_heading(text, text) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function
  public.memory_summaries_summary_text(public.memory_summaries), public.memory_summaries_sources(public.memory_summaries),
  public.memory_summaries_source_packet_ids(public.memory_summaries), public.memory_summaries_is_stale(public.memory_summaries)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 180-summaries/050-columns-of-summaries.sql
--! Included 180-summaries/060-audience-of-sources.sql
create type summaries.summary_audience as (
  tenant_id uuid,
  org_id uuid,
  user_id uuid,
  scope text,
  project_id text,
  ttl timestamptz,
  packet_count integer,
  coverage_start timestamptz,
  coverage_end timestamptz
);

comment on type summaries.summary_audience is
  'The audience that may read all of some memories, until when it may, the number of these memories and when they were saved.';

create function summaries.audience_of_sources(ids uuid[])
returns summaries.summary_audience
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  audience summaries.summary_audience;
  scopes text[];
  projects text[];
  orgs uuid[];
  users uuid[];
  tenants uuid[];
begin
  if coalesce(cardinality(ids), 0) = 0 or array_position(ids, null) is not null then
    perform identity.raise_error('L9VAL', 'source_packet_ids: required, the memories that the summary rests on', 'source_packet_ids');
  elsif cardinality(ids) > summaries.max_sources() then
    perform identity.raise_error('L9LIM',
      format('source_packet_ids: at most %s, got %s', summaries.max_sources(), cardinality(ids)), 'source_packet_ids');
  end if;
  -- The lock makes a concurrent transaction that moves a source wait, so that it then finds the summary and deletes it.
  perform from public.packet_store p where p.packet_id = any (ids) and derived.is_source(p) order by p.packet_id for share;
  select array_agg(distinct p.tenant_id), array_agg(distinct p.scope),
    array_agg(distinct p.project_id) filter (where p.project_id is not null),
    array_agg(distinct p.org_id) filter (where p.org_id is not null),
    array_agg(distinct p.user_id) filter (where p.user_id is not null),
    min(p.ttl), count(*), min(p."timestamp"), max(p."timestamp")
  into tenants, scopes, projects, orgs, users, audience.ttl, audience.packet_count, audience.coverage_start, audience.coverage_end
  from public.packet_store p
  where p.packet_id = any (ids) and derived.is_source(p);
  if audience.packet_count < (select count(distinct i.id) from unnest(ids) as i (id)) then
    perform identity.raise_error(
      'L9OWN', 'source_packet_ids: at least one of these memories does not exist, or is not yours', 'source_packet_ids');
  elsif cardinality(tenants) > 1 or cardinality(projects) > 1 or cardinality(orgs) > 1 or cardinality(users) > 1 then
    perform identity.raise_error('L9VAL',
      'source_packet_ids: these memories belong to several projects, orgs or users, and no audience may read all of them; summarise each separately',
      'source_packet_ids');
  end if;
  audience.tenant_id := tenants[1];
  audience.project_id := projects[1];
  audience.org_id := orgs[1];
  audience.user_id := users[1];
  select s.scope into audience.scope
  from unnest(scopes) as s (scope)
  where not exists (select from unnest(scopes) as o (scope) where packets.is_scope_within(s.scope, o.scope) is not true)
    -- A scope without projects is readable in every project.
    and (audience.project_id is null or not exists (
      select from public.packet_store p where p.packet_id = any (ids) and p.scope = s.scope and p.project_id is null))
  order by s.scope
  limit 1;
  if not found then
    perform identity.raise_error('L9VAL', format(
      'source_packet_ids: these memories belong to scopes %s, and the readers of none of them may read all of these memories; summarise each scope separately',
      array_to_string(scopes, ', ')), 'source_packet_ids');
  end if;
  return audience;
end
$$;

comment on function summaries.audience_of_sources(uuid[]) is
  'The narrowest audience of these memories: everyone in it may read all of them. Locks the memories until the end of the transaction. The caller must see them (else L9OWN); L9VAL if there is no such audience. Definer: locks memories of other writers; it sees what the caller sees.';

create function summaries.is_audience_within(memory public.packet_store, audience summaries.summary_audience)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return packets.is_scope_within((memory).scope, (audience).scope)
  and (memory).tenant_id = (audience).tenant_id
  and ((audience).project_id is null or (audience).project_id is not distinct from (memory).project_id)
  and ((audience).org_id is null or (audience).org_id is not distinct from (memory).org_id)
  and ((audience).user_id is null or (audience).user_id is not distinct from (memory).user_id)
  and ((audience).ttl is null or coalesce((memory).ttl <= (audience).ttl, false));

comment on function summaries.is_audience_within(public.packet_store, summaries.summary_audience) is
  'True if everyone who may read this memory may also read everything that this audience reads, for at least as long.';

grant execute on function summaries.audience_of_sources(uuid[]) to l9_agent, l9_admin, l9_worker;
--! EndIncluded 180-summaries/060-audience-of-sources.sql
--! Included 180-summaries/070-follow-sources.sql
create function summaries.tg_packet_store__check_summaries()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  sources uuid[] := array(
    select l.packet_id from public.memory_summary_sources l where l.summary_packet = new.packet_id);
begin
  -- If the memory is a summary itself, all its new readers must be able to read all its sources.
  if cardinality(sources) > 0 and summaries.is_audience_within(new, summaries.audience_of_sources(sources)) is not true then
    perform identity.raise_error('L9VAL',
      'scope: every reader of a summary must be able to read all its sources, for as long as the summary exists', 'scope');
  end if;
  perform summaries.delete_summaries(array(
    select l.summary_packet from public.memory_summary_sources l where l.packet_id = new.packet_id));
  return null;
end
$$;

comment on function summaries.tg_packet_store__check_summaries() is
  'Runs when a memory moves or its expiry changes: refuses to move a summary to readers of fewer than all its sources, and deletes the summaries that rest on the memory; they become due again. Definer: deletes also summaries that the caller does not see.';

call derived.follow_packets('_640_check_summaries', 'summaries.tg_packet_store__check_summaries');

create function summaries.tg_packet_store__mark_summaries_stale()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  update public.memory_summary_sources l set is_changed = true, updated_at = clock_timestamp()
  where l.packet_id = new.packet_id and not l.is_changed;
  return null;
end
$$;

comment on function summaries.tg_packet_store__mark_summaries_stale() is
  'Marks the summaries that rest on a memory as due again when its text changes. Definer: updates also rows that the caller does not see.';

create trigger _645_mark_summaries_stale after update of envelope on public.packet_store
  for each row when (new.content_hash <> old.content_hash)
  execute function summaries.tg_packet_store__mark_summaries_stale();
--! EndIncluded 180-summaries/070-follow-sources.sql
--! Included 180-summaries/080-check-summary.sql
create function summaries.check_summary(
  scope_type text, scope_value text, summary_text text, key_facts text[], key_entities text[], key_decisions text[],
  confidence double precision)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  perform reflection.check_choice(scope_type, summaries.scope_types(), 'scope_type');
  if scope_value is null or scope_value !~ '\S' then
    perform identity.raise_error('L9VAL', 'scope_value: required, the id or name of the thread, agent, topic, …', 'scope_value');
  elsif summary_text is null or summary_text !~ '\S' then
    perform identity.raise_error('L9VAL', 'summary_text: must not be blank', 'summary_text');
  end if;
  perform identity.check_bytes(scope_value, summaries.max_subject_bytes(), 'scope_value'), identity.check_bytes(summary_text, 262144, 'summary_text');
  perform entities.check_confidence(confidence);
  perform reflection.check_texts(key_facts, 'key_facts');
  perform reflection.check_texts(key_entities, 'key_entities');
  perform reflection.check_texts(key_decisions, 'key_decisions');
end
$$;

comment on function summaries.check_summary(text, text, text, text[], text[], text[], double precision) is
  'Raises L9VAL or L9LIM, naming the field, for values that a summary can''t have.';

grant execute on function summaries.check_summary(text, text, text, text[], text[], text[], double precision)
  to l9_agent, l9_admin, l9_worker;
grant execute on function reflection.check_texts(text[], text) to l9_worker;
--! EndIncluded 180-summaries/080-check-summary.sql
--! Included 180-summaries/090-store-summary.sql
create function summaries.store_summary_row(
  packet_id uuid, scope_type text, scope_value text, source_packet_ids uuid[], key_facts text[], key_entities text[],
  key_decisions text[], confidence double precision, valid_until timestamptz)
returns public.memory_summaries
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source public.packet_store := derived.lock_source_memory(store_summary_row.packet_id);
  audience summaries.summary_audience := summaries.audience_of_sources(store_summary_row.source_packet_ids);
  saved public.memory_summaries;
begin
  perform summaries.check_summary(
    store_summary_row.scope_type, store_summary_row.scope_value, source.envelope ->> 'content', store_summary_row.key_facts,
    store_summary_row.key_entities, store_summary_row.key_decisions, store_summary_row.confidence);
  if source.packet_type <> 'summary' or source.packet_id = any (store_summary_row.source_packet_ids) then
    perform identity.raise_error('L9VAL', 'source_packet: must be a memory of kind summary that is not one of its own sources', 'source_packet');
  elsif identity.current_role_name() = 'l9_agent' and source.metadata ->> 'creator' <> identity.current_creator() then
    perform memories.raise_not_yours(source.packet_id);
  elsif summaries.is_audience_within(source, audience) is not true then
    perform identity.raise_error('L9VAL',
      'source_packet: every reader of a summary must be able to read all its sources, for as long as the summary exists', 'source_packet');
  end if;

  -- An expired summary of the subject that is not cleaned up yet would violate the unique index.
  perform summaries.delete_summaries(array(
    select s.source_packet from public.memory_summaries s
    where s.tenant_id = source.tenant_id and s.scope = source.scope and s.project_id is not distinct from source.project_id
      and s.org_id is not distinct from source.org_id and s.user_id is not distinct from source.user_id
      and s.scope_type = store_summary_row.scope_type and s.scope_value = store_summary_row.scope_value
      and s.ttl <= now()));

  insert into public.memory_summaries (
    source_packet, scope_type, scope_value, key_facts, key_entities, key_decisions, packet_count, confidence,
    coverage_start, coverage_end, valid_until)
  values (
    source.packet_id, store_summary_row.scope_type, store_summary_row.scope_value, coalesce(store_summary_row.key_facts, '{}'),
    entities.check_names(store_summary_row.key_entities, 'key_entities'),
    coalesce(store_summary_row.key_decisions, '{}'), audience.packet_count, store_summary_row.confidence,
    audience.coverage_start, audience.coverage_end, store_summary_row.valid_until)
  on conflict do nothing
  returning memory_summaries.* into saved;
  if not found then
    perform identity.raise_error('L9VAL', 'scope_value: already has a summary, or source_packet already is one', 'scope_value');
  end if;
  insert into public.memory_summary_sources (summary_packet, packet_id, tenant_id)
  select distinct saved.source_packet, i.id, saved.tenant_id from unnest(store_summary_row.source_packet_ids) as i (id);
  return saved;
end
$$;

comment on function summaries.store_summary_row(
  uuid, text, text, uuid[], text[], text[], text[], double precision, timestamptz) is
  'Writes the row of a memory of kind summary that the caller wrote (an admin: any), and the list of its sources: memories that the caller sees and that every reader of the summary may read. Definer: callers can''t write memory_summaries.';

grant execute on function summaries.store_summary_row(
  uuid, text, text, uuid[], text[], text[], text[], double precision, timestamptz) to l9_agent, l9_admin;

-- A memory has at most 64 parents, so these are the newest sources. memory_summary_sources has all of them.
create function summaries.newest_sources(ids uuid[])
returns uuid[]
language sql
stable
set search_path = ''
return array(
  select p.packet_id from public.packet_store p where p.packet_id = any (ids)
  order by p."timestamp" desc, p.packet_id desc limit packets.max_parents());

comment on function summaries.newest_sources(uuid[]) is 'The newest 64 of these memories, as far as the caller sees them.';

grant execute on function summaries.newest_sources(uuid[]) to l9_agent, l9_admin;
--! EndIncluded 180-summaries/090-store-summary.sql
--! Included 180-summaries/100-save-summary.sql
create function summaries.lock_summary(audience_id uuid, scope_type text, scope_value text)
returns void
language sql
volatile
set search_path = ''
begin atomic
  select pg_advisory_xact_lock(hashtextextended(format('l9-memory summary %s %s %s', audience_id, scope_type, scope_value), 0));
end;

comment on function summaries.lock_summary(uuid, text, text) is
  'Locks the summary of a subject until the end of the transaction: of two concurrent calls the second waits and replaces the summary of the first.';

create function public.save_summary(
  scope_type text,
  scope_value text,
  summary_text text,
  source_packet_ids uuid[],
  key_facts text[] default '{}',
  key_entities text[] default '{}',
  key_decisions text[] default '{}',
  confidence double precision default 0.8,
  valid_until timestamptz default null
)
returns public.memory_summaries
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  wanted_confidence double precision := coalesce(save_summary.confidence, 0.8);
  audience summaries.summary_audience;
  former_packet uuid;
  packet_id uuid;
begin
  perform summaries.check_summary(
    save_summary.scope_type, save_summary.scope_value, summary_text, save_summary.key_facts, save_summary.key_entities,
    save_summary.key_decisions, wanted_confidence);
  if save_summary.valid_until <= now() then
    perform identity.raise_error('L9VAL', 'valid_until: must be in the future', 'valid_until');
  end if;
  audience := summaries.audience_of_sources(source_packet_ids);
  if audience.org_id <> me.org_id or audience.user_id <> me.user_id
    or audience.org_id is not null and me.org_id is null or audience.user_id is not null and me.user_id is null then
    perform identity.raise_error('L9VAL',
      'source_packet_ids: these memories belong to an org or user that you do not act for, so that others could read the summary', 'source_packet_ids');
  end if;
  perform packets.check_scope(audience.scope, audience.project_id);

  perform summaries.lock_summary(
    packets.audience_id(me.tenant_id, me.org_id, me.user_id, audience.project_id, audience.scope), save_summary.scope_type,
    save_summary.scope_value);
  select s.source_packet into former_packet
  from public.memory_summaries s
  where s.tenant_id = me.tenant_id and s.scope = audience.scope and s.project_id is not distinct from audience.project_id
    and s.org_id is not distinct from me.org_id and s.user_id is not distinct from me.user_id
    and s.scope_type = save_summary.scope_type and s.scope_value = save_summary.scope_value;
  if former_packet = any (source_packet_ids) then
    perform identity.raise_error(
      'L9VAL', 'source_packet_ids: names the summary that this one replaces; name the sources of that summary instead', 'source_packet_ids');
  elsif former_packet is not null then
    delete from public.packet_store p where p.packet_id = former_packet;
    if not found then
      perform identity.raise_error('L9OWN', 'scope_value: has a summary that another agent wrote, which you can''t replace', 'scope_value');
    end if;
  end if;

  packet_id := (public.save_memory(
    summaries.summary_heading(save_summary.scope_type, save_summary.scope_value) || e'\n' || summary_text,
    scope => audience.scope, project_id => audience.project_id, kind => 'summary', ttl => audience.ttl,
    parent_ids => summaries.newest_sources(source_packet_ids))).memory.packet_id;
  return summaries.store_summary_row(
    packet_id, save_summary.scope_type, save_summary.scope_value, source_packet_ids, save_summary.key_facts,
    save_summary.key_entities, save_summary.key_decisions, wanted_confidence, save_summary.valid_until);
end
$$;

comment on function public.save_summary(
  text, text, text, uuid[], text[], text[], text[], double precision, timestamptz) is
  'Saves the summary of a subject (scope_type and scope_value) as a memory of kind summary, and replaces the existing summary of that subject. Its audience is computed: only callers that may read every one of source_packet_ids (at most 500) can read the summary, and no longer than they can read these. If no scope has exactly these readers, L9VAL. Agents can replace only summaries that they wrote (else L9OWN). scope_type: thread, agent, topic, time_period, project or task. Errors: L9SCP, L9OWN, L9VAL, L9LIM, L9AUT.';

grant execute on function
  summaries.lock_summary(uuid, text, text),
  public.save_summary(text, text, text, uuid[], text[], text[], text[], double precision, timestamptz)
to l9_agent, l9_admin;
--! EndIncluded 180-summaries/100-save-summary.sql
--! Included 180-summaries/110-find-due.sql
create type summaries.due_for_audience as (
  tenant_id uuid,
  org_id uuid,
  user_id uuid,
  scope text,
  project_id text,
  scope_type text,
  scope_value text,
  reason text,
  new_packets integer,
  packet_count integer,
  summary_id uuid,
  coverage_start timestamptz,
  coverage_end timestamptz,
  valid_until timestamptz,
  source_packet_ids uuid[]
);

comment on type summaries.due_for_audience is 'A summary that is due, and the audience that it is for.';

create function summaries.summary_threshold(scope_type text)
returns integer
language sql
immutable
parallel safe
return case scope_type when 'task' then 5 when 'thread' then 10 when 'topic' then 20 when 'time_period' then 20 else 50 end;

comment on function summaries.summary_threshold(text) is
  'The number of new memories that makes a summary due by default: task 5, thread 10, topic 20, week 20, agent 50, project 50.';

create function summaries.summary_subjects(memory public.packet_store)
returns table (scope_type text, scope_value text)
language sql
immutable
parallel safe
begin atomic
  select s.scope_type, s.scope_value
  from (values
    ('thread', (memory).thread_id), ('agent', (memory).metadata ->> 'creator'), ('project', (memory).project_id),
    ('task', (memory).correlation_id),
    ('time_period', to_char((memory)."timestamp" at time zone 'UTC', 'IYYY-"W"IW'))) as s (scope_type, scope_value)
  where s.scope_value ~ '\S' and octet_length(s.scope_value) <= summaries.max_subject_bytes()
  union all
  select 'topic', t.tag from unnest((memory).tags) as t (tag);
end;

comment on function summaries.summary_subjects(public.packet_store) is
  'The subjects whose summaries a memory belongs to: its thread, its creator, its tags, the ISO week in which it was saved (UTC), its project, and the task that its correlation_id names.';

create function summaries.find_due(
  me identity.identity, target_tenant uuid, types text[], only_value text, only_project text, min_packets integer,
  max_sources integer, k integer)
returns setof summaries.due_for_audience
language plpgsql
stable
set search_path = ''
set max_parallel_workers_per_gather = 0
as $$
#variable_conflict use_column
declare
  -- Only the newest memories are scanned, because summaries of active subjects are the useful ones. Older memories are found when
  -- the call names their thread or project.
  scan_limit constant integer := 20000;
begin
  return query
  with recent as materialized (
    select p.packet_id, p."timestamp", p.scope, p.project_id, s.scope_type, s.scope_value,
      case when me.caller is not null then me.org_id else p.org_id end as org_id,
      case when me.caller is not null then me.user_id else p.user_id end as user_id
    from (
      select p.* from public.packet_store p
      where p.tenant_id = target_tenant and p.packet_type <> 'summary' and (p.ttl is null or p.ttl > now())
        and (me.caller is null
          or p.scope = any (me.writable_scopes)
            -- An admin also sees memories of other orgs and users, but a summary of them could be read by the wrong ones.
            and (p.org_id is null or p.org_id = me.org_id) and (p.user_id is null or p.user_id = me.user_id))
        and (only_project is null or p.project_id = only_project)
        and (only_value is null or types is distinct from '{thread}' or p.thread_id = only_value)
      order by p."timestamp" desc
      limit scan_limit
    ) p
    cross join lateral summaries.summary_subjects(p) s
    where (types is null or s.scope_type = any (types)) and (only_value is null or s.scope_value = only_value)
  ), current as (
    select s.*,
      exists (
        select from public.memory_summary_sources l where l.summary_packet = s.source_packet and l.is_changed) as is_changed
    from public.memory_summaries s
    where s.tenant_id = target_tenant
      and (me.caller is null or s.org_id is not distinct from me.org_id and s.user_id is not distinct from me.user_id)
  ), grouped as (
    select l.org_id, l.user_id, l.scope, l.project_id, l.scope_type, l.scope_value,
      count(*)::integer as packet_count,
      (count(*) filter (where c.summary_id is null or l."timestamp" > c.coverage_end))::integer as new_packets,
      (array_agg(l.packet_id order by l."timestamp" desc, l.packet_id desc))[1:max_sources] as sources
    from recent l
    left join current c on c.scope_type = l.scope_type and c.scope_value = l.scope_value and c.scope = l.scope
      and c.project_id is not distinct from l.project_id and c.org_id is not distinct from l.org_id
      and c.user_id is not distinct from l.user_id
    group by l.org_id, l.user_id, l.scope, l.project_id, l.scope_type, l.scope_value
  ), evaluated as (
    select g.*, c.summary_id, c.coverage_start, c.coverage_end, c.valid_until, c.creator,
      case
        when c.is_changed then 'changed'
        when c.valid_until <= now() then 'valid_until'
        when g.new_packets < coalesce(min_packets, summaries.summary_threshold(g.scope_type)) then null
        when c.summary_id is null then 'none'
        else 'packets'
      end as reason
    from grouped g
    left join current c on c.scope_type = g.scope_type and c.scope_value = g.scope_value and c.scope = g.scope
      and c.project_id is not distinct from g.project_id and c.org_id is not distinct from g.org_id
      and c.user_id is not distinct from g.user_id
  )
  select target_tenant, e.org_id, e.user_id, e.scope, e.project_id, e.scope_type, e.scope_value, e.reason, e.new_packets,
    e.packet_count, e.summary_id, e.coverage_start, e.coverage_end, e.valid_until, e.sources
  from evaluated e
  where e.reason is not null
    -- A summary of another agent is replaced by that agent, by admins or by the background job.
    and (me.caller is null or me.role = 'l9_admin' or e.summary_id is null or e.creator = me.creator)
  order by e.reason in ('changed', 'valid_until') desc, e.new_packets desc, e.scope_type, e.scope_value, e.scope, e.project_id
  limit k;
end
$$;

comment on function summaries.find_due(
  identity.identity, uuid, text[], text, text, integer, integer, integer) is
  'Summaries that are due in a tenant: for the audiences that this identity writes for or, without a caller (for jobs), for all. Scans the newest 20,000 memories and groups them by audience, so that no due summary contains memories that its readers may not read. Runs with the rights of the caller.';

grant execute on function
  summaries.summary_threshold(text), summaries.summary_subjects(public.packet_store),
  summaries.find_due(identity.identity, uuid, text[], text, text, integer, integer, integer)
to l9_agent, l9_admin, l9_worker;
--! EndIncluded 180-summaries/110-find-due.sql
--! Included 180-summaries/120-due-summaries.sql
create type public.due_summary as (
  scope_type text,
  scope_value text,
  scope text,
  project_id text,
  reason text,
  new_packets integer,
  packet_count integer,
  summary_id uuid,
  coverage_start timestamptz,
  coverage_end timestamptz,
  valid_until timestamptz,
  source_packet_ids uuid[]
);

comment on type public.due_summary is 'A summary that is due.';
comment on column public.due_summary.scope_type is 'The type of the subject: thread, agent, topic, time_period, project or task.';
comment on column public.due_summary.scope_value is
  'The subject: a thread_id, a creator, a tag, an ISO week such as 2026-W47, a project_id or a correlation_id.';
comment on column public.due_summary.scope is 'The scope of the memories, which the summary will have.';
comment on column public.due_summary.project_id is 'The project of the memories; null in scope global.';
comment on column public.due_summary.coverage_start is
  'The time when the oldest source of the existing summary was saved; null if there is none.';
comment on column public.due_summary.coverage_end is
  'The time when the newest source of the existing summary was saved; null if there is none.';
comment on column public.due_summary.valid_until is 'The time from which the existing summary is due by time alone.';
comment on column public.due_summary.reason is
  'The reason why the summary is due. none: there is no summary yet; packets: enough memories were added; changed: the text of a source was changed; valid_until: that time has passed.';
comment on column public.due_summary.new_packets is 'The number of memories added since the existing summary.';
comment on column public.due_summary.packet_count is 'The number of memories of the subject.';
comment on column public.due_summary.summary_id is 'The existing summary; null if there is none.';
comment on column public.due_summary.source_packet_ids is
  'The memories to summarise, newest first: the argument of save_summary().';

create function public.due_summaries(
  scope_types text[] default null,
  scope_value text default null,
  project_id text default null,
  min_packets integer default null,
  max_sources integer default 100,
  k integer default 20
)
returns setof public.due_summary
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_variable
declare
  me identity.identity := identity.require_identity();
  one_type text;
begin
  foreach one_type in array coalesce(scope_types, '{}') loop
    perform reflection.check_choice(one_type, summaries.scope_types(), 'scope_types');
  end loop;
  if min_packets < 1 then
    perform identity.raise_error('L9VAL', 'min_packets: must be 1 or more', 'min_packets');
  elsif max_sources is null or max_sources not between 1 and summaries.max_sources() then
    perform identity.raise_error('L9VAL', format('max_sources: must be from 1 to %s', summaries.max_sources()), 'max_sources');
  elsif k is null or k not between 1 and 100 then
    perform identity.raise_error('L9VAL', 'k: must be from 1 to 100', 'k');
  end if;
  return query
  select d.scope_type, d.scope_value, d.scope, d.project_id, d.reason, d.new_packets, d.packet_count, d.summary_id,
    d.coverage_start, d.coverage_end, d.valid_until, d.source_packet_ids
  from summaries.find_due(me, me.tenant_id, scope_types, scope_value, project_id, min_packets, max_sources, k) d;
end
$$;

comment on function public.due_summaries(text[], text, text, integer, integer, integer) is
  'Summaries that are due in the scopes where the caller writes: there is none yet and there are enough memories, enough memories were added, a source was changed, or valid_until has passed. min_packets: the number of memories that is enough; by default task 5, thread 10, topic 20, week 20, agent 50, project 50. source_packet_ids has the newest max_sources (1 to 500). Scans the newest 20,000 memories. Errors: L9VAL, L9AUT.';

grant execute on function public.due_summaries(text[], text, text, integer, integer, integer) to l9_agent, l9_admin;
--! EndIncluded 180-summaries/120-due-summaries.sql
--! Included 180-summaries/130-summarize.sql
create type public.summarize_result as (status text, summary public.memory_summaries, due jsonb);

comment on type public.summarize_result is
  'The result of summarize(): the status, and either the saved summary or the due ones with their sources.';
comment on column public.summarize_result.status is 'saved, due or nothing_due.';
comment on column public.summarize_result.summary is 'The summary that was saved.';
comment on column public.summarize_result.due is 'The summaries that are due, each with the texts of its sources.';

create function summaries.sources_within(ids uuid[], max_tokens integer)
returns jsonb
language sql
stable
set search_path = ''
begin atomic
  with sources as (
    select p.packet_id, p.packet_type, p.scope, p.project_id, p."timestamp", p.metadata ->> 'creator' as creator,
      p.envelope ->> 'content' as content,
      row_number() over (order by p."timestamp" desc, p.packet_id desc) as place,
      count(*) over () as number
    from public.packet_store p
    where p.packet_id = any (ids)
  ), trimmed as (
    select s.*, left(s.content, t.share) as shown, length(s.content) > t.share as is_truncated,
      sum(40 + search.token_estimate(left(s.content, t.share))) over (order by s.place) as used
    from sources s
    -- Each source gets an equal share of characters, at least 240. If even that is too much, the newest sources are kept.
    cross join lateral (select greatest(240, (3 * max_tokens / s.number - 120)::integer) as share) t
  )
  select coalesce(jsonb_agg(jsonb_build_object(
    'packet_id', t.packet_id, 'content', t.shown, 'is_truncated', t.is_truncated, 'kind', t.packet_type, 'scope', t.scope,
    'project_id', t.project_id, 'creator', t.creator, 'timestamp', t."timestamp") order by t.place desc), '[]')
  from trimmed t
  where t.place <= 100 and (t.place = 1 or t.used <= max_tokens);
end;

comment on function summaries.sources_within(uuid[], integer) is
  'The texts of those of these memories that the caller may read, oldest first, trimmed to about max_tokens tokens in all; at most the newest 100.';

create function public.summarize(
  scope_type text default null,
  scope_value text default null,
  summary_text text default null,
  source_packet_ids uuid[] default null,
  key_facts text[] default '{}',
  key_entities text[] default '{}',
  key_decisions text[] default '{}',
  confidence double precision default 0.8,
  valid_until timestamptz default null,
  project_id text default null,
  k integer default 1,
  max_tokens integer default 8000
)
returns public.summarize_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_variable
declare
  result public.summarize_result;
  shown_ids jsonb;
begin
  if summary_text is not null then
    result.summary := public.save_summary(
      scope_type, scope_value, summary_text, source_packet_ids, key_facts, key_entities, key_decisions, confidence, valid_until);
    result.status := 'saved';
    return result;
  elsif max_tokens is null or max_tokens not between 500 and 1000000 then
    perform identity.raise_error('L9VAL', 'max_tokens: must be from 500 to 1000000', 'max_tokens');
  elsif k is null or k not between 1 and 20 then
    perform identity.raise_error('L9VAL', 'k: must be from 1 to 20', 'k');
  end if;

  select coalesce(jsonb_agg(
    to_jsonb(d) - 'source_packet_ids' - 'place' || jsonb_build_object('sources', summaries.sources_within(d.source_packet_ids, max_tokens / k))
    order by d.place), '[]')
  into result.due
  from public.due_summaries(
    case when scope_type is not null then array[scope_type] end, scope_value, project_id,
    -- A caller that names a subject gets it, however few memories it has.
    case when scope_value is not null then 1 end, 100, k
  ) with ordinality as d (
    scope_type, scope_value, scope, project_id, reason, new_packets, packet_count, summary_id, coverage_start, coverage_end,
    valid_until, source_packet_ids, place);
  result.status := case when result.due = '[]' then 'nothing_due' else 'due' end;

  -- The audit row lists the memories whose texts were returned, as for every read.
  shown_ids := jsonb_path_query_array(result.due, '$[*].sources[*].packet_id');
  perform audit.audit_read('READ', jsonb_build_object('ids', shown_ids, 'scope_type', scope_type));
  return result;
end
$$;

comment on function public.summarize(
  text, text, text, uuid[], text[], text[], text[], double precision, timestamptz, text, integer, integer) is
  'Without summary_text: the summaries that are due (optionally only of this scope_type, scope_value and project_id), k of them (1 to 20), with the texts of their sources trimmed to about max_tokens tokens. With summary_text: calls save_summary(). Writes an audit row. Errors: as for save_summary().';

grant execute on function
  summaries.sources_within(uuid[], integer),
  public.summarize(
    text, text, text, uuid[], text[], text[], text[], double precision, timestamptz, text, integer, integer)
to l9_agent, l9_admin;

create function summaries.summary_json(summary public.memory_summaries)
returns jsonb
language sql
-- Volatile, so that it sees a memory that the same statement has just saved.
volatile
set search_path = ''
return case when (summary).summary_id is not null then pg_catalog.jsonb_build_object(
  'summary_id', (summary).summary_id,
  'packet_id', (summary).source_packet,
  'scope_type', (summary).scope_type,
  'scope_value', (summary).scope_value,
  'summary_text', public.memory_summaries_summary_text(summary),
  'key_facts', (summary).key_facts,
  'key_entities', (summary).key_entities,
  'key_decisions', (summary).key_decisions,
  'source_packet_ids', public.memory_summaries_source_packet_ids(summary),
  'packet_count', (summary).packet_count,
  'confidence', (summary).confidence,
  'scope', (summary).scope,
  'project_id', (summary).project_id,
  'coverage_start', (summary).coverage_start,
  'coverage_end', (summary).coverage_end,
  'valid_until', (summary).valid_until) end;

comment on function summaries.summary_json(public.memory_summaries) is
  'A summary as the gateway returns it, with the text of its memory.';

grant execute on function summaries.summary_json(public.memory_summaries) to l9_agent, l9_admin;
--! EndIncluded 180-summaries/130-summarize.sql
--! Included 180-summaries/140-summary-job.sql
create policy definer_job_writes on public.packet_store for insert to l9_owner
  with check ((select packets.is_job_writing()) and packet_type = 'summary');
comment on policy definer_job_writes on public.packet_store is
  'Functions of the owner save summaries for background jobs. Functions that agents and admins call save nothing under this policy.';

create function summaries.due_summaries_for_job(max_rows integer default 10, max_sources integer default 100)
returns setof summaries.due_for_audience
language sql
stable
security definer
set search_path = ''
begin atomic
  select d.*
  from public.tenants t
  cross join lateral summaries.find_due(null, t.tenant_id, null, null, null, null, least(max_sources, summaries.max_sources()), max_rows) d
  where t.is_active and identity.current_role_name() = 'l9_worker'
  order by d.reason in ('changed', 'valid_until') desc, d.new_packets desc
  limit max_rows;
end;

comment on function summaries.due_summaries_for_job(integer, integer) is
  'Due summaries of every audience of every active tenant, for the background job that writes summaries (role l9_worker); otherwise like due_summaries(). Definer: reads tenants.';

create function summaries.store_summary(
  scope_type text, scope_value text, summary_text text, source_packet_ids uuid[], key_facts text[] default '{}',
  key_entities text[] default '{}', key_decisions text[] default '{}', confidence double precision default 0.8,
  valid_until timestamptz default null, model text default null)
returns public.memory_summaries
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  audience summaries.summary_audience;
  packet_id uuid;
begin
  if identity.current_role_name() <> 'l9_worker' then
    perform identity.raise_error('L9SCP', 'store_summary: only background jobs may call it; call save_summary()');
  end if;
  perform summaries.check_summary(
    store_summary.scope_type, store_summary.scope_value, summary_text, store_summary.key_facts, store_summary.key_entities,
    store_summary.key_decisions, store_summary.confidence);
  audience := summaries.audience_of_sources(source_packet_ids);
  perform summaries.lock_summary(
    packets.audience_id(audience.tenant_id, audience.org_id, audience.user_id, audience.project_id, audience.scope), store_summary.scope_type,
    store_summary.scope_value);
  perform summaries.delete_summaries(array(
    select s.source_packet from public.memory_summaries s
    where s.tenant_id = audience.tenant_id and s.scope = audience.scope and s.project_id is not distinct from audience.project_id
      and s.org_id is not distinct from audience.org_id and s.user_id is not distinct from audience.user_id
      and s.scope_type = store_summary.scope_type and s.scope_value = store_summary.scope_value));

  insert into public.packet_store as p (
    packet_type, envelope, metadata, parent_ids, ttl, project_id, scope, tenant_id, org_id, user_id, "timestamp", updated_at)
  values (
    'summary',
    jsonb_build_object('content',
      summaries.summary_heading(store_summary.scope_type, store_summary.scope_value) || e'\n' || summary_text),
    jsonb_strip_nulls(jsonb_build_object('creator', 'job', 'source', 'l9-memory', 'agent', 'job', 'model', store_summary.model)),
    summaries.newest_sources(source_packet_ids), audience.ttl, audience.project_id, audience.scope, audience.tenant_id, audience.org_id, audience.user_id,
    clock_timestamp(), clock_timestamp())
  on conflict do nothing
  returning p.packet_id into packet_id;
  if packet_id is null then
    perform identity.raise_error('L9VAL', 'summary_text: a memory of kind summary with the same text exists', 'summary_text');
  end if;
  return summaries.store_summary_row(
    packet_id, store_summary.scope_type, store_summary.scope_value, source_packet_ids, store_summary.key_facts,
    store_summary.key_entities, store_summary.key_decisions, store_summary.confidence, store_summary.valid_until);
end
$$;

comment on function summaries.store_summary(
  text, text, text, uuid[], text[], text[], text[], double precision, timestamptz, text) is
  'Saves a summary for the background job (role l9_worker): for the narrowest audience of the sources, with creator job, and in place of the existing summary, whoever wrote it. Otherwise like save_summary(). Definer: jobs can''t write memories.';

grant execute on function
  summaries.due_summaries_for_job(integer, integer),
  summaries.store_summary(
    text, text, text, uuid[], text[], text[], text[], double precision, timestamptz, text)
to l9_worker;
--! EndIncluded 180-summaries/140-summary-job.sql
--! Included 190-extraction/000-schema.sql
create schema extraction;
comment on schema extraction is
  'Facts and relationships that a chat model finds, and its token budget. The helpers are not exposed over GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema extraction to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 190-extraction/000-schema.sql
--! Included 190-extraction/010-extraction-settings.sql
create function extraction.are_kinds(kinds text[])
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return not exists (
  select from pg_catalog.unnest(kinds) as k (kind) where k.kind is null or k.kind !~ packets.kind_pattern());

comment on function extraction.are_kinds(text[]) is 'True if each of these texts can be a kind of memory: a lower-case word of at most 63 characters.';

create function extraction.is_budget(tokens_per_day bigint)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
-- A single call may cost 50,000 tokens; with a smaller budget some memories would never be read.
return tokens_per_day between 50000 and 1000000000000;

comment on function extraction.is_budget(bigint) is 'True if a tenant may have this budget of tokens a day: from 50000 to 10^12.';

create table public.extraction_settings (
  tenant_id uuid primary key references public.tenants,
  is_enabled boolean not null default false,
  kinds text[] not null default '{}',
  scopes text[] not null default '{developer,global}',
  writes_summaries boolean not null default false,
  tokens_per_day bigint not null default 200000,
  updated_at timestamptz not null default now(),
  constraint extraction_kinds_plain check (cardinality(kinds) <= 64 and extraction.are_kinds(kinds)),
  constraint extraction_scopes_at_most_64 check (cardinality(scopes) <= 64 and array_position(scopes, null) is null),
  constraint extraction_budget_of_a_call check (extraction.is_budget(tokens_per_day))
);

comment on table public.extraction_settings is
  'Which memories of a tenant a chat model may read, and for how many tokens a day. Without a row it may read nothing. set_extraction_settings() writes this table.';
comment on column public.extraction_settings.tenant_id is 'The tenant.';
comment on column public.extraction_settings.is_enabled is
  'Whether a chat model extracts entities, facts and relationships from new memories.';
comment on column public.extraction_settings.kinds is 'The kinds of memories that are read for extraction.';
comment on column public.extraction_settings.scopes is
  'The scopes whose memories a model may read. A memory of any other scope is never sent to a model, so private scopes must be named here.';
comment on column public.extraction_settings.writes_summaries is
  'Whether a chat model writes due summaries of memories in these scopes, whatever their kinds.';
comment on column public.extraction_settings.tokens_per_day is
  'The token budget of extraction and summaries together, for each day in UTC.';
comment on column public.extraction_settings.updated_at is 'When the settings last changed.';

alter table public.extraction_settings enable row level security;
alter table public.extraction_settings force row level security;

create policy tenant_isolation on public.extraction_settings as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.extraction_settings for select to l9_admin
  using ((select identity.has_every_scope()));
create policy platform_override on public.extraction_settings for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('extraction_settings')));
create policy worker_access on public.extraction_settings for select to l9_worker using (true);
create policy definer_functions on public.extraction_settings to l9_owner using (true);

comment on policy tenant_isolation on public.extraction_settings is 'Callers read only settings of their own tenant.';
comment on policy scope_access on public.extraction_settings is
  'Only admins of every scope read settings, because they name scopes that others must not learn of.';
comment on policy platform_override on public.extraction_settings is
  'Operators read settings of all tenants; each such read is audited.';
comment on policy worker_access on public.extraction_settings is 'Jobs read the settings before each call of a model.';
comment on policy definer_functions on public.extraction_settings is
  'set_extraction_settings() writes settings, and triggers of packet_store read them.';

grant select on public.extraction_settings to l9_admin, l9_platform_admin, l9_worker;
-- No role may insert, update or delete: set_extraction_settings() checks the values and writes an audit row.

create trigger _500_audit after insert or update on public.extraction_settings
  for each row execute function administration.tg__audit_identity(
    '', 'is_enabled', 'kinds', 'scopes', 'writes_summaries', 'tokens_per_day');
--! EndIncluded 190-extraction/010-extraction-settings.sql
--! Included 190-extraction/020-set-extraction-settings.sql
create function public.set_extraction_settings(
  is_enabled boolean default null,
  kinds text[] default null,
  scopes text[] default null,
  writes_summaries boolean default null,
  tokens_per_day bigint default null,
  tenant_id uuid default null
)
returns public.extraction_settings
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(set_extraction_settings.tenant_id);
  saved public.extraction_settings;
  unknown_scope text;
begin
  perform administration.require_whole_token(admin);
  if cardinality(set_extraction_settings.kinds) > 64 then
    perform identity.raise_error('L9LIM', 'kinds: at most 64', 'kinds');
  elsif not extraction.are_kinds(set_extraction_settings.kinds) then
    perform identity.raise_error('L9VAL', 'kinds: must be lower-case words of letters, digits and _, at most 63 characters each', 'kinds');
  elsif cardinality(set_extraction_settings.scopes) > 64 then
    perform identity.raise_error('L9LIM', 'scopes: at most 64', 'scopes');
  elsif not extraction.is_budget(set_extraction_settings.tokens_per_day) then
    perform identity.raise_error('L9VAL', 'tokens_per_day: must be from 50000 (the most that one call can cost) to 10^12', 'tokens_per_day');
  end if;
  select n.scope into unknown_scope
  from unnest(set_extraction_settings.scopes) as n (scope)
  where not exists (select from public.scopes s where s.tenant_id = admin.target_tenant_id and s.scope = n.scope)
  limit 1;
  if found then
    perform identity.raise_error('L9VAL', 'scopes: must be existing scopes of the tenant', 'scopes');
  end if;

  insert into public.extraction_settings (tenant_id) values (admin.target_tenant_id) on conflict do nothing;
  update public.extraction_settings s
  set is_enabled = coalesce(set_extraction_settings.is_enabled, s.is_enabled),
    kinds = array(select distinct k.kind from unnest(coalesce(set_extraction_settings.kinds, s.kinds)) as k (kind) order by 1),
    scopes = array(select distinct n.scope from unnest(coalesce(set_extraction_settings.scopes, s.scopes)) as n (scope) order by 1),
    writes_summaries = coalesce(set_extraction_settings.writes_summaries, s.writes_summaries),
    tokens_per_day = coalesce(set_extraction_settings.tokens_per_day, s.tokens_per_day),
    updated_at = clock_timestamp()
  where s.tenant_id = admin.target_tenant_id
  returning s.* into saved;
  return saved;
end
$$;

comment on function public.set_extraction_settings(boolean, text[], text[], boolean, bigint, uuid) is
  'Changes the given settings of what a chat model may read in a tenant, from the next save on; null leaves a setting unchanged. kinds: kinds of memories to extract facts and relationships from, at most 64. scopes: existing scopes of the tenant, at most 64; a memory of any other scope is never sent to a model, so private scopes must be named. writes_summaries: whether a model also writes due summaries. tokens_per_day: the budget of all calls, from 50000 to 10^12. For admins with a whole token. Audited. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: only this function writes settings.';

grant execute on function public.set_extraction_settings(boolean, text[], text[], boolean, bigint, uuid)
  to l9_admin, l9_platform_admin;
--! EndIncluded 190-extraction/020-set-extraction-settings.sql
--! Included 190-extraction/030-extraction-usage.sql
create table public.extraction_usage (
  tenant_id uuid not null references public.tenants,
  day date not null,
  calls bigint not null default 0,
  failed_calls bigint not null default 0,
  prompt_tokens bigint not null default 0,
  completion_tokens bigint not null default 0,
  reserved_tokens bigint not null default 0,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, day),
  constraint usage_not_negative check (
    calls >= 0 and failed_calls >= 0 and prompt_tokens >= 0 and completion_tokens >= 0 and reserved_tokens >= 0)
);

comment on table public.extraction_usage is
  'Tokens and calls of chat models, one row for each tenant and day. Only jobs write this table.';
comment on column public.extraction_usage.tenant_id is 'The tenant.';
comment on column public.extraction_usage.day is 'The day, in UTC.';
comment on column public.extraction_usage.calls is 'The number of calls.';
comment on column public.extraction_usage.failed_calls is 'The number of calls without a usable answer.';
comment on column public.extraction_usage.prompt_tokens is 'Tokens sent, as counted by the provider.';
comment on column public.extraction_usage.completion_tokens is 'Tokens received, as counted by the provider.';
comment on column public.extraction_usage.reserved_tokens is
  'The most that running calls can cost, plus the reservations of calls whose cost is unknown because the provider or the job failed.';
comment on column public.extraction_usage.updated_at is 'When a call last started or ended.';

alter table public.extraction_usage enable row level security;
alter table public.extraction_usage force row level security;

create policy tenant_isolation on public.extraction_usage as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.extraction_usage for select to l9_admin
  using ((select identity.has_every_scope()));
create policy platform_override on public.extraction_usage for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('extraction_usage')));
create policy worker_access on public.extraction_usage to l9_worker using (true);

comment on policy tenant_isolation on public.extraction_usage is 'Callers read only usage of their own tenant.';
comment on policy scope_access on public.extraction_usage is
  'Only admins of every scope read usage, because it adds up all scopes.';
comment on policy platform_override on public.extraction_usage is
  'Operators read usage of all tenants; each such read is audited.';
comment on policy worker_access on public.extraction_usage is 'Jobs reserve and count tokens.';

grant select on public.extraction_usage to l9_admin, l9_platform_admin, l9_worker;
grant insert (tenant_id, day), update (calls, failed_calls, prompt_tokens, completion_tokens, reserved_tokens, updated_at)
  on public.extraction_usage to l9_worker;
--! EndIncluded 190-extraction/030-extraction-usage.sql
--! Included 190-extraction/040-reserve-tokens.sql
create function extraction.is_active_tenant(tenant_id uuid)
returns boolean
language sql
stable
security definer
set search_path = ''
return exists (select from public.tenants t where t.tenant_id = is_active_tenant.tenant_id and t.is_active);

comment on function extraction.is_active_tenant(uuid) is
  'True if the tenant is active; jobs do nothing for inactive tenants. For jobs. Definer: reads tenants, which jobs can''t read.';

create function extraction.reserve_tokens(tenant_id uuid, tokens bigint)
returns date
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  today constant date := (now() at time zone 'utc')::date;
begin
  insert into public.extraction_usage (tenant_id, day) values (reserve_tokens.tenant_id, today) on conflict do nothing;
  -- A concurrent call waits for this row lock and then sees what is reserved here.
  update public.extraction_usage u
  set calls = u.calls + 1, reserved_tokens = u.reserved_tokens + greatest(tokens, 0), updated_at = clock_timestamp()
  from public.extraction_settings s
  where u.tenant_id = reserve_tokens.tenant_id and u.day = today and s.tenant_id = u.tenant_id
    and (s.is_enabled or s.writes_summaries) and extraction.is_active_tenant(u.tenant_id)
    and u.prompt_tokens + u.completion_tokens + u.reserved_tokens + greatest(tokens, 0) <= s.tokens_per_day;
  return case when found then today end;
end
$$;

comment on function extraction.reserve_tokens(uuid, bigint) is
  'Reserves the most that a call can cost and returns the day of the reservation, for record_token_usage(). Null: the budget of the day is too small, or the tenant is inactive or has neither extraction nor summaries enabled.';

create function extraction.record_token_usage(
  tenant_id uuid, day date, reserved bigint, prompt_tokens bigint, completion_tokens bigint, has_failed boolean default false)
returns void
language sql
volatile
set search_path = ''
begin atomic
  update public.extraction_usage u
  set reserved_tokens = u.reserved_tokens
      - case when record_token_usage.prompt_tokens is null then 0 else least(greatest(reserved, 0), u.reserved_tokens) end,
    -- Counts of the provider are clamped, so a negative count can't give tokens back.
    prompt_tokens = u.prompt_tokens + least(greatest(coalesce(record_token_usage.prompt_tokens, 0), 0), 1000000000),
    completion_tokens = u.completion_tokens + least(greatest(coalesce(record_token_usage.completion_tokens, 0), 0), 1000000000),
    failed_calls = u.failed_calls + has_failed::integer,
    updated_at = clock_timestamp()
  where u.tenant_id = record_token_usage.tenant_id and u.day = record_token_usage.day;
end;

comment on function extraction.record_token_usage(uuid, date, bigint, bigint, bigint, boolean) is
  'Replaces the reservation of a call by its real cost. prompt_tokens null: the cost is unknown, and the reservation stays.';

grant execute on function
  extraction.is_active_tenant(uuid), extraction.reserve_tokens(uuid, bigint), extraction.record_token_usage(uuid, date, bigint, bigint, bigint, boolean)
to l9_worker;
--! EndIncluded 190-extraction/040-reserve-tokens.sql
--! Included 190-extraction/050-pending-extractions.sql
create table extraction.pending_extractions (
  packet_id uuid primary key references public.packet_store on delete cascade,
  enqueued_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  leased_until timestamptz,
  given_up_at timestamptz,
  last_error text,
  constraint pending_extraction_error_is_a_name check (tasks.is_error_name(last_error))
);

create index pending_extractions_due_idx on extraction.pending_extractions (next_attempt_at) where given_up_at is null;

comment on table extraction.pending_extractions is
  'Queue of memories that a chat model has to read. A row is inserted in the transaction of the save, and deleted in the transaction that stores the answer, or when the tenant no longer wants the memory read.';
comment on column extraction.pending_extractions.attempts is 'The number of answers that were not usable.';
comment on column extraction.pending_extractions.leased_until is
  'End of the lease of the job that works on this row; afterwards another job may lease it.';
comment on column extraction.pending_extractions.given_up_at is
  'When the last attempt failed. The row stays until the memory is changed or deleted.';
comment on column extraction.pending_extractions.last_error is
  'The name of the last error, never its text; budget: the row waits for the next day.';

alter table extraction.pending_extractions enable row level security;
alter table extraction.pending_extractions force row level security;

create policy worker_access on extraction.pending_extractions to l9_worker using (true);
create policy definer_functions on extraction.pending_extractions to l9_owner using (true);
comment on policy worker_access on extraction.pending_extractions is 'Jobs work through the queue.';
comment on policy definer_functions on extraction.pending_extractions is
  'Triggers of packet_store add memories; store_extraction() removes them.';

grant select, update (attempts, next_attempt_at, leased_until, given_up_at, last_error), delete on extraction.pending_extractions to l9_worker;

-- Inlined into the queries of both queues, which is why it sets no search_path: they keep using their indexes.
create function extraction.is_due(next_attempt_at timestamptz, leased_until timestamptz)
returns boolean
language sql
stable
parallel safe
return next_attempt_at <= now() and (leased_until is null or leased_until < now());

comment on function extraction.is_due(timestamptz, timestamptz) is
  'True if a row of a queue may be leased now: its time has come, and no other job holds a lease.';

create function extraction.max_attempts()
returns integer
language sql
immutable
parallel safe
set search_path = ''
return 5;

comment on function extraction.max_attempts() is 'The number of unusable answers after which a job gives up.';

grant execute on function extraction.is_due(timestamptz, timestamptz), extraction.max_attempts() to l9_worker;

create function extraction.is_wanted(settings public.extraction_settings, kind text, scope text, ttl timestamptz)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return coalesce(
  (settings).is_enabled and kind = any ((settings).kinds) and scope = any ((settings).scopes)
  and (ttl is null or ttl > pg_catalog.now()), false);

comment on function extraction.is_wanted(public.extraction_settings, text, text, timestamptz) is
  'True if the settings allow a chat model to read an unexpired memory of this kind and scope.';

grant execute on function extraction.is_wanted(public.extraction_settings, text, text, timestamptz) to l9_worker;

create function extraction.tg_packet_store__enqueue_extraction()
returns trigger
language plpgsql
security definer
set search_path = ''
-- A plan that was cached for a few rows must stay fast for a thousand.
set enable_nestloop = off
as $$
begin
  insert into extraction.pending_extractions (packet_id)
  select n.packet_id
  from new_rows n join public.extraction_settings s on s.tenant_id = n.tenant_id
  where extraction.is_wanted(s, n.packet_type, n.scope, n.ttl)
  order by n.packet_id
  on conflict do nothing;
  return null;
end
$$;

comment on function extraction.tg_packet_store__enqueue_extraction() is
  'Adds new memories to the queue if their tenant wants them read. Definer: callers can''t read the queue or the settings.';

create trigger _900_enqueue_extraction after insert on public.packet_store
  referencing new table as new_rows
  for each statement execute function extraction.tg_packet_store__enqueue_extraction();
--! EndIncluded 190-extraction/050-pending-extractions.sql
--! Included 190-extraction/060-follow-memories.sql
create function extraction.withdraw_extracted_relationships(packet_id uuid)
returns void
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  ids constant uuid[] := array(
    select distinct e.relationship_id from public.relationship_evidence e
    where e.packet_id = withdraw_extracted_relationships.packet_id and e.extracted_by is not null);
begin
  if ids <> '{}' then
    perform graph.lock_relationships(ids);
    delete from public.relationship_evidence e
    where e.packet_id = withdraw_extracted_relationships.packet_id and e.extracted_by is not null;
    perform graph.recompute_relationships(ids);
  end if;
end
$$;

comment on function extraction.withdraw_extracted_relationships(uuid) is
  'Deletes the relationships that a model extracted from a memory; relationships that callers stated stay. Not executable by callers: functions of the owner call it.';

create function extraction.tg_packet_store__extraction_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  has_new_text constant boolean := new.content_hash <> old.content_hash;
begin
  if has_new_text then
    -- The extraction of the old text no longer holds, even if the new text is not read.
    perform facts.withdraw_evidence(new.packet_id, only_extracted => true);
    perform extraction.withdraw_extracted_relationships(new.packet_id);
  end if;
  insert into extraction.pending_extractions as q (packet_id)
  select new.packet_id from public.extraction_settings s
  where s.tenant_id = new.tenant_id and extraction.is_wanted(s, new.packet_type, new.scope, new.ttl)
    and (has_new_text or not extraction.is_wanted(s, old.packet_type, old.scope, null))
  on conflict (packet_id) do update
    set attempts = 0, next_attempt_at = now(), leased_until = null, given_up_at = null, last_error = null;
  return null;
end
$$;

comment on function extraction.tg_packet_store__extraction_follow() is
  'Deletes what a model extracted from the old text of a memory and queues the new text if the tenant wants it read. Definer: callers can''t write these tables.';

-- Fires after the triggers that move facts and relationships.
create trigger _640_extraction_follow after update on public.packet_store
  for each row
  when (
    new.content_hash is distinct from old.content_hash
    or (new.scope, new.packet_type) is distinct from (old.scope, old.packet_type))
  execute function extraction.tg_packet_store__extraction_follow();
--! EndIncluded 190-extraction/060-follow-memories.sql
--! Included 190-extraction/070-lease-extractions.sql
-- The extraction job calls these functions as l9_worker, each in a short transaction: none is open while the model answers.

create function extraction.lease_extractions(batch_size integer, lease interval)
returns table (
  packet_id uuid, content text, content_hash bytea, saved_at timestamptz, attempts integer,
  tenant_id uuid, org_id uuid, user_id uuid, project_id text, scope text)
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  ids uuid[];
begin
  loop
    ids := array(
      select q.packet_id from extraction.pending_extractions q
      where q.given_up_at is null and extraction.is_due(q.next_attempt_at, q.leased_until)
      order by q.next_attempt_at
      limit batch_size
      for update skip locked);
    exit when ids = '{}';
    -- Settings or scope may have changed since the memory was queued.
    delete from extraction.pending_extractions q
    where q.packet_id = any (ids) and not exists (
      select from public.packet_store p join public.extraction_settings s on s.tenant_id = p.tenant_id
      where p.packet_id = q.packet_id and extraction.is_wanted(s, p.packet_type, p.scope, p.ttl));
    return query
    with leased as (
      update extraction.pending_extractions q set leased_until = now() + lease
      where q.packet_id = any (ids)
      returning q.packet_id, q.attempts
    )
    select p.packet_id, p.envelope ->> 'content', p.content_hash, p."timestamp", l.attempts,
      p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope
    from leased l join public.packet_store p on p.packet_id = l.packet_id;
    exit when found;
  end loop;
end
$$;

comment on function extraction.lease_extractions(integer, interval) is
  'Leases up to batch_size memories from the start of the queue, and removes memories from it that are no longer wanted.';

create function extraction.postpone_extraction(packet_id uuid, delay interval, error text, counts_as_attempt boolean, max_attempts integer default extraction.max_attempts())
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  has_given_up boolean;
begin
  update extraction.pending_extractions q
  set leased_until = null,
    next_attempt_at = now() + delay,
    last_error = tasks.error_name(error),
    attempts = q.attempts + counts_as_attempt::integer,
    given_up_at = case when counts_as_attempt and q.attempts + 1 >= max_attempts then now() end
  where q.packet_id = postpone_extraction.packet_id
  returning q.given_up_at is not null into has_given_up;
  return coalesce(has_given_up, false);
end
$$;

comment on function extraction.postpone_extraction(uuid, interval, text, boolean, integer) is
  'Ends the lease of a memory and retries it after the delay: after a provider error, or (counts_as_attempt) after an unusable answer. Returns true if that was the last attempt.';

create function extraction.postpone_extractions_of(tenant_id uuid)
returns void
language sql
volatile
set search_path = ''
begin atomic
  update extraction.pending_extractions q
  -- Checked again every 10 minutes in case the budget is raised, and at the start of the next day.
  set leased_until = null, last_error = 'budget',
    next_attempt_at = least(now() + interval '10 minutes', (date_trunc('day', now() at time zone 'utc') + interval '1 day') at time zone 'utc')
  from public.packet_store p
  where p.packet_id = q.packet_id and p.tenant_id = postpone_extractions_of.tenant_id
    and q.given_up_at is null and q.next_attempt_at <= now() + interval '10 minutes' and (q.leased_until is null or q.leased_until < now());
end;

comment on function extraction.postpone_extractions_of(uuid) is
  'Postpones the waiting memories of a tenant whose budget is used up, by 10 minutes or until the next day in UTC; leased memories are left alone.';

create function extraction.release_extraction_leases()
returns void
language sql
volatile
set search_path = ''
begin atomic
  update extraction.pending_extractions q set leased_until = null where q.leased_until is not null;
end;

comment on function extraction.release_extraction_leases() is
  'Ends all leases. For the start of a process that is alone on its database, where any lease belongs to a dead process.';

create function extraction.has_due_extractions()
returns boolean
language sql
stable
set search_path = ''
return exists (
  select from extraction.pending_extractions q
  where q.given_up_at is null and extraction.is_due(q.next_attempt_at, q.leased_until));

comment on function extraction.has_due_extractions() is 'True if a memory in the queue can be leased now.';

create function extraction.extraction_backlog()
returns table (pending bigint, given_up bigint, oldest_seconds double precision, tokens_today bigint)
language sql
stable
set search_path = ''
begin atomic
  select count(*) filter (where q.given_up_at is null), count(q.given_up_at),
    coalesce(extract(epoch from now() - min(q.enqueued_at) filter (where q.given_up_at is null)), 0)::double precision,
    (select coalesce(sum(u.prompt_tokens + u.completion_tokens), 0)::bigint from public.extraction_usage u
     where u.day = (now() at time zone 'utc')::date)
  from extraction.pending_extractions q;
end;

comment on function extraction.extraction_backlog() is
  'Over all tenants: the number of waiting memories, the number given up, the age of the oldest waiting memory in seconds, and the tokens used today.';

grant execute on function
  extraction.lease_extractions(integer, interval),
  extraction.postpone_extraction(uuid, interval, text, boolean, integer),
  extraction.postpone_extractions_of(uuid),
  extraction.release_extraction_leases(),
  extraction.has_due_extractions(),
  extraction.extraction_backlog()
to l9_worker;
--! EndIncluded 190-extraction/070-lease-extractions.sql
--! Included 190-extraction/080-store-extraction.sql
create type extraction.stored_extraction as (is_stored boolean, facts integer, relations integer, dropped integer);

comment on type extraction.stored_extraction is 'What was stored of a chat model''s answer, and how many items were dropped.';

create function extraction.max_extracted_items()
returns integer
language sql
immutable
parallel safe
set search_path = ''
return 50;

comment on function extraction.max_extracted_items() is 'The number of entities, facts and relationships, each, that are stored of one answer.';

create function extraction.extracted_items(extraction jsonb, field text, texts text[])
returns table (item jsonb, is_fit boolean)
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select i.item,
    i.place <= extraction.max_extracted_items() and jsonb_typeof(i.item) = 'object'
      and case when jsonb_typeof(i.item -> 'confidence') = 'number' then (i.item ->> 'confidence')::numeric between 0 and 1 end is true
      and not exists (
        select from unnest(texts) as t (name)
        where jsonb_typeof(i.item -> t.name) is distinct from 'string'
          or char_length(i.item ->> t.name) > case t.name when 'object' then 1000 when 'predicate' then 100 when 'type' then 100 else 200 end
          or entities.normalise_name(i.item ->> t.name) = '')
  from jsonb_array_elements(case jsonb_typeof(extraction -> field) when 'array' then extraction -> field else '[]' end)
    with ordinality as i (item, place);
end;

comment on function extraction.extracted_items(jsonb, text, text[]) is
  'Returns the items of one list of an answer. is_fit: the item is among the first max_extracted_items(), has these texts (at most 200 characters; predicates and types 100, objects 1000) and a confidence from 0 to 1. Not executable by callers.';

create function extraction.extracted_time(value text)
returns timestamptz
language sql
stable
parallel safe
set search_path = ''
return case
  when value ~ '^\d{4}-\d{2}-\d{2}([T ][0-9:.]+(Z|[+-]\d{2}:?\d{2})?)?$' and pg_catalog.pg_input_is_valid(value, 'timestamptz')
  then value::timestamptz end;

comment on function extraction.extracted_time(text) is
  'Returns the date or time that a model gave, or null if it is neither. Not executable by callers.';

create function extraction.store_extraction(
  packet_id uuid, content_hash bytea, extraction jsonb, model text)
returns extraction.stored_extraction
language plpgsql
volatile
security definer
set search_path = ''
-- Shorter than deadlock_timeout, so that this job gives way before a caller's transaction could fail.
set lock_timeout = '500ms'
as $$
#variable_conflict use_column
declare
  stored extraction.stored_extraction := (false, 0, 0, 0);
  source public.packet_store;
  item jsonb;
  is_fit boolean;
begin
  if coalesce(btrim(store_extraction.model), '') = '' or octet_length(store_extraction.model) > 200 then
    perform identity.raise_error('L9VAL', 'model: a name of at most 200 bytes is required', 'model');
  end if;
  select p.* into source from public.packet_store p
  where p.packet_id = store_extraction.packet_id and p.content_hash = store_extraction.content_hash
  for no key update;
  if not found then
    return stored; -- The memory was deleted, or changed since the lease and is queued again.
  end if;
  delete from extraction.pending_extractions q where q.packet_id = source.packet_id;
  if not exists (
    select from public.extraction_settings s
    where s.tenant_id = source.tenant_id and extraction.is_wanted(s, source.packet_type, source.scope, source.ttl)) then
    return stored;
  end if;

  perform facts.withdraw_evidence(source.packet_id, only_extracted => true);
  perform extraction.withdraw_extracted_relationships(source.packet_id);

  -- Only names, values and confidences are taken from the answer. The order prevents deadlocks with other writers.
  for item, is_fit in
    select f.item, f.is_fit
    from (
      select jsonb_build_object('subject', e.item -> 'name', 'predicate', 'is a', 'object', e.item -> 'type',
        'confidence', e.item -> 'confidence') as item, e.is_fit
      from extraction.extracted_items(extraction, 'entities', '{name,type}') e
      union all
      select e.item, e.is_fit from extraction.extracted_items(extraction, 'facts', '{subject,predicate,object}') e
    ) f
    order by entities.normalise_name(f.item ->> 'subject'), entities.normalise_name(f.item ->> 'predicate'), f.item ->> 'object'
  loop
    if is_fit then
      begin
        perform facts.assert_fact_from(
          source.packet_id, btrim(item ->> 'subject'), item ->> 'predicate', to_jsonb(btrim(item ->> 'object')),
          (item ->> 'confidence')::double precision, extraction.extracted_time(item ->> 'valid_from'),
          extracted_by => store_extraction.model);
        stored.facts := stored.facts + 1;
        continue;
      exception when sqlstate 'L9VAL' or sqlstate 'L9LIM' then
        null; -- An item that breaks a rule of facts is dropped.
      end;
    end if;
    stored.dropped := stored.dropped + 1;
  end loop;

  for item, is_fit in
    select e.item, e.is_fit from extraction.extracted_items(extraction, 'relations', '{source,type,target}') e
    order by entities.normalise_name(e.item ->> 'source'), entities.normalise_name(e.item ->> 'type'),
      entities.normalise_name(e.item ->> 'target')
  loop
    if is_fit then
      begin
        perform graph.relate_from(
          source.packet_id, item ->> 'source', item ->> 'type', item ->> 'target', (item ->> 'confidence')::double precision,
          extracted_by => store_extraction.model);
        stored.relations := stored.relations + 1;
        continue;
      exception when sqlstate 'L9VAL' or sqlstate 'L9LIM' then
        null;
      end;
    end if;
    stored.dropped := stored.dropped + 1;
  end loop;
  stored.is_stored := true;
  return stored;
end
$$;

comment on function extraction.store_extraction(uuid, bytea, jsonb, text) is
  'Stores what a chat model extracted from a memory, replaces the previous extraction, and removes the memory from the queue, in one transaction: entities (as facts with the predicate is a), facts and relationships, at most 50 of each. Items that break a limit are dropped and counted. Stores nothing if the text has changed since the lease or the tenant no longer wants it read. Scope, owner and source are the memory''s own, whatever the answer contains. For jobs. Definer: writes tables that jobs can''t write.';

grant execute on function extraction.store_extraction(uuid, bytea, jsonb, text) to l9_worker;
--! EndIncluded 190-extraction/080-store-extraction.sql
--! Included 190-extraction/090-summary-leases.sql
-- The job that has a chat model write summaries calls these functions as l9_worker. No transaction is open while the model
-- answers.

create table extraction.summary_leases (
  summary_key bytea primary key,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  leased_until timestamptz
);

comment on table extraction.summary_leases is
  'Leases and failed attempts of due summaries. find_due() computes which summaries are due; rows that are no longer needed are deleted after a week.';
comment on column extraction.summary_leases.summary_key is 'A hash of audience and subject, from which neither can be derived.';
comment on column extraction.summary_leases.attempts is 'The number of answers that were not usable.';
comment on column extraction.summary_leases.leased_until is
  'End of the lease of the job that writes this summary; afterwards another job may lease it.';

alter table extraction.summary_leases enable row level security;
alter table extraction.summary_leases force row level security;
create policy worker_access on extraction.summary_leases to l9_worker using (true);
comment on policy worker_access on extraction.summary_leases is 'Only jobs read and write the leases.';
grant select, insert, update, delete on extraction.summary_leases to l9_worker;

create function extraction.may_write_summaries()
returns boolean
language sql
stable
set search_path = ''
return exists (select from public.extraction_settings s where s.writes_summaries);

comment on function extraction.may_write_summaries() is 'True if any tenant has its summaries written by a chat model.';

create function extraction.lease_summaries(batch_size integer, lease interval)
returns table (
  summary_key bytea, tenant_id uuid, org_id uuid, user_id uuid, scope text, project_id text, scope_type text, scope_value text,
  packet_ids uuid[], content_hashes bytea[], contents text[], saved_at timestamptz[])
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  candidate record;
begin
  delete from extraction.summary_leases c
  where coalesce(c.leased_until, c.next_attempt_at) < now() - interval '7 days' and c.next_attempt_at < now() - interval '7 days';
  for candidate in
    select d.*, sha256(convert_to(jsonb_build_array(
      packets.audience_id(d.tenant_id, d.org_id, d.user_id, d.project_id, d.scope), d.scope_type, d.scope_value)::text, 'UTF8')) as key
    from public.extraction_settings s
    cross join lateral summaries.find_due(null, s.tenant_id, null, null, null, null, 40, 100) d
    where s.writes_summaries and d.scope = any (s.scopes)
  loop
    insert into extraction.summary_leases as c (summary_key, leased_until) values (candidate.key, now() + lease)
    on conflict (summary_key) do update set leased_until = excluded.leased_until
      where extraction.is_due(c.next_attempt_at, c.leased_until);
    continue when not found;
    return query
    select candidate.key, candidate.tenant_id, candidate.org_id, candidate.user_id, candidate.scope, candidate.project_id,
      candidate.scope_type, candidate.scope_value, array_agg(p.packet_id order by p."timestamp", p.packet_id),
      array_agg(p.content_hash order by p."timestamp", p.packet_id), array_agg(p.envelope ->> 'content' order by p."timestamp", p.packet_id),
      array_agg(p."timestamp" order by p."timestamp", p.packet_id)
    from public.packet_store p
    where p.packet_id = any (candidate.source_packet_ids)
    having count(*) > 0;
    batch_size := batch_size - 1;
    exit when batch_size <= 0;
  end loop;
end
$$;

comment on function extraction.lease_summaries(integer, interval) is
  'Leases up to batch_size due summaries of tenants that have them written by a chat model, in scopes that it may read. Returns the newest 40 sources of each, oldest first.';

create function extraction.postpone_summary(summary_key bytea, delay interval, counts_as_attempt boolean, max_attempts integer default extraction.max_attempts())
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  has_given_up boolean;
begin
  update extraction.summary_leases c
  set leased_until = null,
    attempts = case when c.attempts + 1 >= max_attempts and counts_as_attempt then 0 else c.attempts + counts_as_attempt::integer end,
    -- After a day the sources have usually changed.
    next_attempt_at = now() + case when c.attempts + 1 >= max_attempts and counts_as_attempt then interval '1 day' else delay end
  where c.summary_key = postpone_summary.summary_key
  returning old.attempts + 1 >= max_attempts and counts_as_attempt into has_given_up;
  return coalesce(has_given_up, false);
end
$$;

comment on function extraction.postpone_summary(bytea, interval, boolean, integer) is
  'Ends the lease of a due summary and retries it after the delay, or after a day if that was the last attempt. Returns true if it was the last attempt.';

grant execute on function
  extraction.may_write_summaries(), extraction.lease_summaries(integer, interval),
  extraction.postpone_summary(bytea, interval, boolean, integer)
to l9_worker;
--! EndIncluded 190-extraction/090-summary-leases.sql
--! Included 190-extraction/100-store-model-summary.sql
create function extraction.store_model_summary(
  summary_key bytea, scope_type text, scope_value text, summary jsonb, packet_ids uuid[], content_hashes bytea[], model text)
returns boolean
language plpgsql
volatile
set search_path = ''
set lock_timeout = '500ms'
as $$
#variable_conflict use_column
declare
  -- Missing lists default to empty ones; only these keys of the answer are used, and long values are cut.
  answer constant jsonb := jsonb_build_object('key_facts', '[]'::jsonb, 'key_entities', '[]'::jsonb, 'key_decisions', '[]'::jsonb) || summary;
begin
  delete from extraction.summary_leases c where c.summary_key = store_model_summary.summary_key;
  perform from public.packet_store p where p.packet_id = any (packet_ids) order by p.packet_id for share;
  if exists (
    select from unnest(packet_ids, content_hashes) as source (packet_id, content_hash)
    where not exists (
      select from public.packet_store p join public.extraction_settings s on s.tenant_id = p.tenant_id
      where p.packet_id = source.packet_id and p.content_hash = source.content_hash and s.writes_summaries and p.scope = any (s.scopes)
        and (p.ttl is null or p.ttl > now()))
  ) then
    return false; -- A source changed since the lease; if a summary is still due, it will be leased again.
  end if;
  perform summaries.store_summary(
    store_model_summary.scope_type, store_model_summary.scope_value, left(summary ->> 'summary', 20000), packet_ids,
    extraction.summary_texts(answer -> 'key_facts'), extraction.summary_texts(answer -> 'key_entities'),
    extraction.summary_texts(answer -> 'key_decisions'), least(greatest((answer ->> 'confidence')::double precision, 0), 1),
    model => store_model_summary.model);
  return true;
end
$$;

comment on function extraction.store_model_summary(bytea, text, text, jsonb, uuid[], bytea[], text) is
  'Stores a summary that a chat model wrote of these memories. Returns false and stores nothing if one of them was changed, moved or deleted since the lease, or the tenant no longer wants it read. The readers are computed from the sources, whatever the answer contains.';

create function extraction.summary_texts(list jsonb)
returns text[]
language sql
immutable
parallel safe
set search_path = ''
return array(
  select pg_catalog.left(pg_catalog.btrim(i.value), 200)
  from jsonb_array_elements_text(case pg_catalog.jsonb_typeof(list) when 'array' then list else '[]' end) with ordinality as i (value, place)
  where i.value ~ '\S' and i.place <= 20
  order by i.place);

comment on function extraction.summary_texts(jsonb) is
  'Returns the first 20 texts of a list that are not blank, each cut to 200 characters.';

grant execute on function
  extraction.summary_texts(jsonb), extraction.store_model_summary(bytea, text, text, jsonb, uuid[], bytea[], text)
to l9_worker;
--! EndIncluded 190-extraction/100-store-model-summary.sql
--! Included 200-access/000-schema.sql
create schema access;
comment on schema access is
  'Explaining access: the access matrix and explain_access(). Not exposed over GraphQL; callers can execute only the functions granted to them one by one.';
grant usage on schema access to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 200-access/000-schema.sql
--! Included 200-access/010-access-matrix.sql
create view public.access_matrix
with (security_invoker = true)
as
with policies as (
  -- The policies as PostgreSQL stores them. The claims that a policy calls tell which rule it states.
  select
    r.role, p.polpermissive as is_permissive,
    case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end as command,
    coalesce(pg_catalog.pg_get_expr(p.polqual, p.polrelid), '') as qual,
    coalesce(pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid), pg_catalog.pg_get_expr(p.polqual, p.polrelid), '') as new_qual
  from pg_catalog.pg_policy p
  cross join unnest(identity.caller_roles()) as r (role)
  where p.polrelid = 'public.packet_store'::regclass
    and exists (select from unnest(p.polroles) as g (id) where pg_catalog.pg_has_role(r.role, g.id, 'usage'))
), rights as (
  select
    r.role,
    pg_catalog.has_table_privilege(r.role, 'public.packet_store', 'select')
      and coalesce(bool_or(p.is_permissive and p.command in ('all', 'select')), false) as may_read,
    coalesce(bool_or(p.is_permissive and p.command in ('all', 'select') and p.qual !~ 'current_scopes\('), false) as reads_any_scope,
    pg_catalog.has_any_column_privilege(r.role, 'public.packet_store', 'insert')
      and coalesce(bool_or(p.is_permissive and p.command in ('all', 'insert')), false) as may_write,
    coalesce(bool_or(p.is_permissive and p.command in ('all', 'insert') and p.new_qual !~ 'current_writable_scopes\('), false)
      as writes_any_scope,
    pg_catalog.has_any_column_privilege(r.role, 'public.packet_store', 'update')
      and pg_catalog.has_table_privilege(r.role, 'public.packet_store', 'delete')
      and coalesce(bool_or(p.is_permissive and p.command in ('all', 'update')), false)
      and coalesce(bool_or(p.is_permissive and p.command in ('all', 'delete')), false) as may_change,
    coalesce(bool_or(not p.is_permissive and p.command in ('all', 'update', 'delete') and p.qual ~ 'current_creator\('), false)
      as changes_own_only,
    exists (
      select from pg_catalog.pg_proc f
      where f.pronamespace = 'public'::regnamespace and f.proname = 'delete_expired_memories'
        and pg_catalog.has_function_privilege(r.role, f.oid, 'execute')) as may_clean_up
  from unnest(identity.caller_roles()) as r (role)
  left join policies p on p.role = r.role
  group by r.role
), cells as (
  select
    a.tenant_id, a.caller, a.role, s.scope, s.is_project_scoped, r.may_change, r.changes_own_only,
    r.may_clean_up and a.can_clean_up as may_clean_up,
    t.is_active and a.is_active
      and r.may_read and (r.reads_any_scope or s.is_active and ('*' = any (a.readable_scopes) or s.scope = any (a.readable_scopes)))
      as may_read,
    t.is_active and a.is_active
      and r.may_write and (r.writes_any_scope or s.is_active and ('*' = any (a.writable_scopes) or s.scope = any (a.writable_scopes)))
      as may_write
  from public.actors a
  join public.tenants t on t.tenant_id = a.tenant_id
  join public.scopes s on s.tenant_id = a.tenant_id
  join rights r on r.role = a.role
)
select
  tenant_id, caller, role, scope, is_project_scoped, may_read, may_write,
  case
    when not (may_read and may_write and may_change) then 'none'
    when changes_own_only then 'own'
    else 'any'
  end as may_change,
  may_write and may_clean_up as may_clean_up
from cells;

comment on view public.access_matrix is
  'Permissions of each actor in each scope: the registered actors and scopes under the current grants and policies of packet_store. A token can reduce these permissions, never extend them. An admin sees its tenant, an agent its own rows, an operator all rows.';
comment on column public.access_matrix.tenant_id is 'Tenant of the actor.';
comment on column public.access_matrix.caller is 'Actor.';
comment on column public.access_matrix.role is 'Database role of the actor.';
comment on column public.access_matrix.scope is 'Scope.';
comment on column public.access_matrix.is_project_scoped is
  'True if memories of this scope belong to a project; the token says which projects are allowed.';
comment on column public.access_matrix.may_read is 'True if the actor can find and read memories of the scope.';
comment on column public.access_matrix.may_write is 'True if the actor can save memories in the scope.';
comment on column public.access_matrix.may_change is
  'Memories of the scope that the actor can update and delete: any, own (those that carry its creator) or none.';
comment on column public.access_matrix.may_clean_up is 'True if the actor can delete expired memories of the scope.';

grant select on public.access_matrix to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 200-access/010-access-matrix.sql
--! Included 200-access/020-explain-access.sql
create type public.policy_verdict as (
  policy text,
  is_permissive boolean,
  admits boolean,
  expression text,
  description text
);
comment on type public.policy_verdict is 'Result of one policy of packet_store for one memory.';
comment on column public.policy_verdict.policy is 'Name of the policy.';
comment on column public.policy_verdict.is_permissive is
  'True: at least one such policy must admit the memory. False: every such policy must.';
comment on column public.policy_verdict.admits is 'True if the policy admits the memory.';
comment on column public.policy_verdict.expression is 'Expression of the policy, with the caller''s claims substituted.';
comment on column public.policy_verdict.description is 'Comment of the policy.';

create type public.access_explanation as (
  packet_id uuid,
  tenant_id uuid,
  caller text,
  role text,
  is_visible boolean,
  decided_by text,
  policies public.policy_verdict[]
);
comment on type public.access_explanation is 'Whether a caller can see a memory, and why.';
comment on column public.access_explanation.packet_id is 'The memory.';
comment on column public.access_explanation.tenant_id is 'Tenant of the caller.';
comment on column public.access_explanation.caller is 'The caller.';
comment on column public.access_explanation.role is 'Database role of the caller.';
comment on column public.access_explanation.is_visible is 'True if the caller can see the memory.';
comment on column public.access_explanation.decided_by is
  'Policy that decides: the first restrictive one that refuses, else the permissive ones. identity: the caller has no identity, because it is inactive or its claims do not match. grant: its role cannot read any memory.';
comment on column public.access_explanation.policies is 'Result of each policy that applies to the role.';

create function access.get_expired_memory(packet_id uuid)
returns public.packet_store
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.require_admin();
  memory public.packet_store;
begin
  select p.* into memory from public.packet_store p
  where p.packet_id = get_expired_memory.packet_id
    and p.ttl <= now()
    and (me.role = 'l9_platform_admin'
      or p.tenant_id = me.tenant_id
        and p.scope = any (me.readable_scopes)
        and identity.has_project(me, p.project_id));
  -- Keep the columns that policies use and clear the contents, which no caller may see after expiry.
  memory.envelope := null;
  memory.content := null;
  memory.routing := null;
  memory.provenance := null;
  memory.metadata := jsonb_build_object('creator', memory.metadata -> 'creator');
  memory.thread_id := null;
  memory.parent_ids := null;
  memory.tags := null;
  memory.content_hash := null;
  memory.correlation_id := null;
  memory.session_id := null;
  memory.trace_id := null;
  return memory;
end
$$;

comment on function access.get_expired_memory(uuid) is
  'Owner, scope and project of an expired memory that waits for cleanup, without its contents, for an admin that could read it before. Definer: expired memories are hidden from every caller.';

create function access.substitute_claims(expression text, subject identity.identity)
returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  result text := expression;
  claim record;
begin
  for claim in
    select * from (values
      ('current_tenant_id', format('%L::uuid', (subject).tenant_id)),
      ('current_org_id', format('%L::uuid', (subject).org_id)),
      ('current_user_id', format('%L::uuid', (subject).user_id)),
      ('current_caller', format('%L::text', (subject).caller)),
      ('current_creator', format('%L::text', (subject).creator)),
      ('current_scopes', format('%L::text[]', coalesce((subject).readable_scopes, '{}'))),
      ('current_writable_scopes', format('%L::text[]', coalesce((subject).writable_scopes, '{}'))),
      ('current_projects', format('%L::text[]', coalesce((subject).projects, '{}'))),
      ('has_every_project', coalesce('*' = any ((subject).projects), false)::text)) as c (name, literal)
  loop
    -- A backslash is special in the replacement text of regexp_replace.
    result := regexp_replace(result, format('\( SELECT identity\.%s\(\) AS %1$s\)', claim.name),
      replace(format('(%s)', claim.literal), '\', '\\'), 'g');
  end loop;
  -- This evaluates the policy on behalf of an admin, so it must not audit a read of the caller.
  result := regexp_replace(result, '\( SELECT identity\.allow_and_audit_operator_read\([^()]*\) AS allow_and_audit_operator_read\)',
    coalesce(((subject).role = 'l9_platform_admin')::text, 'false'), 'g');
  -- pg_get_expr prints PostgreSQL's own functions without a schema. A schema-qualified call is one of our functions that the
  -- substitution above does not handle.
  if result ~ '\m[a-z0-9_]+\.[a-z0-9_]+\(' then
    raise exception using errcode = '0A000', message = 'explain_access: a policy calls a function that cannot be substituted';
  end if;
  return result;
end
$$;

comment on function access.substitute_claims(text, identity.identity) is
  'The expression of a policy in which each call (select identity.current_…()) is replaced by its value for this identity.';

create function access.get_actor_role(tenant_id uuid, caller text)
returns text
language sql
stable
security definer
set search_path = ''
return (
  select a.role from public.actors a, identity.require_admin() as me
  where a.tenant_id = get_actor_role.tenant_id and a.caller = get_actor_role.caller
    and (me.role = 'l9_platform_admin' or a.tenant_id = me.tenant_id));

comment on function access.get_actor_role(uuid, text) is
  'Database role of an actor, if the caller is an admin of its tenant; else null. Definer: reads actors.';

create function access.get_identity_with_claims(
  tenant_id uuid, caller text, org_id uuid, user_id uuid, scopes text[], projects text[])
returns identity.identity
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.require_admin();
  subject identity.identity;
begin
  if me.role <> 'l9_platform_admin' and get_identity_with_claims.tenant_id <> me.tenant_id then
    return null;
  end if;
  select a.tenant_id, get_identity_with_claims.org_id, get_identity_with_claims.user_id, a.caller, a.creator, a.source, a.agent, a.role,
    identity.intersect_scopes(a.readable_scopes, coalesce(get_identity_with_claims.scopes, '{*}')),
    identity.intersect_scopes(a.writable_scopes, coalesce(get_identity_with_claims.scopes, '{*}')),
    coalesce(get_identity_with_claims.projects, '{*}'), a.can_clean_up
  into subject
  from identity.active_actors a
  where a.tenant_id = get_identity_with_claims.tenant_id and a.caller = get_identity_with_claims.caller
    and identity.are_claims_valid(a.tenant_id, a.caller, get_identity_with_claims.org_id, get_identity_with_claims.user_id, null);
  return subject;
end
$$;

comment on function access.get_identity_with_claims(uuid, text, uuid, uuid, text[], text[]) is
  'The identity that these claims would give under the actor''s role, as current_identity() computes it, if the caller is an admin of their tenant; else null. Definer: reads identity tables.';

create function public.explain_access(
  caller text,
  packet_id uuid,
  org_id uuid default null,
  user_id uuid default null,
  projects text[] default null,
  scopes text[] default null,
  tenant_id uuid default null
)
returns public.access_explanation
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_admin();
  memory public.packet_store;
  subject identity.identity;
  answer public.access_explanation;
  policy record;
  verdict public.policy_verdict;
begin
  answer.packet_id := explain_access.packet_id;
  answer.tenant_id := coalesce(explain_access.tenant_id, me.tenant_id);
  answer.caller := explain_access.caller;
  answer.policies := '{}';
  answer.is_visible := false;

  -- Runs with the admin's own rights, so that it learns nothing about a memory that it cannot see.
  select p.* into memory from public.packet_store p where p.packet_id = explain_access.packet_id;
  if not found then
    memory := access.get_expired_memory(explain_access.packet_id);
    if memory.packet_id is null then
      perform memories.raise_not_yours(explain_access.packet_id);
    end if;
  end if;
  answer.role := access.get_actor_role(answer.tenant_id, explain_access.caller);
  if answer.role is null then
    perform identity.raise_error('L9VAL', 'caller: no such actor in this tenant', 'caller');
  end if;
  subject := access.get_identity_with_claims(
    answer.tenant_id, explain_access.caller, explain_access.org_id, explain_access.user_id,
    explain_access.scopes, explain_access.projects);

  for policy in
    select p.polname::text as name, p.polpermissive as is_permissive,
      coalesce(pg_get_expr(p.polqual, p.polrelid), 'true') as expression, obj_description(p.oid, 'pg_policy') as description
    from pg_policy p
    where p.polrelid = 'public.packet_store'::regclass
      and p.polcmd in ('r', '*')
      and exists (select from unnest(p.polroles) as g (id) where g.id = 0 or pg_has_role(answer.role, g.id, 'usage'))
    order by p.polpermissive, p.polname
  loop
    verdict.policy := policy.name;
    verdict.is_permissive := policy.is_permissive;
    verdict.expression := access.substitute_claims(policy.expression, subject);
    verdict.description := policy.description;
    execute format('select coalesce((%s), false) from (select ($1).*) as packet_store', verdict.expression)
    into verdict.admits
    using memory;
    answer.policies := answer.policies || verdict;
  end loop;

  if subject.caller is null then
    answer.decided_by := 'identity';
  elsif not has_table_privilege(answer.role, 'public.packet_store', 'select') then
    answer.decided_by := 'grant';
  else
    select v.policy into answer.decided_by
    from unnest(answer.policies) as v
    where not v.is_permissive and not v.admits
    order by v.policy limit 1;
    if not found then
      answer.is_visible := exists (select from unnest(answer.policies) as v where v.is_permissive and v.admits);
      select string_agg(v.policy, ', ' order by v.policy) into answer.decided_by
      from unnest(answer.policies) as v
      where v.is_permissive and v.admits = answer.is_visible;
    end if;
  end if;
  return answer;
end
$$;

comment on function public.explain_access(text, uuid, uuid, uuid, text[], text[], uuid) is
  'Explains whether a caller with these claims can see a memory, and which policy of packet_store decides. The policies are read from the catalogue and evaluated as they are. For admins, and for memories that they can see themselves, including expired ones; else it raises L9OWN. Errors: L9OWN, L9VAL, L9SCP, L9AUT.';

grant execute on function
  access.get_expired_memory(uuid), access.substitute_claims(text, identity.identity),
  access.get_actor_role(uuid, text),
  access.get_identity_with_claims(uuid, text, uuid, uuid, text[], text[]),
  public.explain_access(text, uuid, uuid, uuid, text[], text[], uuid)
to l9_admin, l9_platform_admin;
--! EndIncluded 200-access/020-explain-access.sql
--! Included 210-views/000-schema.sql
create schema views;
comment on schema views is
  'Materialized views and their refresh. Callers read the views only through functions. Not exposed over GraphQL; callers may execute only the functions that are granted to them one by one.';
grant usage on schema views to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 210-views/000-schema.sql
--! Included 210-views/010-view-refreshes.sql
create table views.memory_view_refreshes (
  view_name text primary key,
  refreshed_at timestamptz,
  seconds double precision,
  xid xid8
);

comment on table views.memory_view_refreshes is 'Time of the last refresh of each materialized view.';
comment on column views.memory_view_refreshes.view_name is 'Name of the view, in schema views.';
comment on column views.memory_view_refreshes.refreshed_at is 'The view shows the state at this time. Null: it was never refreshed and is empty.';
comment on column views.memory_view_refreshes.seconds is 'Duration of the refresh in seconds.';
comment on column views.memory_view_refreshes.xid is 'The transaction that is refreshing the view now; null if none is.';

alter table views.memory_view_refreshes enable row level security;
alter table views.memory_view_refreshes force row level security;
create policy definer_functions on views.memory_view_refreshes to l9_owner using (true);
comment on policy definer_functions on views.memory_view_refreshes is 'Only refresh_memory_views() writes the table.';
-- There are no grants, because a role that could write the table could read as much as a refresh does.

insert into views.memory_view_refreshes (view_name)
values ('mv_agent_recent_important'), ('mv_entity_graph'), ('mv_high_confidence_facts'), ('mv_reflection_patterns');

create function views.is_refreshing_views()
returns boolean
language plpgsql
stable
parallel restricted
security definer
set search_path = ''
as $$
begin
  -- Anybody can set the setting. It only saves the lookup; the row decides.
  return coalesce(current_setting('l9.refreshing_views', true) = 'on', false)
    and exists (select from views.memory_view_refreshes r where r.xid = pg_current_xact_id_if_assigned());
end
$$;

comment on function views.is_refreshing_views() is
  'True while refresh_memory_views() runs in this transaction. During that time policies show all rows to the owner, as whom it runs. Definer: reads the table of refreshes, which only that procedure writes. Callers may not execute it.';

create policy definer_refresh on public.packet_store for select to l9_owner using ((select views.is_refreshing_views()));
create policy definer_refresh on public.memory_signals for select to l9_owner using ((select views.is_refreshing_views()));
create policy definer_refresh on public.knowledge_facts for select to l9_owner using ((select views.is_refreshing_views()));
create policy definer_refresh on public.entity_relationships for select to l9_owner using ((select views.is_refreshing_views()));
create policy definer_refresh on public.reflection_store for select to l9_owner using ((select views.is_refreshing_views()));
comment on policy definer_refresh on public.packet_store is 'refresh_memory_views() reads the rows of all tenants, for any caller.';
comment on policy definer_refresh on public.memory_signals is 'refresh_memory_views() reads the rows of all tenants, for any caller.';
comment on policy definer_refresh on public.knowledge_facts is 'refresh_memory_views() reads the rows of all tenants, for any caller.';
comment on policy definer_refresh on public.entity_relationships is 'refresh_memory_views() reads the rows of all tenants, for any caller.';
comment on policy definer_refresh on public.reflection_store is 'refresh_memory_views() reads the rows of all tenants, for any caller.';
--! EndIncluded 210-views/010-view-refreshes.sql
--! Included 210-views/020-check-page.sql
create function views.check_page(k integer)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if k is null or k not between 1 and 500 then
    perform identity.raise_error('L9LIM', 'k: must be from 1 to 500', 'k');
  end if;
end
$$;

comment on function views.check_page(integer) is 'Raises L9LIM unless k is from 1 to 500.';
--! EndIncluded 210-views/020-check-page.sql
--! Included 210-views/030-agent-recent-important.sql
create materialized view views.mv_agent_recent_important as
select r.packet_id, r.agent_id, r.packet_type, r."timestamp", r.importance_score, r.place, r.tenant_id, r.org_id, r.user_id, r.project_id,
  r.scope, r.ttl
from (
  select i.*, row_number() over (
    partition by i.tenant_id, i.org_id, i.user_id, i.project_id, i.scope, i.agent_id order by i.importance_score desc, i.packet_id desc) as place
  from (
    select p.packet_id, p.metadata ->> 'creator' as agent_id, p.packet_type, p."timestamp",
      importance.importance_of(p, s, now()) as importance_score, p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope, p.ttl
    from public.packet_store p
    left join public.memory_signals s on s.packet_id = p.packet_id
    where p."timestamp" > now() - interval '30 days' and (p.ttl is null or p.ttl > now())
  ) i
) r
where r.place <= 100;

create unique index mv_agent_recent_important_key on views.mv_agent_recent_important (packet_id);
create index mv_agent_recent_important_readers_idx on views.mv_agent_recent_important (tenant_id, scope, importance_score desc);
comment on materialized view views.mv_agent_recent_important is
  'The 100 most important memories of the last 30 days of each agent in each tenant, org, user, project and scope: ids and numbers. agent_recent_important() reads it.';
comment on column views.mv_agent_recent_important.packet_id is 'The memory.';
comment on column views.mv_agent_recent_important.agent_id is 'Agent that wrote the memory: its creator.';
comment on column views.mv_agent_recent_important.packet_type is 'Kind of the memory.';
comment on column views.mv_agent_recent_important."timestamp" is 'Time when the memory was saved.';
comment on column views.mv_agent_recent_important.importance_score is 'Importance at the last refresh, from 0 to 1.';
comment on column views.mv_agent_recent_important.place is 'Rank among the memories of its agent with the same tenant, org, user, project and scope; the first is 1.';
comment on column views.mv_agent_recent_important.tenant_id is 'Tenant of the row.';
comment on column views.mv_agent_recent_important.org_id is 'Org of the row; null if it belongs to the whole tenant.';
comment on column views.mv_agent_recent_important.user_id is 'User of the row; null if it belongs to the whole org.';
comment on column views.mv_agent_recent_important.project_id is 'Project of the row at the last refresh.';
comment on column views.mv_agent_recent_important.scope is 'Scope of the row at the last refresh. Its current scope decides which callers see it.';
comment on column views.mv_agent_recent_important.ttl is 'Expiry of the row at the last refresh. Its current expiry decides until when it is shown.';
revoke all on views.mv_agent_recent_important from public;

create type public.important_memory as (agent_id text, importance_score real, memory public.packet_store);
comment on type public.important_memory is 'An important memory.';
comment on column public.important_memory.agent_id is 'Agent that wrote the memory: its creator.';
comment on column public.important_memory.importance_score is 'Importance at the last refresh, from 0 to 1.';
comment on column public.important_memory.memory is 'The memory in its current state.';

create function public.agent_recent_important(agent_id text default null, project_id text default null, k integer default 20)
returns setof public.important_memory
language plpgsql
stable
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
begin
  perform views.check_page(agent_recent_important.k);
  return query
  select v.agent_id, v.importance_score, p
  from views.mv_agent_recent_important v
  join public.packet_store p on p.packet_id = v.packet_id
  where v.tenant_id = me.tenant_id and v.scope = any (me.readable_scopes)
    and (agent_recent_important.agent_id is null or v.agent_id = agent_recent_important.agent_id)
    and (agent_recent_important.project_id is null or p.project_id is null or p.project_id = agent_recent_important.project_id)
    -- The current state decides. The check is needed because the owner's policies also show an admin what it may only erase.
    and identity.may_read(me, p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope)
    and (p.ttl is null or p.ttl > now())
  order by v.importance_score desc, v.packet_id desc
  limit agent_recent_important.k;
end
$$;

comment on function public.agent_recent_important(text, text, integer) is
  'The most important memories of the last 30 days that the caller may read, ranked at the last refresh. agent_id: creator name of one agent; null for all agents. k: from 1 to 500. Errors: L9LIM, L9AUT. Definer: reads a materialized view, which has no policies; the function applies the caller''s claims.';

grant execute on function public.agent_recent_important(text, text, integer) to l9_agent, l9_admin;
--! EndIncluded 210-views/030-agent-recent-important.sql
--! Included 210-views/040-entity-graph.sql
create materialized view views.mv_entity_graph as
with edges as (
  select e.relationship_id, e.source_normalized, e.target_normalized, e.relationship_type, e.confidence, e.mention_count, e.first_seen, e.last_seen,
    e.tenant_id, e.org_id, e.user_id, e.project_id, e.scope, e.ttl,
    packets.audience_id(e.tenant_id, e.org_id, e.user_id, e.project_id, e.scope) as audience_id
  from public.entity_relationships e
  where e.ttl is null or e.ttl > now()
), degrees as (
  select n.audience_id, n.name, count(*)::integer as degree
  from (
    select e.audience_id, e.source_normalized as name from edges e
    union all
    select e.audience_id, e.target_normalized from edges e
  ) n
  group by n.audience_id, n.name
)
select e.relationship_id, e.confidence, e.mention_count, e.first_seen, e.last_seen, s.degree as source_degree, t.degree as target_degree,
  e.tenant_id, e.org_id, e.user_id, e.project_id, e.scope, e.ttl
from edges e
join degrees s on s.audience_id = e.audience_id and s.name = e.source_normalized
join degrees t on t.audience_id = e.audience_id and t.name = e.target_normalized;

create unique index mv_entity_graph_key on views.mv_entity_graph (relationship_id);
create index mv_entity_graph_readers_idx on views.mv_entity_graph (tenant_id, scope, confidence desc);
comment on materialized view views.mv_entity_graph is
  'The relations of the entity graph, with the number of relations of their ends in the same tenant, org, user, project and scope: ids and numbers. entity_graph() reads it.';
comment on column views.mv_entity_graph.relationship_id is 'The relation.';
comment on column views.mv_entity_graph.confidence is 'Confidence at the last refresh, from 0 to 1.';
comment on column views.mv_entity_graph.mention_count is 'Number of times that the relation was stated.';
comment on column views.mv_entity_graph.first_seen is 'Time when it was first stated.';
comment on column views.mv_entity_graph.last_seen is 'Time when it was last stated.';
comment on column views.mv_entity_graph.source_degree is 'Number of relations of its source with the same tenant, org, user, project and scope.';
comment on column views.mv_entity_graph.target_degree is 'Number of relations of its target with the same tenant, org, user, project and scope.';
comment on column views.mv_entity_graph.tenant_id is 'Tenant of the row.';
comment on column views.mv_entity_graph.org_id is 'Org of the row; null if it belongs to the whole tenant.';
comment on column views.mv_entity_graph.user_id is 'User of the row; null if it belongs to the whole org.';
comment on column views.mv_entity_graph.project_id is 'Project of the row at the last refresh.';
comment on column views.mv_entity_graph.scope is 'Scope of the row at the last refresh. Its current scope decides which callers see it.';
comment on column views.mv_entity_graph.ttl is 'Expiry of the row at the last refresh. Its current expiry decides until when it is shown.';
revoke all on views.mv_entity_graph from public;

create type public.entity_graph_edge as (relationship public.entity_relationships, source_degree integer, target_degree integer);
comment on type public.entity_graph_edge is 'A relation, and the number of relations of its ends.';
comment on column public.entity_graph_edge.relationship is 'The relation in its current state.';
comment on column public.entity_graph_edge.source_degree is 'Number of relations of its source at the last refresh, in the same scope and project.';
comment on column public.entity_graph_edge.target_degree is 'Number of relations of its target at the last refresh, in the same scope and project.';

create function public.entity_graph(
  relationship_type text default null, min_confidence double precision default 0, project_id text default null, k integer default 100)
returns setof public.entity_graph_edge
language plpgsql
stable
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
begin
  perform views.check_page(entity_graph.k);
  perform entities.check_confidence(entity_graph.min_confidence, 'min_confidence');
  return query
  select e, v.source_degree, v.target_degree
  from views.mv_entity_graph v
  -- The policies of this table apply to the caller.
  join public.entity_relationships e on e.relationship_id = v.relationship_id and (e.ttl is null or e.ttl > now())
  where v.tenant_id = me.tenant_id and v.scope = any (me.readable_scopes) and e.confidence >= entity_graph.min_confidence
    and (entity_graph.relationship_type is null or e.relationship_type = entity_graph.relationship_type)
    and (entity_graph.project_id is null or e.project_id is null or e.project_id = entity_graph.project_id)
  order by v.confidence desc, v.source_degree + v.target_degree desc, v.relationship_id desc
  limit entity_graph.k;
end
$$;

comment on function public.entity_graph(text, double precision, text, integer) is
  'The relations that the caller may read, ranked at the last refresh: those of highest confidence, then those with the most connected ends, first. To start from one entity, call explore_graph(). k: from 1 to 500. Errors: L9VAL, L9LIM, L9AUT. Definer: reads a materialized view, which has no policies; those of entity_relationships apply.';

grant execute on function public.entity_graph(text, double precision, text, integer) to l9_agent, l9_admin;
--! EndIncluded 210-views/040-entity-graph.sql
--! Included 210-views/050-high-confidence-facts.sql
create function views.is_high_confidence(fact public.knowledge_facts)
returns boolean
language sql
immutable
parallel safe
return (fact).confidence >= 0.6 and (fact).contradiction_count < 3 and (fact).valid_to is null and (fact).retracted_at is null;

comment on function views.is_high_confidence(public.knowledge_facts) is
  'True for a current fact with a confidence of at least 0.6 and fewer than 3 contradictions.';

create materialized view views.mv_high_confidence_facts as
select f.fact_id, f.confidence, f.supporting_packet_count, f.contradiction_count, f.access_count, f.valid_from, f.tenant_id, f.org_id,
  f.user_id, f.project_id, f.scope, f.ttl
from public.knowledge_facts f
where views.is_high_confidence(f) and (f.ttl is null or f.ttl > now());

create unique index mv_high_confidence_facts_key on views.mv_high_confidence_facts (fact_id);
create index mv_high_confidence_facts_readers_idx on views.mv_high_confidence_facts (tenant_id, scope, confidence desc);
comment on materialized view views.mv_high_confidence_facts is
  'Current facts with a confidence of at least 0.6 and fewer than 3 contradictions: ids and numbers. high_confidence_facts() reads it.';
comment on column views.mv_high_confidence_facts.fact_id is 'The fact.';
comment on column views.mv_high_confidence_facts.confidence is 'Confidence at the last refresh, at least 0.6.';
comment on column views.mv_high_confidence_facts.supporting_packet_count is 'Number of memories that stated the fact.';
comment on column views.mv_high_confidence_facts.contradiction_count is 'Number of contradictions, fewer than 3.';
comment on column views.mv_high_confidence_facts.access_count is 'Number of times that the fact was found.';
comment on column views.mv_high_confidence_facts.valid_from is 'Time since when the fact is true.';
comment on column views.mv_high_confidence_facts.tenant_id is 'Tenant of the row.';
comment on column views.mv_high_confidence_facts.org_id is 'Org of the row; null if it belongs to the whole tenant.';
comment on column views.mv_high_confidence_facts.user_id is 'User of the row; null if it belongs to the whole org.';
comment on column views.mv_high_confidence_facts.project_id is 'Project of the row at the last refresh.';
comment on column views.mv_high_confidence_facts.scope is 'Scope of the row at the last refresh. Its current scope decides which callers see it.';
comment on column views.mv_high_confidence_facts.ttl is 'Expiry of the row at the last refresh. Its current expiry decides until when it is shown.';
revoke all on views.mv_high_confidence_facts from public;

create function public.high_confidence_facts(
  subject text default null, predicate text default null, project_id text default null, k integer default 100)
returns setof public.knowledge_facts
language plpgsql
stable
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  subjects text[] := entities.names_of(high_confidence_facts.subject);
begin
  perform views.check_page(high_confidence_facts.k);
  return query
  select f.*
  from views.mv_high_confidence_facts v
  -- The policies of this table apply to the caller, and the fact must still meet the conditions of the view.
  join public.knowledge_facts f on f.fact_id = v.fact_id and (f.ttl is null or f.ttl > now())
    and views.is_high_confidence(f) and f.valid_from <= now()
  where v.tenant_id = me.tenant_id and v.scope = any (me.readable_scopes)
    and (high_confidence_facts.subject is null or f.subject_normalized = any (subjects))
    and (high_confidence_facts.predicate is null or f.predicate = entities.normalise_name(high_confidence_facts.predicate))
    and (high_confidence_facts.project_id is null or f.project_id is null or f.project_id = high_confidence_facts.project_id)
  order by v.confidence desc, v.supporting_packet_count desc, v.fact_id desc
  limit high_confidence_facts.k;
end
$$;

comment on function public.high_confidence_facts(text, text, text, integer) is
  'Facts that the caller may read and that were true at the last refresh and still are, with a confidence of at least 0.6 and fewer than 3 contradictions, highest confidence first. k: from 1 to 500. Errors: L9LIM, L9AUT. Definer: reads a materialized view, which has no policies; those of knowledge_facts apply.';

grant execute on function public.high_confidence_facts(text, text, text, integer) to l9_agent, l9_admin;
--! EndIncluded 210-views/050-high-confidence-facts.sql
--! Included 210-views/060-reflection-patterns.sql
create materialized view views.mv_reflection_patterns as
select r.reflection_id, r.reflection_type, r.priority, r.confidence, r.times_seen, r.last_seen,
  r.confidence * (1 + ln(r.times_seen))
    * case r.priority when 'critical' then 1 when 'high' then 0.75 when 'medium' then 0.5 else 0.25 end as weight,
  r.tenant_id, r.org_id, r.user_id, r.project_id, r.scope, r.ttl
from public.reflection_store r
where (r.times_seen > 1 or r.reflection_type = 'pattern') and (r.ttl is null or r.ttl > now());

create unique index mv_reflection_patterns_key on views.mv_reflection_patterns (reflection_id);
create index mv_reflection_patterns_readers_idx on views.mv_reflection_patterns (tenant_id, scope, weight desc);
comment on materialized view views.mv_reflection_patterns is
  'Reflections that were stored more than once or are of type pattern, with their weights: ids and numbers. reflection_patterns() reads it.';
comment on column views.mv_reflection_patterns.reflection_id is 'The reflection.';
comment on column views.mv_reflection_patterns.reflection_type is 'Type of the reflection.';
comment on column views.mv_reflection_patterns.priority is 'Priority: critical, high, medium or low.';
comment on column views.mv_reflection_patterns.confidence is 'Confidence at the last refresh, from 0 to 0.99.';
comment on column views.mv_reflection_patterns.times_seen is 'Number of times that the reflection was stored.';
comment on column views.mv_reflection_patterns.last_seen is 'Time when the reflection was last stored.';
comment on column views.mv_reflection_patterns.weight is 'confidence, times 1, 0.75, 0.5 or 0.25 by priority, times 1 + ln(times_seen).';
comment on column views.mv_reflection_patterns.tenant_id is 'Tenant of the row.';
comment on column views.mv_reflection_patterns.org_id is 'Org of the row; null if it belongs to the whole tenant.';
comment on column views.mv_reflection_patterns.user_id is 'User of the row; null if it belongs to the whole org.';
comment on column views.mv_reflection_patterns.project_id is 'Project of the row at the last refresh.';
comment on column views.mv_reflection_patterns.scope is 'Scope of the row at the last refresh. Its current scope decides which callers see it.';
comment on column views.mv_reflection_patterns.ttl is 'Expiry of the row at the last refresh. Its current expiry decides until when it is shown.';
revoke all on views.mv_reflection_patterns from public;

create type public.reflection_pattern as (weight double precision, reflection public.reflection_store);
comment on type public.reflection_pattern is 'A recurring lesson.';
comment on column public.reflection_pattern.weight is
  'At the last refresh: confidence, times 1, 0.75, 0.5 or 0.25 by priority, times 1 + ln(times_seen).';
comment on column public.reflection_pattern.reflection is 'The lesson in its current state.';

create function public.reflection_patterns(reflection_type text default null, project_id text default null, k integer default 20)
returns setof public.reflection_pattern
language plpgsql
stable
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
begin
  perform views.check_page(reflection_patterns.k);
  return query
  select v.weight, r
  from views.mv_reflection_patterns v
  -- The policies of this table apply to the caller.
  join public.reflection_store r on r.reflection_id = v.reflection_id and (r.ttl is null or r.ttl > now())
  where v.tenant_id = me.tenant_id and v.scope = any (me.readable_scopes)
    and (reflection_patterns.reflection_type is null or r.reflection_type = reflection_patterns.reflection_type)
    and (reflection_patterns.project_id is null or r.project_id is null or r.project_id = reflection_patterns.project_id)
  order by v.weight desc, v.reflection_id desc
  limit reflection_patterns.k;
end
$$;

comment on function public.reflection_patterns(text, text, integer) is
  'Lessons that agents learned more than once or stored as a pattern, among those that the caller may read, ranked at the last refresh: highest weight first. k: from 1 to 500. Errors: L9LIM, L9AUT. Definer: reads a materialized view, which has no policies; those of reflection_store apply.';

grant execute on function public.reflection_patterns(text, text, integer) to l9_agent, l9_admin;
--! EndIncluded 210-views/060-reflection-patterns.sql
--! Included 210-views/070-refresh-memory-views.sql
create procedure public.refresh_memory_views()
language plpgsql
security definer
set search_path = ''
as $$
declare
  view record;
  started_at timestamptz;
begin
  if identity.current_role_name() in ('l9_admin', 'l9_platform_admin') then
    perform identity.require_identity();
  end if;
  perform set_config('l9.refreshing_views', 'on', true);
  -- Only one refresh runs at a time.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory refresh of views', 0));
  for view in
    select r.view_name, c.relispopulated as is_populated
    from views.memory_view_refreshes r
    join pg_catalog.pg_class c on c.relname = r.view_name and c.relnamespace = 'views'::regnamespace
    order by r.view_name
  loop
    started_at := clock_timestamp();
    update views.memory_view_refreshes r set xid = pg_current_xact_id() where r.view_name = view.view_name;
    -- Readers are not blocked by a concurrent refresh. It is not possible for a view that was never filled, such as after a restore.
    execute format('refresh materialized view %s views.%I', case when view.is_populated then 'concurrently' else '' end, view.view_name);
    update views.memory_view_refreshes r
    set xid = null, refreshed_at = started_at, seconds = extract(epoch from clock_timestamp() - started_at)
    where r.view_name = view.view_name;
  end loop;
  perform set_config('l9.refreshing_views', 'off', true);
end
$$;

comment on procedure public.refresh_memory_views() is
  'Refreshes the materialized views one after another without blocking readers. A job calls it once a day; admins and operators may call it too. Definer: only the owner can refresh the views, and it reads the rows of all tenants while it does.';

grant execute on procedure public.refresh_memory_views() to l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 210-views/070-refresh-memory-views.sql
--! Included 210-views/080-memory-views-status.sql
create type public.memory_view_status as (view_name text, refreshed_at timestamptz, age_seconds double precision, seconds double precision);
comment on type public.memory_view_status is 'Age of a materialized view.';
comment on column public.memory_view_status.view_name is 'Name of the view.';
comment on column public.memory_view_status.refreshed_at is 'The view shows the state at this time. Null: it was never refreshed.';
comment on column public.memory_view_status.age_seconds is 'Seconds since the last refresh.';
comment on column public.memory_view_status.seconds is 'Duration of the refresh in seconds.';

create function public.memory_views_status()
returns setof public.memory_view_status
language sql
stable
security definer
set search_path = ''
begin atomic
  select r.view_name, r.refreshed_at, extract(epoch from clock_timestamp() - r.refreshed_at)::double precision, r.seconds
  from views.memory_view_refreshes r
  order by r.view_name;
end;

comment on function public.memory_views_status() is
  'Age of each materialized view. Definer: callers cannot read the table of refreshes; its names and times reveal nothing about the contents of the views.';

grant execute on function public.memory_views_status() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 210-views/080-memory-views-status.sql
--! Included 220-forgetting/000-schema.sql
create schema forgetting;
comment on schema forgetting is
  'Erasure of memories and subjects, and tombstones. Not exposed over GraphQL; callers may execute only the functions that are granted individually.';
grant usage on schema forgetting to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 220-forgetting/000-schema.sql
--! Included 220-forgetting/010-administered-tenants.sql
create function forgetting.is_unrestricted_operator(me identity.identity)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return me.role = 'l9_platform_admin'
  and '*' = any (me.projects) and '*' = any (identity.list_claim('scopes'));

comment on function forgetting.is_unrestricted_operator(identity.identity) is
  'True for an operator whose token is not restricted to some scopes or projects.';

create function forgetting.administered_tenants()
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  me identity.identity := identity.current_identity();
begin
  return case
    when forgetting.is_unrestricted_operator(me) then array(select t.tenant_id from public.tenants t)
    when me.role in ('l9_admin', 'l9_platform_admin') then array[me.tenant_id]
    else '{}'
  end;
end
$$;

comment on function forgetting.administered_tenants() is
  'The tenants in which the caller may erase: for an admin its own, for an operator with an unrestricted token all, for anyone else none. The policies for functions of the owner use it.';

create function forgetting.may_erase(me identity.identity, scope text, project_id text)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return forgetting.is_unrestricted_operator(me)
  or identity.may_write(me, project_id, scope);

comment on function forgetting.may_erase(identity.identity, text, text) is
  'True if the token of an admin covers this scope and project. administered_tenants() decides about the tenant.';
--! EndIncluded 220-forgetting/010-administered-tenants.sql
--! Included 220-forgetting/020-memory-tombstones.sql
create function forgetting.max_reason_bytes()
returns integer
language sql
immutable
parallel safe
return 200;

comment on function forgetting.max_reason_bytes() is 'The maximum length of the reason of an erasure, in bytes.';

create table public.memory_tombstones (
  packet_id uuid primary key,
  erasure_id uuid not null,
  tenant_id uuid not null,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  packet_type text not null,
  creator text not null,
  reason text not null,
  erased_by text not null,
  erased_at timestamptz not null default now(),
  -- There are no columns for content, tags or metadata, and none for a hash of the content, which would confirm a guess.
  constraint tombstone_reason_short check (octet_length(reason) <= forgetting.max_reason_bytes())
);

create index memory_tombstones_erasure_idx on public.memory_tombstones (erasure_id);
create index memory_tombstones_tenant_idx on public.memory_tombstones (tenant_id, erased_at);

comment on table public.memory_tombstones is
  'Erased memories: that they existed, who owned them and who erased them. A tombstone holds nothing of the content.';
comment on column public.memory_tombstones.packet_id is 'The id that the memory had. The audit log has it too.';
comment on column public.memory_tombstones.erasure_id is
  'The erasure: all memories erased by one call have the same. UUID version 7.';
comment on column public.memory_tombstones.tenant_id is 'The tenant that owned the memory.';
comment on column public.memory_tombstones.org_id is 'The org that owned the memory, or null.';
comment on column public.memory_tombstones.user_id is 'The user who owned the memory, or null.';
comment on column public.memory_tombstones.project_id is 'The project of the memory, or null.';
comment on column public.memory_tombstones.scope is 'The scope of the memory.';
comment on column public.memory_tombstones.packet_type is 'The kind of the memory.';
comment on column public.memory_tombstones.creator is 'The creator that wrote the memory last.';
comment on column public.memory_tombstones.reason is 'The reason for the erasure as its caller gave it: at most 200 bytes.';
comment on column public.memory_tombstones.erased_by is 'The caller that erased the memory.';
comment on column public.memory_tombstones.erased_at is 'The time of the erasure.';

call identity.protect_like_memories('public.memory_tombstones', noun => 'erased memory', expires => false);
alter policy scope_access on public.memory_tombstones using (false);
comment on policy scope_access on public.memory_tombstones is 'Agents see no tombstones: to them an erased memory does not exist.';

create policy definer_functions on public.memory_tombstones for select to l9_owner
  using (tenant_id = any ((select forgetting.administered_tenants())::uuid[]));
create policy definer_tombstones on public.memory_tombstones for insert to l9_owner
  with check (tenant_id = any ((select forgetting.administered_tenants())::uuid[]));

comment on policy definer_functions on public.memory_tombstones is
  'Erasure reads the tombstones that it has written, in tenants that the caller administers.';
comment on policy definer_tombstones on public.memory_tombstones is
  'Erasure inserts tombstones of memories in tenants that the caller administers. Nobody updates or deletes a tombstone.';

grant select on public.memory_tombstones to l9_admin, l9_platform_admin;
-- Deliberately no grant to l9_agent, and no insert, update or delete for anyone.

create policy definer_erasure on public.packet_store to l9_owner
  using (tenant_id = any ((select forgetting.administered_tenants())::uuid[])) with check (false);
comment on policy definer_erasure on public.packet_store is
  'Erasure reads and deletes every memory, also an expired one, of tenants that the caller administers. It updates none.';
--! EndIncluded 220-forgetting/020-memory-tombstones.sql
--! Included 220-forgetting/030-mark-erased.sql
-- Summaries, facts and lessons that are derived from other memories and may have to be erased with them.
create index packet_store_derived_idx on public.packet_store (tenant_id)
  where packet_type in ('summary', 'fact', 'reflection') and parent_ids <> '{}';

create function forgetting.mark_erased(erasure_id uuid, reason text, packet_ids uuid[])
returns integer
language sql
volatile
set search_path = ''
begin atomic
  with marked as (
    insert into public.memory_tombstones
      (packet_id, erasure_id, tenant_id, org_id, user_id, project_id, scope, packet_type, creator, reason, erased_by)
    select
      p.packet_id, mark_erased.erasure_id, p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope, p.packet_type,
      p.metadata ->> 'creator', mark_erased.reason, identity.current_caller()
    from public.packet_store p
    where p.packet_id = any (packet_ids)
    for update
    on conflict do nothing
    returning packet_id
  )
  select count(*)::integer from marked;
end;

comment on function forgetting.mark_erased(uuid, text, uuid[]) is
  'Locks memories, writes their tombstones and returns how many it wrote. The other functions of this chapter erase the memories that have a tombstone of the same erasure. Not executable by callers.';

create function forgetting.mark_derived(erasure_id uuid, reason text)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  derived_packets uuid[];
begin
  loop
    derived_packets := array(
      select p.packet_id
      from public.packet_store p
      where p.tenant_id in (
          select distinct t.tenant_id from public.memory_tombstones t where t.erasure_id = mark_derived.erasure_id)
        and not exists (select from public.memory_tombstones t where t.packet_id = p.packet_id)
        and p.packet_type in ('summary', 'fact', 'reflection') and p.parent_ids <> '{}'
        and (
          -- A summary is erased with the first of its sources.
          exists (
            select from public.memory_summary_sources l
            join public.memory_tombstones t on t.packet_id = l.packet_id
            where l.summary_packet = p.packet_id and t.erasure_id = mark_derived.erasure_id)
          or exists (
            select from unnest(p.parent_ids) as parent (id)
            join public.memory_tombstones t on t.packet_id = parent.id
            where t.erasure_id = mark_derived.erasure_id)
          -- Other memories are erased when no parent is left. A parent that was deleted or erased earlier is not left either.
          and not exists (
            select from unnest(p.parent_ids) as parent (id)
            join public.packet_store kept on kept.packet_id = parent.id
            where not exists (select from public.memory_tombstones t where t.packet_id = kept.packet_id))));
    exit when derived_packets = '{}';
    perform forgetting.mark_erased(erasure_id, reason, derived_packets);
  end loop;
end
$$;

comment on function forgetting.mark_derived(uuid, text) is
  'Writes tombstones for summaries, facts and lessons all of whose parents are erased, and for summaries of memory_summaries with any erased source; then for those derived from these, and so on. Not executable by callers.';
--! EndIncluded 220-forgetting/030-mark-erased.sql
--! Included 220-forgetting/040-erase-packets.sql
create function forgetting.erase_packets(erasure_id uuid)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  versions integer;
  vectors integer;
  memories integer;
begin
  select count(*) into versions
  from public.packet_versions v join public.memory_tombstones t on t.packet_id = v.packet_id
  where t.erasure_id = erase_packets.erasure_id;
  select count(*) into vectors
  from public.memory_embeddings e join public.memory_tombstones t on t.packet_id = e.packet_id
  where t.erasure_id = erase_packets.erasure_id;
  -- Foreign keys delete versions, vectors with their chunks, entries in the embedding queue and idempotency keys.
  delete from public.packet_store p using public.memory_tombstones t
  where t.erasure_id = erase_packets.erasure_id and p.packet_id = t.packet_id;
  get diagnostics memories = row_count;
  return jsonb_build_object('memories', memories, 'versions', versions, 'vectors', vectors);
end
$$;

comment on function forgetting.erase_packets(uuid) is
  'Deletes the memories with a tombstone of this erasure, and all rows that depend on them. Not executable by callers.';
--! EndIncluded 220-forgetting/040-erase-packets.sql
--! Included 220-forgetting/050-erase-query-texts.sql
create function forgetting.erase_query_texts(erasure_id uuid, tenant_id uuid default null, user_id uuid default null)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  deleted_count integer;
begin
  with marked as (
    select t.packet_id, t.tenant_id from public.memory_tombstones t where t.erasure_id = erase_query_texts.erasure_id
  ), erased_texts as (
    select m.tenant_id, p.content_hash from marked m join public.packet_store p on p.packet_id = m.packet_id
    union
    select m.tenant_id, packets.content_hash(v.content) from marked m join public.packet_versions v on v.packet_id = m.packet_id
  ), matching_searches as (
    select a.audit_id
    from public.audit_log a
    cross join lateral jsonb_array_elements_text(
      case jsonb_typeof(a.details -> 'ids') when 'array' then a.details -> 'ids' else '[]' end) as hit (id)
    join marked m on m.packet_id::text = hit.id and m.tenant_id = a.tenant_id
    where a.operation = 'SEARCH'
      and a.audit_id in (select q.audit_id from public.audit_query_texts q)
  )
  delete from public.audit_query_texts q
  where q.audit_id in (select s.audit_id from matching_searches s)
    -- A search for exactly the erased text may have found other memories, or none.
    or (q.tenant_id, packets.content_hash(q.query)) in (select t.tenant_id, t.content_hash from erased_texts t)
    or q.tenant_id = erase_query_texts.tenant_id and q.user_id = erase_query_texts.user_id;
  get diagnostics deleted_count = row_count;
  return jsonb_build_object('query_texts', deleted_count);
end
$$;

comment on function forgetting.erase_query_texts(uuid, uuid, uuid) is
  'Deletes the texts of searches that found an erased memory, or whose text equals its content or that of one of its versions; for a subject, the texts of all searches of that user. The audit rows stay. Not executable by callers.';
--! EndIncluded 220-forgetting/050-erase-query-texts.sql
--! Included 220-forgetting/060-erase-feedback.sql
create policy definer_functions on public.memory_feedback for select to l9_owner
  using (tenant_id = any ((select forgetting.administered_tenants())::uuid[]));
create policy definer_erasure on public.memory_feedback for delete to l9_owner
  using (tenant_id = any ((select forgetting.administered_tenants())::uuid[]));
comment on policy definer_functions on public.memory_feedback is 'Erasure reads feedback in tenants that the caller administers.';
comment on policy definer_erasure on public.memory_feedback is 'Erasure deletes feedback in tenants that the caller administers.';

create function forgetting.erase_feedback(erasure_id uuid, tenant_id uuid default null, user_id uuid default null)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  deleted_count integer;
begin
  delete from public.memory_feedback f
  where f.packet_id in (select t.packet_id from public.memory_tombstones t where t.erasure_id = erase_feedback.erasure_id)
    or f.tenant_id = erase_feedback.tenant_id and f.user_id = erase_feedback.user_id;
  get diagnostics deleted_count = row_count;
  return jsonb_build_object('feedback', deleted_count);
end
$$;

comment on function forgetting.erase_feedback(uuid, uuid, uuid) is
  'Deletes the feedback about erased memories and, for a subject, all feedback that agents gave for that user. The access log holds no texts and stays. Not executable by callers.';
--! EndIncluded 220-forgetting/060-erase-feedback.sql
--! Included 220-forgetting/070-erase-user.sql
create function forgetting.erase_user(tenant_id uuid, user_id uuid)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  changed_count integer;
begin
  update public.users u
  set name = 'erased-' || u.user_id, is_active = false
  where u.tenant_id = erase_user.tenant_id and u.user_id = erase_user.user_id;
  get diagnostics changed_count = row_count;
  return jsonb_build_object('names', changed_count);
end
$$;

comment on function forgetting.erase_user(uuid, uuid) is
  'Replaces the name of a user and deactivates the user. The user_id stays, because audit rows refer to it. Not executable by callers.';
--! EndIncluded 220-forgetting/070-erase-user.sql
--! Included 220-forgetting/080-erase-marked.sql
create type public.erasure as (
  erasure_id uuid,
  memories integer,
  removed jsonb
);

comment on type public.erasure is 'The result of an erasure.';
comment on column public.erasure.erasure_id is 'The id that the tombstones and audit rows of this erasure have.';
comment on column public.erasure.memories is 'The number of memories that were erased, including those derived from them.';
comment on column public.erasure.removed is
  'The number of rows removed of each sort: memories, versions, vectors, query_texts, feedback …';

create function forgetting.check_erasure_reason(reason text)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if reason is null or reason !~ '\S' then
    perform identity.raise_error('L9VAL', 'reason: required, the reason for the erasure; the tombstone keeps it', 'reason');
  end if;
  perform identity.check_bytes(reason, forgetting.max_reason_bytes(), 'reason');
end
$$;

comment on function forgetting.check_erasure_reason(text) is
  'Raises L9VAL if there is no reason, and L9LIM if it is longer than 200 bytes.';

create function forgetting.erase_marked(
  me identity.identity, erasure_id uuid, reason text, tenant_id uuid default null, user_id uuid default null)
returns public.erasure
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  result public.erasure;
begin
  perform forgetting.mark_derived(erase_marked.erasure_id, erase_marked.reason);
  -- Erase everything or nothing: a derived memory outside the claims of this token would otherwise stay behind, unseen.
  if exists (
    select from public.memory_tombstones t
    where t.erasure_id = erase_marked.erasure_id and not forgetting.may_erase(me, t.scope, t.project_id)
  ) then
    perform identity.raise_error('L9SCP',
      'a summary, fact or lesson that rests only on the erased memories is outside the scopes or projects of this token');
  end if;

  -- One line for each place that holds contents. Functions that read the memories run before the memories are deleted.
  result.removed := forgetting.erase_query_texts(erase_marked.erasure_id, erase_marked.tenant_id, erase_marked.user_id);
  result.removed := result.removed || forgetting.erase_feedback(erase_marked.erasure_id, erase_marked.tenant_id, erase_marked.user_id);
  result.removed := result.removed || forgetting.erase_packets(erase_marked.erasure_id);
  if user_id is not null then
    result.removed := result.removed || forgetting.erase_user(erase_marked.tenant_id, erase_marked.user_id);
  end if;

  result.erasure_id := erase_marked.erasure_id;
  result.memories := result.removed ->> 'memories';
  perform audit.write_audit_of_tenant(t.tenant_id, 'ERASE', 'packet_store', t.packet_id, t.project_id, t.scope,
    jsonb_build_object('erasure_id', t.erasure_id, 'kind', t.packet_type, 'was_created_by', t.creator))
  from public.memory_tombstones t
  where t.erasure_id = erase_marked.erasure_id
  order by t.packet_id;
  return result;
end
$$;

comment on function forgetting.erase_marked(identity.identity, uuid, text, uuid, uuid) is
  'Erases the memories that have a tombstone of this erasure, and those derived only from them, from every place that holds contents. Not executable by callers.';
--! EndIncluded 220-forgetting/080-erase-marked.sql
--! Included 220-forgetting/090-erase-memory.sql
create function public.erase_memory(packet_id uuid, reason text)
returns public.erasure
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_admin();
  erasure_id uuid := uuidv7();
begin
  perform forgetting.check_erasure_reason(reason);
  -- No tombstone is written if the caller may not erase the memory or a concurrent erasure was faster.
  if forgetting.mark_erased(erasure_id, reason, array(
    select p.packet_id from public.packet_store p
    where p.packet_id = erase_memory.packet_id
      and p.tenant_id = any (forgetting.administered_tenants())
      and forgetting.may_erase(me, p.scope, p.project_id))) = 0
  then
    perform memories.raise_not_yours(erase_memory.packet_id);
  end if;
  return forgetting.erase_marked(me, erasure_id, reason);
end
$$;

comment on function public.erase_memory(uuid, text) is
  'Erases a memory, expired or not, everywhere: with its versions, vectors, chunks, keys, texts of searches that found it, and summaries, facts and lessons that rest only on it. A tombstone without content stays. For admins, within their tenant and claims, and for operators (else L9SCP); L9OWN if the memory does not exist. Definer: deletes rows that callers can''t see, such as expired ones.';

grant execute on function public.erase_memory(uuid, text) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 220-forgetting/090-erase-memory.sql
--! Included 220-forgetting/100-erase-subject.sql
create function public.erase_subject(user_id uuid, reason text, tenant_id uuid default null)
returns public.erasure
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_admin();
  target_tenant uuid := coalesce(tenant_id, me.tenant_id);
  erasure_id uuid := uuidv7();
  result public.erasure;
begin
  perform forgetting.check_erasure_reason(reason);
  if user_id is null then
    perform identity.raise_error('L9VAL', 'user_id: required, the user whose memories are to be erased', 'user_id');
  elsif target_tenant <> all (forgetting.administered_tenants()) then
    perform identity.raise_error('L9SCP', 'tenant_id: you may not erase in this tenant', 'tenant_id');
  elsif not forgetting.is_unrestricted_operator(me) and (
    not '*' = any (me.projects)
    or exists (select from public.scopes s where s.tenant_id = target_tenant and s.scope <> all (me.writable_scopes))
  ) then
    perform identity.raise_error('L9SCP',
      'erase_subject: your token must cover every scope and project of the tenant, so that nothing is left behind');
  end if;

  perform forgetting.mark_erased(erasure_id, reason, array(
    select p.packet_id from public.packet_store p
    where p.tenant_id = target_tenant and p.user_id = erase_subject.user_id));
  result := forgetting.erase_marked(me, erasure_id, reason, target_tenant, erase_subject.user_id);
  perform audit.write_audit_of_tenant(target_tenant, 'ERASE', 'users', erase_subject.user_id,
    details => jsonb_build_object('erasure_id', erasure_id, 'removed', result.removed));
  return result;
end
$$;

comment on function public.erase_subject(uuid, text, uuid) is
  'Erases all memories that a user owns, as erase_memory() does, the texts of the searches of that user, and the name of the user; the user is deactivated. For admins whose token covers every scope and project of the tenant, and for operators (tenant_id: another tenant than that of their claims); else L9SCP. Definer: deletes rows that callers can''t see, such as expired ones.';

grant execute on function public.erase_subject(uuid, text, uuid) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 220-forgetting/100-erase-subject.sql
--! Included 230-legacy/000-schema.sql
create schema legacy;
comment on schema legacy is 'The import of memories from the old memory.* tables. Nothing here is granted to any caller.';
grant usage on schema legacy to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 230-legacy/000-schema.sql
--! Included 230-legacy/010-legacy-ids.sql
create function legacy.tg_packet_store__forget_legacy()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  update legacy.legacy_ids i set source_hash = null, content_hash = null, leftover = null
  from old_rows o
  where i.new_id = o.packet_id;
  return null;
end
$$;

comment on function legacy.tg_packet_store__forget_legacy() is
  'When a memory is deleted, clears what the list of old ids holds of its content; the ids stay. Definer: nobody else writes that list.';

create table legacy.legacy_ids (
  source text not null,
  source_table text not null,
  source_id text not null,
  new_id uuid not null,
  outcome text not null,
  source_hash bytea,
  content_hash bytea,
  leftover jsonb,
  moved_at timestamptz not null default clock_timestamp(),
  primary key (source, source_table, source_id),
  constraint legacy_outcome_known check (outcome in ('moved', 'merged', 'recorded')),
  constraint legacy_hashes_sha256 check (octet_length(source_hash) = 32 and octet_length(content_hash) = 32)
);

create index legacy_ids_new_idx on legacy.legacy_ids (new_id);

comment on table legacy.legacy_ids is
  'What became of each row of the old tables. An entry outlives its memory, so that a memory deleted here is not imported again.';
comment on column legacy.legacy_ids.source is 'The database that the row came from.';
comment on column legacy.legacy_ids.source_table is 'The old table, such as memory.long_term.';
comment on column legacy.legacy_ids.source_id is 'The id of the row in the old table, as text.';
comment on column legacy.legacy_ids.new_id is 'The memory (packet_id) or audit row (audit_id) that the row became.';
comment on column legacy.legacy_ids.outcome is
  'moved: the row became a memory of its own; merged: a memory with the same content already existed; recorded: the row became a row of audit_log.';
comment on column legacy.legacy_ids.source_hash is
  'SHA-256 of the old content, unchanged (for an audit row, of the whole row). Null once the memory is deleted.';
comment on column legacy.legacy_ids.content_hash is
  'The content hash, computed like packet_store.content_hash. Null once the memory is deleted.';
comment on column legacy.legacy_ids.leftover is
  'For a merged row, what the existing memory does not contain: metadata, tags, unmapped columns. Null once the memory is deleted.';
comment on column legacy.legacy_ids.moved_at is 'When the row was imported.';

alter table legacy.legacy_ids enable row level security;
alter table legacy.legacy_ids force row level security;

create policy definer_functions on legacy.legacy_ids to l9_owner using (true);
comment on policy definer_functions on legacy.legacy_ids is 'The functions of schema legacy read and write it. Nobody else does.';

create trigger _900_forget_legacy after delete on public.packet_store
  referencing old table as old_rows
  for each statement execute function legacy.tg_packet_store__forget_legacy();
-- There is no grant on legacy_ids: it names memories of every tenant and scope.
--! EndIncluded 230-legacy/010-legacy-ids.sql
--! Included 230-legacy/020-require-legacy-import.sql
-- These policies and the trigger have no effect unless is_legacy_import().

create function legacy.require_legacy_import()
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if not packets.is_legacy_import() then
    perform identity.raise_error('L9SCP', 'only l9_owner may import old memories, through l9-memory migrate-legacy');
  end if;
end
$$;

comment on function legacy.require_legacy_import() is 'Raises L9SCP unless is_legacy_import().';
--! EndIncluded 230-legacy/020-require-legacy-import.sql
--! Included 230-legacy/030-check-legacy.sql
create policy definer_legacy_reads on public.packet_store for select to l9_owner
  using ((select packets.is_legacy_import()));
create policy definer_legacy_imports on public.packet_store for insert to l9_owner
  with check ((select packets.is_legacy_import()));
create policy definer_legacy_merges on public.packet_store for update to l9_owner
  using ((select packets.is_legacy_import()));
comment on policy definer_legacy_reads on public.packet_store is
  'While l9_owner imports old memories, it searches for duplicates and compares what it imported.';
comment on policy definer_legacy_imports on public.packet_store is
  'While l9_owner imports old memories, it inserts them; tg_packet_store__check_legacy checks them.';
comment on policy definer_legacy_merges on public.packet_store is
  'While l9_owner imports old memories, an existing memory takes the longer life, the higher importance and the tags of its duplicate.';

create function legacy.tg_packet_store__check_legacy()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  has_projects boolean;
begin
  if not exists (
    select from public.actors a
    where a.tenant_id = new.tenant_id and a.creator = new.metadata ->> 'creator' and a.source = new.metadata ->> 'source') then
    perform identity.raise_error('L9VAL', 'metadata: creator and source must be those of an actor of the tenant', 'metadata');
  end if;
  select s.is_project_scoped into has_projects from public.scopes s
  where s.tenant_id = new.tenant_id and s.scope = new.scope;
  if has_projects is null then
    perform identity.raise_error('L9VAL', 'scope: must be a scope of the tenant', 'scope');
  elsif has_projects <> (new.project_id is not null) then
    perform identity.raise_error('L9VAL', 'project_id: required in a scope with projects, and not allowed in others', 'project_id');
  end if;
  return new;
end
$$;

comment on function legacy.tg_packet_store__check_legacy() is
  'Checks an imported memory in place of the stamp and the scope check: its writer must be an actor of the tenant, and its scope and project must fit together.';

create trigger _300_check_legacy before insert or update on public.packet_store
  for each row when (current_user = 'l9_owner' and packets.is_legacy_import())
  execute function legacy.tg_packet_store__check_legacy();
--! EndIncluded 230-legacy/030-check-legacy.sql
--! Included 230-legacy/040-legacy-uuid.sql
create function legacy.legacy_uuid(source text, source_table text, source_id text, created timestamptz)
returns uuid
language sql
immutable
parallel safe
set search_path = ''
begin atomic
  with parts as (
    select substring(pg_catalog.sha256(pg_catalog.convert_to(
        pg_catalog.jsonb_build_array(source, source_table, source_id)::text, 'UTF8')) from 1 for 16) as hash,
      substring(pg_catalog.int8send(greatest(0, floor(extract(epoch from created) * 1000))::bigint) from 3 for 6) as time
  ), timed as (
    select overlay(hash placing coalesce(time, '\x000000000000') from 1 for 6) as bytes from parts
  ), versioned as (
    select pg_catalog.set_byte(
      pg_catalog.set_byte(bytes, 6, pg_catalog.get_byte(bytes, 6) & 15 | 112), 8, pg_catalog.get_byte(bytes, 8) & 63 | 128) as bytes
    from timed
  )
  select pg_catalog.encode(bytes, 'hex')::uuid from versioned;
end;

comment on function legacy.legacy_uuid(text, text, text, timestamptz) is
  'The id for an old row whose own id is not a UUID or is already used: a version 7 UUID made of its time and a hash of its origin. The same row always gets the same id.';
--! EndIncluded 230-legacy/040-legacy-uuid.sql
--! Included 230-legacy/050-classify-legacy-row.sql
-- Sequential scans are off because the plans are cached while the tables are still empty, and the tables then grow.
create function legacy.classify_legacy_row(source text, source_table text, tenant_id uuid, records jsonb)
returns table (
  place bigint,
  source_id text,
  reason text,
  packet_id uuid,
  existing_id uuid,
  first_place bigint,
  first_packet_id uuid,
  duplicate_key text,
  packet_type text,
  envelope jsonb,
  provenance jsonb,
  metadata jsonb,
  leftover jsonb,
  tags text[],
  ttl timestamptz,
  longest_ttl timestamptz,
  importance real,
  highest_importance real,
  scope text,
  project_id text,
  user_id uuid,
  created timestamptz,
  updated timestamptz,
  thread_id text,
  correlation_id text,
  session_id text,
  trace_id text,
  access_count bigint,
  last_accessed timestamptz,
  source_hash bytea,
  content_hash bytea,
  embedding text
)
language sql
stable
set search_path = ''
set enable_seqscan = off
set jit = off
as $$
  with input as materialized (
    select e.place, r.*,
      pg_catalog.sha256(pg_catalog.convert_to(r.content, 'UTF8')) as source_hash,
      packets.content_hash(r.content) as content_hash,
      octet_length(r.metadata::text) > packets.max_metadata_bytes() as has_much_metadata
    from jsonb_array_elements(records) with ordinality as e (record, place)
    cross join lateral jsonb_to_record(e.record) as r (
      source_id text, id uuid, content text, hash text, kind text, scope text, project_id text, user_id uuid, tags text[],
      importance real, ttl timestamptz, created timestamptz, updated timestamptz, thread_id text, correlation_id text,
      session_id text, trace_id text, access_count bigint, last_accessed timestamptz, metadata jsonb, legacy jsonb,
      embedding text)
  ), trimmed as (
    select g.*,
      g.legacy || case when g.has_much_metadata then jsonb_build_object('metadata', g.metadata) else '{}' end as all_legacy,
      case when g.has_much_metadata
        then jsonb_build_object('creator', g.metadata -> 'creator', 'source', g.metadata -> 'source', 'agent', g.metadata -> 'agent')
        else g.metadata
      end as small_metadata
    from input g
  ), sized as (
    select k.*, octet_length(jsonb_build_object('legacy', k.all_legacy)::text) as legacy_bytes from trimmed k
  ), used_ids as materialized (
    select p.packet_id from public.packet_store p where p.packet_id = any (array(select g.id from input g))
  ), same_content as materialized (
    -- The hash is the only condition, so that the planner uses its index.
    select p.packet_id, p.content_hash, p.tenant_id, p.scope, p.project_id, p.packet_type, p.org_id, p.user_id
    from public.packet_store p where p.content_hash = any (array(select g.content_hash from input g))
  ), classified as materialized (
    select s.*, j.reason, a.packet_id as existing_id,
      case
        when s.id is not null and not exists (select from used_ids t where t.packet_id = s.id) then s.id
        else legacy.legacy_uuid(classify_legacy_row.source, classify_legacy_row.source_table, s.source_id, s.created)
      end as packet_id
    from sized s
    cross join lateral (
      select case
        when s.content is null or s.content !~ '\S' then 'blank'
        when octet_length(s.content) > packets.max_content_bytes() then 'long'
        when s.legacy_bytes > packets.max_envelope_bytes() then 'large'
        when s.hash <> encode(s.source_hash, 'hex') then 'garbled'
      end as reason
    ) j
    left join same_content a
      on j.reason is null
      and a.content_hash = s.content_hash
      and a.tenant_id = classify_legacy_row.tenant_id
      and a.scope = s.scope
      and a.project_id is not distinct from s.project_id
      and a.packet_type = s.kind
      and a.org_id is null
      and a.user_id is not distinct from s.user_id
  )
  select f.place, f.source_id, f.reason, f.packet_id, f.existing_id,
    first_value(f.place) over ordered, first_value(f.packet_id) over ordered,
    encode(pg_catalog.sha256(f.content_hash || pg_catalog.convert_to(
      jsonb_build_array(f.scope, f.project_id, f.kind, f.user_id)::text, 'UTF8')), 'base64'),
    f.kind,
    jsonb_build_object('content', f.content)
      || case when f.legacy_bytes > packets.max_metadata_bytes() then jsonb_build_object('legacy', f.all_legacy) else '{}' end,
    jsonb_build_object('legacy', case
      when f.legacy_bytes <= packets.max_metadata_bytes() then f.all_legacy
      else jsonb_build_object('source', f.all_legacy -> 'source', 'table', f.all_legacy -> 'table', 'id', f.all_legacy -> 'id',
        'more', 'envelope.legacy')
    end),
    f.small_metadata,
    f.all_legacy || jsonb_build_object('metadata', f.metadata, 'tags', f.tags),
    f.tags,
    f.ttl, case when count(f.ttl) over duplicates = count(*) over duplicates then max(f.ttl) over duplicates end,
    f.importance, max(f.importance) over duplicates,
    f.scope, f.project_id, f.user_id, f.created, f.updated, f.thread_id, f.correlation_id, f.session_id, f.trace_id,
    f.access_count, f.last_accessed, f.source_hash, f.content_hash, f.embedding
  from classified f
  window
    duplicates as (partition by f.reason, f.content_hash, f.scope, f.project_id, f.kind, f.user_id),
    ordered as (duplicates order by f.place)
$$;

comment on function legacy.classify_legacy_row(text, text, uuid, jsonb) is
  'What importing these old rows would do, with a reason for each row that can''t be imported; changes nothing. It finds no duplicates unless is_legacy_import().';
--! EndIncluded 230-legacy/050-classify-legacy-row.sql
--! Included 230-legacy/060-preview-legacy.sql
create type legacy.legacy_outcome as (
  source_id text,
  outcome text,
  packet_id uuid,
  duplicate_key text,
  has_vector boolean
);

comment on type legacy.legacy_outcome is
  'What became of an old row: moved or merged with the resulting memory and whether its vector was imported, or the reason why it was not imported.';

create function legacy.preview_legacy(source text, source_table text, tenant_id uuid, records jsonb)
returns setof legacy.legacy_outcome
language sql
stable
set search_path = ''
as $$
  select j.source_id,
    case
      when j.reason is not null then j.reason
      when j.existing_id is not null or j.first_place < j.place then 'merged'
      else 'moved'
    end,
    case when j.reason is null then coalesce(j.existing_id, j.first_packet_id) end,
    j.duplicate_key,
    false
  from legacy.classify_legacy_row(source, source_table, tenant_id, records) j
  order by j.place
$$;

comment on function legacy.preview_legacy(text, text, uuid, jsonb) is 'What import_legacy() would do; changes nothing.';
--! EndIncluded 230-legacy/060-preview-legacy.sql
--! Included 230-legacy/070-import-legacy.sql
create function legacy.import_legacy(
  source text, source_table text, tenant_id uuid, records jsonb, model text, dimensions integer, is_present_model boolean)
returns setof legacy.legacy_outcome
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  outcomes legacy.legacy_outcome[];
begin
  perform legacy.require_legacy_import();
  with classified as materialized (
    select j.*,
      case when j.embedding is not null
        then rtrim(j.embedding, ']') || repeat(',0', 1536 - import_legacy.dimensions) || ']' end as padded
    from legacy.classify_legacy_row(import_legacy.source, import_legacy.source_table, import_legacy.tenant_id, records) j
  ), all_tags as (
    select t.first_place, array_agg(t.tag order by t.tag_place) as tags
    from (
      select j.first_place, btrim(tag.tag) as tag, min(j.place * 1000 + tag.place) as tag_place
      from classified j, unnest(j.tags) with ordinality as tag (tag, place)
      where j.reason is null and btrim(tag.tag) <> ''
      group by 1, 2
    ) t
    group by t.first_place
  ), inserted as (
    insert into public.packet_store (
      packet_id, packet_type, envelope, provenance, metadata, thread_id, tags, ttl, project_id, scope, importance_score,
      access_count, last_accessed, tenant_id, user_id, correlation_id, session_id, trace_id, "timestamp", updated_at)
    select j.packet_id, j.packet_type, j.envelope, j.provenance, j.metadata, j.thread_id, coalesce(t.tags[:packets.max_tags()], '{}'),
      j.longest_ttl, j.project_id, j.scope, j.highest_importance, coalesce(j.access_count, 0), j.last_accessed,
      import_legacy.tenant_id, j.user_id, j.correlation_id, j.session_id, j.trace_id,
      coalesce(j.created, now()), coalesce(j.updated, j.created, now())
    from classified j
    left join all_tags t on t.first_place = j.place
    where j.reason is null and j.existing_id is null and j.first_place = j.place
    order by j.place
    on conflict do nothing
    returning packet_store.packet_id
  ), improved as (
    update public.packet_store p set
      ttl = case when p.ttl is null or j.longest_ttl is null then null else greatest(p.ttl, j.longest_ttl) end,
      importance_score = greatest(p.importance_score, j.highest_importance),
      tags = (p.tags || array(select tag from unnest(t.tags) as tag where tag <> all (p.tags)))[:packets.max_tags()],
      updated_at = clock_timestamp()
    from classified j
    left join all_tags t on t.first_place = j.place
    where p.packet_id = j.existing_id and j.first_place = j.place
      and (p.ttl < j.longest_ttl or (p.ttl is not null and j.longest_ttl is null)
        or p.importance_score < j.highest_importance
        or (cardinality(p.tags) < packets.max_tags() and not coalesce(t.tags, '{}') <@ p.tags))
  ), results as (
    select j.*, coalesce(j.existing_id, i.packet_id) as new_id,
      case
        when j.reason is not null then j.reason
        when coalesce(j.existing_id, i.packet_id) is null then 'again'
        when j.existing_id is not null or j.first_place < j.place then 'merged'
        else 'moved'
      end as outcome
    from classified j
    left join inserted i on i.packet_id = j.first_packet_id and j.reason is null
  ), recorded as (
    insert into legacy.legacy_ids (source, source_table, source_id, new_id, outcome, source_hash, content_hash, leftover)
    select import_legacy.source, import_legacy.source_table, l.source_id, l.new_id, l.outcome, l.source_hash, l.content_hash,
      case when l.outcome = 'merged' then l.leftover end
    from results l
    where l.outcome in ('moved', 'merged')
  ), embedded as (
    insert into public.memory_embeddings (packet_id, embedding_type, model, vector, tenant_id, user_id, project_id, scope, ttl)
    select v.new_id, 'content', import_legacy.model, extensions.l2_normalize(v.vector), import_legacy.tenant_id, v.user_id,
      v.project_id, v.scope, v.longest_ttl
    from (
      select l.*, case when pg_input_is_valid(l.padded, 'extensions.vector(1536)') then l.padded::extensions.vector(1536) end as vector
      from results l
      where l.outcome = 'moved' and l.padded is not null
    ) v
    where extensions.vector_norm(v.vector) > 0
    returning memory_embeddings.packet_id
  )
  select array_agg(row(l.source_id, l.outcome, l.new_id, l.duplicate_key, e.packet_id is not null)::legacy.legacy_outcome
    order by l.place)
  into outcomes
  from results l
  left join embedded e on e.packet_id = l.new_id and l.outcome = 'moved';

  -- A memory whose vector was imported needs no embedding, unless its text is long and its chunks still do.
  if is_present_model then
    delete from embeddings.pending_embeddings q
    using unnest(outcomes) o, public.packet_store p
    where o.has_vector and q.packet_id = o.packet_id and q.model = import_legacy.model and p.packet_id = o.packet_id
      and octet_length(p.envelope ->> 'content') <= 1000;
  end if;
  return query select o.* from unnest(outcomes) o;
end
$$;

comment on function legacy.import_legacy(text, text, uuid, jsonb, text, integer, boolean) is
  'Imports old rows into packet_store and their vectors into memory_embeddings, and records what became of each, in one transaction. It works only if is_legacy_import(): even with a grant, no other role could insert through it.';
--! EndIncluded 230-legacy/070-import-legacy.sql
--! Included 230-legacy/080-compare-legacy.sql
create function legacy.compare_legacy(source text, source_table text, source_ids text[], source_hashes text[])
returns table (source_id text, state text)
language sql
stable
set search_path = ''
set enable_seqscan = off
set jit = off
as $$
  with recorded as materialized (
    select i.source_id, i.new_id, i.outcome, i.source_hash, i.content_hash, i.moved_at
    from legacy.legacy_ids i
    where i.source = compare_legacy.source and i.source_table = compare_legacy.source_table
      and i.source_id = any (source_ids)
  ), present as materialized (
    select p.packet_id, p.content_hash, packets.content_hash(p.envelope ->> 'content') as hash_now, p.updated_at
    from public.packet_store p
    where p.packet_id = any (array(select k.new_id from recorded k))
  )
  select o.source_id,
    case
      when k.source_id is null then 'new'
      when k.outcome = 'recorded' and encode(k.source_hash, 'hex') is distinct from o.hash then 'changed'
      when k.outcome = 'recorded' then 'kept'
      when h.packet_id is null then 'gone'
      when encode(k.source_hash, 'hex') is distinct from o.hash then 'changed'
      when h.hash_now = k.content_hash and h.content_hash = k.content_hash then 'kept'
      when h.updated_at > k.moved_at then 'edited'
      else 'different'
    end
  from unnest(source_ids, source_hashes) with ordinality as o (source_id, hash, place)
  left join recorded k on k.source_id = o.source_id
  left join present h on h.packet_id = k.new_id
  order by o.place
$$;

comment on function legacy.compare_legacy(text, text, text[], text[]) is
  'The state of old rows, given their ids and the hashes of their contents: new (not imported), kept (identical here), edited (changed here since), gone (deleted here since), changed (changed in the old table after the import), or different, which should not occur.';
--! EndIncluded 230-legacy/080-compare-legacy.sql
--! Included 230-legacy/090-import-legacy-audit.sql
create function legacy.write_legacy_audit(tenant_id uuid, rows jsonb)
returns void
language sql
volatile
set search_path = ''
begin atomic
  insert into public.audit_log (
    audit_id, occurred_at, operation, table_name, row_id, tenant_id, project_id, scope, status, sqlstate, details)
  select r.audit_id, r.occurred_at, r.operation, r.table_name, r.row_id, tenant_id, r.project_id, r.scope,
    case when r.sqlstate is null then 'success' else 'error' end, r.sqlstate,
    coalesce(r.details, '{}') || jsonb_build_object(
      'caller', r.caller, 'creator', r.creator, 'source', r.source, 'tool_name', r.tool_name)
  from jsonb_to_recordset(rows) as r (
    audit_id uuid, occurred_at timestamptz, operation text, table_name text, row_id uuid, project_id text, scope text,
    caller text, creator text, source text, tool_name text, sqlstate text, details jsonb);
end;

comment on function legacy.write_legacy_audit(uuid, jsonb) is
  'Adds rows of the old audit tables to audit_log with their original times and callers. Only import_legacy_audit() calls it.';

create function legacy.import_legacy_audit(source text, source_table text, tenant_id uuid, records jsonb)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  rows jsonb;
begin
  perform legacy.require_legacy_import();
  -- An audit row about an old memory is attached to the memory it became.
  select jsonb_agg(e.record || jsonb_build_object(
    'audit_id', uuidv7(),
    'row_id', coalesce(
      (select (array_agg(i.new_id))[1] from legacy.legacy_ids i
        where i.source = import_legacy_audit.source
          and i.source_table = any (array(select jsonb_array_elements_text(e.record -> 'row_tables')))
          and i.source_id = e.record ->> 'row'
        having count(*) = 1),
      case when pg_input_is_valid(e.record ->> 'row', 'uuid') then (e.record ->> 'row')::uuid end)))
  into rows
  from jsonb_array_elements(records) as e (record);

  perform legacy.write_legacy_audit(import_legacy_audit.tenant_id, rows);
  insert into legacy.legacy_ids (source, source_table, source_id, new_id, outcome, source_hash)
  select import_legacy_audit.source, import_legacy_audit.source_table, r.source_id, r.audit_id, 'recorded', decode(r.hash, 'hex')
  from jsonb_to_recordset(rows) as r (source_id text, audit_id uuid, hash text);
  return jsonb_array_length(records);
end
$$;

comment on function legacy.import_legacy_audit(text, text, uuid, jsonb) is
  'Imports old audit rows into audit_log and records which, in one transaction. It works only if is_legacy_import().';
-- There is no grant on any function of this schema: l9_owner owns them.
--! EndIncluded 230-legacy/090-import-legacy-audit.sql
