-- Turns the access log and the feedback into counters of memories and facts, transaction by transaction. The
-- gateway's roll-up job calls it until it returns 0.
create function facts.roll_up_accesses(max_rows integer default 10000) returns bigint
language plpgsql volatile set search_path = '' as $$
declare
  last_xid constant xid8 := '18446744073709551615';
  progress importance.access_roll_up;
  horizon xid8;
  until_xid xid8;
  first_xid xid8;
  row_total bigint;
  memories record;
begin
  if max_rows is null or max_rows not between 1 and 100000 then
    perform identity.raise_error('L9VAL', 'max_rows: must be from 1 to 100000');
  end if;
  -- One run at a time. The select is a statement of its own, so its snapshot includes what a previous run committed.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory access roll-up', 0));
  select * into strict progress from importance.access_roll_up;
  -- All transactions before the oldest running one have ended, so no further row of theirs can appear.
  horizon := pg_snapshot_xmin(pg_current_snapshot());
  if progress.to_xid > pg_snapshot_xmax(pg_current_snapshot()) then
    -- The progress lies in the future, so this database was restored from a dump into another cluster. First the rows of
    -- the dump that are not rolled up yet are counted; then its rows are skipped, because their transaction ids mean
    -- nothing in this cluster.
    if not exists (
        select from importance.memory_access_log a where a.xid >= progress.to_xid and a.accessed_at > progress.era_after)
      and not exists (select from public.memory_feedback f where f.xid >= progress.to_xid) then
      update importance.access_roll_up set to_xid = '0', era_after = newest_at;
      return 0;
    end if;
    horizon := last_xid;
  end if;

  -- About max_rows rows: a transaction is never split, even if it alone has more.
  select min(n.xid), (array_agg(n.xid order by n.xid))[max_rows + 1], count(*) into first_xid, until_xid, row_total
  from (
    (select a.xid from importance.memory_access_log a
     where a.xid >= progress.to_xid and a.xid < horizon and a.accessed_at > progress.era_after order by a.xid limit max_rows + 1)
    union all
    (select f.xid from public.memory_feedback f
     where f.xid >= progress.to_xid and f.xid < horizon order by f.xid limit max_rows + 1)
  ) n;
  if row_total = 0 then
    if not exists (select from importance.pending_recounts) then
      return 0;
    end if;
    until_xid := progress.to_xid;
  else
    until_xid := case when until_xid is null then horizon when until_xid > first_xid then until_xid
      else ((first_xid::text::numeric + 1)::text)::xid8 end;
  end if;
  -- Memories, facts, then the statistics of memories: the order in which callers that change memories lock them.
  select m.* into strict memories from importance.lock_accessed_memories(progress.to_xid, until_xid, progress.era_after) m;
  perform facts.roll_up_fact_accesses_between(progress.to_xid, until_xid, progress.era_after);
  perform importance.roll_up_accesses_between(
    progress.to_xid, until_xid, progress.era_after, memories.locked_ids, memories.recounted_ids);
  if row_total = 0 then
    return 1;
  end if;
  update importance.access_roll_up
  set to_xid = until_xid, rolled_up_at = clock_timestamp(), newest_at = greatest(newest_at, (
    select max(a.accessed_at) from importance.memory_access_log a
    where a.xid >= progress.to_xid and a.xid < until_xid and a.accessed_at > progress.era_after));
  return least(row_total, max_rows);
end $$;
comment on function facts.roll_up_accesses is 'Counts committed accesses and feedback into memory_signals (accesses of facts '
  'into their own rows), each exactly once, in whole transactions and in order, about max_rows rows at most, and voices anew '
  'where pending_recounts asks for it. Returns about how many; 0 means nothing is left. Counters and progress commit together, '
  'so the job can be interrupted, run twice or run concurrently. Accesses of transactions that are still running are counted '
  'later, never skipped.';
grant execute on function facts.roll_up_accesses to l9_worker;
