--! Previous: -
--! Hash: sha1:f58384e445b2a3b958f59f534978206cd1ca54c2
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
  created_at timestamptz not null default now(),
  constraint tenant_name_unique unique (name),
  constraint tenant_name_plain check (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$')
);

comment on table public.tenants is 'Who owns memories at the widest: nothing is ever shared between tenants.';
comment on column public.tenants.tenant_id is 'Id, as in the claim tenant_id.';
comment on column public.tenants.created_at is 'When it was made.';
comment on column public.tenants.name is 'Lower-case letters, digits, - and _; unique.';
comment on column public.tenants.is_active is 'False: no caller of this tenant has an identity any more, whatever its token says.';

insert into public.tenants (tenant_id, name) values ('00000000-0000-7000-8000-000000000001', 'default');
--! EndIncluded 010-identity/030-tenants.sql
--! Included 010-identity/040-scopes.sql
create table public.scopes (
  tenant_id uuid not null references public.tenants,
  scope text not null,
  is_project_scoped boolean not null,
  description text not null default '',
  created_at timestamptz not null default now(),
  primary key (tenant_id, scope),
  constraint scope_name_plain check (scope ~ '^[a-z0-9][a-z0-9_-]{0,62}$')
);

comment on table public.scopes is
  'What decides visibility; never the author. developer, l-private and global are built in; a tenant can add its own.';
comment on column public.scopes.tenant_id is 'The tenant it belongs to.';
comment on column public.scopes.scope is 'Its name: lower-case letters, digits, - and _.';
comment on column public.scopes.description is 'What it is for.';
comment on column public.scopes.created_at is 'When it was made.';
comment on column public.scopes.is_project_scoped is
  'True: a memory of this scope belongs to a project. False: it belongs to none, and its project_id is null.';

insert into public.scopes (tenant_id, scope, is_project_scoped, description)
select tenant_id, built_in.scope, built_in.is_project_scoped, built_in.description
from public.tenants
cross join (values
  ('developer', true, 'Shared by L and coding agents, within a project.'),
  ('l-private', true, 'L''s own, within a project.'),
  ('global', false, 'Everyone in the tenant, in no project.')
) as built_in (scope, is_project_scoped, description);
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
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (tenant_id, caller),
  constraint actor_creator_unique unique (tenant_id, creator),
  constraint actor_caller_plain check (caller ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  constraint actor_role_known check (role in ('l9_agent', 'l9_admin', 'l9_platform_admin')),
  -- Someone who may write what it can't read could never find its own duplicates.
  constraint actor_reads_what_it_writes check ('*' = any (readable_scopes) or writable_scopes <@ readable_scopes)
);

comment on table public.actors is
  'The agents known to the system. A token''s claims are cut down by its actor''s row: effective scopes are those claimed and registered here.';
comment on column public.actors.tenant_id is 'The tenant it belongs to.';
comment on column public.actors.created_at is 'When it was registered.';
comment on column public.actors.caller is 'The name a token''s claim `caller` or an API key stands for, such as L or C.';
comment on column public.actors.creator is 'Stamped into metadata.creator of what this actor writes.';
comment on column public.actors.source is 'Stamped into metadata.source of what this actor writes.';
comment on column public.actors.agent is 'metadata.agent where the writer gives none.';
comment on column public.actors.role is
  'The only database role under which this caller has an identity: a session as l9_agent that claims to be L is nobody.';
comment on column public.actors.readable_scopes is 'Scopes it may read; {*} means every scope of the tenant.';
comment on column public.actors.writable_scopes is 'Scopes it may write; {*} means every scope of the tenant.';
comment on column public.actors.can_clean_up is 'Whether it may delete what has expired.';
comment on column public.actors.is_active is 'False: its next request fails, whatever its token says.';

insert into public.actors
  (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up)
select tenant_id, built_in.*
from public.tenants
cross join (values
  ('L', 'L-CTO', 'l9-kernel', 'l-cto', 'l9_admin', array['*'], array['*'], true),
  ('C', 'Cursor-IDE', 'cursor-ide', 'cursor', 'l9_agent', array['developer', 'global'], array['developer', 'global'], false)
) as built_in (caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up);
--! EndIncluded 010-identity/050-actors.sql
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

-- Every policy and row trigger asks for it, so its cost is felt: plpgsql keeps its plan for the session (24 µs a call,
-- against 80 µs as a SQL function that calls one for each claim), and claims that are not there are not parsed.
create function l9_private.current_identity()
returns l9_private.identity
language plpgsql
stable
parallel safe
security definer
set search_path = ''
as $$
declare
  me l9_private.identity;
  tenant_claim text := nullif(current_setting('jwt.claims.tenant_id', true), '');
  org_claim text := nullif(current_setting('jwt.claims.org_id', true), '');
  user_claim text := nullif(current_setting('jwt.claims.user_id', true), '');
  caller_claim text := nullif(current_setting('jwt.claims.caller', true), '');
  scopes_claim text := nullif(current_setting('jwt.claims.scopes', true), '');
  projects_claim text := nullif(current_setting('jwt.claims.projects', true), '');
  role_name text := case current_setting('role') when 'none' then session_user else current_setting('role') end;
  claimed_scopes text[] := '{*}';
begin
  -- A claim that is there but malformed is no identity at all, rather than one that is shared more widely.
  if caller_claim is null or tenant_claim is null or not pg_input_is_valid(tenant_claim, 'uuid')
    or not pg_input_is_valid(org_claim, 'uuid') or not pg_input_is_valid(user_claim, 'uuid') then
    return null;
  end if;
  if scopes_claim is not null then
    claimed_scopes := l9_private.list_claim('scopes');
  end if;
  me.projects := case when projects_claim is null then '{*}' else l9_private.list_claim('projects') end;

  select a.tenant_id, org_claim::uuid, user_claim::uuid, a.caller, a.creator, a.source, a.agent, a.role,
    effective.readable_scopes, effective.writable_scopes, me.projects, a.can_clean_up
  into me
  from public.actors a
  join public.tenants t on t.tenant_id = a.tenant_id and t.is_active
  cross join lateral (
    select
      coalesce(array_agg(s.scope order by s.scope)
        filter (where '*' = any (a.readable_scopes) or s.scope = any (a.readable_scopes)), '{}') as readable_scopes,
      coalesce(array_agg(s.scope order by s.scope)
        filter (where '*' = any (a.writable_scopes) or s.scope = any (a.writable_scopes)), '{}') as writable_scopes
    from public.scopes s
    where s.tenant_id = a.tenant_id and ('*' = any (claimed_scopes) or s.scope = any (claimed_scopes))
  ) as effective
  where a.tenant_id = tenant_claim::uuid
    and a.caller = caller_claim
    and a.role = role_name
    and a.is_active;
  return me;
