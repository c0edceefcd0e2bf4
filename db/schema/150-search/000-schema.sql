create schema search;
comment on schema search is
  'Searching: retrievers, fusion of their scores, and the shape of the answer. Not exposed over GraphQL; callers may execute only what is granted one by one.';
grant usage on schema search to l9_agent, l9_admin, l9_platform_admin, l9_worker;
