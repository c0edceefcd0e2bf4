create table views.memory_view_refreshes (
  view_name text primary key,
  refreshed_at timestamptz,
  seconds double precision,
  xid xid8
);

comment on table views.memory_view_refreshes is 'When each materialized view was last refreshed.';
comment on column views.memory_view_refreshes.view_name is 'The view, in views.';
comment on column views.memory_view_refreshes.refreshed_at is 'What it shows is as of then; null: it was never refreshed, and is empty.';
comment on column views.memory_view_refreshes.seconds is 'How long that took.';
comment on column views.memory_view_refreshes.xid is 'The transaction that is refreshing it at this moment.';

alter table views.memory_view_refreshes enable row level security;
alter table views.memory_view_refreshes force row level security;
create policy definer_functions on views.memory_view_refreshes to l9_owner using (true);
comment on policy definer_functions on views.memory_view_refreshes is 'refresh_memory_views() keeps it; nobody else writes it.';
-- No grant to anyone: who could write it could see as much as a refresh does.

insert into views.memory_view_refreshes (view_name)
values ('mv_agent_recent_important'), ('mv_entity_graph'), ('mv_high_confidence_facts'), ('mv_reflection_patterns');

create function views.is_refreshing_views()
returns boolean
language plpgsql
stable
parallel restricted
security definer
set search_path = ''
as $$
begin
  -- The setting, which anybody can make, only saves looking; the row is what counts.
  return coalesce(current_setting('l9.refreshing_views', true) = 'on', false)
    and exists (select from views.memory_view_refreshes r where r.xid = pg_current_xact_id_if_assigned());
end
$$;

comment on function views.is_refreshing_views() is
  'Whether refresh_memory_views() is at work in this transaction, at this moment: then policies show the owner, as whom it runs, all rows. Definer: reads the list of refreshes, which only that procedure writes. Not executable by callers.';

create policy definer_refresh on public.packet_store for select to l9_owner using ((select views.is_refreshing_views()));
create policy definer_refresh on public.memory_signals for select to l9_owner using ((select views.is_refreshing_views()));
create policy definer_refresh on public.knowledge_facts for select to l9_owner using ((select views.is_refreshing_views()));
create policy definer_refresh on public.entity_relationships for select to l9_owner using ((select views.is_refreshing_views()));
create policy definer_refresh on public.reflection_store for select to l9_owner using ((select views.is_refreshing_views()));
comment on policy definer_refresh on public.packet_store is 'refresh_memory_views() reads those of all tenants, whoever calls it.';
comment on policy definer_refresh on public.memory_signals is 'refresh_memory_views() reads those of all tenants, whoever calls it.';
comment on policy definer_refresh on public.knowledge_facts is 'refresh_memory_views() reads those of all tenants, whoever calls it.';
comment on policy definer_refresh on public.entity_relationships is 'refresh_memory_views() reads those of all tenants, whoever calls it.';
comment on policy definer_refresh on public.reflection_store is 'refresh_memory_views() reads those of all tenants, whoever calls it.';

create function views.check_page(k integer)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if k is null or k not between 1 and 500 then
    perform identity.raise_error('L9LIM', 'k: from 1 to 500', 'k');
  end if;
end
$$;

comment on function views.check_page(integer) is 'L9LIM unless it is from 1 to 500.';
