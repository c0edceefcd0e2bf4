-- Makes the view of a kind from the rows of memory_kind_fields. The migration calls create_view() for each built-in kind.
create function kinds.view_name(kind text) returns text
language sql immutable parallel safe
-- A plural that says what the rows are.
return case kind when 'ddl' then 'ddl_migrations' else kind || 's' end;
comment on function kinds.view_name is 'The view of a built-in kind: the plural of its name, and ddl_migrations of ddl.';

create function kinds.typed_value(field public.memory_kind_fields) returns text language sql immutable parallel safe
return pg_catalog.format(
  case (field).type
    when 'text' then 'p.envelope ->> %L'
    when 'number' then 'kinds.field_number(p.envelope -> %L)'
    when 'boolean' then 'kinds.field_boolean(p.envelope -> %L)'
    when 'date' then 'kinds.field_date(p.envelope -> %L)'
    when 'timestamp' then 'kinds.field_time(p.envelope -> %L)'
    when 'uuid' then 'kinds.field_uuid(p.envelope -> %L)'
    when 'text[]' then 'kinds.field_texts(p.envelope -> %L)'
    else 'p.envelope -> %L'
  end, (field).field);
comment on function kinds.typed_value is 'The SQL of a field''s value with its type, in a view of packet_store p, or null.';

-- Builds the list of columns from the fields, creates the view, and copies the comments: GraphQL and psql show what a
-- field means without a second description.
create procedure kinds.create_view(kind text)
language plpgsql set search_path = '' as $$
declare
  view_name constant text := kinds.view_name(kind);
  -- Columns that every view has, with their comments.
  common constant text[] := array['packet_id', 'scope', 'project_id', 'branch', 'tags', 'ttl', 'archived_at', 'created_at',
    'updated_at'];
  built_in public.memory_kinds;
  column_name text;
  columns text[] := '{}';
  field public.memory_kind_fields;
begin
  select k.* into strict built_in from public.memory_kinds k where k.kind = create_view.kind and k.tenant_id is null;
  for field in select f.* from public.memory_kind_fields f where f.kind_id = built_in.kind_id order by f.place loop
    columns := columns || format('%s as %I', kinds.typed_value(field),
      case when field.field = any (common) then kind || '_' || field.field else field.field end);
  end loop;
  execute format(
    $sql$create view public.%I with (security_invoker = true) as
      select p.packet_id, %s, %s from public.packet_store p
      where p.packet_type = %L and p.withheld_creator is null$sql$,
    view_name, array_to_string(columns, ', '), (select string_agg('p.' || c, ', ') from unnest(common[2:]) as c), kind);

  execute format('comment on view public.%I is %L', view_name, format(
    '%s Memories of kind %s with their fields as typed columns: what the caller may read, archived ones too '
    '(archived_at is when they left searches). A value that its type does not allow, in a memory from before the rules, is null. '
    'To write, use memory_store or packet_store.',
    built_in.purpose, kind));
  for field in select f.* from public.memory_kind_fields f where f.kind_id = built_in.kind_id order by f.place loop
    column_name := case when field.field = any (common) then kind || '_' || field.field else field.field end;
    execute format('comment on column public.%I.%I is %L', view_name, column_name, field.meaning);
  end loop;
  foreach column_name in array common loop
    execute format('comment on column public.%I.%I is %L', view_name, column_name,
      col_description('public.packet_store'::regclass, (
      select a.attnum from pg_attribute a where a.attrelid = 'public.packet_store'::regclass and a.attname = column_name)));
  end loop;
  execute format('grant select on public.%I to l9_agent, l9_admin, l9_platform_admin', view_name);
end $$;
comment on procedure kinds.create_view is 'Creates the view of a built-in kind from the rows of its fields. A field with the '
  'name of a column that all views have gets the kind as prefix, such as pr_context_branch. The kinds of a tenant have no views: '
  'everybody could read their columns in the catalogue.';
