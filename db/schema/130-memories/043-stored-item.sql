-- What memory_store() answers for an item: the type stored_item, and how an error becomes one.
create type public.stored_item as (
  index integer, status text, packet_id uuid, kind text, project_id text, branch text, created_at timestamptz, sqlstate text,
  field text, message text, findings jsonb, is_unfinished boolean, updated_at timestamptz, current jsonb,
  notice text);
call identity.describe('public.stored_item', 'What became of one item of memory_store: it has a status and a memory, or an error.
  index: The place of the item in the list, from 0.
  status: inserted, updated or skipped_dedupe; null if the item was not stored.
  packet_id: The memory: the new one, or the one that is the same.
  kind: The kind of the item.
  project_id: The project that it belongs to, or null.
  branch: The branch that it holds for; null for every branch.
  created_at: When the memory was first saved.
  sqlstate: The code of the error; null if the item was stored.
  field: The field that the error is about, or null.
  message: What is wrong and what is valid.
  findings: Of what looks like a secret: path in the item, line, column and pattern; else null.
  is_unfinished: True if sections of a document are left for another call with the same item.
  updated_at: When the memory was last changed: its version, for a later expected_version.
  current: Of an item whose expected_version is not that of the memory (L9VER): what is there, as packet_id, updated_at and
    content.
  notice: How to save this better another time, or null.');

create function memories.is_fault_of_item(sqlstate text) returns boolean language sql immutable parallel safe set search_path = ''
-- Any other error, such as a deadlock or a full disk, is no fault of the item: the whole call is repeated or fails.
return sqlstate ~ '^(L9|22|23|54)' or sqlstate = '42501';
comment on function memories.is_fault_of_item is 'True if an error with this code is one of the item that was being stored.';

-- Gives fields the names that they have in an item, and replaces texts of PostgreSQL's own errors.
create function memories.error_of_item(
  index integer, item jsonb, sqlstate text, message text, field text, detail text default null) returns public.stored_item
language plpgsql immutable set search_path = '' as $$
declare
  answer public.stored_item;
  -- Citations are stored as parents; the writer is told of the lists that it gave.
  given constant text[] := array(
    select f from unnest('{parent_ids,citations}'::text[]) as f
      where jsonb_typeof(item) = 'object' and coalesce(item -> f, 'null') not in ('null', '[]'));
begin
  if field = 'parent_ids' and cardinality(given) > 0 then
    field := given[1];
    message := replace(message, 'parent_ids:', array_to_string(given, ', ') || ':');
  end if;
  -- What is stored as the envelope is data in an item.
  if field ~ '^envelope($|\.)' then
    message := case when field = 'envelope' then regexp_replace(message, '^envelope', 'data')
      else regexp_replace(message, '^envelope\.', '') end;
    field := coalesce(substring(field from '^envelope\.(.+)'), 'data');
  end if;
  answer.index := index;
  answer.kind := case when jsonb_typeof(item) = 'object' then left(item ->> 'kind', 63) end;
  answer.sqlstate := sqlstate;
  answer.field := nullif(field, '');
  if sqlstate = 'L9SEC' then
    answer.findings := (
      select jsonb_agg(f.finding
        || jsonb_build_object('path', regexp_replace(f.finding ->> 'path', '^(?:envelope\M|(?=content\M))',
        case when f.finding ->> 'path' like 'content%' then 'data.' else 'data' end)))
      from jsonb_array_elements(nullif(detail, '')::jsonb) as f (finding));
  end if;
  if sqlstate = 'L9VER' then
    answer.packet_id := nullif(detail, '')::jsonb ->> 'packet_id';
  end if;
  -- Texts of PostgreSQL's own errors may quote values.
  answer.message := case when sqlstate ~ '^L9' then message
    when sqlstate = '23505' then
      'data: another memory of this scope, project and kind has this content, or the fields that identify it'
    else 'the item could not be stored' end;
  return answer;
end $$;
comment on function memories.error_of_item is 'The error of an item as memory_store answers it, findings of L9SEC included.';
grant execute on function memories.is_fault_of_item, memories.error_of_item to l9_agent, l9_admin;
