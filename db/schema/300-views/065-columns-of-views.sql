-- Comments on those columns of the materialized views that show a row of a table: they are copied from the table. The comments
-- on the others stand beside their views.
do $$
declare
  shown record;
begin
  for shown in
    select v.relname, a.attname, col_description(o.attrelid, o.attnum) || ' As of the last refresh.' as meaning
    from (values ('mv_agent_recent_important', 'packet_store'), ('mv_entity_graph', 'entity_relationships'),
      ('mv_high_confidence_facts', 'knowledge_facts'), ('mv_recurring_lessons', 'reflection_store'),
      ('mv_reflection_patterns', 'reflection_store')) as s (view_name, table_name)
    join pg_class v on v.relname = s.view_name and v.relnamespace = 'views'::regnamespace
    join pg_attribute a on a.attrelid = v.oid and a.attnum > 0 and col_description(v.oid, a.attnum) is null
    join pg_attribute o on o.attrelid = format('public.%I', s.table_name)::regclass and o.attname = a.attname
  loop
    execute format('comment on column views.%I.%I is %L', shown.relname, shown.attname, shown.meaning);
  end loop;
end $$;
