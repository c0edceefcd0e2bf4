create schema summaries;
comment on schema summaries is
  'Summaries of memories, and who may read them. Not exposed over GraphQL; callers may execute only what is granted one by one.';
grant usage on schema summaries to l9_agent, l9_admin, l9_platform_admin, l9_worker;
