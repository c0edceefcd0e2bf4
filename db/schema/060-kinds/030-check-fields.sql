-- Checks the fields of a memory by the rules of its kind. The trigger apply_kind of packet_store calls check_fields().
create function kinds.field_time(value jsonb, ends_day boolean default false) returns timestamptz
language plpgsql immutable parallel safe set search_path = '' set timezone = 'UTC' as $$
declare
  written constant text := value #>> '{}';
begin
  -- Only dates and times of ISO 8601, so that no word such as "tomorrow" is one. Without an offset they are in UTC.
  if jsonb_typeof(value) = 'string'
    and written ~ '^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?$'
    and pg_input_is_valid(written, 'timestamptz') then
    return written::timestamptz + case when ends_day and length(written) = 10 then interval '1 day' else '0' end;
  end if;
  return null;
end $$;
comment on function kinds.field_time is 'The time that a JSON text is, if it is a date or a time as in 2026-12-31T23:59:59Z; '
  'otherwise null. Without an offset it is in UTC. A date is the beginning of its day or, with ends_day, its end.';

create function kinds.with_article(kind text) returns text language sql immutable parallel safe set search_path = ''
return case when kind ~ '^[aeiou]' then 'an ' else 'a ' end || kind;
comment on function kinds.with_article is 'The name of a kind in a sentence, such as an issue.';

-- Checks the type first, then the length, the choices and that it is not blank, and then the parts of objects.
create function kinds.check_value(kind text, field text, rule jsonb, value jsonb) returns void
language plpgsql stable parallel safe set search_path = '' as $$
declare
  type constant text := rule ->> 'type';
  most constant integer := (rule ->> 'max_length')::integer;
  found constant text := jsonb_typeof(value);
  is_valid boolean := case type
    when 'number' then found = 'number'
    when 'boolean' then found = 'boolean'
    when 'object' then found = 'object'
    when 'text[]' then found = 'array' and not jsonb_path_exists(value, 'strict $[*] ? (@.type() != "string")')
    when 'object[]' then found = 'array' and not jsonb_path_exists(value, 'strict $[*] ? (@.type() != "object")')
    else found = 'string'
  end;
