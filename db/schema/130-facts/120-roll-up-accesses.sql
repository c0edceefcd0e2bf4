create function facts.roll_up_accesses(max_rows integer default 10000)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
  last_xid constant xid8 := '18446744073709551615';
  done importance.access_roll_up;
  horizon xid8;
  until xid8;
  first_xid xid8;
  counted bigint;
begin
  if max_rows is null or max_rows not between 1 and 100000 then
    perform identity.raise_error('L9VAL', 'max_rows: from 1 to 100000', 'max_rows');
  end if;
  -- One at a time. Whoever had to wait sees how far the other came: each statement takes a snapshot of its own.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory access roll-up', 0));
  select * into strict done from importance.access_roll_up;
  -- Every transaction before the oldest that still runs has ended: no row of theirs can appear any more.
  horizon := pg_snapshot_xmin(pg_current_snapshot());
  if done.to_xid > pg_snapshot_xmax(pg_current_snapshot()) then
    -- Up to a transaction that is yet to come: this database was restored from a dump into another cluster. What came
    -- with it and was not rolled up comes first; then its rows, whose transactions mean nothing here, are left behind.
    if not exists (
        select from importance.memory_access_log a where a.xid >= done.to_xid and a.accessed_at > done.era_after)
      and not exists (select from public.memory_feedback f where f.xid >= done.to_xid) then
      update importance.access_roll_up set to_xid = '0', era_after = newest_at;
      return 0;
    end if;
    horizon := last_xid;
  end if;

  -- At most so many rows, but a transaction is never split: it is taken whole, even where it alone is more.
  select min(n.xid), (array_agg(n.xid order by n.xid))[max_rows + 1], count(*) into first_xid, until, counted
  from (
    (select a.xid from importance.memory_access_log a
     where a.xid >= done.to_xid and a.xid < horizon and a.accessed_at > done.era_after order by a.xid limit max_rows + 1)
    union all
    (select f.xid from public.memory_feedback f
     where f.xid >= done.to_xid and f.xid < horizon order by f.xid limit max_rows + 1)
  ) n;
  if counted = 0 then
    return 0;
  end if;
  until := case when until is null then horizon when until > first_xid then until else ((first_xid::text::numeric + 1)::text)::xid8 end;
  perform importance.roll_up_accesses_between(done.to_xid, until, done.era_after);
  perform facts.roll_up_fact_accesses_between(done.to_xid, until, done.era_after);
  update importance.access_roll_up
  set to_xid = until, rolled_up_at = clock_timestamp(), newest_at = greatest(newest_at, (
    select max(a.accessed_at) from importance.memory_access_log a
    where a.xid >= done.to_xid and a.xid < until and a.accessed_at > done.era_after));
  return least(counted, max_rows);
end
$$;

comment on function facts.roll_up_accesses(integer) is
  'Counts accesses and feedback that have committed into memory_signals (of facts: into their own rows), each exactly once, whole transactions in order, about max_rows rows at most; returns about how many, 0: nothing left. Counters and how far it came commit together, so that it may be broken off, run twice, or at the same time. Nothing in flight is ever skipped.';

grant execute on function facts.roll_up_accesses(integer) to l9_worker;