end
$$;

comment on function l9_private.current_identity() is
  'The caller of this transaction from its claims, its role and its actor''s row; null when they do not fit together. Definer: reads tenants, actors and scopes, which callers see only in part.';

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
  l9_private.current_tenant_id(), l9_private.current_org_id(), l9_private.current_user_id(),
  l9_private.current_caller(), l9_private.current_creator(),
  l9_private.current_scopes(), l9_private.current_writable_scopes(), l9_private.current_projects()
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 010-identity/060-current-identity.sql
--! Included 010-identity/070-policies.sql
-- Policies of the identity tables. They come after the functions they call, which in turn read these tables.

alter table public.tenants enable row level security;
alter table public.tenants force row level security;
alter table public.scopes enable row level security;
alter table public.scopes force row level security;
alter table public.actors enable row level security;
alter table public.actors force row level security;

create policy tenant_isolation on public.tenants as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy scope_access on public.tenants for select to l9_agent, l9_admin using (true);
create policy admin_override on public.tenants for select to l9_platform_admin
  using ((select l9_private.current_caller()) is not null);
create policy definer_functions on public.tenants for select to l9_owner using (true);
comment on policy tenant_isolation on public.tenants is 'A caller sees its own tenant.';
comment on policy scope_access on public.tenants is 'No further limit within the tenant.';
comment on policy admin_override on public.tenants is 'Operators see every tenant.';
comment on policy definer_functions on public.tenants is 'current_identity() asks whether the tenant is active.';

create policy tenant_isolation on public.scopes as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy scope_access on public.scopes for select to l9_agent, l9_admin
  using (scope = any ((select l9_private.current_scopes())::text[]));
create policy admin_override on public.scopes for select to l9_platform_admin
  using ((select l9_private.current_caller()) is not null);
create policy definer_functions on public.scopes for select to l9_owner using (true);
comment on policy tenant_isolation on public.scopes is 'Scopes of the caller''s tenant.';
comment on policy scope_access on public.scopes is 'Only scopes the caller may read: that others exist is not shown.';
comment on policy admin_override on public.scopes is 'Operators see every scope.';
comment on policy definer_functions on public.scopes is 'current_identity() and the scope checks of triggers.';

create policy tenant_isolation on public.actors as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy scope_access on public.actors for select to l9_agent
  using (caller = (select l9_private.current_caller()));
create policy admin_override on public.actors for select to l9_admin, l9_platform_admin
  using ((select l9_private.current_caller()) is not null);
create policy worker_access on public.actors for select to l9_worker using (true);
create policy definer_functions on public.actors for select to l9_owner using (true);
comment on policy tenant_isolation on public.actors is 'Actors of the caller''s tenant.';
comment on policy scope_access on public.actors is 'An agent sees its own row.';
comment on policy admin_override on public.actors is 'L sees its tenant''s actors, operators all.';
comment on policy worker_access on public.actors is 'The gateway keeps a list of known callers, to turn others away without asking the database.';
comment on policy definer_functions on public.actors is 'current_identity() reads the row that cuts the claims down.';

grant select on public.tenants, public.scopes, public.actors to l9_agent, l9_admin, l9_platform_admin;
grant select on public.actors to l9_worker;
-- No insert, update or delete on identity tables for anyone: they change by functions.
--! EndIncluded 010-identity/070-policies.sql
--! Included 020-audit/010-audit-log.sql
create table public.audit_log (
  audit_id uuid primary key default uuidv7(),
  occurred_at timestamptz not null default clock_timestamp(),
  operation text not null,
  table_name text not null,
  row_id uuid,
  tenant_id uuid,
  project_id text,
  scope text,
  caller text not null,
  creator text,
  source text,
  tool_name text not null,
  status text not null default 'success',
  sqlstate text,
  details jsonb not null default '{}',
  constraint audit_operation_known check (operation in
    ('INSERT', 'UPDATE', 'DELETE', 'SEARCH', 'READ', 'STATS', 'CLEANUP', 'EXPORT', 'ERASE', 'DENIED')),
  constraint audit_status_known check (status in ('success', 'error')),
  constraint audit_error_has_sqlstate check ((status = 'error') = (sqlstate is not null)),
  constraint audit_details_object check (jsonb_typeof(details) = 'object')
);

create index audit_log_tenant_idx on public.audit_log (tenant_id, audit_id);
create index audit_log_row_idx on public.audit_log (row_id) where row_id is not null;

comment on table public.audit_log is 'Who did what, and who was refused. Append-only for everyone; read by admins of the tenant.';
comment on column public.audit_log.audit_id is 'UUID version 7: ordered by time.';
comment on column public.audit_log.occurred_at is 'When, by the clock of the database.';
comment on column public.audit_log.tenant_id is 'Tenant of the row, or of the caller.';
comment on column public.audit_log.operation is
  'INSERT, UPDATE, DELETE, SEARCH, READ, STATS, CLEANUP, EXPORT, ERASE, or DENIED (refused before it was known what was asked).';
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
comment on column public.audit_log.details is 'Ids, filters and counts. Never contents.';
--! EndIncluded 020-audit/010-audit-log.sql
--! Included 020-audit/020-append-only.sql
create function l9_private.tg_audit_log__append_only()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform l9_private.fail('L9IMM', 'audit_log is append-only');
  return null;
end
$$;

comment on function l9_private.tg_audit_log__append_only() is 'Refuses every UPDATE, DELETE and TRUNCATE of audit_log.';

create trigger _100_append_only
  before update or delete or truncate on public.audit_log
  for each statement execute function l9_private.tg_audit_log__append_only();
--! EndIncluded 020-audit/020-append-only.sql
--! Included 020-audit/030-policies.sql
alter table public.audit_log enable row level security;
alter table public.audit_log force row level security;

create policy tenant_isolation on public.audit_log as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy scope_access on public.audit_log for select to l9_admin
  using (scope is null or scope = any ((select l9_private.current_scopes())::text[]));
create policy admin_override on public.audit_log for select to l9_platform_admin
  using ((select l9_private.current_caller()) is not null);
create policy definer_functions on public.audit_log for insert to l9_owner with check (true);

