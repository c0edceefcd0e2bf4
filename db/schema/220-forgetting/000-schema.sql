create schema forgetting;
comment on schema forgetting is 'Erasure of memories and subjects, and tombstones. Not exposed over GraphQL; callers may execute '
  'only the functions that are granted individually.';
grant usage on schema forgetting to l9_agent, l9_admin, l9_platform_admin, l9_worker;
