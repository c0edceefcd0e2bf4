-- Removes the words of deleted memories from the indexes of words. The job tidy_words calls these functions, and
-- erase_marked() calls request_rebuild().

-- A compaction drops deleted memories from an index, but not the hashes of their words: its list of words keeps those, and so do
-- the pages that it gives up. Only a rebuilt index has none of them.
create table forgetting.words_to_rebuild (
  bucket integer primary key,
  erasures bigint not null default 1,
  leased_until timestamptz
);
call identity.describe('forgetting.words_to_rebuild', 'The indexes of words that may hold words of erased memories.
  bucket: The bucket of tenants whose index it is.
  erasures: How many erasures there were since it was entered. A rebuild that began before the last of them may have missed it.
  leased_until: Until when a gateway rebuilds it; null: none does.');
call identity.keep_private('forgetting.words_to_rebuild', functions => 'Erasures request rebuilds, and functions lease them.');
-- Neither callers nor the job have a grant: the functions below are all that anybody needs.

create function forgetting.request_rebuild(tenants uuid[]) returns void language sql volatile set search_path = ''
begin atomic
  insert into forgetting.words_to_rebuild as w (bucket)
  select distinct packets.tenant_bucket(t.id) from unnest(tenants) as t (id) order by 1
  on conflict (bucket) do update set erasures = w.erasures + 1;
end;
comment on function forgetting.request_rebuild is 'Has the job rebuild the indexes of words of these tenants.';

create function forgetting.words_index(bucket integer) returns regclass language sql stable set search_path = ''
return format('public.packet_store_words_bm25_%s', bucket)::regclass;
comment on function forgetting.words_index is 'The index of words of a bucket.';

create function forgetting.are_words_untidy() returns boolean language sql volatile security definer set search_path = ''
begin atomic
  select exists (
      select from forgetting.words_to_rebuild w where w.leased_until is null or w.leased_until < clock_timestamp())
    or exists (
      select from unnest(packets.tenant_buckets()) as b (bucket)
      where pg_catalog.bm25_needs_compaction(forgetting.words_index(b.bucket)));
end;
comment on function forgetting.are_words_untidy is 'True if an index of words is to be compacted or rebuilt. Definer: only the '
  'owner of an index may ask how it is laid out.';

-- The rule by which autovacuum decides, for the embedded engine, which has none.
create function forgetting.needs_vacuum() returns boolean language sql volatile security definer set search_path = ''
return pg_catalog.pg_stat_get_dead_tuples('public.packet_store'::regclass)
  > 50 + 0.2 * pg_catalog.pg_stat_get_live_tuples('public.packet_store'::regclass);
comment on function forgetting.needs_vacuum is 'True if a fifth of the memories were deleted or changed since the last VACUUM. '
  'Definer: the job may not read such statistics.';

-- One pass in each transaction, because nothing can cancel a pass, and writers wait for it.
create function forgetting.compact_words() returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
  bucket integer;
begin
  if pg_try_advisory_xact_lock(hashtextextended('l9-memory compaction of words', 0)) then
    foreach bucket in array packets.tenant_buckets() loop
      if pg_catalog.bm25_compact_step(forgetting.words_index(bucket)) then
        return 1;
      end if;
    end loop;
  end if;
  return 0;
end $$;
comment on function forgetting.compact_words is 'Compacts one index of words that needs it by one pass: 1, or 0 if none does or '
  'another gateway is at it. Definer: only the owner of an index may compact it.';

-- A lease, not an advisory lock: REINDEX CONCURRENTLY consists of several transactions, and a connection through a proxy may
-- change its session between them.
create function forgetting.lease_rebuild(lease interval) returns table (bucket integer, index_name text, erasures bigint)
language plpgsql volatile security definer set search_path = '' as $$
declare
  leftover regclass;
begin
  update forgetting.words_to_rebuild w set leased_until = clock_timestamp() + lease
  where w.bucket = (
    select d.bucket from forgetting.words_to_rebuild d
    where d.leased_until is null or d.leased_until < clock_timestamp()
    order by d.bucket limit 1 for update skip locked)
  returning w.bucket, forgetting.words_index(w.bucket)::text, w.erasures
  into lease_rebuild.bucket, lease_rebuild.index_name, lease_rebuild.erasures;
  if found then
    -- A rebuild that was interrupted leaves an index that is of no use, but kept up to date.
    for leftover in
      select i.indexrelid from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
      where i.indrelid = 'public.packet_store'::regclass and not i.indisvalid
        and c.relname ~ format('^packet_store_words_bm25_%s_cc(new|old)\d*$', lease_rebuild.bucket)
    loop
      execute format('drop index %s', leftover);
    end loop;
    return next;
  end if;
end $$;
comment on function forgetting.lease_rebuild is 'Leases an index of words that is to be rebuilt, and drops what an interrupted '
  'rebuild of it left. No row: there is none. Definer: the job may neither read the table nor drop an index.';

create function forgetting.release_rebuild(bucket integer, erasures bigint) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  delete from forgetting.words_to_rebuild w
  where w.bucket = release_rebuild.bucket and w.erasures = release_rebuild.erasures;
  update forgetting.words_to_rebuild w set leased_until = null where w.bucket = release_rebuild.bucket;
end $$;
comment on function forgetting.release_rebuild is 'Ends a lease. The index has no words of these erasures any more; '
  'a later erasure, or null if the rebuild failed, keeps it due. Definer: the job may not write the table.';
grant execute on function forgetting.are_words_untidy, forgetting.needs_vacuum, forgetting.compact_words,
  forgetting.lease_rebuild, forgetting.release_rebuild to l9_worker;
