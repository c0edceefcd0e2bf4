create schema importance;
comment on schema importance is
  'The access log, feedback, and the importance of a memory. The helpers are not exposed over GraphQL; callers may execute only '
  'the functions granted one by one.';
grant usage on schema importance to l9_agent, l9_admin, l9_platform_admin, l9_worker;
