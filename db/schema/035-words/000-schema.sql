create schema words;
comment on schema words is 'Turns texts into the words that a search compares. They are not exposed over GraphQL.';
grant usage on schema words to l9_agent, l9_admin, l9_platform_admin, l9_worker;
