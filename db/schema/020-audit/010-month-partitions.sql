-- Monthly partitions of audit_log and memory_access_log. A job of the gateway creates them ahead of time; the
-- functions that detach or drop a past month call require_past_partition().
create function audit.add_partition(parent regclass, partition text, from_time timestamptz, until_time timestamptz) returns void
language plpgsql volatile set search_path = '' as $$
declare
  trigger_of_parent record;
  unsampled name;
begin
  execute format(
    'create table partitions.%I (like %s including defaults including constraints including generated including storage '
    'including comments)', partition, parent);
  execute format('alter table partitions.%I enable row level security', partition);
  execute format('alter table partitions.%I force row level security', partition);
  -- Attaching a partition clones row triggers but not statement triggers, and the append-only trigger is a statement trigger.
  for trigger_of_parent in
    select t.tgname, pg_get_triggerdef(t.oid) as definition, t.tgenabled = 'A' as is_always
    from pg_catalog.pg_trigger t
    where t.tgrelid = parent and not t.tgisinternal and t.tgtype & 1 = 0
  loop
    execute replace(trigger_of_parent.definition, format(' ON %s ', parent), format(' ON partitions.%I ', partition));
    if trigger_of_parent.is_always then
      execute format('alter table partitions.%I enable always trigger %I', partition, trigger_of_parent.tgname);
    end if;
  end loop;
  for unsampled in
    select a.attname from pg_catalog.pg_attribute a where a.attrelid = parent and a.attnum > 0 and a.attstattarget = 0
  loop
    execute format('alter table partitions.%I alter column %I set statistics 0', partition, unsampled);
  end loop;
  execute format('comment on table partitions.%I is %L', partition, case
    when from_time is null then format('Rows of %s that fit no other partition, so that no row is ever lost.', parent)
    else format('%s from %s to %s.', parent, from_time, until_time) end);
  execute format('alter table %s attach partition partitions.%I ', parent, partition) || case
    when from_time is null then 'default'
    else format('for values from (%L) to (%L)', from_time, until_time) end;
end $$;
comment on function audit.add_partition is 'Creates a partition with row-level security, no grants, and the statement triggers '
  'and unsampled columns of its parent, then attaches it. Without times: the default partition.';

create function audit.partition_name(parent regclass, month timestamptz) returns text
language sql stable set search_path = '' set timezone = 'UTC'
return (select c.relname from pg_catalog.pg_class c where c.oid = parent) || pg_catalog.to_char(month, '"_"YYYY"_"MM');
comment on function audit.partition_name is 'The name of the partition of a table for the month of this time, in UTC.';

-- Each month is created in a subtransaction, because one whose rows are in the default partition already cannot get a partition.
create function audit.create_month_partitions(parent regclass, from_month date, months integer) returns text[]
language plpgsql volatile security definer set search_path = '' set timezone = 'UTC' set lock_timeout = '3s' as $$
declare
  table_name text;
  partition text;
  month timestamptz;
  created text[] := '{}';
begin
  select c.relname into table_name
  from pg_catalog.pg_partitioned_table p
  join pg_catalog.pg_class c on c.oid = p.partrelid and c.relowner = 'l9_owner'::regrole
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = p.partattrs[0] and a.atttypid = 'timestamptz'::regtype
  where p.partrelid = parent and p.partstrat = 'r' and p.partnatts = 1;
  if not found then
    perform identity.raise_error('L9VAL',
      'parent: must be a table of l9_owner that is partitioned by range of one timestamptz column');
  elsif from_month is null or months is null or months not between 1 and 120 then
    perform identity.raise_error('L9VAL', 'months: from 1 to 120, and from_month: a date');
  end if;

  if to_regclass(format('partitions.%I', table_name || '_default')) is null then
    perform audit.add_partition(parent, table_name || '_default', null, null);
  end if;
  for i in 0 .. months - 1 loop
    month := date_trunc('month', from_month::timestamptz) + make_interval(months => i);
    partition := audit.partition_name(parent, month);
    -- This also skips a month that was detached, whose table keeps the name: new rows of it go to the default partition.
    if to_regclass(format('partitions.%I', partition)) is not null then
      continue;
    end if;
    begin
      perform audit.add_partition(parent, partition, month, month + interval '1 month');
      created := created || partition;
    exception when check_violation then
      -- Rows of this month were written before the partition existed; they stay in the default partition.
      null;
    end;
  end loop;
  return created;
end $$;
comment on function audit.create_month_partitions is 'Creates the missing partitions for the given number of months (1 to 120, '
  'in UTC) and the default partition; returns the names of those created. A month whose rows are already in the default '
  'partition stays there. Definer: only the owner of a table can create its partitions.';

create function audit.require_past_partition(parent regclass, month date) returns text
language plpgsql stable set search_path = '' set timezone = 'UTC' as $$
declare
  partition text := audit.partition_name(parent, month);
begin
  if identity.current_role_name() = 'l9_platform_admin' then
    perform identity.require_identity();
  end if;
  if month is null or not exists (
    select from pg_inherits i
    where i.inhparent = parent and i.inhrelid = to_regclass(format('partitions.%I', partition))) then
    perform identity.raise_error('L9VAL',
      format('month: %s has no partition for it', (select c.relname from pg_class c where c.oid = parent)));
  elsif date_trunc('month', month::timestamptz) + interval '1 month' > now() then
    perform identity.raise_error('L9VAL', 'month: must be a past month');
  end if;
  return partition;
end $$;
comment on function audit.require_past_partition is 'The partition of a month that is over. Raises L9VAL if there is none or the '
  'month is not over, and L9AUT for an operator without an identity.';
grant execute on function audit.create_month_partitions to l9_worker;
-- No grant on the other functions: only functions that run as l9_owner can call them.
