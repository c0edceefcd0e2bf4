-- Adds the access log and feedback to memory_signals. The roll-up job asks are_accesses_waiting(); roll_up_accesses()
-- then calls lock_accessed_memories() and roll_up_accesses_between(). Metrics call access_backlog().
create function importance.count_accesses(packet_ids uuid[], from_xid xid8, to_xid xid8, era_after timestamptz) returns void
language sql volatile set search_path = ''
begin atomic
  insert into public.memory_signals as s (packet_id, tenant_id, last_accessed, access_count)
  select p.packet_id, p.tenant_id, max(a.accessed_at), count(*)
  from importance.memory_access_log a
  -- A join, because the list is long and `any` would walk it for each access.
  join unnest(packet_ids) as l (id) on l.id = a.target_id
  join public.packet_store p on p.packet_id = l.id and importance.could_read(a, p)
  where a.target_type = 'memory' and a.xid >= from_xid and a.xid < to_xid and a.accessed_at > era_after group by p.packet_id
  order by p.packet_id
  on conflict (packet_id) do update set
    access_count = s.access_count + excluded.access_count, last_accessed = greatest(s.last_accessed, excluded.last_accessed);
end;
comment on function importance.count_accesses is 'Adds these transactions'' accesses to those of locked memories.';

-- Writers lock a memory, then what is derived from it, then its statistics. The roll-up takes its locks in this order, too.
create function importance.lock_accessed_memories(
  from_xid xid8, to_xid xid8, era_after timestamptz, out locked_ids uuid[], out recounted_ids uuid[])
language plpgsql volatile set search_path = '' as $$
begin
  with taken as (
    delete from importance.pending_recounts r
    where r.recount_id in (select n.recount_id from importance.pending_recounts n order by n.recount_id limit 10000)
    returning r.packet_id
  ), asked as (
    select t.packet_id from taken t
    union
    select f.packet_id from public.memory_feedback f
    where f.xid >= lock_accessed_memories.from_xid and f.xid < lock_accessed_memories.to_xid
  )
  select coalesce(array_agg(a.packet_id), '{}') into recounted_ids from asked a;
  -- Rows are locked in order of their ids, so that this waits for a concurrent delete and can't deadlock.
  locked_ids := array(
    select p.packet_id from public.packet_store p
    where p.packet_id in (
      select a.target_id from importance.memory_access_log a
      where a.target_type = 'memory' and a.accessed_at > lock_accessed_memories.era_after
        and a.xid >= lock_accessed_memories.from_xid and a.xid < lock_accessed_memories.to_xid
      union all
      select c.id from unnest(recounted_ids) as c (id))
    order by p.packet_id
    for key share);
  recounted_ids := array(
    select c.id from unnest(recounted_ids) as c (id)
    intersect
    select l.id from unnest(locked_ids) as l (id));
end $$;
comment on function importance.lock_accessed_memories is 'Locks the memories that these transactions accessed or voted on, and '
  'up to 10,000 of pending_recounts, which it deletes there. recounted_ids: those whose voices must be counted again.';

-- Each count is a statement of its own, which sees what was committed before the locks were granted.
create function importance.roll_up_accesses_between(
  from_xid xid8, to_xid xid8, era_after timestamptz, locked_ids uuid[], recounted_ids uuid[]) returns void
language plpgsql volatile set search_path = '' as $$
declare
  voice_ids uuid[];
begin
  if cardinality(locked_ids) = 0 then
    return;
  end if;
  perform importance.count_accesses(
    locked_ids, roll_up_accesses_between.from_xid, roll_up_accesses_between.to_xid, roll_up_accesses_between.era_after);
  insert into public.memory_signals (packet_id, tenant_id)
  select p.packet_id, p.tenant_id from public.packet_store p where p.packet_id = any (recounted_ids) order by p.packet_id
  on conflict do nothing;
  perform importance.lock_signals(locked_ids);
  voice_ids := recounted_ids || importance.count_reads(
    locked_ids, roll_up_accesses_between.from_xid, roll_up_accesses_between.to_xid, roll_up_accesses_between.era_after);
  voice_ids := array(select distinct c.id from unnest(voice_ids) as c (id));
  if cardinality(voice_ids) > 0 then
    perform importance.count_votes_and_citations(voice_ids);
    perform importance.sum_voices(voice_ids);
  end if;
end $$;
comment on function importance.roll_up_accesses_between is 'Adds the accesses of these transactions that are later than '
  'era_after to memory_signals, and counts again the voices of agents on the memories that they read and on recounted_ids. The '
  'caller holds the locks of lock_accessed_memories(), which returned both lists.';

create function importance.are_accesses_waiting() returns boolean language sql stable set search_path = ''
begin atomic
  select exists (
      select from importance.memory_access_log a
      where a.xid >= r.to_xid and a.xid < pg_snapshot_xmin(pg_current_snapshot()) and a.accessed_at > r.era_after)
    or exists (select from public.memory_feedback f where f.xid >= r.to_xid and f.xid < pg_snapshot_xmin(pg_current_snapshot()))
    or exists (select from importance.pending_recounts)
    or r.to_xid > pg_snapshot_xmax(pg_current_snapshot())
  from importance.access_roll_up r;
end;
comment on function importance.are_accesses_waiting is 'True if there may be something to roll up; cheap.';

create function importance.access_backlog()
returns table (waiting bigint, oldest_seconds double precision, rolled_up_at timestamptz)
language sql stable set search_path = ''
begin atomic
  with progress as (select r.to_xid, r.era_after, r.rolled_up_at from importance.access_roll_up r)
  select count(*), coalesce(extract(epoch from clock_timestamp() - min(w.at)), 0)::double precision,
    (select d.rolled_up_at from progress d)
  from (
    (select a.accessed_at as at from importance.memory_access_log a
     where a.xid >= (select d.to_xid from progress d) and a.accessed_at > (select d.era_after from progress d) limit 100000)
    union all
    (select f.given_at from public.memory_feedback f where f.xid >= (select d.to_xid from progress d) limit 100000)
    union all
    (select n.queued_at from importance.pending_recounts n limit 100000)
  ) w;
end;
comment on function importance.access_backlog is 'How many accesses, votes and recounts are not rolled up yet (at most 100,000 '
  'of each are counted), the age of the oldest in seconds, and when something was last rolled up.';
grant execute on function importance.count_accesses, importance.lock_accessed_memories, importance.roll_up_accesses_between,
  importance.are_accesses_waiting, importance.access_backlog to l9_worker;
