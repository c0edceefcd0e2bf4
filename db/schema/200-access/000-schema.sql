create schema access;
comment on schema access is
  'Explaining who may see what. Not exposed over GraphQL; callers may execute only what is granted one by one.';
grant usage on schema access to l9_agent, l9_admin, l9_platform_admin, l9_worker;