comment on policy tenant_isolation on public.audit_log is 'The record of the caller''s tenant.';
comment on policy scope_access on public.audit_log is 'Admins read it, within the scopes of their claims.';
comment on policy admin_override on public.audit_log is 'Operators read every tenant''s record.';
comment on policy definer_functions on public.audit_log is 'write_audit() and the audit triggers insert; the owner can''t even read.';

grant select on public.audit_log to l9_admin, l9_platform_admin;
-- Nothing for l9_agent: rows about others would tell it what it may not know.
-- No insert for anyone: a row that a caller could write is no evidence.
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
  insert into public.audit_log
    (operation, table_name, row_id, tenant_id, project_id, scope, caller, creator, source, tool_name, status, sqlstate, details)
  select
    operation, table_name, row_id, me.tenant_id, project_id, scope,
    coalesce(me.caller, 'db:' || l9_private.current_role_name()), me.creator, me.source, l9_private.current_tool(),
    case when sqlstate is null then 'success' else 'error' end, sqlstate, details
  from l9_private.current_identity() as me;
end;

comment on function l9_private.write_audit(text, text, uuid, text, text, jsonb, text) is
  'Adds a row about the present caller. Definer: callers can''t insert into audit_log. Not executable by callers: functions of the owner call it.';

create function l9_private.audit_read(
  operation text,
  details jsonb,
  row_id uuid default null,
  project_id text default null,
  scope text default null
)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  if operation not in ('SEARCH', 'READ', 'STATS') then
    perform l9_private.fail('L9VAL', 'operation: SEARCH, READ or STATS', 'operation');
  end if;
  if octet_length(details::text) > 65536 then
    perform l9_private.fail('L9LIM', 'details: at most 65536 bytes', 'details');
  end if;
  perform l9_private.write_audit(operation, 'packet_store', row_id, left(project_id, 200), left(scope, 63), details);
end
$$;

comment on function l9_private.audit_read(text, jsonb, uuid, text, text) is
  'Records a read by the present caller. Definer: writes audit_log. A caller can only add rows about itself.';

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
    case when pg_catalog.octet_length(details::text) <= 4096 then coalesce(details, '{}') else '{"cut": true}' end, sqlstate);
end
$$;

comment on function l9_private.audit_refusal(text, uuid, text, text, text, jsonb) is
  'The gateway calls this after a call was refused or failed and its own transaction, with its audit row, rolled back. A caller can only report its own failures. Definer: writes audit_log.';

grant execute on function l9_private.current_tool() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function l9_private.audit_read(text, jsonb, uuid, text, text)
  to l9_agent, l9_admin, l9_platform_admin;
grant execute on function l9_private.audit_refusal(text, uuid, text, text, text, jsonb)
  to l9_agent, l9_admin, l9_platform_admin;
-- No grant on write_audit: only functions that run as l9_owner may call it.
--! EndIncluded 020-audit/040-write-audit.sql
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

-- Nothing is ever planned by which envelopes are frequent.
alter table public.packet_store alter column envelope set statistics 0;

comment on table public.packet_store is
  'Memories: what agents and people asked to be kept. Who sees one is decided by its tenant, org, user, scope and project, never by its author.';
comment on column public.packet_store.packet_id is 'UUID version 7: ordered by when it was saved.';
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
comment on column public.packet_store.importance_score is 'How much it matters, from 0 to 1.';
comment on column public.packet_store.access_count is 'How often it was used.';
comment on column public.packet_store.last_accessed is 'When it was last used.';
comment on column public.packet_store.contradiction_count is 'How many facts from other memories contradict it.';
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

create index packet_store_newest_idx on public.packet_store (tenant_id, scope, project_id, packet_id desc);
create index packet_store_timestamp_idx on public.packet_store (tenant_id, "timestamp");
create index packet_store_thread_idx on public.packet_store (tenant_id, thread_id) where thread_id is not null;
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
  pg_catalog.lower(pg_catalog.btrim(pg_catalog.regexp_replace(content, '\s+', ' ', 'g'))), 'UTF8'));

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
--! Included 030-packets/030-stamp.sql
create function l9_private.tg_packet_store__stamp()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.require_identity();
  given jsonb := new.metadata - 'creator' - 'source';
begin
  -- What the client sent as creator or source never counts.
  new.metadata := jsonb_build_object('agent', me.agent, 'tool_name', l9_private.current_tool())
    || jsonb_strip_nulls(given)
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
  for each row execute function l9_private.tg_packet_store__stamp();
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
  for each row execute function l9_private.tg_packet_store__check_scope();

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
  found_parents integer := 0;
  newest uuid;
begin
  if cardinality(new.parent_ids) = 0 then
    return new;
  end if;
  new.parent_ids := array(select distinct p.id from unnest(new.parent_ids) as p (id) where p.id is not null);

  -- As the writer: a parent it can't see is a parent that is not there.
  for parent in
    select p.packet_id, p.scope from public.packet_store p
    where p.packet_id = any (new.parent_ids) and p.packet_id <> new.packet_id
    order by p.packet_id
  loop
    found_parents := found_parents + 1;
    newest := parent.packet_id;
    -- Else the child would show its readers the id of something they may not know of.
    if not l9_private.is_scope_within(new.scope, parent.scope) then
      perform l9_private.fail('L9VAL', format(
        'parent_ids: a memory in scope %s can''t rest on one in scope %s, which fewer may read', new.scope, parent.scope), 'parent_ids');
    end if;
  end loop;
  if found_parents < cardinality(new.parent_ids) then
    perform l9_private.fail('L9VAL', 'parent_ids: at least one of these memories is not there', 'parent_ids');
  end if;

  -- Parents are older than children (version 7 ids are ordered by time), so that there can be no cycle, and none
  -- needs to be looked for through memories that the writer can't see.
  if newest > new.packet_id then
    if tg_op = 'UPDATE' then
      perform l9_private.fail('L9VAL', 'parent_ids: a parent must be older than its child', 'parent_ids');
    end if;
    -- The clock went back since the parent was saved: take an id just after it.
    new.packet_id := uuidv7(uuid_extract_timestamp(newest) + interval '1 millisecond' - clock_timestamp());
  end if;
  return new;
end
$$;

comment on function l9_private.tg_packet_store__check_parents() is
  'Parents must exist, be visible to the writer, older than the child, and no more private than it: so they form a DAG that tells nobody anything new.';

create trigger _400_check_parents
  before insert or update of parent_ids, scope on public.packet_store
  for each row execute function l9_private.tg_packet_store__check_parents();

