-- How old the materialized views are. Callers ask over GraphQL and psql, and DBAs when the daily refresh is in doubt.
create type public.memory_view_status as (view_name text, refreshed_at timestamptz, age_seconds double precision,
  seconds double precision);
call identity.describe('public.memory_view_status', 'Age of a materialized view.
  view_name: Name of the view.
  refreshed_at: The view shows the state at this time. Null: it was never refreshed.
  age_seconds: Seconds since the last refresh.
  seconds: Duration of the refresh in seconds.');

create function public.memory_views_status() returns setof public.memory_view_status
language sql stable security definer set search_path = ''
begin atomic
  select r.view_name, r.refreshed_at, extract(epoch from clock_timestamp() - r.refreshed_at)::double precision, r.seconds
  from views.memory_view_refreshes r order by r.view_name;
end;
comment on function public.memory_views_status is 'Age of each materialized view. Definer: callers cannot read the table of '
  'refreshes; its names and times reveal nothing about the contents of the views.';
grant execute on function public.memory_views_status to l9_agent, l9_admin, l9_platform_admin, l9_worker;
