-- This stands before the first function, so that no function is executable unless a later line grants it.
alter default privileges revoke execute on functions from public;

create schema identity;
comment on schema identity is
  'Who is calling: claims, actors, scopes, and the functions through which every policy learns the caller. Not exposed over '
  'GraphQL; callers can execute only the functions granted to them one by one.';
grant usage on schema public, identity to l9_agent, l9_admin, l9_platform_admin, l9_worker;

-- A gateway without owner rights checks here whether all migrations have run.
grant usage on schema graphile_migrate to l9_worker;

grant select on graphile_migrate.migrations to l9_worker;
