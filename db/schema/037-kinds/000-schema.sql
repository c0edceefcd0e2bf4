create schema kinds;
comment on schema kinds is
  'Rules of the kinds of memories: their fields, what makes two the same, when they are locked and when they leave. Not exposed '
  'over GraphQL; callers can execute only the functions granted to them one by one.';
grant usage on schema kinds to l9_agent, l9_admin, l9_platform_admin, l9_worker;
