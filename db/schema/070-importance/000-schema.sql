create schema importance;
comment on schema importance is
  'The access log, feedback, and the importance of a memory. Not exposed over GraphQL; callers may execute only what is granted one by one.';
grant usage on schema importance to l9_agent, l9_admin, l9_platform_admin, l9_worker;
