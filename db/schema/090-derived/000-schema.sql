create schema derived;
comment on schema derived is
  'What every table that is derived from memories shares: its triggers, and the lock of the source memory. Not exposed over GraphQL; callers may execute only what is granted one by one.';
grant usage on schema derived to l9_agent, l9_admin, l9_platform_admin, l9_worker;
