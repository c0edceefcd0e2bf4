-- What the metrics of the gateway tell of the page cache and of the sizes of tables. The gateway calls both functions
-- as l9_worker.
create function administration.block_reads() returns table (kind text, from_cache bigint, from_disk bigint)
language sql stable security definer set search_path = ''
begin atomic
  select 'index', coalesce(sum(i.idx_blks_hit), 0)::bigint, coalesce(sum(i.idx_blks_read), 0)::bigint
  from pg_catalog.pg_statio_user_indexes i
  union all
  select 'table', coalesce(sum(t.heap_blks_hit), 0)::bigint, coalesce(sum(t.heap_blks_read), 0)::bigint
  from pg_catalog.pg_statio_user_tables t;
end;
comment on function administration.block_reads is 'Blocks of indexes and tables found in PostgreSQL''s page cache and those '
  'read, since the last reset. Definer: counters that tell about hidden rows are revoked from every role but the owner.';

create function administration.table_sizes() returns table (table_name text, table_bytes bigint, index_bytes bigint)
language sql stable security definer set search_path = ''
-- Reading the size of a table waits while another session holds an exclusive lock on it.
set lock_timeout = '500ms'
begin atomic
  select coalesce(pg_partition_root(c.oid), c.oid)::regclass::text,
    coalesce(sum(pg_table_size(c.oid)), 0)::bigint, coalesce(sum(pg_indexes_size(c.oid)), 0)::bigint
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'm') and c.relpersistence <> 't'
    and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
  group by 1;
end;
comment on function administration.table_sizes is 'Size in bytes of each table and of all its indexes; a partitioned table '
  'counts with its partitions. Definer: sizes, which tell about hidden rows, are revoked from every role but the owner.';
grant execute on function administration.block_reads, administration.table_sizes to l9_worker;
