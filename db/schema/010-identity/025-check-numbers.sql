-- Refuses JSON with numbers that most readers of JSON would change. The trigger that normalises memories and the
-- checks of facts and task reflections call check_numbers().
create function identity.is_exact_number(value jsonb) returns boolean
language plpgsql immutable parallel safe set search_path = '' set extra_float_digits = 1 as $$
begin
  -- Statements of their own: in one expression the planner would cast a constant before it tests.
  if not pg_input_is_valid(value::text, 'double precision') then
    return false;
  end if;
  return value::numeric = value::text::double precision::text::numeric;
end $$;
comment on function identity.is_exact_number is 'True if a double, which most readers of JSON have, holds this number.';

create function identity.may_hold_long_number(document text) returns boolean language sql immutable parallel safe
-- Without a search_path the call is inlined.
return document ~ '[0-9][0-9.]{15}';
comment on function identity.may_hold_long_number is 'False if no number has more than 15 digits, which are always exact.';

create function identity.check_numbers(value jsonb, field text) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if identity.may_hold_long_number(value::text) and exists (
      select from jsonb_path_query(value, '$.** ? (@.type() == "number")') as numbers (number)
      where not identity.is_exact_number(numbers.number)) then
    perform identity.raise_error('L9VAL',
      format('%s: holds a number that has more digits than a number keeps (about 15 digits, up to 2^53): send it as a text',
        field));
  end if;
end $$;
comment on function identity.check_numbers is 'Raises L9VAL for this field if a double does not hold one of its numbers.';
grant execute on function identity.is_exact_number, identity.may_hold_long_number, identity.check_numbers to l9_agent, l9_admin,
  l9_platform_admin, l9_worker;
