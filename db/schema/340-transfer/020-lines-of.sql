-- The statements that read rows as lines. export_memories() reads pages with them, and import_memories() compares what is stored
-- with what it was given.

create function transfer.object_of(alias text, columns text[]) returns text
language sql immutable parallel safe set search_path = ''
return '(select pg_catalog.to_jsonb(r) from (select ' || (
  select string_agg(pg_catalog.format('%s.%I', alias, c.name), ', ' order by c.place)
  from unnest(columns) with ordinality as c (name, place)) || ') as r)';
comment on function transfer.object_of is 'SQL for the JSON of a row with these columns alone.';

-- What is saved while an export runs belongs to the next one, so that nothing in the file refers to what is not in it.
create function transfer.source_of(kind transfer.kind, as_of timestamptz) returns text
language sql immutable parallel safe set search_path = ''
return case
  when (kind).kind = 'attestation' then format(
    'exists (select from public.reflection_store r join public.packet_store p on p.packet_id = r.source_packet
      where r.reflection_id = t.reflection_id and p.created_at <= %L::timestamptz)', as_of)
  when (kind).source is null then 'true' else format(
  'exists (select from public.packet_store p where p.packet_id = t.%I and p.created_at <= %L::timestamptz)', (kind).source, as_of)
  || case (kind).kind
    when 'succession' then ' and exists (select from public.knowledge_facts f where f.fact_id = t.superseded_by)'
    when 'merge' then format(
      ' and exists (select from public.packet_store p where p.packet_id = t.kept_id and p.created_at <= %L::timestamptz)', as_of)
    when 'proposal' then format(
      ' and exists (select from public.packet_store p where p.packet_id = t.source_packet and p.created_at <= %L::timestamptz)',
      as_of)
    when 'context' then format(
      ' and exists (select from public.packet_store p
        where p.packet_id = t.predecessor_id and p.created_at <= %L::timestamptz)', as_of)
    -- A model that is not in use here is of no use.
    when 'vector' then ' and exists (select from public.embedding_models m where m.model = t.model)
      and (t.embedding_type <> ''context'' or exists (select from public.memory_contexts c where c.packet_id = t.packet_id))'
    else '' end end;
comment on function transfer.source_of is 'SQL for: the memory on which row t rests was saved by this time, and the caller '
  'reads it.';

create function transfer.condition_of(kind transfer.kind, as_of timestamptz) returns text
language sql immutable parallel safe set search_path = ''
return format('%s and %s', (kind).condition, transfer.source_of(kind, as_of)) || case
  when (kind).target = 'packet_store' then format(' and t.created_at <= %L::timestamptz', as_of) else '' end;
comment on function transfer.condition_of is 'SQL for which rows of table t an export at this time holds.';

create function transfer.parts_condition_of(kind transfer.kind, as_of timestamptz) returns text
language sql immutable parallel safe set search_path = ''
return pg_catalog.replace((kind).parts_condition, '$as_of', format('%L::timestamptz', as_of));
comment on function transfer.parts_condition_of is 'SQL for which parts c of a row an export at this time holds.';

create function transfer.row_of(kind transfer.kind, as_of timestamptz) returns text
language sql stable parallel safe set search_path = ''
return transfer.object_of('t', transfer.columns_of(kind)) || case when (kind).parts is null then '' else format(
  ' || jsonb_build_object(%L, coalesce((select jsonb_agg(%s order by c.%I) from public.%I c where c.%I = t.%I and %s), ''[]''))',
  (kind).parts, transfer.object_of('c', transfer.part_columns_of(kind)), (kind).parts_key[3], (kind).parts_table,
  (kind).parts_key[1], (kind).parts_key[2], transfer.parts_condition_of(kind, as_of)) end;
comment on function transfer.row_of is 'SQL for the JSON of row t of this kind, as a line of an export at this time holds it.';

-- Texts are ordered by their bytes, so that two databases with different collations give the same file.
create function transfer.key_of(kind transfer.kind) returns text[] language sql stable parallel safe set search_path = ''
return array(
  select format('t.%I%s', k.name, case when a.atttypid = 'text'::regtype then ' collate "C"' else '' end)
  from unnest((kind).key) with ordinality as k (name, place)
  join pg_catalog.pg_attribute a on a.attrelid = transfer.relation((kind).target) and a.attname = k.name
  order by k.place);
comment on function transfer.key_of is 'SQL for the columns that order the rows of this kind.';

-- The values stand in the statement as they are, so that the index of the key begins at the right place.
create function transfer.after(kind transfer.kind, cursor jsonb) returns text language plpgsql stable set search_path = '' as $$
declare
  written text[];
begin
  if cursor is null then
    return '';
  end if;
  select array_agg(format('%L::%s', cursor ->> k.place::integer - 1, format_type(a.atttypid, null)) order by k.place) into written
  from unnest((kind).key) with ordinality as k (name, place)
  join pg_catalog.pg_attribute a on a.attrelid = transfer.relation((kind).target) and a.attname = k.name
  where pg_input_is_valid(cursor ->> k.place::integer - 1, format_type(a.atttypid, null));
  if cardinality(written) is distinct from cardinality((kind).key) then
    perform identity.raise_error('L9VAL', 'after: must be the cursor of the previous page');
  end if;
  return format('and (%s) > (%s)', array_to_string(transfer.key_of(kind), ', '), array_to_string(written, ', '));
end $$;
comment on function transfer.after is 'SQL for: the row comes after the one that this cursor names. Raises L9VAL for no cursor.';
grant execute on function transfer.object_of, transfer.source_of, transfer.condition_of, transfer.parts_condition_of,
  transfer.row_of, transfer.key_of, transfer.after to l9_agent, l9_admin;
