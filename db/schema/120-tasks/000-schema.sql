create schema tasks;
comment on schema tasks is
  'The log of background job runs. The helpers are not exposed over GraphQL; callers may execute only the functions granted one '
  'by one.';
grant usage on schema tasks to l9_agent, l9_admin, l9_platform_admin, l9_worker;