grant execute on function l9_private.is_scope_within(text, text) to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 030-packets/040-check-parents.sql
--! Included 030-packets/050-audit.sql
create function l9_private.tg_packet_store__audit()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  me l9_private.identity := l9_private.current_identity();
  tool text := l9_private.current_tool();
  doer text := coalesce(me.caller, 'db:' || l9_private.current_role_name());
begin
  if tg_op = 'INSERT' then
    insert into public.audit_log
      (operation, table_name, row_id, tenant_id, project_id, scope, caller, creator, source, tool_name, details)
    select 'INSERT', tg_table_name, n.packet_id, n.tenant_id, n.project_id, n.scope, doer, me.creator, me.source, tool,
      jsonb_build_object('kind', n.packet_type)
    from new_rows n;
  elsif tg_op = 'DELETE' then
    insert into public.audit_log
      (operation, table_name, row_id, tenant_id, project_id, scope, caller, creator, source, tool_name, details)
    select 'DELETE', tg_table_name, o.packet_id, o.tenant_id, o.project_id, o.scope, doer, me.creator, me.source, tool,
      jsonb_build_object('kind', o.packet_type, 'was_created_by', o.metadata -> 'creator')
    from old_rows o;
  else
    -- Bookkeeping by jobs (chunk counts) leaves updated_at alone and is no change to the memory.
    insert into public.audit_log
      (operation, table_name, row_id, tenant_id, project_id, scope, caller, creator, source, tool_name, details)
    select 'UPDATE', tg_table_name, n.packet_id, n.tenant_id, n.project_id, n.scope, doer, me.creator, me.source, tool,
      jsonb_build_object('kind', n.packet_type, 'was_created_by', o.metadata -> 'creator')
        || case when o.scope <> n.scope then jsonb_build_object('was_scope', o.scope) else '{}' end
        || case when o.project_id is distinct from n.project_id then jsonb_build_object('was_project_id', o.project_id) else '{}' end
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
create policy platform_override on public.packet_store for select to l9_platform_admin
  using ((select l9_private.current_caller()) is not null and (ttl is null or ttl > now()));
create policy worker_access on public.packet_store to l9_worker using (true);
create policy definer_functions on public.packet_store for select to l9_owner
  using (ttl <= now());
create policy definer_cleanup on public.packet_store for delete to l9_owner
  using (ttl <= now());

comment on policy tenant_isolation on public.packet_store is 'Nothing crosses tenants.';
comment on policy org_isolation on public.packet_store is 'A memory of an org is for callers of that org; one without is for the whole tenant.';
comment on policy user_visibility on public.packet_store is 'A memory of a user is for callers who act for that user; one without is for the whole org.';
comment on policy scope_access on public.packet_store is 'Agents read and write the scopes and projects of their claims; what has expired is gone.';
comment on policy creator_updates on public.packet_store is 'Agents change only what they wrote themselves.';
comment on policy creator_deletes on public.packet_store is 'Agents delete only what they wrote themselves.';
comment on policy admin_override on public.packet_store is 'L reads and writes any memory of its tenant, of every org, user and author, within its claims.';
comment on policy platform_override on public.packet_store is 'Operators read across tenants; they write nothing.';
comment on policy worker_access on public.packet_store is 'Jobs read contents to embed, and set chunk_count; the grants say which columns.';
comment on policy definer_functions on public.packet_store is 'Functions of the owner see what has expired, and nothing else.';
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

comment on table public.idempotency_keys is 'The first answer to each idempotency key of a caller, so that a retried save gives it again.';
comment on column public.idempotency_keys.tenant_id is 'Tenant of the caller.';
comment on column public.idempotency_keys.caller is 'The caller that used it.';
comment on column public.idempotency_keys.idempotency_key is 'The key: 1 to 200 bytes.';
comment on column public.idempotency_keys.created_at is 'When it was first used.';
comment on column public.idempotency_keys.packet_id is 'The memory of the first answer; the key goes when the memory goes.';
comment on column public.idempotency_keys.status is 'inserted or skipped_dedupe, as first answered.';

alter table public.idempotency_keys enable row level security;
alter table public.idempotency_keys force row level security;

create policy tenant_isolation on public.idempotency_keys as restrictive to l9_agent, l9_admin
  using (tenant_id = (select l9_private.current_tenant_id()));
create policy scope_access on public.idempotency_keys to l9_agent, l9_admin
  using (caller = (select l9_private.current_caller()));

comment on policy tenant_isolation on public.idempotency_keys is 'Keys of the caller''s tenant.';
comment on policy scope_access on public.idempotency_keys is 'A key is known only to the caller that used it.';

grant select, insert, update (packet_id, status) on public.idempotency_keys to l9_agent, l9_admin;
-- No delete: a key goes with its memory.
--! EndIncluded 030-packets/070-idempotency-keys.sql
--! Included 030-packets/080-save-memory.sql
create type public.save_result as (status text, memory public.packet_store);
comment on type public.save_result is 'status: inserted, updated or skipped_dedupe; memory: the row as it is now.';

create function l9_private.release_expired(
  content_hash bytea, scope text, project_id text, packet_type text)
returns boolean
language sql
volatile
security definer
set search_path = ''
begin atomic
  with gone as (
    delete from public.packet_store p
    where p.content_hash = release_expired.content_hash
      and p.tenant_id = l9_private.current_tenant_id()
      and p.org_id is not distinct from l9_private.current_org_id()
      and p.user_id is not distinct from l9_private.current_user_id()
      and p.scope = release_expired.scope
      and p.scope = any (l9_private.current_writable_scopes())
      and p.project_id is not distinct from release_expired.project_id
      and p.packet_type = release_expired.packet_type
      and p.ttl <= now()
    returning p.packet_id
  )
  select exists (select from gone);
end;

