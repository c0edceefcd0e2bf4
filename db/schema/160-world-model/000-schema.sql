create schema world_model;
comment on schema world_model is 'The world model: an event log of insights, folded into entities. Not exposed over GraphQL; '
  'callers may execute only the functions that are granted individually.';
grant usage on schema world_model to l9_agent, l9_admin, l9_platform_admin, l9_worker;
