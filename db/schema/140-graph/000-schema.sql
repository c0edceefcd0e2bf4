create schema graph;
comment on schema graph is 'Relationships between entities, and walks over them. The helpers are not exposed over GraphQL; '
  'callers may execute only the functions granted one by one.';
grant usage on schema graph to l9_agent, l9_admin, l9_platform_admin, l9_worker;
