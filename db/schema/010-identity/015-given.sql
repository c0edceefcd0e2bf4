-- What a caller gave: hosts fill in what they leave out with an empty list or text. Searches and saves read their optional
-- arguments so.

create function identity.given_text(value text)
returns text
language sql immutable parallel safe
return case when value ~ '\S' then value end;

create function identity.given_list(list text[])
returns text[]
language sql immutable parallel safe
return nullif(list, '{}');

create function identity.given_object(value jsonb)
returns jsonb
language sql immutable parallel safe
set search_path = ''
return (
  select pg_catalog.jsonb_object_agg(f.key, f.value)
  from pg_catalog.jsonb_each(value) as f
  where f.value not in ('null', '[]') and not (pg_catalog.jsonb_typeof(f.value) = 'string' and (f.value #>> '{}') !~ '\S'));

comment on function identity.given_text is 'The text, or null if it is blank: an optional text that is blank was left out.';
comment on function identity.given_list is 'The list, or null if it is empty: an optional list that is empty was left out.';
comment on function identity.given_object is
  'The object without its fields that are null, an empty list or a blank text: those were left out. Null if none is left.';

grant execute on function identity.given_text, identity.given_list, identity.given_object to l9_agent, l9_admin,
  l9_platform_admin, l9_worker;
