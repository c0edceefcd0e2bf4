-- How paths, versions, camelCase names and other identifiers become words. parse() calls these functions.

-- Identifiers are recognised by ASCII letters alone, so that the result does not depend on the database's locale.

create function words.has_identifiers(content text) returns boolean language sql immutable parallel safe strict
return content ~ '[A-Za-z0-9][-_/.:@#\\]*[_/.:@#\\][A-Za-z0-9]|[A-Za-z0-9]-[0-9]|[0-9]-[A-Za-z]|[a-z][A-Z]|[A-Z][A-Z][a-z][a-z]'
  '|<[A-Za-z/]|[A-Za-z](\+\+|#)';
comment on function words.has_identifiers is 'True if a text has something for the functions of identifiers.';

create function words.separate_identifiers(content text) returns text
language sql immutable parallel safe strict set search_path = ''
return pg_catalog.regexp_replace(
  -- The text parser would read -1 in A-1 as a negative number. In numbers such as 1.2.3 the points stay.
  -- The test is twenty times faster than the replacement.
  case when content ~ '\.[A-Za-z]|[A-Za-z]\.[0-9]|[A-Za-z0-9]-[0-9]|v[0-9]' then
    pg_catalog.regexp_replace(
      content, '\.(?=[A-Za-z])|(?<=[A-Za-z])\.(?=[0-9])|(?<=[A-Za-z0-9])-(?=[0-9])|\mv(?=[0-9]+\.[0-9])', ' ', 'g')
  else content end,
  -- It would also take a/b for a file, a:b for an address and <b> for a tag, and keep each as one word or none.
  '[_/:@#\\<>]+', ' ', 'g');
comment on function words.separate_identifiers is 'A text with spaces between the parts of paths, names and ticket ids.';

create function words.split_camel_case(content text) returns text language sql immutable parallel safe strict set search_path = ''
return pg_catalog.regexp_replace(
  pg_catalog.regexp_replace(content, '([a-z0-9])([A-Z])', '\1 \2', 'g'),
  -- Two lower-case letters, because the plural URLs is one word.
  '([A-Z])([A-Z][a-z][a-z])', '\1 \2', 'g');
comment on function words.split_camel_case is 'A text with spaces between the parts of its camelCase words.';

create function words.whole_identifiers(content text) returns text[]
language sql immutable parallel safe strict set search_path = ''
return array(
  with found as (
    select pg_catalog.lower(m.match[1] collate "C") as whole
    from pg_catalog.regexp_matches(
      content, '([A-Za-z0-9]+(?:[-_/.:@#\\]+[A-Za-z0-9]+)+|\m[A-Za-z](?:\+\+|#)(?![A-Za-z0-9]))', 'g') as m (match)
    where pg_catalog.length(m.match[1]) <= 200
  )
  select distinct i.identifier
  from (
    select whole from found
    union all
    -- The name of a file is an identifier too.
    select part from found, pg_catalog.regexp_split_to_table(whole, '[/\\]+') as part where whole ~ '[/\\]'
    union all
    -- 1.2.3 is also found as 1.2.
    select pg_catalog.substring(whole, '(?:^|[^0-9.])(\d+\.\d+)\.\d') from found
    union all
    select pg_catalog.substring(whole, '^v(\d.*)') from found
  ) i (identifier)
  -- The text parser itself keeps words with hyphens whole, and knows their stems.
  where i.identifier ~ '[a-z0-9][-_/.:@#\\]*[_/.:@#\\][-_/.:@#\\]*[a-z0-9]|[a-z0-9]-[0-9]|[0-9]-[a-z]|^[a-z](\+\+|#)$');
comment on function words.whole_identifiers is 'The identifiers of a text that are joined by _ / . : @ # \ or a hyphen beside a '
  'digit, in lower case, with the file names of paths and the major and minor numbers of versions.';
grant execute on function words.has_identifiers, words.separate_identifiers, words.split_camel_case, words.whole_identifiers to
  l9_agent, l9_admin, l9_platform_admin, l9_worker;
