-- All identities that the gateway can accept, in one document. The gateway loads it as l9_worker and keeps it.
create function administration.identity_directory() returns jsonb language sql stable security definer set search_path = ''
return pg_catalog.jsonb_build_object(
  'actors', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'tenant_id', a.tenant_id, 'caller', a.caller, 'role', a.role, 'login', a.login, 'registered_by', a.registered_by,
      'reads_per_minute', a.reads_per_minute, 'writes_per_minute', a.writes_per_minute)), '[]')
    from public.actors a join public.tenants t on t.tenant_id = a.tenant_id and t.is_active
    where a.is_active),
  'tenants', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'tenant_id', t.tenant_id, 'reads_per_minute', t.reads_per_minute, 'writes_per_minute', t.writes_per_minute)), '[]')
    from public.tenants t
    where t.is_active),
  'scopes', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('tenant_id', s.tenant_id, 'scope', s.scope)), '[]')
    from public.scopes s),
  'orgs', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'tenant_id', o.tenant_id, 'org_id', o.org_id, 'name', o.name, 'is_active', o.is_active)), '[]')
    from public.orgs o),
  'limited_users', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'tenant_id', u.tenant_id, 'user_id', u.user_id, 'org_id', u.org_id, 'is_active', u.is_active)), '[]')
    from public.users u where not u.is_active or u.org_id is not null),
  'api_keys', (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'key_id', k.key_id, 'hash', pg_catalog.encode(h.hash, 'hex'), 'tenant_id', k.tenant_id, 'caller', k.caller,
      'org_id', k.org_id, 'user_id', k.user_id, 'scopes', k.scopes, 'projects', k.projects, 'default_project', k.default_project,
      'tool_sets', k.tool_sets, 'expires_at', k.expires_at)), '[]')
    from public.api_keys k join identity.api_key_hashes h on h.key_id = k.key_id
    where k.revoked_at is null and (k.expires_at is null or k.expires_at > pg_catalog.now())));
comment on function administration.identity_directory is 'All identities that the gateway can accept, for its cache, so that it '
  'refuses unknown callers without a database call: active actors and tenants with their limits of calls, scopes, orgs, inactive '
  'or org-bound users, and the hashes of valid API keys. Definer: reads the identity tables. For l9_worker, never for callers.';
grant execute on function administration.identity_directory to l9_worker;
