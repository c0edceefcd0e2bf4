-- A ranked index scan (BM25, HNSW) has to skip the rows of other tenants. Tenants are therefore hashed into 16 partial
-- indexes, and a search scans that of its own tenant. More would slow planning, which examines each. The embedded engine
-- practically always has one tenant, so it uses one.
create function packets.is_embedded_engine() returns boolean language sql immutable parallel safe set search_path = ''
return pg_catalog.version() like '%wasm%';
comment on function packets.is_embedded_engine is 'True in WebAssembly, where half-precision vectors are slow to index.';

create function packets.bucket_mask() returns integer language sql immutable parallel safe set search_path = ''
return case when packets.is_embedded_engine() then 0 else 15 end;
comment on function packets.bucket_mask is 'The bits of a tenant id''s hash that select its bucket.';

create function packets.tenant_buckets() returns integer[] language sql immutable parallel safe set search_path = ''
return array(select generate_series(0, packets.bucket_mask()));
comment on function packets.tenant_buckets is 'All bucket numbers.';

create function packets.tenant_bucket(tenant_id uuid) returns integer language sql immutable parallel safe set search_path = ''
return pg_catalog.uuid_hash(tenant_id) & packets.bucket_mask();
comment on function packets.tenant_bucket is 'The bucket of a tenant.';

create function packets.in_bucket(alias text, bucket integer) returns text
language sql immutable strict parallel safe set search_path = ''
-- Only built-in functions, so that the planner can match the condition with that of the index.
return pg_catalog.format('(pg_catalog.uuid_hash(%stenant_id) & %s) = %s',
  case when alias <> '' then alias || '.' end, packets.bucket_mask(), bucket);
comment on function packets.in_bucket is 'The condition of a bucket''s partial index; an empty alias when creating it.';
grant execute on function packets.is_embedded_engine, packets.bucket_mask, packets.tenant_buckets, packets.tenant_bucket,
  packets.in_bucket to l9_agent, l9_admin, l9_platform_admin, l9_worker;
