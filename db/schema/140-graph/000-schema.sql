create schema graph;
comment on schema graph is
  'Relationships between entities, and walks over them. Not exposed over GraphQL; callers may execute only what is granted one by one.';
grant usage on schema graph to l9_agent, l9_admin, l9_platform_admin, l9_worker;