comment on function l9_private.release_expired(bytea, text, text, text) is
  'Deletes an expired memory of the caller''s owner that stands in the way of saving the same text again; says whether there was one. Definer: expired rows are hidden from callers.';

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
  idempotency_key text default null
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

  hash := l9_private.content_hash(save_memory.content);
  for attempt in 1..3 loop
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

    select p.* into saved
    from public.packet_store p
    where p.content_hash = hash
      and p.tenant_id = me.tenant_id
      and p.scope = coalesce(save_memory.scope, 'developer')
      and p.project_id is not distinct from save_memory.project_id
      and p.packet_type = coalesce(kind, 'note')
      and p.org_id is not distinct from me.org_id
      and p.user_id is not distinct from me.user_id;
    if found then
      answer.status := 'skipped_dedupe';
      exit;
    end if;

    -- What stood in the way has expired, or was deleted a moment ago: clear it and try again.
    perform l9_private.release_expired(
      hash, coalesce(save_memory.scope, 'developer'), save_memory.project_id, coalesce(kind, 'note'));
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
  text, text, text, text, text[], text, uuid[], timestamptz, real, jsonb, jsonb, jsonb, jsonb, text, text, text, text) is
  'Saves a memory. Answers inserted, or skipped_dedupe with the memory that already says the same (case and white space aside) in this scope, project and kind. The writer comes from the caller''s identity. Errors: L9SCP, L9VAL, L9LIM, L9AUT.';

grant execute on function l9_private.content_hash(text),
  l9_private.release_expired(bytea, text, text, text) to l9_agent, l9_admin;
grant execute on function public.save_memory(
  text, text, text, text, text[], text, uuid[], timestamptz, real, jsonb, jsonb, jsonb, jsonb, text, text, text, text)
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
  return memory;
end
$$;

comment on function public.get_memory(uuid) is
  'One memory, whole. Leaves an audit row. L9OWN when it is not there or not visible: the two are never told apart.';

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
  elsif max_rows is null or max_rows not between 1 and 100000 then
    perform l9_private.fail('L9VAL', 'max_rows: from 1 to 100000', 'max_rows');
  end if;

  with doomed as (
    select p.packet_id from public.packet_store p
    where p.ttl <= now()
      and p.tenant_id = me.tenant_id
      and p.scope = any (me.writable_scopes)
      and (p.project_id is null or '*' = any (me.projects) or p.project_id = any (me.projects))
    order by p.ttl
    limit max_rows
  ), gone as (
    delete from public.packet_store p using doomed where p.packet_id = doomed.packet_id returning p.packet_id
  )
  select count(*) into deleted from gone;
  perform l9_private.write_audit('CLEANUP', 'packet_store', details => jsonb_build_object('deleted', deleted, 'max_rows', max_rows));
  return deleted;
end
$$;

comment on function public.delete_expired_memories(integer) is
  'Deletes memories of the caller''s tenant, scopes and projects whose ttl has passed, the oldest first, max_rows (1 to 100000) at most; returns how many. Only for actors that may clean up: else L9SCP. Definer: expired memories are hidden from everyone.';

grant execute on function public.delete_expired_memories(integer) to l9_agent, l9_admin;
--! EndIncluded 030-packets/120-delete-expired-memories.sql
--! Included 040-embeddings/010-embedding-models.sql
create table public.embedding_models (
  model text primary key,
  dimensions integer not null,
  created_at timestamptz not null default now(),
  constraint embedding_model_plain check (model ~ '^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,99}$'),
  constraint embedding_dimensions_fit check (dimensions between 1 and 1536)
);

comment on table public.embedding_models is 'Models whose vectors are stored. A search compares vectors of one model only.';
comment on column public.embedding_models.model is 'Its name, as each of its vectors carries it.';
comment on column public.embedding_models.created_at is 'When it was registered.';
comment on column public.embedding_models.dimensions is 'The model''s own dimensions; its vectors are padded with zeros to 1536, which leaves cosines as they are.';

alter table public.embedding_models enable row level security;
alter table public.embedding_models force row level security;

create policy scope_access on public.embedding_models for select to l9_agent, l9_admin, l9_platform_admin, l9_worker using (true);
create policy definer_functions on public.embedding_models to l9_owner using (true);
comment on policy scope_access on public.embedding_models is 'Which models there are is nobody''s secret.';
comment on policy definer_functions on public.embedding_models is 'register_embedding_model() adds rows.';

grant select on public.embedding_models to l9_agent, l9_admin, l9_platform_admin, l9_worker;
--! EndIncluded 040-embeddings/010-embedding-models.sql
--! Included 040-embeddings/020-memory-embeddings.sql
create table public.memory_embeddings (
  embedding_id uuid primary key default uuidv7(),
  packet_id uuid not null references public.packet_store on delete cascade,
  embedding_type text not null default 'content',
  model text not null references public.embedding_models,
  vector extensions.vector(1536) not null,
  chunk_index integer not null default 0,
  chunk_text text,
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
  constraint embedding_chunk_has_text check (chunk_index >= 0 and (chunk_index = 0) = (chunk_text is null)),
  constraint embedding_metadata_object check (jsonb_typeof(metadata) = 'object')
);

-- Most models fill only part of the 1536 dimensions; the zeros behind them compress away.
alter table public.memory_embeddings alter column vector set storage extended;
-- Nothing is ever planned by what vectors and texts are frequent.
alter table public.memory_embeddings alter column vector set statistics 0, alter column chunk_text set statistics 0;

create index memory_embeddings_visible_idx on public.memory_embeddings (tenant_id, scope, project_id);

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
  using ((select l9_private.current_caller()) is not null and (ttl is null or ttl > now()));
create policy worker_access on public.memory_embeddings to l9_worker using (true);
create policy definer_functions on public.memory_embeddings to l9_owner using (true);

comment on policy tenant_isolation on public.memory_embeddings is 'Nothing crosses tenants.';
comment on policy org_isolation on public.memory_embeddings is 'As for the packet.';
comment on policy user_visibility on public.memory_embeddings is 'As for the packet.';
comment on policy scope_access on public.memory_embeddings is 'As for the packet: scopes and projects of the caller''s claims.';
comment on policy admin_override on public.memory_embeddings is 'As for the packet: L, in its tenant, within its claims.';
comment on policy platform_override on public.memory_embeddings is 'Operators read across tenants.';
comment on policy worker_access on public.memory_embeddings is 'The embedding job writes them.';
comment on policy definer_functions on public.memory_embeddings is 'The trigger that keeps them with their packet.';

grant select on public.memory_embeddings to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, embedding_type, model, vector, chunk_index, chunk_text, metadata, tenant_id, org_id, user_id, project_id, scope, ttl)
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
  insert into public.embedding_models as m (model, dimensions) values (model, dimensions) on conflict do nothing;
  select m.dimensions into known from public.embedding_models m where m.model = register_embedding_model.model;
  if known <> dimensions then
    perform l9_private.fail('L9VAL', format('dimensions: model %s is registered with %s', model, known), 'dimensions');
  end if;

  foreach kind in array array['content', 'context', 'entity', 'summary', 'reasoning'] loop
    execute format(
      'create index if not exists %I on public.memory_embeddings using hnsw ((%s) extensions.%s) where model = %L and embedding_type = %L',
      format('hnsw_%s_%s', kind, left(encode(sha256(convert_to(model, 'UTF8')), 'hex'), 16)),
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
  packet_id uuid primary key references public.packet_store on delete cascade,
  enqueued_at timestamptz not null default clock_timestamp(),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  claimed_until timestamptz,
  last_error text
);

