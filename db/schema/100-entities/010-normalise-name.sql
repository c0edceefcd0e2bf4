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
  'The name of an entity as it is compared: Unicode NFKC, in lower case, white space trimmed and collapsed.';

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
  perform identity.check_bytes(name, 1000, field), identity.check_bytes(normalised, 1000, field);
  return normalised;
end
$$;

comment on function entities.check_name(text, text) is
  'normalise_name() of a name that is there and at most 1000 bytes long; else L9VAL or L9LIM, naming the field.';

create function entities.check_names(names text[], field text)
returns text[]
language sql
immutable
parallel safe
set search_path = ''
return array(
  select checked.name
  from pg_catalog.unnest(names) with ordinality as given (name, place)
  cross join lateral (select entities.check_name(given.name, field) as name) checked
  group by checked.name order by pg_catalog.min(given.place));

comment on function entities.check_names(text[], text) is 'check_name() of each of them: those that differ, in the order given.';

grant execute on function
  entities.normalise_name(text), entities.check_name(text, text), entities.check_names(text[], text)
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
    perform identity.raise_error('L9VAL', format('%s: from 0 to 1', field), field);
  end if;
end
$$;

comment on function entities.check_confidence(double precision, text) is 'L9VAL unless it is from 0 to 1.';

grant execute on function entities.check_confidence(double precision, text) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
