create table importance.access_roll_up (
  is_only boolean primary key default true check (is_only),
  to_xid xid8 not null default '0',
  era_after timestamptz not null default '-infinity',
  newest_at timestamptz not null default '-infinity',
  rolled_up_at timestamptz
);

comment on table importance.access_roll_up is 'How far the access log and feedback have been rolled up: one row.';
comment on column importance.access_roll_up.is_only is 'There is one row.';
comment on column importance.access_roll_up.to_xid is 'All that transactions before this one wrote is in memory_signals.';
comment on column importance.access_roll_up.era_after is
  'Accesses up to this time were written in another cluster, from which this database was restored, and are all rolled up.';
comment on column importance.access_roll_up.newest_at is 'The newest access that is rolled up.';
comment on column importance.access_roll_up.rolled_up_at is 'When something was last rolled up.';

alter table importance.access_roll_up enable row level security;
alter table importance.access_roll_up force row level security;
create policy worker_access on importance.access_roll_up to l9_worker using (true);
create policy definer_functions on importance.access_roll_up to l9_owner using (true);
comment on policy worker_access on importance.access_roll_up is 'The job goes on from there.';
comment on policy definer_functions on importance.access_roll_up is 'drop_access_partition() drops only what is rolled up.';
grant select, update (to_xid, era_after, newest_at, rolled_up_at) on importance.access_roll_up to l9_worker;

insert into importance.access_roll_up default values;

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
    -- Only where it is true of the memory that the caller could read it: what is in the log a caller said of itself.
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
  ), kept as materialized (
    -- In order, so that it waits for whoever deletes one, and deadlocks with nobody.
    select p.packet_id, p.tenant_id
    from public.packet_store p
    where p.packet_id in (select c.packet_id from changed c)
    order by p.packet_id
    for key share
  ), opinions as (
    -- All that was ever said of it: the last word of each access, so that it may be counted again without harm.
    select f.packet_id, f.agent_id, count(*) filter (where f.was_useful) as votes_for,
      count(*) filter (where not f.was_useful) as votes_against
    from public.memory_feedback f
    where f.packet_id in (select k.packet_id from kept k)
    group by f.packet_id, f.agent_id
  ), judged as (
    select o.packet_id, sum(importance.opinion(o.votes_for, o.votes_against)) as useful,
      sum(importance.opinion(o.votes_against, o.votes_for)) as useless
    from opinions o
    group by o.packet_id
  )
  insert into public.memory_signals as s (packet_id, tenant_id, last_accessed, access_count, use_weight, useful, useless)
  select k.packet_id, k.tenant_id, a.last_accessed, coalesce(a.times, 0), coalesce(a.use_weight, 0),
    coalesce(j.useful, 0), coalesce(j.useless, 0)
  from kept k
  left join accessed a on a.packet_id = k.packet_id
  left join judged j on j.packet_id = k.packet_id
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
  'Adds accesses of these transactions, later than era_after, to memory_signals, and counts all votes on memories that they voted on. Not executable by callers: roll_up_accesses() knows from where to where.';

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

comment on function importance.are_accesses_waiting() is 'Whether there may be something to roll up: cheap, for a job that asks often.';

create function importance.access_backlog()
returns table (waiting bigint, oldest_seconds double precision, rolled_up_at timestamptz)
language sql
stable
set search_path = ''
begin atomic
  with done as (select r.to_xid, r.era_after, r.rolled_up_at from importance.access_roll_up r)
  select count(*), coalesce(extract(epoch from clock_timestamp() - min(w.at)), 0)::double precision,
    (select d.rolled_up_at from done d)
  from (
    (select a.accessed_at as at from importance.memory_access_log a
     where a.xid >= (select d.to_xid from done d) and a.accessed_at > (select d.era_after from done d) limit 100000)
    union all
    (select f.given_at from public.memory_feedback f where f.xid >= (select d.to_xid from done d) limit 100000)
  ) w;
end;

comment on function importance.access_backlog() is
  'How many accesses and votes are not rolled up yet (100,000 of each at most are counted), the age of the oldest in seconds, and when something was last rolled up.';

grant execute on function
  importance.roll_up_accesses_between(xid8, xid8, timestamptz), importance.are_accesses_waiting(), importance.access_backlog()
to l9_worker;
