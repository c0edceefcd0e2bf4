-- One memory for one text in each owner, project, scope and kind. The key holds owner and scope, so that a collision is
-- never with a row that the writer can't see.
create unique index packet_content_unique on public.packet_store
  (content_hash, tenant_id, scope, project_id, packet_type, org_id, user_id) nulls not distinct;

do $$
declare
  bucket integer;
  name text;
begin
  foreach bucket in array packets.tenant_buckets() loop
    name := 'packet_store_content_bm25_' || bucket;
    execute format(
      $sql$create index %I on public.packet_store using bm25 ((envelope ->> 'content')) with (text_config = 'english') where %s$sql$,
      name, packets.in_bucket('', bucket));
    -- Statistics of an index expression hold samples of contents, which EXPLAIN estimates would reveal bit by bit.
    execute format('alter index public.%I alter column 1 set statistics 0', name);
    execute format('comment on index public.%I is %L', name,
      'Words (BM25) of one bucket of tenants. It is scanned in order of rank, so row-level security only filters after it.');
  end loop;
end
$$;

create index packet_store_newest_idx on public.packet_store (tenant_id, scope, project_id, packet_id desc);
-- A cheap bounded count of the rows that a caller may read; search uses it to choose its plan.
create index packet_store_readers_idx on public.packet_store (tenant_id, scope, user_id, org_id, project_id) include (packet_id, ttl);
create index packet_store_timestamp_idx on public.packet_store (tenant_id, "timestamp");
create index packet_store_thread_idx on public.packet_store (tenant_id, thread_id, "timestamp", packet_id) where thread_id is not null;
create index packet_store_ttl_idx on public.packet_store (ttl) where ttl is not null;

comment on index public.packet_content_unique is 'Prevents exact duplicates, also between concurrent writers.';
-- There is no GIN index on tags or envelope: their operators are not leakproof, so row-level security would prevent its
-- use.
