create schema standing;
comment on schema standing is 'Whose word a memory in an answer is, and what has superseded it. Not exposed over GraphQL.';
grant usage on schema standing to l9_agent, l9_admin, l9_platform_admin;
