create schema duplicates;
comment on schema duplicates is
  'Functions that find near-duplicate memories and decide what a save does about them. They are not exposed over GraphQL; '
  'callers may execute only the functions granted one by one.';
grant usage on schema duplicates to l9_agent, l9_admin, l9_platform_admin, l9_worker;
