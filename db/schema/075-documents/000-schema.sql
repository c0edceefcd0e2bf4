create schema documents;
comment on schema documents is
  'Functions that cut the Markdown of documents into sections and keep them. They are not exposed over GraphQL; callers may '
  'execute only the functions granted one by one.';
grant usage on schema documents to l9_agent, l9_admin, l9_platform_admin, l9_worker;
