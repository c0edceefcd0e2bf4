create schema secrets;
comment on schema secrets is
  'Finds secrets in texts and keeps them out of the tables. Not exposed over GraphQL; callers can execute only the functions '
  'granted to them one by one.';
grant usage on schema secrets to l9_agent, l9_admin, l9_platform_admin, l9_worker;
