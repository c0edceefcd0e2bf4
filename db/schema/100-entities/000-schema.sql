create schema entities;
comment on schema entities is
  'Names of entities and their aliases. The helpers are not exposed over GraphQL; callers may execute only the functions granted '
  'one by one.';
grant usage on schema entities to l9_agent, l9_admin, l9_platform_admin, l9_worker;
