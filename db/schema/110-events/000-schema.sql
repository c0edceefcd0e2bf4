create schema events;
comment on schema events is
  'Event and reasoning-trace rows that are filled from memories. The helpers are not exposed over GraphQL; callers may execute '
  'only the functions granted one by one.';
grant usage on schema events to l9_agent, l9_admin, l9_platform_admin, l9_worker;
