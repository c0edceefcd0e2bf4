create schema summaries;
comment on schema summaries is 'Summaries of memories, and the audiences that may read them. Not exposed over GraphQL; callers '
  'may execute only the functions that are granted individually.';
grant usage on schema summaries to l9_agent, l9_admin, l9_platform_admin, l9_worker;