begin
  if not is_valid
    or type = 'date' and not (value #>> '{}' ~ '^\d{4}-\d\d-\d\d$' and pg_input_is_valid(value #>> '{}', 'date'))
    or type = 'timestamp' and kinds.field_time(value) is null
    or type = 'uuid' and not pg_input_is_valid(value #>> '{}', 'uuid') then
    perform identity.raise_error('L9VAL', format('%s: must be %s', field, case type
      when 'text' then 'a text' when 'number' then 'a number' when 'boolean' then 'true or false' when 'object' then 'an object'
      when 'text[]' then 'a list of texts' when 'object[]' then 'a list of objects' when 'uuid' then 'the id of a memory'
      when 'date' then 'a date such as 2026-12-31' else 'a time such as 2026-12-31T23:59:59Z' end));
  elsif found = 'string' and length(value #>> '{}') > most then
    perform identity.raise_error('L9LIM',
      format('%s: at most %s characters in %s, got %s', field, most, kinds.with_article(kind), length(value #>> '{}')));
  elsif found = 'array' and jsonb_array_length(value) > most then
    perform identity.raise_error('L9LIM',
      format('%s: at most %s items in %s, got %s', field, most, kinds.with_article(kind), jsonb_array_length(value)));
  elsif type = 'text[]' and exists (select from jsonb_array_elements_text(value) as item where length(item) > 10000) then
    perform identity.raise_error('L9LIM', format('%s: at most 10000 characters in each item', field));
  elsif rule ? 'choices' and not rule -> 'choices' @> value then
    perform identity.raise_error('L9VAL', format('%s: must be one of %s', field, array_to_string(array(
      select jsonb_array_elements_text(rule -> 'choices')), ', ')));
  elsif (rule ->> 'is_required')::boolean and (identity.is_blank(value #>> '{}') or value in ('[]', '{}')) then
    perform identity.raise_error('L9VAL', format('%s: must not be blank in %s', field, kinds.with_article(kind)));
  end if;
  if rule ? 'parts' then
    perform kinds.check_parts(kind, field, rule -> 'parts', value);
  end if;
end $$;

-- Joins each object in the field with the rules of its parts, so that unknown, wrong and missing parts are found in one pass.
create function kinds.check_parts(kind text, field text, parts jsonb, value jsonb) returns void
language plpgsql stable parallel safe set search_path = '' as $$
declare
  object record;
  part record;
begin
  for object in
    select field as path, value where jsonb_typeof(value) = 'object'
    union all
    select format('%s.%s', field, e.ordinality - 1), e.value
    from jsonb_array_elements(case when jsonb_typeof(value) = 'array' then value else '[]' end) with ordinality as e
  loop
    for part in
      select format('%s.%s', object.path, coalesce(rule.name, left(given.key, 63))) as path, rule.name,
        rule.value as rule, given.value
      from (select p ->> 'field' as name,
        jsonb_build_object('type', 'text', 'max_length', 10000, 'is_required', false) || p as value
        from jsonb_array_elements(parts) as p) as rule
      full join jsonb_each(jsonb_strip_nulls(object.value)) as given on given.key = rule.name
    loop
      if part.name is null then
        perform identity.raise_error('L9VAL', format('%s: %s has no such part; it has %s', part.path, field,
          array_to_string(array(select p ->> 'field' from jsonb_array_elements(parts) as p), ', ')), part.path);
      elsif part.value is not null then
        perform kinds.check_value(kind, part.path, part.rule, part.value);
      elsif (part.rule ->> 'is_required')::boolean then
        perform identity.raise_error('L9VAL', format('%s: is required in %s', part.path, kinds.with_article(kind)), part.path);
      end if;
    end loop;
  end loop;
end $$;
comment on function kinds.check_parts is 'Raises L9VAL or L9LIM, naming the part as in steps.0.number, by its rules.';
comment on function kinds.check_value is 'Raises L9VAL or L9LIM, naming field and limit, unless the value obeys its rule.';

-- Three passes: required fields are there, every field is known and has a valid value, and checksums are right.
create function kinds.check_fields(kind text, rules jsonb, fields jsonb) returns void
language plpgsql stable parallel safe set search_path = '' as $$
declare
  rule_of constant jsonb := rules -> 'fields';
  field text;
  value jsonb;
begin
  foreach field in array array(select jsonb_array_elements_text(rules -> 'required')) loop
    if coalesce(fields -> field, 'null') = 'null' then
      perform identity.raise_error('L9VAL', format('%s: is required in %s', field, kinds.with_article(kind)));
    end if;
  end loop;
  for field, value in select f.key, f.value from jsonb_each(fields) as f where f.key <> 'content' loop
    if not rule_of ? field then
      perform identity.raise_error('L9VAL',
        format('%s: %s has no such field; it has %s', left(field, 63), kinds.with_article(kind),
        array_to_string(array(select jsonb_array_elements_text(rules -> 'order')), ', ')), left(field, 63));
    end if;
    perform kinds.check_value(kind, field, rule_of -> field, value);
  end loop;
  for field, value in select f.key, f.value -> 'sha256_of' from jsonb_each(rule_of) as f where f.value ? 'sha256_of'
      and fields ? f.key loop
    if lower(fields ->> field) is distinct from encode(sha256(convert_to(fields ->> (value #>> '{}'), 'UTF8')), 'hex') then
      perform identity.raise_error('L9VAL',
        format('%s: must be the SHA-256 of %s, in hexadecimal digits', field, value #>> '{}'));
    end if;
  end loop;
end $$;
comment on function kinds.check_fields is 'Raises L9VAL or L9LIM for the first field that breaks a rule of the kind.';
grant execute on function kinds.field_time, kinds.with_article, kinds.check_parts, kinds.check_value, kinds.check_fields to
  l9_agent, l9_admin, l9_worker;
