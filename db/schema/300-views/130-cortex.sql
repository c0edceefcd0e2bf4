-- The tables of the older system as views in a schema of their own, for programs that still read them. No function of the
-- product calls them.

-- Finds for each field the column of the view of the kind, which has the kind as prefix where every view has a column
-- of that name, and copies its comment.
create procedure kinds.create_older_view(older_name text, kind text)
language plpgsql set search_path = '' as $$
declare
  columns text[] := array['p.packet_id as id'];
  meanings jsonb := '{}';
  field public.memory_kind_fields;
  name text;
begin
  for field in
    select f.*
    from public.memory_kind_fields f
    join public.memory_kinds k on k.kind_id = f.kind_id and k.kind = create_older_view.kind and k.tenant_id is null
    order by f.place
  loop
    -- The older tables name the type of a list of objects.
    foreach name in array
      case field.type when 'object[]' then array[field.field, field.field || '_jsonb'] else array[field.field] end
    loop
      columns := columns || format('%s as %I', kinds.typed_value(field), name);
      meanings := meanings || jsonb_build_object(name, field.meaning);
    end loop;
  end loop;
  meanings := meanings || jsonb_build_object(
    'id', 'The memory.', 'tags', 'The tags of the memory.',
    'content_hash', 'The content hash of the memory in hexadecimal digits.',
    'ts', 'When it happened: the event time of the memory.', 'expires_at', 'From when on nobody can read it; null: it stays.',
    'created_at', 'When the memory was saved.', 'updated_at', 'When a caller last changed the memory.');
  execute format(
    $sql$create view cortex.%I with (security_invoker = true) as
      select %s, p.tags, encode(p.content_hash, 'hex') as content_hash, p."timestamp" as ts, p.ttl as expires_at,
        p.created_at, p.updated_at
      from public.packet_store p where p.packet_type = %L and p.withheld_creator is null$sql$,
    older_name, array_to_string(columns, ', '), kind);
  execute format('comment on view cortex.%I is %L', older_name, format(
    'Memories of kind %s as the older system''s table %s: what the caller may read. Read-only; %s has more columns.',
    kind, older_name, kinds.view_name(kind)));
  for name in
    select a.attname from pg_attribute a where a.attrelid = format('cortex.%I', older_name)::regclass and a.attnum > 0
  loop
    execute format('comment on column cortex.%I.%I is %L', older_name, name, meanings ->> name);
  end loop;
  execute format('grant select on cortex.%I to l9_agent, l9_admin, l9_platform_admin', older_name);
end $$;
comment on procedure kinds.create_older_view is 'Creates the view in schema cortex that shows a built-in kind under the older '
  'system''s name, with its fields as columns, and id, tags, content_hash, ts, expires_at, created_at and updated_at. A list of '
  'objects, such as steps, is also steps_jsonb.';

do $$
declare
  older record;
begin
  for older in
    select *
    from (values
      ('document', 'document'), ('section', 'section'), ('runbook', 'runbook'), ('pr_context', 'pr_context'),
      ('ddl_history', 'ddl'), ('release_note', 'release_note'), ('change_log', 'change'), ('issue_log', 'issue'),
      ('adr_decision', 'decision'), ('todo_log', 'todo')
    ) as v (name, kind)
  loop
    call kinds.create_older_view(older.name, older.kind);
  end loop;
end $$;

create view cortex.event_audit with (security_invoker = true) as
select
  a.audit_id as id,
  a.table_name as entity_type,
  a.row_id as entity_id,
  a.operation,
  a.caller as actor,
  a.details - '{caller,creator,source,tool_name}'::text[]
    || jsonb_strip_nulls(jsonb_build_object(
      'status', a.status, 'sqlstate', a.sqlstate, 'project_id', a.project_id, 'scope', a.scope)) as change,
  a.occurred_at as ts,
  a.occurred_at as created_at
from public.audit_log a;
comment on view cortex.event_audit is 'The audit log as the older system''s table event_audit: what was done to which row, by '
  'whom. Read-only. Its readers are those of audit_log: administrators within their tenant and scopes, and operators.';
comment on column cortex.event_audit.id is 'The row of audit_log.';
comment on column cortex.event_audit.entity_type is 'The table that was changed or read; packet_store holds memories of all '
  'kinds.';
comment on column cortex.event_audit.entity_id is 'The row that was changed or read; null if there were several (change names '
  'their ids) or none.';
comment on column cortex.event_audit.operation is 'INSERT, UPDATE, DELETE, SEARCH, READ and the other operations of audit_log.';
comment on column cortex.event_audit.actor is 'The actor that did it.';
comment on column cortex.event_audit.change is 'What is known of it, without contents: the kind of a memory, its former scope or '
  'project, filters, counts and ids, and status.';
comment on column cortex.event_audit.ts is 'When it happened.';
comment on column cortex.event_audit.created_at is 'When it happened.';
grant select on cortex.event_audit to l9_admin, l9_platform_admin;
-- No grant for l9_agent, as on audit_log: rows about other callers would reveal what it must not know.
