-- Conditions on the structured fields of envelopes. They are compiled to values, a path and ranges of times, and never to SQL, so
-- that functions of other roles can apply them too.
create type packets.time_condition as (path jsonpath, range tstzrange);
comment on type packets.time_condition is 'Some time at this path lies in this range.';

create type packets.where_condition as (path jsonpath, times packets.time_condition[]);
comment on type packets.where_condition is 'A compiled where. path: a predicate on the envelope; times: ranges of times, each of '
  'which must hold. Null: no such condition.';

create function packets.has_times(envelope jsonb, times packets.time_condition[]) returns boolean
language sql immutable parallel safe set search_path = ''
return not exists (
  select from pg_catalog.unnest(times) as t
  where not exists (
    select from pg_catalog.jsonb_path_query(envelope, t.path, silent => true) as found (value)
    where kinds.field_time(found.value) operator(pg_catalog.<@) t.range));
comment on function packets.has_times is 'True if an envelope has a time in each of these ranges.';

create function packets.field_path(field text) returns text language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if field !~ '^[^.]+([.][^.]+){0,7}$' or octet_length(field) > 200 then
    perform identity.raise_error('L9VAL',
      'where: the name of a field has 1 to 200 bytes, and a dot before each of at most 7 inner names');
  elsif field = 'content' then
    perform identity.raise_error('L9VAL', 'where: content is the text of a memory; search it with query');
  end if;
  return (
    select '$' || string_agg('.' || to_json(n.name)::text, '' order by n.place)
    from string_to_table(field, '.') with ordinality as n (name, place));
end $$;
comment on function packets.field_path is 'The path of a field in an envelope. Raises L9VAL for a text that names none.';

create function packets.check_operand(operator text, operand jsonb) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  type constant text := jsonb_typeof(operand);
begin
  if operator not in ('eq', 'in', 'exists', 'gt', 'gte', 'lt', 'lte') then
    perform identity.raise_error('L9VAL', 'where: the operators are eq, in, exists, gt, gte, lt and lte');
  elsif operator = 'eq' and type not in ('string', 'number', 'boolean') then
    perform identity.raise_error('L9VAL',
      'where: eq takes a text, a number, true or false; use exists for fields that are missing');
  elsif operator = 'in' and (type <> 'array' or jsonb_array_length(operand) not between 1 and 100
      or operand @? 'strict $[*] ? (@.type() == "null" || @.type() == "object" || @.type() == "array")') then
    perform identity.raise_error('L9VAL', 'where: in takes a list of 1 to 100 texts, numbers, true or false');
  elsif operator = 'exists' and type <> 'boolean' then
    perform identity.raise_error('L9VAL', 'where: exists takes true or false');
  elsif operator in ('gt', 'gte', 'lt', 'lte') and type <> 'number' and kinds.field_time(operand) is null then
    perform identity.raise_error('L9VAL',
      format('where: %s takes a number, a date or a time as in 2026-12-31T23:59:59Z', operator));
  end if;
end $$;
comment on function packets.check_operand is 'Raises L9VAL for an operator or value that a where does not know.';

create function packets.operators_of(wanted jsonb) returns jsonb language sql immutable parallel safe set search_path = ''
return case pg_catalog.jsonb_typeof(wanted)
  when 'object' then wanted
  when 'array' then pg_catalog.jsonb_build_object('in', wanted)
  else pg_catalog.jsonb_build_object('eq', wanted) end;
comment on function packets.operators_of is 'What a where says of a field, in its long form: a value means eq, a list means in.';

