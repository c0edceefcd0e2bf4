create schema duplicates;
comment on schema duplicates is
  'Finding memories that say nearly the same, and what a save does about them. Not exposed over GraphQL; callers may execute only what is granted one by one.';
grant usage on schema duplicates to l9_agent, l9_admin, l9_platform_admin, l9_worker;
