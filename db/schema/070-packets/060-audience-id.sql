-- The hash of who can read a row. Facts, relationships, the world model and the counts of words are kept for each audience.
create function packets.audience_id(tenant_id uuid, org_id uuid, user_id uuid, project_id text, scope text) returns uuid
language sql immutable parallel safe set search_path = ''
return pg_catalog.encode(pg_catalog.substring(pg_catalog.sha256(pg_catalog.convert_to(
  -- None of the values can contain the separator.
  tenant_id::text || '|' || coalesce(org_id::text, '') || '|' || coalesce(user_id::text, '') || '|' || scope || '|'
    || coalesce(project_id, ''), 'UTF8')), 1, 16), 'hex')::uuid;
comment on function packets.audience_id is 'Hash of tenant, org, user, project and scope, equal for rows with the same readers.';
grant execute on function packets.audience_id to l9_agent, l9_admin, l9_worker;
