create schema legacy;
comment on schema legacy is
  'Importing memories from the old tables. Not exposed over GraphQL; callers may execute only what is granted one by one.';
grant usage on schema legacy to l9_agent, l9_admin, l9_platform_admin, l9_worker;
