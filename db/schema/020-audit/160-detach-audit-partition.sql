-- Takes a month that is over out of audit_log, for a superuser to dump and drop. Operators call it in psql or
-- GraphQL. It counts the rows of each seal first, and lists the month before it detaches it.
create function public.detach_audit_partition(month date) returns public.audit_archives
language plpgsql volatile security definer set search_path = '' set timezone = 'UTC' set lock_timeout = '5s' as $$
declare
  partition constant text := audit.require_past_partition('public.audit_log', month);
  detached public.audit_archives;
  newest public.audit_seals;
  is_sealed boolean;
begin
  -- The lock keeps a seal from being added meanwhile, which this count would miss.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory audit seal', 0));
  select * into newest from public.audit_seals s order by s.seal_id desc limit 1;
  execute format('lock table only partitions.%I in share mode', partition);

  detached.table_name := format('partitions.%I', partition);
  detached.month := date_trunc('month', month);
  detached.archived_at := clock_timestamp();
  detached.archived_by := audit.audit_actor() ->> 'caller';
  select count(*),
    coalesce(bool_and(newest.seal_id is not null and (a.xid < newest.to_xid or a.occurred_at <= newest.era_after)), true)
  into detached.row_count, is_sealed
  from public.audit_log a
  where a.occurred_at >= detached.month::timestamptz and a.occurred_at < detached.month::timestamptz + interval '1 month';
  if not is_sealed then
    perform identity.raise_error('L9VAL', 'month: some of its rows are not sealed yet; try again in a minute');
  end if;
  select coalesce(array_agg(c.seal_id order by c.seal_id), '{}'), coalesce(array_agg(c.n order by c.seal_id), '{}')
  into detached.seal_ids, detached.seal_rows
  from (
    select s.seal_id, count(*) as n
    from public.audit_seals s
    cross join lateral (
      select coalesce(min(later.era_after), 'infinity') as until from public.audit_seals later where later.era > s.era) as era
    join public.audit_log a on a.xid >= s.from_xid and a.xid < s.to_xid and a.occurred_at > s.era_after
      and a.occurred_at <= era.until
    where s.last_occurred_at >= detached.month::timestamptz
      and s.first_occurred_at < detached.month::timestamptz + interval '1 month'
      and a.occurred_at >= detached.month::timestamptz and a.occurred_at < detached.month::timestamptz + interval '1 month'
    group by s.seal_id
  ) as c;

  -- The insert must come first: the guard allows detaching a partition only once it is listed in audit_archives.
  insert into public.audit_archives select detached.*;
  execute format('alter table public.audit_log detach partition partitions.%I', partition);
  -- Erasure finds the texts of searches through their audit rows. Without those rows it could not erase them, so delete them now.
  delete from public.audit_query_texts q
  where q.occurred_at >= detached.month::timestamptz and q.occurred_at < detached.month::timestamptz + interval '1 month';
  perform audit.write_audit('CLEANUP', 'audit_log', details => jsonb_build_object(
    'detached', detached.table_name, 'rows', detached.row_count));
  return detached;
end $$;
comment on function public.detach_audit_partition is 'Detaches a past, sealed month of audit_log. It remains as the table '
  'partitions.audit_log_YYYY_MM, unreadable and append-only, for a superuser to dump and drop; verify_audit() knows the number '
  'of its rows. The texts of its searches are deleted, because erasure could no longer find them. Audited. Definer: only the '
  'owner of a table can detach its partitions.';
grant execute on function public.detach_audit_partition to l9_platform_admin;
