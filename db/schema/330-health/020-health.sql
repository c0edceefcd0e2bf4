-- The figures of administrators about the database: one query for each part, and health(), which puts them together.

create function health.sees_whole_server(admin administration.administrator) returns boolean
language sql stable set search_path = ''
return admin.is_operator or not exists (select from public.tenants t where t.tenant_id <> admin.target_tenant_id);
comment on function health.sees_whole_server is 'True for operators, for the owner in psql, and for the admin of the only '
  'tenant: figures of the whole server would tell others how much another tenant does.';

create function health.max_counted() returns integer language sql immutable parallel safe set search_path = '' return 100000;
comment on function health.max_counted is 'The number of rows of a queue up to which health() counts.';

-- A tenant of null is every tenant, here and below.
create function health.add_embeddings(figures public.health, tenant uuid) returns public.health
language plpgsql stable set search_path = '' as $$
begin
  figures.serving_model := embeddings.serving_model();
  select count(*), count(w.last_error), mode() within group (order by w.last_error),
    coalesce(extract(epoch from clock_timestamp() - min(w.enqueued_at)), 0)
  into figures.embedding_waiting, figures.embedding_failing, figures.embedding_error, figures.embedding_oldest_seconds
  from (
    select q.enqueued_at, q.last_error from embeddings.pending_embeddings q
    where q.model = figures.serving_model and (tenant is null
      or exists (select from public.packet_store p where p.packet_id = q.packet_id and p.tenant_id = tenant))
    limit health.max_counted()
  ) w;
  select count(*) filter (where w.given_up_at is null), count(w.given_up_at),
    coalesce(extract(epoch from clock_timestamp() - min(w.enqueued_at) filter (where w.given_up_at is null)), 0)
  into figures.extraction_waiting, figures.extraction_given_up, figures.extraction_oldest_seconds
  from (
    select q.enqueued_at, q.given_up_at from extraction.pending_extractions q
    where tenant is null
      or exists (select from public.packet_store p where p.packet_id = q.packet_id and p.tenant_id = tenant)
    limit health.max_counted()
  ) w;
  return figures;
end $$;
comment on function health.add_embeddings is 'Adds the model that serves, and what waits for it and for the chat model.';

create function health.jobs(tenant uuid) returns public.job_health[]
language sql stable set search_path = ''
begin atomic
  select coalesce(array_agg(
    row(j.type, j.runs, j.failed, j.running_since, j.last_started_at, j.completed_at,
      extract(epoch from j.completed_at - j.completed_start), j.failed_at, j.error)::public.job_health order by j.type), '{}')
  from (
    select t.type, count(*)::integer as runs, count(*) filter (where t.status = 'failed')::integer as failed,
      min(t.started_at) filter (where t.status = 'running') as running_since, max(t.started_at) as last_started_at,
      max(t.completed_at) filter (where t.status = 'completed') as completed_at,
      (array_agg(t.started_at order by t.completed_at desc) filter (where t.status = 'completed'))[1] as completed_start,
      max(t.completed_at) filter (where t.status = 'failed') as failed_at,
      (array_agg(t.error order by t.completed_at desc) filter (where t.status = 'failed'))[1] as error
    from (
      select t.type, t.status, t.started_at, t.completed_at, t.error from public.tasks t
      where (tenant is null or t.tenant_id = tenant) and t.created_at > now() - interval '7 days'
      order by t.created_at desc limit 10000
    ) t
    group by t.type
  ) j;
end;
comment on function health.jobs is 'How the runs of each job ended.';

create function health.tables() returns public.table_health[]
language sql stable set search_path = ''
begin atomic
  select array_agg(t.figures order by t.bytes desc)
  from (
    select z.table_bytes + z.index_bytes as bytes, row(z.table_name, u.live, u.dead, z.table_bytes, z.index_bytes, u.scans,
      u.scanned, u.index_scans, u.vacuumed, u.analyzed)::public.table_health as figures
    from administration.table_sizes() z
    join (
      select coalesce(pg_partition_root(s.relid), s.relid)::regclass::text as table_name, sum(s.n_live_tup)::bigint as live,
        sum(s.n_dead_tup)::bigint as dead, sum(s.seq_scan)::bigint as scans, sum(s.seq_tup_read)::bigint as scanned,
        coalesce(sum(s.idx_scan), 0)::bigint as index_scans, max(greatest(s.last_vacuum, s.last_autovacuum)) as vacuumed,
        max(greatest(s.last_analyze, s.last_autoanalyze)) as analyzed
      from pg_catalog.pg_stat_user_tables s group by 1
    ) u on u.table_name = z.table_name
    order by 1 desc limit 30
  ) t;
