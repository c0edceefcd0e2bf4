create function entities.normalise_name(name text)
returns text
language sql
immutable
parallel safe
strict
set search_path = ''
return pg_catalog.lower(pg_catalog.btrim(pg_catalog.regexp_replace(
  pg_catalog.normalize(name, 'NFKC'), '\s+', ' ', 'g')));

comment on function entities.normalise_name(text) is
  'Returns the form in which names are compared: Unicode NFKC, lower case, white space trimmed and collapsed.';

create function entities.max_name_bytes()
returns integer
language sql
immutable
parallel safe
set search_path = ''
return 1000;

comment on function entities.max_name_bytes() is 'The length of a name in bytes, as given and normalised, at most.';

create function entities.check_name(name text, field text)
returns text
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  normalised text := entities.normalise_name(name);
begin
  if coalesce(normalised, '') = '' then
    perform identity.raise_error('L9VAL', format('%s: a name is required', field), field);
  end if;
  perform identity.check_bytes(name, entities.max_name_bytes(), field),
    identity.check_bytes(normalised, entities.max_name_bytes(), field);
  return normalised;
end
$$;

comment on function entities.check_name(text, text) is
  'Returns normalise_name() of a name. Raises L9VAL for this field if the name is missing or blank, L9LIM if it is longer than 1000 bytes.';

create function entities.check_names(names text[], field text)
returns text[]
language sql
immutable
parallel safe
set search_path = ''
return array(
  select checked.name
  from pg_catalog.unnest(names) with ordinality as input (name, place)
  cross join lateral (select entities.check_name(input.name, field) as name) checked
  group by checked.name order by pg_catalog.min(input.place));

comment on function entities.check_names(text[], text) is
  'Returns check_name() of each name, without duplicates, in the order of the list.';

grant execute on function
  entities.normalise_name(text), entities.max_name_bytes(), entities.check_name(text, text), entities.check_names(text[], text)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create function entities.check_confidence(confidence double precision, field text default 'confidence')
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if confidence is null or not confidence between 0 and 1 then
    perform identity.raise_error('L9VAL', format('%s: must be a number from 0 to 1', field), field);
  end if;
end
$$;

comment on function entities.check_confidence(double precision, text) is
  'Raises L9VAL for this field unless the confidence is a number from 0 to 1.';

grant execute on function entities.check_confidence(double precision, text) to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create function entities.noisy_or(confidences double precision[], highest double precision default 0.99)
returns double precision
language sql
immutable
parallel safe
set search_path = ''
return (
  -- Rounded, so that the result does not depend on the order in which the logarithms are added. The bounds keep ln() and
  -- exp() from failing on a confidence of 1; they change nothing within these digits.
  select pg_catalog.round(
    least(highest, 1 - pg_catalog.exp(greatest(sum(pg_catalog.ln(greatest(1 - c.confidence, 1e-99))), -99)))::numeric, 12)
    ::double precision
  from pg_catalog.unnest(confidences) as c (confidence));

comment on function entities.noisy_or(double precision[], double precision) is
  'Returns the combined confidence of independent statements: 1 - Π(1 - c) over their confidences c, rounded to 12 digits, at most highest.';

grant execute on function entities.noisy_or(double precision[], double precision)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
