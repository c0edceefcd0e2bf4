-- Casts of the fields of an envelope that never fail: a value of another type is null. The views of kinds call them
-- for their columns.
create function kinds.field_number(value jsonb) returns numeric
language sql immutable parallel safe return case pg_catalog.jsonb_typeof(value) when 'number' then value::numeric end;

create function kinds.field_boolean(value jsonb) returns boolean
language sql immutable parallel safe return case pg_catalog.jsonb_typeof(value) when 'boolean' then value::boolean end;

create function kinds.field_date(value jsonb) returns date language sql stable parallel safe
return case when pg_catalog.jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^\d{4}-\d\d-\d\d$'
  and pg_input_is_valid(value #>> '{}', 'date')
  then (value #>> '{}')::date end;

create function kinds.field_uuid(value jsonb) returns uuid language sql stable parallel safe
return case when pg_catalog.jsonb_typeof(value) = 'string' then identity.uuid_of(value #>> '{}') end;

create function kinds.field_texts(value jsonb) returns text[] language sql immutable parallel safe
return case pg_catalog.jsonb_typeof(value) when 'array' then array(select pg_catalog.jsonb_array_elements_text(value)) end;
comment on function kinds.field_number is 'The number that a field holds; null if it holds none.';
comment on function kinds.field_boolean is 'The truth value that a field holds; null if it holds none.';
comment on function kinds.field_date is 'The date that a field holds, as in 2026-12-31; null if it holds none.';
comment on function kinds.field_uuid is 'The id that a field holds; null if it holds none.';
comment on function kinds.field_texts is 'The list that a field holds, as texts; null if it holds none.';
grant execute on function kinds.field_number, kinds.field_boolean, kinds.field_date, kinds.field_uuid, kinds.field_texts to
  l9_agent, l9_admin, l9_platform_admin;
grant execute on function kinds.field_time to l9_platform_admin;
