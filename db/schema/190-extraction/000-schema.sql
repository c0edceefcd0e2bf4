create schema extraction;
comment on schema extraction is 'Facts and relationships that a chat model finds, and its token budget. The helpers are not '
  'exposed over GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema extraction to l9_agent, l9_admin, l9_platform_admin, l9_worker;
