-- Drops a past month of the access log. Operators call it in psql or GraphQL.
create function public.drop_access_partition(month date) returns bigint
language plpgsql volatile security definer set search_path = '' set timezone = 'UTC' set lock_timeout = '5s' as $$
declare
  partition constant text := audit.require_past_partition('importance.memory_access_log', month);
  roll_up importance.access_roll_up;
  dropped bigint;
  is_rolled_up boolean;
begin
  execute format('lock table only partitions.%I in access exclusive mode', partition);
  select * into strict roll_up from importance.access_roll_up;
  select count(*),
    coalesce(bool_and(a.xid < roll_up.to_xid or a.accessed_at <= roll_up.era_after), true) into dropped, is_rolled_up
  from importance.memory_access_log a
  where a.accessed_at >= date_trunc('month', month::timestamptz)
    and a.accessed_at < date_trunc('month', month::timestamptz) + interval '1 month';
  if not is_rolled_up then
    perform identity.raise_error('L9VAL', 'month: not all of its rows are rolled up yet; try again in a minute');
  end if;
  execute format('drop table partitions.%I', partition);
  perform audit.write_audit('CLEANUP', 'memory_access_log', details => jsonb_build_object(
    'dropped', format('partitions.%I', partition), 'rows', dropped));
  return dropped;
end $$;
comment on function public.drop_access_partition is 'Drops a past month of the access log once it is rolled up, and returns how '
  'many rows it held. The statistics in memory_signals and the feedback in memory_feedback stay. Audited. Definer: only the '
  'owner of a table can drop partitions. Errors: L9VAL, naming month.';
grant execute on function public.drop_access_partition to l9_platform_admin;
