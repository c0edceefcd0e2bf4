create schema legacy;
comment on schema legacy is
  'The import of memories from the old memory.* tables. Nothing here is granted to any caller.';
grant usage on schema legacy to l9_agent, l9_admin, l9_platform_admin, l9_worker;
