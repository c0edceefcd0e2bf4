create function importance.roll_up_accesses_between(from_xid xid8, to_xid xid8, era_after timestamptz)
returns void
language sql
volatile
set search_path = ''
begin atomic
  with accesses as (
    select a.target_id as packet_id, a.accessed_at, case a.access_context when 'get' then 1 else 0.1 end as weight,
      max(a.accessed_at) over (partition by a.target_id) as last_accessed
    from importance.memory_access_log a
    -- An access counts only if the caller could read the memory, because callers could forge rows of the log.
    join public.packet_store p on p.packet_id = a.target_id and p.tenant_id = a.tenant_id and p.scope = a.scope
      and p.project_id is not distinct from a.project_id
      and (a.is_admin or (p.org_id is null or p.org_id = a.org_id) and (p.user_id is null or p.user_id = a.user_id))
    where a.target_type = 'memory'
      and a.xid >= roll_up_accesses_between.from_xid and a.xid < roll_up_accesses_between.to_xid
      and a.accessed_at > roll_up_accesses_between.era_after
  ), accessed as (
    select a.packet_id, a.last_accessed, count(*) as times,
      sum(importance.decayed(a.weight, a.accessed_at, a.last_accessed)) as use_weight
    from accesses a
    group by a.packet_id, a.last_accessed
  ), changed as (
    select a.packet_id from accessed a
    union
    select f.packet_id from public.memory_feedback f
    where f.xid >= roll_up_accesses_between.from_xid and f.xid < roll_up_accesses_between.to_xid
  ), locked as materialized (
    -- Rows are locked in order of their ids, so that this waits for a concurrent delete and can't deadlock.
    select p.packet_id, p.tenant_id
    from public.packet_store p
    where p.packet_id in (select c.packet_id from changed c)
    order by p.packet_id
    for key share
  ), opinions as (
    -- All votes on the memory, the last one for each access, so that counting them again does no harm.
    select f.packet_id, f.agent_id, count(*) filter (where f.was_useful) as votes_for,
      count(*) filter (where not f.was_useful) as votes_against
    from public.memory_feedback f
    where f.packet_id in (select k.packet_id from locked k)
    group by f.packet_id, f.agent_id
  ), feedback as (
    select o.packet_id, sum(importance.opinion(o.votes_for, o.votes_against)) as useful,
      sum(importance.opinion(o.votes_against, o.votes_for)) as useless
    from opinions o
    group by o.packet_id
  )
  insert into public.memory_signals as s (packet_id, tenant_id, last_accessed, access_count, use_weight, useful, useless)
  select k.packet_id, k.tenant_id, a.last_accessed, coalesce(a.times, 0), coalesce(a.use_weight, 0),
    coalesce(j.useful, 0), coalesce(j.useless, 0)
  from locked k
  left join accessed a on a.packet_id = k.packet_id
  left join feedback j on j.packet_id = k.packet_id
  order by k.packet_id
  on conflict (packet_id) do update set
    access_count = s.access_count + excluded.access_count,
    last_accessed = greatest(s.last_accessed, excluded.last_accessed),
    use_weight =
      importance.decayed(s.use_weight, s.last_accessed, greatest(s.last_accessed, excluded.last_accessed))
      + importance.decayed(excluded.use_weight, excluded.last_accessed, greatest(s.last_accessed, excluded.last_accessed)),
    useful = excluded.useful,
    useless = excluded.useless;
end;

comment on function importance.roll_up_accesses_between(xid8, xid8, timestamptz) is
  'Adds the accesses of these transactions that are later than era_after to memory_signals, and counts all votes on the memories these transactions voted on. Not executable by callers: roll_up_accesses() chooses the range.';

create function importance.are_accesses_waiting()
returns boolean
language sql
stable
set search_path = ''
begin atomic
  select exists (
      select from importance.memory_access_log a
      where a.xid >= r.to_xid and a.xid < pg_snapshot_xmin(pg_current_snapshot()) and a.accessed_at > r.era_after)
    or exists (
      select from public.memory_feedback f
      where f.xid >= r.to_xid and f.xid < pg_snapshot_xmin(pg_current_snapshot()))
    or r.to_xid > pg_snapshot_xmax(pg_current_snapshot())
  from importance.access_roll_up r;
end;

comment on function importance.are_accesses_waiting() is
  'True if there may be something to roll up. Cheap, for a job that asks often.';

create function importance.access_backlog()
returns table (waiting bigint, oldest_seconds double precision, rolled_up_at timestamptz)
language sql
stable
set search_path = ''
begin atomic
  with progress as (select r.to_xid, r.era_after, r.rolled_up_at from importance.access_roll_up r)
  select count(*), coalesce(extract(epoch from clock_timestamp() - min(w.at)), 0)::double precision,
    (select d.rolled_up_at from progress d)
  from (
    (select a.accessed_at as at from importance.memory_access_log a
     where a.xid >= (select d.to_xid from progress d) and a.accessed_at > (select d.era_after from progress d) limit 100000)
    union all
    (select f.given_at from public.memory_feedback f where f.xid >= (select d.to_xid from progress d) limit 100000)
  ) w;
end;

comment on function importance.access_backlog() is
  'How many accesses and votes are not rolled up yet (at most 100,000 of each are counted), the age of the oldest in seconds, and when something was last rolled up.';

grant execute on function
  importance.roll_up_accesses_between(xid8, xid8, timestamptz), importance.are_accesses_waiting(), importance.access_backlog()
to l9_worker;
