-- An index that is walked in order of rank, of words or of vectors, is walked past the rows of others. So there is one for
-- each sixteenth of the tenants, and a search walks that of its own. Sixteen: each is looked at when a statement is planned.
-- The embedded engine, which has one tenant as good as always, has one bucket.

create function packets.is_embedded_engine()
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.version() like '%wasm%';

comment on function packets.is_embedded_engine() is
  'Whether this is PostgreSQL in WebAssembly: one person''s, where indexing half-precision vectors is several times slower than full ones.';

create function packets.bucket_mask()
returns integer
language sql
immutable
parallel safe
set search_path = ''
return case when packets.is_embedded_engine() then 0 else 15 end;

comment on function packets.bucket_mask() is 'Which bits of the hash of a tenant''s id say its bucket.';

create function packets.tenant_buckets()
returns integer[]
language sql
immutable
parallel safe
set search_path = ''
return array(select generate_series(0, packets.bucket_mask()));

comment on function packets.tenant_buckets() is 'All buckets that tenants are put into.';

create function packets.tenant_bucket(tenant_id uuid)
returns integer
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.uuid_hash(tenant_id) & packets.bucket_mask();

comment on function packets.tenant_bucket(uuid) is 'Which bucket a tenant is in.';

create function packets.in_bucket(alias text, bucket integer)
returns text
language sql
immutable
strict
parallel safe
set search_path = ''
-- With built-in functions only, so that the planner sees it is the condition of the index.
return pg_catalog.format('(pg_catalog.uuid_hash(%stenant_id) & %s) = %s',
  case when alias <> '' then alias || '.' end, packets.bucket_mask(), bucket);

comment on function packets.in_bucket(text, integer) is
  'The condition, as SQL, that picks the index of a bucket; alias empty: in the index itself.';

grant execute on function
  packets.is_embedded_engine(), packets.bucket_mask(), packets.tenant_buckets(), packets.tenant_bucket(uuid), packets.in_bucket(text, integer)
  to l9_agent, l9_admin, l9_platform_admin, l9_worker;
