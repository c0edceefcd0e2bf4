create schema find;
comment on schema find is 'memory_find: routes, the ranking, confidence and suggestions. Not exposed over GraphQL; callers may '
  'execute only the functions that are granted to them one by one.';
grant usage on schema find to l9_agent, l9_admin, l9_platform_admin;
