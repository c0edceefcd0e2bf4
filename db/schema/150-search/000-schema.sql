create schema search;
comment on schema search is 'Search: retrievers, fusion of their scores, and the form of the answer. Not exposed over GraphQL; '
  'callers may execute only the functions that are granted to them one by one.';
grant usage on schema search to l9_agent, l9_admin, l9_platform_admin, l9_worker;
