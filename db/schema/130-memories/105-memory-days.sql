-- Counts memories, events and sessions by day, for a timeline. Callers reach memory_days() over GraphQL and psql.
create type public.memory_day as (day date, memories integer, events integer, sessions integer, is_partial boolean);
call identity.describe('public.memory_day', 'How many memories that the caller may read are of one day.
  day: The day of their event time, in the time zone of the call.
  memories: The number of memories, without events and sessions.
  events: The number of memories of kind event.
  sessions: The number of memories of kind session: the archived sessions.
  is_partial: True of the oldest day, if counting stopped there.');

create function memories.max_counted() returns integer language sql immutable parallel safe return 20000;
comment on function memories.max_counted is 'How many memories memory_days() counts at most.';
grant execute on function memories.max_counted to l9_agent, l9_admin, l9_platform_admin;

-- Walks the index of event times backwards, so that the newest days are whole where there are too many memories.
create function public.memory_days(
  since timestamptz default '-infinity', until timestamptz default null, time_zone text default 'UTC',
  project_id text default null)
returns setof public.memory_day
language plpgsql volatile set search_path = '' as $$
declare
  days public.memory_day[];
begin
  perform identity.require_identity();
  memory_days.until := coalesce(memory_days.until, 'infinity');
  memory_days.project_id := identity.given_text(memory_days.project_id);
  if memory_days.since is null then
    perform identity.raise_error('L9VAL', 'since: the beginning of the first day');
  end if;
  begin
    perform now() at time zone coalesce(memory_days.time_zone, 'UTC');
  exception when invalid_parameter_value then
    perform identity.raise_error('L9VAL', 'time_zone: must be a time zone such as UTC or Europe/Berlin');
  end;
  with counted as materialized (
    select (p."timestamp" at time zone coalesce(memory_days.time_zone, 'UTC'))::date as happened_on, p.packet_type
    from public.packet_store p
    where p."timestamp" >= memory_days.since and p."timestamp" < memory_days.until
      and (p.ttl is null or p.ttl > now()) and (p.archived_at is null or p.archived_at > now())
      and (memory_days.project_id is null or p.project_id = memory_days.project_id)
    order by p."timestamp" desc limit memories.max_counted() + 1
  ), by_day as (
    select c.happened_on, count(*) filter (where c.packet_type not in ('event', 'session')) as memories,
      count(*) filter (where c.packet_type = 'event') as events, count(*) filter (where c.packet_type = 'session') as sessions
    from counted c group by c.happened_on
  )
  select array_agg(row(d.happened_on, d.memories, d.events, d.sessions, d.happened_on = (select min(c.happened_on) from counted c)
    and (select count(*) from counted) > memories.max_counted())::public.memory_day order by d.happened_on desc)
  into days
  from by_day d;
  perform audit.audit_read('STATS', jsonb_strip_nulls(jsonb_build_object('function', 'memory_days', 'since', memory_days.since,
    'until', memory_days.until, 'project_id', memory_days.project_id, 'days', coalesce(cardinality(days), 0))),
    project_id => memory_days.project_id);
  return query select d.* from unnest(days) d;
end $$;
comment on function public.memory_days is 'Counts the memories that the caller may read by the day on which they happened, since '
  '(inclusive) until (exclusive; null: no end), the newest day first; of more than 20,000 the newest. Days without any are left '
  'out. time_zone decides where a day begins. Writes an audit row. Errors: L9VAL, L9AUT.';
grant execute on function public.memory_days to l9_agent, l9_admin, l9_platform_admin;
