-- Writes the fields of a kind and computes its rules. The migration calls define_fields() for the built-in kinds, and
-- register_memory_kind() for those of tenants.
create function kinds.max_kinds() returns integer language sql immutable parallel safe return 100;

create function kinds.max_fields() returns integer language sql immutable parallel safe return 64;

create function kinds.reserved() returns text[] language sql immutable parallel safe
return array[
  'event', 'fact', 'lesson', 'message', 'note', 'reasoning_trace', 'reflection', 'session', 'summary', 'task_reflection'];
comment on function kinds.reserved is 'Kinds that other parts write, so that no tenant can give them rules.';
comment on function kinds.max_kinds is 'The most kinds that a tenant can register.';
comment on function kinds.max_fields is 'The most fields that a kind can have.';

create function kinds.compile(kind_id uuid) returns jsonb language sql stable set search_path = ''
begin atomic
  select jsonb_build_object(
    'fields', jsonb_object_agg(f.field, jsonb_strip_nulls(jsonb_build_object(
      'type', f.type, 'is_required', f.is_required, 'max_length', f.max_length, 'choices', to_jsonb(f.choices), 'sha256_of',
      f.sha256_of, 'parts', f.parts))),
    'order', jsonb_agg(f.field order by f.place),
    'required', coalesce(jsonb_agg(f.field order by f.place) filter (where f.is_required), '[]'),
    'title', k.title_field, 'text', to_jsonb(k.text_fields),
    'identity', to_jsonb(k.identity_fields), 'identity_ends_when', k.identity_ends_when,
    'locked_when', k.locked_when, 'locked_fields', to_jsonb(k.locked_fields), 'allowed_when_locked', k.allowed_when_locked,
    'when_locked', k.when_locked, 'part_of_kind', k.part_of_kind, 'part_of_field', k.part_of_field,
    'stands_beside', k.stands_beside, 'supersedes', array_agg(f.field) @> '{status,supersedes,superseded_by}',
    'archived', case when k.archived_from is not null then jsonb_build_object(
      'from', k.archived_from, 'seconds', extract(epoch from k.archived_after)) end,
    'expires', case when k.expires_from is not null then jsonb_build_object(
      'from', k.expires_from, 'seconds', extract(epoch from k.expires_after)) end)
  from public.memory_kinds k
  join public.memory_kind_fields f using (kind_id)
  where k.kind_id = compile.kind_id group by k.kind_id;
end;
comment on function kinds.compile is 'The rules of a kind as the trigger reads them, from its row and its fields.';

create function kinds.check_names(argument text, names text[], field_names text[]) returns void
language plpgsql immutable set search_path = '' as $$
declare
  unknown text := (select min(n) from unnest(names) as n where n is null or n <> all (field_names));
begin
  if unknown is not null or array_position(names, null) is not null then
    perform identity.raise_error('L9VAL',
      format('%s: %s is no field of this kind', argument, coalesce(quote_literal(left(unknown, 63)), 'null')));
  end if;
end $$;

create function kinds.check_condition(argument text, condition jsonb, field_names text[]) returns void
language plpgsql immutable set search_path = '' as $$
begin
  if jsonb_typeof(condition) <> 'object'
    or exists (select from jsonb_each(condition) as c where c.value <> 'true' and jsonb_typeof(c.value) <> 'array') then
    perform identity.raise_error('L9VAL',
      format('%s: must be an object that gives a list of values, or true for any, for each field, '
        'such as {"status": ["accepted"]}', argument));
  end if;
  perform kinds.check_names(argument, array(select jsonb_object_keys(condition)), field_names);
end $$;
comment on function kinds.check_names is 'Raises L9VAL if one of the names is no field of the kind.';
comment on function kinds.check_condition is 'Raises L9VAL unless this is a condition on fields of the kind, or null.';

create function kinds.define_fields(kind_id uuid, tenant_id uuid, fields jsonb) returns void
language plpgsql volatile set search_path = '' as $$
declare
  field jsonb;
  place integer := 0;
begin
  delete from public.memory_kind_fields f where f.kind_id = define_fields.kind_id;
  for field in select f.value from jsonb_array_elements(define_fields.fields) with ordinality as f order by f.ordinality loop
    place := place + 1;
    insert into public.memory_kind_fields (
      kind_id, field, place, type, is_required, choices, max_length, sha256_of, parts, meaning, tenant_id)
    values (
      define_fields.kind_id, field ->> 'field', place, coalesce(field ->> 'type', 'text'),
      coalesce((field ->> 'is_required')::boolean, false),
      case when field ? 'choices' then array(select jsonb_array_elements_text(field -> 'choices')) end,
      coalesce((field ->> 'max_length')::integer, case when field ->> 'type' in ('text[]', 'object[]') then 1000 else 100000 end),
      field ->> 'sha256_of', nullif(field -> 'parts', 'null'), coalesce(field ->> 'meaning', ''), define_fields.tenant_id);
  end loop;
  update public.memory_kinds k set rules = kinds.compile(k.kind_id) where k.kind_id = define_fields.kind_id;
end $$;
comment on function kinds.define_fields is 'Replaces the fields of a kind by those of a checked list of objects (field, type, '
  'is_required, choices, max_length, sha256_of, parts, meaning) and computes its rules.';
