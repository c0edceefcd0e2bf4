create schema fields;
comment on schema fields is
  'The index of structured fields: which fields of envelopes a tenant has indexed, and their values. Not exposed over GraphQL; '
  'callers may execute only the functions granted one by one.';
grant usage on schema fields to l9_agent, l9_admin, l9_platform_admin;
