create function kinds.field_time(value jsonb)
returns timestamptz
language plpgsql
immutable
parallel safe
set search_path = ''
set timezone = 'UTC'
as $$
declare
  written constant text := value #>> '{}';
begin
  -- Only dates and times of ISO 8601, so that no word such as "tomorrow" is one. Without an offset they are in UTC.
  if jsonb_typeof(value) = 'string'
    and written ~ '^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?$'
    and pg_input_is_valid(written, 'timestamptz') then
    return written::timestamptz;
  end if;
  return null;
end
$$;

comment on function kinds.field_time(jsonb) is
  'The time that a JSON text is, if it is a date or a time as in 2026-12-31T23:59:59Z; otherwise null. Without an offset it is in UTC.';

create function kinds.check_value(kind text, field text, rule jsonb, value jsonb)
returns void
language plpgsql
stable
parallel safe
set search_path = ''
as $$
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
      when 'date' then 'a date such as 2026-12-31' else 'a time such as 2026-12-31T23:59:59Z' end), field);
  elsif found = 'string' and length(value #>> '{}') > most then
    perform identity.raise_error('L9LIM', format('%s: at most %s characters in a %s, got %s', field, most, kind, length(value #>> '{}')), field);
  elsif found = 'array' and jsonb_array_length(value) > most then
    perform identity.raise_error('L9LIM', format('%s: at most %s items in a %s, got %s', field, most, kind, jsonb_array_length(value)), field);
  elsif type = 'text[]' and exists (select from jsonb_array_elements_text(value) as item where length(item) > 10000) then
    perform identity.raise_error('L9LIM', format('%s: at most 10000 characters in each item', field), field);
  elsif rule ? 'choices' and not rule -> 'choices' @> value then
    perform identity.raise_error('L9VAL', format('%s: must be one of %s', field, array_to_string(array(
      select jsonb_array_elements_text(rule -> 'choices')), ', ')), field);
  elsif (rule ->> 'is_required')::boolean and (value #>> '{}' !~ '\S' or value in ('[]', '{}')) then
    perform identity.raise_error('L9VAL', format('%s: must not be blank in a %s', field, kind), field);
  end if;
end
$$;

comment on function kinds.check_value(text, text, jsonb, jsonb) is
  'Raises L9VAL or L9LIM, naming the field and the limit, unless a value obeys the rule of its field.';

create function kinds.check_fields(kind text, rules jsonb, fields jsonb)
returns void
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  rule_of constant jsonb := rules -> 'fields';
  field text;
  value jsonb;
begin
  foreach field in array array(select jsonb_array_elements_text(rules -> 'required')) loop
    if coalesce(fields -> field, 'null') = 'null' then
      perform identity.raise_error('L9VAL', format('%s: is required in a %s', field, kind), field);
    end if;
  end loop;
  for field, value in select f.key, f.value from jsonb_each(fields) as f where f.key <> 'content' loop
    if not rule_of ? field then
      perform identity.raise_error('L9VAL', format('%s: a %s has no such field; it has %s', left(field, 63), kind,
        array_to_string(array(select jsonb_array_elements_text(rules -> 'order')), ', ')), left(field, 63));
    end if;
    perform kinds.check_value(kind, field, rule_of -> field, value);
  end loop;
  for field, value in select f.key, f.value -> 'sha256_of' from jsonb_each(rule_of) as f where f.value ? 'sha256_of' and fields ? f.key loop
    if lower(fields ->> field) is distinct from encode(sha256(convert_to(fields ->> (value #>> '{}'), 'UTF8')), 'hex') then
      perform identity.raise_error('L9VAL', format('%s: must be the SHA-256 of %s, in hexadecimal digits', field, value #>> '{}'), field);
    end if;
  end loop;
end
$$;

comment on function kinds.check_fields(text, jsonb, jsonb) is
  'Checks the fields of a memory, those with null left out, by the rules of its kind. Raises L9VAL or L9LIM for the first field that breaks one.';

grant execute on function
  kinds.field_time(jsonb), kinds.check_value(text, text, jsonb, jsonb), kinds.check_fields(text, jsonb, jsonb)
to l9_agent, l9_admin, l9_worker;
