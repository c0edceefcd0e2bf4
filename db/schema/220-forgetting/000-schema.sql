create schema forgetting;
comment on schema forgetting is
  'Erasing memories and subjects, and their tombstones. Not exposed over GraphQL; callers may execute only what is granted one by one.';
grant usage on schema forgetting to l9_agent, l9_admin, l9_platform_admin, l9_worker;
