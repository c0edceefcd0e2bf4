create schema views;
comment on schema views is 'Materialized views and their refresh. Callers read the views only through functions. Not exposed '
  'over GraphQL; callers may execute only the functions that are granted to them one by one.';
grant usage on schema views to l9_agent, l9_admin, l9_platform_admin, l9_worker;
create schema cortex;
comment on schema cortex is 'The tables of the older system as read-only views, under the policies of what they show. Not '
  'exposed over GraphQL. New programs read decisions, issues and the other views of kinds, and the tables of schema public.';
grant usage on schema cortex to l9_agent, l9_admin, l9_platform_admin;
