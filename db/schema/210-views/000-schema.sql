create schema views;
comment on schema views is
  'Materialized views and their refresh. Callers read the views only through functions. Not exposed over GraphQL; '
  'callers may execute only the functions that are granted to them one by one.';
grant usage on schema views to l9_agent, l9_admin, l9_platform_admin, l9_worker;