create function packets.is_day(operand jsonb) returns boolean language sql immutable parallel safe
return pg_catalog.length(operand #>> '{}') = 10;
comment on function packets.is_day is 'True if a condition names a day: later than it means after its end.';

-- Bounds that are times become ranges; every other test becomes a part of one predicate of jsonpath.
create function packets.compile_where("where" jsonb) returns packets.where_condition
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  signs constant jsonb := '{"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}';
  field record;
  test record;
  path text;
  tests text[];
  range tstzrange;
  predicates text[] := '{}';
  answer packets.where_condition;
begin
  if "where" is null or "where" = '{}' then
    return null;
  elsif jsonb_typeof("where") <> 'object' then
    perform identity.raise_error('L9VAL', 'where: must be an object such as {"status": "open", "priority": {"gte": 2}}');
  elsif (select count(*) from jsonb_object_keys("where")) > 10 or octet_length("where"::text) > 16384 then
    perform identity.raise_error('L9LIM', 'where: at most 10 fields, and 16384 bytes');
  end if;
  for field in select w.key as name, packets.operators_of(w.value) as operators from jsonb_each("where") w order by w.key loop
    path := packets.field_path(field.name);
    tests := '{}';
    range := '(,)';
    if field.operators = '{}' then
      perform identity.raise_error('L9VAL', 'where: say what to compare a field with, as in {"priority": {"gte": 2}}');
    end if;
    for test in select o.key as operator, o.value as operand, jsonb_typeof(o.value) as type
      from jsonb_each(field.operators) o loop
      perform packets.check_operand(test.operator, test.operand);
      if test.operator = 'exists' then
        predicates := predicates || format('%sexists(%s)', case when test.operand = 'false' then '!' end, path);
      elsif test.operator = 'in' then
        tests := tests || (select format('(%s)', string_agg(format('@ == %s', v.value), ' || '))
          from jsonb_array_elements(test.operand) v);
      elsif test.operator = 'eq' then
        tests := tests || format('@ == %s', test.operand);
      elsif test.type = 'number' then
        tests := tests || format('@ %s %s', signs ->> test.operator, test.operand);
      elsif test.operator in ('gt', 'gte') then
        range := range * tstzrange(
          kinds.field_time(test.operand, ends_day => test.operator = 'gt'), null,
          case when test.operator = 'gt' and not packets.is_day(test.operand) then '()' else '[)' end);
      else
        range := range * tstzrange(
          null, kinds.field_time(test.operand, ends_day => test.operator = 'lte'),
          case when test.operator = 'lt' or packets.is_day(test.operand) then '()' else '(]' end);
      end if;
    end loop;
    if tests <> '{}' then
      predicates := predicates || format('exists(%s ? (%s))', path, array_to_string(tests, ' && '));
    end if;
    if range <> '(,)' then
      answer.times := answer.times || row((path || '[*]')::jsonpath, range)::packets.time_condition;
    end if;
  end loop;
  answer.path := nullif(array_to_string(predicates, ' && '), '')::jsonpath;
  return answer;
end $$;
comment on function packets.compile_where is 'Compiles conditions on fields of the envelope, all of which must hold: {"status": '
  '"open", "kind": ["a", "b"], "priority": {"gte": 2, "lt": 5}, "due": {"lt": "2026-12-01"}, "owner.name": {"exists": true}}. '
  'Null if there is none. A field that holds a list matches if one of its elements does. Raises L9VAL or L9LIM.';

create function packets.where_conditions(alias text, condition packets.where_condition) returns text
language sql immutable parallel safe set search_path = ''
return nullif(pg_catalog.concat_ws(' and ',
  case when (condition).path is not null then
    pg_catalog.format('%I.envelope operator(pg_catalog.@@) %L::pg_catalog.jsonpath', alias, (condition).path) end,
  case when (condition).times is not null then
    pg_catalog.format('packets.has_times(%I.envelope, %L::packets.time_condition[])', alias, (condition).times) end), '');
comment on function packets.where_conditions is 'SQL of a compiled where on a table with an envelope; null for none.';
grant execute on function kinds.field_time, packets.is_day, packets.field_path, packets.check_operand, packets.operators_of,
  packets.compile_where, packets.where_conditions to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function kinds.field_time, packets.has_times to l9_agent, l9_admin, l9_platform_admin, l9_worker, l9_searcher;
