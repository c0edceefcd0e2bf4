create schema administration;
comment on schema administration is
  'Creating and changing tenants, orgs, users, scopes, actors and API keys. Not exposed over GraphQL; callers can execute only '
  'the functions granted to them one by one.';
grant usage on schema administration to l9_agent, l9_admin, l9_platform_admin, l9_worker;