create index pending_embeddings_due_idx on l9_private.pending_embeddings (next_attempt_at);

comment on table l9_private.pending_embeddings is
  'Memories that wait for their vectors. A row comes in the transaction of the save and goes in that of the vectors, so nothing is lost or embedded twice.';
comment on column l9_private.pending_embeddings.claimed_until is 'A job works on it until then; later, another may take it.';
comment on column l9_private.pending_embeddings.attempts is 'How often its own content was refused or failed.';
comment on column l9_private.pending_embeddings.last_error is 'Name of the last error. Never a text.';

alter table l9_private.pending_embeddings enable row level security;
alter table l9_private.pending_embeddings force row level security;

create policy worker_access on l9_private.pending_embeddings to l9_worker using (true);
create policy definer_functions on l9_private.pending_embeddings to l9_owner using (true);
comment on policy worker_access on l9_private.pending_embeddings is 'Jobs work the list off.';
comment on policy definer_functions on l9_private.pending_embeddings is 'Triggers of packet_store put memories on the list.';

grant select, insert (packet_id), update, delete on l9_private.pending_embeddings to l9_worker;
--! EndIncluded 040-embeddings/040-pending-embeddings.sql
--! Included 040-embeddings/050-follow-packet.sql
create function l9_private.tg_packet_store__enqueue_embedding()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into l9_private.pending_embeddings (packet_id)
  select n.packet_id from new_rows n order by n.packet_id;
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
    insert into l9_private.pending_embeddings as p (packet_id) values (new.packet_id)
    on conflict (packet_id) do update
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
--! Included 040-embeddings/060-embedding-job.sql
-- What the embedding job calls, as l9_worker. Each is one short transaction: none is open while a provider answers.

create function l9_private.claim_pending_embeddings(batch_size integer, lease interval)
returns table (packet_id uuid, content text, content_hash bytea, attempts integer)
language sql
volatile
set search_path = ''
begin atomic
  with due as (
    select q.packet_id from l9_private.pending_embeddings q
    where q.next_attempt_at <= now() and (q.claimed_until is null or q.claimed_until < now())
    order by q.next_attempt_at
    limit batch_size
    for update skip locked
  ), claimed as (
    update l9_private.pending_embeddings q set claimed_until = now() + lease
    from due where q.packet_id = due.packet_id
    returning q.packet_id, q.attempts
  )
  select p.packet_id, p.envelope ->> 'content', p.content_hash, claimed.attempts
  from claimed join public.packet_store p on p.packet_id = claimed.packet_id;
end;

comment on function l9_private.claim_pending_embeddings(integer, interval) is
  'Takes up to batch_size memories off the top of the list for the length of the lease.';

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
  delete from l9_private.pending_embeddings q where q.packet_id = store_embeddings.packet_id;
  return true;
end
$$;

comment on function l9_private.store_embeddings(uuid, bytea, text, text[], text[], integer[], integer[]) is
  'Stores the vectors of a memory, the whole first and then its chunks, and takes it off the list, in one transaction. False, and nothing stored, where its content has changed since it was claimed.';

create function l9_private.postpone_embeddings(packet_ids uuid[], delay interval, error text, counts_as_attempt boolean)
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
  where q.packet_id = any (packet_ids);
end;

comment on function l9_private.postpone_embeddings(uuid[], interval, text, boolean) is
  'Puts memories back on the list for later, after a failure of the provider, or (as an attempt) of their own content.';

create function l9_private.renew_embedding_claims(packet_ids uuid[], lease interval)
returns void
language sql
volatile
set search_path = ''
begin atomic
  update l9_private.pending_embeddings q set claimed_until = now() + lease
  where q.packet_id = any (packet_ids) and q.claimed_until is not null;
end;

comment on function l9_private.renew_embedding_claims(uuid[], interval) is
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
    insert into l9_private.pending_embeddings (packet_id)
    select p.packet_id from public.packet_store p
    where not exists (
      select from public.memory_embeddings e
      where e.packet_id = p.packet_id and e.embedding_type = 'content' and e.model = enqueue_missing_embeddings.model)
    on conflict do nothing
    returning packet_id
  )
  select count(*) from enqueued;
end;

comment on function l9_private.enqueue_missing_embeddings(text) is
  'Puts every memory without a vector of this model on the list; returns how many. For the start of a gateway, whose model may not be the one that served before.';

create function l9_private.embedding_backlog()
returns table (pending bigint, failing bigint, oldest_seconds double precision)
language sql
stable
set search_path = ''
begin atomic
  select count(*), count(*) filter (where q.last_error is not null),
    coalesce(extract(epoch from now() - min(q.enqueued_at)), 0)::double precision
  from l9_private.pending_embeddings q;
end;

comment on function l9_private.embedding_backlog() is
  'How many memories wait for their vectors, how many of them failed before, and the age of the oldest in seconds.';

grant execute on function
  l9_private.claim_pending_embeddings(integer, interval),
  l9_private.store_embeddings(uuid, bytea, text, text[], text[], integer[], integer[]),
  l9_private.postpone_embeddings(uuid[], interval, text, boolean),
  l9_private.renew_embedding_claims(uuid[], interval),
  l9_private.release_embedding_claims(),
  l9_private.enqueue_missing_embeddings(text),
  l9_private.embedding_backlog()
to l9_worker;
--! EndIncluded 040-embeddings/060-embedding-job.sql
--! Included 050-search/010-search-types.sql
create type public.memory_hit as (
  packet_id uuid,
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
  "timestamp" timestamptz
);

comment on type public.memory_hit is 'A memory that a search found, and why.';
comment on column public.memory_hit.content is 'The memory''s text, cut after 8000 characters; get_memory gives the whole.';
comment on column public.memory_hit.is_truncated is 'Whether content was cut.';
comment on column public.memory_hit.snippet is 'The part that matched best, words of the query between ** and **.';
comment on column public.memory_hit.score is 'From 0 to 1: the weighted sum of lexical_score and semantic_score, or in a single mode just that one.';
comment on column public.memory_hit.lexical_score is 'BM25 as a part of the best hit''s, from 0 to 1; null when not found by words.';
comment on column public.memory_hit.semantic_score is 'Cosine similarity to the query, from 0 to 1; null when not compared.';
comment on column public.memory_hit.chunk_index is 'The chunk that was nearest in meaning; 0: the memory as a whole; null: not compared.';

