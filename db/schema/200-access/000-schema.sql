create schema access;
comment on schema access is 'Explaining access: the access matrix and explain_access(). Not exposed over GraphQL; callers can '
  'execute only the functions granted to them one by one.';
grant usage on schema access to l9_agent, l9_admin, l9_platform_admin, l9_worker;
