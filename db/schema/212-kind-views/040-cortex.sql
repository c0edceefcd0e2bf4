-- The tables of the older system as views in a schema of their own, for programs that still read them. They select
-- from the views of kinds, and one from agent_memory_events.

create schema cortex;

comment on schema cortex is
  'The tables of the older system as read-only views, under the policies of memories. Not exposed over GraphQL. New programs read decisions, issues and the other views of kinds.';

grant usage on schema cortex to l9_agent, l9_admin, l9_platform_admin;

-- Finds for each field the column of the view of the kind, which has the kind as prefix where every view has a column
-- of that name, and copies its comment.
create procedure kinds.create_older_view(older_name text, kind text)
language plpgsql
set search_path = ''
as $$
#variable_conflict use_variable
declare
  source constant regclass := format('public.%I', kinds.view_name(kind))::regclass;
  field record;
  columns text[] := array['packet_id as id'];
begin
  for field in
    select f.field, (select a.attname from pg_attribute a where a.attrelid = source and a.attname in (f.field, kind || '_' || f.field)
      order by length(a.attname) desc limit 1) as source_column
    from public.memory_kind_fields f
    join public.memory_kinds k on k.kind_id = f.kind_id and k.kind = kind and k.tenant_id is null
    order by f.place
  loop
    columns := columns || format('%I as %I', field.source_column, field.field);
  end loop;
  execute format('create view cortex.%I with (security_invoker = true) as select %s, created_at, updated_at from %s',
    older_name, array_to_string(columns, ', '), source);
  execute format('comment on view cortex.%I is %L', older_name, format(
    'Memories of kind %s as the older system''s table %s: what the caller may read. Read-only; %s has more columns.', kind, older_name, source));
  for field in
    select older.attname as name, col_description(source, (select a.attnum from pg_attribute a where a.attrelid = source and a.attname = any (
      case older.attname when 'id' then array['packet_id'] when 'branch' then array[kind || '_branch'] else array[older.attname::text] end))) as meaning
    from pg_attribute older
    where older.attrelid = format('cortex.%I', older_name)::regclass and older.attnum > 0
  loop
    execute format('comment on column cortex.%I.%I is %L', older_name, field.name, field.meaning);
  end loop;
  execute format('grant select on cortex.%I to l9_agent, l9_admin, l9_platform_admin', older_name);
end
$$;

comment on procedure kinds.create_older_view(text, text) is
  'Creates the view in schema cortex that shows a built-in kind under the older system''s name, with its fields as columns, id, created_at and updated_at.';

do $$
declare
  older record;
begin
  for older in
    select *
    from (values
      ('document', 'document'), ('section', 'section'), ('runbook', 'runbook'), ('pr_context', 'pr_context'), ('ddl_history', 'ddl'),
      ('release_note', 'release_note'), ('change_log', 'change'), ('issue_log', 'issue'), ('adr_decision', 'decision'), ('todo_log', 'todo')
    ) as v (name, kind)
  loop
    call kinds.create_older_view(older.name, older.kind);
  end loop;
end
$$;

create view cortex.event_audit with (security_invoker = true) as
select e.packet_id as id, e.event_type, e.agent_id, e."timestamp", e.content, e.created_at, e.updated_at
from public.agent_memory_events e;

comment on view cortex.event_audit is
  'Events as the older system''s table event_audit: what the caller may read of agent_memory_events. Read-only.';
comment on column cortex.event_audit.id is 'The memory that holds the event.';
comment on column cortex.event_audit.event_type is 'The type of the event.';
comment on column cortex.event_audit.agent_id is 'The agent that the event names.';
comment on column cortex.event_audit."timestamp" is 'When the event happened.';
comment on column cortex.event_audit.content is 'What happened.';
comment on column cortex.event_audit.created_at is 'When the memory was saved.';
comment on column cortex.event_audit.updated_at is 'When a caller last changed the memory.';

grant select on cortex.event_audit to l9_agent, l9_admin, l9_platform_admin;