create type public.search_result as (hits public.memory_hit[], searched jsonb);

comment on type public.search_result is 'Hits, best first, and what was searched: so that an empty result can''t be taken for a missing permission.';
comment on column public.search_result.searched is
  'mode (as run), requested_mode, scopes, projects, filters, k, threshold, vectors (used, unavailable or not asked for), candidates, notice.';
--! EndIncluded 050-search/010-search-types.sql
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
--! EndIncluded 050-search/015-snippet.sql
--! Included 050-search/020-search-memory.sql
create function public.search_memory(
  query text,
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
  model text default null
)
returns public.search_result
language plpgsql
volatile
-- pg_textsearch looks up a function of its own by an unqualified name when it plans.
set search_path = pg_catalog, extensions
set hnsw.iterative_scan = 'relaxed_order'
set hnsw.ef_search = 100
set max_parallel_workers_per_gather = 0
-- Both indexes are walked in order. Without statistics (the embedded engine has no autovacuum, a young database none yet)
-- the planner expects a row or two, and would rather score every memory (0.2 ms each) and sort.
set enable_sort = off
as $$
#variable_conflict use_variable
declare
  -- 225 judged queries over 1,400 abstracts: nDCG@10 is .558 to .563 for every lexical weight from .25 to .45, on either
  -- half of the queries; words alone .511, meaning alone .493. Stretching the cosines, or the text configuration simple,
  -- or taking something off chunks, is no better.
  lexical_weight constant real := 0.35;
  semantic_weight constant real := 0.65;
  started timestamptz := clock_timestamp();
  me l9_private.identity := l9_private.require_identity();
  searched_scopes text[];
  run_mode text := mode;
  notice text;
  dimensions integer;
  candidates integer;
  filters jsonb;
  result public.search_result;
  ids jsonb;
  considered integer;
  -- Written into the statements, so that each is planned for the filters that are there.
  filter text := '(p.ttl is null or p.ttl > now())';
  lexical_ids uuid[];
  lexical_scores real[];
  semantic_leg text := 'select null::uuid as packet_id, null::integer as chunk_index, null::real as similarity where false';
