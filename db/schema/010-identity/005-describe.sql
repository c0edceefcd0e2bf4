-- Comments on tables, views and composite types: chapters describe one right after they create it.
create procedure identity.describe(relation regclass, texts text) language plpgsql set search_path = '' as $$
declare
  kind constant text := (
    select case c.relkind when 'c' then 'type' when 'v' then 'view' when 'm' then 'materialized view' else 'table' end
    from pg_class c where c.oid = relation);
  lines constant text[] := string_to_array(regexp_replace(texts, '\n {4}', ' ', 'g'), E'\n  ');
  line text;
begin
  execute format('comment on %s %s is %L', kind, relation, lines[1]);
  foreach line in array lines[2:] loop
    execute format('comment on column %s.%I is %L', relation, split_part(line, ': ', 1), substr(line, strpos(line, ': ') + 2));
  end loop;
end $$;
comment on procedure identity.describe is 'Sets the comments of a relation: its own and, from a line each, those of its columns. '
  'Such a line is two spaces, the name, a colon and the text; a line that begins with four spaces continues the one before it.';
