create schema memories;
comment on schema memories is
  'Helpers of the functions that save, read, change and delete memories. They are not exposed over GraphQL; callers '
  'may execute only the functions granted one by one.';
grant usage on schema memories to l9_agent, l9_admin, l9_platform_admin, l9_worker;
