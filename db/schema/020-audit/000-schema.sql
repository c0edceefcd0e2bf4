create schema audit;
comment on schema audit is
  'Writing, sealing, verifying and exporting the audit log. Not exposed over GraphQL; callers can execute only the functions '
  'granted to them one by one.';
grant usage on schema audit to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create schema partitions;
comment on schema partitions is
  'Monthly partitions of audit_log and memory_access_log. No role has a grant on them: rows are read through the partitioned '
  'table.';
grant usage on schema partitions to l9_agent, l9_admin, l9_platform_admin, l9_worker;
