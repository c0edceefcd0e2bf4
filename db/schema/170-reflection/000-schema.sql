create schema reflection;
comment on schema reflection is 'Lessons and reflections on tasks. Not exposed over GraphQL; callers may execute only the '
  'functions that are granted individually.';
grant usage on schema reflection to l9_agent, l9_admin, l9_platform_admin, l9_worker;
