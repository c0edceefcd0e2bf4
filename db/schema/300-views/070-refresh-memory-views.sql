-- Refreshes the materialized views. The gateway's daily job calls the procedure, and administrators may do so over
-- GraphQL and psql.
create procedure public.refresh_memory_views() language plpgsql security definer set search_path = '' as $$
declare
  view record;
  started_at timestamptz;
begin
  if identity.current_role_name() in ('l9_admin', 'l9_platform_admin') then
    perform identity.require_identity();
  end if;
  perform set_config('l9.refreshing_views', 'on', true);
  -- Only one refresh runs at a time.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory refresh of views', 0));
  for view in
    select r.view_name, c.relispopulated as is_populated
    from views.memory_view_refreshes r
    join pg_catalog.pg_class c on c.relname = r.view_name and c.relnamespace = 'views'::regnamespace
    order by r.view_name
  loop
    started_at := clock_timestamp();
    update views.memory_view_refreshes r set xid = pg_current_xact_id() where r.view_name = view.view_name;
    -- Readers are not blocked by a concurrent refresh. It is not possible for a view that was never filled, such as after a
    -- restore.
    execute format('refresh materialized view %s views.%I', case when view.is_populated then 'concurrently' else '' end,
      view.view_name);
    update views.memory_view_refreshes r
    set xid = null, refreshed_at = started_at, seconds = extract(epoch from clock_timestamp() - started_at)
    where r.view_name = view.view_name;
  end loop;
  perform set_config('l9.refreshing_views', 'off', true);
end $$;
comment on procedure public.refresh_memory_views is 'Refreshes the materialized views one after another without blocking '
  'readers. A job calls it once a day; admins and operators may call it too. Definer: only the owner can refresh the views, and '
  'it reads the rows of all tenants while it does.';
grant execute on procedure public.refresh_memory_views to l9_admin, l9_platform_admin, l9_worker;
