-- Roles, schemas and extensions. Run once in the target database as a superuser (`l9-memory db setup` does it);
-- running it again changes nothing. Everything after this file works without superuser rights.

do $$
declare
  wanted text;
begin
  -- l9_owner owns every object and runs the migrations; FORCE ROW LEVEL SECURITY binds it like anyone else.
  -- l9_gateway is what the gateway logs in as. It inherits nothing: every statement runs as one of the roles below.
  -- No password is set here: a role without one cannot log in over the network.
  foreach wanted in array array['l9_owner', 'l9_gateway'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted) then
      execute pg_catalog.format('create role %I login', wanted);
    end if;
  end loop;
  foreach wanted in array array['l9_agent', 'l9_admin', 'l9_platform_admin', 'l9_worker'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted) then
      execute pg_catalog.format('create role %I nologin', wanted);
    end if;
  end loop;
end
$$;

alter role l9_owner nosuperuser nocreatedb nocreaterole nobypassrls inherit;
alter role l9_gateway nosuperuser nocreatedb nocreaterole nobypassrls noinherit;
alter role l9_agent nosuperuser nobypassrls;
alter role l9_admin nosuperuser nobypassrls;
alter role l9_platform_admin nosuperuser nobypassrls;
alter role l9_worker nosuperuser nobypassrls;

comment on role l9_owner is 'Owns the schema and runs migrations. Not a superuser; row-level security is forced on it too.';
comment on role l9_gateway is 'What the gateway logs in as. Granted nothing itself: it may only become one of the roles below.';
comment on role l9_agent is 'C (Cursor) and other agents: sees the scopes and projects of its claims, changes only its own memories.';
comment on role l9_admin is 'L: administrator within its tenant, across its orgs and users.';
comment on role l9_platform_admin is 'Operators: across tenants.';
comment on role l9_worker is 'Background jobs: reads contents to embed, writes embeddings, nothing else.';

grant l9_agent, l9_admin, l9_platform_admin, l9_worker to l9_gateway with inherit false, set true;

do $$
begin
  execute pg_catalog.format('revoke all on database %I from public', pg_catalog.current_database());
  execute pg_catalog.format(
    'grant connect on database %I to l9_owner, l9_gateway, l9_agent, l9_admin, l9_platform_admin, l9_worker',
    pg_catalog.current_database());
  -- graphile-migrate keeps its bookkeeping in a schema that l9_owner makes; graphile-worker's belongs to l9_worker.
  execute pg_catalog.format('grant create on database %I to l9_owner, l9_worker', pg_catalog.current_database());
end
$$;

create schema if not exists extensions;
create extension if not exists vector with schema extensions;
-- Its planner hook, which spares computing each score twice, looks for its operator on the search_path of the session:
-- where every session finds it is pg_catalog.
create extension if not exists pg_textsearch with schema pg_catalog;
create extension if not exists pgcrypto with schema extensions;
grant usage on schema extensions to l9_owner, l9_agent, l9_admin, l9_platform_admin, l9_worker;

revoke all on schema public from public;
alter schema public owner to l9_owner;
