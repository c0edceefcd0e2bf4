create schema facts;
comment on schema facts is
  'Facts, their evidence, and which fact superseded which. The helpers are not exposed over GraphQL; callers may execute only '
  'the functions granted one by one.';
grant usage on schema facts to l9_agent, l9_admin, l9_platform_admin, l9_worker;
