create procedure public.refresh_memory_views()
language plpgsql
security definer
set search_path = ''
as $$
declare
  view record;
  began timestamptz;
begin
  if identity.current_role_name() in ('l9_admin', 'l9_platform_admin') then
    perform identity.require_identity();
  end if;
  perform set_config('l9.refreshing_views', 'on', true);
  -- One at a time.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory refresh of views', 0));
  for view in
    select r.view_name, c.relispopulated as is_populated
    from views.memory_view_refreshes r
    join pg_catalog.pg_class c on c.relname = r.view_name and c.relnamespace = 'views'::regnamespace
    order by r.view_name
  loop
    began := clock_timestamp();
    update views.memory_view_refreshes r set xid = pg_current_xact_id() where r.view_name = view.view_name;
    -- Readers go on meanwhile; a view that was never filled, as after a restore without data, has none to keep.
    execute format('refresh materialized view %s views.%I', case when view.is_populated then 'concurrently' else '' end, view.view_name);
    update views.memory_view_refreshes r
    set xid = null, refreshed_at = began, seconds = extract(epoch from clock_timestamp() - began)
    where r.view_name = view.view_name;
  end loop;
  perform set_config('l9.refreshing_views', 'off', true);
end
$$;

comment on procedure public.refresh_memory_views() is
  'Refreshes the materialized views, one after the other, without keeping anyone from reading them. For admins, operators and jobs; daily by the scheduler. Definer: only their owner refreshes them, and sees, while it does, the rows of all tenants.';

grant execute on procedure public.refresh_memory_views() to l9_admin, l9_platform_admin, l9_worker;

create type public.memory_view_status as (view_name text, refreshed_at timestamptz, age_seconds double precision, seconds double precision);
comment on type public.memory_view_status is 'How old a materialized view is.';
comment on column public.memory_view_status.view_name is 'The view.';
comment on column public.memory_view_status.refreshed_at is 'What it shows is as of then; null: it was never refreshed.';
comment on column public.memory_view_status.age_seconds is 'How long ago that was.';
comment on column public.memory_view_status.seconds is 'How long the refresh took.';

create function public.memory_views_status()
returns setof public.memory_view_status
language sql
stable
security definer
set search_path = ''
begin atomic
  select r.view_name, r.refreshed_at, extract(epoch from clock_timestamp() - r.refreshed_at)::double precision, r.seconds
  from views.memory_view_refreshes r
  order by r.view_name;
end;

comment on function public.memory_views_status() is
  'How old the materialized views are. Definer: the list is closed to callers; its names and times say nothing of what is in them.';

grant execute on function public.memory_views_status() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
