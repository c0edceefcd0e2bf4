-- When each materialized view was refreshed, and the policies by which a refresh reads all tenants.
-- refresh_memory_views() writes the table; memory_views_status() shows it.
create table views.memory_view_refreshes (
  view_name text primary key,
  refreshed_at timestamptz,
  seconds double precision,
  xid xid8
);
comment on table views.memory_view_refreshes is 'Time of the last refresh of each materialized view.';
comment on column views.memory_view_refreshes.view_name is 'Name of the view, in schema views.';
comment on column views.memory_view_refreshes.refreshed_at is 'The view shows the state at this time. Null: it was never '
  'refreshed and is empty.';
comment on column views.memory_view_refreshes.seconds is 'Duration of the refresh in seconds.';
comment on column views.memory_view_refreshes.xid is 'The transaction that is refreshing the view now; null if none is.';
call identity.keep_private('views.memory_view_refreshes', functions => 'Only refresh_memory_views() writes the table.');
-- There are no grants, because a role that could write the table could read as much as a refresh does.

insert into views.memory_view_refreshes (view_name)
values ('mv_agent_recent_important'), ('mv_entity_graph'), ('mv_high_confidence_facts'), ('mv_recurring_lessons'),
  ('mv_reflection_patterns');

create function views.is_refreshing_views() returns boolean
language plpgsql stable parallel restricted security definer set search_path = '' as $$
begin
  -- Anybody can set the setting. It only saves the lookup; the row decides.
  return coalesce(current_setting('l9.refreshing_views', true) = 'on', false)
    and exists (select from views.memory_view_refreshes r where r.xid = pg_current_xact_id_if_assigned());
end $$;
comment on function views.is_refreshing_views is 'True while refresh_memory_views() runs in this transaction. During that time '
  'policies show all rows to the owner, as whom it runs. Definer: reads the table of refreshes, which only that procedure '
  'writes.';
create policy definer_refresh on public.packet_store for select to l9_owner
  using (withheld_creator is null and (select views.is_refreshing_views()));
create policy definer_refresh on public.memory_signals for select to l9_owner using ((select views.is_refreshing_views()));
create policy definer_refresh on public.knowledge_facts for select to l9_owner using ((select views.is_refreshing_views()));
create policy definer_refresh on public.entity_relationships for select to l9_owner using ((select views.is_refreshing_views()));
create policy definer_refresh on public.reflection_store for select to l9_owner using ((select views.is_refreshing_views()));
comment on policy definer_refresh on public.packet_store is 'refresh_memory_views() reads the rows of all tenants, for any '
  'caller.';
comment on policy definer_refresh on public.memory_signals is 'refresh_memory_views() reads the rows of all tenants, for any '
  'caller.';
comment on policy definer_refresh on public.knowledge_facts is 'refresh_memory_views() reads the rows of all tenants, for any '
  'caller.';
comment on policy definer_refresh on public.entity_relationships is 'refresh_memory_views() reads the rows of all tenants, for '
  'any caller.';
comment on policy definer_refresh on public.reflection_store is 'refresh_memory_views() reads the rows of all tenants, for any '
  'caller.';
