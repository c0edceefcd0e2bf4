create schema archive;
comment on schema archive is 'Sessions that are kept for good: what is stored of them, their keys and their bytes. Not exposed '
  'over GraphQL; the public functions are.';
grant usage on schema archive to l9_agent, l9_admin, l9_platform_admin, l9_worker;
