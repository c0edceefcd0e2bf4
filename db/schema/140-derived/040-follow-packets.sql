-- How derived rows follow their memory. derive_from_packets() enters its table in a list, which two triggers of packet_store go
-- through; a chapter whose rows follow a memory in a way of their own calls follow_packets().
create table derived.derived_tables (
  table_name text primary key,
  source_column text not null,
  trace_column text,
  has_own_way boolean not null
);
call identity.describe('derived.derived_tables', 'The tables whose rows follow a memory. Migrations fill it, by
    derive_from_packets() and list_table().
  table_name: A table of the schema public.
  source_column: Its column that names the memory.
  trace_column: Its column for the trace of the memory; null if its rows hold no references.
  has_own_way: True if triggers of its own chapter move its rows to the owner, project, scope and expiry of their memory.');

alter table derived.derived_tables enable row level security, force row level security;
create policy definer_functions on derived.derived_tables to l9_owner using (true);
comment on policy definer_functions on derived.derived_tables is 'Migrations fill the list, and triggers read it.';

create procedure derived.list_table(table_name text, source_column text, trace_column text, has_own_way boolean)
language sql set search_path = ''
begin atomic
  insert into derived.derived_tables (table_name, source_column, trace_column, has_own_way)
  values (list_table.table_name, list_table.source_column, list_table.trace_column, list_table.has_own_way);
end;
comment on procedure derived.list_table is 'Makes a table follow its memories. The arguments are columns of derived_tables.';

-- The job that stores vectors copies the references, too; the other columns follow before the row is written.
call derived.list_table('memory_embeddings', 'packet_id', 'trace_id', has_own_way => true);

create procedure derived.follow_packets(trigger_name text, function_name text) language plpgsql set search_path = '' as $$
begin
  execute format($sql$
    create trigger %I after update on public.packet_store for each row
    when (
      (new.tenant_id, new.scope) is distinct from (old.tenant_id, old.scope)
      or new.org_id is distinct from old.org_id
      or new.user_id is distinct from old.user_id
      or new.project_id is distinct from old.project_id
      or new.ttl is distinct from old.ttl)
    execute function %s()$sql$, trigger_name, function_name);
end $$;
comment on procedure derived.follow_packets is 'Creates a trigger for each memory whose readers or expiry change.';

create function derived.tg_packet_store__derived_follow() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  follower derived.derived_tables;
begin
  for follower in select t.* from derived.derived_tables t where not t.has_own_way order by t.table_name loop
    execute format(
      'update public.%I d set tenant_id = $1, org_id = $2, user_id = $3, project_id = $4, scope = $5, ttl = $6,
         updated_at = clock_timestamp()
       where d.%I = $7', follower.table_name, follower.source_column)
    using new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope, new.ttl, new.packet_id;
  end loop;
  return null;
end $$;
comment on function derived.tg_packet_store__derived_follow is 'Copies a memory''s new owner, project, scope and expiry to the '
  'rows derived from it, in the tables of derived_tables that have no way of their own. Definer: callers can''t write these '
  'tables.';

create function derived.tg_packet_store__references_follow() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  follower derived.derived_tables;
begin
  for follower in select t.* from derived.derived_tables t where t.trace_column is not null order by t.table_name loop
    -- updated_at stays, because nothing that the row says has changed.
    execute format('update public.%I d set correlation_id = $1, session_id = $2, %I = $3 where d.%I = $4',
      follower.table_name, follower.trace_column, follower.source_column)
    using new.correlation_id, new.session_id, new.trace_id, new.packet_id;
  end loop;
  return null;
end $$;
comment on function derived.tg_packet_store__references_follow is 'Copies a memory''s new correlation, session and trace to the '
  'rows derived from it, in the tables of derived_tables. Definer: callers can''t write these tables.';

call derived.follow_packets('_620_derived_follow', 'derived.tg_packet_store__derived_follow');
create trigger _625_references_follow after update of correlation_id, session_id, trace_id on public.packet_store for each row
  when ((new.correlation_id, new.session_id, new.trace_id) is distinct from (old.correlation_id, old.session_id, old.trace_id))
  execute function derived.tg_packet_store__references_follow();
