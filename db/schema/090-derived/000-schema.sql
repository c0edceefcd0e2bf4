create schema derived;
comment on schema derived is
  'Shared by all tables whose rows are derived from memories: their triggers, and the lock of the source memory. '
  'The helpers are not exposed over GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema derived to l9_agent, l9_admin, l9_platform_admin, l9_worker;
