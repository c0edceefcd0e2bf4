create function audit.add_partition(parent regclass, partition text, from_time timestamptz, until_time timestamptz)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  trigger_of_parent record;
begin
  execute format(
    'create table partitions.%I (like %s including defaults including constraints including generated including storage including comments)',
    partition, parent);
  execute format('alter table partitions.%I enable row level security', partition);
  execute format('alter table partitions.%I force row level security', partition);
  -- Triggers for each row come with the attachment; those for each statement, which append-only rests on, don't.
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
  execute format('comment on table partitions.%I is %L', partition, case
    when from_time is null then format('What no other partition of %s takes, so that no row is ever lost.', parent)
    else format('%s from %s to %s.', parent, from_time, until_time) end);
  execute format('alter table %s attach partition partitions.%I ', parent, partition) || case
    when from_time is null then 'default'
    else format('for values from (%L) to (%L)', from_time, until_time) end;
end
$$;

comment on function audit.add_partition(regclass, text, timestamptz, timestamptz) is
  'Makes a partition with row-level security, no grants and the statement triggers of its parent, then attaches it; without times: the default one.';

create function audit.create_month_partitions(parent regclass, from_month date, months integer)
returns text[]
language plpgsql
volatile
security definer
set search_path = ''
set timezone = 'UTC'
set lock_timeout = '3s'
as $$
declare
  table_name text;
  partition text;
  month timestamptz;
  made text[] := '{}';
begin
  select c.relname into table_name
  from pg_catalog.pg_partitioned_table p
  join pg_catalog.pg_class c on c.oid = p.partrelid and c.relowner = 'l9_owner'::regrole
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = p.partattrs[0] and a.atttypid = 'timestamptz'::regtype
  where p.partrelid = parent and p.partstrat = 'r' and p.partnatts = 1;
  if not found then
    perform identity.raise_error('L9VAL', 'parent: a table of ours that is partitioned by range of one timestamptz column', 'parent');
  elsif from_month is null or months is null or months not between 1 and 120 then
    perform identity.raise_error('L9VAL', 'from_month: a date; months: from 1 to 120', 'months');
  end if;

  if to_regclass(format('partitions.%I', table_name || '_default')) is null then
    perform audit.add_partition(parent, table_name || '_default', null, null);
  end if;
  for i in 0 .. months - 1 loop
    month := date_trunc('month', from_month::timestamptz) + make_interval(months => i);
    partition := table_name || to_char(month, '"_"YYYY"_"MM');
    -- Also where it was detached: its rows are not to come back in another guise.
    if to_regclass(format('partitions.%I', partition)) is not null then
      continue;
    end if;
    begin
      perform audit.add_partition(parent, partition, month, month + interval '1 month');
      made := made || partition;
    exception when check_violation then
      -- Rows that came before their partition are in the default one, and stay there.
      null;
    end;
  end loop;
  return made;
end
$$;

comment on function audit.create_month_partitions(regclass, date, integer) is
  'Makes the partitions of so many months (1 to 120, in UTC) that are not there yet, and a default one; returns their names. A month whose rows already lie in the default partition stays there. Definer: only the owner of a table makes partitions.';

grant execute on function audit.create_month_partitions(regclass, date, integer) to l9_worker;
-- No grant on add_partition: only functions that run as l9_owner may call it.
