-- One memory for one text, per owner, project, scope and kind. The owner and the scope are in the key, so that a
-- collision is never with a row that the writer can't see.
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
    -- Statistics of an expression hold samples of it, and the estimates of EXPLAIN would give them away, letter by letter.
    execute format('alter index public.%I alter column 1 set statistics 0', name);
    execute format('comment on index public.%I is %L', name,
      'Words, of one bucket of tenants. Walked in order of rank, so that row-level security is only a filter after it.');
  end loop;
end
$$;

create index packet_store_newest_idx on public.packet_store (tenant_id, scope, project_id, packet_id desc);
-- Answers in a moment how many memories a caller may read, up to a bound: a search takes another way where they are few.
create index packet_store_readers_idx on public.packet_store (tenant_id, scope, user_id, org_id, project_id) include (packet_id, ttl);
create index packet_store_timestamp_idx on public.packet_store (tenant_id, "timestamp");
create index packet_store_thread_idx on public.packet_store (tenant_id, thread_id, "timestamp", packet_id) where thread_id is not null;
create index packet_store_ttl_idx on public.packet_store (ttl) where ttl is not null;

comment on index public.packet_content_unique is 'Makes duplicates impossible, also for concurrent writers.';
-- No GIN index on tags or envelope: their operators are not leakproof, so under row-level security none would be used.
