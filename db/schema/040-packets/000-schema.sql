create schema packets;
comment on schema packets is
  'Helpers of packet_store, the table of memories: checks, stamps, hashes and triggers. They are not exposed over '
  'GraphQL; callers may execute only the functions granted one by one.';
grant usage on schema packets to l9_agent, l9_admin, l9_platform_admin, l9_worker;
