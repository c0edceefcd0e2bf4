--! Previous: -
--! Hash: sha1:b975fb2d52d745f985ac539516b6f91e989e6bea
--! Message: the first schema

--! split: 1-current.sql
--! Included 010-identity/010-schemas.sql
-- Before the first function: nothing is executable, readable or usable unless a line below says so.
alter default privileges revoke execute on functions from public;

create schema l9_private;
comment on schema l9_private is
  'Helpers behind the policies, triggers and public functions. Not exposed over GraphQL; what agents may call in it is granted one by one.';

grant usage on schema public to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant usage on schema l9_private to l9_agent, l9_admin, l9_platform_admin, l9_worker;

-- So that a gateway without owner rights can tell whether all migrations have run.
grant usage on schema graphile_migrate to l9_worker;
grant select on graphile_migrate.migrations to l9_worker;
--! EndIncluded 010-identity/010-schemas.sql
--! Included 010-identity/020-fail.sql
create function l9_private.fail(errcode text, message text, field text default null, hint text default null)
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

comment on function l9_private.fail(text, text, text, text) is
  'Raises one of the documented errors (docs/errors.md): SQLSTATE L9…, a text fit for the caller, and the field it is about.';

grant execute on function l9_private.fail(text, text, text, text) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 010-identity/020-fail.sql
--! Included 010-identity/030-tenants.sql
create table public.tenants (
  tenant_id uuid primary key default uuidv7(),
  name text not null,
  is_active boolean not null default true,
  audits_query_text boolean not null default false,
  created_at timestamptz not null default now(),
  constraint tenant_name_unique unique (name),
  constraint tenant_name_plain check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$')
);

comment on table public.tenants is 'Who owns memories at the widest: nothing is ever shared between tenants.';
comment on column public.tenants.tenant_id is 'Id, as in the claim tenant_id.';
comment on column public.tenants.created_at is 'When it was made.';
comment on column public.tenants.name is 'Lower-case letters, digits, - and _; unique.';
comment on column public.tenants.is_active is 'False: no caller of this tenant has an identity any more, whatever its token says.';
comment on column public.tenants.audits_query_text is 'Whether the texts of searches are kept, beside their hashes.';

insert into public.tenants (tenant_id, name) values ('00000000-0000-7000-8000-000000000001', 'default');
--! EndIncluded 010-identity/030-tenants.sql
--! Included 010-identity/035-orgs-and-users.sql
-- Ids count within their tenant only: were they unique across tenants, one could lock out another's org by registering its id.
create table public.orgs (
  tenant_id uuid not null references public.tenants,
  org_id uuid not null default uuidv7(),
  name text not null,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (tenant_id, org_id),
  constraint org_name_unique unique (tenant_id, name),
  constraint org_name_plain check (name ~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,198}[^[:cntrl:][:space:]])?$')
);

comment on table public.orgs is
  'Orgs of a tenant. An id in a token need not be one of these, for an identity provider may own them; but one that is here must be active.';
comment on column public.orgs.tenant_id is 'The tenant it belongs to.';
comment on column public.orgs.org_id is 'Id, as in the claim org_id.';
comment on column public.orgs.name is 'What people call it; unique in its tenant.';
comment on column public.orgs.is_active is 'False: whoever claims it has no identity, whatever the token says.';
comment on column public.orgs.created_at is 'When it was registered.';

create table public.users (
  tenant_id uuid not null references public.tenants,
  user_id uuid not null default uuidv7(),
  org_id uuid,
  name text not null,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (tenant_id, user_id),
  foreign key (tenant_id, org_id) references public.orgs (tenant_id, org_id),
  constraint user_name_plain check (name ~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,198}[^[:cntrl:][:space:]])?$')
);

-- The planner's statistics would keep names that are erased.
alter table public.users alter column name set statistics 0;

create index users_org_idx on public.users (tenant_id, org_id);

comment on table public.users is
  'Users of a tenant. An id in a token need not be one of these; but one that is here must be active, and claimed together with its org.';
comment on column public.users.tenant_id is 'The tenant it belongs to.';
comment on column public.users.user_id is 'Id, as in the claim user_id.';
comment on column public.users.org_id is 'The org it belongs to; null: to none, or whichever the token says.';
comment on column public.users.name is 'What people call it.';
comment on column public.users.is_active is 'False: whoever claims it has no identity, whatever the token says.';
comment on column public.users.created_at is 'When it was registered.';
--! EndIncluded 010-identity/035-orgs-and-users.sql
--! Included 010-identity/040-scopes.sql
create table public.scopes (
  tenant_id uuid not null references public.tenants,
  scope text not null,
  is_project_scoped boolean not null,
  description text not null default '',
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (tenant_id, scope),
  constraint scope_name_plain check (scope ~ '^[a-z0-9][a-z0-9_-]{0,62}$')
);

comment on table public.scopes is
  'What decides visibility; never the author. developer, l-private and global are built in; a tenant can add its own.';
comment on column public.scopes.tenant_id is 'The tenant it belongs to.';
comment on column public.scopes.scope is 'Its name: lower-case letters, digits, - and _.';
comment on column public.scopes.description is 'What it is for.';
comment on column public.scopes.is_active is 'False: nobody reads or writes it, until it is active again. Its memories stay.';
comment on column public.scopes.created_at is 'When it was made.';
comment on column public.scopes.is_project_scoped is
  'True: a memory of this scope belongs to a project. False: it belongs to none, and its project_id is null.';
--! EndIncluded 010-identity/040-scopes.sql
--! Included 010-identity/050-actors.sql
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
  constraint actor_caller_plain check (caller ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  constraint actor_names_plain check (
    creator ~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,98}[^[:cntrl:][:space:]])?$'
    and source ~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,98}[^[:cntrl:][:space:]])?$'
    and agent ~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,98}[^[:cntrl:][:space:]])?$'),
  constraint actor_role_known check (role in ('l9_agent', 'l9_admin', 'l9_platform_admin')),
  -- Someone who may write what it can't read could never find its own duplicates.
  constraint actor_reads_what_it_writes check ('*' = any (readable_scopes) or writable_scopes <@ readable_scopes)
);

comment on table public.actors is
  'The agents known to the system. A token''s claims are cut down by its actor''s row: effective scopes are those claimed and registered here.';
comment on column public.actors.tenant_id is 'The tenant it belongs to.';
comment on column public.actors.created_at is 'When it was registered.';
comment on column public.actors.caller is 'The name a token''s claim `caller` or an API key stands for, such as L or C.';
comment on column public.actors.creator is
  'Stamped into metadata.creator of what this actor writes, by which it owns that. It never changes, and no other actor ever gets it.';
comment on column public.actors.source is 'Stamped into metadata.source of what this actor writes.';
comment on column public.actors.agent is 'metadata.agent where the writer gives none.';
comment on column public.actors.role is
  'The only database role under which this caller has an identity: a session as l9_agent that claims to be L is nobody.';
comment on column public.actors.readable_scopes is 'Scopes it may read; {*} means every scope of the tenant.';
comment on column public.actors.writable_scopes is 'Scopes it may write; {*} means every scope of the tenant.';
comment on column public.actors.can_clean_up is 'Whether it may delete what has expired.';
comment on column public.actors.login is
  'A database login that is this actor, whatever claims its sessions set. Null: none. Logins of l9_gateway are never bound: their claims are believed.';
comment on column public.actors.is_active is 'False: its next request fails, whatever its token says.';
--! EndIncluded 010-identity/050-actors.sql
--! Included 010-identity/052-active-actors.sql
-- What each actor's row is worth at present: every statement of every caller asks for it, most of them several times. Worked out
-- anew from three tables it took four times as long as one row read by its key.
create table l9_private.active_actors (
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

comment on table l9_private.active_actors is
  'Actors that may come in, with the scopes that their rows are worth at present. Made from actors, scopes and tenants by triggers of these, in the transaction that changes them; never written by hand.';

create function l9_private.refresh_active_actors(tenant_id uuid)
returns void
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
begin
  -- One at a time: of two that change a tenant at once, the second must see what the first did. Each statement after this
  -- one has a snapshot of its own.
  perform pg_advisory_xact_lock(hashtextextended('l9_private.active_actors ' || refresh_active_actors.tenant_id, 0));
  delete from l9_private.active_actors e where e.tenant_id = refresh_active_actors.tenant_id;
  insert into l9_private.active_actors
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

comment on function l9_private.refresh_active_actors(uuid) is
  'Makes the rows of a tenant anew. Not executable by callers.';

create function l9_private.tg__refresh_active_actors()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  if tg_op = 'TRUNCATE' then
    -- Of these tables none can be emptied without what rests on it.
    delete from l9_private.active_actors;
    return null;
  end if;
  if tg_op <> 'INSERT' then
    perform l9_private.refresh_active_actors(old.tenant_id);
  end if;
  if tg_op = 'INSERT' or tg_op = 'UPDATE' and new.tenant_id <> old.tenant_id then
    perform l9_private.refresh_active_actors(new.tenant_id);
  end if;
  return null;
end
$$;

comment on function l9_private.tg__refresh_active_actors() is
  'Keeps active_actors equal to what actors, scopes and tenants say. Definer: whoever changes these can''t write it.';

create trigger _600_active_actors after insert or update or delete on public.tenants
  for each row execute function l9_private.tg__refresh_active_actors();
create trigger _600_active_actors after insert or update or delete on public.scopes
  for each row execute function l9_private.tg__refresh_active_actors();
create trigger _600_active_actors after insert or update or delete on public.actors
  for each row execute function l9_private.tg__refresh_active_actors();
create trigger _610_active_actors after truncate on public.tenants
  for each statement execute function l9_private.tg__refresh_active_actors();
create trigger _610_active_actors after truncate on public.scopes
  for each statement execute function l9_private.tg__refresh_active_actors();
create trigger _610_active_actors after truncate on public.actors
  for each statement execute function l9_private.tg__refresh_active_actors();
--! EndIncluded 010-identity/052-active-actors.sql
--! Included 010-identity/055-furnish-tenant.sql
create function l9_private.furnish_tenant(tenant_id uuid)
returns void
language sql
volatile
set search_path = ''
begin atomic
  insert into public.scopes (tenant_id, scope, is_project_scoped, description)
  values
    (furnish_tenant.tenant_id, 'developer', true, 'Shared by L and coding agents, within a project.'),
    (furnish_tenant.tenant_id, 'l-private', true, 'L''s own, within a project.'),
    (furnish_tenant.tenant_id, 'global', false, 'Everyone in the tenant, in no project.');
  insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
  values
    (furnish_tenant.tenant_id, 'L', 'L-CTO', 'l9-kernel', 'l-cto', 'l9_admin', '{*}', '{*}', true),
    (furnish_tenant.tenant_id, 'C', 'Cursor-IDE', 'cursor-ide', 'cursor', 'l9_agent', '{developer,global}', '{developer,global}', false);
end;

comment on function l9_private.furnish_tenant(uuid) is
  'Gives a new tenant what every tenant has: the scopes developer, l-private and global, and the actors L and C.';

select l9_private.furnish_tenant(tenant_id) from public.tenants;
--! EndIncluded 010-identity/055-furnish-tenant.sql
--! Included 010-identity/058-api-keys.sql
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
  constraint api_key_name_plain check (name ~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,98}[^[:cntrl:][:space:]])?$'),
  constraint api_key_limits_not_empty check (scopes <> '{}' and projects <> '{}')
);

create index api_keys_caller_idx on public.api_keys (tenant_id, caller);

comment on table public.api_keys is
  'MCP keys that are kept in the database: whose they are and what they are cut down to. The keys themselves are kept nowhere.';
comment on column public.api_keys.key_id is 'Id, for revoke_api_key().';
comment on column public.api_keys.tenant_id is 'The tenant of its caller.';
comment on column public.api_keys.name is 'What it is for.';
comment on column public.api_keys.caller is 'The actor that it stands for.';
comment on column public.api_keys.org_id is 'The org that it acts for, or null.';
comment on column public.api_keys.user_id is 'The user that it acts for, or null.';
comment on column public.api_keys.scopes is 'Only these of its caller''s scopes; null: all of them.';
comment on column public.api_keys.projects is 'Only these projects; null: all.';
comment on column public.api_keys.created_at is 'When it was made.';
comment on column public.api_keys.created_by is 'Who made it: a caller, or db:<role>.';
comment on column public.api_keys.expires_at is 'From then on it is refused; null: never.';
comment on column public.api_keys.revoked_at is 'When it was revoked; null: it was not.';

-- Apart from the rest, so that no grant on that, of today or tomorrow, shows a hash.
create table l9_private.api_key_hashes (
  key_id uuid primary key references public.api_keys,
  hash bytea not null,
  constraint api_key_hash_unique unique (hash),
  constraint api_key_hash_sha256 check (octet_length(hash) = 32)
);

comment on table l9_private.api_key_hashes is
  'SHA-256 of each API key. A key is 256 random bits, so that its hash can be neither guessed nor turned back.';
comment on column l9_private.api_key_hashes.hash is 'SHA-256 of the key as it was shown.';
--! EndIncluded 010-identity/058-api-keys.sql
--! Included 010-identity/060-current-identity.sql
-- The one place that reads claims. Policies call the current_*() functions inside (select …), once a query.

create function l9_private.claim(name text)
returns text
language sql
stable
parallel safe
set search_path = ''
return nullif(pg_catalog.current_setting('jwt.claims.' || name, true), '');

comment on function l9_private.claim(text) is 'A claim of this transaction, or null; an empty claim counts as none.';

create function l9_private.list_claim(name text)
returns text[]
language sql
stable
parallel safe
set search_path = ''
return case
  when l9_private.claim(name) is null then array['*']
  when pg_catalog.left(l9_private.claim(name), 1) <> '[' then pg_catalog.string_to_array(l9_private.claim(name), ',')
  when l9_private.claim(name) is json array then
    array(select pg_catalog.jsonb_array_elements_text(l9_private.claim(name)::jsonb))
  else '{}'
end;

comment on function l9_private.list_claim(text) is
  'A claim that is a list, as JSON or separated by commas: {*} when it is missing, empty when it is malformed.';

create type l9_private.identity as (
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

comment on type l9_private.identity is 'Who this transaction acts for, and how far, after its claims were cut down by the actor''s row.';

create function l9_private.current_role_name()
returns text
language sql
stable
parallel safe
set search_path = ''
return case pg_catalog.current_setting('role')
  when 'none' then session_user::text
  else pg_catalog.current_setting('role')
end;

comment on function l9_private.current_role_name() is
  'The role that the session has taken. Unlike current_user it is still the caller''s inside a definer function.';

create function l9_private.both(list text[], claimed text[])
returns text[]
language sql
immutable
parallel safe
set search_path = ''
return case when '*' = any (claimed) then list
  else array(select l.entry from unnest(list) with ordinality as l (entry, place) where l.entry = any (claimed) order by l.place) end;

comment on function l9_private.both(text[], text[]) is 'What of a list is claimed; {*} claims all of it.';

create function l9_private.are_claims_good(tenant_id uuid, caller text, org_id uuid, user_id uuid, key_id uuid)
returns boolean
language sql
stable
parallel safe
security definer
set search_path = ''
return
  (org_id is null or not exists (
    select from public.orgs o
    where o.tenant_id = are_claims_good.tenant_id and o.org_id = are_claims_good.org_id and not o.is_active))
  and (user_id is null or not exists (
    select from public.users u
    where u.tenant_id = are_claims_good.tenant_id and u.user_id = are_claims_good.user_id
      and not (u.is_active and (u.org_id is null or u.org_id is not distinct from are_claims_good.org_id))))
  and (key_id is null or exists (
    select from public.api_keys k
    where k.key_id = are_claims_good.key_id and k.tenant_id = are_claims_good.tenant_id and k.caller = are_claims_good.caller
      and k.revoked_at is null and (k.expires_at is null or k.expires_at > pg_catalog.clock_timestamp())));

comment on function l9_private.are_claims_good(uuid, text, uuid, uuid, uuid) is
  'Whether an org and a user that are registered are active and belong together, and an API key is its caller''s and still holds. Definer: reads identity tables. Not executable by callers.';

-- Every policy and row trigger asks for it, so its cost is felt: plpgsql keeps its plan for the session, claims that are
-- not there are not parsed, and what it does always is done without calling another function (20 µs each).
create function l9_private.current_identity()
returns l9_private.identity
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
  me l9_private.identity;
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
  me.projects := case when projects_claim is null then '{*}' else l9_private.list_claim('projects') end;

  select a.tenant_id, org_claim::uuid, user_claim::uuid, a.caller, a.creator, a.source, a.agent, a.role,
    a.readable_scopes, a.writable_scopes, me.projects, a.can_clean_up
  into me
  from l9_private.active_actors a
  where a.tenant_id = tenant_claim::uuid and a.caller = caller_claim and a.role = role_name;

  if scopes_claim is not null then
    me.readable_scopes := l9_private.both(me.readable_scopes, l9_private.list_claim('scopes'));
    me.writable_scopes := l9_private.both(me.writable_scopes, l9_private.list_claim('scopes'));
  end if;
  if (org_claim is not null or user_claim is not null or key_claim is not null)
    and not l9_private.are_claims_good(me.tenant_id, me.caller, me.org_id, me.user_id, key_claim::uuid) then
    return null;
  end if;
  return me;
end
$$;

comment on function l9_private.current_identity() is
  'The caller of this transaction from its login, its claims, its role and its actor''s row; null when they do not fit together. Definer: reads identity tables, which callers see only in part.';

create function l9_private.require_identity()
returns l9_private.identity
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.current_identity();
begin
  if me.caller is null then
    perform l9_private.fail('L9AUT', 'this session has no identity: its claims name no active caller of its role');
  end if;
  return me;
end
$$;

comment on function l9_private.require_identity() is 'current_identity(), or the error L9AUT where there is none.';

create function l9_private.require_admin()
returns l9_private.identity
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.require_identity();
begin
  if me.role not in ('l9_admin', 'l9_platform_admin') then
    perform l9_private.fail('L9SCP', 'this is for administrators');
  end if;
  return me;
end
$$;

comment on function l9_private.require_admin() is
  'current_identity() where it is an administrator''s; else the error L9AUT (nobody) or L9SCP (somebody else).';

create function l9_private.has_every_scope()
returns boolean
language sql
stable
parallel safe
security definer
set search_path = ''
return '*' = any (l9_private.list_claim('scopes')) and exists (
  select from public.actors a, l9_private.current_identity() as me
  where a.tenant_id = me.tenant_id and a.caller = me.caller and '*' = any (a.readable_scopes) and '*' = any (a.writable_scopes));

comment on function l9_private.has_every_scope() is
  'Whether the caller may read and write every scope of its tenant, those to come included: its actor''s row says so, and its token is not cut down. Definer: reads actors.';

create function l9_private.current_tenant_id() returns uuid
language sql stable parallel safe set search_path = ''
return (l9_private.current_identity()).tenant_id;

create function l9_private.current_org_id() returns uuid
language sql stable parallel safe set search_path = ''
return (l9_private.current_identity()).org_id;

create function l9_private.current_user_id() returns uuid
language sql stable parallel safe set search_path = ''
return (l9_private.current_identity()).user_id;

create function l9_private.current_caller() returns text
language sql stable parallel safe set search_path = ''
return (l9_private.current_identity()).caller;

create function l9_private.current_creator() returns text
language sql stable parallel safe set search_path = ''
return (l9_private.current_identity()).creator;

create function l9_private.current_scopes() returns text[]
language sql stable parallel safe set search_path = ''
return coalesce((l9_private.current_identity()).readable_scopes, '{}');

create function l9_private.current_writable_scopes() returns text[]
language sql stable parallel safe set search_path = ''
return coalesce((l9_private.current_identity()).writable_scopes, '{}');

create function l9_private.current_projects() returns text[]
language sql stable parallel safe set search_path = ''
return coalesce((l9_private.current_identity()).projects, '{}');

comment on function l9_private.current_tenant_id() is 'The caller''s tenant, or null without an identity.';
comment on function l9_private.current_org_id() is 'The caller''s org, or null.';
comment on function l9_private.current_user_id() is 'The user the caller acts for, or null.';
comment on function l9_private.current_caller() is 'The caller, such as L or C, or null without an identity.';
comment on function l9_private.current_creator() is 'What metadata.creator of the caller''s own memories says, or null.';
comment on function l9_private.current_scopes() is 'Scopes the caller may read: claimed and registered. Empty without an identity.';
comment on function l9_private.current_writable_scopes() is 'Scopes the caller may write: claimed and registered. Empty without an identity.';
comment on function l9_private.current_projects() is 'Projects the caller may work in; {*} is every one. Empty without an identity.';

grant execute on function
  l9_private.claim(text), l9_private.list_claim(text),
  l9_private.current_role_name(), l9_private.current_identity(), l9_private.require_identity(),
  l9_private.require_admin(), l9_private.has_every_scope(),
  l9_private.current_tenant_id(), l9_private.current_org_id(), l9_private.current_user_id(),
  l9_private.current_caller(), l9_private.current_creator(),
  l9_private.current_scopes(), l9_private.current_writable_scopes(), l9_private.current_projects()
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 010-identity/060-current-identity.sql
--! Included 010-identity/065-platform-look.sql
create function l9_private.platform_look(table_name text)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.current_identity();
begin
  if me.role is distinct from 'l9_platform_admin' then
    return false;
  end if;
  -- The row goes with its transaction; what was seen in one that rolled back is at least in the log of the server.
  raise log 'l9-memory: platform admin % of tenant % looks at %', me.caller, me.tenant_id, table_name;
  perform l9_private.write_audit('READ', table_name, details => '{"look": "platform"}');
  return true;
end
$$;

comment on function l9_private.platform_look(text) is
  'True where the caller is an active platform admin, and then leaves an audit row READ: policies for l9_platform_admin call it inside (select …), so each query leaves one for each table it looks at. In a read-only transaction it fails, and so does the look. Definer: writes audit_log.';

grant execute on function l9_private.platform_look(text) to l9_platform_admin;
--! EndIncluded 010-identity/065-platform-look.sql
--! Included 010-identity/070-policies.sql
-- Policies of the identity tables. They come after the functions they call, which in turn read these tables.

alter table public.tenants enable row level security;
alter table public.tenants force row level security;
alter table public.orgs enable row level security;
alter table public.orgs force row level security;
alter table public.users enable row level security;
alter table public.users force row level security;
alter table public.scopes enable row level security;
alter table public.scopes force row level security;
alter table public.actors enable row level security;
alter table public.actors force row level security;
alter table public.api_keys enable row level security;
alter table public.api_keys force row level security;
alter table l9_private.api_key_hashes enable row level security;
alter table l9_private.api_key_hashes force row level security;
alter table l9_private.active_actors enable row level security;
alter table l9_private.active_actors force row level security;

create policy tenant_isolation on public.tenants as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy scope_access on public.tenants for select to l9_agent, l9_admin using (true);
create policy platform_override on public.tenants for select to l9_platform_admin
  using ((select l9_private.platform_look('tenants')));
create policy definer_functions on public.tenants for select to l9_owner using (true);
create policy definer_inserts on public.tenants for insert to l9_owner with check (true);
create policy definer_updates on public.tenants for update to l9_owner using (true);
comment on policy tenant_isolation on public.tenants is 'A caller sees its own tenant.';
comment on policy scope_access on public.tenants is 'No further limit within the tenant.';
comment on policy platform_override on public.tenants is 'Operators see every tenant, on the record.';
comment on policy definer_functions on public.tenants is 'current_identity() asks whether the tenant is active.';
comment on policy definer_inserts on public.tenants is 'create_tenant().';
comment on policy definer_updates on public.tenants is
  'deactivate_tenant(), reactivate_tenant() and set_query_text_audit(). Nothing deletes one.';

create policy tenant_isolation on public.orgs as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy org_isolation on public.orgs as restrictive to l9_agent
  using (org_id = (select l9_private.current_org_id()));
create policy scope_access on public.orgs for select to l9_agent using (true);
create policy admin_override on public.orgs for select to l9_admin using (true);
create policy platform_override on public.orgs for select to l9_platform_admin
  using ((select l9_private.platform_look('orgs')));
create policy definer_functions on public.orgs for select to l9_owner using (true);
create policy definer_inserts on public.orgs for insert to l9_owner with check (true);
create policy definer_updates on public.orgs for update to l9_owner using (true);
comment on policy tenant_isolation on public.orgs is 'Orgs of the caller''s tenant.';
comment on policy org_isolation on public.orgs is 'An agent could see its own org at most; no grant lets it.';
comment on policy scope_access on public.orgs is 'No further limit; no grant lets an agent see one.';
comment on policy admin_override on public.orgs is 'Admins see the orgs of their tenant.';
comment on policy platform_override on public.orgs is 'Operators see every org, on the record.';
comment on policy definer_functions on public.orgs is 'current_identity() asks whether the org is active.';
comment on policy definer_inserts on public.orgs is 'create_org().';
comment on policy definer_updates on public.orgs is 'deactivate_org() and reactivate_org(). Nothing deletes one.';

create policy tenant_isolation on public.users as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy org_isolation on public.users as restrictive to l9_agent
  using (org_id is null or org_id = (select l9_private.current_org_id()));
create policy user_visibility on public.users as restrictive to l9_agent
  using (user_id = (select l9_private.current_user_id()));
create policy scope_access on public.users for select to l9_agent using (true);
create policy admin_override on public.users for select to l9_admin using (true);
create policy platform_override on public.users for select to l9_platform_admin
  using ((select l9_private.platform_look('users')));
create policy definer_functions on public.users for select to l9_owner using (true);
create policy definer_inserts on public.users for insert to l9_owner with check (true);
create policy definer_updates on public.users for update to l9_owner using (true);
comment on policy tenant_isolation on public.users is 'Users of the caller''s tenant.';
comment on policy org_isolation on public.users is 'An agent could see users of its org at most; no grant lets it.';
comment on policy user_visibility on public.users is 'An agent could see the user it acts for at most; no grant lets it.';
comment on policy scope_access on public.users is 'No further limit; no grant lets an agent see one.';
comment on policy admin_override on public.users is 'Admins see the users of their tenant.';
comment on policy platform_override on public.users is 'Operators see every user, on the record.';
comment on policy definer_functions on public.users is 'current_identity() asks whether the user is active.';
comment on policy definer_inserts on public.users is 'create_user().';
comment on policy definer_updates on public.users is 'deactivate_user() and reactivate_user(). Nothing deletes one.';

create policy tenant_isolation on public.scopes as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy scope_access on public.scopes for select to l9_agent, l9_admin
  using (scope = any ((select l9_private.current_scopes())::text[]));
create policy inactive_scopes on public.scopes for select to l9_admin
  using (not is_active and (select l9_private.has_every_scope()));
create policy platform_override on public.scopes for select to l9_platform_admin
  using ((select l9_private.platform_look('scopes')));
create policy definer_functions on public.scopes for select to l9_owner using (true);
create policy definer_inserts on public.scopes for insert to l9_owner with check (true);
create policy definer_updates on public.scopes for update to l9_owner using (true);
comment on policy tenant_isolation on public.scopes is 'Scopes of the caller''s tenant.';
comment on policy scope_access on public.scopes is 'Only scopes the caller may read: that others exist is not shown.';
comment on policy inactive_scopes on public.scopes is
  'An admin that has every scope also sees those that nobody can read at present, to make them active again.';
comment on policy platform_override on public.scopes is 'Operators see every scope, on the record.';
comment on policy definer_functions on public.scopes is 'current_identity() and the scope checks of triggers.';
comment on policy definer_inserts on public.scopes is 'register_scope() and create_tenant().';
comment on policy definer_updates on public.scopes is 'register_scope(), deactivate_scope() and reactivate_scope(). Nothing deletes one.';

create policy tenant_isolation on public.actors as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy scope_access on public.actors for select to l9_agent
  using (caller = (select l9_private.current_caller()));
create policy admin_override on public.actors for select to l9_admin
  using ((select l9_private.current_caller()) is not null);
create policy platform_override on public.actors for select to l9_platform_admin
  using ((select l9_private.platform_look('actors')));
create policy definer_functions on public.actors for select to l9_owner using (true);
create policy definer_inserts on public.actors for insert to l9_owner with check (true);
create policy definer_updates on public.actors for update to l9_owner using (true);
comment on policy tenant_isolation on public.actors is 'Actors of the caller''s tenant.';
comment on policy scope_access on public.actors is 'An agent sees its own row.';
comment on policy admin_override on public.actors is 'L sees its tenant''s actors.';
comment on policy platform_override on public.actors is 'Operators see every actor, on the record.';
comment on policy definer_functions on public.actors is 'current_identity() reads the row that cuts the claims down.';
comment on policy definer_inserts on public.actors is 'register_actor() and create_tenant().';
comment on policy definer_updates on public.actors is
  'register_actor(), bind_login(), deactivate_actor() and reactivate_actor(). Nothing deletes one: its memories name it.';

create policy tenant_isolation on public.api_keys as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy org_isolation on public.api_keys as restrictive to l9_agent
  using (org_id is null or org_id = (select l9_private.current_org_id()));
create policy user_visibility on public.api_keys as restrictive to l9_agent
  using (user_id is null or user_id = (select l9_private.current_user_id()));
create policy scope_access on public.api_keys for select to l9_agent using (true);
create policy admin_override on public.api_keys for select to l9_admin using (true);
create policy platform_override on public.api_keys for select to l9_platform_admin
  using ((select l9_private.platform_look('api_keys')));
create policy definer_functions on public.api_keys for select to l9_owner using (true);
create policy definer_inserts on public.api_keys for insert to l9_owner with check (true);
create policy definer_updates on public.api_keys for update to l9_owner using (true);
comment on policy tenant_isolation on public.api_keys is 'Keys of the caller''s tenant.';
comment on policy org_isolation on public.api_keys is 'As everywhere; no grant lets an agent see a key.';
comment on policy user_visibility on public.api_keys is 'As everywhere; no grant lets an agent see a key.';
comment on policy scope_access on public.api_keys is 'No further limit; no grant lets an agent see one.';
comment on policy admin_override on public.api_keys is 'Admins see what keys their tenant has.';
comment on policy platform_override on public.api_keys is 'Operators see every tenant''s, on the record.';
comment on policy definer_functions on public.api_keys is 'current_identity() asks whether a key still holds.';
comment on policy definer_inserts on public.api_keys is 'create_api_key().';
comment on policy definer_updates on public.api_keys is 'revoke_api_key(). Nothing deletes one.';

create policy definer_functions on l9_private.api_key_hashes for select to l9_owner using (true);
create policy definer_inserts on l9_private.api_key_hashes for insert to l9_owner with check (true);
comment on policy definer_functions on l9_private.api_key_hashes is 'identity_directory() hands them to the gateway.';
comment on policy definer_inserts on l9_private.api_key_hashes is 'create_api_key().';

create policy tenant_isolation on l9_private.active_actors as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy scope_access on l9_private.active_actors for select to l9_agent, l9_admin
  using (caller = (select l9_private.current_caller()));
create policy definer_functions on l9_private.active_actors to l9_owner using (true);
comment on policy tenant_isolation on l9_private.active_actors is 'As for actors; no grant lets a caller see one.';
comment on policy scope_access on l9_private.active_actors is 'As for actors; no grant lets a caller see one.';
comment on policy definer_functions on l9_private.active_actors is
  'current_identity() reads the row that cuts the claims down; triggers of actors, scopes and tenants make it.';

grant select on public.tenants, public.scopes, public.actors to l9_agent, l9_admin, l9_platform_admin;
-- Nothing for l9_agent: who else there is, it need not know.
grant select on public.orgs, public.users, public.api_keys to l9_admin, l9_platform_admin;
-- No insert, update or delete on identity tables for anyone: they change by functions. No grant at all on the hashes and on active_actors.
--! EndIncluded 010-identity/070-policies.sql
--! Included 020-audit/010-audit-log.sql
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
  -- Virtual: details are the one place where who did it is kept.
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
  'Who did what, and who was refused. Append-only for everyone, its owner included; read by admins of the tenant. A partition a month.';
comment on column public.audit_log.audit_id is 'UUID version 7: ordered by time.';
comment on column public.audit_log.occurred_at is 'When, by the clock of the database.';
comment on column public.audit_log.xid is 'The transaction that wrote it: rows are sealed in this order, once nothing before them is still in flight.';
comment on column public.audit_log.tenant_id is 'Tenant of the row, or of the caller.';
comment on column public.audit_log.operation is
  'INSERT, UPDATE, DELETE, SEARCH, READ, STATS, CLEANUP, EXPORT, ERASE, or DENIED: refused before it was known what was asked, or without an identity, or by GraphQL.';
comment on column public.audit_log.table_name is 'The table it was about.';
comment on column public.audit_log.row_id is 'The row it was about, where it was one.';
comment on column public.audit_log.project_id is 'Project of the row, or the one asked for.';
comment on column public.audit_log.scope is 'Scope of the row, or the one asked for.';
comment on column public.audit_log.caller is 'The actor; db:<role> for work that no actor asked for, such as a migration.';
comment on column public.audit_log.creator is 'The actor''s creator name at the time.';
comment on column public.audit_log.source is 'The actor''s source at the time.';
comment on column public.audit_log.tool_name is 'The tool, mutation or query; sql for a database session.';
comment on column public.audit_log.status is 'success or error.';
comment on column public.audit_log.sqlstate is 'Why it failed: a code of docs/errors.md or of PostgreSQL.';
comment on column public.audit_log.details is
  'Always caller, creator, source and tool_name; org_id and user_id where the caller acted for them; then ids, filters and counts. Never contents.';

create trigger _100_append_only
  before update or delete or truncate on public.audit_log
  for each statement execute function l9_guard.tg_append_only();
alter table public.audit_log enable always trigger _100_append_only;
--! EndIncluded 020-audit/010-audit-log.sql
--! Included 020-audit/020-month-partitions.sql
create function l9_private.add_partition(parent regclass, partition text, from_time timestamptz, until_time timestamptz)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  trigger_of_parent record;
begin
  execute format(
    'create table l9_private.%I (like %s including defaults including constraints including generated including storage including comments)',
    partition, parent);
  execute format('alter table l9_private.%I enable row level security', partition);
  execute format('alter table l9_private.%I force row level security', partition);
  -- Triggers for each row come with the attachment; those for each statement, which append-only rests on, don't.
  for trigger_of_parent in
    select t.tgname, pg_get_triggerdef(t.oid) as definition, t.tgenabled = 'A' as is_always
    from pg_catalog.pg_trigger t
    where t.tgrelid = parent and not t.tgisinternal and t.tgtype & 1 = 0
  loop
    execute replace(trigger_of_parent.definition, format(' ON %s ', parent), format(' ON l9_private.%I ', partition));
    if trigger_of_parent.is_always then
      execute format('alter table l9_private.%I enable always trigger %I', partition, trigger_of_parent.tgname);
    end if;
  end loop;
  execute format('comment on table l9_private.%I is %L', partition, case
    when from_time is null then format('What no other partition of %s takes, so that no row is ever lost.', parent)
    else format('%s from %s to %s.', parent, from_time, until_time) end);
  execute format('alter table %s attach partition l9_private.%I ', parent, partition) || case
    when from_time is null then 'default'
    else format('for values from (%L) to (%L)', from_time, until_time) end;
end
$$;

comment on function l9_private.add_partition(regclass, text, timestamptz, timestamptz) is
  'Makes a partition with row-level security, no grants and the statement triggers of its parent, then attaches it; without times: the default one.';

create function l9_private.create_month_partitions(parent regclass, from_month date, months integer)
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
  made text[] := '{}';
begin
  select c.relname into table_name
  from pg_catalog.pg_partitioned_table p
  join pg_catalog.pg_class c on c.oid = p.partrelid and c.relowner = 'l9_owner'::regrole
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = p.partattrs[0] and a.atttypid = 'timestamptz'::regtype
  where p.partrelid = parent and p.partstrat = 'r' and p.partnatts = 1;
  if not found then
    perform l9_private.fail('L9VAL', 'parent: a table of ours that is partitioned by range of one timestamptz column', 'parent');
  elsif from_month is null or months is null or months not between 1 and 120 then
    perform l9_private.fail('L9VAL', 'from_month: a date; months: from 1 to 120', 'months');
  end if;

  if to_regclass(format('l9_private.%I', table_name || '_default')) is null then
    perform l9_private.add_partition(parent, table_name || '_default', null, null);
  end if;
  for i in 0 .. months - 1 loop
    month := date_trunc('month', from_month::timestamptz) + make_interval(months => i);
    partition := table_name || to_char(month, '"_"YYYY"_"MM');
    -- Also where it was detached: its rows are not to come back in another guise.
    if to_regclass(format('l9_private.%I', partition)) is not null then
      continue;
    end if;
    begin
      perform l9_private.add_partition(parent, partition, month, month + interval '1 month');
      made := made || partition;
    exception when check_violation then
      -- Rows that came before their partition are in the default one, and stay there.
      null;
    end;
  end loop;
  return made;
end
$$;

comment on function l9_private.create_month_partitions(regclass, date, integer) is
  'Makes the partitions of so many months (1 to 120, in UTC) that are not there yet, and a default one; returns their names. A month whose rows already lie in the default partition stays there. Definer: only the owner of a table makes partitions.';

grant execute on function l9_private.create_month_partitions(regclass, date, integer) to l9_worker;
-- No grant on add_partition: only functions that run as l9_owner may call it.
--! EndIncluded 020-audit/020-month-partitions.sql
--! Included 020-audit/030-policies.sql
alter table public.audit_log enable row level security;
alter table public.audit_log force row level security;

create policy tenant_isolation on public.audit_log as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy scope_access on public.audit_log for select to l9_admin
  using (scope is null or scope = any ((select l9_private.current_scopes())::text[]));
create policy platform_override on public.audit_log for select to l9_platform_admin
  using ((select l9_private.platform_look('audit_log')));
create policy definer_inserts on public.audit_log for insert to l9_owner with check (true);
create policy definer_functions on public.audit_log for select to l9_owner using (true);

comment on policy tenant_isolation on public.audit_log is 'The record of the caller''s tenant.';
comment on policy scope_access on public.audit_log is 'Admins read it, within the scopes of their claims.';
comment on policy platform_override on public.audit_log is 'Operators read every tenant''s record, on the record.';
comment on policy definer_inserts on public.audit_log is 'write_audit() and the audit triggers insert.';
comment on policy definer_functions on public.audit_log is 'seal_audit() and verify_audit() read what they hash.';

grant select on public.audit_log to l9_admin, l9_platform_admin;
-- Nothing for l9_agent: rows about others would tell it what it may not know.
-- No insert for anyone: a row that a caller could write is no evidence.

-- Only now, so that they are guarded like it from the first moment.
select l9_private.create_month_partitions('public.audit_log', now()::date, 14);
--! EndIncluded 020-audit/030-policies.sql
--! Included 020-audit/040-write-audit.sql
create function l9_private.current_tool()
returns text
language sql
stable
parallel safe
set search_path = ''
return coalesce(nullif(pg_catalog.left(pg_catalog.current_setting('l9.tool_name', true), 100), ''), 'sql');

comment on function l9_private.current_tool() is 'The tool, query or mutation that the gateway says it is running; sql in a database session.';

create function l9_private.audit_actor()
returns jsonb
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select pg_catalog.jsonb_build_object(
      'caller', coalesce(me.caller, 'db:' || l9_private.current_role_name()),
      'creator', me.creator,
      'source', me.source,
      'tool_name', l9_private.current_tool())
    || case when coalesce(me.org_id, me.user_id) is null then '{}' else
      pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('org_id', me.org_id, 'user_id', me.user_id)) end
  from l9_private.current_identity() as me;
end;

comment on function l9_private.audit_actor() is
  'Who acts, as the details of every audit row say it: caller, creator, source and tool_name, and org_id and user_id where there are any.';

create function l9_private.add_audit_row(
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
    l9_private.current_tenant_id(), add_audit_row.project_id, add_audit_row.scope,
    case when add_audit_row.sqlstate is null then 'success' else 'error' end, add_audit_row.sqlstate,
    coalesce(add_audit_row.details, '{}') || l9_private.audit_actor());
end;

comment on function l9_private.add_audit_row(uuid, text, text, uuid, text, text, jsonb, text) is
  'Adds a row under the id given. Not executable by callers, and as one of them it could not insert.';

create function l9_private.write_audit(
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
  select l9_private.add_audit_row(uuidv7(), operation, table_name, row_id, project_id, scope, details, sqlstate);
end;

comment on function l9_private.write_audit(text, text, uuid, text, text, jsonb, text) is
  'Adds a row about the present caller, whose name in details overrules any other. Definer: callers can''t insert into audit_log. Not executable by callers: functions of the owner call it.';

create function l9_private.audit_read(
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
  perform l9_private.require_identity();
  if operation not in ('SEARCH', 'READ', 'STATS') then
    perform l9_private.fail('L9VAL', 'operation: SEARCH, READ or STATS', 'operation');
  end if;
  if octet_length(details::text) > 65536 or octet_length(query) > 32768 then
    perform l9_private.fail('L9LIM', 'details: at most 65536 bytes, query: at most 32768', 'details');
  end if;
  perform l9_private.add_audit_row(
    audit_id, operation, 'packet_store', row_id, left(project_id, 200), left(scope, 63), details - 'org_id' - 'user_id', null);
  if query is not null then
    perform l9_private.keep_query_text(audit_id, left(scope, 63), query);
  end if;
  return audit_id;
end
$$;

comment on function l9_private.audit_read(text, jsonb, uuid, text, text, text) is
  'Records a read by the present caller, and the text of a search where its tenant keeps these; returns the id of the audit row. Definer: writes audit_log. A caller can only add rows about itself.';

create function l9_private.audit_refusal(operation text, row_id uuid, project_id text, scope text, sqlstate text, details jsonb)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform l9_private.require_identity();
  if sqlstate !~ '^[0-9A-Z]{5}$' then
    perform l9_private.fail('L9VAL', 'sqlstate: five letters or digits', 'sqlstate');
  end if;
  perform l9_private.write_audit(
    operation, 'packet_store', row_id, pg_catalog.left(project_id, 200), pg_catalog.left(scope, 63),
    case when pg_catalog.octet_length(details::text) <= 4096 then details - 'org_id' - 'user_id' else '{"cut": true}' end, sqlstate);
end
$$;

comment on function l9_private.audit_refusal(text, uuid, text, text, text, jsonb) is
  'The gateway calls this after a call was refused or failed and its own transaction, with its audit row, rolled back. A caller can only report its own failures. Definer: writes audit_log.';

grant execute on function l9_private.current_tool() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function l9_private.audit_read(text, jsonb, uuid, text, text, text)
  to l9_agent, l9_admin, l9_platform_admin;
grant execute on function l9_private.audit_refusal(text, uuid, text, text, text, jsonb)
  to l9_agent, l9_admin, l9_platform_admin;
-- No grant on write_audit, add_audit_row: only functions that run as l9_owner may call them.
--! EndIncluded 020-audit/040-write-audit.sql
--! Included 020-audit/041-write-audit-of-tenant.sql
create function l9_private.write_audit_of_tenant(
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
    coalesce(write_audit_of_tenant.details, '{}') || l9_private.audit_actor());
end;

comment on function l9_private.write_audit_of_tenant(uuid, text, text, uuid, text, text, jsonb) is
  'As write_audit(), on the record of the tenant whose rows they were: for jobs, which have none, and for operators, who may work in another''s. Definer: callers can''t insert into audit_log. Not executable by callers.';
--! EndIncluded 020-audit/041-write-audit-of-tenant.sql
--! Included 020-audit/042-audit-graphql-read.sql
create function l9_private.audit_graphql_read(operation_name text, tables jsonb, totals jsonb, ids uuid[])
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform l9_private.require_identity();
  if jsonb_typeof(tables) <> 'object' or jsonb_typeof(totals) <> 'object'
    or octet_length(tables::text) + octet_length(totals::text) > 8192 or cardinality(ids) > 10000 then
    perform l9_private.fail('L9VAL', 'tables, totals: objects of 8192 bytes at most; ids: at most 10000', 'tables');
  end if;
  perform l9_private.write_audit(
    'READ',
    case when tables ? 'packet_store' then 'packet_store'
      else coalesce((select left(min(t.name), 63) from jsonb_object_keys(tables) as t (name)), 'packet_store') end,
    case when cardinality(ids) = 1 then ids[1] end,
    details => jsonb_build_object('operation_name', left(operation_name, 200), 'tables', tables, 'ids', to_jsonb(ids))
      || case when totals <> '{}' then jsonb_build_object('totals', totals) else '{}' end);
end
$$;

comment on function l9_private.audit_graphql_read(text, jsonb, jsonb, uuid[]) is
  'Records what one GraphQL request read: its operation''s name, how many rows of which tables, the totals it was told, and the ids of the memories among them that were asked for. The answer goes out only when this has been written. Definer: writes audit_log. A caller can only add rows about itself.';

grant execute on function l9_private.audit_graphql_read(text, jsonb, jsonb, uuid[]) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 020-audit/042-audit-graphql-read.sql
--! Included 020-audit/043-audit-denial.sql
create function l9_private.audit_denial(
  door text, reason text, address text, tenant_id uuid, caller text, times integer)
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
      'tool_name', coalesce(pg_catalog.left(nullif(door, ''), 100), 'unknown'),
      'reason', pg_catalog.left(reason, 200), 'address', pg_catalog.left(address, 100), 'times', times));
end;

comment on function l9_private.audit_denial(text, text, text, uuid, text, integer) is
  'Records that the gateway turned somebody away, `times` times alike. tenant_id and caller are what a token with a good signature, or a known key, stood for; null and unknown where nothing says who it was. Definer: writes audit_log.';

grant execute on function l9_private.audit_denial(text, text, text, uuid, text, integer) to l9_worker;
--! EndIncluded 020-audit/043-audit-denial.sql
--! Included 020-audit/045-query-texts.sql
create table public.audit_query_texts (
  audit_id uuid primary key,
  tenant_id uuid not null references public.tenants,
  occurred_at timestamptz not null default clock_timestamp(),
  scope text,
  query text not null,
  user_id uuid
);

create index audit_query_texts_user_idx on public.audit_query_texts (tenant_id, user_id) where user_id is not null;

-- What is erased must not stay in the planner's statistics.
alter table public.audit_query_texts alter column query set statistics 0;

comment on table public.audit_query_texts is
  'Texts of searches, of tenants that keep them (set_query_text_audit). Beside audit_log, not in it, so that they can be erased.';
comment on column public.audit_query_texts.audit_id is 'The search in audit_log.';
comment on column public.audit_query_texts.tenant_id is 'Tenant of the caller.';
comment on column public.audit_query_texts.occurred_at is 'When it was searched.';
comment on column public.audit_query_texts.scope is 'As in audit_log.';
comment on column public.audit_query_texts.query is 'What was searched for.';
comment on column public.audit_query_texts.user_id is 'The user the caller acted for.';

alter table public.audit_query_texts enable row level security;
alter table public.audit_query_texts force row level security;

create policy tenant_isolation on public.audit_query_texts as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy user_visibility on public.audit_query_texts as restrictive to l9_agent
  using (user_id = (select l9_private.current_user_id()));
create policy scope_access on public.audit_query_texts for select to l9_admin
  using (scope is null or scope = any ((select l9_private.current_scopes())::text[]));
create policy platform_override on public.audit_query_texts for select to l9_platform_admin
  using ((select l9_private.platform_look('audit_query_texts')));
create policy definer_functions on public.audit_query_texts to l9_owner using (true);

comment on policy tenant_isolation on public.audit_query_texts is 'Searches of the caller''s tenant.';
comment on policy user_visibility on public.audit_query_texts is 'Agents are granted nothing; were they, then not the searches of other users.';
comment on policy scope_access on public.audit_query_texts is 'Admins read them, as the rows of audit_log they belong to.';
comment on policy platform_override on public.audit_query_texts is 'Operators read every tenant''s, on the record.';
comment on policy definer_functions on public.audit_query_texts is 'Searches add them, erasure deletes them.';

grant select on public.audit_query_texts to l9_admin, l9_platform_admin;
-- Nothing for l9_agent, and no insert for anyone.

create function l9_private.keep_query_text(audit_id uuid, scope text, query text)
returns void
language sql
volatile
set search_path = ''
begin atomic
  insert into public.audit_query_texts (audit_id, tenant_id, scope, query, user_id)
  select keep_query_text.audit_id, t.tenant_id, keep_query_text.scope, keep_query_text.query, l9_private.current_user_id()
  from public.tenants t
  where t.tenant_id = l9_private.current_tenant_id() and t.audits_query_text;
end;

comment on function l9_private.keep_query_text(uuid, text, text) is
  'Keeps the text of a search, where the caller''s tenant wants that. Not executable by callers: audit_read() calls it.';

create function public.audit_log_query_text(audit_row public.audit_log)
returns text
language sql
stable
set search_path = ''
return (select q.query from public.audit_query_texts q where q.audit_id = (audit_row).audit_id);

comment on function public.audit_log_query_text(public.audit_log) is 'What was searched for, where the tenant keeps that and it was not erased.';

grant execute on function public.audit_log_query_text(public.audit_log) to l9_admin, l9_platform_admin;
--! EndIncluded 020-audit/045-query-texts.sql
--! Included 020-audit/050-seals.sql
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
  'A chain of hashes over audit_log. Each seal covers what a range of transactions wrote, and the seal before it; its rows are hashed one by one, so that a changed one can be named.';
comment on column public.audit_seals.seal_id is 'Counts up from 1, without gaps.';
comment on column public.audit_seals.sealed_at is 'When it was made.';
comment on column public.audit_seals.era is 'Counts the database clusters this database has lived in: transactions are numbered anew in each.';
comment on column public.audit_seals.era_after is 'Rows of this era occurred after it, and not after that of the next era.';
comment on column public.audit_seals.from_xid is 'The first transaction it covers.';
comment on column public.audit_seals.to_xid is 'The first transaction it does not cover; the next seal begins there.';
comment on column public.audit_seals.row_count is 'How many rows it covers.';
comment on column public.audit_seals.first_occurred_at is 'The earliest time of its rows.';
comment on column public.audit_seals.last_occurred_at is 'The latest time of its rows.';
comment on column public.audit_seals.audit_ids is 'Its rows, by transaction, then id.';
comment on column public.audit_seals.row_hashes is 'SHA-256 of each, in the same order.';
comment on column public.audit_seals.rows_hash is 'SHA-256 over the ids and hashes of its rows.';
comment on column public.audit_seals.previous_hash is 'seal_hash of the seal before; null for the first.';
comment on column public.audit_seals.seal_hash is 'SHA-256 over everything else of the seal.';

create trigger _100_append_only
  before update or delete or truncate on public.audit_seals
  for each statement execute function l9_guard.tg_append_only();
alter table public.audit_seals enable always trigger _100_append_only;
alter table public.audit_seals enable row level security;
alter table public.audit_seals force row level security;

create policy platform_override on public.audit_seals for select to l9_platform_admin
  using ((select l9_private.platform_look('audit_seals')));
create policy definer_functions on public.audit_seals for select to l9_owner using (true);
create policy definer_inserts on public.audit_seals for insert to l9_owner with check (true);
comment on policy platform_override on public.audit_seals is 'Operators see the seals, which span all tenants.';
comment on policy definer_functions on public.audit_seals is 'verify_audit() and audit_head() read the chain.';
comment on policy definer_inserts on public.audit_seals is 'seal_audit() adds to it.';

grant select on public.audit_seals to l9_platform_admin;
-- Nothing for l9_admin: how much other tenants do is not its business. It has verify_audit() and audit_head().

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

comment on table public.audit_archives is 'Months of audit_log that were detached, and how many rows of which seals went with them.';
comment on column public.audit_archives.table_name is 'What was a partition, and is now a table by itself, until a superuser drops it.';
comment on column public.audit_archives.month is 'The first day of its month, in UTC.';
comment on column public.audit_archives.row_count is 'How many rows it holds.';
comment on column public.audit_archives.seal_ids is 'The seals that cover its rows.';
comment on column public.audit_archives.seal_rows is 'How many of its rows each of them covers.';
comment on column public.audit_archives.archived_at is 'When it was detached.';
comment on column public.audit_archives.archived_by is 'Who detached it.';

create trigger _100_append_only
  before update or delete or truncate on public.audit_archives
  for each statement execute function l9_guard.tg_append_only();
alter table public.audit_archives enable always trigger _100_append_only;
alter table public.audit_archives enable row level security;
alter table public.audit_archives force row level security;

create policy platform_override on public.audit_archives for select to l9_platform_admin
  using ((select l9_private.platform_look('audit_archives')));
create policy definer_functions on public.audit_archives for select to l9_owner using (true);
create policy definer_inserts on public.audit_archives for insert to l9_owner with check (true);
comment on policy platform_override on public.audit_archives is 'Operators see what was archived.';
comment on policy definer_functions on public.audit_archives is 'verify_audit() does not miss what was archived.';
comment on policy definer_inserts on public.audit_archives is 'detach_audit_partition() adds to it.';

grant select on public.audit_archives to l9_platform_admin;
--! EndIncluded 020-audit/050-seals.sql
--! Included 020-audit/055-hashes.sql
-- What is hashed is JSON, so that no two rows have one text; times are seconds since 1970, so that no setting matters.

create function l9_private.audit_row_hash(audit_row public.audit_log)
returns bytea
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.jsonb_build_array(
  (audit_row).audit_id, extract(epoch from (audit_row).occurred_at)::text, (audit_row).xid::text,
  (audit_row).operation, (audit_row).table_name, (audit_row).row_id, (audit_row).tenant_id, (audit_row).project_id,
  (audit_row).scope, (audit_row).status, (audit_row).sqlstate, (audit_row).details)::text, 'UTF8'));

comment on function l9_private.audit_row_hash(public.audit_log) is
  'SHA-256 of the JSON array [audit_id, occurred_at, xid, operation, table_name, row_id, tenant_id, project_id, scope, status, sqlstate, details], times in seconds since 1970.';

create function l9_private.audit_rows_hash(audit_ids uuid[], row_hashes bytea[])
returns bytea
language sql
immutable
parallel safe
set search_path = ''
return (
  select pg_catalog.sha256(coalesce(pg_catalog.string_agg(pg_catalog.uuid_send(r.audit_id) || r.hash, '' order by r.place), ''))
  from rows from (pg_catalog.unnest(audit_ids), pg_catalog.unnest(row_hashes)) with ordinality as r (audit_id, hash, place));

comment on function l9_private.audit_rows_hash(uuid[], bytea[]) is 'SHA-256 over ids and hashes of rows, in order.';

create function l9_private.audit_seal_hash(seal public.audit_seals)
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

comment on function l9_private.audit_seal_hash(public.audit_seals) is
  'SHA-256 of the JSON array [seal_id, sealed_at, era, era_after, from_xid, to_xid, row_count, first_occurred_at, last_occurred_at, rows_hash, previous_hash], times in seconds since 1970, hashes in hexadecimal.';
--! EndIncluded 020-audit/055-hashes.sql
--! Included 020-audit/060-seal-audit.sql
create function l9_private.seal_audit_until(horizon xid8, max_rows integer)
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
    -- The last seal closed an era: what is newer than all that is sealed belongs to the next.
    seal.era := last.era + 1;
    seal.era_after := coalesce((select max(s.last_occurred_at) from public.audit_seals s), last.era_after);
    seal.from_xid := '0';
  elsif last.to_xid > pg_snapshot_xmax(pg_current_snapshot()) then
    -- Sealed up to a transaction that is yet to come: this database was restored from a dump into another cluster.
    -- What came with it and was not sealed closes its era.
    seal.to_xid := last_xid;
  end if;

  if seal.to_xid <> last_xid then
    select a.xid into first_xid from public.audit_log a
    where a.xid >= seal.from_xid and a.xid < horizon and a.occurred_at > seal.era_after
    order by a.xid limit 1;
    if not found then
      return 0;
    end if;
    -- At most so many rows, but a transaction is never split: it is sealed whole, even where it alone is more.
    select case when a.xid > first_xid then a.xid else ((a.xid::text::bigint + 1)::text)::xid8 end into seal.to_xid
    from public.audit_log a
    where a.xid >= seal.from_xid and a.xid < horizon and a.occurred_at > seal.era_after
    order by a.xid offset max_rows limit 1;
    seal.to_xid := coalesce(seal.to_xid, horizon);
  end if;

  select count(*), min(r.occurred_at), max(r.occurred_at),
    coalesce(array_agg(r.audit_id order by r.xid, r.audit_id), '{}'),
    coalesce(array_agg(l9_private.audit_row_hash(r) order by r.xid, r.audit_id), '{}')
  into seal.row_count, seal.first_occurred_at, seal.last_occurred_at, seal.audit_ids, seal.row_hashes
  from public.audit_log r
  where r.xid >= seal.from_xid and r.xid < seal.to_xid and r.occurred_at > seal.era_after;
  seal.rows_hash := l9_private.audit_rows_hash(seal.audit_ids, seal.row_hashes);
  seal.seal_hash := l9_private.audit_seal_hash(seal);
  insert into public.audit_seals select seal.*;
  -- A closed era is never the end: the next one may have something to seal.
  return greatest(seal.row_count, case when seal.to_xid = last_xid then 1 else 0 end);
end
$$;

comment on function l9_private.seal_audit_until(xid8, integer) is
  'Adds one seal over what transactions before the horizon wrote and is not sealed yet, in order; returns how many rows, 0 where there was nothing to seal. Definer: reads audit_log, writes audit_seals. Not executable by callers: seal_audit() knows the horizon.';

create function l9_private.seal_audit(max_rows integer default 10000)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  if max_rows is null or max_rows not between 1 and 100000 then
    perform l9_private.fail('L9VAL', 'max_rows: from 1 to 100000', 'max_rows');
  end if;
  -- One at a time. Whoever had to wait sees the other's seal: each statement takes a snapshot of its own.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory audit seal', 0));
  -- Every transaction before the oldest that still runs has ended: no row of theirs can appear any more.
  return l9_private.seal_audit_until(pg_snapshot_xmin(pg_current_snapshot()), max_rows);
end
$$;

comment on function l9_private.seal_audit(integer) is
  'Adds one seal of about max_rows rows at most (whole transactions) over all that has committed in order, and returns how many rows it covers; 0: nothing left. Nothing in flight is ever skipped. Definer: reads audit_log, writes audit_seals.';

create function l9_private.is_audit_unsealed()
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

comment on function l9_private.is_audit_unsealed() is
  'Whether there may be something to seal: cheap, for a job that asks often. Definer: jobs can''t read audit_log.';

create function l9_private.audit_backlog()
returns table (unsealed bigint, oldest_seconds double precision, last_sealed_at timestamptz)
language sql
stable
security definer
set search_path = ''
begin atomic
  with last as (select s.to_xid, s.era_after, s.sealed_at from public.audit_seals s order by s.seal_id desc limit 1)
  select count(*), coalesce(extract(epoch from clock_timestamp() - min(waiting.occurred_at)), 0)::double precision,
    (select last.sealed_at from last)
  from (
    select a.occurred_at from public.audit_log a
    where a.xid >= coalesce((select last.to_xid from last), '0')
      and a.occurred_at > coalesce((select last.era_after from last), '-infinity')
    limit 100000
  ) as waiting;
end;

comment on function l9_private.audit_backlog() is
  'How many rows of audit_log are not sealed yet (100,000 at most are counted), the age of the oldest in seconds, and when the last seal was made. Definer: jobs can''t read audit_log.';

grant execute on function l9_private.seal_audit(integer), l9_private.is_audit_unsealed(), l9_private.audit_backlog() to l9_worker;
--! EndIncluded 020-audit/060-seal-audit.sql
--! Included 020-audit/070-verify-audit.sql
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

comment on type public.audit_verification is 'Whether the record is whole. An admin of a tenant is told of the rows of its tenant only; the chain is one for all tenants.';
comment on column public.audit_verification.ok is 'False: something was altered, removed or added; the rest says what.';
comment on column public.audit_verification.seals is 'How many seals were checked.';
comment on column public.audit_verification.rows is 'How many rows were checked against their seals.';
comment on column public.audit_verification.unsealed is 'How many rows are too new to be sealed; null where the end was not reached.';
comment on column public.audit_verification.archived is 'How many rows of these seals lie in detached partitions: the chain vouches for their hashes, they themselves were not read. Null for an admin of a tenant.';
comment on column public.audit_verification.broken_seal is 'The first seal that is broken, or whose rows are not what they were.';
comment on column public.audit_verification.broken_row is 'The first row that is not what it was, where it is one row and the caller may know of it.';
comment on column public.audit_verification.reason is 'What is wrong.';
comment on column public.audit_verification.head is 'The hash of the newest seal: store it outside of the database, and give it to a later verify_audit.';
comment on column public.audit_verification.last_seal is 'The last seal that was checked.';
comment on column public.audit_verification.is_complete is 'False: max_rows was reached; go on with after_seal => last_seal.';

create function l9_private.audit_seal_problem(
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
  if l9_private.audit_rows_hash(seal.audit_ids, seal.row_hashes) <> seal.rows_hash
    or l9_private.audit_seal_hash(seal) <> seal.seal_hash then
    reason := 'the seal was altered';
    return;
  end if;
  select coalesce(sum(a.seal_rows[array_position(a.seal_ids, seal.seal_id)]), 0) into archived
  from public.audit_archives a where seal.seal_id = any (a.seal_ids);

  with present as (
    select r.audit_id, r.tenant_id, l9_private.audit_row_hash(r) as hash
    from public.audit_log r
    where r.xid >= seal.from_xid and r.xid < seal.to_xid and r.occurred_at > seal.era_after and r.occurred_at <= era_until
  ), sealed as (
    select s.audit_id, s.hash, s.place
    from rows from (unnest(seal.audit_ids), unnest(seal.row_hashes)) with ordinality as s (audit_id, hash, place)
  )
  select
    count(*) filter (where p.audit_id is not null and (only_tenant is null or p.tenant_id = only_tenant)),
    count(*) filter (where p.audit_id is null),
    count(*) filter (where s.audit_id is null),
    (array_agg(s.audit_id order by s.place) filter (where p.hash <> s.hash))[1],
    (array_agg(s.audit_id order by s.place) filter (where p.audit_id is null))[1],
    (array_agg(p.audit_id order by p.audit_id) filter (where s.audit_id is null))[1]
  into row_count, missing, added, first_altered, first_missing, first_added
  from present p full join sealed s on s.audit_id = p.audit_id;

  if first_altered is not null then
    reason := 'a row was altered';
    broken_row := first_altered;
  elsif missing <> archived then
    reason := case when archived = 0 then 'a row was removed'
      else format('%s rows were archived, but %s are not there', archived, missing) end;
    if archived = 0 then
      broken_row := first_missing;
      -- Moved to where this seal does not look, it is still there.
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

comment on function l9_private.audit_seal_problem(public.audit_seals, timestamptz, uuid) is
  'Compares a seal with itself and with its rows. reason is null where all is well.';

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
  me l9_private.identity := l9_private.current_identity();
  only_tenant uuid;
  result public.audit_verification;
  seal public.audit_seals;
  previous public.audit_seals;
  newest public.audit_seals;
  era_until timestamptz;
  first_seal bigint;
  final_seal bigint;
  found_problem record;
  rows_read bigint := 0;
begin
  -- A database administrator has no claims, and sees it all anyway.
  if l9_private.current_role_name() in ('l9_agent', 'l9_admin', 'l9_platform_admin', 'l9_worker') then
    me := l9_private.require_identity();
    if me.role not in ('l9_admin', 'l9_platform_admin') then
      perform l9_private.fail('L9SCP', 'verify_audit: only for admins');
    elsif me.role = 'l9_admin' then
      only_tenant := me.tenant_id;
    end if;
  end if;
  if head !~ '^[0-9a-f]{64}$' then
    perform l9_private.fail('L9VAL', 'head: 64 hexadecimal digits, as audit_head gives them', 'head');
  elsif max_rows < 1 then
    perform l9_private.fail('L9VAL', 'max_rows: at least 1', 'max_rows');
  end if;

  result := row(true, 0, 0, null, case when only_tenant is null then 0 end, null, null, null, null, null, true);
  select * into newest from public.audit_seals s order by s.seal_id desc limit 1;
  result.head := encode(newest.seal_hash, 'hex');

  -- The seals from the first to the last that cover any of this time, without gaps.
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
    -- Where one is missing the next does not follow.
    if seal.seal_id <> coalesce(previous.seal_id, 0) + 1
      or seal.previous_hash is distinct from previous.seal_hash
      or previous.seal_id is null and (seal.era <> 1 or seal.from_xid <> '0')
      or seal.era = previous.era and seal.from_xid <> previous.to_xid
      or seal.era <> previous.era and (
        seal.era <> previous.era + 1 or previous.to_xid <> '18446744073709551615' or seal.from_xid <> '0') then
      result.broken_seal := seal.seal_id;
      result.reason := 'the seal does not follow the one before it: one was removed, or the chain was made anew';
      exit;
    end if;
    if era_until is null or seal.era is distinct from previous.era then
      select coalesce(min(s.era_after), 'infinity') into era_until from public.audit_seals s where s.era > seal.era;
    end if;
    select * into found_problem from l9_private.audit_seal_problem(seal, era_until, only_tenant);
    if found_problem.reason is not null then
      result.broken_seal := seal.seal_id;
      result.broken_row := found_problem.broken_row;
      result.reason := found_problem.reason;
      exit;
    end if;
    rows_read := rows_read + greatest(seal.row_count, 1);
    result.rows := result.rows + found_problem.row_count;
    result.archived := result.archived + found_problem.archived;
    result.seals := result.seals + 1;
    result.last_seal := seal.seal_id;
    previous := seal;
  end loop;

  if result.reason is null and head is not null and not exists (
    select from public.audit_seals s where s.seal_hash = decode(verify_audit.head, 'hex')) then
    result.reason := 'no seal has the hash given as head: the end of the chain was removed, or the chain was made anew';
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
  'Checks the audit log against its seals, seal by seal: those that cover the time from … to, or all. head: a hash that audit_head gave before and that was stored outside; it must still be in the chain, else its end was cut off. after_seal and max_rows: in parts, for logs of any size. For admins; those of a tenant learn nothing of the rows of others. Definer: reads audit_log of every tenant, and audit_seals.';

create type public.audit_head as (hash text, sealed_at timestamptz);
comment on type public.audit_head is 'The newest seal.';
comment on column public.audit_head.hash is 'Its hash, in hexadecimal.';
comment on column public.audit_head.sealed_at is 'When it was made.';

create function public.audit_head()
returns public.audit_head
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.current_identity();
  newest public.audit_head;
begin
  if l9_private.current_role_name() in ('l9_agent', 'l9_admin', 'l9_platform_admin', 'l9_worker') then
    me := l9_private.require_identity();
    if me.role not in ('l9_admin', 'l9_platform_admin') then
      perform l9_private.fail('L9SCP', 'audit_head: only for admins');
    end if;
  end if;
  select encode(s.seal_hash, 'hex'), s.sealed_at into newest from public.audit_seals s order by s.seal_id desc limit 1;
  return newest;
end
$$;

comment on function public.audit_head() is
  'The newest seal of the chain, to be stored outside of the database: whoever has it can prove later that nothing up to then was removed (verify_audit). Definer: admins of a tenant can''t read audit_seals.';

grant execute on function public.verify_audit(timestamptz, timestamptz, text, bigint, bigint), public.audit_head()
  to l9_admin, l9_platform_admin;
--! EndIncluded 020-audit/070-verify-audit.sql
--! Included 020-audit/080-detach-partition.sql
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
  partition text := 'audit_log' || to_char(date_trunc('month', month), '"_"YYYY"_"MM');
  archive public.audit_archives;
  newest public.audit_seals;
  is_sealed boolean;
begin
  if l9_private.current_role_name() = 'l9_platform_admin' then
    perform l9_private.require_identity();
  end if;
  if month is null or not exists (
    select from pg_catalog.pg_inherits i
    where i.inhparent = 'public.audit_log'::regclass and i.inhrelid = to_regclass(format('l9_private.%I', partition))) then
    perform l9_private.fail('L9VAL', 'month: not one that audit_log has a partition for', 'month');
  elsif date_trunc('month', month::timestamptz) + interval '1 month' > now() then
    perform l9_private.fail('L9VAL', 'month: it is not over yet', 'month');
  end if;
  -- No seal comes between, and none is missed.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory audit seal', 0));
  select * into newest from public.audit_seals s order by s.seal_id desc limit 1;
  execute format('lock table only l9_private.%I in share mode', partition);

  archive.table_name := format('l9_private.%I', partition);
  archive.month := date_trunc('month', month);
  archive.archived_at := clock_timestamp();
  archive.archived_by := l9_private.audit_actor() ->> 'caller';
  select count(*),
    coalesce(bool_and(newest.seal_id is not null and (a.xid < newest.to_xid or a.occurred_at <= newest.era_after)), true)
  into archive.row_count, is_sealed
  from public.audit_log a
  where a.occurred_at >= archive.month::timestamptz and a.occurred_at < archive.month::timestamptz + interval '1 month';
  if not is_sealed then
    perform l9_private.fail('L9VAL', 'month: not all of its rows are sealed yet; try again in a minute', 'month');
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

  -- In this order: the guard lets a partition go only once it is listed here.
  insert into public.audit_archives select archive.*;
  execute format('alter table public.audit_log detach partition l9_private.%I', partition);
  -- Erasure finds the texts of searches by their rows: where those are gone, texts can't stay.
  delete from public.audit_query_texts q
  where q.occurred_at >= archive.month::timestamptz and q.occurred_at < archive.month::timestamptz + interval '1 month';
  perform l9_private.write_audit('CLEANUP', 'audit_log', details => jsonb_build_object(
    'detached', archive.table_name, 'rows', archive.row_count));
  return archive;
end
$$;

comment on function public.detach_audit_partition(date) is
  'Detaches a month of audit_log that is over and sealed. It stays, unreadable and append-only, as the table l9_private.audit_log_YYYY_MM, for a superuser to dump and drop; verify_audit knows what it held. Texts of its searches, which erasure could not find any more, are deleted. Audited. Definer: only the owner of a table detaches partitions.';

grant execute on function public.detach_audit_partition(date) to l9_platform_admin;
--! EndIncluded 020-audit/080-detach-partition.sql
--! Included 020-audit/090-export-audit.sql
create type public.audit_page as (rows jsonb, cursor text, "to" timestamptz);
comment on type public.audit_page is 'A part of the audit log.';
comment on column public.audit_page.rows is 'Rows as objects, in order of time, with their transaction (xid).';
comment on column public.audit_page.cursor is 'Where the next page begins (after); null: this was the last.';
comment on column public.audit_page."to" is 'The end of the time that is exported: give it with the next page.';

create function l9_private.audit_export(details jsonb)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.require_identity();
begin
  if me.role not in ('l9_admin', 'l9_platform_admin') then
    perform l9_private.fail('L9SCP', 'export_audit: only for admins');
  elsif octet_length(details::text) > 4096 then
    perform l9_private.fail('L9LIM', 'details: at most 4096 bytes', 'details');
  end if;
  perform l9_private.write_audit('EXPORT', 'audit_log', details => details - 'org_id' - 'user_id');
end
$$;

comment on function l9_private.audit_export(jsonb) is
  'Records an export of the audit log by the present caller. Definer: writes audit_log. An admin can only add rows about itself.';

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
  perform l9_private.require_identity();
  if page_size is null or page_size not between 1 and 5000 then
    perform l9_private.fail('L9VAL', 'page_size: from 1 to 5000', 'page_size');
  end if;
  if after is not null then
    if after !~ '^\S+Z_[0-9a-f-]{36}$' or not pg_input_is_valid(split_part(after, '_', 1), 'timestamptz')
      or not pg_input_is_valid(split_part(after, '_', 2), 'uuid') then
      perform l9_private.fail('L9VAL', 'after: the cursor of another page', 'after');
    end if;
    after_time := split_part(after, '_', 1);
    after_id := split_part(after, '_', 2);
  end if;
  -- Its own rows, and all that comes while it runs, are for the next export.
  page."to" := least(coalesce(export_audit."to", now()), now());

  with listed as (
    select a.audit_id, a.occurred_at,
      jsonb_build_object(
        'audit_id', a.audit_id, 'occurred_at', to_char(a.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'xid', a.xid::text,
        'operation', a.operation, 'table_name', a.table_name, 'row_id', a.row_id, 'tenant_id', a.tenant_id,
        'project_id', a.project_id, 'scope', a.scope, 'status', a.status, 'sqlstate', a.sqlstate, 'details', a.details) as line
    from public.audit_log a
    where a.occurred_at >= after_time and a.occurred_at < page."to" and (a.occurred_at, a.audit_id) > (after_time, after_id)
    order by a.occurred_at, a.audit_id
    limit page_size
  ), counted as (
    select *, sum(octet_length(l.line::text)) over (order by l.occurred_at, l.audit_id) as bytes from listed l
  ), kept as (
    -- Details may be long: a page ends early rather than being too much for whoever fetches it.
    select *, count(*) over () < (select count(*) from listed) as is_cut from counted c
    where c.bytes <= 4000000 or c.audit_id = (select l.audit_id from listed l order by l.occurred_at, l.audit_id limit 1)
  )
  select coalesce(jsonb_agg(k.line order by k.occurred_at, k.audit_id), '[]'),
    case when count(*) = page_size or bool_or(k.is_cut) then
      (array_agg(to_char(k.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '_' || k.audit_id order by k.occurred_at desc, k.audit_id desc))[1] end
  into page.rows, page.cursor
  from kept k;
  perform l9_private.audit_export(jsonb_strip_nulls(jsonb_build_object(
    'from', export_audit."from", 'to', page."to", 'after', after, 'rows', jsonb_array_length(page.rows))));
  return page;
end
$$;

comment on function public.export_audit(timestamptz, timestamptz, text, integer) is
  'A page of the audit log, as far as the caller may read it, in order of time: from, and before to (now, if left out). after: the cursor of the page before; page_size: 1 to 5000. Each page leaves an audit row EXPORT, which is not part of the same export. For admins.';

grant execute on function l9_private.audit_export(jsonb) to l9_admin, l9_platform_admin;
grant execute on function public.export_audit(timestamptz, timestamptz, text, integer) to l9_admin, l9_platform_admin;
--! EndIncluded 020-audit/090-export-audit.sql
--! Included 025-administration/010-watch-changes.sql
create function l9_private.tg__audit_identity()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  is_now jsonb := to_jsonb(new);
  was jsonb := case tg_op when 'UPDATE' then to_jsonb(old) else '{}' end;
  id_column text := tg_argv[0];
  told text[] := tg_argv[1:];
begin
  if is_now = was then
    return null;
  end if;
  -- Names of people stay out: the audit log can't forget them.
  -- On the record of the tenant that it is about, also where an operator or the owner does it.
  perform l9_private.write_audit_of_tenant(
    (is_now ->> 'tenant_id')::uuid, tg_op, tg_table_name::text, (is_now ->> id_column)::uuid,
    scope => case tg_table_name when 'scopes' then is_now ->> 'scope' end,
    -- Within `row`: beside it details say who did it, in some of the same words.
    details => jsonb_build_object('row', (
      select jsonb_object_agg(t.name, t.value)
      from jsonb_each(is_now) as t (name, value)
      where t.name in ('tenant_id', 'caller', 'scope') or t.name = any (told) and t.value is distinct from was -> t.name)));
  return null;
end
$$;

comment on function l9_private.tg__audit_identity() is
  'An audit row for a row made or changed: what identifies it, and those of the columns named that are new.';

create trigger _500_audit after insert or update on public.tenants
  for each row execute function l9_private.tg__audit_identity('tenant_id', 'name', 'is_active', 'audits_query_text');
create trigger _500_audit after insert or update on public.orgs
  for each row execute function l9_private.tg__audit_identity('org_id', 'is_active');
create trigger _500_audit after insert or update on public.users
  for each row execute function l9_private.tg__audit_identity('user_id', 'org_id', 'is_active');
create trigger _500_audit after insert or update on public.scopes
  for each row execute function l9_private.tg__audit_identity('', 'is_project_scoped', 'is_active');
create trigger _500_audit after insert or update on public.actors
  for each row execute function l9_private.tg__audit_identity(
    '', 'creator', 'source', 'role', 'readable_scopes', 'writable_scopes', 'can_clean_up', 'login', 'is_active');
create trigger _500_audit after insert or update on public.api_keys
  for each row execute function l9_private.tg__audit_identity(
    'key_id', 'org_id', 'user_id', 'scopes', 'projects', 'expires_at', 'revoked_at');

create function l9_private.tg__notify_identity()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform pg_notify('l9_identity', '');
  return null;
end
$$;

comment on function l9_private.tg__notify_identity() is
  'Tells the running gateways to read anew who may come in. It says that something changed, never what.';

create trigger _900_notify after insert or update or delete or truncate on public.tenants
  for each statement execute function l9_private.tg__notify_identity();
create trigger _900_notify after insert or update or delete or truncate on public.orgs
  for each statement execute function l9_private.tg__notify_identity();
create trigger _900_notify after insert or update or delete or truncate on public.users
  for each statement execute function l9_private.tg__notify_identity();
create trigger _900_notify after insert or update or delete or truncate on public.scopes
  for each statement execute function l9_private.tg__notify_identity();
create trigger _900_notify after insert or update or delete or truncate on public.actors
  for each statement execute function l9_private.tg__notify_identity();
create trigger _900_notify after insert or update or delete or truncate on public.api_keys
  for each statement execute function l9_private.tg__notify_identity();
--! EndIncluded 025-administration/010-watch-changes.sql
--! Included 025-administration/020-require-administrator.sql
create type l9_private.administrator as (
  tenant_id uuid,
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

comment on type l9_private.administrator is
  'Who administers, which tenant, and what it can give: scopes {*} only where it has every scope, those to come included.';

create function l9_private.is_owner()
returns boolean
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.pg_has_role(l9_private.current_role_name(), 'l9_owner', 'usage');

comment on function l9_private.is_owner() is
  'Whether this is a DBA''s session with the rights of l9_owner, of no role below it, rather than a function that runs as the owner.';

create function l9_private.require_administrator(tenant_id uuid)
returns l9_private.administrator
language plpgsql
stable
set search_path = ''
as $$
declare
  me l9_private.identity;
  answer l9_private.administrator;
begin
  if l9_private.is_owner() then
    answer.tenant_id := coalesce(require_administrator.tenant_id, '00000000-0000-7000-8000-000000000001');
    answer.is_operator := true;
  else
    me := l9_private.require_admin();
    answer.tenant_id := coalesce(require_administrator.tenant_id, me.tenant_id);
    answer.own_tenant_id := me.tenant_id;
    answer.caller := me.caller;
    answer.org_id := me.org_id;
    answer.user_id := me.user_id;
    answer.is_operator := me.role = 'l9_platform_admin';
  end if;

  if answer.is_operator then
    if me.caller is not null and not ('*' = any (me.projects) and '*' = any (l9_private.list_claim('scopes'))) then
      perform l9_private.fail('L9SCP', 'a token that is cut down to some scopes or projects administers nothing across tenants');
    elsif not exists (select from public.tenants t where t.tenant_id = answer.tenant_id) then
      perform l9_private.fail('L9VAL', 'tenant_id: there is no such tenant', 'tenant_id');
    end if;
    answer.readable_scopes := '{*}';
    answer.writable_scopes := '{*}';
    answer.projects := '{*}';
    answer.can_clean_up := true;
    return answer;
  end if;

  if answer.tenant_id <> me.tenant_id then
    perform l9_private.fail('L9SCP', 'tenant_id: not your tenant', 'tenant_id');
  end if;
  answer.readable_scopes := case when l9_private.has_every_scope() then '{*}' else me.readable_scopes end;
  answer.writable_scopes := case when l9_private.has_every_scope() then '{*}' else me.writable_scopes end;
  answer.projects := me.projects;
  answer.can_clean_up := me.can_clean_up;
  return answer;
end
$$;

comment on function l9_private.require_administrator(uuid) is
  'Who administers this tenant (its own, if none is named): L its own, operators and the owner in psql any. Else L9AUT or L9SCP.';

create function l9_private.require_operator()
returns l9_private.administrator
language plpgsql
stable
set search_path = ''
as $$
declare
  me l9_private.administrator := l9_private.require_administrator(null);
begin
  if not me.is_operator then
    perform l9_private.fail('L9SCP', 'this is for operators (l9_platform_admin) and for l9_owner in psql');
  end if;
  return me;
end
$$;

comment on function l9_private.require_operator() is 'An administrator across tenants; else L9AUT or L9SCP.';

create function l9_private.require_whole_token(me l9_private.administrator)
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if not ('*' = any (me.projects) and '*' = any (me.readable_scopes)) then
    perform l9_private.fail('L9SCP', 'this takes an administrator of every scope, with a token that is not cut down to some scopes or projects');
  end if;
end
$$;

comment on function l9_private.require_whole_token(l9_private.administrator) is
  'L9SCP for an administrator whose token is cut down: what it changes would be felt beyond its scopes and projects.';

create function l9_private.check_reach(
  me l9_private.administrator, role text, readable_scopes text[], writable_scopes text[], projects text[], can_clean_up boolean)
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if me.is_operator then
    return;
  end if;
  if role = 'l9_platform_admin' then
    perform l9_private.fail('L9SCP', 'role: operators (l9_platform_admin) are for operators to make and to change', 'role');
  elsif not ('*' = any (me.readable_scopes) or readable_scopes <@ me.readable_scopes) then
    perform l9_private.fail('L9SCP',
      format('readable_scopes: you may give %s', array_to_string(me.readable_scopes, ', ')), 'readable_scopes');
  elsif not ('*' = any (me.writable_scopes) or writable_scopes <@ me.writable_scopes) then
    perform l9_private.fail('L9SCP',
      format('writable_scopes: you may give %s', array_to_string(me.writable_scopes, ', ')), 'writable_scopes');
  elsif not ('*' = any (me.projects) or projects <@ me.projects) then
    perform l9_private.fail('L9SCP', format('projects: you may give %s', array_to_string(me.projects, ', ')), 'projects');
  elsif can_clean_up and not me.can_clean_up then
    perform l9_private.fail('L9SCP', 'can_clean_up: you may not clean up yourself', 'can_clean_up');
  end if;
end
$$;

comment on function l9_private.check_reach(l9_private.administrator, text, text[], text[], text[], boolean) is
  'L9SCP unless the administrator has all of this itself.';

create function l9_private.fail_not_there(what text, field text)
returns void
language sql
immutable
parallel safe
set search_path = ''
return l9_private.fail('L9OWN', pg_catalog.format('%s: not there, or not yours', what), field);

comment on function l9_private.fail_not_there(text, text) is
  'The error for an org, user, scope, actor or key that is not there, or of another tenant: the two are never told apart.';
--! EndIncluded 025-administration/020-require-administrator.sql
--! Included 025-administration/030-tenants.sql
create function public.create_tenant(name text)
returns public.tenants
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  made public.tenants;
begin
  perform l9_private.require_operator();
  if create_tenant.name is null or create_tenant.name !~ '^[a-z0-9][a-z0-9_-]{0,62}$' then
    perform l9_private.fail('L9VAL', 'name: 1 to 63 lower-case letters, digits, - and _', 'name');
  end if;
  insert into public.tenants (name) values (create_tenant.name) on conflict do nothing returning tenants.* into made;
  if not found then
    perform l9_private.fail('L9VAL', 'name: another tenant has it', 'name');
  end if;
  perform l9_private.furnish_tenant(made.tenant_id);
  return made;
end
$$;

comment on function public.create_tenant(text) is
  'Makes a tenant, with the scopes developer, l-private and global and the actors L and C. For operators. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change by functions only.';

create function l9_private.set_tenant_active(tenant_id uuid, is_active boolean)
returns public.tenants
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me l9_private.administrator := l9_private.require_operator();
  changed public.tenants;
begin
  if set_tenant_active.tenant_id = me.own_tenant_id then
    perform l9_private.fail('L9SCP', 'tenant_id: your own tenant; you would lock yourself out', 'tenant_id');
  end if;
  update public.tenants t set is_active = set_tenant_active.is_active
  where t.tenant_id = set_tenant_active.tenant_id
  returning t.* into changed;
  if not found then
    perform l9_private.fail_not_there('tenant_id', 'tenant_id');
  end if;
  return changed;
end
$$;

comment on function l9_private.set_tenant_active(uuid, boolean) is 'deactivate_tenant() and reactivate_tenant().';

create function public.deactivate_tenant(tenant_id uuid)
returns public.tenants
language sql volatile security definer set search_path = ''
return l9_private.set_tenant_active(tenant_id, false);

create function public.reactivate_tenant(tenant_id uuid)
returns public.tenants
language sql volatile security definer set search_path = ''
return l9_private.set_tenant_active(tenant_id, true);

comment on function public.deactivate_tenant(uuid) is
  'From the next request on nobody of this tenant has an identity, whatever its token or key says. For operators, and not for their own. Definer: identity tables change by functions only.';
comment on function public.reactivate_tenant(uuid) is
  'Undoes deactivate_tenant(). For operators. Definer: identity tables change by functions only.';

grant execute on function public.create_tenant(text), public.deactivate_tenant(uuid), public.reactivate_tenant(uuid)
  to l9_platform_admin;

create function public.set_query_text_audit(enabled boolean, tenant_id uuid default null)
returns public.tenants
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me l9_private.administrator := l9_private.require_administrator(set_query_text_audit.tenant_id);
  changed public.tenants;
begin
  perform l9_private.require_whole_token(me);
  if enabled is null then
    perform l9_private.fail('L9VAL', 'enabled: true or false', 'enabled');
  end if;
  update public.tenants t set audits_query_text = enabled where t.tenant_id = me.tenant_id returning * into changed;
  return changed;
end
$$;

comment on function public.set_query_text_audit(boolean, uuid) is
  'Whether the texts of searches are kept for the tenant (the caller''s, if none is named), for its admins to read; those kept before stay. For admins with a whole token. Audited. Definer: identity tables change by functions only.';

grant execute on function public.set_query_text_audit(boolean, uuid) to l9_admin, l9_platform_admin;
--! EndIncluded 025-administration/030-tenants.sql
--! Included 025-administration/040-orgs-and-users.sql
create function public.create_org(name text, org_id uuid default null, tenant_id uuid default null)
returns public.orgs
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me l9_private.administrator := l9_private.require_administrator(create_org.tenant_id);
  made public.orgs;
begin
  perform l9_private.require_whole_token(me);
  if create_org.name is null or create_org.name !~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,198}[^[:cntrl:][:space:]])?$' then
    perform l9_private.fail('L9VAL', 'name: 1 to 200 characters, no white space around them', 'name');
  end if;
  insert into public.orgs (tenant_id, org_id, name)
  values (me.tenant_id, coalesce(create_org.org_id, uuidv7()), create_org.name)
  on conflict do nothing
  returning orgs.* into made;
  if not found then
    perform l9_private.fail('L9VAL', 'name, org_id: another org of this tenant has it', 'name');
  end if;
  return made;
end
$$;

comment on function public.create_org(text, uuid, uuid) is
  'Registers an org, under the id that an identity provider knows it by, or a new one. For admins of the tenant. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change by functions only.';

create function public.create_user(name text, user_id uuid default null, org_id uuid default null, tenant_id uuid default null)
returns public.users
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me l9_private.administrator := l9_private.require_administrator(create_user.tenant_id);
  made public.users;
begin
  perform l9_private.require_whole_token(me);
  if create_user.name is null or create_user.name !~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,198}[^[:cntrl:][:space:]])?$' then
    perform l9_private.fail('L9VAL', 'name: 1 to 200 characters, no white space around them', 'name');
  elsif create_user.org_id is not null and not exists (
      select from public.orgs o where o.tenant_id = me.tenant_id and o.org_id = create_user.org_id) then
    perform l9_private.fail('L9VAL', 'org_id: there is no such org in this tenant', 'org_id');
  end if;
  insert into public.users (tenant_id, user_id, org_id, name)
  values (me.tenant_id, coalesce(create_user.user_id, uuidv7()), create_user.org_id, create_user.name)
  on conflict do nothing
  returning users.* into made;
  if not found then
    perform l9_private.fail('L9VAL', 'user_id: another user of this tenant has it', 'user_id');
  end if;
  return made;
end
$$;

comment on function public.create_user(text, uuid, uuid, uuid) is
  'Registers a user, under the id that an identity provider knows it by, or a new one; with an org: only tokens that name that org act for it. For admins of the tenant. Errors: L9VAL, L9SCP, L9AUT. Definer: identity tables change by functions only.';

create function l9_private.set_org_active(org_id uuid, tenant_id uuid, is_active boolean)
returns public.orgs
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me l9_private.administrator := l9_private.require_administrator(set_org_active.tenant_id);
  changed public.orgs;
begin
  perform l9_private.require_whole_token(me);
  if me.own_tenant_id = me.tenant_id and set_org_active.org_id = me.org_id then
    perform l9_private.fail('L9SCP', 'org_id: the org that your token acts for; you would lock yourself out', 'org_id');
  end if;
  update public.orgs o set is_active = set_org_active.is_active
  where o.tenant_id = me.tenant_id and o.org_id = set_org_active.org_id
  returning o.* into changed;
  if not found then
    perform l9_private.fail_not_there('org_id', 'org_id');
  end if;
  return changed;
end
$$;

create function l9_private.set_user_active(user_id uuid, tenant_id uuid, is_active boolean)
returns public.users
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me l9_private.administrator := l9_private.require_administrator(set_user_active.tenant_id);
  changed public.users;
begin
  perform l9_private.require_whole_token(me);
  if me.own_tenant_id = me.tenant_id and set_user_active.user_id = me.user_id then
    perform l9_private.fail('L9SCP', 'user_id: the user that your token acts for; you would lock yourself out', 'user_id');
  end if;
  update public.users u set is_active = set_user_active.is_active
  where u.tenant_id = me.tenant_id and u.user_id = set_user_active.user_id
  returning u.* into changed;
  if not found then
    perform l9_private.fail_not_there('user_id', 'user_id');
  end if;
  return changed;
end
$$;

comment on function l9_private.set_org_active(uuid, uuid, boolean) is 'deactivate_org() and reactivate_org().';
comment on function l9_private.set_user_active(uuid, uuid, boolean) is 'deactivate_user() and reactivate_user().';

create function public.deactivate_org(org_id uuid, tenant_id uuid default null)
returns public.orgs
language sql volatile security definer set search_path = ''
return l9_private.set_org_active(org_id, tenant_id, false);

create function public.reactivate_org(org_id uuid, tenant_id uuid default null)
returns public.orgs
language sql volatile security definer set search_path = ''
return l9_private.set_org_active(org_id, tenant_id, true);

create function public.deactivate_user(user_id uuid, tenant_id uuid default null)
returns public.users
language sql volatile security definer set search_path = ''
return l9_private.set_user_active(user_id, tenant_id, false);

create function public.reactivate_user(user_id uuid, tenant_id uuid default null)
returns public.users
language sql volatile security definer set search_path = ''
return l9_private.set_user_active(user_id, tenant_id, true);

comment on function public.deactivate_org(uuid, uuid) is
  'From the next request on no token or key that names this org is an identity. For admins of the tenant. L9OWN where it is not registered. Definer: identity tables change by functions only.';
comment on function public.reactivate_org(uuid, uuid) is
  'Undoes deactivate_org(). Definer: identity tables change by functions only.';
comment on function public.deactivate_user(uuid, uuid) is
  'From the next request on no token or key that names this user is an identity. For admins of the tenant. L9OWN where it is not registered. Definer: identity tables change by functions only.';
comment on function public.reactivate_user(uuid, uuid) is
  'Undoes deactivate_user(). Definer: identity tables change by functions only.';

grant execute on function
  public.create_org(text, uuid, uuid), public.deactivate_org(uuid, uuid), public.reactivate_org(uuid, uuid),
  public.create_user(text, uuid, uuid, uuid), public.deactivate_user(uuid, uuid), public.reactivate_user(uuid, uuid)
to l9_admin, l9_platform_admin;
--! EndIncluded 025-administration/040-orgs-and-users.sql
--! Included 025-administration/050-scopes.sql
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
  me l9_private.administrator := l9_private.require_administrator(register_scope.tenant_id);
  registered public.scopes;
begin
  perform l9_private.require_whole_token(me);
  if register_scope.scope is null or register_scope.scope !~ '^[a-z0-9][a-z0-9_-]{0,62}$' then
    perform l9_private.fail('L9VAL', 'scope: 1 to 63 lower-case letters, digits, - and _', 'scope');
  elsif register_scope.is_project_scoped is null then
    perform l9_private.fail('L9VAL', 'is_project_scoped: true or false', 'is_project_scoped');
  elsif octet_length(register_scope.description) > 1000 then
    perform l9_private.fail('L9LIM', 'description: at most 1000 bytes', 'description');
  end if;
  insert into public.scopes as s (tenant_id, scope, is_project_scoped, description)
  values (me.tenant_id, register_scope.scope, register_scope.is_project_scoped, coalesce(register_scope.description, ''))
  on conflict (tenant_id, scope) do update set description = coalesce(register_scope.description, s.description)
  returning s.* into registered;
  if registered.is_project_scoped <> register_scope.is_project_scoped then
    perform l9_private.fail('L9VAL',
      format('is_project_scoped: scope %s is registered as %s, and has its memories', registered.scope, registered.is_project_scoped),
      'is_project_scoped');
  end if;
  return registered;
end
$$;

comment on function public.register_scope(text, boolean, text, uuid) is
  'Adds a scope to a tenant, or changes its description. At first those read it who may read every scope: register_actor() gives it to others. For admins of the tenant. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: identity tables change by functions only.';

create function l9_private.set_scope_active(scope text, tenant_id uuid, is_active boolean)
returns public.scopes
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me l9_private.administrator := l9_private.require_administrator(set_scope_active.tenant_id);
  changed public.scopes;
begin
  perform l9_private.require_whole_token(me);
  update public.scopes s set is_active = set_scope_active.is_active
  where s.tenant_id = me.tenant_id and s.scope = set_scope_active.scope
  returning s.* into changed;
  if not found then
    perform l9_private.fail_not_there('scope', 'scope');
  end if;
  return changed;
end
$$;

comment on function l9_private.set_scope_active(text, uuid, boolean) is 'deactivate_scope() and reactivate_scope().';

create function public.deactivate_scope(scope text, tenant_id uuid default null)
returns public.scopes
language sql volatile security definer set search_path = ''
return l9_private.set_scope_active(scope, tenant_id, false);

create function public.reactivate_scope(scope text, tenant_id uuid default null)
returns public.scopes
language sql volatile security definer set search_path = ''
return l9_private.set_scope_active(scope, tenant_id, true);

comment on function public.deactivate_scope(text, uuid) is
  'From the next statement on nobody in the tenant reads or writes this scope; its memories stay. For admins of the tenant. Definer: identity tables change by functions only.';
comment on function public.reactivate_scope(text, uuid) is
  'Undoes deactivate_scope(). Definer: identity tables change by functions only.';

grant execute on function
  public.register_scope(text, boolean, text, uuid), public.deactivate_scope(text, uuid), public.reactivate_scope(text, uuid)
to l9_admin, l9_platform_admin;
--! EndIncluded 025-administration/050-scopes.sql
--! Included 025-administration/060-actors.sql
create function l9_private.check_scope_list(tenant_id uuid, field text, list text[])
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
    perform l9_private.fail('L9VAL', format('%s: scope %s is not registered', field, coalesce(left(unknown, 63), 'null')), field);
  end if;
  return array(select distinct l.scope from unnest(list) as l (scope) order by l.scope);
end
$$;

comment on function l9_private.check_scope_list(uuid, text, text[]) is
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
  me l9_private.administrator := l9_private.require_administrator(register_actor.tenant_id);
  plain constant text := '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,98}[^[:cntrl:][:space:]])?$';
  actor public.actors;
  is_new boolean;
begin
  if register_actor.caller is null or register_actor.caller !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' then
    perform l9_private.fail('L9VAL', 'caller: 1 to 63 letters, digits, ., _ and -', 'caller');
  end if;
  select a.* into actor from public.actors a
  where a.tenant_id = me.tenant_id and a.caller = register_actor.caller
  for update;
  is_new := not found;

  if is_new then
    actor.tenant_id := me.tenant_id;
    actor.caller := register_actor.caller;
    actor.creator := coalesce(register_actor.creator, register_actor.caller);
    actor.source := lower(register_actor.caller);
    actor.agent := lower(register_actor.caller);
    actor.role := 'l9_agent';
    actor.readable_scopes := '{developer,global}';
    actor.writable_scopes := coalesce(register_actor.readable_scopes, '{developer,global}');
    actor.can_clean_up := false;
  elsif me.own_tenant_id = me.tenant_id and me.caller = actor.caller then
    perform l9_private.fail('L9SCP', 'caller: your own actor is another administrator''s to change', 'caller');
  elsif register_actor.creator <> actor.creator then
    -- Agents own what carries their creator: under a new one it would lose its memories, and whoever took the old one would get them.
    perform l9_private.fail('L9IMM', 'creator: it never changes, for the memories of this actor carry it', 'creator');
  else
    perform l9_private.check_reach(me, actor.role, actor.readable_scopes, actor.writable_scopes, '{*}', actor.can_clean_up);
  end if;

  actor.source := coalesce(register_actor.source, actor.source);
  actor.agent := coalesce(register_actor.agent, actor.agent);
  actor.role := coalesce(register_actor.role, actor.role);
  actor.readable_scopes := coalesce(register_actor.readable_scopes, actor.readable_scopes);
  actor.writable_scopes := coalesce(register_actor.writable_scopes, actor.writable_scopes);
  actor.can_clean_up := coalesce(register_actor.can_clean_up, actor.can_clean_up);

  if actor.creator !~ plain then
    perform l9_private.fail('L9VAL', 'creator: 1 to 100 characters, no white space around them', 'creator');
  elsif actor.source !~ plain then
    perform l9_private.fail('L9VAL', 'source: 1 to 100 characters, no white space around them', 'source');
  elsif actor.agent !~ plain then
    perform l9_private.fail('L9VAL', 'agent: 1 to 100 characters, no white space around them', 'agent');
  elsif actor.role not in ('l9_agent', 'l9_admin', 'l9_platform_admin') then
    perform l9_private.fail('L9VAL', 'role: l9_agent, l9_admin or l9_platform_admin', 'role');
  end if;
  perform l9_private.check_reach(me, actor.role, actor.readable_scopes, actor.writable_scopes, '{*}', actor.can_clean_up);
  actor.readable_scopes := l9_private.check_scope_list(me.tenant_id, 'readable_scopes', actor.readable_scopes);
  actor.writable_scopes := l9_private.check_scope_list(me.tenant_id, 'writable_scopes', actor.writable_scopes);
  if not ('*' = any (actor.readable_scopes) or actor.writable_scopes <@ actor.readable_scopes) then
    perform l9_private.fail('L9VAL', 'writable_scopes: only such as it may also read', 'writable_scopes');
  end if;

  if is_new then
    insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
    values (actor.tenant_id, actor.caller, actor.creator, actor.source, actor.agent, actor.role, actor.readable_scopes,
      actor.writable_scopes, actor.can_clean_up)
    on conflict do nothing
    returning actors.* into actor;
    if not found then
      perform l9_private.fail('L9VAL', 'caller, creator: another actor of this tenant has it', 'creator');
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

create function l9_private.set_actor_active(caller text, tenant_id uuid, is_active boolean)
returns public.actors
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me l9_private.administrator := l9_private.require_administrator(set_actor_active.tenant_id);
  actor public.actors;
begin
  select a.* into actor from public.actors a
  where a.tenant_id = me.tenant_id and a.caller = set_actor_active.caller
  for update;
  if not found then
    perform l9_private.fail_not_there('caller', 'caller');
  elsif me.own_tenant_id = me.tenant_id and me.caller = actor.caller then
    perform l9_private.fail('L9SCP', 'caller: your own actor; you would lock yourself out', 'caller');
  end if;
  perform l9_private.check_reach(me, actor.role, actor.readable_scopes, actor.writable_scopes, '{*}', actor.can_clean_up);
  update public.actors a set is_active = set_actor_active.is_active
  where a.tenant_id = actor.tenant_id and a.caller = actor.caller
  returning a.* into actor;
  return actor;
end
$$;

comment on function l9_private.set_actor_active(text, uuid, boolean) is 'deactivate_actor() and reactivate_actor().';

create function public.deactivate_actor(caller text, tenant_id uuid default null)
returns public.actors
language sql volatile security definer set search_path = ''
return l9_private.set_actor_active(caller, tenant_id, false);

create function public.reactivate_actor(caller text, tenant_id uuid default null)
returns public.actors
language sql volatile security definer set search_path = ''
return l9_private.set_actor_active(caller, tenant_id, true);

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
  me l9_private.administrator;
  actor public.actors;
begin
  perform l9_private.require_operator();
  me := l9_private.require_administrator(bind_login.tenant_id);
  select a.* into actor from public.actors a
  where a.tenant_id = me.tenant_id and a.caller = bind_login.caller
  for update;
  if not found then
    perform l9_private.fail_not_there('caller', 'caller');
  elsif bind_login.login is not null then
    if not exists (select from pg_roles r where r.rolname = bind_login.login and r.rolcanlogin) then
      perform l9_private.fail('L9VAL', 'login: there is no such login', 'login');
    elsif pg_has_role(bind_login.login, 'l9_gateway', 'member') then
      perform l9_private.fail('L9VAL', 'login: the claims of l9_gateway and its members are believed, so it can''t be bound', 'login');
    elsif not pg_has_role(bind_login.login, actor.role, 'member') then
      perform l9_private.fail('L9VAL', format('login: not a member of %s, the role of this actor', actor.role), 'login');
    elsif exists (
        select from public.actors a
        where a.login = bind_login.login and (a.tenant_id, a.caller) <> (actor.tenant_id, actor.caller)) then
      perform l9_private.fail('L9VAL', 'login: another actor is bound to it', 'login');
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
--! EndIncluded 025-administration/060-actors.sql
--! Included 025-administration/070-api-keys.sql
create type public.new_api_key as (
  api_key text,
  key_id uuid,
  name text,
  caller text,
  expires_at timestamptz
);
comment on type public.new_api_key is 'An API key just made.';
comment on column public.new_api_key.api_key is 'The key. It is shown here and never again.';
comment on column public.new_api_key.key_id is 'Its id, for revoke_api_key().';
comment on column public.new_api_key.name is 'What it is for.';
comment on column public.new_api_key.caller is 'The actor that it stands for.';
comment on column public.new_api_key.expires_at is 'From then on it is refused; null: never.';

create function l9_private.check_key_reach(me l9_private.administrator, actor public.actors, scopes text[], projects text[])
returns void
language sql
stable
set search_path = ''
return l9_private.check_reach(
  me, (actor).role,
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

comment on function l9_private.check_key_reach(l9_private.administrator, public.actors, text[], text[]) is
  'L9SCP unless the administrator has itself what a key of this actor, so cut down, can do.';

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
  me l9_private.administrator := l9_private.require_administrator(create_api_key.tenant_id);
  actor public.actors;
  wanted_scopes text[] := case when '*' = any (create_api_key.scopes) then null else create_api_key.scopes end;
  wanted_projects text[] := case when '*' = any (create_api_key.projects) then null else create_api_key.projects end;
  made public.new_api_key;
begin
  select a.* into actor from public.actors a
  where a.tenant_id = me.tenant_id and a.caller = create_api_key.caller and a.is_active;
  if not found then
    perform l9_private.fail('L9VAL', 'caller: no active actor of this tenant', 'caller');
  end if;
  perform l9_private.check_key_reach(me, actor, wanted_scopes, wanted_projects);
  wanted_scopes := l9_private.check_scope_list(me.tenant_id, 'scopes', wanted_scopes);

  if create_api_key.name is null or create_api_key.name !~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,98}[^[:cntrl:][:space:]])?$' then
    perform l9_private.fail('L9VAL', 'name: 1 to 100 characters, no white space around them', 'name');
  elsif cardinality(create_api_key.scopes) = 0 then
    perform l9_private.fail('L9VAL', 'scopes: at least one, or leave it out', 'scopes');
  elsif cardinality(create_api_key.projects) = 0 then
    perform l9_private.fail('L9VAL', 'projects: at least one, or leave it out', 'projects');
  elsif cardinality(wanted_projects) > 1000 then
    perform l9_private.fail('L9LIM', 'projects: at most 1000', 'projects');
  elsif exists (select from unnest(wanted_projects) as p (id) where (p.id ~ '^[A-Za-z0-9._/@:+-]{1,200}$') is not true) then
    perform l9_private.fail('L9VAL', 'projects: 1 to 200 letters, digits or ._/@:+- each', 'projects');
  elsif create_api_key.expires_at <= clock_timestamp() then
    perform l9_private.fail('L9VAL', 'expires_at: must be in the future', 'expires_at');
  elsif not l9_private.are_claims_good(me.tenant_id, actor.caller, create_api_key.org_id, create_api_key.user_id, null) then
    perform l9_private.fail('L9VAL', 'org_id, user_id: not active, or they do not belong together', 'user_id');
  end if;

  made.api_key := 'l9_' || translate(encode(extensions.gen_random_bytes(32), 'base64'), '+/=', '-_');
  insert into public.api_keys (tenant_id, name, caller, org_id, user_id, scopes, projects, created_by, expires_at)
  values (me.tenant_id, create_api_key.name, actor.caller, create_api_key.org_id, create_api_key.user_id, wanted_scopes,
    wanted_projects, coalesce(me.caller, 'db:' || l9_private.current_role_name()), create_api_key.expires_at)
  returning api_keys.key_id, api_keys.name, api_keys.caller, api_keys.expires_at
  into made.key_id, made.name, made.caller, made.expires_at;
  insert into l9_private.api_key_hashes (key_id, hash) values (made.key_id, sha256(convert_to(made.api_key, 'UTF8')));
  return made;
end
$$;

comment on function public.create_api_key(text, text, text[], text[], uuid, uuid, timestamptz, uuid) is
  'Makes an MCP key for an actor, cut down to scopes and projects where these are given, and shows it: this once, since only its hash is kept. Nobody can make one that does more than it may itself. For admins of the tenant. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: identity tables change by functions only.';

create function public.revoke_api_key(key_id uuid)
returns public.api_keys
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me l9_private.administrator := l9_private.require_administrator(null);
  old_key public.api_keys;
  actor public.actors;
begin
  select k.* into old_key from public.api_keys k
  where k.key_id = revoke_api_key.key_id and (me.is_operator or k.tenant_id = me.tenant_id)
  for update;
  if not found then
    perform l9_private.fail_not_there('key_id', 'key_id');
  end if;
  select a.* into actor from public.actors a where a.tenant_id = old_key.tenant_id and a.caller = old_key.caller;
  perform l9_private.check_key_reach(me, actor, old_key.scopes, old_key.projects);
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
  'From the next request on this key is refused; again: changes nothing. For admins of the tenant. L9OWN where there is none. Definer: identity tables change by functions only.';

grant execute on function
  public.create_api_key(text, text, text[], text[], uuid, uuid, timestamptz, uuid), public.revoke_api_key(uuid)
to l9_admin, l9_platform_admin;
--! EndIncluded 025-administration/070-api-keys.sql
--! Included 025-administration/080-act-as.sql
create function l9_private.why_not_acting(tenant_id uuid, caller text)
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
       and a.role <> l9_private.current_role_name()),
    'caller, tenant_id, org_id, user_id: not active, or they do not belong together')
end;

comment on function l9_private.why_not_acting(uuid, text) is
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
  me l9_private.identity;
begin
  if act_as.caller is null then
    perform l9_private.fail('L9VAL', 'caller: whose eyes?', 'caller');
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
  me := l9_private.current_identity();
  if me.caller is null then
    perform l9_private.fail('L9AUT', l9_private.why_not_acting(tenant, act_as.caller), 'caller');
  end if;
  return format('%s reads %s; writes %s; projects %s', me.caller,
    coalesce(nullif(array_to_string(me.readable_scopes, ', '), ''), 'nothing'),
    coalesce(nullif(array_to_string(me.writable_scopes, ', '), ''), 'nothing'),
    coalesce(nullif(array_to_string(me.projects, ', '), ''), 'none'));
end
$$;

comment on function public.act_as(text, uuid, uuid, uuid, text[], text[]) is
  'In psql, after `begin; set local role …`: this transaction sees and does what that caller would, in the default tenant if none is given. L9AUT where the caller does not act under that role. It grants nothing: whoever logs in as l9_gateway can set claims anyway, and in other sessions they count for nothing.';

grant execute on function l9_private.why_not_acting(uuid, text), public.act_as(text, uuid, uuid, uuid, text[], text[])
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 025-administration/080-act-as.sql
--! Included 025-administration/090-identity-directory.sql
create function l9_private.identity_directory()
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
    from public.api_keys k join l9_private.api_key_hashes h on h.key_id = k.key_id
    where k.revoked_at is null and (k.expires_at is null or k.expires_at > pg_catalog.now())));

comment on function l9_private.identity_directory() is
  'Who may come in, for the gateway to keep in memory, so that strangers are turned away without a database call: active actors, scopes, orgs and users that are out, and the hashes of live API keys. Definer: reads the identity tables. For l9_worker, never for callers.';

grant execute on function l9_private.identity_directory() to l9_worker;
--! EndIncluded 025-administration/090-identity-directory.sql
--! Included 030-packets/010-packet-store.sql
create table public.packet_store (
  packet_id uuid primary key default uuidv7(),
  packet_type text not null default 'note',
  envelope jsonb not null,
  -- Virtual: it reads the envelope and takes no room of its own.
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
  constraint packet_kind_plain check (packet_type ~ '^[a-z][a-z0-9_]{0,62}$'),
  constraint packet_envelope_object check (jsonb_typeof(envelope) = 'object'),
  constraint packet_content_text check (jsonb_typeof(envelope -> 'content') = 'string'),
  constraint packet_routing_object check (jsonb_typeof(routing) = 'object'),
  constraint packet_provenance_object check (jsonb_typeof(provenance) = 'object'),
  constraint packet_metadata_object check (jsonb_typeof(metadata) = 'object'),
  constraint packet_metadata_has_writer check (metadata ->> 'creator' <> '' and metadata ->> 'source' <> ''),
  constraint packet_content_not_blank check (envelope ->> 'content' ~ '\S'),
  constraint packet_content_at_most_1_mib check (octet_length(envelope ->> 'content') <= 1048576),
  constraint packet_metadata_at_most_64_kib check (octet_length(metadata::text) <= 65536),
  constraint packet_tags_at_most_64 check (cardinality(tags) <= 64),
  constraint packet_parents_at_most_64 check (cardinality(parent_ids) <= 64),
  constraint packet_notes_object check (coalesce(jsonb_typeof(metadata -> 'notes'), 'object') = 'object'),
  constraint packet_project_plain check (project_id ~ '^[A-Za-z0-9._/@:+-]{1,200}$'),
  constraint packet_importance_between_0_and_1 check (importance_score between 0 and 1),
  constraint packet_counts_not_negative check (access_count >= 0 and contradiction_count >= 0 and chunk_count >= 0),
  constraint packet_content_hash_sha256 check (octet_length(content_hash) = 32),
  constraint packet_not_its_own_parent check (packet_id <> all (parent_ids)),
  constraint packet_ids_short check (
    octet_length(thread_id) <= 200 and octet_length(correlation_id) <= 200
    and octet_length(session_id) <= 200 and octet_length(trace_id) <= 200)
) with (fillfactor = 90);

-- Nothing is planned by what memories say. What is not sampled can't show in an estimate of EXPLAIN, and is not kept by
-- the planner when the memory is erased.
alter table public.packet_store
  alter column envelope set statistics 0, alter column routing set statistics 0, alter column provenance set statistics 0,
  alter column metadata set statistics 0, alter column tags set statistics 0, alter column content_hash set statistics 0,
  alter column correlation_id set statistics 0, alter column session_id set statistics 0, alter column trace_id set statistics 0;

comment on table public.packet_store is
  'Memories: what agents and people asked to be kept. Who sees one is decided by its tenant, org, user, scope and project, never by its author.';
comment on column public.packet_store.packet_id is
  'UUID version 7: ordered by when it was saved. Memories from the old tables kept the id they had there.';
comment on column public.packet_store.packet_type is 'The kind of memory, such as note, decision or section: a lower-case word, 63 characters at most.';
comment on column public.packet_store.envelope is 'The content (key `content`) and whatever structured fields the writer sent beside it.';
comment on column public.packet_store.content is 'The text, as saved: 1 MiB at most.';
comment on column public.packet_store."timestamp" is 'When it was saved.';
comment on column public.packet_store.routing is 'Where the packet was sent: an object, as the writer gave it.';
comment on column public.packet_store.provenance is 'What it was made from: an object, as the writer gave it.';
comment on column public.packet_store.metadata is
  'creator and source are stamped from the caller and can''t be forged; agent, tool_name and notes (an object) as given. 64 KiB at most.';
comment on column public.packet_store.thread_id is 'The conversation or task it belongs to.';
comment on column public.packet_store.parent_ids is 'Memories it was derived from: older ones, visible to the writer and to everyone who may read this one.';
comment on column public.packet_store.tags is 'Labels: 64 at most, trimmed, without repeats.';
comment on column public.packet_store.ttl is 'When it expires. From then on nobody finds or reads it, and cleanup deletes it. Null: never.';
comment on column public.packet_store.project_id is 'A repository or product, such as l9. Null exactly where the scope has no projects.';
comment on column public.packet_store.scope is 'What decides who sees it: developer, l-private, global, or one of the tenant''s own.';
comment on column public.packet_store.importance_score is
  'How much it matters, from 0 to 1, in the writer''s own estimate. What was learned since is packet_store_importance_score().';
comment on column public.packet_store.access_count is 'How often it was used before it came here. Use since is in memory_signals.';
comment on column public.packet_store.last_accessed is 'When it was last used before it came here. Use since is in memory_signals.';
comment on column public.packet_store.contradiction_count is 'How many facts contradicted it before it came here. Those since are in memory_signals.';
comment on column public.packet_store.content_hash is 'SHA-256 of the content, trimmed, white space collapsed, in lower case.';
comment on column public.packet_store.chunk_count is 'Into how many chunks a long content was cut for embedding; 0 when it was embedded whole, or not yet.';
comment on column public.packet_store.is_chunked is 'Whether it was cut into chunks.';
comment on column public.packet_store.tenant_id is 'The tenant that owns it.';
comment on column public.packet_store.org_id is 'The org that owns it; null: the whole tenant.';
comment on column public.packet_store.user_id is 'The user who owns it; null: the whole org.';
comment on column public.packet_store.correlation_id is 'The writer''s own reference: 200 bytes at most.';
comment on column public.packet_store.session_id is 'The session it was written in.';
comment on column public.packet_store.trace_id is 'The trace it was written in.';
comment on column public.packet_store.updated_at is 'When a caller last changed it.';
--! EndIncluded 030-packets/010-packet-store.sql
--! Included 030-packets/015-packet-indexes.sql
-- One memory for one text, per owner, project, scope and kind. The owner and the scope are in the key, so that a
-- collision is never with a row that the writer can't see.
create unique index packet_content_unique on public.packet_store
  (content_hash, tenant_id, scope, project_id, packet_type, org_id, user_id) nulls not distinct;

create index packet_store_content_bm25 on public.packet_store
  using bm25 ((envelope ->> 'content')) with (text_config = 'english');
-- Statistics of an expression hold samples of it, and the estimates of EXPLAIN would give them away, letter by letter.
alter index public.packet_store_content_bm25 alter column 1 set statistics 0;

create index packet_store_newest_idx on public.packet_store (tenant_id, scope, project_id, packet_id desc);
-- Answers in a moment how many memories a caller may read, up to a bound: a search takes another way where they are few.
create index packet_store_readers_idx on public.packet_store (tenant_id, scope, user_id, org_id, project_id) include (packet_id, ttl);
create index packet_store_timestamp_idx on public.packet_store (tenant_id, "timestamp");
create index packet_store_thread_idx on public.packet_store (tenant_id, thread_id, "timestamp", packet_id) where thread_id is not null;
create index packet_store_ttl_idx on public.packet_store (ttl) where ttl is not null;

comment on index public.packet_content_unique is 'Makes duplicates impossible, also for concurrent writers.';
comment on index public.packet_store_content_bm25 is
  'Words. Walked in order of rank, so that row-level security is only a filter after it.';
-- No GIN index on tags or envelope: their operators are not leakproof, so under row-level security none would be used.
--! EndIncluded 030-packets/015-packet-indexes.sql
--! Included 030-packets/020-normalise.sql
create function l9_private.content_hash(content text)
returns bytea
language sql
immutable
parallel safe
strict
set search_path = ''
return pg_catalog.sha256(pg_catalog.convert_to(
  pg_catalog.lower(pg_catalog.btrim(
    -- Only where there is something to collapse: looking is ten times faster than replacing each space by itself.
    case when content ~ '\s\s|[^\S ]' then pg_catalog.regexp_replace(content, '\s+', ' ', 'g') else content end)), 'UTF8'));

comment on function l9_private.content_hash(text) is 'SHA-256 of a text with white space trimmed and collapsed, in lower case: what makes two contents the same.';

create function l9_private.tg_packet_store__normalise()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  content text := new.envelope ->> 'content';
  bytes integer := octet_length(content);
begin
  if content is null or jsonb_typeof(new.envelope -> 'content') <> 'string' then
    perform l9_private.fail('L9VAL', 'content: a text is required', 'content');
  elsif bytes > 1048576 then
    perform l9_private.fail('L9LIM', format('content: at most 1048576 bytes (1 MiB), got %s', bytes), 'content');
  elsif content !~ '\S' then
    perform l9_private.fail('L9VAL', 'content: must not be blank', 'content');
  end if;

  if octet_length((new.envelope - 'content')::text) > 262144 then
    perform l9_private.fail('L9LIM', 'envelope: at most 262144 bytes (256 KiB) beside the content', 'envelope');
  end if;
  if new.metadata is null or jsonb_typeof(new.metadata) <> 'object' then
    perform l9_private.fail('L9VAL', 'metadata: an object', 'metadata');
  elsif jsonb_typeof(new.metadata -> 'notes') <> 'object' then
    perform l9_private.fail('L9VAL', 'metadata.notes: an object', 'metadata');
  end if;
  if octet_length(new.routing::text) > 65536 or octet_length(new.provenance::text) > 65536 then
    perform l9_private.fail('L9LIM', 'routing, provenance: at most 65536 bytes (64 KiB) each', 'provenance');
  end if;

  -- What nests deeper may be stored, and then be more than whoever reads it can take.
  if jsonb_path_exists(new.envelope, '$.**{64}') or jsonb_path_exists(new.metadata, '$.**{64}')
    or jsonb_path_exists(new.routing, '$.**{64}') or jsonb_path_exists(new.provenance, '$.**{64}') then
    perform l9_private.fail('L9LIM', 'envelope, metadata, routing, provenance: at most 64 levels deep', 'metadata');
  end if;

  if cardinality(new.tags) > 0 then
    new.tags := array(
      select btrim(t.tag) from unnest(new.tags) with ordinality as t (tag, place)
      where btrim(t.tag) <> '' group by btrim(t.tag) order by min(t.place));
    if cardinality(new.tags) > 64 then
      perform l9_private.fail('L9LIM', format('tags: at most 64, got %s', cardinality(new.tags)), 'tags');
    elsif exists (select from unnest(new.tags) as t (tag) where octet_length(t.tag) > 200) then
      perform l9_private.fail('L9LIM', 'tags: at most 200 bytes each', 'tags');
    end if;
  end if;
  if new.packet_type !~ '^[a-z][a-z0-9_]{0,62}$' then
    perform l9_private.fail('L9VAL', 'kind: a lower-case word of letters, digits and _, 63 characters at most', 'kind');
  elsif not new.importance_score between 0 and 1 then
    perform l9_private.fail('L9VAL', 'importance: from 0 to 1', 'importance');
  elsif cardinality(new.parent_ids) > 64 then
    perform l9_private.fail('L9LIM', format('parent_ids: at most 64, got %s', cardinality(new.parent_ids)), 'parent_ids');
  elsif greatest(octet_length(new.thread_id), octet_length(new.correlation_id),
      octet_length(new.session_id), octet_length(new.trace_id)) > 200 then
    perform l9_private.fail('L9LIM', 'thread_id, correlation_id, session_id, trace_id: at most 200 bytes each', 'thread_id');
  end if;

  if tg_op = 'INSERT' or new.envelope is distinct from old.envelope then
    new.content_hash := l9_private.content_hash(content);
  end if;
  return new;
end
$$;

comment on function l9_private.tg_packet_store__normalise() is
  'Limits with errors that name the field, clean tags, and the content hash. The constraints of the table hold the same rules.';

create trigger _100_normalise
  before insert or update of envelope, metadata, routing, provenance, tags, packet_type, importance_score, parent_ids,
    thread_id, correlation_id, session_id, trace_id
  on public.packet_store
  for each row execute function l9_private.tg_packet_store__normalise();
--! EndIncluded 030-packets/020-normalise.sql
--! Included 030-packets/025-legacy-door.sql
-- Memories that were written before this database was have their writers and times already. One door lets them in as they
-- are: `l9-memory migrate-legacy`, through the functions of chapter 095. This file says when that door is open.

create function l9_private.is_legacy_import()
returns boolean
language sql
stable
parallel safe
set search_path = ''
return current_user = 'l9_owner'
  and l9_private.current_role_name() = 'l9_owner'
  and coalesce(pg_catalog.current_setting('l9.legacy_import', true), '') = 'on';

comment on function l9_private.is_legacy_import() is
  'Whether this statement moves old memories in: run by l9_owner, in a session whose own role is l9_owner too, which has said so (set l9.legacy_import = on). A definer function that an agent, an admin or a job calls runs as l9_owner, but its session keeps the caller''s role: never for those, whatever they set.';

-- Triggers ask under whoever writes. Knowing the answer, which is no, opens nothing.
grant execute on function l9_private.is_legacy_import() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 030-packets/025-legacy-door.sql
--! Included 030-packets/030-stamp.sql
create function l9_private.tg_packet_store__stamp()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.require_identity();
  -- What the client sent as creator or source never counts.
  given jsonb := new.metadata - 'creator' - 'source';
begin
  if jsonb_strip_nulls(given) <> given then
    -- Null takes the default. Nulls further in, such as in notes, are kept as given.
    given := (select coalesce(jsonb_object_agg(m.key, m.value), '{}') from jsonb_each(given) as m where m.value <> 'null');
  end if;
  new.metadata := jsonb_build_object('agent', me.agent, 'tool_name', l9_private.current_tool())
    || given
    || jsonb_build_object('creator', me.creator, 'source', me.source);
  if octet_length(new.metadata::text) > 65536 then
    perform l9_private.fail('L9LIM',
      format('metadata: at most 65536 bytes (64 KiB), got %s', octet_length(new.metadata::text)), 'metadata');
  end if;
  new.updated_at := clock_timestamp();
  if tg_op = 'INSERT' then
    new.tenant_id := me.tenant_id;
    new.org_id := me.org_id;
    new.user_id := me.user_id;
    new."timestamp" := new.updated_at;
    new.session_id := coalesce(new.session_id, left(l9_private.claim('session_id'), 200));
    new.trace_id := coalesce(new.trace_id, left(l9_private.claim('trace_id'), 200));
  else
    -- Where the clock is coarse, or went back: what tells a change from a job's bookkeeping must have moved.
    new.updated_at := greatest(new.updated_at, old.updated_at + interval '1 microsecond');
  end if;
  return new;
end
$$;

comment on function l9_private.tg_packet_store__stamp() is
  'Writes who saved it (creator, source, tenant, org, user) from the caller''s identity, over anything the client sent.';

create trigger _300_stamp
  before insert or update of envelope, packet_type, metadata, routing, provenance, thread_id, parent_ids, tags, ttl, project_id,
    scope, importance_score, correlation_id, session_id, trace_id
  on public.packet_store
  for each row when (current_user <> 'l9_owner' or not l9_private.is_legacy_import())
  execute function l9_private.tg_packet_store__stamp();
--! EndIncluded 030-packets/030-stamp.sql
--! Included 030-packets/035-check-scope.sql
create function l9_private.scope_has_projects(scope text)
returns boolean
language sql
stable
parallel safe
security definer
set search_path = ''
return (
  select s.is_project_scoped from public.scopes s
  where s.tenant_id = l9_private.current_tenant_id()
    and s.scope = scope_has_projects.scope
    and s.scope = any (l9_private.current_scopes()));

comment on function l9_private.scope_has_projects(text) is
  'Whether memories of a scope belong to projects; null for a scope the caller may not read. Definer: reads scopes.';

create function l9_private.check_scope(scope text, project_id text)
returns void
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.require_identity();
  has_projects boolean;
begin
  -- One text for a scope that does not exist and one that is not the caller's: they are never told apart.
  if scope is null or scope <> all (me.writable_scopes) then
    perform l9_private.fail('L9SCP', format('scope: you may write %s', array_to_string(me.writable_scopes, ', ')), 'scope');
  end if;
  select s.is_project_scoped into has_projects from public.scopes s
  where s.tenant_id = me.tenant_id and s.scope = check_scope.scope;
  if has_projects and project_id is null then
    perform l9_private.fail('L9VAL', format('project_id: required in scope %s', scope), 'project_id');
  elsif not has_projects and project_id is not null then
    perform l9_private.fail('L9VAL', format('project_id: scope %s belongs to no project; leave it out', scope), 'project_id');
  elsif project_id !~ '^[A-Za-z0-9._/@:+-]{1,200}$' then
    perform l9_private.fail('L9VAL', 'project_id: 1 to 200 letters, digits or ._/@:+-', 'project_id');
  elsif has_projects and not ('*' = any (me.projects) or project_id = any (me.projects)) then
    perform l9_private.fail('L9SCP', 'project_id: not one of your projects', 'project_id');
  end if;
end
$$;

comment on function l9_private.check_scope(text, text) is
  'Whether the caller may write this scope and project, or a clear error; the policies hold the same rule. Definer: asks the scopes table whether the scope has projects.';

create function l9_private.tg_packet_store__check_scope()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform l9_private.check_scope(new.scope, new.project_id);
  return new;
end
$$;

comment on function l9_private.tg_packet_store__check_scope() is 'Refuses a scope or project that is not the caller''s.';

create trigger _350_check_scope
  before insert or update of scope, project_id on public.packet_store
  for each row when (current_user <> 'l9_owner' or not l9_private.is_legacy_import())
  execute function l9_private.tg_packet_store__check_scope();

grant execute on function l9_private.scope_has_projects(text), l9_private.check_scope(text, text)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 030-packets/035-check-scope.sql
--! Included 030-packets/040-check-parents.sql
create function l9_private.is_scope_within(narrow text, wide text)
returns boolean
language sql
stable
parallel safe
security definer
set search_path = ''
return narrow = wide or (
  -- Of scopes that the caller may not read it tells nothing.
  array[narrow, wide] <@ l9_private.current_scopes()
  and not exists (
    select from public.actors a
    where a.tenant_id = l9_private.current_tenant_id()
      and ('*' = any (a.readable_scopes) or narrow = any (a.readable_scopes))
      and not ('*' = any (a.readable_scopes) or wide = any (a.readable_scopes))));

comment on function l9_private.is_scope_within(text, text) is
  'Whether everyone who may read scope `narrow` may read `wide`; false where the caller may not read both. Definer: reads the tenant''s actors.';

create function l9_private.tg_packet_store__check_parents()
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
    -- A parent that it had may be gone since, erased, or hidden from the writer, and that must not freeze the child.
    to_check := array(select p.id from unnest(to_check) as p (id) where p.id <> all (old.parent_ids));
  end if;

  -- As the writer: a parent it can't see is a parent that is not there.
  for parent in
    select p.packet_id, p.scope, p.project_id, p.org_id, p.user_id, p."timestamp" from public.packet_store p
    where p.packet_id = any (to_check) and p.packet_id <> new.packet_id
    order by p."timestamp", p.packet_id
  loop
    found_parents := found_parents + 1;
    newest_time := parent."timestamp";
    newest_id := parent.packet_id;
    -- Else the child would show its readers the id of something they may not know of.
    if not l9_private.is_scope_within(new.scope, parent.scope) then
      perform l9_private.fail('L9VAL', format(
        'parent_ids: a memory in scope %s can''t rest on one in scope %s, which fewer may read', new.scope, parent.scope), 'parent_ids');
    elsif not (parent.project_id is null or parent.project_id is not distinct from new.project_id)
      or not (parent.org_id is null or parent.org_id is not distinct from new.org_id)
      or not (parent.user_id is null or parent.user_id is not distinct from new.user_id) then
      perform l9_private.fail('L9VAL',
        'parent_ids: a memory can''t rest on one of another project, org or user, which fewer may read', 'parent_ids');
    end if;
  end loop;
  if found_parents < cardinality(to_check) then
    perform l9_private.fail('L9VAL', 'parent_ids: at least one of these memories is not there', 'parent_ids');
  end if;

  -- Parents are older than children (by the time they were saved, then by id: neither ever changes), so that there can
  -- be no cycle, and none needs to be looked for through memories that the writer can't see. The id alone would not
  -- do: those that came from the old tables kept theirs, which say nothing of time.
  if (newest_time, newest_id) >= (new."timestamp", new.packet_id) then
    if tg_op = 'UPDATE' then
      perform l9_private.fail('L9VAL', 'parent_ids: a parent must be older than its child', 'parent_ids');
    end if;
    -- The clock went back since the parent was saved: the child is a moment younger all the same.
    new."timestamp" := newest_time + interval '1 microsecond';
  end if;
  return new;
end
$$;

comment on function l9_private.tg_packet_store__check_parents() is
  'Parents must exist, be visible to the writer, older than the child, and no more private than it: so they form a DAG that tells nobody anything new.';

create trigger _400_check_parents
  before insert or update of parent_ids, scope, project_id on public.packet_store
  for each row when (cardinality(new.parent_ids) > 0)
  execute function l9_private.tg_packet_store__check_parents();

grant execute on function l9_private.is_scope_within(text, text) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 030-packets/040-check-parents.sql
--! Included 030-packets/045-release-expired.sql
create function l9_private.tg_packet_store__release_expired()
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
  -- By the hash alone: as `=`, tenant and scope would look like a way in too, through every memory they have.
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

comment on function l9_private.tg_packet_store__release_expired() is
  'Deletes an expired memory that stands in the way of one that says the same, as if it had been cleaned up in time. Definer: what has expired is hidden from callers. It deletes only where the writer, by then checked, puts its own.';

create trigger _450_release_expired
  before insert or update of envelope, scope, project_id, packet_type on public.packet_store
  for each row execute function l9_private.tg_packet_store__release_expired();
--! EndIncluded 030-packets/045-release-expired.sql
--! Included 030-packets/050-audit.sql
create function l9_private.tg_packet_store__audit()
returns trigger
language plpgsql
security definer
set search_path = ''
-- The plan is kept for the session: made for an update of one row, a nested loop took 40 s over 10,000.
set enable_nestloop = off
as $$
declare
  actor jsonb := l9_private.audit_actor();
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
    -- Bookkeeping by jobs (chunk counts) leaves updated_at alone and is no change to the memory.
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

comment on function l9_private.tg_packet_store__audit() is
  'One audit row for each memory written, one statement for the whole batch. Definer: callers can''t insert into audit_log.';

create trigger _500_audit_insert after insert on public.packet_store
  referencing new table as new_rows
  for each statement execute function l9_private.tg_packet_store__audit();
create trigger _500_audit_update after update on public.packet_store
  referencing old table as old_rows new table as new_rows
  for each statement execute function l9_private.tg_packet_store__audit();
create trigger _500_audit_delete after delete on public.packet_store
  referencing old table as old_rows
  for each statement execute function l9_private.tg_packet_store__audit();

create function l9_private.tg_packet_store__refuse_truncate()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform l9_private.fail('L9IMM', 'packet_store: delete its rows, so that it is on the record');
  return null;
end
$$;

comment on function l9_private.tg_packet_store__refuse_truncate() is 'Refuses TRUNCATE, which knows no rows and would leave none in audit_log.';

create trigger _500_audit_truncate before truncate on public.packet_store
  for each statement execute function l9_private.tg_packet_store__refuse_truncate();
--! EndIncluded 030-packets/050-audit.sql
--! Included 030-packets/060-policies.sql
alter table public.packet_store enable row level security;
alter table public.packet_store force row level security;

create policy tenant_isolation on public.packet_store as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy org_isolation on public.packet_store as restrictive to l9_agent
  using (org_id is null or org_id = (select l9_private.current_org_id()));
create policy user_visibility on public.packet_store as restrictive to l9_agent
  using (user_id is null or user_id = (select l9_private.current_user_id()));
create policy scope_access on public.packet_store to l9_agent
  using (
    scope = any ((select l9_private.current_scopes())::text[])
    and (project_id is null or '*' = any ((select l9_private.current_projects())::text[])
      or project_id = any ((select l9_private.current_projects())::text[]))
    and (ttl is null or ttl > now()))
  with check (
    scope = any ((select l9_private.current_writable_scopes())::text[])
    and (project_id is null or '*' = any ((select l9_private.current_projects())::text[])
      or project_id = any ((select l9_private.current_projects())::text[])));
create policy creator_updates on public.packet_store as restrictive for update to l9_agent
  using (
    metadata ->> 'creator' = (select l9_private.current_creator())
    and scope = any ((select l9_private.current_writable_scopes())::text[]));
create policy creator_deletes on public.packet_store as restrictive for delete to l9_agent
  using (
    metadata ->> 'creator' = (select l9_private.current_creator())
    and scope = any ((select l9_private.current_writable_scopes())::text[]));
create policy admin_override on public.packet_store to l9_admin
  using (
    scope = any ((select l9_private.current_scopes())::text[])
    and (project_id is null or '*' = any ((select l9_private.current_projects())::text[])
      or project_id = any ((select l9_private.current_projects())::text[]))
    and (ttl is null or ttl > now()))
  with check (
    scope = any ((select l9_private.current_writable_scopes())::text[])
    and (project_id is null or '*' = any ((select l9_private.current_projects())::text[])
      or project_id = any ((select l9_private.current_projects())::text[])));
create policy writable_updates on public.packet_store as restrictive for update to l9_admin
  using (scope = any ((select l9_private.current_writable_scopes())::text[]));
create policy writable_deletes on public.packet_store as restrictive for delete to l9_admin
  using (scope = any ((select l9_private.current_writable_scopes())::text[]));
create policy platform_override on public.packet_store for select to l9_platform_admin
  using ((select l9_private.platform_look('packet_store')) and (ttl is null or ttl > now()));
create policy worker_access on public.packet_store to l9_worker using (true);
create policy definer_functions on public.packet_store for select to l9_owner
  using (ttl <= now());
create policy definer_locks on public.packet_store for update to l9_owner
  using (ttl <= now()) with check (false);
create policy definer_cleanup on public.packet_store for delete to l9_owner
  using (ttl <= now());

comment on policy tenant_isolation on public.packet_store is 'Nothing crosses tenants.';
comment on policy org_isolation on public.packet_store is 'A memory of an org is for callers of that org; one without is for the whole tenant.';
comment on policy user_visibility on public.packet_store is 'A memory of a user is for callers who act for that user; one without is for the whole org.';
comment on policy scope_access on public.packet_store is 'Agents read and write the scopes and projects of their claims; what has expired is gone.';
comment on policy creator_updates on public.packet_store is 'Agents change only what they wrote themselves.';
comment on policy creator_deletes on public.packet_store is 'Agents delete only what they wrote themselves.';
comment on policy admin_override on public.packet_store is 'L reads and writes any memory of its tenant, of every org, user and author, within its claims.';
comment on policy writable_updates on public.packet_store is 'An admin changes nothing in a scope that it may only read.';
comment on policy writable_deletes on public.packet_store is 'An admin deletes nothing in a scope that it may only read.';
comment on policy platform_override on public.packet_store is 'Operators read across tenants, each look on the record; they write nothing.';
comment on policy worker_access on public.packet_store is 'Jobs read contents to embed, and set chunk_count; the grants say which columns.';
comment on policy definer_functions on public.packet_store is 'Functions of the owner see what has expired, and nothing else.';
comment on policy definer_locks on public.packet_store is 'Functions of the owner lock what has expired, so that two cleanups share the work; they change nothing.';
comment on policy definer_cleanup on public.packet_store is 'Functions of the owner delete what has expired, and nothing else.';

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
grant maintain on public.packet_store to l9_worker; -- statistics, where no autovacuum makes them
grant update (chunk_count) on public.packet_store to l9_worker;
-- No insert or update of packet_id, content_hash, tenant_id, org_id, user_id, timestamp, counters: triggers and jobs set them.
--! EndIncluded 030-packets/060-policies.sql
--! Included 030-packets/070-idempotency-keys.sql
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
-- A key may say something of its memory, and goes with it: the planner's statistics keep no samples.
alter table public.idempotency_keys alter column idempotency_key set statistics 0;

comment on table public.idempotency_keys is 'The first answer to each idempotency key of a caller, so that a retried save gives it again.';
comment on column public.idempotency_keys.tenant_id is 'Tenant of the caller.';
comment on column public.idempotency_keys.caller is 'The caller that used it.';
comment on column public.idempotency_keys.idempotency_key is 'The key: 1 to 200 bytes.';
comment on column public.idempotency_keys.created_at is 'When it was first used.';
comment on column public.idempotency_keys.packet_id is 'The memory of the first answer; the key goes when the memory goes.';
comment on column public.idempotency_keys.status is 'inserted, updated or skipped_dedupe, as first answered.';

alter table public.idempotency_keys enable row level security;
alter table public.idempotency_keys force row level security;

create policy tenant_isolation on public.idempotency_keys as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy scope_access on public.idempotency_keys to l9_agent, l9_admin
  using (caller = (select l9_private.current_caller()))
  -- A foreign key sees every row: without this, whether it takes an id would tell whether a hidden memory has it.
  with check (
    caller = (select l9_private.current_caller())
    and (packet_id is null or exists (select from public.packet_store p where p.packet_id = idempotency_keys.packet_id)));

comment on policy tenant_isolation on public.idempotency_keys is 'Keys of the caller''s tenant.';
comment on policy scope_access on public.idempotency_keys is 'A key is known only to the caller that used it, and stands for a memory that this caller may read.';

grant select, insert (tenant_id, caller, idempotency_key), update (packet_id, status) on public.idempotency_keys to l9_agent, l9_admin;
-- No delete: a key goes with its memory.
--! EndIncluded 030-packets/070-idempotency-keys.sql
--! Included 030-packets/080-save-memory.sql
create type public.similar_memory as (packet_id uuid, similarity real);
comment on type public.similar_memory is 'A memory that says nearly the same.';
comment on column public.similar_memory.similarity is 'From 0 to 1; 1: the same words.';

create type public.save_result as (status text, memory public.packet_store, "similar" public.similar_memory[]);
comment on type public.save_result is
  'status: inserted, updated or skipped_dedupe; memory: the row as it is now; similar: memories that say nearly the same, most similar first, null where they were not looked for.';

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
  me l9_private.identity := l9_private.require_identity();
  first_answer record;
  saved public.packet_store;
  hash bytea;
  answer public.save_result;
begin
  if ttl <= now() then
    perform l9_private.fail('L9VAL', 'ttl: must be in the future', 'ttl');
  end if;
  if jsonb_typeof(save_memory.envelope) <> 'object' then
    perform l9_private.fail('L9VAL', 'envelope: an object', 'envelope');
  end if;

  if save_memory.idempotency_key is not null then
    if octet_length(save_memory.idempotency_key) not between 1 and 200 then
      perform l9_private.fail('L9LIM', 'idempotency_key: 1 to 200 bytes', 'idempotency_key');
    end if;
    -- Waits here for a concurrent save with the same key, and then finds its answer.
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
      -- Its memory is no longer the caller's to see, which must look as if it were deleted: save anew.
    end if;
  end if;

  if on_similar is not null then
    answer := l9_private.settle_similar(
      on_similar, save_memory.content, save_memory.scope, save_memory.project_id, kind, tags, parent_ids, ttl, importance,
      save_memory.metadata, save_memory.envelope, content_vector, model);
    saved := answer.memory;
  end if;

  for attempt in 1..3 loop
    -- Already settled by a memory that says nearly the same.
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

    hash := coalesce(hash, l9_private.content_hash(save_memory.content));
    select p.* into saved
    from public.packet_store p
    -- By the hash alone: as `=`, tenant and scope would look like a way in too, through every memory they have.
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

    -- What stood in the way was deleted a moment ago: try again.
  end loop;

  if answer.status is null then
    raise exception using errcode = '40001', message = 'save_memory: too much contention on one content, try again';
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
  'Saves a memory. Answers inserted, or skipped_dedupe with the memory that already says the same (case and white space aside) in this scope, project and kind. on_similar: what to do about memories that say nearly the same (keep: save, and report them; skip: save nothing; merge: join the two); null: they are not looked for. content_vector, of the model named, lets meaning count there. The writer comes from the caller''s identity. Errors: L9SCP, L9VAL, L9LIM, L9AUT.';

grant execute on function l9_private.content_hash(text) to l9_agent, l9_admin;
grant execute on function public.save_memory(
  text, text, text, text, text[], text, uuid[], timestamptz, real, jsonb, jsonb, jsonb, jsonb, text, text, text, text, text,
  extensions.vector, text)
  to l9_agent, l9_admin;
--! EndIncluded 030-packets/080-save-memory.sql
--! Included 030-packets/085-memory-json.sql
create function l9_private.memory_json(memory public.packet_store)
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

comment on function l9_private.memory_json(public.packet_store) is 'A memory as the gateway hands it out, in the words of save_memory''s parameters.';

grant execute on function l9_private.memory_json(public.packet_store) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 030-packets/085-memory-json.sql
--! Included 030-packets/090-get-memory.sql
create function l9_private.fail_not_yours(packet_id uuid)
returns void
language sql
immutable
parallel safe
set search_path = ''
return l9_private.fail('L9OWN', pg_catalog.format('memory %s is not there, or not yours', packet_id), 'packet_id');

comment on function l9_private.fail_not_yours(uuid) is
  'The error for a memory that is not there, not visible, or someone else''s: one text for all, so that none can be told from another.';

create function public.get_memory(packet_id uuid)
returns public.packet_store
language plpgsql
volatile
set search_path = ''
as $$
declare
  memory public.packet_store;
begin
  perform l9_private.require_identity();
  select p.* into memory from public.packet_store p where p.packet_id = get_memory.packet_id;
  if not found then
    perform l9_private.fail_not_yours(get_memory.packet_id);
  end if;
  perform l9_private.audit_read('READ', '{}', memory.packet_id, memory.project_id, memory.scope);
  perform l9_private.log_accesses('get', array[memory.packet_id], array[memory.scope], array[memory.project_id]);
  return memory;
end
$$;

comment on function public.get_memory(uuid) is
  'One memory, whole. Leaves an audit row, and one in the access log. L9OWN when it is not there or not visible: the two are never told apart.';

grant execute on function l9_private.fail_not_yours(uuid) to l9_agent, l9_admin, l9_platform_admin;
grant execute on function public.get_memory(uuid) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 030-packets/090-get-memory.sql
--! Included 030-packets/100-update-memory.sql
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
  me l9_private.identity := l9_private.require_identity();
  old_row public.packet_store;
  saved public.packet_store;
  answer public.save_result;
  new_scope text;
  new_project text;
begin
  -- Under row-level security FOR UPDATE finds only rows the caller may change.
  select p.* into old_row from public.packet_store p where p.packet_id = update_memory.packet_id for update;
  if not found then
    perform l9_private.fail_not_yours(update_memory.packet_id);
  end if;
  if update_memory.ttl <= now() then
    perform l9_private.fail('L9VAL', 'ttl: must be in the future; delete the memory instead', 'ttl');
  elsif jsonb_typeof(update_memory.envelope) <> 'object' then
    perform l9_private.fail('L9VAL', 'envelope: an object', 'envelope');
  elsif jsonb_typeof(update_memory.metadata) <> 'object' then
    perform l9_private.fail('L9VAL', 'metadata: an object', 'metadata');
  end if;
  new_scope := coalesce(update_memory.scope, old_row.scope);
  -- A memory that moves to a scope without projects leaves its project behind.
  new_project := case
    when update_memory.project_id is not null then update_memory.project_id
    when update_memory.scope is null or l9_private.scope_has_projects(new_scope) then old_row.project_id
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
    perform l9_private.fail('L9VAL', 'content: another memory of this scope, project and kind already says this', 'content');
  end;
  answer.status := 'updated';
  answer.memory := saved;
  return answer;
end
$$;

comment on function public.update_memory(
  uuid, text, text, text, text, text[], text, uuid[], timestamptz, real, jsonb, jsonb) is
  'Changes what is given of a memory and leaves the rest; ttl infinity takes the expiry away. Agents change only what they wrote: else, or where nothing is there, L9OWN. Changed content is embedded anew.';

grant execute on function public.update_memory(
  uuid, text, text, text, text, text[], text, uuid[], timestamptz, real, jsonb, jsonb) to l9_agent, l9_admin;
--! EndIncluded 030-packets/100-update-memory.sql
--! Included 030-packets/110-delete-memory.sql
create function public.delete_memory(packet_id uuid)
returns uuid
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
begin
  perform l9_private.require_identity();
  delete from public.packet_store p where p.packet_id = delete_memory.packet_id;
  if not found then
    perform l9_private.fail_not_yours(delete_memory.packet_id);
  end if;
  return delete_memory.packet_id;
end
$$;

comment on function public.delete_memory(uuid) is
  'Deletes a memory and what was derived from it, and returns its id. Agents delete only what they wrote: else, or where nothing is there, L9OWN.';

grant execute on function public.delete_memory(uuid) to l9_agent, l9_admin;
--! EndIncluded 030-packets/110-delete-memory.sql
--! Included 030-packets/120-delete-expired-memories.sql
create function l9_private.delete_expired(
  max_rows integer, me l9_private.identity default null)
returns table (of_tenant uuid, deleted bigint)
language plpgsql
volatile
set search_path = ''
as $$
begin
  if max_rows is null or max_rows not between 1 and 100000 then
    perform l9_private.fail('L9VAL', 'max_rows: from 1 to 100000', 'max_rows');
  end if;
  return query
  with doomed as (
    select p.packet_id from public.packet_store p
    where p.ttl <= now()
      and ((me).caller is null
        or p.tenant_id = (me).tenant_id
          and p.scope = any ((me).writable_scopes)
          and (p.project_id is null or '*' = any ((me).projects) or p.project_id = any ((me).projects))
          -- Agents see what belongs to their org and user, admins all of the tenant: so they clean up.
          and ((me).role = 'l9_admin' or (
            (p.org_id is null or p.org_id = (me).org_id) and (p.user_id is null or p.user_id = (me).user_id))))
    order by p.ttl
    limit max_rows
    -- What another cleanup is deleting, or a job holds, is left to it.
    for update skip locked
  ), gone as (
    delete from public.packet_store p using doomed where p.packet_id = doomed.packet_id returning p.tenant_id
  )
  select g.tenant_id, count(*) from gone g group by g.tenant_id;
end
$$;

comment on function l9_private.delete_expired(integer, l9_private.identity) is
  'Deletes what has expired, the oldest first, and says how many of which tenant: as far as this identity reaches; without one, of all. Not executable by callers: the two functions below say who may.';

create function public.delete_expired_memories(max_rows integer default 10000)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.require_identity();
  deleted bigint;
begin
  if not me.can_clean_up then
    perform l9_private.fail('L9SCP', 'delete_expired_memories: cleanup is not yours to do');
  end if;
  select coalesce(sum(gone.deleted), 0) into deleted
  from l9_private.delete_expired(max_rows, me) gone;
  perform l9_private.write_audit('CLEANUP', 'packet_store', details => jsonb_build_object('deleted', deleted, 'max_rows', max_rows));
  return deleted;
end
$$;

comment on function public.delete_expired_memories(integer) is
  'Deletes memories of the caller''s tenant, org, user (an admin''s: the whole tenant), scopes and projects whose ttl has passed, the oldest first, max_rows (1 to 100000) at most; returns how many. Only for actors that may clean up: else L9SCP. Definer: expired memories are hidden from everyone.';

create function l9_private.delete_expired_batch(max_rows integer default 1000)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  gone record;
  deleted bigint := 0;
begin
  for gone in select g.of_tenant, g.deleted from l9_private.delete_expired(max_rows) g loop
    perform l9_private.write_audit_of_tenant(gone.of_tenant, 'CLEANUP', 'packet_store',
      details => jsonb_build_object('deleted', gone.deleted, 'max_rows', max_rows));
    deleted := deleted + gone.deleted;
  end loop;
  return deleted;
end
$$;

comment on function l9_private.delete_expired_batch(integer) is
  'The scheduled cleanup: deletes memories of every tenant whose ttl has passed, the oldest first, max_rows (1 to 100000) at most; returns how many, and puts them on each tenant''s record. Fewer than max_rows: nothing is left but what others hold. Definer: expired memories are hidden from everyone.';

grant execute on function public.delete_expired_memories(integer) to l9_agent, l9_admin;
grant execute on function l9_private.delete_expired_batch(integer) to l9_worker;
--! EndIncluded 030-packets/120-delete-expired-memories.sql
--! Included 030-packets/130-packet-versions.sql
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
  -- No number: a gap in the numbers would tell an agent of a version that it may not see. memory_history() counts.
  primary key (packet_id, version_id)
);

-- Nothing is planned by what versions say, and the planner's statistics would keep samples of it.
alter table public.packet_versions
  alter column envelope set statistics 0, alter column routing set statistics 0, alter column provenance set statistics 0,
  alter column metadata set statistics 0, alter column tags set statistics 0, alter column correlation_id set statistics 0,
  alter column session_id set statistics 0, alter column trace_id set statistics 0, alter column thread_id set statistics 0;

comment on table public.packet_versions is
  'What memories said before they were changed: one row for each state that an update replaced. They go with their memory.';
comment on column public.packet_versions.packet_id is 'The memory.';
comment on column public.packet_versions.version_id is 'UUID version 7: ordered by when it was replaced.';
comment on column public.packet_versions.valid_from is 'Since when the memory was so.';
comment on column public.packet_versions.valid_until is 'When it was replaced.';
comment on column public.packet_versions.replaced_by is 'The caller that replaced it.';
comment on column public.packet_versions.replaced_with is 'The tool or mutation that replaced it; sql in a database session.';
comment on column public.packet_versions.packet_type is 'The kind of memory it was.';
comment on column public.packet_versions.envelope is 'The content it had (key `content`) and the structured fields beside it.';
comment on column public.packet_versions.content is 'The text it had.';
comment on column public.packet_versions.routing is 'As it was.';
comment on column public.packet_versions.provenance is 'As it was.';
comment on column public.packet_versions.metadata is 'As it was; creator and source are those who wrote this version.';
comment on column public.packet_versions.thread_id is 'As it was.';
comment on column public.packet_versions.parent_ids is 'As they were.';
comment on column public.packet_versions.tags is 'As they were.';
comment on column public.packet_versions.ttl is 'As it was. Whether the version can still be read is for the memory''s present ttl to say.';
comment on column public.packet_versions.project_id is 'The project it was in.';
comment on column public.packet_versions.scope is 'The scope it was in: only who may read that one sees this version.';
comment on column public.packet_versions.importance_score is 'As it was.';
comment on column public.packet_versions.tenant_id is 'As of the memory.';
comment on column public.packet_versions.org_id is 'As of the memory.';
comment on column public.packet_versions.user_id is 'As of the memory.';
comment on column public.packet_versions.correlation_id is 'As it was.';
comment on column public.packet_versions.session_id is 'As it was.';
comment on column public.packet_versions.trace_id is 'As it was.';

alter table public.packet_versions enable row level security;
alter table public.packet_versions force row level security;

create policy tenant_isolation on public.packet_versions as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy org_isolation on public.packet_versions as restrictive to l9_agent
  using (org_id is null or org_id = (select l9_private.current_org_id()));
create policy user_visibility on public.packet_versions as restrictive to l9_agent
  using (user_id is null or user_id = (select l9_private.current_user_id()));
-- Under the reader's own policies: a memory that is not there for it has no history either.
create policy packet_visibility on public.packet_versions as restrictive to l9_agent, l9_admin, l9_platform_admin
  using (exists (select from public.packet_store p where p.packet_id = packet_versions.packet_id));
create policy scope_access on public.packet_versions for select to l9_agent
  using (
    scope = any ((select l9_private.current_scopes())::text[])
    and (project_id is null or '*' = any ((select l9_private.current_projects())::text[])
      or project_id = any ((select l9_private.current_projects())::text[])));
create policy admin_override on public.packet_versions for select to l9_admin
  using (
    scope = any ((select l9_private.current_scopes())::text[])
    and (project_id is null or '*' = any ((select l9_private.current_projects())::text[])
      or project_id = any ((select l9_private.current_projects())::text[])));
create policy platform_override on public.packet_versions for select to l9_platform_admin
  using ((select l9_private.platform_look('packet_versions')));
create policy definer_functions on public.packet_versions for select to l9_owner using (true);
create policy definer_keeping on public.packet_versions for insert to l9_owner with check (true);

comment on policy tenant_isolation on public.packet_versions is 'Nothing crosses tenants.';
comment on policy org_isolation on public.packet_versions is 'As for the packet.';
comment on policy user_visibility on public.packet_versions is 'As for the packet.';
comment on policy packet_visibility on public.packet_versions is
  'A version is there for whoever may see its memory as it is now: what moved to l-private hides all it ever said.';
comment on policy scope_access on public.packet_versions is
  'And the scope and project that the version itself had: what was private stays so when the memory is shared.';
comment on policy admin_override on public.packet_versions is 'L, in its tenant, within its claims.';
comment on policy platform_override on public.packet_versions is 'Operators read across tenants, each look on the record.';
comment on policy definer_functions on public.packet_versions is 'The trigger that keeps versions looks for the one before; erasure counts them.';
comment on policy definer_keeping on public.packet_versions is 'The trigger that keeps versions writes them; nobody changes one.';

grant select on public.packet_versions to l9_agent, l9_admin, l9_platform_admin;
-- No insert, update or delete for anyone: the trigger writes them, and they go with their memory.

create function l9_private.tg_packet_store__keep_version()
returns trigger
language plpgsql
security definer
set search_path = ''
-- The plan is kept for the session. Made for an update of one row it would be a nested loop, and one of 10,000 rows then
-- took 36 s instead of 2.
set enable_nestloop = off
as $$
declare
  doer text := coalesce(l9_private.current_caller(), 'db:' || l9_private.current_role_name());
  tool text := l9_private.current_tool();
begin
  insert into public.packet_versions (
    packet_id, valid_from, valid_until, replaced_by, replaced_with, packet_type, envelope, routing, provenance, metadata,
    thread_id, parent_ids, tags, ttl, project_id, scope, importance_score, tenant_id, org_id, user_id,
    correlation_id, session_id, trace_id)
  select
    o.packet_id, before.valid_from, greatest(n.updated_at, before.valid_from), doer, tool, o.packet_type, o.envelope, o.routing,
    o.provenance, o.metadata, o.thread_id, o.parent_ids, o.tags, o.ttl, o.project_id, o.scope, o.importance_score,
    o.tenant_id, o.org_id, o.user_id, o.correlation_id, o.session_id, o.trace_id
  from old_rows o
  join new_rows n using (packet_id)
  -- updated_at also moves when nothing else did, so a version begins where the one before it ended.
  cross join lateral (
    select coalesce(
      (select v.valid_until from public.packet_versions v
       where v.packet_id = o.packet_id order by v.version_id desc limit 1),
      o."timestamp") as valid_from
  ) before
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

comment on function l9_private.tg_packet_store__keep_version() is
  'Keeps what an update by a caller replaced; one that changes nothing, or a job''s bookkeeping, makes no version. Definer: callers can''t write versions.';

create trigger _550_keep_version after update on public.packet_store
  referencing old table as old_rows new table as new_rows
  for each statement execute function l9_private.tg_packet_store__keep_version();
--! EndIncluded 030-packets/130-packet-versions.sql
--! Included 030-packets/140-memory-history.sql
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

comment on type public.memory_change is 'One state of a memory: who made it so, when, and what that changed.';
comment on column public.memory_change.version is 'Counted from 1, the oldest that the caller may see; the highest is the memory as it is now.';
comment on column public.memory_change.version_id is 'The version; null for the memory as it is now.';
comment on column public.memory_change.changed_at is 'When it became so.';
comment on column public.memory_change.until is 'When it was changed again; null for the memory as it is now.';
comment on column public.memory_change.creator is 'Who wrote it so.';
comment on column public.memory_change.source is 'The source of whoever wrote it so.';
comment on column public.memory_change.tool_name is 'The tool or mutation that made it so; null where what it replaced is not the caller''s to see.';
comment on column public.memory_change.changed_fields is
  'What differs from the state before, in the words of save_memory''s parameters, and creator; empty for the oldest.';
comment on column public.memory_change.content is 'The text it had.';
comment on column public.memory_change.state is 'The rest of it, in the words of save_memory''s parameters.';

create function public.memory_history(packet_id uuid, max_versions integer default 100)
returns setof public.memory_change
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  now_so public.packet_store;
begin
  perform l9_private.require_identity();
  if max_versions is null or max_versions not between 1 and 1000 then
    perform l9_private.fail('L9VAL', 'max_versions: from 1 to 1000', 'max_versions');
  end if;
  select p.* into now_so from public.packet_store p where p.packet_id = memory_history.packet_id;
  if not found then
    perform l9_private.fail_not_yours(memory_history.packet_id);
  end if;
  perform l9_private.audit_read('READ', '{"history": true}', now_so.packet_id, now_so.project_id, now_so.scope);

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
    select null, now_so.updated_at, null, null, now_so.envelope ->> 'content',
      l9_private.memory_json(now_so) - array['packet_id', 'content', 'timestamp', 'updated_at']
  ), placed as (
    select s.version_id, s.valid_from as changed_at, s.valid_until, s.content, s.memory,
      row_number() over past as place,
      -- Of the state before that the caller may see, which need not be the one that was replaced.
      lag(s.valid_until) over past as before_until,
      lag(s.replaced_with) over past as before_replaced_with,
      lag(s.content) over past as before_content,
      lag(s.memory) over past as before_memory
    from states s
    window past as (order by s.version_id nulls last)
  )
  select
    p.place::integer, p.version_id, p.changed_at, p.valid_until, p.memory -> 'metadata' ->> 'creator',
    p.memory -> 'metadata' ->> 'source',
    case
      when p.before_until = p.changed_at then p.before_replaced_with
      when p.changed_at = now_so."timestamp" then p.memory -> 'metadata' ->> 'tool_name'
    end,
    case when p.before_memory is null then '{}' else array(
      select f.name
      from (
        select 'content', p.content is distinct from p.before_content
        union all
        select 'creator', p.memory -> 'metadata' -> 'creator' is distinct from p.before_memory -> 'metadata' -> 'creator'
        union all
        select 'metadata', (p.memory -> 'metadata') - array['creator', 'source']
          is distinct from (p.before_memory -> 'metadata') - array['creator', 'source']
        union all
        select m.key, m.value is distinct from p.before_memory -> m.key from jsonb_each(p.memory) as m where m.key <> 'metadata'
      ) as f (name, is_changed)
      where f.is_changed
      order by f.name) end,
    p.content, p.memory
  from placed p
  order by p.place desc
  limit max_versions;
end
$$;

comment on function public.memory_history(uuid, integer) is
  'Who changed a memory, what of it, and when: its states, the newest first, max_versions (1 to 1000) at most, as far as the caller may see both the memory and the state. Leaves an audit row. L9OWN when the memory is not there or not visible.';

grant execute on function public.memory_history(uuid, integer) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 030-packets/140-memory-history.sql
--! Included 040-embeddings/010-embedding-models.sql
create table public.embedding_models (
  model text primary key,
  dimensions integer not null,
  created_at timestamptz not null default now(),
  state text,
  state_since timestamptz,
  constraint embedding_model_plain check (model ~ '^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,99}$'),
  constraint embedding_dimensions_fit check (dimensions between 1 and 1536),
  constraint embedding_state_known check (state in ('serving', 'arriving', 'leaving')),
  constraint embedding_state_dated check ((state is null) = (state_since is null)),
  -- Deferred, so that the switch can be one update of two rows.
  constraint embedding_state_one_each exclude using btree (state with =) where (state in ('serving', 'arriving'))
    deferrable initially deferred
);

comment on table public.embedding_models is 'Models whose vectors are stored. A search compares vectors of one model only.';
comment on column public.embedding_models.model is 'Its name, as each of its vectors carries it.';
comment on column public.embedding_models.created_at is 'When it was registered.';
comment on column public.embedding_models.dimensions is 'The model''s own dimensions; its vectors are padded with zeros to 1536, which leaves cosines as they are.';

comment on column public.embedding_models.state is
  'serving: searches compare its vectors; arriving: memories are embedded with it too, so that it can serve; leaving: its vectors are being dropped; null: none of these.';
comment on column public.embedding_models.state_since is 'Since when.';

alter table public.embedding_models enable row level security;
alter table public.embedding_models force row level security;

create policy scope_access on public.embedding_models for select to l9_agent, l9_admin, l9_platform_admin, l9_worker using (true);
create policy worker_access on public.embedding_models for update to l9_worker using (true);
create policy definer_functions on public.embedding_models to l9_owner using (true);
comment on policy scope_access on public.embedding_models is 'Which models there are is nobody''s secret.';
comment on policy worker_access on public.embedding_models is 'The change from one model to another is the jobs'' to make.';
comment on policy definer_functions on public.embedding_models is 'register_embedding_model() adds rows, drop_embedding_model() takes them away.';

grant select on public.embedding_models to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant update (state, state_since) on public.embedding_models to l9_worker;

create function l9_private.tg_embedding_models__notify()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform pg_notify('l9_embedding_models', '');
  return null;
end
$$;

comment on function l9_private.tg_embedding_models__notify() is
  'Tells the running gateways that another model may serve. It says that something changed, never what.';

create trigger _900_notify after insert or update or delete on public.embedding_models
  for each statement execute function l9_private.tg_embedding_models__notify();

create function l9_private.serving_model()
returns text
language sql
stable
parallel safe
set search_path = ''
return (select m.model from public.embedding_models m where m.state = 'serving');

comment on function l9_private.serving_model() is 'The model whose vectors searches compare; null where no gateway has ever started.';

grant execute on function l9_private.serving_model() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 040-embeddings/010-embedding-models.sql
--! Included 040-embeddings/015-memory-contexts.sql
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

-- The planner's statistics would keep samples of what was said.
alter table public.memory_contexts alter column context set statistics 0;

create index memory_contexts_bm25 on public.memory_contexts using bm25 (context) with (text_config = 'english');
create index memory_contexts_readers_idx on public.memory_contexts (tenant_id, scope, user_id, org_id, project_id) include (packet_id, ttl);
create index memory_contexts_predecessor_idx on public.memory_contexts (predecessor_id);

comment on table public.memory_contexts is
  'Memories together with the one before them in their thread, to be found by what an answer leaves unsaid. Only a predecessor of the same owner, scope and project is taken: whoever reads the row may read both.';
comment on column public.memory_contexts.context_id is 'UUID version 7. Another text is another context: vectors hang on the one they were made of.';
comment on column public.memory_contexts.packet_id is 'The memory.';
comment on column public.memory_contexts.predecessor_id is 'The memory before it in the thread.';
comment on column public.memory_contexts.context is 'The end of the predecessor (500 characters) and the beginning of the memory (2000). Never shown in a search.';
comment on column public.memory_contexts.tenant_id is 'As of both memories.';
comment on column public.memory_contexts.org_id is 'As of both memories.';
comment on column public.memory_contexts.user_id is 'As of both memories.';
comment on column public.memory_contexts.project_id is 'As of both memories.';
comment on column public.memory_contexts.scope is 'As of both memories.';
comment on column public.memory_contexts.ttl is 'When the first of the two expires: from then on nobody reads it.';
comment on column public.memory_contexts.created_at is 'When it was put together.';

alter table public.memory_contexts enable row level security;
alter table public.memory_contexts force row level security;

create policy tenant_isolation on public.memory_contexts as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy org_isolation on public.memory_contexts as restrictive to l9_agent
  using (org_id is null or org_id = (select l9_private.current_org_id()));
create policy user_visibility on public.memory_contexts as restrictive to l9_agent
  using (user_id is null or user_id = (select l9_private.current_user_id()));
create policy scope_access on public.memory_contexts for select to l9_agent
  using (
    scope = any ((select l9_private.current_scopes())::text[])
    and (project_id is null or '*' = any ((select l9_private.current_projects())::text[])
      or project_id = any ((select l9_private.current_projects())::text[]))
    and (ttl is null or ttl > now()));
create policy admin_override on public.memory_contexts for select to l9_admin
  using (
    scope = any ((select l9_private.current_scopes())::text[])
    and (project_id is null or '*' = any ((select l9_private.current_projects())::text[])
      or project_id = any ((select l9_private.current_projects())::text[]))
    and (ttl is null or ttl > now()));
create policy platform_override on public.memory_contexts for select to l9_platform_admin
  using ((select l9_private.platform_look('memory_contexts')) and (ttl is null or ttl > now()));
create policy worker_access on public.memory_contexts to l9_worker using (true);
create policy definer_functions on public.memory_contexts to l9_owner using (true);

comment on policy tenant_isolation on public.memory_contexts is 'Nothing crosses tenants.';
comment on policy org_isolation on public.memory_contexts is 'As for the packet.';
comment on policy user_visibility on public.memory_contexts is 'As for the packet.';
comment on policy scope_access on public.memory_contexts is 'As for the packet: scopes and projects of the caller''s claims.';
comment on policy admin_override on public.memory_contexts is 'As for the packet: L, in its tenant, within its claims.';
comment on policy platform_override on public.memory_contexts is 'Operators read across tenants, each look on the record.';
comment on policy worker_access on public.memory_contexts is 'The embedding job writes them.';
comment on policy definer_functions on public.memory_contexts is 'The triggers that take them away with what they were made of.';

grant select on public.memory_contexts to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, predecessor_id, context, tenant_id, org_id, user_id, project_id, scope, ttl)
  on public.memory_contexts to l9_worker;
grant update (created_at) on public.memory_contexts to l9_worker; -- to lock one while its vector is stored
grant delete, maintain on public.memory_contexts to l9_worker;
-- Callers write none: they follow from the memories.
--! EndIncluded 040-embeddings/015-memory-contexts.sql
--! Included 040-embeddings/020-memory-embeddings.sql
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
  constraint embedding_type_known check (embedding_type in ('content', 'context', 'entity', 'summary', 'reasoning')),
  constraint embedding_of_context check ((embedding_type = 'context') = (context_id is not null)),
  constraint embedding_chunk_has_text check (chunk_index >= 0 and (chunk_index = 0) = (chunk_text is null)),
  constraint embedding_metadata_object check (jsonb_typeof(metadata) = 'object')
);

-- Most models fill only part of the 1536 dimensions. By lz4 the zeros behind them compress away, and the row stays in one page:
-- pglz gives up where the first kilobyte does not compress, as that of a vector never does, and four times as much would go
-- elsewhere. The embedded engine knows no lz4.
alter table public.memory_embeddings alter column vector set storage extended;
do $$
begin
  alter table public.memory_embeddings alter column vector set compression lz4;
exception when feature_not_supported then
  null;
end
$$;
-- Nothing is ever planned by what vectors and texts are frequent.
alter table public.memory_embeddings alter column vector set statistics 0, alter column chunk_text set statistics 0;

create index memory_embeddings_visible_idx on public.memory_embeddings (tenant_id, scope, project_id);
create index memory_embeddings_context_idx on public.memory_embeddings (context_id) where context_id is not null;

comment on table public.memory_embeddings is 'Vectors of memories, whole and in chunks. They follow their packet''s owner, project, scope and expiry.';
comment on column public.memory_embeddings.embedding_id is 'UUID version 7.';
comment on column public.memory_embeddings.packet_id is 'The memory.';
comment on column public.memory_embeddings.tenant_id is 'As of the memory.';
comment on column public.memory_embeddings.org_id is 'As of the memory.';
comment on column public.memory_embeddings.user_id is 'As of the memory.';
comment on column public.memory_embeddings.project_id is 'As of the memory.';
comment on column public.memory_embeddings.scope is 'As of the memory.';
comment on column public.memory_embeddings.ttl is 'As of the memory: from then on nobody reads it.';
comment on column public.memory_embeddings.created_at is 'When it was embedded.';
comment on column public.memory_embeddings.embedding_type is 'What was embedded: content, context (with its predecessor in the thread), entity, summary or reasoning.';
comment on column public.memory_embeddings.model is 'The model that made the vector.';
comment on column public.memory_embeddings.vector is 'L2-normalised, padded with zeros to 1536. Never sent out by the gateway.';
comment on column public.memory_embeddings.chunk_index is '0: the memory as a whole; 1 and up: its chunks in order.';
comment on column public.memory_embeddings.chunk_text is 'The text of a chunk; null for the whole.';
comment on column public.memory_embeddings.context_id is 'Of type context: what it was made of, and goes with.';
comment on column public.memory_embeddings.metadata is 'Of a chunk: start and end, character offsets into the content.';

alter table public.memory_embeddings enable row level security;
alter table public.memory_embeddings force row level security;

create policy tenant_isolation on public.memory_embeddings as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy org_isolation on public.memory_embeddings as restrictive to l9_agent
  using (org_id is null or org_id = (select l9_private.current_org_id()));
create policy user_visibility on public.memory_embeddings as restrictive to l9_agent
  using (user_id is null or user_id = (select l9_private.current_user_id()));
create policy scope_access on public.memory_embeddings for select to l9_agent
  using (
    scope = any ((select l9_private.current_scopes())::text[])
    and (project_id is null or '*' = any ((select l9_private.current_projects())::text[])
      or project_id = any ((select l9_private.current_projects())::text[]))
    and (ttl is null or ttl > now()));
create policy admin_override on public.memory_embeddings for select to l9_admin
  using (
    scope = any ((select l9_private.current_scopes())::text[])
    and (project_id is null or '*' = any ((select l9_private.current_projects())::text[])
      or project_id = any ((select l9_private.current_projects())::text[]))
    and (ttl is null or ttl > now()));
create policy platform_override on public.memory_embeddings for select to l9_platform_admin
  using ((select l9_private.platform_look('memory_embeddings')) and (ttl is null or ttl > now()));
create policy worker_access on public.memory_embeddings to l9_worker using (true);
create policy definer_functions on public.memory_embeddings to l9_owner using (true);

comment on policy tenant_isolation on public.memory_embeddings is 'Nothing crosses tenants.';
comment on policy org_isolation on public.memory_embeddings is 'As for the packet.';
comment on policy user_visibility on public.memory_embeddings is 'As for the packet.';
comment on policy scope_access on public.memory_embeddings is 'As for the packet: scopes and projects of the caller''s claims.';
comment on policy admin_override on public.memory_embeddings is 'As for the packet: L, in its tenant, within its claims.';
comment on policy platform_override on public.memory_embeddings is 'Operators read across tenants, each look on the record.';
comment on policy worker_access on public.memory_embeddings is 'The embedding job writes them.';
comment on policy definer_functions on public.memory_embeddings is 'The trigger that keeps them with their packet.';

grant select on public.memory_embeddings to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, embedding_type, model, vector, chunk_index, chunk_text, context_id, metadata, tenant_id, org_id, user_id, project_id, scope, ttl)
  on public.memory_embeddings to l9_worker;
grant delete, maintain on public.memory_embeddings to l9_worker;
-- Callers write none: what a memory means is not theirs to say.
--! EndIncluded 040-embeddings/020-memory-embeddings.sql
--! Included 040-embeddings/030-register-embedding-model.sql
create function l9_private.is_embedded_engine()
returns boolean
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.version() like '%wasm%';

comment on function l9_private.is_embedded_engine() is
  'Whether this is PostgreSQL in WebAssembly, where indexing half-precision vectors is several times slower than full ones.';

create function l9_private.embedding_type_name(dimensions integer)
returns text
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.format(
  case when l9_private.is_embedded_engine() then 'extensions.vector(%s)' else 'extensions.halfvec(%s)' end, dimensions);

comment on function l9_private.embedding_type_name(integer) is 'The type that a model''s indexes hold: half precision on a server.';

create function l9_private.embedding_expression(dimensions integer)
returns text
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.format('(extensions.subvector(vector, 1, %s)::%s)', dimensions, l9_private.embedding_type_name(dimensions));

comment on function l9_private.embedding_expression(integer) is
  'The expression over memory_embeddings that a model''s indexes hold: its own dimensions only. A search must use the same.';

create function l9_private.embedding_types()
returns text[]
language sql
immutable
parallel safe
set search_path = ''
return array['content', 'context', 'entity', 'summary', 'reasoning'];

comment on function l9_private.embedding_types() is 'What is embedded: each has an index for each model.';

create function l9_private.embedding_index_name(model text, kind text)
returns text
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.format('hnsw_%s_%s', kind,
  pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(model, 'UTF8')), 'hex'), 16));

comment on function l9_private.embedding_index_name(text, text) is 'The name of a model''s index for one embedding type.';

create function public.register_embedding_model(model text, dimensions integer)
returns void
language plpgsql
volatile
security definer
set search_path = ''
set client_min_messages = warning
as $$
declare
  kind text;
  known integer;
begin
  if model is null or model !~ '^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,99}$' then
    perform l9_private.fail('L9VAL', 'model: 1 to 100 letters, digits or ._/:@-', 'model');
  elsif dimensions is null or dimensions not between 1 and 1536 then
    perform l9_private.fail('L9VAL', 'dimensions: from 1 to 1536', 'dimensions');
  end if;
  insert into public.embedding_models as m (model, dimensions) values (model, dimensions) on conflict on constraint embedding_models_pkey do nothing;
  select m.dimensions into known from public.embedding_models m where m.model = register_embedding_model.model;
  if known <> dimensions then
    perform l9_private.fail('L9VAL', format('dimensions: model %s is registered with %s', model, known), 'dimensions');
  end if;

  foreach kind in array l9_private.embedding_types() loop
    execute format(
      'create index if not exists %I on public.memory_embeddings using hnsw ((%s) extensions.%s) where model = %L and embedding_type = %L',
      l9_private.embedding_index_name(model, kind),
      l9_private.embedding_expression(dimensions),
      case when l9_private.is_embedded_engine() then 'vector_cosine_ops' else 'halfvec_cosine_ops' end,
      model, kind);
  end loop;
end
$$;

comment on function public.register_embedding_model(text, integer) is
  'Makes a model known, with its partial HNSW indexes, one for each embedding type; again: changes nothing. Definer: only the owner of the table makes indexes.';

grant execute on function
  l9_private.is_embedded_engine(), l9_private.embedding_type_name(integer), l9_private.embedding_expression(integer)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function public.register_embedding_model(text, integer) to l9_worker, l9_platform_admin;
--! EndIncluded 040-embeddings/030-register-embedding-model.sql
--! Included 040-embeddings/040-pending-embeddings.sql
create table l9_private.pending_embeddings (
  packet_id uuid not null references public.packet_store on delete cascade,
  model text not null references public.embedding_models on delete cascade,
  enqueued_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  claimed_until timestamptz,
  last_error text,
  primary key (packet_id, model)
);

create index pending_embeddings_due_idx on l9_private.pending_embeddings (model, next_attempt_at);

comment on table l9_private.pending_embeddings is
  'Memories that wait for their vectors. A row comes in the transaction of the save and goes in that of the vectors, so nothing is lost or embedded twice.';
comment on column l9_private.pending_embeddings.model is
  'The model they wait for: the one that serves, and while the model changes also the one that arrives.';
comment on column l9_private.pending_embeddings.claimed_until is 'A job works on it until then; later, another may take it.';
comment on column l9_private.pending_embeddings.attempts is 'How often its own content was refused or failed.';
comment on column l9_private.pending_embeddings.last_error is 'Name of the last error. Never a text.';

alter table l9_private.pending_embeddings enable row level security;
alter table l9_private.pending_embeddings force row level security;

create policy worker_access on l9_private.pending_embeddings to l9_worker using (true);
create policy definer_functions on l9_private.pending_embeddings to l9_owner using (true);
comment on policy worker_access on l9_private.pending_embeddings is 'Jobs work the list off.';
comment on policy definer_functions on l9_private.pending_embeddings is 'Triggers of packet_store put memories on the list.';

grant select, insert (packet_id, model), update, delete on l9_private.pending_embeddings to l9_worker;
--! EndIncluded 040-embeddings/040-pending-embeddings.sql
--! Included 040-embeddings/050-follow-packet.sql
create function l9_private.tg_packet_store__enqueue_embedding()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into l9_private.pending_embeddings (packet_id, model)
  select n.packet_id, m.model
  from new_rows n cross join public.embedding_models m
  where m.state in ('serving', 'arriving')
  order by n.packet_id, m.model;
  return null;
end
$$;

comment on function l9_private.tg_packet_store__enqueue_embedding() is
  'Puts new memories on the list of what is to be embedded. Definer: callers don''t see that list.';

create trigger _900_enqueue_embedding after insert on public.packet_store
  referencing new table as new_rows
  for each statement execute function l9_private.tg_packet_store__enqueue_embedding();

create function l9_private.tg_packet_store__embeddings_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  if new.content_hash <> old.content_hash then
    -- What its old words meant must not be found any more.
    delete from public.memory_embeddings e where e.packet_id = new.packet_id;
    insert into l9_private.pending_embeddings as p (packet_id, model)
    select new.packet_id, m.model from public.embedding_models m where m.state in ('serving', 'arriving')
    order by m.model
    on conflict (packet_id, model) do update
      set attempts = 0, next_attempt_at = now(), claimed_until = null, last_error = null;
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

comment on function l9_private.tg_packet_store__embeddings_follow() is
  'Keeps owner, project, scope and expiry of the vectors equal to the memory''s; drops them when its content changes. Definer: callers can''t write vectors.';

create trigger _600_embeddings_follow before update on public.packet_store
  for each row
  when (
    new.content_hash is distinct from old.content_hash
    or (new.tenant_id, new.scope) is distinct from (old.tenant_id, old.scope)
    or new.org_id is distinct from old.org_id
    or new.user_id is distinct from old.user_id
    or new.project_id is distinct from old.project_id
    or new.ttl is distinct from old.ttl)
  execute function l9_private.tg_packet_store__embeddings_follow();
--! EndIncluded 040-embeddings/050-follow-packet.sql
--! Included 040-embeddings/055-contexts-follow.sql
-- What was made of a memory and its predecessor goes at once, in the transaction that changes one of them. What is to
-- be there instead is for the embedding job: it finds the memory on this list.

create table l9_private.stale_contexts (
  -- No foreign key: it is written while memories go, and the job looks whether they are still there.
  packet_id uuid primary key
);

comment on table l9_private.stale_contexts is 'Memories whose context is to be put together again.';
comment on column l9_private.stale_contexts.packet_id is 'The memory, which may be gone by now.';

alter table l9_private.stale_contexts enable row level security;
alter table l9_private.stale_contexts force row level security;

create policy worker_access on l9_private.stale_contexts to l9_worker using (true);
create policy definer_functions on l9_private.stale_contexts to l9_owner using (true);
comment on policy worker_access on l9_private.stale_contexts is 'Jobs work the list off.';
comment on policy definer_functions on l9_private.stale_contexts is 'Triggers put memories on the list.';

grant select, insert, delete on l9_private.stale_contexts to l9_worker;

create function l9_private.tg_memory_contexts__list_stale()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into l9_private.stale_contexts (packet_id)
  select o.packet_id from old_rows o order by o.packet_id
  on conflict do nothing;
  return null;
end
$$;

comment on function l9_private.tg_memory_contexts__list_stale() is
  'A memory that lost its context, such as with its predecessor, is to get another. Definer: callers don''t see that list.';

create trigger _900_list_stale after delete on public.memory_contexts
  referencing old table as old_rows
  for each statement execute function l9_private.tg_memory_contexts__list_stale();

create function l9_private.tg_packet_store__contexts_follow()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  -- In this order, as the job locks them: the context, then what is on a list.
  delete from public.memory_contexts c where c.packet_id = new.packet_id;
  delete from public.memory_contexts c where c.predecessor_id = new.packet_id;
  if new.thread_id is not null then
    insert into l9_private.stale_contexts (packet_id) values (new.packet_id) on conflict do nothing;
  end if;
  return null;
end
$$;

comment on function l9_private.tg_packet_store__contexts_follow() is
  'Drops the context of a memory that changed, and of the one after it. Definer: callers can''t write contexts.';

create trigger _900_contexts_follow
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
  execute function l9_private.tg_packet_store__contexts_follow();
--! EndIncluded 040-embeddings/055-contexts-follow.sql
--! Included 040-embeddings/060-embedding-job.sql
-- What the embedding job calls, as l9_worker. Each is one short transaction: none is open while a provider answers.

create function l9_private.claim_pending_embeddings(model text, batch_size integer, lease interval)
returns table (packet_id uuid, content text, content_hash bytea, attempts integer)
language sql
volatile
set search_path = ''
begin atomic
  with due as (
    select q.packet_id from l9_private.pending_embeddings q
    where q.model = claim_pending_embeddings.model and q.next_attempt_at <= now() and (q.claimed_until is null or q.claimed_until < now())
    order by q.next_attempt_at
    limit batch_size
    for update skip locked
  ), claimed as (
    update l9_private.pending_embeddings q set claimed_until = now() + lease
    from due where q.packet_id = due.packet_id and q.model = claim_pending_embeddings.model
    returning q.packet_id, q.attempts
  )
  select p.packet_id, p.envelope ->> 'content', p.content_hash, claimed.attempts
  from claimed join public.packet_store p on p.packet_id = claimed.packet_id;
end;

comment on function l9_private.claim_pending_embeddings(text, integer, interval) is
  'Takes up to batch_size memories that wait for this model off the top of the list for the length of the lease.';

create function l9_private.store_embeddings(
  packet_id uuid, content_hash bytea, model text, vectors text[], chunk_texts text[], chunk_starts integer[], chunk_ends integer[])
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  packet record;
begin
  select p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope, p.ttl, p.chunk_count into packet
  from public.packet_store p
  where p.packet_id = store_embeddings.packet_id and p.content_hash = store_embeddings.content_hash
  for update;
  if not found then
    return false; -- Deleted, or changed since it was claimed: then it is on the list anew.
  end if;

  insert into public.memory_embeddings
    (packet_id, embedding_type, model, vector, chunk_index, chunk_text, metadata, tenant_id, org_id, user_id, project_id, scope, ttl)
  select store_embeddings.packet_id, 'content', store_embeddings.model, v.vector::extensions.vector, v.place - 1,
    chunk_texts[v.place - 1],
    case when v.place > 1
      then jsonb_build_object('start', chunk_starts[v.place - 1], 'end', chunk_ends[v.place - 1]) else '{}' end,
    packet.tenant_id, packet.org_id, packet.user_id, packet.project_id, packet.scope, packet.ttl
  from unnest(vectors) with ordinality as v (vector, place)
  on conflict do nothing;

  if packet.chunk_count <> coalesce(cardinality(chunk_texts), 0) then
    update public.packet_store p set chunk_count = coalesce(cardinality(chunk_texts), 0)
    where p.packet_id = store_embeddings.packet_id;
  end if;
  delete from l9_private.pending_embeddings q
  where q.packet_id = store_embeddings.packet_id and q.model = store_embeddings.model;
  return true;
end
$$;

comment on function l9_private.store_embeddings(uuid, bytea, text, text[], text[], integer[], integer[]) is
  'Stores the vectors of a memory, the whole first and then its chunks, and takes it off the list, in one transaction. False, and nothing stored, where its content has changed since it was claimed.';

create function l9_private.postpone_embeddings(model text, packet_ids uuid[], delay interval, error text, counts_as_attempt boolean)
returns void
language sql
volatile
set search_path = ''
begin atomic
  update l9_private.pending_embeddings q
  set claimed_until = null,
    next_attempt_at = now() + delay,
    last_error = left(error, 100),
    attempts = q.attempts + case when counts_as_attempt then 1 else 0 end
  where q.packet_id = any (packet_ids) and q.model = postpone_embeddings.model;
end;

comment on function l9_private.postpone_embeddings(text, uuid[], interval, text, boolean) is
  'Puts memories back on the list for later, after a failure of the provider, or (as an attempt) of their own content.';

create function l9_private.renew_embedding_claims(model text, packet_ids uuid[], lease interval)
returns void
language sql
volatile
set search_path = ''
begin atomic
  update l9_private.pending_embeddings q set claimed_until = now() + lease
  where q.packet_id = any (packet_ids) and q.model = renew_embedding_claims.model and q.claimed_until is not null;
end;

comment on function l9_private.renew_embedding_claims(text, uuid[], interval) is
  'Holds on to memories that a job still works on. A short lease, renewed, lets others take over soon from one that died.';

create function l9_private.release_embedding_claims()
returns void
language sql
volatile
set search_path = ''
begin atomic
  update l9_private.pending_embeddings q set claimed_until = null where q.claimed_until is not null;
end;

comment on function l9_private.release_embedding_claims() is
  'Ends all claims. For the start of a process that is alone on its database, where claims are those of one that died.';

create function l9_private.enqueue_missing_embeddings(model text)
returns bigint
language sql
volatile
set search_path = ''
begin atomic
  with enqueued as (
    insert into l9_private.pending_embeddings (packet_id, model)
    select p.packet_id, enqueue_missing_embeddings.model from public.packet_store p
    where not exists (
      select from public.memory_embeddings e
      where e.packet_id = p.packet_id and e.embedding_type = 'content' and e.model = enqueue_missing_embeddings.model)
    on conflict do nothing
    returning packet_id
  )
  select count(*) from enqueued;
end;

comment on function l9_private.enqueue_missing_embeddings(text) is
  'Puts every memory without a vector of this model on the list; returns how many. For a model that begins to serve or to arrive, and for what was saved while no gateway knew of it.';

create function l9_private.embedding_backlog()
returns table (pending bigint, failing bigint, oldest_seconds double precision)
language sql
stable
set search_path = ''
begin atomic
  select count(*), count(*) filter (where q.last_error is not null),
    coalesce(extract(epoch from now() - min(q.enqueued_at)), 0)::double precision
  from l9_private.pending_embeddings q
  where q.model = l9_private.serving_model();
end;

comment on function l9_private.embedding_backlog() is
  'How many memories wait for vectors of the model that serves, how many of them failed before, and the age of the oldest in seconds.';

create function l9_private.has_due_embeddings(models text[])
returns boolean
language sql
stable
set search_path = ''
return cardinality(models) > 0 and (
  exists (
    select from l9_private.pending_embeddings q
    where q.model = any (models) and q.next_attempt_at <= now() and (q.claimed_until is null or q.claimed_until < now()))
  or exists (select from l9_private.stale_contexts));

comment on function l9_private.has_due_embeddings(text[]) is 'Whether a memory waits for one of these models, and may be claimed, or has lost its context.';

grant execute on function
  l9_private.has_due_embeddings(text[]),
  l9_private.claim_pending_embeddings(text, integer, interval),
  l9_private.store_embeddings(uuid, bytea, text, text[], text[], integer[], integer[]),
  l9_private.postpone_embeddings(text, uuid[], interval, text, boolean),
  l9_private.renew_embedding_claims(text, uuid[], interval),
  l9_private.release_embedding_claims(),
  l9_private.enqueue_missing_embeddings(text),
  l9_private.embedding_backlog()
to l9_worker;
--! EndIncluded 040-embeddings/060-embedding-job.sql
--! Included 040-embeddings/065-context-job.sql
-- What the embedding job calls for contexts, as l9_worker. It locks a memory first, then its context, then what is on a
-- list, as a caller's change does. A change of many memories may still cross its way; so the job waits for a moment only
-- (55P03), less than it takes for a deadlock to be seen, and is never what a caller's change fails of.

create function l9_private.context_text(predecessor text, content text)
returns text
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.right(predecessor, 500) || E'\n\n' || pg_catalog.left(content, 2000);

comment on function l9_private.context_text(text, text) is
  'The end of what was said before and the beginning of the memory, so that both fit into what a small model reads.';

create function l9_private.requeue_stale_contexts()
returns void
language sql
volatile
set search_path = ''
begin atomic
  -- What is being worked on stays listed until that is done: it may have been read before the change.
  with taken as (
    delete from l9_private.stale_contexts s
    where not exists (select from l9_private.pending_embeddings q where q.packet_id = s.packet_id)
    returning s.packet_id
  )
  insert into l9_private.pending_embeddings (packet_id, model)
  select t.packet_id, m.model
  from taken t
  join public.packet_store p on p.packet_id = t.packet_id
  cross join public.embedding_models m
  where m.state in ('serving', 'arriving')
  on conflict do nothing;
end;

comment on function l9_private.requeue_stale_contexts() is 'Puts memories that lost their context on the list of what is to be embedded.';

create function l9_private.is_same_thread(one public.packet_store, other public.packet_store)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return one.thread_id = other.thread_id and one.tenant_id = other.tenant_id and one.scope = other.scope
  and one.project_id is not distinct from other.project_id
  and one.org_id is not distinct from other.org_id
  and one.user_id is not distinct from other.user_id;

comment on function l9_private.is_same_thread(public.packet_store, public.packet_store) is
  'Whether two memories are of one thread and the same people may read them. Another scope''s part of a thread is another thread.';

create function l9_private.thread_neighbour(memory public.packet_store, is_before boolean)
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

comment on function l9_private.thread_neighbour(public.packet_store, boolean) is
  'The memory before or after this one in its thread, among those that the same people may read; null where there is none.';

create function l9_private.refresh_contexts(packet_ids uuid[])
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
  wanted text;
begin
  foreach id in array packet_ids loop
    refresh_contexts.packet_id := id;
    before_id := null;
    context_id := null;
    context := null;
    -- Locked, so that nobody changes it between this look and the commit, when a trigger would miss what is written here.
    -- Who is changing it now is not waited for: it is tried again.
    select p.* into memory from public.packet_store p
    where p.packet_id = id for no key update skip locked;
    is_busy := not found;
    if not is_busy and memory.thread_id is not null then
      before_id := l9_private.thread_neighbour(memory, true);
      if before_id is not null then
        select p.* into predecessor from public.packet_store p
        where p.packet_id = before_id and l9_private.is_same_thread(p, memory) and (p.ttl is null or p.ttl > now())
        for share skip locked;
        is_busy := not found;
      end if;
    end if;
    if not is_busy then
      wanted := case when memory.thread_id is not null and before_id is not null
        then l9_private.context_text(predecessor.envelope ->> 'content', memory.envelope ->> 'content') end;
      select c.context_id into context_id from public.memory_contexts c
      where c.packet_id = memory.packet_id and c.predecessor_id = before_id and c.context = wanted;
      if not found then
        delete from public.memory_contexts c where c.packet_id = memory.packet_id;
        if wanted is not null then
          insert into public.memory_contexts as c
            (packet_id, predecessor_id, context, tenant_id, org_id, user_id, project_id, scope, ttl)
          values (memory.packet_id, before_id, wanted, memory.tenant_id, memory.org_id, memory.user_id, memory.project_id,
            memory.scope, least(memory.ttl, predecessor.ttl))
          returning c.context_id into context_id;
        end if;
      end if;
      context := wanted;
      delete from l9_private.stale_contexts s where s.packet_id = memory.packet_id;
      -- One that came into the middle of a thread stands before another from now on.
      insert into l9_private.stale_contexts (packet_id)
      select after.packet_id from (select l9_private.thread_neighbour(memory, false) as packet_id) after
      where after.packet_id is not null
        and not exists (
          select from public.memory_contexts c
          where c.packet_id = after.packet_id and c.predecessor_id = memory.packet_id)
        and not exists (select from l9_private.pending_embeddings q where q.packet_id = after.packet_id)
      on conflict do nothing;
    end if;
    return next;
  end loop;
end
$$;

comment on function l9_private.refresh_contexts(uuid[]) is
  'Puts memories together with the one before them in their thread, and hands the texts out to be embedded; context is null where there is none. is_busy: it, or the one before it, is being changed, or gone; to be tried again.';

create function l9_private.store_vectors(
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
    return l9_private.store_embeddings(packet_id, content_hash, model, vectors, chunk_texts, chunk_starts, chunk_ends);
  end if;
  -- The locks keep both until the vector is committed; a change that waits for it takes the context and its vector away.
  perform from public.packet_store p where p.packet_id = store_vectors.packet_id for update;
  perform from public.memory_contexts c
  where c.context_id = store_vectors.context_id and c.packet_id = store_vectors.packet_id
  for update;
  if not found then
    update l9_private.pending_embeddings q set claimed_until = null
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
  return l9_private.store_embeddings(packet_id, content_hash, model, vectors, chunk_texts, chunk_starts, chunk_ends);
end
$$;

comment on function l9_private.store_vectors(uuid, bytea, text, text[], text[], integer[], integer[], uuid, text) is
  'store_embeddings(), and the vector of the memory''s context. False, and nothing stored, where one of the two memories has changed since its text was handed out: then it stays on the list.';

grant execute on function
  l9_private.context_text(text, text), l9_private.requeue_stale_contexts(), l9_private.refresh_contexts(uuid[]),
  l9_private.is_same_thread(public.packet_store, public.packet_store),
  l9_private.thread_neighbour(public.packet_store, boolean),
  l9_private.store_vectors(uuid, bytea, text, text[], text[], integer[], integer[], uuid, text)
to l9_worker;
--! EndIncluded 040-embeddings/065-context-job.sql
--! Included 040-embeddings/070-change-model.sql
-- From one model to another, as l9_worker. The state is the database's, so whoever drives it can stop anywhere.

create table l9_private.embedding_changes (
  model text primary key references public.embedding_models on delete cascade,
  began_at timestamptz not null default now(),
  memories_to_embed bigint not null,
  constraint embedding_change_not_negative check (memories_to_embed >= 0)
);

comment on table l9_private.embedding_changes is
  'How much a change to a model has to do. Apart from embedding_models, since it counts the memories of all tenants.';
comment on column l9_private.embedding_changes.model is 'The model that arrives.';
comment on column l9_private.embedding_changes.began_at is 'When it began to.';
comment on column l9_private.embedding_changes.memories_to_embed is 'How many memories had no vector of it then.';

alter table l9_private.embedding_changes enable row level security;
alter table l9_private.embedding_changes force row level security;

create policy worker_access on l9_private.embedding_changes to l9_worker using (true);
create policy definer_functions on l9_private.embedding_changes to l9_owner using (true);
comment on policy worker_access on l9_private.embedding_changes is 'The change from one model to another is the jobs'' to make.';
comment on policy definer_functions on l9_private.embedding_changes is 'drop_embedding_model() takes its row away with the model.';

grant select, insert (model, memories_to_embed), update (memories_to_embed), delete on l9_private.embedding_changes to l9_worker;

create function l9_private.adopt_embedding_model(model text, dimensions integer)
returns text
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  serving text;
begin
  -- Of several gateways that start at once, one decides.
  perform pg_advisory_xact_lock(hashtextextended('l9 embedding models', 0));
  serving := l9_private.serving_model();
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

comment on function l9_private.adopt_embedding_model(text, integer) is
  'For the start of a gateway: the model serves where none does, or where there is no memory yet. Returns the model that serves.';

create function l9_private.begin_embedding_change(model text, dimensions integer)
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
  if l9_private.serving_model() = begin_embedding_change.model then
    perform l9_private.fail('L9VAL', format('model: %s serves already', begin_embedding_change.model), 'model');
  end if;
  select m.model into other from public.embedding_models m where m.state = 'arriving' and m.model <> begin_embedding_change.model;
  if found then
    perform l9_private.fail('L9VAL', format('model: a change to %s is under way; finish it or abandon it', other), 'model');
  end if;
  perform public.register_embedding_model(begin_embedding_change.model, dimensions);
  -- From here on new memories wait for this model too. One that is arriving goes on where it was.
  update public.embedding_models m set state = 'arriving', state_since = clock_timestamp()
  where m.model = begin_embedding_change.model and m.state is distinct from 'arriving';
  perform l9_private.enqueue_missing_embeddings(begin_embedding_change.model);
  select count(*) into missing from l9_private.pending_embeddings q where q.model = begin_embedding_change.model;
  insert into l9_private.embedding_changes as c (model, memories_to_embed) values (begin_embedding_change.model, missing)
  on conflict on constraint embedding_changes_pkey do update set memories_to_embed = greatest(c.memories_to_embed, missing);
  return missing;
end
$$;

comment on function l9_private.begin_embedding_change(text, integer) is
  'Lets a model arrive: every memory is put on the list of those that wait for its vector, new ones as they come. Again: goes on. Returns how many wait.';

create function l9_private.embedding_change()
returns table (model text, serving text, to_embed bigint, remaining bigint, refused bigint)
language sql
stable
set search_path = ''
begin atomic
  select m.model, l9_private.serving_model(), greatest(max(c.memories_to_embed), count(q.packet_id)), count(q.packet_id),
    count(q.packet_id) filter (where q.attempts > 0)
  from public.embedding_models m
  left join l9_private.embedding_changes c on c.model = m.model
  left join l9_private.pending_embeddings q on q.model = m.model
  where m.state = 'arriving'
  group by m.model;
end;

comment on function l9_private.embedding_change() is
  'How far the change to another model is: memories in all, those that still wait, and those of them that its embedder refused. No row: no change is under way.';

create function l9_private.switch_embedding_model(model text, allow_missing bigint default 0)
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
  serving := l9_private.serving_model();
  if serving = switch_embedding_model.model then
    return 0;
  elsif not exists (
      select from public.embedding_models m where m.model = switch_embedding_model.model and m.state = 'arriving') then
    perform l9_private.fail('L9VAL', format('model: %s is not arriving', switch_embedding_model.model), 'model');
  end if;
  -- What can be found by meaning must stay so. What was saved a moment ago waits for either model.
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
    perform l9_private.enqueue_missing_embeddings(switch_embedding_model.model);
    return missing;
  end if;
  update public.embedding_models m
  set state = case when m.model = switch_embedding_model.model then 'serving' else 'leaving' end, state_since = clock_timestamp()
  where m.model in (switch_embedding_model.model, serving);
  delete from l9_private.pending_embeddings q where q.model = serving;
  delete from l9_private.embedding_changes c where c.model = switch_embedding_model.model;
  return 0;
end
$$;

comment on function l9_private.switch_embedding_model(text, bigint) is
  'Lets the model that arrives serve, in one update, if no more than allow_missing memories would be lost to search by meaning; else changes nothing and returns how many would. 0: it serves.';

create function l9_private.abandon_embedding_change()
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
  delete from l9_private.pending_embeddings q where q.model = abandoned;
  delete from l9_private.embedding_changes c where c.model = abandoned;
  return abandoned;
end
$$;

comment on function l9_private.abandon_embedding_change() is
  'Gives up a change that is under way: the vectors made for it are dropped. Returns the model; null where there was none.';

create function l9_private.drop_leaving_vectors(model text, batch_size integer, after uuid default null)
returns table (dropped bigint, last_packet_id uuid)
language sql
volatile
set search_path = ''
-- By packet, so that the next batch does not walk over what this one deleted.
set enable_seqscan = off
begin atomic
  with batch as (
    select e.embedding_id, e.packet_id from public.memory_embeddings e
    where e.model = drop_leaving_vectors.model and (after is null or e.packet_id > after)
      and exists (select from public.embedding_models m where m.model = e.model and m.state = 'leaving')
    order by e.packet_id
    limit batch_size
  ), gone as (
    delete from public.memory_embeddings e using batch b where e.embedding_id = b.embedding_id
    returning e.packet_id
  )
  -- There is no greatest uuid among the aggregates.
  select count(*), (array_agg(g.packet_id order by g.packet_id desc))[1] from gone g;
end;

comment on function l9_private.drop_leaving_vectors(text, integer, uuid) is
  'Deletes up to batch_size vectors of a model that leaves, after those of the packet given; returns how many, and the last packet.';

create function l9_private.drop_embedding_model(model text)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
-- To drop an index nobody may be using the table. Rather later than have everyone wait behind us.
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
    select format('%I.%I', 'public', l9_private.embedding_index_name(drop_embedding_model.model, t.kind))
    from unnest(l9_private.embedding_types()) as t (kind)
  loop
    execute format('drop index if exists %s', index_name);
  end loop;
  delete from public.embedding_models m where m.model = drop_embedding_model.model;
  return true;
end
$$;

comment on function l9_private.drop_embedding_model(text) is
  'Drops the indexes and the row of a model that leaves, once it has no vectors; false where it has some, or does not leave. Definer: only the owner of the table drops indexes.';

grant execute on function
  l9_private.adopt_embedding_model(text, integer),
  l9_private.begin_embedding_change(text, integer),
  l9_private.embedding_change(),
  l9_private.switch_embedding_model(text, bigint),
  l9_private.abandon_embedding_change(),
  l9_private.drop_leaving_vectors(text, integer, uuid),
  l9_private.drop_embedding_model(text)
to l9_worker;
--! EndIncluded 040-embeddings/070-change-model.sql
--! Included 050-search/005-search-settings.sql
create table public.search_settings (
  tenant_id uuid primary key references public.tenants,
  lexical_weight real not null default 0.35,
  semantic_weight real not null default 0.65,
  context_weight real not null default 0.5,
  uses_chunks boolean not null default true,
  recency_boost real not null default 0.04,
  importance_boost real not null default 0.15,
  half_life_days jsonb not null default '{"default": 180}',
  updated_at timestamptz not null default now(),
  constraint search_weights_from_0_to_1 check (
    lexical_weight between 0 and 1 and semantic_weight between 0 and 1 and context_weight between 0 and 1),
  constraint search_weights_not_both_0 check (lexical_weight + semantic_weight > 0),
  constraint search_boosts_at_most_a_fifth check (
    recency_boost >= 0 and importance_boost >= 0 and recency_boost + importance_boost <= 0.2001),
  constraint search_half_lives_object check (jsonb_typeof(half_life_days) = 'object' and half_life_days ? 'default')
);

comment on table public.search_settings is
  'How a tenant''s searches weigh what they find: a row for each tenant that differs from the defaults of the columns. set_search_settings() writes them.';
comment on column public.search_settings.tenant_id is 'The tenant.';
comment on column public.search_settings.lexical_weight is 'How much words count in a hybrid search, against semantic_weight.';
comment on column public.search_settings.semantic_weight is 'How much meaning counts in a hybrid search, against lexical_weight.';
comment on column public.search_settings.context_weight is
  'How far a memory that matches better together with its predecessor in the thread is lifted towards that match: 0, not at all, to 1.';
comment on column public.search_settings.uses_chunks is 'Whether long memories are also compared chunk by chunk.';
comment on column public.search_settings.recency_boost is 'How much of its score a memory of this moment gets on top; half of that after a half-life, and so on.';
comment on column public.search_settings.importance_boost is 'How much of its score a memory of importance 1 gets on top. Both boosts together: a fifth at most.';
comment on column public.search_settings.half_life_days is 'Kind → days; default for all others.';
comment on column public.search_settings.updated_at is 'When they were last changed.';

alter table public.search_settings enable row level security;
alter table public.search_settings force row level security;

create policy tenant_isolation on public.search_settings as restrictive to l9_agent, l9_admin, l9_platform_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy scope_access on public.search_settings for select to l9_agent, l9_admin using (true);
create policy platform_override on public.search_settings for select to l9_platform_admin
  using ((select l9_private.platform_look('search_settings')));
create policy definer_functions on public.search_settings to l9_owner using (true);

comment on policy tenant_isolation on public.search_settings is 'A search goes by the settings of the caller''s tenant, an operator''s too.';
comment on policy scope_access on public.search_settings is 'Everybody in the tenant may know how its searches weigh.';
comment on policy platform_override on public.search_settings is 'Operators, of their own tenant, each look on the record.';
comment on policy definer_functions on public.search_settings is 'set_search_settings() writes them.';

grant select on public.search_settings to l9_agent, l9_admin, l9_platform_admin;
-- No insert, update or delete for anyone: set_search_settings() checks them, and leaves its audit row.

create trigger _500_audit after insert or update on public.search_settings
  for each row execute function l9_private.tg__audit_identity(
    '', 'lexical_weight', 'semantic_weight', 'context_weight', 'uses_chunks', 'recency_boost', 'importance_boost', 'half_life_days');

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
  me l9_private.administrator := l9_private.require_administrator(set_search_settings.tenant_id);
  wanted public.search_settings;
  saved public.search_settings;
begin
  perform l9_private.require_whole_token(me);
  insert into public.search_settings as s (tenant_id) values (me.tenant_id) on conflict do nothing;
  select s.* into wanted from public.search_settings s where s.tenant_id = me.tenant_id for update;
  wanted.lexical_weight := coalesce(set_search_settings.lexical_weight, wanted.lexical_weight);
  wanted.semantic_weight := coalesce(set_search_settings.semantic_weight, wanted.semantic_weight);
  wanted.context_weight := coalesce(set_search_settings.context_weight, wanted.context_weight);
  wanted.uses_chunks := coalesce(set_search_settings.uses_chunks, wanted.uses_chunks);
  wanted.recency_boost := coalesce(set_search_settings.recency_boost, wanted.recency_boost);
  wanted.importance_boost := coalesce(set_search_settings.importance_boost, wanted.importance_boost);
  perform l9_private.check_search_settings(wanted, set_search_settings.half_life_days);
  wanted.half_life_days := wanted.half_life_days || coalesce(jsonb_strip_nulls(set_search_settings.half_life_days), '{}');
  if octet_length(wanted.half_life_days::text) > 16384 then
    perform l9_private.fail('L9LIM', 'half_life_days: at most 16384 bytes', 'half_life_days');
  end if;
  update public.search_settings s
  set lexical_weight = wanted.lexical_weight, semantic_weight = wanted.semantic_weight, context_weight = wanted.context_weight,
    uses_chunks = wanted.uses_chunks, recency_boost = wanted.recency_boost, importance_boost = wanted.importance_boost,
    half_life_days = wanted.half_life_days, updated_at = clock_timestamp()
  where s.tenant_id = me.tenant_id
  returning s.* into saved;
  return saved;
end
$$;

comment on function public.set_search_settings(real, real, real, boolean, real, real, jsonb, uuid) is
  'Changes what is given of how a tenant''s searches weigh what they find, from the next search on; half-lives of kinds not named stay. For admins with a whole token. Audited. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: settings change by this function only.';

create function l9_private.check_search_settings(settings public.search_settings, half_life_days jsonb)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  name text;
  value real;
  days record;
begin
  for name, value in
    select w.key, w.value::real
    from jsonb_each_text(to_jsonb(settings)) as w
    where w.key in ('lexical_weight', 'semantic_weight', 'context_weight')
  loop
    if value not between 0 and 1 then
      perform l9_private.fail('L9VAL', format('%s: from 0 to 1', name), name);
    end if;
  end loop;
  if settings.lexical_weight + settings.semantic_weight = 0 then
    perform l9_private.fail('L9VAL', 'semantic_weight: one of lexical_weight and semantic_weight must be above 0', 'semantic_weight');
  elsif not (settings.recency_boost >= 0 and settings.importance_boost >= 0
    and settings.recency_boost + settings.importance_boost <= 0.2001) then
    perform l9_private.fail('L9VAL', 'importance_boost: recency_boost and importance_boost, from 0, together at most 0.2', 'importance_boost');
  end if;
  if jsonb_typeof(half_life_days) <> 'object' then
    perform l9_private.fail('L9VAL', 'half_life_days: an object, kind → days', 'half_life_days');
  end if;
  for days in select d.key, d.value from jsonb_each(half_life_days) as d where d.value <> 'null' loop
    if jsonb_typeof(days.value) <> 'number' or days.value::numeric not between 0.01 and 36500 then
      perform l9_private.fail('L9VAL', 'half_life_days: numbers of days, from 0.01 to 36500', 'half_life_days');
    end if;
  end loop;
end
$$;

comment on function l9_private.check_search_settings(public.search_settings, jsonb) is 'L9VAL, naming the field, for settings out of range.';

grant execute on function public.set_search_settings(real, real, real, boolean, real, real, jsonb, uuid) to l9_admin, l9_platform_admin;

create function l9_private.current_search_settings()
returns public.search_settings
language plpgsql
stable
set search_path = ''
as $$
declare
  settings public.search_settings;
begin
  select s.* into settings from public.search_settings s where s.tenant_id = (select l9_private.current_tenant_id());
  if not found then
    -- As the columns say by default; null for the tenant, which has none of its own.
    settings := row(null, 0.35, 0.65, 0.5, true, 0.04, 0.15, '{"default": 180}', null)::public.search_settings;
  end if;
  return settings;
end
$$;

comment on function l9_private.current_search_settings() is 'Those of the caller''s tenant, or the defaults.';

grant execute on function l9_private.current_search_settings() to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/005-search-settings.sql
--! Included 050-search/010-search-types.sql
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

comment on type public.memory_hit is 'A memory that a search found, and why.';
comment on column public.memory_hit.access_id is 'What record_feedback takes: this hit of this search.';
comment on column public.memory_hit.content is 'The memory''s text, cut after 8000 characters, or a preview where max_tokens left no more room; get_memory gives the whole.';
comment on column public.memory_hit.is_truncated is 'Whether content was cut.';
comment on column public.memory_hit.snippet is 'The part that matched best, words of the query between ** and **.';
comment on column public.memory_hit.score is
  'From 0 to 1: the weighted sum of lexical_score and semantic_score, or in a single mode just that one, after the boosts; 1 where nothing was ranked.';
comment on column public.memory_hit.lexical_score is 'BM25 as a part of the best hit''s, from 0 to 1; null when not found by words.';
comment on column public.memory_hit.semantic_score is 'Cosine similarity to the query, from 0 to 1; null when not compared.';
comment on column public.memory_hit.importance is 'How much it matters, from 0 to 1, as learned from its use.';
comment on column public.memory_hit.chunk_index is 'The chunk that was nearest in meaning; 0: the memory as a whole; null: not compared.';
comment on column public.memory_hit.explanation is
  'With explain: found_by (legs), lexical and semantic (content and context, each from 0 to 1), chunk, weights, fused (the score before the boosts) and boosts (recency, importance, factor).';

create type public.search_result as (hits public.memory_hit[], searched jsonb);

comment on type public.search_result is 'Hits, best first, and what was searched: so that an empty result can''t be taken for a missing permission.';
comment on column public.search_result.searched is
  'mode (as run), requested_mode, scopes, projects, filters, k, threshold, vectors (used, unavailable or not asked for), candidates, cut (what max_tokens took away), notice.';

create type l9_private.search_request as (
  query text,
  k integer,
  mode text,
  vector extensions.vector,
  model text,
  dimensions integer,
  threshold real,
  as_of timestamptz,
  candidates integer,
  is_explained boolean,
  settings public.search_settings,
  on_packets text,
  on_states text,
  on_versions text,
  on_own text,
  ranges text,
  joins_packets boolean,
  ids uuid[],
  context_ids uuid[],
  walks_words boolean,
  walks_context_words boolean,
  walks_vectors boolean,
  walks_context_vectors boolean
);

comment on type l9_private.search_request is 'A search, checked: what its legs need.';
comment on column l9_private.search_request.on_packets is 'Conditions on packet_store p, for the memory as it is now.';
comment on column l9_private.search_request.on_states is 'The same, and with as_of also for one whose content is still what it was.';
comment on column l9_private.search_request.on_versions is 'Conditions on packet_versions v and packet_store p, with as_of.';
comment on column l9_private.search_request.on_own is 'Conditions on a table m with the memory''s own scope, project and expiry.';
comment on column l9_private.search_request.ranges is 'Conditions on p that are ranges of an index.';
comment on column l9_private.search_request.joins_packets is 'Whether the conditions are more than those on m.';
comment on column l9_private.search_request.ids is 'All memories that match, where they are few: then they are scored one by one. Null: they are many.';
comment on column l9_private.search_request.context_ids is 'As ids, of those memories that have a context.';
comment on column l9_private.search_request.walks_words is 'Whether for words a walk through their index is the shorter way all the same.';
comment on column l9_private.search_request.walks_context_words is 'As walks_words, for the index of contexts.';
comment on column l9_private.search_request.walks_vectors is 'As walks_words, for the index of the model.';
comment on column l9_private.search_request.walks_context_vectors is 'As walks_words, for the model''s index of contexts.';

create type l9_private.source as (
  table_name text,
  columns text,
  branches text[],
  content text,
  bm25_index text,
  more text
);

comment on type l9_private.source is
  'Where rows come from, as SQL. Of a type of its own, so that no text that a caller gives is ever taken for SQL.';

create type l9_private.found as (ids uuid[], scores real[], chunks integer[]);

comment on type l9_private.found is 'What a leg found, best first.';
--! EndIncluded 050-search/010-search-types.sql
--! Included 050-search/012-search-conditions.sql
-- Conditions as text, with their values in them, so that each statement is planned for the filters that are there.

create function l9_private.own_conditions(alias text, scopes text[], project_id text)
returns text
language sql
stable
parallel safe
set search_path = ''
return pg_catalog.concat_ws(' and ',
  pg_catalog.format('(%1$I.ttl is null or %1$I.ttl > now())', alias),
  case when scopes is not null then pg_catalog.format('%I.scope = any (%L::text[])', alias, scopes) end,
  case when project_id is not null then
    pg_catalog.format('(%1$I.project_id = %2$L or %1$I.project_id is null)', alias, project_id) end);

comment on function l9_private.own_conditions(text, text[], text) is
  'Conditions on expiry, scope and project, for any table that carries its memory''s.';

create function l9_private.packet_conditions(
  alias text, kinds text[], tags text[], tags_match text, since timestamptz, until timestamptz, thread_id text, creator text,
  but_not uuid)
returns text
language sql
stable
parallel safe
set search_path = ''
return nullif(pg_catalog.concat_ws(' and ',
  case when kinds is not null then pg_catalog.format('%I.packet_type = any (%L::text[])', alias, kinds) end,
  case when tags is not null then pg_catalog.format(
    '%I.tags operator(pg_catalog.%s) %L::text[]', alias, case tags_match when 'all' then '@>' else '&&' end, tags) end,
  -- When it was saved, which a change leaves as it is.
  case when since is not null then pg_catalog.format('p."timestamp" >= %L', since) end,
  case when until is not null then pg_catalog.format('p."timestamp" < %L', until) end,
  case when thread_id is not null then pg_catalog.format('%I.thread_id = %L', alias, thread_id) end,
  case when creator is not null then pg_catalog.format('%I.metadata ->> ''creator'' = %L', alias, creator) end,
  case when but_not is not null then pg_catalog.format('p.packet_id <> %L', but_not) end), '');

comment on function l9_private.packet_conditions(text, text[], text[], text, timestamptz, timestamptz, text, text, uuid) is
  'Conditions on what a memory, or (as v) a version of it, says of itself; null where there are none.';

create function l9_private.reader_branches(me l9_private.identity, alias text, scopes text[], project_id text)
returns text[]
language sql
stable
parallel safe
set search_path = ''
begin atomic
  -- Each is one range of an index: a condition with "or" would be checked row by row behind it.
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

comment on function l9_private.reader_branches(l9_private.identity, text, text[], text) is
  'What a caller may read, as conditions of which each is a range of an index. Row-level security stands behind them: they only find it sooner.';

grant execute on function
  l9_private.own_conditions(text, text[], text),
  l9_private.packet_conditions(text, text[], text[], text, timestamptz, timestamptz, text, text, uuid),
  l9_private.reader_branches(l9_private.identity, text, text[], text)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/012-search-conditions.sql
--! Included 050-search/014-narrow-search.sql
create function l9_private.few_matches(source l9_private.source, bound integer, look_at integer)
returns uuid[]
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  seen bigint;
  matches uuid[];
begin
  execute format($sql$
    select count(*), array_agg(p.packet_id) filter (where %s)
    from (%s limit %s) p$sql$,
    coalesce(source.more, 'true'),
    (select string_agg(format('select %s from %s p where %s', source.columns, source.table_name, coalesce(nullif(b.branch, ''), 'true')), ' union all ')
     from unnest(source.branches) as b (branch)),
    look_at + 1)
  into seen, matches;
  return case when seen <= look_at and coalesce(cardinality(matches), 0) <= bound then coalesce(matches, '{}') end;
end
$$;

comment on function l9_private.few_matches(l9_private.source, integer, integer) is
  'The memories of a table that the caller may read and that match, where they are at most bound, among at most look_at that were looked at; else null.';

create function l9_private.estimated_rows(table_name regclass)
returns real
language sql
stable
parallel safe
set search_path = ''
return (select greatest(c.reltuples, 0) from pg_catalog.pg_class c where c.oid = table_name);

comment on function l9_private.estimated_rows(regclass) is
  'As the planner believes; 0 before a table was first analyzed, when it is young and every way through it short.';

create function l9_private.is_walk_shorter(table_name regclass, few integer, candidates integer)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return few > 0 and 6 * few + 4000 > least(1, candidates / few::real) * l9_private.estimated_rows(table_name);

comment on function l9_private.is_walk_shorter(regclass, integer, integer) is
  'Whether walking past others'' rows in a word index costs less than scoring few rows one by one. Walking past one takes 4 µs, looking whether one has the words six times that, and scoring the likely ones 15 ms.';

create function l9_private.is_vector_walk_shorter(few integer, candidates integer)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return few > 0 and 15 * few > 7 * greatest(
  150, least(1, candidates / few::real) * l9_private.estimated_rows('public.memory_embeddings'));

comment on function l9_private.is_vector_walk_shorter(integer, integer) is
  'The same for vectors, where comparing one costs 15 µs, walking past one 7 µs, and no walk is shorter than 150 of them.';

create function l9_private.narrow_search(
  request l9_private.search_request, me l9_private.identity, scopes text[], project_id text)
returns l9_private.search_request
language plpgsql
stable
set search_path = ''
as $$
declare
  -- Scoring 2,000 one by one costs as much as walking an index of which a caller sees 2 %.
  bound constant integer := 2000;
  -- Looking at 20,000 costs less than walking past them in an index to find the few of a tag.
  look_at integer := case when request.joins_packets then 20000 else bound end;
  branches text[] := l9_private.reader_branches(me, 'p', scopes, project_id);
  source l9_private.source;
begin
  if request.k is null then
    return request;
  end if;
  source.table_name := 'public.packet_store';
  -- What an index has by itself, where that is enough.
  source.columns := case when request.joins_packets then 'p.*' else 'p.packet_id, p.ttl' end;
  source.more := case when request.joins_packets then request.on_states else '(p.ttl is null or p.ttl > now())' end;
  source.branches := array(
    select concat_ws(' and ', nullif(b.branch, ''), nullif(request.ranges, '')) from unnest(branches) as b (branch));
  request.ids := l9_private.few_matches(source, bound, look_at);
  request.context_ids := case
    when request.ids is not null then request.ids
    -- They may be few though the memories are many: then the walk past other tenants' would be a long one.
    else l9_private.few_matches(
      row('public.memory_contexts', 'p.packet_id, p.ttl', branches, null, null, null)::l9_private.source, bound, bound) end;
  request.walks_words := request.ids is null or l9_private.is_walk_shorter(
    'public.packet_store', cardinality(request.ids), request.candidates);
  request.walks_context_words := request.context_ids is null or l9_private.is_walk_shorter(
    'public.memory_contexts', cardinality(request.context_ids), request.candidates);
  request.walks_vectors := request.ids is null or l9_private.is_vector_walk_shorter(
    cardinality(request.ids), request.candidates);
  request.walks_context_vectors := request.context_ids is null or l9_private.is_vector_walk_shorter(
    cardinality(request.context_ids), request.candidates);
  return request;
end
$$;

comment on function l9_private.narrow_search(l9_private.search_request, l9_private.identity, text[], text) is
  'Looks whether what can be found is so little that it is scored one by one rather than met on a walk through an index.';

grant execute on function
  l9_private.estimated_rows(regclass),
  l9_private.is_walk_shorter(regclass, integer, integer), l9_private.is_vector_walk_shorter(integer, integer),
  l9_private.few_matches(l9_private.source, integer, integer),
  l9_private.narrow_search(l9_private.search_request, l9_private.identity, text[], text)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/014-narrow-search.sql
--! Included 050-search/015-snippet.sql
create function l9_private.snippet_query(query text)
returns tsquery
language sql
stable
parallel safe
set search_path = ''
return (
  -- The lexemes as they are: parsing them again would stem them twice. Null, not empty, where there are none.
  select pg_catalog.string_agg(
    '''' || pg_catalog.replace(pg_catalog.replace(words.lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::pg_catalog.tsquery
  from (
    select lexeme
    from pg_catalog.unnest(pg_catalog.to_tsvector('pg_catalog.english', pg_catalog.left(query, 2000)))
    limit 50
  ) words);

comment on function l9_private.snippet_query(text) is 'Any of the first 50 words of a text, in English stems; null where it has none.';

create function l9_private.snippet(content text, words tsquery)
returns text
language sql
stable
parallel safe
set search_path = ''
return case
  when words is null then pg_catalog.left(pg_catalog.btrim(content), 240)
  else pg_catalog.ts_headline(
    'pg_catalog.english', content, words, 'StartSel=**, StopSel=**, MaxWords=40, MinWords=20, MaxFragments=1')
end;

comment on function l9_private.snippet(text, tsquery) is 'The part of a text that holds most of the words, with ** around them; else its beginning.';

grant execute on function l9_private.snippet_query(text), l9_private.snippet(text, tsquery)
  to l9_agent, l9_admin, l9_platform_admin;

create function l9_private.passage_pattern(query text)
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
    from unnest(l9_private.word_stems(query)) as s (stem));
end
$$;

comment on function l9_private.passage_pattern(text) is 'Where a word of the query begins, as a regular expression; null where it has none.';

create function l9_private.passage(content text, pattern text)
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

comment on function l9_private.passage(text, text) is 'The 4000 characters of a long text around the first match of a pattern; else its beginning.';

grant execute on function l9_private.passage(text, text), l9_private.passage_pattern(text) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/015-snippet.sql
--! Included 050-search/020-find-words.sql
create function l9_private.word_stems(query text)
returns text[]
language sql
stable
parallel safe
set search_path = ''
return array(
  -- With what every form of the word begins, though some other words may, too: English stems lose an e, and turn y into i.
  select pg_catalog.regexp_replace(words.lexeme, '(..)[eiy]$', '\1')
  from pg_catalog.unnest(pg_catalog.to_tsvector('pg_catalog.english', pg_catalog.left(query, 2000))) as words
  order by pg_catalog.length(words.lexeme) desc, words.lexeme
  limit 12);

comment on function l9_private.word_stems(text) is 'The twelve longest words of a text, cut down to what all their forms begin with; empty where it has none.';

create function l9_private.stem_test(stem text)
returns text
language sql
immutable
parallel safe
set search_path = ''
return case
  -- The quickest; what it finds in the middle of a word does no harm.
  when stem ~ '^[ -~]{4,}$' then pg_catalog.format('pg_catalog.strpos(s.lowered, %L) > 0', stem)
  when stem ~ '^[a-z0-9]+$' then pg_catalog.format('s.lowered ~ %L', '\m' || stem)
  else pg_catalog.format('s.content ~* %L', pg_catalog.regexp_replace(stem, '([][(){}.*+?^$|\\])', '\\\1', 'g')) end;

comment on function l9_private.stem_test(text) is
  'A condition on s.content and on s.lowered (its ASCII letters in lower case, under collation C): whether a word begins like this, roughly.';

create function l9_private.score_words(source l9_private.source, ids uuid[], query text)
returns l9_private.found
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  -- The operator takes a quarter of a millisecond a row.
  scored constant integer := 60;
  stems text[] := l9_private.word_stems(query);
  places integer[] := array(select generate_series(1, cardinality(stems)));
  worth text := (select string_agg(format('m.h%1$s::integer * worth.w%1$s', n), ' + ') from unnest(places) as n);
  answer l9_private.found;
begin
  if source.table_name is null or cardinality(stems) = 0 or coalesce(cardinality(ids), 0) = 0 then
    return answer;
  end if;
  execute format($sql$
    with matched as materialized (
      select s.packet_id, length(s.lowered) as length, %5$s
      from (
        select s.packet_id, %2$s as content, lower(%2$s collate "C") as lowered
        from %1$s s
        where s.packet_id = any ($1) and %4$s
        offset 0 -- so that each content is taken out of its row once
      ) s
    ), worth as (
      select %6$s from matched
    ), likely as (
      select m.packet_id
      from matched m, worth
      where %7$s > 0
      order by %7$s desc, m.length
      limit %8$s
    )
    -- Ordered by another expression than an index has, which would be walked.
    select array_agg(f.packet_id order by f.score desc), array_agg(f.score order by f.score desc)
    from (
      select s.packet_id, (-(%2$s <@> to_bm25query($2, %3$L)))::real as score
      from likely join %1$s s using (packet_id)
      where %4$s
      offset 0
    ) f
    where f.score > 0$sql$,
    source.table_name, source.content, source.bm25_index, coalesce(source.more, 'true'),
    (select string_agg(format('%s as h%s', l9_private.stem_test(x.stem), x.place), ', ') from unnest(stems) with ordinality as x (stem, place)),
    (select string_agg(format('ln(1 + count(*)::real / (1 + count(*) filter (where h%1$s))) as w%1$s', n), ', ') from unnest(places) as n),
    worth, scored)
  into answer.ids, answer.scores
  using ids, query;
  return answer;
end
$$;

comment on function l9_private.score_words(l9_private.source, uuid[], text) is
  'BM25 of few rows, without a walk through the index: first by which words of the query they have, rare ones first; then the sixty best of these by their true score.';

create function l9_private.find_words(request l9_private.search_request)
returns l9_private.found
language plpgsql
stable
-- pg_textsearch looks up a function of its own by an unqualified name when it plans.
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- The index is walked in order. Without statistics (the embedded engine has no autovacuum, a young database none yet) the
-- planner expects a row or two, and would rather score every memory and sort.
set enable_sort = off
as $$
declare
  source l9_private.source;
  answer l9_private.found;
begin
  if not request.walks_words then
    source.table_name := 'public.packet_store';
    source.content := '(s.envelope ->> ''content'')';
    source.bm25_index := 'public.packet_store_content_bm25';
    source.more := case when request.as_of is not null then format('s.updated_at <= %L', request.as_of) end;
    return l9_private.score_words(source, request.ids, request.query);
  end if;
  -- Its index scan knows the scores. It hands them out, instead of computing each again, only in a statement of its own,
  -- no CTE, and where what is selected and what is ordered by are two expressions, if only in spelling.
  execute format($sql$
    select array_agg(f.packet_id), array_agg((-f.distance)::real)
    from (
      select p.packet_id,
        (p.envelope ->> 'content') <@> to_bm25query($1, 'public.' || 'packet_store_content_bm25') as distance
      from public.packet_store p
      where %s
      order by (p.envelope ->> 'content') <@> to_bm25query($1, 'public.packet_store_content_bm25')
      limit %s
    ) f
    where f.distance < 0$sql$, request.on_packets, request.candidates)
  into answer.ids, answer.scores
  using request.query;
  return answer;
end
$$;

comment on function l9_private.find_words(l9_private.search_request) is
  'The leg over the words of memories themselves. Long ones as a whole: BM25 weighs a word by the length of its text, and a second index over chunks would hold every word twice.';

create function l9_private.find_context_words(request l9_private.search_request)
returns l9_private.found
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_sort = off
as $$
declare
  source l9_private.source;
  answer l9_private.found;
begin
  if not request.walks_context_words then
    source.table_name := 'public.memory_contexts';
    source.content := 's.context';
    source.bm25_index := 'public.memory_contexts_bm25';
    source.more := case when request.ids is null and request.joins_packets then format(
      'exists (select from public.packet_store p where p.packet_id = s.packet_id and %s)', request.on_packets) end;
    return l9_private.score_words(source, request.context_ids, request.query);
  end if;
  execute format($sql$
    select array_agg(f.packet_id), array_agg((-f.distance)::real)
    from (
      select m.packet_id, m.context <@> to_bm25query($1, 'public.' || 'memory_contexts_bm25') as distance
      from public.memory_contexts m %s
      where %s
      order by m.context <@> to_bm25query($1, 'public.memory_contexts_bm25')
      limit %s
    ) f
    where f.distance < 0$sql$,
    case when request.joins_packets then 'join public.packet_store p on p.packet_id = m.packet_id' end,
    case when request.joins_packets then request.on_packets else request.on_own end,
    request.candidates)
  into answer.ids, answer.scores
  using request.query;
  return answer;
end
$$;

comment on function l9_private.find_context_words(l9_private.search_request) is
  'The leg over the words of memories together with their predecessors.';

grant execute on function
  l9_private.word_stems(text), l9_private.stem_test(text),
  l9_private.score_words(l9_private.source, uuid[], text),
  l9_private.find_words(l9_private.search_request),
  l9_private.find_context_words(l9_private.search_request)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/020-find-words.sql
--! Included 050-search/022-find-versions.sql
-- For searches as of a time: which states were replaced after it.
create index packet_versions_until_idx on public.packet_versions (tenant_id, valid_until);

create function l9_private.find_version_words(request l9_private.search_request)
returns l9_private.found
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  then_so constant text := format('%L between s.valid_from and s.valid_until - interval ''1 microsecond''', request.as_of);
  ids uuid[];
begin
  execute format($sql$
    select array_agg(v.packet_id) from (
      select v.packet_id
      from public.packet_versions v join public.packet_store p on p.packet_id = v.packet_id
      where v.valid_until > $1 and v.valid_from <= $1 and %s
      order by v.valid_until
      limit 20000
    ) v$sql$, request.on_versions)
  into ids
  using request.as_of;
  return l9_private.score_words(
    row('public.packet_versions', null, null, '(s.envelope ->> ''content'')', 'public.packet_store_content_bm25', then_so)::l9_private.source,
    ids, request.query);
end
$$;

comment on function l9_private.find_version_words(l9_private.search_request) is
  'The leg over what memories said at a time and say no more: versions that the caller may see, of memories that it may see. The 20,000 replaced first after that time at most.';

grant execute on function l9_private.find_version_words(l9_private.search_request) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/022-find-versions.sql
--! Included 050-search/025-find-meaning.sql
create function l9_private.score_meaning(
  request l9_private.search_request, embedding_type text, source l9_private.source, ids uuid[])
returns l9_private.found
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  answer l9_private.found;
begin
  if request.k is null or source.more is null then
    return answer;
  end if;
  -- By the vectors themselves: spelt like this, no index of a model is of use.
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
    case when source.more <> request.on_own then 'join public.packet_store p on p.packet_id = m.packet_id' end,
    case when not (request.settings).uses_chunks then 'and m.chunk_index = 0' end,
    source.more, request.candidates)
  into answer.ids, answer.scores, answer.chunks
  using request.vector, ids, request.model, embedding_type;
  return answer;
end
$$;

comment on function l9_private.score_meaning(l9_private.search_request, text, l9_private.source, uuid[]) is
  'Compares vectors one by one: of these memories, or of all that the conditions leave.';

create function l9_private.find_meaning(request l9_private.search_request, embedding_type text)
returns l9_private.found
language plpgsql
stable
set search_path = pg_catalog, extensions
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 100
-- Past what others may read; the default, 20,000, is too few where a caller sees one in a thousand.
set hnsw.max_scan_tuples = 100000
set hnsw.scan_mem_multiplier = 8
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- As for find_words().
set enable_sort = off
as $$
declare
  few uuid[] := case
    when embedding_type = 'context' and not request.walks_context_vectors then request.context_ids
    when embedding_type = 'content' and not request.walks_vectors then request.ids end;
  condition constant text := case when request.joins_packets then request.on_states else request.on_own end;
  wanted integer := request.candidates;
  source l9_private.source;
  rows integer;
  answer l9_private.found;
begin
  if request.k is null then
    return answer;
  end if;
  if few is not null then
    source.more := case when request.ids is null then condition else request.on_own end;
    return l9_private.score_meaning(request, embedding_type, source, few);
  end if;
  loop
    execute format($sql$
      with nearest as materialized (
        select m.packet_id, m.chunk_index, %1$s operator(extensions.<=>) extensions.subvector($1, 1, %6$s)::%2$s as distance
        from public.memory_embeddings m %7$s
        where m.model = %3$L and m.embedding_type = %8$L %9$s and %4$s
        order by %1$s operator(extensions.<=>) extensions.subvector($1, 1, %6$s)::%2$s
        limit %5$s
      )
      select array_agg(f.packet_id order by f.distance), array_agg((1 - f.distance)::real order by f.distance),
        array_agg(f.chunk_index order by f.distance), (select count(*) from nearest)
      from (select distinct on (n.packet_id) n.* from nearest n order by n.packet_id, n.distance) f$sql$,
      l9_private.embedding_expression(request.dimensions),
      l9_private.embedding_type_name(request.dimensions),
      request.model, condition, wanted, request.dimensions,
      case when request.joins_packets then 'join public.packet_store p on p.packet_id = m.packet_id' end,
      embedding_type,
      case when not (request.settings).uses_chunks then 'and m.chunk_index = 0' end)
    into answer.ids, answer.scores, answer.chunks, rows
    using request.vector;
    -- The nearest rows may all be chunks of a few long memories.
    exit when coalesce(cardinality(answer.ids), 0) >= request.k or rows < wanted or wanted >= 20000;
    wanted := wanted * 5;
  end loop;
  if embedding_type = 'content' and coalesce(cardinality(answer.ids), 0) < request.k then
    -- The walk ended before it met enough of what is visible: that is far from the query, in meaning, or late in coming.
    source.more := condition;
    return l9_private.score_meaning(request, embedding_type, source, null);
  end if;
  return answer;
end
$$;

comment on function l9_private.find_meaning(l9_private.search_request, text) is
  'The leg over vectors of one model, of memories themselves, whole and in chunks (content), or together with their predecessors (context). A memory is found once, by its nearest.';

grant execute on function
  l9_private.score_meaning(l9_private.search_request, text, l9_private.source, uuid[]),
  l9_private.find_meaning(l9_private.search_request, text)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/025-find-meaning.sql
--! Included 050-search/028-find-recent.sql
create function l9_private.find_recent(request l9_private.search_request)
returns l9_private.found
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
as $$
declare
  answer l9_private.found;
begin
  execute format($sql$
    select array_agg(f.packet_id), array_agg(1::real)
    from (
      select p.packet_id from public.packet_store p
      where %s and %s
      order by p."timestamp" desc, p.packet_id desc
      limit %s
    ) f$sql$,
    case when request.ids is null then 'true' else 'p.packet_id = any ($1)' end, request.on_states, request.k)
  into answer.ids, answer.scores
  using request.ids;
  return answer;
end
$$;

comment on function l9_private.find_recent(l9_private.search_request) is 'Without a query: what matches the filters, the newest first.';

grant execute on function l9_private.find_recent(l9_private.search_request) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/028-find-recent.sql
--! Included 050-search/030-memory-stats.sql
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

comment on type public.memory_stats is 'Counts of the memories that the caller may read, and of nothing else.';
comment on column public.memory_stats.by_kind is 'Kind → count.';
comment on column public.memory_stats.by_scope is 'Scope → count.';
comment on column public.memory_stats.by_project is 'Project → count; memories of no project are not in it.';
comment on column public.memory_stats.by_creator is 'Creator → count.';
comment on column public.memory_stats.embedded is 'How many can be found by meaning.';
comment on column public.memory_stats.awaiting_embedding is 'How many can be found by words only, until their vectors land.';

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
  perform l9_private.require_identity();
  with seen as (
    select p.packet_id, p.packet_type, p.scope, p.project_id, p.metadata ->> 'creator' as creator, p."timestamp",
      exists (
        select from public.memory_embeddings e
        where e.packet_id = p.packet_id and e.embedding_type = 'content'
          and e.model = (select l9_private.serving_model())) as is_embedded
    from public.packet_store p
    where (p.ttl is null or p.ttl > now())
      and (get_memory_stats.project_id is null or p.project_id = get_memory_stats.project_id)
  ), counts as (
    select grouping(packet_type) = 0 as is_kind, grouping(scope) = 0 as is_scope, grouping(project_id) = 0 as is_project,
      grouping(creator) = 0 as is_creator,
      coalesce(packet_type, scope, project_id, creator) as name, count(*) as n,
      count(*) filter (where is_embedded) as embedded, min("timestamp") as oldest, max("timestamp") as newest
    from seen
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
  perform l9_private.audit_read(
    'STATS', jsonb_strip_nulls(jsonb_build_object('project_id', get_memory_stats.project_id, 'total', stats.total)),
    project_id => get_memory_stats.project_id);
  return stats;
end
$$;

comment on function public.get_memory_stats(text) is
  'Counts of the memories that the caller may read, of one project or of all. Leaves an audit row.';

grant execute on function public.get_memory_stats(text) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/030-memory-stats.sql
--! Included 050-search/031-weigh.sql
create function l9_private.with_context(content real, context real, weight real)
returns real
language sql
immutable
parallel safe
set search_path = ''
return case
  when context > coalesce(content, 0) then coalesce(content, 0) + weight * (context - coalesce(content, 0))
  else content end;

comment on function l9_private.with_context(real, real, real) is
  'What a memory scores, given what it scores by itself and together with its predecessor: context lifts it towards the better match, and never takes anything away.';

create function l9_private.recency(age interval, half_life_days double precision)
returns real
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.power(
  0.5, least(greatest(extract(epoch from age)::double precision, 0) / (86400 * half_life_days), 100))::real;

comment on function l9_private.recency(interval, double precision) is '1 for now, a half after a half-life, a quarter after two …';

create function l9_private.boost(recency real, importance real, settings public.search_settings)
returns real
language sql
immutable
parallel safe
set search_path = ''
return (1 + settings.recency_boost * recency + settings.importance_boost * importance)
  / (1 + settings.recency_boost + settings.importance_boost);

comment on function l9_private.boost(real, real, public.search_settings) is
  'What a score is multiplied with. Of two memories the one that scored less can come before the other only where it scored more than 1 / (1 + recency_boost + importance_boost) of it: 84 % by default, 83 % at the least.';

grant execute on function
  l9_private.with_context(real, real, real), l9_private.recency(interval, double precision),
  l9_private.boost(real, real, public.search_settings)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/031-weigh.sql
--! Included 050-search/032-fuse.sql
create type l9_private.fused as (hits public.memory_hit[], considered integer);

comment on type l9_private.fused is 'Hits, best first, and among how many they were chosen.';

create function l9_private.fuse(
  request l9_private.search_request, words l9_private.found, context_words l9_private.found,
  meaning l9_private.found, context_meaning l9_private.found)
returns l9_private.fused
language plpgsql
stable
set search_path = pg_catalog, extensions
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- Its plan is the same whatever is asked, and takes four times as long to make as to run.
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_variable
declare
  settings public.search_settings := request.settings;
  compares boolean := request.vector is not null and request.mode <> 'recent';
  has_contexts boolean := request.as_of is null and coalesce(cardinality(request.context_ids), 1) > 0;
  snippet_words tsquery := l9_private.snippet_query(request.query);
  pattern text := l9_private.passage_pattern(request.query);
  answer l9_private.fused;
begin
  with found as (
    select w.packet_id, w.place, w.score as word, null::real as context_word, null::real as near, null::real as context_near, null::integer as chunk
    from unnest(words.ids, words.scores) with ordinality as w (packet_id, score, place)
    union all
    select w.packet_id, w.place, null, w.score, null, null, null
    from unnest(context_words.ids, context_words.scores) with ordinality as w (packet_id, score, place)
    union all
    select n.packet_id, n.place, null, null, n.score, null, n.chunk
    from unnest(meaning.ids, meaning.scores, meaning.chunks) with ordinality as n (packet_id, score, chunk, place)
    union all
    select n.packet_id, n.place, null, null, null, n.score, null
    from unnest(context_meaning.ids, context_meaning.scores) with ordinality as n (packet_id, score, place)
  ), candidates as (
    select f.packet_id, min(f.place) as place, max(f.word) as word, max(f.context_word) as context_word,
      max(f.near) as near, max(f.context_near) as context_near, max(f.chunk) as chunk,
      array_remove(array[
        case when max(f.word) is not null then 'lexical content' end,
        case when max(f.context_word) is not null then 'lexical context' end,
        case when max(f.near) is not null then 'semantic content' end,
        case when max(f.context_near) is not null then 'semantic context' end], null) as found_by
    from found f
    group by f.packet_id
  ), compared as (
    -- What only some legs found is compared in meaning all the same, so that every candidate is scored by the same sum;
    -- but what has twice k before it in each leg was never among the first k: that saves its vectors.
    select c.packet_id, c.word, c.context_word, c.found_by,
      coalesce(c.near, n.near) as near, coalesce(c.context_near, n.context_near) as context_near, coalesce(c.chunk, n.chunk) as chunk
    from candidates c
    left join lateral (
      select max(e.similarity) filter (where e.embedding_type = 'content') as near,
        max(e.similarity) filter (where e.embedding_type = 'context') as context_near,
        (array_agg(e.chunk_index order by e.similarity desc) filter (where e.embedding_type = 'content'))[1] as chunk
      from (
        select e.embedding_type, e.chunk_index, (1 - (e.vector operator(extensions.<=>) request.vector))::real as similarity
        from public.memory_embeddings e
        where compares and (c.near is null or (has_contexts and c.context_near is null))
          and (c.place <= 2 * request.k or request.threshold is not null)
          and e.packet_id = c.packet_id and e.model = request.model
          and (e.embedding_type = 'content' and c.near is null and (e.chunk_index = 0 or settings.uses_chunks)
            or e.embedding_type = 'context' and has_contexts and c.context_near is null)
          and (request.as_of is null or exists (
            select from public.packet_store p where p.packet_id = e.packet_id and p.updated_at <= request.as_of))
      ) e
    ) n on true
  ), scored as (
    select c.*,
      c.word / m.best as lexical_content, c.context_word / m.best as lexical_context,
      l9_private.with_context((c.word / m.best)::real, (c.context_word / m.best)::real, settings.context_weight) as lexical_score,
      -- greatest() alone would make a 0 of what was not compared.
      l9_private.with_context(
        case when c.near is not null then greatest(c.near, 0) end::real,
        case when c.context_near is not null then greatest(c.context_near, 0) end::real, settings.context_weight) as semantic_score
    from compared c
    cross join (select nullif(greatest(max(c.word), max(c.context_word)), 0) as best from candidates c) m
    -- Outside the top-k: inside, with too few hits, a scan would walk its whole index.
    where request.threshold is null or coalesce(c.near, c.context_near) is null
      or 1 - greatest(c.near, c.context_near) <= request.threshold
  ), ranked as (
    select s.*,
      (case request.mode
        when 'recent' then 1
        when 'lexical' then s.lexical_score
        when 'semantic' then s.semantic_score
        else (settings.lexical_weight * coalesce(s.lexical_score, 0) + settings.semantic_weight * coalesce(s.semantic_score, 0))
          / (settings.lexical_weight + settings.semantic_weight)
      end)::real as fused
    from scored s
  ), promising as (
    -- Boosts lift nothing from further below into the first k.
    select r.* from ranked r
    where r.fused > 0
      and r.fused * (1 + settings.recency_boost + settings.importance_boost) * 1.0001 >= coalesce((
        select other.fused from ranked other order by other.fused desc nulls last offset request.k - 1 limit 1), 0)
  ), states as (
    select r.*, p."timestamp", old.packet_id is not null as is_old,
      case when old.packet_id is null then p.packet_type else old.packet_type end as kind,
      case when old.packet_id is null then l9_private.importance_of(p, learned, now()) else old.importance_score end as importance
    from promising r
    join public.packet_store p on p.packet_id = r.packet_id
    left join public.memory_signals learned on learned.packet_id = p.packet_id
    left join public.packet_versions old on request.as_of is not null and p.updated_at > request.as_of
      and old.packet_id = p.packet_id and old.valid_from <= request.as_of and old.valid_until > request.as_of
    where request.as_of is null or p.updated_at <= request.as_of or old.packet_id is not null
  ), boosted as (
    select s.*, b.recency,
      case request.mode when 'recent' then 1 else l9_private.boost(b.recency, s.importance, settings) end as factor
    from states s
    cross join lateral (
      select l9_private.recency(
        coalesce(request.as_of, now()) - s."timestamp",
        coalesce(settings.half_life_days ->> s.kind, settings.half_life_days ->> 'default')::double precision) as recency
    ) b
  ), best as (
    select b.* from boosted b
    order by b.fused * b.factor desc, b."timestamp" desc, b.packet_id desc
    limit request.k
  )
  select
    array_agg(row(
      b.packet_id, null, left(t.content, 8000), length(t.content) > 8000,
      l9_private.snippet(coalesce(chunk.chunk_text, l9_private.passage(t.content, pattern)), snippet_words),
      b.fused * b.factor, case when request.mode <> 'recent' then b.lexical_score end, b.semantic_score, b.chunk,
      t.packet_type, t.scope, t.project_id, t.tags, t.thread_id, t.metadata ->> 'creator', b.importance, b."timestamp",
      case when request.is_explained then jsonb_build_object(
        'found_by', b.found_by,
        'lexical', jsonb_build_object('content', b.lexical_content, 'context', b.lexical_context),
        'semantic', jsonb_build_object('content', b.near, 'context', b.context_near),
        'chunk', jsonb_build_object('index', b.chunk) || coalesce(chunk.metadata, '{}'),
        'weights', jsonb_build_object(
          'lexical', settings.lexical_weight, 'semantic', settings.semantic_weight, 'context', settings.context_weight),
        'fused', b.fused,
        'boosts', jsonb_build_object('recency', b.recency, 'importance', b.importance, 'factor', b.factor)) end
    )::public.memory_hit order by b.fused * b.factor desc, b."timestamp" desc, b.packet_id desc),
    (select count(*)::integer from scored)
  into answer.hits, answer.considered
  from best b
  cross join lateral (
    select p.envelope ->> 'content' as content, p.packet_type, p.scope, p.project_id, p.tags, p.thread_id, p.metadata
    from public.packet_store p where not b.is_old and p.packet_id = b.packet_id
    union all
    select v.envelope ->> 'content', v.packet_type, v.scope, v.project_id, v.tags, v.thread_id, v.metadata
    from public.packet_versions v
    where b.is_old and v.packet_id = b.packet_id and v.valid_from <= request.as_of and v.valid_until > request.as_of
  ) t
  left join public.memory_embeddings chunk on b.chunk > 0 and chunk.packet_id = b.packet_id
    and chunk.model = request.model and chunk.embedding_type = 'content' and chunk.chunk_index = b.chunk;
  answer.hits := coalesce(answer.hits, '{}');
  return answer;
end
$$;

comment on function l9_private.fuse(
  l9_private.search_request, l9_private.found, l9_private.found, l9_private.found, l9_private.found) is
  'The k best of what the legs found: words as parts of the best hit''s, meaning as cosine similarity, each lifted by context; their weighted sum; and then the boosts.';

grant execute on function l9_private.fuse(
  l9_private.search_request, l9_private.found, l9_private.found, l9_private.found, l9_private.found)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/032-fuse.sql
--! Included 050-search/034-fit-hits.sql
create function l9_private.token_estimate(text text)
returns integer
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.ceil(pg_catalog.octet_length(text) / 3.0)::integer;

comment on function l9_private.token_estimate(text) is
  'How many tokens a text takes at most, as models count them in prose, code and most scripts: a third of its bytes.';

create function l9_private.fit_hits(hits public.memory_hit[], max_tokens integer, out fitted public.memory_hit[], out cut jsonb)
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  -- What a hit takes besides its text: ids, scores, tags, their names.
  frame constant integer := 150;
  preview_length constant integer := 240;
  hit public.memory_hit;
  used integer := 0;
  whole integer;
  previews integer := 0;
begin
  fitted := '{}';
  if max_tokens is null then
    fitted := hits;
    return;
  end if;
  -- First each as a preview, best first, as many as fit; then, best first, the whole where there is room left.
  foreach hit in array hits loop
    used := used + frame + l9_private.token_estimate(hit.snippet)
      + least(l9_private.token_estimate(hit.content), l9_private.token_estimate(left(hit.content, preview_length)));
    exit when used > max_tokens;
    fitted := fitted || hit;
  end loop;
  used := 0;
  foreach hit in array fitted loop
    used := used + frame + l9_private.token_estimate(hit.snippet) + l9_private.token_estimate(left(hit.content, preview_length));
  end loop;
  for place in 1 .. cardinality(fitted) loop
    hit := fitted[place];
    whole := l9_private.token_estimate(hit.content) - l9_private.token_estimate(left(hit.content, preview_length));
    if used + whole <= max_tokens then
      used := used + whole;
    else
      hit.content := left(hit.content, preview_length);
      hit.is_truncated := true;
      fitted[place] := hit;
      previews := previews + 1;
    end if;
  end loop;
  cut := jsonb_build_object(
    'max_tokens', max_tokens, 'tokens', used, 'previews', previews, 'left_out', cardinality(hits) - cardinality(fitted));
end
$$;

comment on function l9_private.fit_hits(public.memory_hit[], integer) is
  'Trims hits to about so many tokens: contents become previews, the last ones first, and what has no room even so is left out. Says what was cut; null where no limit was given.';

grant execute on function l9_private.token_estimate(text), l9_private.fit_hits(public.memory_hit[], integer)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/034-fit-hits.sql
--! Included 050-search/036-check-search.sql
create function l9_private.check_search(
  query text, k integer, mode text, tags_match text, since timestamptz, until timestamptz, threshold real,
  packet_id uuid, as_of timestamptz, max_tokens integer, filters jsonb)
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if query is not null and query !~ '\S' then
    perform l9_private.fail('L9VAL', 'query: must not be blank', 'query');
  elsif octet_length(query) > 32768 then
    perform l9_private.fail('L9LIM', format('query: at most 32768 bytes, got %s', octet_length(query)), 'query');
  elsif query is not null and packet_id is not null then
    perform l9_private.fail('L9VAL', 'packet_id: instead of a query, not beside one', 'packet_id');
  elsif k is null or k not between 1 and 100 then
    perform l9_private.fail('L9VAL', 'k: from 1 to 100', 'k');
  elsif mode is null or mode not in ('hybrid', 'lexical', 'semantic') then
    perform l9_private.fail('L9VAL', 'mode: hybrid, lexical or semantic', 'mode');
  elsif tags_match is null or tags_match not in ('any', 'all') then
    perform l9_private.fail('L9VAL', 'tags_match: any or all', 'tags_match');
  elsif not coalesce(threshold between 0 and 2, true) then
    perform l9_private.fail('L9VAL', 'threshold: a cosine distance, from 0 to 2', 'threshold');
  elsif since > until then
    perform l9_private.fail('L9VAL', 'since: must not be after until', 'since');
  elsif max_tokens not between 500 and 1000000 then
    perform l9_private.fail('L9VAL', 'max_tokens: from 500 to 1000000', 'max_tokens');
  elsif as_of > clock_timestamp() then
    perform l9_private.fail('L9VAL', 'as_of: must not be in the future', 'as_of');
  elsif octet_length(filters::text) > 16384 then
    perform l9_private.fail('L9LIM', 'scopes, kinds, tags and other filters: at most 16384 bytes together', 'filters');
  elsif query is null and packet_id is null and not filters ?| array['since', 'until', 'tags', 'kinds', 'thread_id', 'creator'] then
    perform l9_private.fail(
      'L9VAL', 'query: give a query, the packet_id of a memory to find others like it, or a filter such as since, until or tags', 'query');
  end if;
end
$$;

comment on function l9_private.check_search(
  text, integer, text, text, timestamptz, timestamptz, real, uuid, timestamptz, integer, jsonb) is
  'L9VAL or L9LIM, naming the field, for what a search can''t be asked.';

grant execute on function l9_private.check_search(
  text, integer, text, text, timestamptz, timestamptz, real, uuid, timestamptz, integer, jsonb)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/036-check-search.sql
--! Included 050-search/038-more-like-this.sql
create function l9_private.more_like_this(request l9_private.search_request, packet_id uuid)
returns l9_private.search_request
language plpgsql
stable
set search_path = ''
as $$
declare
  content text;
begin
  select p.envelope ->> 'content' into content from public.packet_store p where p.packet_id = more_like_this.packet_id;
  if not found then
    perform l9_private.fail_not_yours(more_like_this.packet_id);
  end if;
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

comment on function l9_private.more_like_this(l9_private.search_request, uuid) is
  'A search for the 25 words that a memory has most often, and for its vector. L9OWN where it is not there or not visible.';

grant execute on function l9_private.more_like_this(l9_private.search_request, uuid) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/038-more-like-this.sql
--! Included 050-search/040-search-memory.sql
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
  started timestamptz := clock_timestamp();
  me l9_private.identity := l9_private.require_identity();
  searched_scopes text[];
  run_mode text := mode;
  notices text[] := '{}';
  filters jsonb;
  on_packet text;
  request l9_private.search_request;
  words l9_private.found;
  versions l9_private.found;
  context_words l9_private.found;
  meaning l9_private.found;
  context_meaning l9_private.found;
  fused l9_private.fused;
  fitted record;
  result public.search_result;
begin
  filters := jsonb_strip_nulls(jsonb_build_object(
    'scopes', to_jsonb(scopes), 'project_id', project_id, 'kinds', to_jsonb(kinds), 'tags', to_jsonb(tags),
    'tags_match', case when tags is not null then tags_match end, 'since', since, 'until', until,
    'thread_id', thread_id, 'creator', creator));
  perform l9_private.check_search(query, k, mode, tags_match, since, until, threshold, packet_id, as_of, max_tokens, filters);

  -- A scope that is not the caller's and one that does not exist are both simply not searched.
  searched_scopes := array(
    select s.name from unnest(me.readable_scopes) as s (name)
    where scopes is null or s.name = any (scopes) order by s.name);

  request.query := query;
  request.vector := query_vector;
  request.model := model;
  if packet_id is not null then
    request := l9_private.more_like_this(request, packet_id);
  elsif query is null then
    run_mode := 'recent';
  end if;
  if run_mode in ('hybrid', 'semantic') then
    -- Vectors of the model that serves, and of no other: those of one that arrives or leaves are not all there.
    select m.dimensions into request.dimensions
    from public.embedding_models m where m.model = request.model and m.state = 'serving';
    if request.vector is null or request.dimensions is null then
      if mode = 'semantic' then
        perform l9_private.fail('L9VAL', case
          when packet_id is null then 'mode: semantic needs the vector of the query, and the embedder is not available; try lexical'
          else 'mode: semantic needs the vector of the memory, which has none yet; try lexical' end, 'mode');
      end if;
      run_mode := 'lexical';
      notices := notices || case
        when packet_id is not null then 'The memory has no vector yet: searched by words only.'
        when request.vector is null then 'The embedder is not available: searched by words only.'
        else 'The vector of the query is of a model that does not serve: searched by words only.' end;
    elsif extensions.vector_dims(request.vector) <> 1536 then
      perform l9_private.fail('L9VAL', 'query_vector: 1536 dimensions', 'query_vector');
    end if;
  end if;

  request.k := k;
  request.mode := run_mode;
  request.vector := case when run_mode in ('hybrid', 'semantic') then request.vector end;
  request.threshold := threshold;
  request.as_of := as_of;
  request.is_explained := explain;
  request.settings := l9_private.current_search_settings();
  -- More than 100 never changed the first ten; 50 cost .002 of nDCG@10 and .004 of recall@10.
  request.candidates := least(greatest(5 * k, 100), 300);
  on_packet := l9_private.packet_conditions('p', kinds, tags, tags_match, since, until, thread_id, creator, packet_id);
  request.joins_packets := on_packet is not null or as_of is not null;
  request.on_own := l9_private.own_conditions('m', scopes, project_id);
  request.on_packets := concat_ws(' and ', l9_private.own_conditions('p', scopes, project_id), on_packet,
    case when as_of is not null then format('p.updated_at <= %L', as_of) end);
  request.on_states := request.on_packets;
  if as_of is not null then
    request.on_versions := concat_ws(' and ', '(p.ttl is null or p.ttl > now())',
      replace(l9_private.own_conditions('v', scopes, project_id), '(v.ttl is null or v.ttl > now())', 'true'),
      l9_private.packet_conditions('v', kinds, tags, tags_match, since, until, thread_id, creator, packet_id));
    request.on_states := format($sql$(%s or p.updated_at > %4$L and exists (
      select from public.packet_versions v
      where v.packet_id = p.packet_id and v.valid_from <= %4$L and v.valid_until > %4$L
        and (%3$L = 'recent' or v.envelope ->> 'content' = p.envelope ->> 'content') and %2$s))$sql$,
      request.on_packets, request.on_versions, run_mode, as_of);
    notices := notices || 'As of that time: what a memory said then and no more is found by words, not by meaning; what was deleted since is not found.'::text;
  end if;
  request.ranges := concat_ws(' and ',
    case when thread_id is not null and as_of is null then format('p.thread_id = %L', thread_id) end,
    case when since is not null then format('p."timestamp" >= %L', since) end,
    case when until is not null then format('p."timestamp" < %L', until) end,
    case when as_of is not null then format('p."timestamp" <= %L', as_of) end);
  request := l9_private.narrow_search(request, me, searched_scopes, project_id);

  if run_mode = 'recent' then
    words := l9_private.find_recent(request);
  end if;
  if run_mode in ('hybrid', 'lexical') and request.query is not null then
    words := l9_private.find_words(request);
    if as_of is not null then
      versions := l9_private.find_version_words(request);
      words.ids := words.ids || versions.ids;
      words.scores := words.scores || versions.scores;
    elsif (request.settings).context_weight > 0 and request.context_ids is distinct from '{}' then
      context_words := l9_private.find_context_words(request);
    end if;
  end if;
  if run_mode in ('hybrid', 'semantic') then
    meaning := l9_private.find_meaning(request, 'content');
    if as_of is null and (request.settings).context_weight > 0 and request.context_ids is distinct from '{}' then
      context_meaning := l9_private.find_meaning(request, 'context');
    end if;
  end if;
  fused := l9_private.fuse(request, words, context_words, meaning, context_meaning);
  fitted := l9_private.fit_hits(fused.hits, max_tokens);

  result.hits := fitted.fitted;
  result.searched := jsonb_build_object(
    'mode', run_mode, 'requested_mode', mode, 'scopes', searched_scopes, 'projects', me.projects, 'filters', filters,
    'like', packet_id, 'as_of', as_of, 'k', k, 'threshold', threshold, 'candidates', coalesce(fused.considered, 0),
    'cut', fitted.cut, 'notice', nullif(array_to_string(notices, ' '), ''),
    'vectors', case
      when run_mode in ('hybrid', 'semantic') then 'used'
      when mode = 'lexical' or run_mode = 'recent' then 'not asked for'
      else 'unavailable' end);

  -- All that a search leaves behind is written here.
  result.hits := l9_private.log_hits(result.hits, l9_private.audit_read('SEARCH', jsonb_build_object(
    'query_sha256', encode(sha256(convert_to(query, 'UTF8')), 'hex'), 'mode', run_mode, 'requested_mode', mode,
    'k', k, 'threshold', threshold, 'filters', filters, 'scopes', searched_scopes,
    'ids', to_jsonb(array(select h.packet_id from unnest(result.hits) as h)),
    'duration_ms', round(extract(epoch from clock_timestamp() - started) * 1000, 2))
    || jsonb_strip_nulls(jsonb_build_object('like', packet_id, 'as_of', as_of)),
    project_id => search_memory.project_id,
    scope => case when cardinality(scopes) = 1 then scopes[1] end,
    query => search_memory.query));
  return result;
end
$$;

comment on function public.search_memory(
  text, integer, text, text[], text, text[], text[], text, timestamptz, timestamptz, text, text, real, extensions.vector, text,
  uuid, timestamptz, boolean, integer) is
  'Finds memories by words (BM25), by meaning (query_vector, of the model named) or by both (hybrid), best first, among those the caller may read; each also together with the one before it in its thread. Without a query: others like packet_id, or the newest that match the filters. k: 1 to 100. project_id: that project''s and those of no project. tags_match: any or all. since, until: saved from, and before. as_of: as memories were at that time, as far as the caller may see both memory and version. threshold: hits further in meaning than this cosine distance (0 to 2) are left out. explain: how each hit scored. max_tokens: trims the hits to about that many. Without a vector a hybrid search is a lexical one, and says so. Leaves an audit row. Errors: L9VAL, L9LIM, L9OWN, L9AUT.';

grant execute on function public.search_memory(
  text, integer, text, text[], text, text[], text[], text, timestamptz, timestamptz, text, text, real, extensions.vector, text,
  uuid, timestamptz, boolean, integer)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/040-search-memory.sql
--! Included 055-duplicates/010-compare-words.sql
create function l9_private.distinct_words(content text)
returns text[]
language sql
stable
parallel safe
strict
set search_path = ''
-- A "word" of two thousand letters is left out without a word.
set client_min_messages = warning
return case
  when pg_catalog.length(content) <= 65536 and content !~ '[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]' then
    pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.simple', content))
  else array(
    -- In pieces, since a text of 1 MiB may have more words than fit into one tsvector. Scripts that write no spaces are taken
    -- sign by sign.
    select distinct w.lexeme
    from pg_catalog.generate_series(1, pg_catalog.length(content), 65536) as piece (start)
    cross join lateral pg_catalog.unnest(pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.simple',
      pg_catalog.regexp_replace(pg_catalog.substr(content, piece.start, 65536),
        '([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])', '\1 ', 'g')))) as w (lexeme))
end;

comment on function l9_private.distinct_words(text) is 'The words of a text, in lower case, each once; of scripts without spaces, its signs.';

create function l9_private.compare_words(one text, other text, out similarity real, out are_told_apart boolean)
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
      -- What was left of "don't".
      bool_or(w.word in ('not', 'no', 'never', 'none', 'nor', 'without', 'cannot', 't')) as is_negation,
      bool_or(
        w.word ~ '[0-9]'
        or stem.stems <> '{}' and (
          position(upper(left(w.word, 1)) || substr(w.word, 2) in case w.place when 1 then one else other end) > 0
          or length(w.word) > 1 and position(upper(w.word) in case w.place when 1 then one else other end) > 0)
          and lower(w.word) <> upper(w.word)) as is_name_or_number
    from (
      select 1 as place, a.word from unnest(l9_private.distinct_words(one)) as a (word)
      union all
      select 2, b.word from unnest(l9_private.distinct_words(other)) as b (word)
    ) w
    cross join lateral (select ts_lexize('pg_catalog.english_stem', w.word) as stems) stem
    group by 1
  ), weighed as (
    select is_shared, is_negation or is_name_or_number as is_telling,
      -- A word that one of them lacks counts by how much it may change what is said.
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
    coalesce(bool_or(is_telling) filter (where not is_shared), false)
  from weighed;
end;

comment on function l9_private.compare_words(text, text) is
  'How much of their words two texts share, from 0 to 1 (weighted Jaccard, of English stems; order does not count), and whether a number, a name (by its capitals) or a negation that only one of them has tells them apart.';

grant execute on function l9_private.distinct_words(text), l9_private.compare_words(text, text)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 055-duplicates/010-compare-words.sql
--! Included 055-duplicates/020-find-similar.sql
create function l9_private.similarity_threshold()
returns real
language sql
immutable
parallel safe
set search_path = ''
return 0.75;

comment on function l9_private.similarity_threshold() is
  'From which similarity on two memories say nearly the same. Judged pairs: docs/duplicates.md.';

create function l9_private.find_similar(
  content text, scope text, project_id text, kind text, org_id uuid, user_id uuid, except_id uuid default null,
  content_vector extensions.vector default null, model text default null)
returns table (packet_id uuid, similarity real, content_hash bytea)
language plpgsql
stable
-- pg_textsearch looks up a function of its own by an unqualified name when it plans.
set search_path = pg_catalog, extensions
-- What says nearly the same is among the nearest of all, whoever may see those: so no iteration, and a bounded cost.
set hnsw.iterative_scan = 'off'
set hnsw.ef_search = 100
set max_parallel_workers_per_gather = 0
set enable_sort = off
as $$
#variable_conflict use_variable
declare
  small_place constant integer := 50;
  candidates_each constant integer := 10;
  tenant_id uuid := l9_private.current_tenant_id();
  -- Long words are the rare ones, so these are enough to find it by.
  long_words text[] := array(
    select t.word from unnest(l9_private.distinct_words(left(content, 65536))) as t (word)
    order by length(t.word) desc, t.word limit 12);
  long_stems text[] := array(
    select coalesce(nullif((ts_lexize('pg_catalog.english_stem', t.word))[1], ''), t.word) from unnest(long_words) as t (word));
  dimensions integer;
  candidates uuid[];
  near uuid[];
  in_place integer;
  -- $1 to $7, in each of the statements.
  project text := 'p.tenant_id = $1 and p.scope = $2 and '
    || case when project_id is null then '$3 is null and p.project_id is null' else 'p.project_id = $3' end;
  place text := 'p.packet_type = $4 and p.org_id is not distinct from $5 and p.user_id is not distinct from $6'
    || ' and p.packet_id is distinct from $7 and (p.ttl is null or p.ttl > now())';
begin
  -- Where there are few, all of them are compared: next to nothing to find is what an index walks longest for.
  execute format($sql$
    select count(*), array_agg(f.packet_id) filter (where f.is_in_place)
    from (select p.packet_id, %s as is_in_place from public.packet_store p where %s limit %s) f$sql$,
    place, project, small_place + 1)
  into in_place, candidates
  using tenant_id, scope, project_id, kind, org_id, user_id, except_id;

  if in_place > small_place then
    -- As in search_memory: a statement of its own, two spellings.
    execute format($sql$
      select array_agg(f.packet_id)
      from (
        select p.packet_id,
          (p.envelope ->> 'content') <@> to_bm25query($8, 'public.' || 'packet_store_content_bm25') as distance
        from public.packet_store p
        where %s and %s
        order by (p.envelope ->> 'content') <@> to_bm25query($8, 'public.packet_store_content_bm25')
        limit %s
      ) f
      where f.distance < 0$sql$, project, place, candidates_each)
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
          where e.model = %3$L and e.embedding_type = 'content' and %7$s and %4$s
          order by %1$s operator(extensions.<=>) extensions.subvector($8, 1, %6$s)::%2$s
          limit %5$s
        ) f$sql$,
        l9_private.embedding_expression(dimensions), l9_private.embedding_type_name(dimensions), model, place,
        candidates_each, dimensions, project)
      into near
      using tenant_id, scope, project_id, kind, org_id, user_id, except_id, content_vector;
    end if;
  end if;

  candidates := candidates || near;
  if candidates is null then
    return;
  end if;
  return query
  with compared as materialized (
    select p.packet_id, p.content_hash,
      case
        -- Where both agree on numbers, names and negations, being near in meaning lifts it a quarter of the way to the cosine.
        -- More would make `writes to` and `reads from` the same: their cosine is .97.
        when not w.are_told_apart then greatest(w.similarity, (3 * w.similarity + (
          select (1 - (e.vector operator(extensions.<=>) content_vector))::real
          from public.memory_embeddings e
          where e.packet_id = p.packet_id and e.model = find_similar.model and e.embedding_type = 'content'
            and e.chunk_index = 0 and vector_dims(content_vector) = 1536)) / 4)
        else w.similarity
      end as similarity
    from public.packet_store p
    cross join lateral (
      select c.* from l9_private.compare_words(content, p.envelope ->> 'content') c
      -- What lacks half of the long words is not worth comparing word by word.
      where (
        select 2 * count(*) filter (where position(s.stem in lowered.text) > 0) >= count(*)
        from (select lower(p.envelope ->> 'content') as text offset 0) lowered, unnest(long_stems) as s (stem))
      offset 0
    ) w
    where p.packet_id = any (candidates)
  )
  select c.packet_id, least(c.similarity, 1)::real, c.content_hash
  from compared c
  where c.similarity >= l9_private.similarity_threshold()
  order by c.similarity desc, c.packet_id
  limit candidates_each;
end
$$;

comment on function l9_private.find_similar(text, text, text, text, uuid, uuid, uuid, extensions.vector, text) is
  'Memories of one owner, scope, project and kind that say nearly the same as a text, among those the caller may read, most similar first. By words, and where a vector of the text is given, by meaning.';

create function l9_private.similar_to_memory(packet_id uuid, content_vector extensions.vector default null, model text default null)
returns public.similar_memory[]
language sql
stable
set search_path = ''
return coalesce((
  select pg_catalog.array_agg(row(s.packet_id, s.similarity)::public.similar_memory order by s.similarity desc, s.packet_id)
  from public.packet_store p
  cross join lateral l9_private.find_similar(
    p.envelope ->> 'content', p.scope, p.project_id, p.packet_type, p.org_id, p.user_id, p.packet_id,
    content_vector, model) s
  where p.packet_id = similar_to_memory.packet_id), '{}');

comment on function l9_private.similar_to_memory(uuid, extensions.vector, text) is
  'As find_similar, for a memory that is saved: what the gateway reports after a save that keeps both.';

grant execute on function
  l9_private.similarity_threshold(),
  l9_private.find_similar(text, text, text, text, uuid, uuid, uuid, extensions.vector, text),
  l9_private.similar_to_memory(uuid, extensions.vector, text)
to l9_agent, l9_admin;
--! EndIncluded 055-duplicates/020-find-similar.sql
--! Included 055-duplicates/030-merge-into.sql
create function l9_private.merge_into(
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
  -- Of texts of one length the newer stays: it may be the one that is right.
  new_content text := case
    when l9_private.content_hash(content) <> target.content_hash and length(content) >= length(old_content) then content
    else old_content
  end;
  joined_tags text[] := target.tags || array(
    select btrim(t.tag) from unnest(tags) as t (tag) where btrim(t.tag) <> '' and btrim(t.tag) <> all (target.tags));
  joined_parents uuid[] := target.parent_ids || array(
    select distinct p.id from unnest(parent_ids) as p (id) where p.id <> all (target.parent_ids) and p.id <> target.packet_id);
  joined_envelope jsonb := coalesce(envelope, '{}') || target.envelope || jsonb_build_object('content', new_content);
  joined_metadata jsonb := coalesce(metadata, '{}') || target.metadata;
  -- What is said again is kept as long, and counts as much, as either saver meant it to.
  joined_ttl timestamptz := greatest(coalesce(target.ttl, 'infinity'), coalesce(ttl, 'infinity'));
  joined_importance real := greatest(target.importance_score, importance);
begin
  if joined_ttl = 'infinity' then
    joined_ttl := null;
  end if;
  if (joined_tags, joined_parents, joined_envelope, joined_metadata, joined_importance)
      = (target.tags, target.parent_ids, target.envelope, target.metadata, target.importance_score)
    and joined_ttl is not distinct from target.ttl then
    answer.status := 'skipped_dedupe';
    answer.memory := target;
    return answer;
  end if;
  begin
    update public.packet_store p set
      envelope = joined_envelope, tags = joined_tags, parent_ids = joined_parents, ttl = joined_ttl,
      importance_score = joined_importance, metadata = joined_metadata
    where p.packet_id = target.packet_id
    returning p.* into saved;
    answer.status := 'updated';
    answer.memory := saved;
  exception
    -- Too many tags together, a parent that is younger than the memory, a text that a third memory has: the two stay two.
    when sqlstate 'L9LIM' or sqlstate 'L9VAL' or unique_violation then
      answer := null;
  end;
  return answer;
end
$$;

comment on function l9_private.merge_into(public.packet_store, text, text[], uuid[], timestamptz, real, jsonb, jsonb) is
  'Joins what is saved into a memory that says nearly the same, as its writer''s update: the longer text, all tags and parents. updated; skipped_dedupe where nothing is new; null where they can''t be joined.';

grant execute on function
  l9_private.merge_into(public.packet_store, text, text[], uuid[], timestamptz, real, jsonb, jsonb)
to l9_agent, l9_admin;
--! EndIncluded 055-duplicates/030-merge-into.sql
--! Included 055-duplicates/040-settle-similar.sql
create function l9_private.settle_similar(
  on_similar text, content text, scope text, project_id text, kind text, tags text[], parent_ids uuid[], ttl timestamptz,
  importance real, metadata jsonb, envelope jsonb, content_vector extensions.vector, model text)
returns public.save_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_variable
declare
  me l9_private.identity := l9_private.require_identity();
  answer public.save_result;
  joined public.save_result;
  candidate record;
  target public.packet_store;
begin
  if on_similar not in ('keep', 'skip', 'merge') then
    perform l9_private.fail('L9VAL', 'on_similar: keep, skip or merge', 'on_similar');
  elsif content is null or content !~ '\S' or octet_length(content) > 1048576 then
    return null; -- The insert says what is wrong with it.
  end if;
  scope := coalesce(scope, 'developer');
  kind := coalesce(kind, 'note');
  perform l9_private.check_scope(scope, project_id);

  if on_similar <> 'keep' then
    -- Until the end of the transaction. The statements that follow see what those committed who had it before.
    perform pg_advisory_xact_lock(hashtextextended(
      concat_ws(e'\n', 'save_memory', me.tenant_id, coalesce(me.org_id::text, ''), coalesce(me.user_id::text, ''), scope,
        coalesce(project_id, ''), kind), 0));
  end if;

  answer."similar" := '{}';
  for candidate in
    select s.* from l9_private.find_similar(
      content, scope, project_id, kind, me.org_id, me.user_id, null, content_vector, model) s
    order by s.similarity desc, s.packet_id
  loop
    answer."similar" := answer."similar" || row(candidate.packet_id, candidate.similarity)::public.similar_memory;
    continue when on_similar = 'keep' or answer.status is not null;
    if on_similar = 'skip' then
      select p.* into target from public.packet_store p where p.packet_id = candidate.packet_id;
    else
      -- Under row-level security FOR UPDATE finds only rows the caller may change: another's memory stays as it is.
      select p.* into target from public.packet_store p where p.packet_id = candidate.packet_id for update;
    end if;
    -- Deleted, or changed to say something else, a moment ago.
    continue when not found or target.content_hash <> candidate.content_hash;
    if on_similar = 'skip' then
      answer.status := 'skipped_dedupe';
      answer.memory := target;
    else
      joined := l9_private.merge_into(target, content, tags, parent_ids, ttl, importance, metadata, envelope);
      answer.status := joined.status;
      answer.memory := joined.memory;
    end if;
  end loop;
  return answer;
end
$$;

comment on function l9_private.settle_similar(
  text, text, text, text, text, text[], uuid[], timestamptz, real, jsonb, jsonb, extensions.vector, text) is
  'What save_memory does about memories that say nearly the same: reports them, and where it is to skip or merge and can, answers with a status. Without a status the memory is to be inserted.';

grant execute on function l9_private.settle_similar(
  text, text, text, text, text, text[], uuid[], timestamptz, real, jsonb, jsonb, extensions.vector, text)
to l9_agent, l9_admin;
--! EndIncluded 055-duplicates/040-settle-similar.sql
--! Included 060-importance/010-memory-access-log.sql
-- The log proper. What has to be erasable (texts of queries, feedback) is elsewhere; the view of the same name in public
-- (040) has it all together.
create table l9_private.memory_access_log (
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
  -- No foreign key to what was accessed: the log outlives it.
  constraint access_target_known check (target_type in ('memory')),
  constraint access_context_known check (access_context in ('search', 'get')),
  -- So that a row is found by its id alone, in the one partition that can hold it.
  constraint access_time_is_of_id check (accessed_at = uuid_extract_timestamp(access_id))
) partition by range (accessed_at);

create index memory_access_log_xid_idx on l9_private.memory_access_log (xid);

comment on table l9_private.memory_access_log is
  'Which agent saw which memory, and when: written by searches and get_memory. Append-only; ids and numbers, no texts. A partition a month.';
comment on column l9_private.memory_access_log.access_id is 'What record_feedback takes. UUID version 7.';
comment on column l9_private.memory_access_log.accessed_at is 'When, to the millisecond: the time in access_id.';
comment on column l9_private.memory_access_log.xid is 'The transaction that wrote it: rows are rolled up in this order, once nothing before them is still in flight.';
comment on column l9_private.memory_access_log.target_type is 'What was accessed: memory.';
comment on column l9_private.memory_access_log.target_id is 'Its id.';
comment on column l9_private.memory_access_log.agent_id is 'The caller.';
comment on column l9_private.memory_access_log.access_context is 'search: it was among the hits; get: it was read whole.';
comment on column l9_private.memory_access_log.relevance_score is 'The score of the hit, from 0 to 1.';
comment on column l9_private.memory_access_log.audit_id is 'The search in audit_log, and the text of its query where that is kept.';
comment on column l9_private.memory_access_log.tenant_id is 'Tenant of the caller.';
comment on column l9_private.memory_access_log.org_id is 'The org the caller acted for.';
comment on column l9_private.memory_access_log.user_id is 'The user the caller acted for.';
comment on column l9_private.memory_access_log.project_id is 'The project that the memory was in.';
comment on column l9_private.memory_access_log.scope is 'The scope that the memory was in.';
comment on column l9_private.memory_access_log.is_admin is 'Whether the caller was an administrator, whom orgs and users don''t bind.';

alter table l9_private.memory_access_log enable row level security;
alter table l9_private.memory_access_log force row level security;

create policy tenant_isolation on l9_private.memory_access_log as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy org_isolation on l9_private.memory_access_log as restrictive to l9_agent
  using (org_id is not distinct from (select l9_private.current_org_id()));
create policy user_visibility on l9_private.memory_access_log as restrictive to l9_agent
  using (user_id is not distinct from (select l9_private.current_user_id()));
create policy scope_access on l9_private.memory_access_log for select to l9_agent
  using (
    agent_id = (select l9_private.current_caller())
    and scope = any ((select l9_private.current_scopes())::text[])
    and (project_id is null or '*' = any ((select l9_private.current_projects())::text[])
      or project_id = any ((select l9_private.current_projects())::text[])));
create policy admin_override on l9_private.memory_access_log for select to l9_admin
  using (
    scope = any ((select l9_private.current_scopes())::text[])
    and (project_id is null or '*' = any ((select l9_private.current_projects())::text[])
      or project_id = any ((select l9_private.current_projects())::text[])));
create policy platform_override on l9_private.memory_access_log for select to l9_platform_admin
  using ((select l9_private.platform_look('memory_access_log')));
create policy worker_access on l9_private.memory_access_log for select to l9_worker using (true);
create policy definer_inserts on l9_private.memory_access_log for insert to l9_owner with check (true);
create policy definer_functions on l9_private.memory_access_log for select to l9_owner using (true);

comment on policy tenant_isolation on l9_private.memory_access_log is 'Nothing crosses tenants.';
comment on policy org_isolation on l9_private.memory_access_log is 'What an agent did for one org is not shown to it while it acts for another, or for none.';
comment on policy user_visibility on l9_private.memory_access_log is 'What an agent did for one user is not shown to it while it acts for another, or for none.';
comment on policy scope_access on l9_private.memory_access_log is 'Agents see their own accesses, within their claims: never who else read what.';
comment on policy admin_override on l9_private.memory_access_log is 'L, in its tenant, within its claims.';
comment on policy platform_override on l9_private.memory_access_log is 'Operators read across tenants, each look on the record.';
comment on policy worker_access on l9_private.memory_access_log is 'The job that rolls it up reads it.';
comment on policy definer_inserts on l9_private.memory_access_log is 'log_accesses() inserts.';
comment on policy definer_functions on l9_private.memory_access_log is 'Audit triggers of feedback, and drop_access_partition(), read it.';

grant select on l9_private.memory_access_log to l9_agent, l9_admin, l9_platform_admin, l9_worker;
-- No insert for anyone: log_accesses() stamps who it was. No update or delete for anyone, its owner included.

create function l9_private.tg_memory_access_log__append_only()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform l9_private.fail('L9IMM', 'memory_access_log is append-only');
  return null;
end
$$;

comment on function l9_private.tg_memory_access_log__append_only() is
  'Refuses every UPDATE, DELETE and TRUNCATE. Not the guard of audit_log, which lets nobody drop a partition: this log is for learning, the record is audit_log.';

create trigger _100_append_only
  before update or delete or truncate on l9_private.memory_access_log
  for each statement execute function l9_private.tg_memory_access_log__append_only();
alter table l9_private.memory_access_log enable always trigger _100_append_only;

-- Only now, so that they are guarded like it from the first moment.
select l9_private.create_month_partitions('l9_private.memory_access_log', now()::date, 14);
--! EndIncluded 060-importance/010-memory-access-log.sql
--! Included 060-importance/020-log-accesses.sql
create function l9_private.log_accesses(
  access_context text,
  target_ids uuid[],
  scopes text[],
  project_ids text[],
  relevance_scores real[] default null,
  audit_id uuid default null
)
returns uuid[]
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.require_identity();
  access_ids uuid[];
begin
  if cardinality(target_ids) > 100 or cardinality(scopes) <> cardinality(target_ids) then
    perform l9_private.fail('L9LIM', 'target_ids: at most 100, each with its scope', 'target_ids');
  end if;
  access_ids := array(select uuidv7() from unnest(target_ids));
  insert into l9_private.memory_access_log (
    access_id, accessed_at, target_id, agent_id, access_context, relevance_score, audit_id,
    tenant_id, org_id, user_id, project_id, scope, is_admin)
  select a.access_id, uuid_extract_timestamp(a.access_id), a.target_id, me.caller, log_accesses.access_context, a.score,
    log_accesses.audit_id, me.tenant_id, me.org_id, me.user_id, a.project_id, a.scope, me.role = 'l9_admin'
  from unnest(access_ids, target_ids, log_accesses.scopes, project_ids, relevance_scores) as a (access_id, target_id, scope, project_id, score)
  where a.scope = any (me.readable_scopes)
    and (a.project_id is null or '*' = any (me.projects) or a.project_id = any (me.projects));
  return access_ids;
end
$$;

comment on function l9_private.log_accesses(text, uuid[], text[], text[], real[], uuid) is
  'Writes what the present caller was shown to the access log, in one statement, and returns the access ids in the same order. Where an operator looks into another tenant nothing is written: that is no use of a memory. Definer: callers can''t insert there. What a caller could make up through it is about itself, within its own scopes, and is counted only where it is true of the memory (roll_up_accesses).';

create function l9_private.log_hits(hits public.memory_hit[], audit_id uuid)
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
    select l9_private.log_accesses('search', array_agg(h.packet_id), array_agg(h.scope), array_agg(h.project_id), array_agg(h.score),
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

comment on function l9_private.log_hits(public.memory_hit[], uuid) is
  'Writes the hits of a search to the access log, and returns them, each with its access_id.';

grant execute on function
  l9_private.log_accesses(text, uuid[], text[], text[], real[], uuid), l9_private.log_hits(public.memory_hit[], uuid)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 060-importance/020-log-accesses.sql
--! Included 060-importance/030-memory-feedback.sql
create table public.memory_feedback (
  -- One vote for one access: a second opinion takes the place of the first.
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
  constraint feedback_reason_at_most_1000_bytes check (octet_length(reason) <= 1000)
);

create index memory_feedback_packet_idx on public.memory_feedback (packet_id);
create index memory_feedback_xid_idx on public.memory_feedback (xid);
create index memory_feedback_user_idx on public.memory_feedback (tenant_id, user_id) where user_id is not null;

-- What is erased must not stay in the planner's statistics.
alter table public.memory_feedback alter column reason set statistics 0;

comment on table public.memory_feedback is
  'Whether a memory was of use to the agent that it was shown to: one row for an access at most. Beside the access log, not in it, so that the log is never changed, and what was said can be erased.';
comment on column public.memory_feedback.access_id is 'The access, in memory_access_log.';
comment on column public.memory_feedback.packet_id is 'The memory: what was said about it goes with it.';
comment on column public.memory_feedback.agent_id is 'The caller that made the access.';
comment on column public.memory_feedback.was_useful is 'Whether it helped.';
comment on column public.memory_feedback.reason is 'Why, in the words of the caller: 1000 bytes at most.';
comment on column public.memory_feedback.given_at is 'When it was last said.';
comment on column public.memory_feedback.xid is 'The transaction that said it last: votes are rolled up in this order.';
comment on column public.memory_feedback.tenant_id is 'Tenant of the memory, and of the caller.';
comment on column public.memory_feedback.org_id is 'The org the caller acted for.';
comment on column public.memory_feedback.user_id is 'The user the caller acted for.';

alter table public.memory_feedback enable row level security;
alter table public.memory_feedback force row level security;

create policy tenant_isolation on public.memory_feedback as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy org_isolation on public.memory_feedback as restrictive to l9_agent
  using (org_id is not distinct from (select l9_private.current_org_id()));
create policy user_visibility on public.memory_feedback as restrictive to l9_agent
  using (user_id is not distinct from (select l9_private.current_user_id()));
-- Under the caller's own policies: of a memory that is not there for it, it can say nothing, nor see what it said.
create policy packet_visibility on public.memory_feedback as restrictive to l9_agent, l9_admin, l9_platform_admin
  using (exists (
    select from public.packet_store p where p.packet_id = memory_feedback.packet_id and p.tenant_id = memory_feedback.tenant_id));
create policy own_access on public.memory_feedback as restrictive for insert to l9_agent, l9_admin
  with check (
    agent_id = (select l9_private.current_caller())
    and exists (
      select from l9_private.memory_access_log a
      where a.access_id = memory_feedback.access_id and a.accessed_at = uuid_extract_timestamp(memory_feedback.access_id)
        and a.target_id = memory_feedback.packet_id and a.tenant_id = memory_feedback.tenant_id
        and a.agent_id = memory_feedback.agent_id
        and a.org_id is not distinct from memory_feedback.org_id and a.user_id is not distinct from memory_feedback.user_id));
create policy own_feedback on public.memory_feedback as restrictive for update to l9_agent, l9_admin
  using (
    agent_id = (select l9_private.current_caller())
    and org_id is not distinct from (select l9_private.current_org_id())
    and user_id is not distinct from (select l9_private.current_user_id()));
create policy scope_access on public.memory_feedback to l9_agent
  using (agent_id = (select l9_private.current_caller()));
create policy admin_override on public.memory_feedback to l9_admin using (true);
create policy platform_override on public.memory_feedback for select to l9_platform_admin
  using ((select l9_private.platform_look('memory_feedback')));
create policy worker_access on public.memory_feedback for select to l9_worker using (true);

comment on policy tenant_isolation on public.memory_feedback is 'Nothing crosses tenants.';
comment on policy org_isolation on public.memory_feedback is 'What an agent said for one org is not shown to it while it acts for another, or for none.';
comment on policy user_visibility on public.memory_feedback is 'What an agent said for one user is not shown to it while it acts for another, or for none.';
comment on policy packet_visibility on public.memory_feedback is 'About memories that the caller may read at present, and no others.';
comment on policy own_access on public.memory_feedback is 'Only about an access that the caller made itself, for the same org and user.';
comment on policy own_feedback on public.memory_feedback is 'Only what the caller said itself can it take back.';
comment on policy scope_access on public.memory_feedback is 'Agents see what they said themselves.';
comment on policy admin_override on public.memory_feedback is 'L sees what its tenant''s agents said about memories that it may read.';
comment on policy platform_override on public.memory_feedback is 'Operators read across tenants, each look on the record.';
comment on policy worker_access on public.memory_feedback is 'The job that rolls it up reads it.';

grant select on public.memory_feedback to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (access_id, packet_id, was_useful, reason) on public.memory_feedback to l9_agent, l9_admin;
grant update (was_useful, reason) on public.memory_feedback to l9_agent, l9_admin;
-- Whose it is and when is stamped. No delete: what was said goes with its memory, or is erased.

create function l9_private.tg_memory_feedback__stamp()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.require_identity();
begin
  if octet_length(new.reason) > 1000 then
    perform l9_private.fail('L9LIM', format('reason: at most 1000 bytes, got %s', octet_length(new.reason)), 'reason');
  end if;
  new.agent_id := me.caller;
  new.tenant_id := me.tenant_id;
  new.org_id := me.org_id;
  new.user_id := me.user_id;
  new.given_at := clock_timestamp();
  new.xid := pg_current_xact_id();
  return new;
end
$$;

comment on function l9_private.tg_memory_feedback__stamp() is 'Says who gives the feedback, and when: what the client sent for that never counts.';

create trigger _300_stamp before insert or update on public.memory_feedback
  for each row execute function l9_private.tg_memory_feedback__stamp();

create function l9_private.tg_memory_feedback__audit()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
  select tg_op, tg_table_name, n.access_id, n.tenant_id, a.project_id, a.scope,
    jsonb_build_object('packet_id', n.packet_id, 'was_useful', n.was_useful) || l9_private.audit_actor()
  from new_rows n
  join l9_private.memory_access_log a on a.access_id = n.access_id and a.accessed_at = uuid_extract_timestamp(n.access_id);
  return null;
end
$$;

comment on function l9_private.tg_memory_feedback__audit() is
  'One audit row for each vote, without its reason. Definer: callers can''t insert into audit_log.';

create trigger _500_audit_insert after insert on public.memory_feedback
  referencing new table as new_rows
  for each statement execute function l9_private.tg_memory_feedback__audit();
create trigger _500_audit_update after update on public.memory_feedback
  referencing new table as new_rows
  for each statement execute function l9_private.tg_memory_feedback__audit();
--! EndIncluded 060-importance/030-memory-feedback.sql
--! Included 060-importance/040-access-log-view.sql
create function l9_private.query_text_of(audit_id uuid)
returns text
language sql
stable
security definer
set search_path = ''
return (
  select q.query
  from public.audit_query_texts q
  left join l9_private.current_identity() as me on true
  where q.audit_id = query_text_of.audit_id
    and (me.role = 'l9_platform_admin' or pg_catalog.current_setting('is_superuser') = 'on'
      or me.role = 'l9_admin' and q.tenant_id = me.tenant_id and (q.scope is null or q.scope = any (me.readable_scopes))));

comment on function l9_private.query_text_of(uuid) is
  'The text of a search that is kept, to whoever may read it in audit_query_texts; null to agents. Definer: agents are granted nothing there, and a view that joined it would be closed to them.';

grant execute on function l9_private.query_text_of(uuid) to l9_agent, l9_admin, l9_platform_admin;

create view public.memory_access_log
with (security_invoker = true)
as
select
  a.access_id, a.target_type, a.target_id, a.agent_id, a.access_context,
  case when a.audit_id is not null then l9_private.query_text_of(a.audit_id) end as query_text, a.relevance_score,
  f.was_useful, f.reason as feedback_reason, a.accessed_at, a.tenant_id, a.org_id, a.user_id, a.project_id, a.scope
from l9_private.memory_access_log a
left join public.memory_feedback f on f.access_id = a.access_id;

comment on view public.memory_access_log is
  'Which agent saw which memory, when, for which query, and whether it helped. Agents see their own accesses, admins those of their tenant. The table behind it, of the same name in l9_private, only grows.';
comment on column public.memory_access_log.access_id is 'What record_feedback takes. UUID version 7.';
comment on column public.memory_access_log.target_type is 'What was accessed: memory.';
comment on column public.memory_access_log.target_id is 'Its id. It may be gone by now.';
comment on column public.memory_access_log.agent_id is 'The caller.';
comment on column public.memory_access_log.access_context is 'search: it was among the hits; get: it was read whole.';
comment on column public.memory_access_log.query_text is
  'What was searched for, to admins, where the tenant keeps that (set_query_text_audit) and it was not erased.';
comment on column public.memory_access_log.relevance_score is 'The score of the hit, from 0 to 1; null where it was no search.';
comment on column public.memory_access_log.was_useful is 'Whether the agent said that it helped; null where it said nothing.';
comment on column public.memory_access_log.feedback_reason is 'Why, in its words.';
comment on column public.memory_access_log.accessed_at is 'When, to the millisecond.';
comment on column public.memory_access_log.tenant_id is 'Tenant of the caller.';
comment on column public.memory_access_log.org_id is 'The org the caller acted for.';
comment on column public.memory_access_log.user_id is 'The user the caller acted for.';
comment on column public.memory_access_log.project_id is 'The project that the memory was in.';
comment on column public.memory_access_log.scope is 'The scope that the memory was in.';

grant select on public.memory_access_log to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 060-importance/040-access-log-view.sql
--! Included 060-importance/050-record-feedback.sql
create function public.record_feedback(access_id uuid, was_useful boolean, reason text default null)
returns public.memory_feedback
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me l9_private.identity := l9_private.require_identity();
  accessed uuid;
  vote public.memory_feedback;
begin
  if access_id is null then
    perform l9_private.fail('L9VAL', 'access_id: the access that it is about', 'access_id');
  elsif was_useful is null then
    perform l9_private.fail('L9VAL', 'was_useful: true or false', 'was_useful');
  end if;
  select p.packet_id into accessed
  from l9_private.memory_access_log a
  join public.packet_store p on p.packet_id = a.target_id and p.tenant_id = a.tenant_id
  where a.access_id = record_feedback.access_id and a.accessed_at = uuid_extract_timestamp(record_feedback.access_id)
    and a.tenant_id = me.tenant_id and a.agent_id = me.caller
    and a.org_id is not distinct from me.org_id and a.user_id is not distinct from me.user_id;
  if not found then
    perform l9_private.fail('L9OWN', format('access %s is not there, or not yours', record_feedback.access_id), 'access_id');
  end if;
  insert into public.memory_feedback as f (access_id, packet_id, was_useful, reason)
  values (record_feedback.access_id, accessed, record_feedback.was_useful, nullif(btrim(record_feedback.reason), ''))
  on conflict (access_id) do update set was_useful = excluded.was_useful, reason = excluded.reason
  returning f.* into vote;
  return vote;
exception when foreign_key_violation then
  -- Deleted at this very moment.
  perform l9_private.fail('L9OWN', format('access %s is not there, or not yours', record_feedback.access_id), 'access_id');
end
$$;

comment on function public.record_feedback(uuid, boolean, text) is
  'Says whether a memory that the caller was shown was of use, and why (1000 bytes at most). access_id: of the hit. Said again, the last word counts. Audited. L9OWN where the access is not there, is not the caller''s, or its memory can''t be read any more: the three are never told apart. Errors: L9OWN, L9VAL, L9LIM, L9AUT.';

grant execute on function public.record_feedback(uuid, boolean, text) to l9_agent, l9_admin;
-- Not for operators: what helps in a tenant is for those to say who work in it.
--! EndIncluded 060-importance/050-record-feedback.sql
--! Included 060-importance/060-importance.sql
-- These have no search_path set: so that they are inlined where they are called for many rows (a tenth of a millisecond each
-- otherwise). Their bodies were parsed when they were made, so none could matter. Each argument stands there once, but for
-- plain columns: an expression would not be inlined twice.

create function l9_private.kind_weight(kind text)
returns double precision
language sql
immutable
parallel safe
return case
  when kind in ('decision', 'runbook', 'ddl') then 0.3
  when kind in ('todo', 'pr_context', 'change') then -0.3
  else 0
end::double precision;

comment on function l9_private.kind_weight(text) is
  'What the kind of a memory adds to its importance, in log-odds: decisions, runbooks and DDL stay of use; todos, changes and the context of a pull request wear out.';

create function l9_private.importance(
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
  -- The writer's own estimate, as log-odds: where nothing else is known, the score is the estimate (.5 exactly, 0 and 1 nearly).
  ln((estimate + 0.02) / (1 - estimate + 0.02))
  + l9_private.kind_weight(kind)
  -- What agents said, each of whom weighs less than 1 in sum. The + 1 is doubt: one agent moves it half way at most.
  + 3.0 * (useful - useless) / (useful + useless + 1)
  -- Use, with diminishing returns.
  + 1.0 * (1 - 5 / (uses + 5))
  - 1.5 * (1 - 1 / (contradictions + 1))
  -- Age takes a little: half of it in 180 days.
  - 0.5 * (1 - power(2, -least(age_days / 180, 200)))
)));

comment on function l9_private.importance(
  double precision, text, double precision, double precision, double precision, double precision, double precision) is
  'How much a memory matters, above 0 and below 1: rises with the writer''s estimate (0 to 1), useful feedback and use; falls with useless feedback, contradictions and age. useful, useless: sums over agents, each below 1 (opinion). uses: decayed to now. The weights are those of docs/importance.md. Pure.';

create function l9_private.opinion(votes_for bigint, votes_against bigint)
returns double precision
language sql
immutable
parallel safe
return greatest(votes_for - votes_against, 0)::double precision / (votes_for + votes_against + 1);

comment on function l9_private.opinion(bigint, bigint) is
  'How far one agent is for something, from 0 to below 1, by its votes: .5 after one, .95 after twenty. However often it votes, it stays one agent.';

create function l9_private.decayed(amount double precision, since timestamptz, until timestamptz)
returns double precision
language sql
immutable
parallel safe
return coalesce(
  -- Up to a point, beyond which a double would run out of digits.
  amount * power(2::double precision, -least(greatest(extract(epoch from until - since)::double precision / (30 * 86400), 0), 200)),
  0);

comment on function l9_private.decayed(double precision, timestamptz, timestamptz) is 'What is left of an amount after a time: half in 30 days; nothing of what never was.';

grant execute on function
  l9_private.kind_weight(text),
  l9_private.importance(
    double precision, text, double precision, double precision, double precision, double precision, double precision),
  l9_private.opinion(bigint, bigint), l9_private.decayed(double precision, timestamptz, timestamptz)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 060-importance/060-importance.sql
--! Included 060-importance/070-memory-signals.sql
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
  -- Every row of a page may change in one go, and each then fits beside its former self. No index but the key: each of these
  -- updates is HOT.
  fillfactor = 45
);

comment on table public.memory_signals is
  'What is known of how memories are used: one narrow row for each that ever was, kept by a job. What a memory is worth is not stored but made of this, of what its writer thought and of its age, by importance().';
comment on column public.memory_signals.packet_id is 'The memory.';
comment on column public.memory_signals.tenant_id is 'As of the memory.';
comment on column public.memory_signals.last_accessed is 'When it was last found or read.';
comment on column public.memory_signals.access_count is 'How often it was found or read.';
comment on column public.memory_signals.use_weight is
  'Its use as of last_accessed, each halved in 30 days: 1 for having been read whole, 0.1 for having been among the hits.';
comment on column public.memory_signals.useful is 'How far agents found it useful: the sum of what each thinks, each below 1.';
comment on column public.memory_signals.useless is 'How far agents found it useless: the sum of what each thinks, each below 1.';
comment on column public.memory_signals.contradiction_count is 'How many facts from other memories contradict it.';

alter table public.memory_signals enable row level security;
alter table public.memory_signals force row level security;

create policy tenant_isolation on public.memory_signals as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy scope_access on public.memory_signals for select to l9_agent, l9_admin
  using (exists (select from public.packet_store p where p.packet_id = memory_signals.packet_id));
create policy platform_override on public.memory_signals for select to l9_platform_admin
  using ((select l9_private.platform_look('memory_signals')));
create policy worker_access on public.memory_signals to l9_worker using (true);

comment on policy tenant_isolation on public.memory_signals is 'Nothing crosses tenants.';
comment on policy scope_access on public.memory_signals is 'Of memories that the caller may read: under its own policies, so that it follows them wherever they move.';
comment on policy platform_override on public.memory_signals is 'Operators read across tenants, each look on the record.';
comment on policy worker_access on public.memory_signals is 'The job that rolls up the access log keeps them.';

grant select on public.memory_signals to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, tenant_id, last_accessed, access_count, use_weight, useful, useless, contradiction_count)
  on public.memory_signals to l9_worker;
grant update (last_accessed, access_count, use_weight, useful, useless, contradiction_count) on public.memory_signals to l9_worker;
grant maintain on public.memory_signals to l9_worker;
-- Callers write none: what matters is not for one of them to say.

create function l9_private.importance_of(memory public.packet_store, signals public.memory_signals, at timestamptz)
returns real
language sql
immutable
parallel safe
return l9_private.importance(
  (memory).importance_score,
  (memory).packet_type,
  coalesce((signals).useful, 0),
  coalesce((signals).useless, 0),
  -- What a memory brought along from another store counts as so many hits.
  l9_private.decayed(coalesce((signals).use_weight, 0), (signals).last_accessed, at)
    + l9_private.decayed(0.1 * (memory).access_count, (memory).last_accessed, at),
  (memory).contradiction_count + coalesce((signals).contradiction_count, 0),
  greatest(extract(epoch from at - (memory)."timestamp")::double precision / 86400, 0))::real;

comment on function l9_private.importance_of(public.packet_store, public.memory_signals, timestamptz) is
  'importance() of a memory at a time, by what is known of its use; null signals: it was never used. Pure.';

grant execute on function l9_private.importance_of(public.packet_store, public.memory_signals, timestamptz)
  to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create function public.packet_store_importance_score(memory public.packet_store)
returns real
language sql
stable
parallel safe
set search_path = ''
return l9_private.importance_of(
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
  'How much it matters, from 0 to 1: learned from the writer''s estimate, its kind, feedback, use, contradictions and age.';
comment on function public.packet_store_access_count(public.packet_store) is 'How often it was found or read, up to the last roll-up of the access log.';
comment on function public.packet_store_last_accessed(public.packet_store) is 'When it was last found or read.';
comment on function public.packet_store_contradiction_count(public.packet_store) is 'How many facts from other memories contradict it.';

grant execute on function
  public.packet_store_importance_score(public.packet_store), public.packet_store_access_count(public.packet_store),
  public.packet_store_last_accessed(public.packet_store), public.packet_store_contradiction_count(public.packet_store)
to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 060-importance/070-memory-signals.sql
--! Included 060-importance/080-roll-up.sql
create table l9_private.access_roll_up (
  is_only boolean primary key default true check (is_only),
  to_xid xid8 not null default '0',
  era_after timestamptz not null default '-infinity',
  newest_at timestamptz not null default '-infinity',
  rolled_up_at timestamptz
);

comment on table l9_private.access_roll_up is 'How far the access log and feedback have been rolled up: one row.';
comment on column l9_private.access_roll_up.is_only is 'There is one row.';
comment on column l9_private.access_roll_up.to_xid is 'All that transactions before this one wrote is in memory_signals.';
comment on column l9_private.access_roll_up.era_after is
  'Accesses up to this time were written in another cluster, from which this database was restored, and are all rolled up.';
comment on column l9_private.access_roll_up.newest_at is 'The newest access that is rolled up.';
comment on column l9_private.access_roll_up.rolled_up_at is 'When something was last rolled up.';

alter table l9_private.access_roll_up enable row level security;
alter table l9_private.access_roll_up force row level security;
create policy worker_access on l9_private.access_roll_up to l9_worker using (true);
create policy definer_functions on l9_private.access_roll_up to l9_owner using (true);
comment on policy worker_access on l9_private.access_roll_up is 'The job goes on from there.';
comment on policy definer_functions on l9_private.access_roll_up is 'drop_access_partition() drops only what is rolled up.';
grant select, update (to_xid, era_after, newest_at, rolled_up_at) on l9_private.access_roll_up to l9_worker;

insert into l9_private.access_roll_up default values;

create function l9_private.roll_up_accesses_between(from_xid xid8, to_xid xid8, era_after timestamptz)
returns void
language sql
volatile
set search_path = ''
begin atomic
  with accesses as (
    select a.target_id as packet_id, a.accessed_at, case a.access_context when 'get' then 1 else 0.1 end as weight,
      max(a.accessed_at) over (partition by a.target_id) as last_accessed
    from l9_private.memory_access_log a
    -- Only where it is true of the memory that the caller could read it: what is in the log a caller said of itself.
    join public.packet_store p on p.packet_id = a.target_id and p.tenant_id = a.tenant_id and p.scope = a.scope
      and p.project_id is not distinct from a.project_id
      and (a.is_admin or (p.org_id is null or p.org_id = a.org_id) and (p.user_id is null or p.user_id = a.user_id))
    where a.xid >= roll_up_accesses_between.from_xid and a.xid < roll_up_accesses_between.to_xid
      and a.accessed_at > roll_up_accesses_between.era_after
  ), accessed as (
    select a.packet_id, a.last_accessed, count(*) as times,
      sum(l9_private.decayed(a.weight, a.accessed_at, a.last_accessed)) as use_weight
    from accesses a
    group by a.packet_id, a.last_accessed
  ), changed as (
    select a.packet_id from accessed a
    union
    select f.packet_id from public.memory_feedback f
    where f.xid >= roll_up_accesses_between.from_xid and f.xid < roll_up_accesses_between.to_xid
  ), kept as materialized (
    -- In order, so that it waits for whoever deletes one, and deadlocks with nobody.
    select p.packet_id, p.tenant_id
    from public.packet_store p
    where p.packet_id in (select c.packet_id from changed c)
    order by p.packet_id
    for key share
  ), opinions as (
    -- All that was ever said of it: the last word of each access, so that it may be counted again without harm.
    select f.packet_id, f.agent_id, count(*) filter (where f.was_useful) as votes_for,
      count(*) filter (where not f.was_useful) as votes_against
    from public.memory_feedback f
    where f.packet_id in (select k.packet_id from kept k)
    group by f.packet_id, f.agent_id
  ), judged as (
    select o.packet_id, sum(l9_private.opinion(o.votes_for, o.votes_against)) as useful,
      sum(l9_private.opinion(o.votes_against, o.votes_for)) as useless
    from opinions o
    group by o.packet_id
  )
  insert into public.memory_signals as s (packet_id, tenant_id, last_accessed, access_count, use_weight, useful, useless)
  select k.packet_id, k.tenant_id, a.last_accessed, coalesce(a.times, 0), coalesce(a.use_weight, 0),
    coalesce(j.useful, 0), coalesce(j.useless, 0)
  from kept k
  left join accessed a on a.packet_id = k.packet_id
  left join judged j on j.packet_id = k.packet_id
  order by k.packet_id
  on conflict (packet_id) do update set
    access_count = s.access_count + excluded.access_count,
    last_accessed = greatest(s.last_accessed, excluded.last_accessed),
    use_weight =
      l9_private.decayed(s.use_weight, s.last_accessed, greatest(s.last_accessed, excluded.last_accessed))
      + l9_private.decayed(excluded.use_weight, excluded.last_accessed, greatest(s.last_accessed, excluded.last_accessed)),
    useful = excluded.useful,
    useless = excluded.useless;
end;

comment on function l9_private.roll_up_accesses_between(xid8, xid8, timestamptz) is
  'Adds accesses of these transactions, later than era_after, to memory_signals, and counts all votes on memories that they voted on. Not executable by callers: roll_up_accesses() knows from where to where.';

create function l9_private.roll_up_accesses(max_rows integer default 10000)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
  last_xid constant xid8 := '18446744073709551615';
  done l9_private.access_roll_up;
  horizon xid8;
  until xid8;
  first_xid xid8;
  counted bigint;
begin
  if max_rows is null or max_rows not between 1 and 100000 then
    perform l9_private.fail('L9VAL', 'max_rows: from 1 to 100000', 'max_rows');
  end if;
  -- One at a time. Whoever had to wait sees how far the other came: each statement takes a snapshot of its own.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory access roll-up', 0));
  select * into strict done from l9_private.access_roll_up;
  -- Every transaction before the oldest that still runs has ended: no row of theirs can appear any more.
  horizon := pg_snapshot_xmin(pg_current_snapshot());
  if done.to_xid > pg_snapshot_xmax(pg_current_snapshot()) then
    -- Up to a transaction that is yet to come: this database was restored from a dump into another cluster. What came
    -- with it and was not rolled up comes first; then its rows, whose transactions mean nothing here, are left behind.
    if not exists (
        select from l9_private.memory_access_log a where a.xid >= done.to_xid and a.accessed_at > done.era_after)
      and not exists (select from public.memory_feedback f where f.xid >= done.to_xid) then
      update l9_private.access_roll_up set to_xid = '0', era_after = newest_at;
      return 0;
    end if;
    horizon := last_xid;
  end if;

  -- At most so many rows, but a transaction is never split: it is taken whole, even where it alone is more.
  select min(n.xid), (array_agg(n.xid order by n.xid))[max_rows + 1], count(*) into first_xid, until, counted
  from (
    (select a.xid from l9_private.memory_access_log a
     where a.xid >= done.to_xid and a.xid < horizon and a.accessed_at > done.era_after order by a.xid limit max_rows + 1)
    union all
    (select f.xid from public.memory_feedback f
     where f.xid >= done.to_xid and f.xid < horizon order by f.xid limit max_rows + 1)
  ) n;
  if counted = 0 then
    return 0;
  end if;
  until := case when until is null then horizon when until > first_xid then until else ((first_xid::text::numeric + 1)::text)::xid8 end;
  perform l9_private.roll_up_accesses_between(done.to_xid, until, done.era_after);
  update l9_private.access_roll_up
  set to_xid = until, rolled_up_at = clock_timestamp(), newest_at = greatest(newest_at, (
    select max(a.accessed_at) from l9_private.memory_access_log a
    where a.xid >= done.to_xid and a.xid < until and a.accessed_at > done.era_after));
  return least(counted, max_rows);
end
$$;

comment on function l9_private.roll_up_accesses(integer) is
  'Counts accesses and feedback that have committed into memory_signals, each exactly once, whole transactions in order, about max_rows rows at most; returns about how many, 0: nothing left. Counters and how far it came commit together, so that it may be broken off, run twice, or at the same time. Nothing in flight is ever skipped.';

create function l9_private.are_accesses_waiting()
returns boolean
language sql
stable
set search_path = ''
begin atomic
  select exists (
      select from l9_private.memory_access_log a
      where a.xid >= r.to_xid and a.xid < pg_snapshot_xmin(pg_current_snapshot()) and a.accessed_at > r.era_after)
    or exists (
      select from public.memory_feedback f
      where f.xid >= r.to_xid and f.xid < pg_snapshot_xmin(pg_current_snapshot()))
    or r.to_xid > pg_snapshot_xmax(pg_current_snapshot())
  from l9_private.access_roll_up r;
end;

comment on function l9_private.are_accesses_waiting() is 'Whether there may be something to roll up: cheap, for a job that asks often.';

create function l9_private.access_backlog()
returns table (waiting bigint, oldest_seconds double precision, rolled_up_at timestamptz)
language sql
stable
set search_path = ''
begin atomic
  with done as (select r.to_xid, r.era_after, r.rolled_up_at from l9_private.access_roll_up r)
  select count(*), coalesce(extract(epoch from clock_timestamp() - min(w.at)), 0)::double precision,
    (select d.rolled_up_at from done d)
  from (
    (select a.accessed_at as at from l9_private.memory_access_log a
     where a.xid >= (select d.to_xid from done d) and a.accessed_at > (select d.era_after from done d) limit 100000)
    union all
    (select f.given_at from public.memory_feedback f where f.xid >= (select d.to_xid from done d) limit 100000)
  ) w;
end;

comment on function l9_private.access_backlog() is
  'How many accesses and votes are not rolled up yet (100,000 of each at most are counted), the age of the oldest in seconds, and when something was last rolled up.';

create function l9_private.add_contradictions(packet_id uuid, times integer)
returns void
language sql
volatile
set search_path = ''
begin atomic
  insert into public.memory_signals as s (packet_id, tenant_id, contradiction_count)
  select p.packet_id, p.tenant_id, greatest(add_contradictions.times, 0)
  from public.packet_store p
  where p.packet_id = add_contradictions.packet_id
  on conflict (packet_id) do update
    set contradiction_count = greatest(s.contradiction_count + add_contradictions.times, 0);
end;

comment on function l9_private.add_contradictions(uuid, integer) is
  'Counts facts that contradict a memory, or (negative) that do no more. For jobs.';

grant execute on function
  l9_private.roll_up_accesses_between(xid8, xid8, timestamptz), l9_private.roll_up_accesses(integer),
  l9_private.are_accesses_waiting(), l9_private.access_backlog(), l9_private.add_contradictions(uuid, integer)
to l9_worker;
--! EndIncluded 060-importance/080-roll-up.sql
--! Included 060-importance/090-drop-access-partition.sql
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
  partition text := 'memory_access_log' || to_char(date_trunc('month', month), '"_"YYYY"_"MM');
  done l9_private.access_roll_up;
  dropped bigint;
  is_rolled_up boolean;
begin
  if l9_private.current_role_name() = 'l9_platform_admin' then
    perform l9_private.require_identity();
  end if;
  if month is null or not exists (
    select from pg_catalog.pg_inherits i
    where i.inhparent = 'l9_private.memory_access_log'::regclass and i.inhrelid = to_regclass(format('l9_private.%I', partition))) then
    perform l9_private.fail('L9VAL', 'month: not one that the access log has a partition for', 'month');
  elsif date_trunc('month', month::timestamptz) + interval '1 month' > now() then
    perform l9_private.fail('L9VAL', 'month: it is not over yet', 'month');
  end if;
  execute format('lock table only l9_private.%I in access exclusive mode', partition);
  select * into strict done from l9_private.access_roll_up;
  select count(*), coalesce(bool_and(a.xid < done.to_xid or a.accessed_at <= done.era_after), true) into dropped, is_rolled_up
  from l9_private.memory_access_log a
  where a.accessed_at >= date_trunc('month', month::timestamptz)
    and a.accessed_at < date_trunc('month', month::timestamptz) + interval '1 month';
  if not is_rolled_up then
    perform l9_private.fail('L9VAL', 'month: not all of its rows are rolled up yet; try again in a minute', 'month');
  end if;
  execute format('drop table l9_private.%I', partition);
  perform l9_private.write_audit('CLEANUP', 'memory_access_log', details => jsonb_build_object(
    'dropped', format('l9_private.%I', partition), 'rows', dropped));
  return dropped;
end
$$;

comment on function public.drop_access_partition(date) is
  'Drops a month of the access log that is over and rolled up, and returns how many rows it held. What was learned of them stays in memory_signals, feedback in memory_feedback. Audited. Definer: only the owner of a table drops partitions.';

grant execute on function public.drop_access_partition(date) to l9_platform_admin;
--! EndIncluded 060-importance/090-drop-access-partition.sql
--! Included 080-access/010-access-matrix.sql
create view public.access_matrix
with (security_invoker = true)
as
with policies as (
  -- What PostgreSQL itself goes by. Which rule a policy states is told by the claims it asks for.
  select
    r.role, p.polpermissive as is_permissive,
    case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end as command,
    coalesce(pg_catalog.pg_get_expr(p.polqual, p.polrelid), '') as qual,
    coalesce(pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid), pg_catalog.pg_get_expr(p.polqual, p.polrelid), '') as new_qual
  from pg_catalog.pg_policy p
  cross join (values ('l9_agent'), ('l9_admin'), ('l9_platform_admin')) as r (role)
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
  from (values ('l9_agent'), ('l9_admin'), ('l9_platform_admin')) as r (role)
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
  'Who may do what in which scope: actors and scopes as they are registered, under the grants and policies that packet_store has now. A token can do less, never more. An admin sees its tenant, an agent its own rows, operators all.';
comment on column public.access_matrix.tenant_id is 'The tenant.';
comment on column public.access_matrix.caller is 'The actor.';
comment on column public.access_matrix.role is 'Its database role.';
comment on column public.access_matrix.scope is 'The scope.';
comment on column public.access_matrix.is_project_scoped is 'Whether memories of this scope belong to a project; the token says to which.';
comment on column public.access_matrix.may_read is 'Whether it finds and reads memories there.';
comment on column public.access_matrix.may_write is 'Whether it saves memories there.';
comment on column public.access_matrix.may_change is 'What it may update and delete there: any, own (what carries its creator) or none.';
comment on column public.access_matrix.may_clean_up is 'Whether it may delete what has expired there.';

grant select on public.access_matrix to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 080-access/010-access-matrix.sql
--! Included 080-access/020-explain-access.sql
create type public.policy_verdict as (
  policy text,
  is_permissive boolean,
  admits boolean,
  expression text,
  description text
);
comment on type public.policy_verdict is 'What one policy of packet_store says of a memory.';
comment on column public.policy_verdict.policy is 'Its name.';
comment on column public.policy_verdict.is_permissive is 'True: one such policy must admit. False: each such policy must.';
comment on column public.policy_verdict.admits is 'Its verdict.';
comment on column public.policy_verdict.expression is 'The rule, with the caller''s claims filled in.';
comment on column public.policy_verdict.description is 'What it is for.';

create type public.access_explanation as (
  packet_id uuid,
  tenant_id uuid,
  caller text,
  role text,
  is_visible boolean,
  decided_by text,
  policies public.policy_verdict[]
);
comment on type public.access_explanation is 'Whether a caller sees a memory, and why.';
comment on column public.access_explanation.packet_id is 'The memory.';
comment on column public.access_explanation.tenant_id is 'The tenant of the caller.';
comment on column public.access_explanation.caller is 'The caller.';
comment on column public.access_explanation.role is 'Its database role.';
comment on column public.access_explanation.is_visible is 'Whether it sees the memory.';
comment on column public.access_explanation.decided_by is
  'The policy that decided: of those that refuse the first restrictive one, else the permissive one. identity: it is nobody, being inactive or with claims that do not fit. grant: its role may read no memory.';
comment on column public.access_explanation.policies is 'The verdict of each policy for its role.';

create function l9_private.expired_memory(packet_id uuid)
returns public.packet_store
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.require_admin();
  memory public.packet_store;
begin
  select p.* into memory from public.packet_store p
  where p.packet_id = expired_memory.packet_id
    and p.ttl <= now()
    and (me.role = 'l9_platform_admin'
      or p.tenant_id = me.tenant_id
        and p.scope = any (me.readable_scopes)
        and (p.project_id is null or '*' = any (me.projects) or p.project_id = any (me.projects)));
  -- Whose it was, not what it said: that is gone for everyone.
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

comment on function l9_private.expired_memory(uuid) is
  'Whose a memory was that has expired and waits for cleanup, without what it said, to an admin that could read it before. Definer: expired memories are hidden from everyone.';

create function l9_private.claims_filled_in(expression text, me l9_private.identity)
returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  answer text := expression;
  claim record;
begin
  for claim in
    select * from (values
      ('current_tenant_id', format('%L::uuid', (me).tenant_id)),
      ('current_org_id', format('%L::uuid', (me).org_id)),
      ('current_user_id', format('%L::uuid', (me).user_id)),
      ('current_caller', format('%L::text', (me).caller)),
      ('current_creator', format('%L::text', (me).creator)),
      ('current_scopes', format('%L::text[]', coalesce((me).readable_scopes, '{}'))),
      ('current_writable_scopes', format('%L::text[]', coalesce((me).writable_scopes, '{}'))),
      ('current_projects', format('%L::text[]', coalesce((me).projects, '{}')))) as c (name, literal)
  loop
    -- In the replacement a backslash is special.
    answer := regexp_replace(answer, format('\( SELECT l9_private\.%s\(\) AS %1$s\)', claim.name),
      replace(format('(%s)', claim.literal), '\', '\\'), 'g');
  end loop;
  -- Asked for a reason, not by them: it is no look of theirs.
  answer := regexp_replace(answer, '\( SELECT l9_private\.platform_look\([^()]*\) AS platform_look\)',
    coalesce(((me).role = 'l9_platform_admin')::text, 'false'), 'g');
  if answer ~ 'l9_private\.' then
    raise exception using errcode = '0A000', message = 'explain_access: a policy asks for what it does not know';
  end if;
  return answer;
end
$$;

comment on function l9_private.claims_filled_in(text, l9_private.identity) is
  'The expression of a policy with what it asks of the session, (select l9_private.current_…()), replaced by what it would be for this identity.';

create function l9_private.role_of_actor(tenant_id uuid, caller text)
returns text
language sql
stable
security definer
set search_path = ''
return (
  select a.role from public.actors a, l9_private.require_admin() as me
  where a.tenant_id = role_of_actor.tenant_id and a.caller = role_of_actor.caller
    and (me.role = 'l9_platform_admin' or a.tenant_id = me.tenant_id));

comment on function l9_private.role_of_actor(uuid, text) is
  'The database role of an actor, to an admin of its tenant; else null. Definer: reads actors.';

create function l9_private.identity_in_question(
  tenant_id uuid, caller text, org_id uuid, user_id uuid, scopes text[], projects text[])
returns l9_private.identity
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.require_admin();
  them l9_private.identity;
begin
  if me.role <> 'l9_platform_admin' and identity_in_question.tenant_id <> me.tenant_id then
    return null;
  end if;
  select a.tenant_id, identity_in_question.org_id, identity_in_question.user_id, a.caller, a.creator, a.source, a.agent, a.role,
    l9_private.both(a.readable_scopes, coalesce(identity_in_question.scopes, '{*}')),
    l9_private.both(a.writable_scopes, coalesce(identity_in_question.scopes, '{*}')),
    coalesce(identity_in_question.projects, '{*}'), a.can_clean_up
  into them
  from l9_private.active_actors a
  where a.tenant_id = identity_in_question.tenant_id and a.caller = identity_in_question.caller
    and l9_private.are_claims_good(a.tenant_id, a.caller, identity_in_question.org_id, identity_in_question.user_id, null);
  return them;
end
$$;

comment on function l9_private.identity_in_question(uuid, text, uuid, uuid, text[], text[]) is
  'What these claims would be worth, to an admin of their tenant, as current_identity() would have it under the actor''s role. Definer: reads identity tables.';

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
  me l9_private.identity := l9_private.require_admin();
  memory public.packet_store;
  them l9_private.identity;
  answer public.access_explanation;
  policy record;
  verdict public.policy_verdict;
begin
  answer.packet_id := explain_access.packet_id;
  answer.tenant_id := coalesce(explain_access.tenant_id, me.tenant_id);
  answer.caller := explain_access.caller;
  answer.policies := '{}';
  answer.is_visible := false;

  -- As the admin: of a memory that it can't see itself it learns nothing.
  select p.* into memory from public.packet_store p where p.packet_id = explain_access.packet_id;
  if not found then
    memory := l9_private.expired_memory(explain_access.packet_id);
    if memory.packet_id is null then
      perform l9_private.fail_not_yours(explain_access.packet_id);
    end if;
  end if;
  answer.role := l9_private.role_of_actor(answer.tenant_id, explain_access.caller);
  if answer.role is null then
    perform l9_private.fail('L9VAL', 'caller: no actor of this tenant', 'caller');
  end if;
  them := l9_private.identity_in_question(
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
    verdict.expression := l9_private.claims_filled_in(policy.expression, them);
    verdict.description := policy.description;
    execute format('select coalesce((%s), false) from (select ($1).*) as packet_store', verdict.expression)
    into verdict.admits
    using memory;
    answer.policies := answer.policies || verdict;
  end loop;

  if them.caller is null then
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
  'Whether a caller, with these claims, sees a memory, and which policy of packet_store decides: they are taken from the catalogue and evaluated as they stand. For admins, of memories that they can see themselves, expired ones included; else L9OWN. Errors: L9OWN, L9VAL, L9SCP, L9AUT.';

grant execute on function
  l9_private.expired_memory(uuid), l9_private.claims_filled_in(text, l9_private.identity),
  l9_private.role_of_actor(uuid, text),
  l9_private.identity_in_question(uuid, text, uuid, uuid, text[], text[]),
  public.explain_access(text, uuid, uuid, uuid, text[], text[], uuid)
to l9_admin, l9_platform_admin;
--! EndIncluded 080-access/020-explain-access.sql
--! Included 090-forgetting/010-administered-tenants.sql
create function l9_private.is_whole_operator(me l9_private.identity)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return me.role = 'l9_platform_admin'
  and '*' = any (me.projects) and '*' = any (l9_private.list_claim('scopes'));

comment on function l9_private.is_whole_operator(l9_private.identity) is
  'Whether this is an operator whose token is not cut down to some scopes or projects.';

create function l9_private.administered_tenants()
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.current_identity();
begin
  return case
    when l9_private.is_whole_operator(me) then array(select t.tenant_id from public.tenants t)
    when me.role in ('l9_admin', 'l9_platform_admin') then array[me.tenant_id]
    else '{}'
  end;
end
$$;

comment on function l9_private.administered_tenants() is
  'Tenants whose contents the caller may erase: its own for an admin, all for an operator with a whole token, none for anybody else. Policies of the owner''s functions ask for it.';

create function l9_private.may_erase(me l9_private.identity, scope text, project_id text)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return l9_private.is_whole_operator(me)
  or scope = any (me.writable_scopes)
    and (project_id is null or '*' = any (me.projects) or project_id = any (me.projects));

comment on function l9_private.may_erase(l9_private.identity, text, text) is
  'Whether the token of an admin covers a scope and project. What it administers at all is for administered_tenants() to say.';
--! EndIncluded 090-forgetting/010-administered-tenants.sql
--! Included 090-forgetting/020-memory-tombstones.sql
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
  -- No content, tags or metadata, and no hash of the content either: it would confirm a guess.
  constraint tombstone_reason_short check (octet_length(reason) <= 200)
);

create index memory_tombstones_erasure_idx on public.memory_tombstones (erasure_id);
create index memory_tombstones_tenant_idx on public.memory_tombstones (tenant_id, erased_at);

comment on table public.memory_tombstones is
  'Memories that were erased: that each was there, whose it was, and who erased it. Nothing of what it said.';
comment on column public.memory_tombstones.packet_id is 'The id that the memory had; the audit log has it too.';
comment on column public.memory_tombstones.erasure_id is 'The erasure: one for all that was erased in one go. UUID version 7.';
comment on column public.memory_tombstones.tenant_id is 'The tenant that owned it.';
comment on column public.memory_tombstones.org_id is 'The org that owned it, if one did.';
comment on column public.memory_tombstones.user_id is 'The user who owned it, if one did.';
comment on column public.memory_tombstones.project_id is 'The project it was in.';
comment on column public.memory_tombstones.scope is 'The scope it was in.';
comment on column public.memory_tombstones.packet_type is 'The kind of memory it was.';
comment on column public.memory_tombstones.creator is 'Who had written it last.';
comment on column public.memory_tombstones.reason is 'Why, in the words of whoever erased it: 200 bytes at most.';
comment on column public.memory_tombstones.erased_by is 'The caller that erased it.';
comment on column public.memory_tombstones.erased_at is 'When.';

alter table public.memory_tombstones enable row level security;
alter table public.memory_tombstones force row level security;

create policy tenant_isolation on public.memory_tombstones as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy org_isolation on public.memory_tombstones as restrictive to l9_agent
  using (org_id is null or org_id = (select l9_private.current_org_id()));
create policy user_visibility on public.memory_tombstones as restrictive to l9_agent
  using (user_id is null or user_id = (select l9_private.current_user_id()));
create policy scope_access on public.memory_tombstones for select to l9_agent using (false);
create policy admin_override on public.memory_tombstones for select to l9_admin
  using (
    scope = any ((select l9_private.current_scopes())::text[])
    and (project_id is null or '*' = any ((select l9_private.current_projects())::text[])
      or project_id = any ((select l9_private.current_projects())::text[])));
create policy platform_override on public.memory_tombstones for select to l9_platform_admin
  using ((select l9_private.platform_look('memory_tombstones')));
create policy definer_functions on public.memory_tombstones for select to l9_owner
  using (tenant_id = any ((select l9_private.administered_tenants())::uuid[]));
create policy definer_burial on public.memory_tombstones for insert to l9_owner
  with check (tenant_id = any ((select l9_private.administered_tenants())::uuid[]));

comment on policy tenant_isolation on public.memory_tombstones is 'Nothing crosses tenants.';
comment on policy org_isolation on public.memory_tombstones is 'As for the packet it was; agents see none anyway.';
comment on policy user_visibility on public.memory_tombstones is 'As for the packet it was; agents see none anyway.';
comment on policy scope_access on public.memory_tombstones is 'Agents see none: to them an erased memory is one that is not there.';
comment on policy admin_override on public.memory_tombstones is 'L sees those of its tenant, within its claims.';
comment on policy platform_override on public.memory_tombstones is 'Operators see every tenant''s, each look on the record.';
comment on policy definer_functions on public.memory_tombstones is 'Erasure goes by what it has marked, in tenants that the caller administers.';
comment on policy definer_burial on public.memory_tombstones is 'Erasure marks memories of tenants that the caller administers; nobody changes or removes a mark.';

grant select on public.memory_tombstones to l9_admin, l9_platform_admin;
-- Nothing for l9_agent, and no insert, update or delete for anyone.

create policy definer_erasure on public.packet_store to l9_owner
  using (tenant_id = any ((select l9_private.administered_tenants())::uuid[])) with check (false);
comment on policy definer_erasure on public.packet_store is
  'Erasure finds and deletes any memory, also an expired one, of a tenant that the caller administers; it changes none.';
--! EndIncluded 090-forgetting/020-memory-tombstones.sql
--! Included 090-forgetting/030-mark-erased.sql
-- Summaries and facts, which may rest on what is erased.
create index packet_store_derived_idx on public.packet_store (tenant_id)
  where packet_type in ('summary', 'fact') and parent_ids <> '{}';

create function l9_private.mark_erased(erasure_id uuid, reason text, packet_ids uuid[])
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
      p.metadata ->> 'creator', mark_erased.reason, l9_private.current_caller()
    from public.packet_store p
    where p.packet_id = any (packet_ids)
    for update
    on conflict do nothing
    returning packet_id
  )
  select count(*)::integer from marked;
end;

comment on function l9_private.mark_erased(uuid, text, uuid[]) is
  'Locks memories and writes their tombstones, and says how many; the functions below erase what is marked. Not executable by callers.';

create function l9_private.mark_derived(erasure_id uuid, reason text)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  derived uuid[];
begin
  loop
    derived := array(
      select p.packet_id
      from public.packet_store p
      where p.tenant_id in (
          select distinct t.tenant_id from public.memory_tombstones t where t.erasure_id = mark_derived.erasure_id)
        and p.packet_type in ('summary', 'fact') and p.parent_ids <> '{}'
        and not exists (select from public.memory_tombstones t where t.packet_id = p.packet_id)
        and exists (
          select from unnest(p.parent_ids) as parent (id)
          join public.memory_tombstones t on t.packet_id = parent.id
          where t.erasure_id = mark_derived.erasure_id)
        -- A parent that was deleted or erased before is nothing to rest on either.
        and not exists (
          select from unnest(p.parent_ids) as parent (id)
          join public.packet_store kept on kept.packet_id = parent.id
          where not exists (select from public.memory_tombstones t where t.packet_id = kept.packet_id)));
    exit when derived = '{}';
    perform l9_private.mark_erased(erasure_id, reason, derived);
  end loop;
end
$$;

comment on function l9_private.mark_derived(uuid, text) is
  'Marks summaries and facts that rest on nothing but what is marked, then those that rest on these, and so on. Not executable by callers.';
--! EndIncluded 090-forgetting/030-mark-erased.sql
--! Included 090-forgetting/035-erase-packets.sql
create function l9_private.erase_packets(erasure_id uuid)
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
  -- Foreign keys take along versions, vectors with their chunks, the list of what waits for vectors, idempotency keys.
  delete from public.packet_store p using public.memory_tombstones t
  where t.erasure_id = erase_packets.erasure_id and p.packet_id = t.packet_id;
  get diagnostics memories = row_count;
  return jsonb_build_object('memories', memories, 'versions', versions, 'vectors', vectors);
end
$$;

comment on function l9_private.erase_packets(uuid) is 'Deletes the memories that are marked, and all that hangs on them. Not executable by callers.';
--! EndIncluded 090-forgetting/035-erase-packets.sql
--! Included 090-forgetting/040-erase-query-texts.sql
create function l9_private.erase_query_texts(erasure_id uuid, tenant_id uuid default null, user_id uuid default null)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  erased integer;
begin
  with marked as (
    select t.packet_id, t.tenant_id from public.memory_tombstones t where t.erasure_id = erase_query_texts.erasure_id
  ), said as (
    select m.tenant_id, p.content_hash from marked m join public.packet_store p on p.packet_id = m.packet_id
    union
    select m.tenant_id, l9_private.content_hash(v.content) from marked m join public.packet_versions v on v.packet_id = m.packet_id
  ), found as (
    select a.audit_id
    from public.audit_log a
    cross join lateral jsonb_array_elements_text(
      case jsonb_typeof(a.details -> 'ids') when 'array' then a.details -> 'ids' else '[]' end) as hit (id)
    join marked m on m.packet_id::text = hit.id and m.tenant_id = a.tenant_id
    where a.operation = 'SEARCH'
      and a.audit_id in (select q.audit_id from public.audit_query_texts q)
  )
  delete from public.audit_query_texts q
  where q.audit_id in (select f.audit_id from found f)
    -- Whoever searched for the very text may have found other memories with it, or none.
    or (q.tenant_id, l9_private.content_hash(q.query)) in (select s.tenant_id, s.content_hash from said s)
    or q.tenant_id = erase_query_texts.tenant_id and q.user_id = erase_query_texts.user_id;
  get diagnostics erased = row_count;
  return jsonb_build_object('query_texts', erased);
end
$$;

comment on function l9_private.erase_query_texts(uuid, uuid, uuid) is
  'Deletes the texts of searches that found, or were word for word, what is marked; and, of a subject, all that it searched for. The audit rows stay. Not executable by callers.';
--! EndIncluded 090-forgetting/040-erase-query-texts.sql
--! Included 090-forgetting/045-erase-feedback.sql
create policy definer_functions on public.memory_feedback for select to l9_owner
  using (tenant_id = any ((select l9_private.administered_tenants())::uuid[]));
create policy definer_erasure on public.memory_feedback for delete to l9_owner
  using (tenant_id = any ((select l9_private.administered_tenants())::uuid[]));
comment on policy definer_functions on public.memory_feedback is 'Erasure finds it, in tenants that the caller administers.';
comment on policy definer_erasure on public.memory_feedback is 'Erasure deletes it, in tenants that the caller administers.';

create function l9_private.erase_feedback(erasure_id uuid, tenant_id uuid default null, user_id uuid default null)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  erased integer;
begin
  delete from public.memory_feedback f
  where f.packet_id in (select t.packet_id from public.memory_tombstones t where t.erasure_id = erase_feedback.erasure_id)
    or f.tenant_id = erase_feedback.tenant_id and f.user_id = erase_feedback.user_id;
  get diagnostics erased = row_count;
  return jsonb_build_object('feedback', erased);
end
$$;

comment on function l9_private.erase_feedback(uuid, uuid, uuid) is
  'Deletes what was said about what is marked; and, of a subject, all that agents said for it. The access log holds no texts, and stays. Not executable by callers.';
--! EndIncluded 090-forgetting/045-erase-feedback.sql
--! Included 090-forgetting/050-erase-user.sql
create function l9_private.erase_user(tenant_id uuid, user_id uuid)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  erased integer;
begin
  update public.users u
  set name = 'erased-' || u.user_id, is_active = false
  where u.tenant_id = erase_user.tenant_id and u.user_id = erase_user.user_id;
  get diagnostics erased = row_count;
  return jsonb_build_object('names', erased);
end
$$;

comment on function l9_private.erase_user(uuid, uuid) is
  'Takes a user''s name away and deactivates it; its id stays, for the record. Not executable by callers.';
--! EndIncluded 090-forgetting/050-erase-user.sql
--! Included 090-forgetting/060-erase.sql
create type public.erasure as (
  erasure_id uuid,
  memories integer,
  removed jsonb
);

comment on type public.erasure is 'What was erased.';
comment on column public.erasure.erasure_id is 'As on the tombstones and the audit rows of this erasure.';
comment on column public.erasure.memories is 'How many memories, those that rested on them included.';
comment on column public.erasure.removed is 'How many rows of each sort: memories, versions, vectors, query_texts, feedback …';

create function l9_private.check_erasure_reason(reason text)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if reason is null or reason !~ '\S' then
    perform l9_private.fail('L9VAL', 'reason: why it is erased; it stays on the tombstone', 'reason');
  elsif octet_length(reason) > 200 then
    perform l9_private.fail('L9LIM', format('reason: at most 200 bytes, got %s', octet_length(reason)), 'reason');
  end if;
end
$$;

comment on function l9_private.check_erasure_reason(text) is 'A reason is required, 200 bytes at most.';

create function l9_private.erase_marked(
  me l9_private.identity, erasure_id uuid, reason text, tenant_id uuid default null, user_id uuid default null)
returns public.erasure
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  done public.erasure;
begin
  perform l9_private.mark_derived(erase_marked.erasure_id, erase_marked.reason);
  -- All of it or nothing: a copy that this token doesn't reach would be left behind unseen.
  if exists (
    select from public.memory_tombstones t
    where t.erasure_id = erase_marked.erasure_id and not l9_private.may_erase(me, t.scope, t.project_id)
  ) then
    perform l9_private.fail('L9SCP',
      'a summary or fact that rests on it alone is beyond the scopes or projects of this token, and would be left behind');
  end if;

  -- Each place that holds contents, one line each. What looks at the memories comes before they go.
  done.removed := l9_private.erase_query_texts(erase_marked.erasure_id, erase_marked.tenant_id, erase_marked.user_id);
  done.removed := done.removed || l9_private.erase_feedback(erase_marked.erasure_id, erase_marked.tenant_id, erase_marked.user_id);
  done.removed := done.removed || l9_private.erase_packets(erase_marked.erasure_id);
  if user_id is not null then
    done.removed := done.removed || l9_private.erase_user(erase_marked.tenant_id, erase_marked.user_id);
  end if;

  done.erasure_id := erase_marked.erasure_id;
  done.memories := done.removed ->> 'memories';
  perform l9_private.write_audit_of_tenant(t.tenant_id, 'ERASE', 'packet_store', t.packet_id, t.project_id, t.scope,
    jsonb_build_object('erasure_id', t.erasure_id, 'kind', t.packet_type, 'was_created_by', t.creator))
  from public.memory_tombstones t
  where t.erasure_id = erase_marked.erasure_id
  order by t.packet_id;
  return done;
end
$$;

comment on function l9_private.erase_marked(l9_private.identity, uuid, text, uuid, uuid) is
  'Erases what is marked, and what was derived from it alone, everywhere: the one list of places. Not executable by callers.';
--! EndIncluded 090-forgetting/060-erase.sql
--! Included 090-forgetting/070-erase-memory.sql
create function public.erase_memory(packet_id uuid, reason text)
returns public.erasure
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me l9_private.identity := l9_private.require_admin();
  erasure_id uuid := uuidv7();
begin
  perform l9_private.check_erasure_reason(reason);
  -- None is marked where a concurrent erasure was quicker.
  if l9_private.mark_erased(erasure_id, reason, array(
    select p.packet_id from public.packet_store p
    where p.packet_id = erase_memory.packet_id
      and p.tenant_id = any (l9_private.administered_tenants())
      and l9_private.may_erase(me, p.scope, p.project_id))) = 0
  then
    perform l9_private.fail_not_yours(erase_memory.packet_id);
  end if;
  return l9_private.erase_marked(me, erasure_id, reason);
end
$$;

comment on function public.erase_memory(uuid, text) is
  'Erases a memory, expired or not, everywhere: with its versions, vectors, chunks, keys, texts of searches that found it, and summaries and facts that rest on it alone. A tombstone without content stays. For admins, within their tenant and claims, and operators: else L9SCP; L9OWN where it is not there. Definer: deletes what callers can''t even see, such as expired rows.';

grant execute on function public.erase_memory(uuid, text) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 090-forgetting/070-erase-memory.sql
--! Included 090-forgetting/080-erase-subject.sql
create function public.erase_subject(user_id uuid, reason text, tenant_id uuid default null)
returns public.erasure
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me l9_private.identity := l9_private.require_admin();
  of_tenant uuid := coalesce(tenant_id, me.tenant_id);
  erasure_id uuid := uuidv7();
  done public.erasure;
begin
  perform l9_private.check_erasure_reason(reason);
  if user_id is null then
    perform l9_private.fail('L9VAL', 'user_id: whose memories to erase', 'user_id');
  elsif of_tenant <> all (l9_private.administered_tenants()) then
    perform l9_private.fail('L9SCP', 'tenant_id: not yours to erase in', 'tenant_id');
  elsif not l9_private.is_whole_operator(me) and (
    not '*' = any (me.projects)
    or exists (select from public.scopes s where s.tenant_id = of_tenant and s.scope <> all (me.writable_scopes))
  ) then
    perform l9_private.fail('L9SCP',
      'erase_subject: this token does not cover every scope and project of the tenant, and would leave some behind');
  end if;

  perform l9_private.mark_erased(erasure_id, reason, array(
    select p.packet_id from public.packet_store p
    where p.tenant_id = of_tenant and p.user_id = erase_subject.user_id));
  done := l9_private.erase_marked(me, erasure_id, reason, of_tenant, erase_subject.user_id);
  perform l9_private.write_audit_of_tenant(of_tenant, 'ERASE', 'users', erase_subject.user_id,
    details => jsonb_build_object('erasure_id', erasure_id, 'removed', done.removed));
  return done;
end
$$;

comment on function public.erase_subject(uuid, text, uuid) is
  'Erases all memories that a user owns, as erase_memory does, the texts of its searches, and its name; the user is deactivated. For admins whose token covers every scope and project of the tenant, and operators (tenant_id: another tenant than that of their claims): else L9SCP. Definer: deletes what callers can''t even see, such as expired rows.';

grant execute on function public.erase_subject(uuid, text, uuid) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 090-forgetting/080-erase-subject.sql
--! Included 095-legacy/010-legacy-ids.sql
create table l9_private.legacy_ids (
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

create index legacy_ids_new_idx on l9_private.legacy_ids (new_id);

comment on table l9_private.legacy_ids is
  'What became of each row of the old tables. It outlives the memory, so that one deleted here is not moved in again.';
comment on column l9_private.legacy_ids.source is 'The database it came from.';
comment on column l9_private.legacy_ids.source_table is 'The old table, such as memory.long_term.';
comment on column l9_private.legacy_ids.source_id is 'The id it had there, as text.';
comment on column l9_private.legacy_ids.new_id is 'The memory it is now (packet_id), or the audit row (audit_id).';
comment on column l9_private.legacy_ids.outcome is
  'moved: a memory of its own; merged: a memory with the same content was there already; recorded: a row of audit_log.';
comment on column l9_private.legacy_ids.source_hash is 'SHA-256 of the old content as it was (of an audit row: of the whole row). Null once the memory is deleted.';
comment on column l9_private.legacy_ids.content_hash is 'As packet_store.content_hash. Null once the memory is deleted.';
comment on column l9_private.legacy_ids.leftover is
  'Of a merged row what the memory that was there does not say: metadata, tags, unmapped columns. Null once the memory is deleted.';
comment on column l9_private.legacy_ids.moved_at is 'When it was moved.';

alter table l9_private.legacy_ids enable row level security;
alter table l9_private.legacy_ids force row level security;

create policy definer_functions on l9_private.legacy_ids to l9_owner using (true);
comment on policy definer_functions on l9_private.legacy_ids is 'The functions of this chapter. Nobody else reads or writes it.';

create function l9_private.tg_packet_store__forget_legacy()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  update l9_private.legacy_ids i set source_hash = null, content_hash = null, leftover = null
  from old_rows o
  where i.new_id = o.packet_id;
  return null;
end
$$;

comment on function l9_private.tg_packet_store__forget_legacy() is
  'With a memory goes what the list of old ids held of its content; the ids stay. Definer: nobody else writes that list.';

create trigger _900_forget_legacy after delete on public.packet_store
  referencing old table as old_rows
  for each statement execute function l9_private.tg_packet_store__forget_legacy();
-- No grant on legacy_ids: it names memories of every tenant and scope.
--! EndIncluded 095-legacy/010-legacy-ids.sql
--! Included 095-legacy/020-door.sql
-- The door's own rules. Without is_legacy_import() these policies and the trigger are as if they were not there.

create function l9_private.require_legacy_import()
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if not l9_private.is_legacy_import() then
    perform l9_private.fail('L9SCP', 'old memories are moved in by l9_owner alone, through l9-memory migrate-legacy');
  end if;
end
$$;

comment on function l9_private.require_legacy_import() is 'L9SCP unless is_legacy_import().';

create policy definer_legacy_reads on public.packet_store for select to l9_owner
  using ((select l9_private.is_legacy_import()));
create policy definer_legacy_imports on public.packet_store for insert to l9_owner
  with check ((select l9_private.is_legacy_import()));
create policy definer_legacy_merges on public.packet_store for update to l9_owner
  using ((select l9_private.is_legacy_import()));
comment on policy definer_legacy_reads on public.packet_store is
  'While old memories are moved in by l9_owner itself: it looks for duplicates, and compares what it moved.';
comment on policy definer_legacy_imports on public.packet_store is
  'While old memories are moved in by l9_owner itself; tg_packet_store__check_legacy holds what else is asked of them.';
comment on policy definer_legacy_merges on public.packet_store is
  'While old memories are moved in by l9_owner itself: a memory takes the longer life, importance and tags of its duplicate.';

create function l9_private.tg_packet_store__check_legacy()
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
    perform l9_private.fail('L9VAL', 'metadata: creator and source must be those of an actor of the tenant', 'metadata');
  end if;
  select s.is_project_scoped into has_projects from public.scopes s
  where s.tenant_id = new.tenant_id and s.scope = new.scope;
  if has_projects is null then
    perform l9_private.fail('L9VAL', 'scope: not a scope of the tenant', 'scope');
  elsif has_projects <> (new.project_id is not null) then
    perform l9_private.fail('L9VAL', 'project_id: required in a scope with projects, and only there', 'project_id');
  end if;
  return new;
end
$$;

comment on function l9_private.tg_packet_store__check_legacy() is
  'What must hold of an old memory instead of the stamp and the scope check: its writer is an actor of the tenant, its scope and project fit together.';

create trigger _300_check_legacy before insert or update on public.packet_store
  for each row when (current_user = 'l9_owner' and l9_private.is_legacy_import())
  execute function l9_private.tg_packet_store__check_legacy();
--! EndIncluded 095-legacy/020-door.sql
--! Included 095-legacy/030-judge-legacy.sql
create function l9_private.legacy_uuid(source text, source_table text, source_id text, created timestamptz)
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
  ), placed as (
    select overlay(hash placing coalesce(time, '\x000000000000') from 1 for 6) as bytes from parts
  ), versioned as (
    select pg_catalog.set_byte(
      pg_catalog.set_byte(bytes, 6, pg_catalog.get_byte(bytes, 6) & 15 | 112), 8, pg_catalog.get_byte(bytes, 8) & 63 | 128) as bytes
    from placed
  )
  select pg_catalog.encode(bytes, 'hex')::uuid from versioned;
end;

comment on function l9_private.legacy_uuid(text, text, text, timestamptz) is
  'The id of an old row whose own is no UUID, or is taken: a version 7 UUID of its time and a hash of where it was, the same whenever it is asked for.';

-- Without seqscan: the plans are made while the tables are still empty, and they don't stay so.
create function l9_private.judge_legacy(source text, source_table text, tenant_id uuid, records jsonb)
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
  with given as materialized (
    select e.place, r.*,
      pg_catalog.sha256(pg_catalog.convert_to(r.content, 'UTF8')) as source_hash,
      l9_private.content_hash(r.content) as content_hash,
      octet_length(r.metadata::text) > 65536 as has_much_metadata
    from jsonb_array_elements(records) with ordinality as e (record, place)
    cross join lateral jsonb_to_record(e.record) as r (
      source_id text, id uuid, content text, hash text, kind text, scope text, project_id text, user_id uuid, tags text[],
      importance real, ttl timestamptz, created timestamptz, updated timestamptz, thread_id text, correlation_id text,
      session_id text, trace_id text, access_count bigint, last_accessed timestamptz, metadata jsonb, legacy jsonb,
      embedding text)
  ), kept as (
    select g.*,
      g.legacy || case when g.has_much_metadata then jsonb_build_object('metadata', g.metadata) else '{}' end as all_legacy,
      case when g.has_much_metadata
        then jsonb_build_object('creator', g.metadata -> 'creator', 'source', g.metadata -> 'source', 'agent', g.metadata -> 'agent')
        else g.metadata
      end as small_metadata
    from given g
  ), sized as (
    select k.*, octet_length(jsonb_build_object('legacy', k.all_legacy)::text) as legacy_bytes from kept k
  ), taken as materialized (
    select p.packet_id from public.packet_store p where p.packet_id = any (array(select g.id from given g))
  ), alike as materialized (
    -- By the hash alone, so that no other index tempts the planner.
    select p.packet_id, p.content_hash, p.tenant_id, p.scope, p.project_id, p.packet_type, p.org_id, p.user_id
    from public.packet_store p where p.content_hash = any (array(select g.content_hash from given g))
  ), fitted as materialized (
    select s.*, j.reason, a.packet_id as existing_id,
      case
        when s.id is not null and not exists (select from taken t where t.packet_id = s.id) then s.id
        else l9_private.legacy_uuid(judge_legacy.source, judge_legacy.source_table, s.source_id, s.created)
      end as packet_id
    from sized s
    cross join lateral (
      select case
        when s.content is null or s.content !~ '\S' then 'blank'
        when octet_length(s.content) > 1048576 then 'long'
        when s.legacy_bytes > 262144 then 'large'
        when s.hash <> encode(s.source_hash, 'hex') then 'garbled'
      end as reason
    ) j
    left join alike a
      on j.reason is null
      and a.content_hash = s.content_hash
      and a.tenant_id = judge_legacy.tenant_id
      and a.scope = s.scope
      and a.project_id is not distinct from s.project_id
      and a.packet_type = s.kind
      and a.org_id is null
      and a.user_id is not distinct from s.user_id
  )
  select f.place, f.source_id, f.reason, f.packet_id, f.existing_id,
    first_value(f.place) over same, first_value(f.packet_id) over same,
    encode(pg_catalog.sha256(f.content_hash || pg_catalog.convert_to(
      jsonb_build_array(f.scope, f.project_id, f.kind, f.user_id)::text, 'UTF8')), 'base64'),
    f.kind,
    jsonb_build_object('content', f.content)
      || case when f.legacy_bytes > 65536 then jsonb_build_object('legacy', f.all_legacy) else '{}' end,
    jsonb_build_object('legacy', case
      when f.legacy_bytes <= 65536 then f.all_legacy
      else jsonb_build_object('source', f.all_legacy -> 'source', 'table', f.all_legacy -> 'table', 'id', f.all_legacy -> 'id',
        'more', 'envelope.legacy')
    end),
    f.small_metadata,
    f.all_legacy || jsonb_build_object('metadata', f.metadata, 'tags', f.tags),
    f.tags,
    f.ttl, case when count(f.ttl) over every = count(*) over every then max(f.ttl) over every end,
    f.importance, max(f.importance) over every,
    f.scope, f.project_id, f.user_id, f.created, f.updated, f.thread_id, f.correlation_id, f.session_id, f.trace_id,
    f.access_count, f.last_accessed, f.source_hash, f.content_hash, f.embedding
  from fitted f
  window
    every as (partition by f.reason, f.content_hash, f.scope, f.project_id, f.kind, f.user_id),
    same as (every order by f.place)
$$;

comment on function l9_private.judge_legacy(text, text, uuid, jsonb) is
  'What would become of these old rows, and why not of some; changes nothing. Where is_legacy_import() does not hold it finds no duplicates.';
--! EndIncluded 095-legacy/030-judge-legacy.sql
--! Included 095-legacy/040-import-legacy.sql
create type l9_private.legacy_outcome as (
  source_id text,
  outcome text,
  packet_id uuid,
  duplicate_key text,
  has_vector boolean
);

comment on type l9_private.legacy_outcome is
  'What became of an old row: moved or merged, the memory it is now, and whether its vector came with it; or why it was not moved.';

create function l9_private.preview_legacy(source text, source_table text, tenant_id uuid, records jsonb)
returns setof l9_private.legacy_outcome
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
  from l9_private.judge_legacy(source, source_table, tenant_id, records) j
  order by j.place
$$;

comment on function l9_private.preview_legacy(text, text, uuid, jsonb) is 'What import_legacy() would do; changes nothing.';

create function l9_private.import_legacy(
  source text, source_table text, tenant_id uuid, records jsonb, model text, dimensions integer, is_present_model boolean)
returns setof l9_private.legacy_outcome
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  outcomes l9_private.legacy_outcome[];
begin
  perform l9_private.require_legacy_import();
  with judged as materialized (
    select j.*,
      case when j.embedding is not null
        then rtrim(j.embedding, ']') || repeat(',0', 1536 - import_legacy.dimensions) || ']' end as padded
    from l9_private.judge_legacy(import_legacy.source, import_legacy.source_table, import_legacy.tenant_id, records) j
  ), all_tags as (
    select t.first_place, array_agg(t.tag order by t.tag_place) as tags
    from (
      select j.first_place, btrim(tag.tag) as tag, min(j.place * 1000 + tag.place) as tag_place
      from judged j, unnest(j.tags) with ordinality as tag (tag, place)
      where j.reason is null and btrim(tag.tag) <> ''
      group by 1, 2
    ) t
    group by t.first_place
  ), inserted as (
    insert into public.packet_store (
      packet_id, packet_type, envelope, provenance, metadata, thread_id, tags, ttl, project_id, scope, importance_score,
      access_count, last_accessed, tenant_id, user_id, correlation_id, session_id, trace_id, "timestamp", updated_at)
    select j.packet_id, j.packet_type, j.envelope, j.provenance, j.metadata, j.thread_id, coalesce(t.tags[:64], '{}'),
      j.longest_ttl, j.project_id, j.scope, j.highest_importance, coalesce(j.access_count, 0), j.last_accessed,
      import_legacy.tenant_id, j.user_id, j.correlation_id, j.session_id, j.trace_id,
      coalesce(j.created, now()), coalesce(j.updated, j.created, now())
    from judged j
    left join all_tags t on t.first_place = j.place
    where j.reason is null and j.existing_id is null and j.first_place = j.place
    order by j.place
    on conflict do nothing
    returning packet_store.packet_id
  ), bettered as (
    update public.packet_store p set
      ttl = case when p.ttl is null or j.longest_ttl is null then null else greatest(p.ttl, j.longest_ttl) end,
      importance_score = greatest(p.importance_score, j.highest_importance),
      tags = (p.tags || array(select tag from unnest(t.tags) as tag where tag <> all (p.tags)))[:64],
      updated_at = clock_timestamp()
    from judged j
    left join all_tags t on t.first_place = j.place
    where p.packet_id = j.existing_id and j.first_place = j.place
      and (p.ttl < j.longest_ttl or (p.ttl is not null and j.longest_ttl is null)
        or p.importance_score < j.highest_importance
        or (cardinality(p.tags) < 64 and not coalesce(t.tags, '{}') <@ p.tags))
  ), landed as (
    select j.*, coalesce(j.existing_id, i.packet_id) as new_id,
      case
        when j.reason is not null then j.reason
        when coalesce(j.existing_id, i.packet_id) is null then 'again'
        when j.existing_id is not null or j.first_place < j.place then 'merged'
        else 'moved'
      end as outcome
    from judged j
    left join inserted i on i.packet_id = j.first_packet_id and j.reason is null
  ), noted as (
    insert into l9_private.legacy_ids (source, source_table, source_id, new_id, outcome, source_hash, content_hash, leftover)
    select import_legacy.source, import_legacy.source_table, l.source_id, l.new_id, l.outcome, l.source_hash, l.content_hash,
      case when l.outcome = 'merged' then l.leftover end
    from landed l
    where l.outcome in ('moved', 'merged')
  ), embedded as (
    insert into public.memory_embeddings (packet_id, embedding_type, model, vector, tenant_id, user_id, project_id, scope, ttl)
    select v.new_id, 'content', import_legacy.model, extensions.l2_normalize(v.vector), import_legacy.tenant_id, v.user_id,
      v.project_id, v.scope, v.longest_ttl
    from (
      select l.*, case when pg_input_is_valid(l.padded, 'extensions.vector(1536)') then l.padded::extensions.vector(1536) end as vector
      from landed l
      where l.outcome = 'moved' and l.padded is not null
    ) v
    where extensions.vector_norm(v.vector) > 0
    returning memory_embeddings.packet_id
  )
  select array_agg(row(l.source_id, l.outcome, l.new_id, l.duplicate_key, e.packet_id is not null)::l9_private.legacy_outcome
    order by l.place)
  into outcomes
  from landed l
  left join embedded e on e.packet_id = l.new_id and l.outcome = 'moved';

  -- What has a vector that searches use waits for none; a long text still waits for those of its chunks.
  if is_present_model then
    delete from l9_private.pending_embeddings q
    using unnest(outcomes) o, public.packet_store p
    where o.has_vector and q.packet_id = o.packet_id and q.model = import_legacy.model and p.packet_id = o.packet_id
      and octet_length(p.envelope ->> 'content') <= 1000;
  end if;
  return query select o.* from unnest(outcomes) o;
end
$$;

comment on function l9_private.import_legacy(text, text, uuid, jsonb, text, integer, boolean) is
  'Moves old rows into packet_store, their vectors into memory_embeddings, and notes what became of each, in one transaction. Only where is_legacy_import() holds: no other could insert through it, were it granted.';

create function l9_private.compare_legacy(source text, source_table text, source_ids text[], source_hashes text[])
returns table (source_id text, state text)
language sql
stable
set search_path = ''
set enable_seqscan = off
set jit = off
as $$
  with known as materialized (
    select i.source_id, i.new_id, i.outcome, i.source_hash, i.content_hash, i.moved_at
    from l9_private.legacy_ids i
    where i.source = compare_legacy.source and i.source_table = compare_legacy.source_table
      and i.source_id = any (source_ids)
  ), here as materialized (
    select p.packet_id, p.content_hash, l9_private.content_hash(p.envelope ->> 'content') as hash_now, p.updated_at
    from public.packet_store p
    where p.packet_id = any (array(select k.new_id from known k))
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
  left join known k on k.source_id = o.source_id
  left join here h on h.packet_id = k.new_id
  order by o.place
$$;

comment on function l9_private.compare_legacy(text, text, text[], text[]) is
  'What has become of old rows, by their ids and the hashes of their contents: new (not moved), kept (the same here), edited here since, gone (deleted here since), changed (in the old table, after it was moved), or different, which should not be.';
--! EndIncluded 095-legacy/040-import-legacy.sql
--! Included 095-legacy/050-legacy-audit.sql
create function l9_private.write_legacy_audit(tenant_id uuid, rows jsonb)
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

comment on function l9_private.write_legacy_audit(uuid, jsonb) is
  'Adds rows of the old audit tables to audit_log, with the time and the caller they had. Only for import_legacy_audit().';

create function l9_private.import_legacy_audit(source text, source_table text, tenant_id uuid, records jsonb)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  rows jsonb;
begin
  perform l9_private.require_legacy_import();
  -- A row that was about an old memory is about what became of it.
  select jsonb_agg(e.record || jsonb_build_object(
    'audit_id', uuidv7(),
    'row_id', coalesce(
      (select (array_agg(i.new_id))[1] from l9_private.legacy_ids i
        where i.source = import_legacy_audit.source
          and i.source_table = any (array(select jsonb_array_elements_text(e.record -> 'row_tables')))
          and i.source_id = e.record ->> 'row'
        having count(*) = 1),
      case when pg_input_is_valid(e.record ->> 'row', 'uuid') then (e.record ->> 'row')::uuid end)))
  into rows
  from jsonb_array_elements(records) as e (record);

  perform l9_private.write_legacy_audit(import_legacy_audit.tenant_id, rows);
  insert into l9_private.legacy_ids (source, source_table, source_id, new_id, outcome, source_hash)
  select import_legacy_audit.source, import_legacy_audit.source_table, r.source_id, r.audit_id, 'recorded', decode(r.hash, 'hex')
  from jsonb_to_recordset(rows) as r (source_id text, audit_id uuid, hash text);
  return jsonb_array_length(records);
end
$$;

comment on function l9_private.import_legacy_audit(text, text, uuid, jsonb) is
  'Moves old audit rows into audit_log, and notes which, in one transaction. Only where is_legacy_import() holds.';
-- No grant on any function of this chapter: l9_owner owns them.
--! EndIncluded 095-legacy/050-legacy-audit.sql
