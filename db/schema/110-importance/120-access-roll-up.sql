-- How far the access log has been rolled up. The roll-up job begins here and moves the position on.
create table importance.access_roll_up (
  is_only boolean primary key default true check (is_only),
  to_xid xid8 not null default '0',
  era_after timestamptz not null default '-infinity',
  newest_at timestamptz not null default '-infinity',
  rolled_up_at timestamptz
);
call identity.describe('importance.access_roll_up', 'How far the access log and feedback have been rolled up: one row.
  is_only: Always true; as the primary key it limits the table to one row.
  to_xid: Everything written by transactions before this one is included in memory_signals.
  era_after: Accesses up to this time were written in another cluster, from which this database was restored, and are all rolled
    up.
  newest_at: The time of the newest access that is rolled up.
  rolled_up_at: When the last roll-up that found something ran.');

call identity.keep_private('importance.access_roll_up',
  jobs => 'The job continues from this position.',
  functions => 'drop_access_partition() drops only partitions that are rolled up.');
grant select, update (to_xid, era_after, newest_at, rolled_up_at) on importance.access_roll_up to l9_worker;

insert into importance.access_roll_up default values;