end;
comment on function health.tables is 'Size and use of the largest tables.';

create function health.indexes() returns public.index_health[]
language sql stable set search_path = ''
-- Reading the size of an index waits while another session holds an exclusive lock on it.
set lock_timeout = '500ms'
begin atomic
  select array_agg(i.figures order by i.is_valid, i.bytes desc)
  from (
    select bool_and(x.indisvalid) as is_valid, sum(pg_relation_size(s.indexrelid))::bigint as bytes,
      row(coalesce(pg_partition_root(s.indexrelid), s.indexrelid)::regclass::text,
        min(coalesce(pg_partition_root(s.relid), s.relid)::regclass::text), sum(pg_relation_size(s.indexrelid))::bigint,
        sum(s.idx_scan)::bigint, max(s.last_idx_scan), bool_or(x.indisunique), bool_and(x.indisvalid)
      )::public.index_health as figures
    from pg_catalog.pg_stat_user_indexes s
    join pg_catalog.pg_index x on x.indexrelid = s.indexrelid
    group by coalesce(pg_partition_root(s.indexrelid), s.indexrelid)
    order by 1, 2 desc limit 40
  ) i;
end;
comment on function health.indexes is 'Size and use of the largest indexes, and of all that are not valid.';

create function health.add_server(figures public.health) returns public.health
language plpgsql stable set search_path = '' as $$
begin
  select c.model, c.to_embed, c.remaining into figures.arriving_model, figures.arriving_memories, figures.arriving_remaining
  from embeddings.embedding_change() c;
  select b.unsealed, b.oldest_seconds into figures.unsealed_rows, figures.unsealed_oldest_seconds from audit.audit_backlog() b;
  select b.waiting, b.oldest_seconds into figures.accesses_waiting, figures.accesses_oldest_seconds
  from importance.access_backlog() b;
  figures.database_bytes := pg_database_size(current_database());
  select sum(r.from_cache)::double precision / nullif(sum(r.from_cache + r.from_disk), 0) into figures.cache_hit_rate
  from administration.block_reads() r;
  figures.tables := health.tables();
  figures.indexes := health.indexes();
  return figures;
exception when lock_not_available then
  return figures; -- The sizes are asked for last, so all else is there.
end $$;
comment on function health.add_server is 'Adds what tells about every tenant.';

create function public.health() returns public.health
language plpgsql stable security definer set search_path = '' as $$
declare
  admin constant administration.administrator := administration.require_administrator(null);
  figures public.health;
begin
  perform administration.require_whole_token(admin);
  figures.checked_at := clock_timestamp();
  figures.tables := '{}';
  figures.indexes := '{}';
  figures.is_whole_server := health.sees_whole_server(admin);
  figures := health.add_embeddings(figures, case when not figures.is_whole_server then admin.target_tenant_id end);
  figures.jobs := health.jobs(case when not figures.is_whole_server then admin.target_tenant_id end);
  select s.sealed_at into figures.last_sealed_at from public.audit_seals s order by s.seal_id desc limit 1;
  select case when bool_and(v.refreshed_at is not null) then min(v.refreshed_at) end into figures.views_refreshed_at
  from public.memory_views_status() v;
  return case when figures.is_whole_server then health.add_server(figures) else figures end;
end $$;
comment on function public.health is 'How the database is: queues, embedding model, sizes and use of tables and indexes, and '
  'how jobs ended; numbers and names, never contents. For admins whose token covers all scopes and projects. Errors: L9SCP, '
  'L9AUT. Definer: reads queues and statistics, for which callers have no grant.';
grant execute on function public.health to l9_admin, l9_platform_admin;
