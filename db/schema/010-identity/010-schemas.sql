-- Before the first function: nothing is executable, readable or usable unless a line below says so.
alter default privileges revoke execute on functions from public;

create schema identity;
comment on schema identity is
  'Who calls: claims, actors, scopes, and the functions by which every policy asks for the caller. Not exposed over GraphQL; callers may execute only what is granted one by one.';

grant usage on schema public, identity to l9_agent, l9_admin, l9_platform_admin, l9_worker;

-- So that a gateway without owner rights can tell whether all migrations have run.
grant usage on schema graphile_migrate to l9_worker;
grant select on graphile_migrate.migrations to l9_worker;
