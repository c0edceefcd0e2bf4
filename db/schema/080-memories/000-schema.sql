create schema memories;
comment on schema memories is
  'Helpers of the functions that save, read, change and delete memories. Not exposed over GraphQL; callers may execute only what is granted one by one.';
grant usage on schema memories to l9_agent, l9_admin, l9_platform_admin, l9_worker;
