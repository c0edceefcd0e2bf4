-- The form in which names of entities are compared, and the checks of names. Functions for facts, relationships,
-- aliases, lessons and summaries call them.
create function entities.normalise_name(name text) returns text language sql immutable parallel safe strict set search_path = ''
return pg_catalog.lower(pg_catalog.btrim(pg_catalog.regexp_replace(pg_catalog.normalize(name, 'NFKC'), '\s+', ' ', 'g')));
comment on function entities.normalise_name is 'How names are compared: NFKC, lower case, white space collapsed.';

create function entities.max_name_bytes() returns integer language sql immutable parallel safe set search_path = '' return 1000;
comment on function entities.max_name_bytes is 'The length of a name in bytes, as given and normalised, at most.';

create function entities.check_name(name text, field text) returns text
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  normalised text := entities.normalise_name(name);
begin
  if coalesce(normalised, '') = '' then
    perform identity.raise_error('L9VAL', format('%s: a name is required', field));
  end if;
  perform identity.check_bytes(name, entities.max_name_bytes(), field),
    identity.check_bytes(normalised, entities.max_name_bytes(), field);
  return normalised;
end $$;
comment on function entities.check_name is 'normalise_name(), or L9VAL for a missing name, L9LIM beyond 1000 bytes.';

create function entities.check_names(names text[], field text) returns text[]
language sql immutable parallel safe set search_path = ''
return array(
  select (pg_catalog.array_agg(pg_catalog.btrim(pg_catalog.regexp_replace(input.name, '\s+', ' ', 'g')) order by input.place))[1]
  from pg_catalog.unnest(names) with ordinality as input (name, place)
  cross join lateral (select entities.check_name(input.name, field) as name) checked
  group by checked.name order by pg_catalog.min(input.place));
comment on function entities.check_names is 'Names by check_name(), in the order and spelling given, each once and trimmed.';
grant execute on function entities.normalise_name, entities.max_name_bytes, entities.check_name, entities.check_names to l9_agent,
  l9_admin, l9_platform_admin, l9_worker;