begin
  if query is null or query !~ '\S' then
    perform l9_private.fail('L9VAL', 'query: must not be blank', 'query');
  elsif octet_length(query) > 32768 then
    perform l9_private.fail('L9LIM', format('query: at most 32768 bytes, got %s', octet_length(query)), 'query');
  elsif k is null or k not between 1 and 100 then
    perform l9_private.fail('L9VAL', 'k: from 1 to 100', 'k');
  elsif mode is null or mode not in ('hybrid', 'lexical', 'semantic') then
    perform l9_private.fail('L9VAL', 'mode: hybrid, lexical or semantic', 'mode');
  elsif tags_match is null or tags_match not in ('any', 'all') then
    perform l9_private.fail('L9VAL', 'tags_match: any or all', 'tags_match');
  elsif threshold not between 0 and 2 then
    perform l9_private.fail('L9VAL', 'threshold: a cosine distance, from 0 to 2', 'threshold');
  elsif since > until then
    perform l9_private.fail('L9VAL', 'since: must not be after until', 'since');
  end if;

  filters := jsonb_strip_nulls(jsonb_build_object(
    'scopes', to_jsonb(scopes), 'project_id', project_id, 'kinds', to_jsonb(kinds), 'tags', to_jsonb(tags),
    'tags_match', case when tags is not null then tags_match end, 'since', since, 'until', until,
    'thread_id', thread_id, 'creator', creator));
  if octet_length(filters::text) > 16384 then
    perform l9_private.fail('L9LIM', 'scopes, kinds, tags and other filters: at most 16384 bytes together', 'filters');
  end if;

  -- A scope that is not the caller's and one that does not exist are both simply not searched.
  searched_scopes := array(
    select s.name from unnest(me.readable_scopes) as s (name)
    where scopes is null or s.name = any (scopes) order by s.name);

  if mode in ('hybrid', 'semantic') then
    select m.dimensions into dimensions from public.embedding_models m where m.model = search_memory.model;
    if query_vector is null or dimensions is null then
      if mode = 'semantic' then
        perform l9_private.fail('L9VAL', 'mode: semantic needs the vector of the query, and the embedder is not available; try lexical', 'mode');
      end if;
      run_mode := 'lexical';
      notice := 'The embedder is not available: searched by words only.';
    elsif extensions.vector_dims(query_vector) <> 1536 then
      perform l9_private.fail('L9VAL', 'query_vector: 1536 dimensions', 'query_vector');
    end if;
  end if;

  if scopes is not null then filter := filter || ' and p.scope = any ($1)'; end if;
  if project_id is not null then filter := filter || ' and (p.project_id = $2 or p.project_id is null)'; end if;
  if kinds is not null then filter := filter || ' and p.packet_type = any ($3)'; end if;
  if tags is not null then
    filter := filter || case tags_match when 'all' then ' and p.tags @> $4' else ' and p.tags && $4' end;
  end if;
  if since is not null then filter := filter || ' and p."timestamp" >= $5'; end if;
  if until is not null then filter := filter || ' and p."timestamp" < $6'; end if;
  if thread_id is not null then filter := filter || ' and p.thread_id = $7'; end if;
  if creator is not null then filter := filter || ' and p.metadata ->> ''creator'' = $8'; end if;

  -- These may leave so few that walking an index is the longer way: the planner decides.
  if since is not null or thread_id is not null then
    perform set_config('enable_sort', 'on', true);
  end if;

  -- More than 100 never changed the first ten; 50 cost .002 of nDCG@10 and .004 of recall@10.
  candidates := least(greatest(5 * k, 100), 300);
  if run_mode in ('hybrid', 'lexical') then
    -- Its index scan knows the scores. It hands them out, instead of computing each again (0.2 ms), only in a statement
    -- of its own, no CTE, and where what is selected and what is ordered by are two expressions, if only in spelling.
    execute format($sql$
      select array_agg(f.packet_id), array_agg((-f.distance)::real)
      from (
        select p.packet_id,
          (p.envelope ->> 'content') <@> to_bm25query($9, 'public.' || 'packet_store_content_bm25') as distance
        from public.packet_store p
        where %s
        order by (p.envelope ->> 'content') <@> to_bm25query($9, 'public.packet_store_content_bm25')
        limit %s
      ) f
      where f.distance < 0$sql$, filter, candidates)
    into lexical_ids, lexical_scores
    using scopes, project_id, kinds, tags, since, until, thread_id, creator, query;
  end if;
  if run_mode in ('hybrid', 'semantic') then
    -- The threshold is outside the top-k: inside, with too few hits, the scan would walk the whole index.
    semantic_leg := format($sql$
      select distinct on (f.packet_id) f.packet_id, f.chunk_index, (1 - f.distance)::real as similarity
      from (
        select e.packet_id, e.chunk_index, %1$s operator(extensions.<=>) extensions.subvector($10, 1, %6$s)::%2$s as distance
        from public.memory_embeddings e
        join public.packet_store p on p.packet_id = e.packet_id
        where e.model = %3$L and e.embedding_type = 'content' and %4$s
        order by %1$s operator(extensions.<=>) extensions.subvector($10, 1, %6$s)::%2$s
        limit %5$s
      ) f
      order by f.packet_id, f.distance$sql$,
      l9_private.embedding_expression(dimensions),
      l9_private.embedding_type_name(dimensions),
      model, filter, candidates, dimensions);
  end if;

  execute format($sql$
    with lexical as (select * from unnest($16, $17) with ordinality as l (packet_id, score, place)),
    semantic as materialized (%1$s),
    -- What only its words brought in is compared in meaning too, so that every candidate is scored by the same sum; but
    -- what has twice k before it in words, and is far in meaning, was never among the first k: that saves its vectors.
    compared as (
      select s.packet_id, s.chunk_index, s.similarity from semantic s
      union all
      select l.packet_id, near.chunk_index, near.similarity
      from lexical l
      cross join lateral (
        select e.chunk_index, (1 - (e.vector operator(extensions.<=>) $10))::real as similarity
        from public.memory_embeddings e
        where %2$L = 'hybrid' and e.packet_id = l.packet_id and e.model = $11 and e.embedding_type = 'content'
        order by e.vector operator(extensions.<=>) $10
        limit 1
      ) near
      where (l.place <= 2 * $15 or $14 is not null)
        and not exists (select from semantic s where s.packet_id = l.packet_id)
    ),
    scored as (
      select packet_id, c.chunk_index,
        l.score / max(l.score) over () as lexical_score,
        greatest(c.similarity, 0) as semantic_score,
        c.similarity
      from lexical l full join compared c using (packet_id)
    ),
    ranked as (
      select s.*,
        case %2$L
          when 'lexical' then s.lexical_score
          when 'semantic' then s.semantic_score
          else $12 * coalesce(s.lexical_score, 0) + $13 * coalesce(s.semantic_score, 0)
        end as score
      from scored s
      where $14 is null or 1 - s.similarity <= $14 or s.similarity is null
    ),
    best as (
      select * from ranked r where r.score > 0 order by r.score desc, r.packet_id desc limit $15
    )
    select
      array_agg(row(
        p.packet_id, left(p.envelope ->> 'content', 8000), length(p.envelope ->> 'content') > 8000,
        l9_private.snippet(coalesce(chunk.chunk_text, left(p.envelope ->> 'content', 4000)), $18),
        b.score, b.lexical_score, b.semantic_score, b.chunk_index,
        p.packet_type, p.scope, p.project_id, p.tags, p.thread_id, p.metadata ->> 'creator', p.importance_score, p."timestamp"
      )::public.memory_hit order by b.score desc, b.packet_id desc),
      jsonb_agg(b.packet_id order by b.score desc, b.packet_id desc),
      (select count(*)::integer from scored)
    from best b
    join public.packet_store p on p.packet_id = b.packet_id
    left join public.memory_embeddings chunk on b.chunk_index > 0 and chunk.packet_id = b.packet_id
      and chunk.model = $11 and chunk.embedding_type = 'content' and chunk.chunk_index = b.chunk_index
    $sql$, semantic_leg, run_mode)
  into result.hits, ids, considered
  using scopes, project_id, kinds, tags, since, until, thread_id, creator, query, query_vector, model,
    lexical_weight, semantic_weight, threshold, k, lexical_ids, lexical_scores,
    l9_private.snippet_query(query);

  result.hits := coalesce(result.hits, '{}');
  result.searched := jsonb_build_object(
    'mode', run_mode, 'requested_mode', mode, 'scopes', searched_scopes, 'projects', me.projects, 'filters', filters,
    'k', k, 'threshold', threshold, 'candidates', coalesce(considered, 0), 'notice', notice,
    'vectors', case when run_mode in ('hybrid', 'semantic') then 'used' when mode = 'lexical' then 'not asked for' else 'unavailable' end);

  perform l9_private.audit_read('SEARCH', jsonb_build_object(
    'query_sha256', encode(sha256(convert_to(query, 'UTF8')), 'hex'), 'mode', run_mode, 'requested_mode', mode,
    'k', k, 'threshold', threshold, 'filters', filters, 'ids', coalesce(ids, '[]'), 'scopes', searched_scopes,
    'duration_ms', round(extract(epoch from clock_timestamp() - started) * 1000, 2)),
    project_id => search_memory.project_id,
    scope => case when cardinality(scopes) = 1 then scopes[1] end);
  return result;
end
$$;

comment on function public.search_memory(
  text, integer, text, text[], text, text[], text[], text, timestamptz, timestamptz, text, text, real, extensions.vector, text) is
  'Finds memories by words (BM25), by meaning (query_vector, of the model named) or by both (hybrid), best first, among those the caller may read. k: 1 to 100. project_id: that project''s and those of no project. tags_match: any or all. since, until: saved from, and before. threshold: hits further in meaning than this cosine distance (0 to 2) are left out. Without a vector a hybrid search is a lexical one, and says so. Leaves an audit row. Errors: L9VAL, L9LIM, L9AUT.';

grant execute on function public.search_memory(
  text, integer, text, text[], text, text[], text[], text, timestamptz, timestamptz, text, text, real, extensions.vector, text)
  to l9_agent, l9_admin, l9_platform_admin;
--! EndIncluded 050-search/020-search-memory.sql
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
        where e.packet_id = p.packet_id and e.embedding_type = 'content') as is_embedded
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
