-- How tags are written and compared: normalise() keeps the clean form of each, searches compare the keys.

create function packets.clean_tag(tag text)
returns text
language sql immutable parallel safe set search_path = ''
return pg_catalog.regexp_replace(pg_catalog.normalize(tag, 'NFC'), '^[\s\u00a0\u3000]+|[\s\u00a0\u3000]+$', '', 'g');

comment on function packets.clean_tag is 'A tag as it is stored: in NFC, without white space around it.';

create function packets.tag_keys(tags text[])
returns text[]
language sql immutable parallel safe set search_path = ''
return array(
  select pg_catalog.lower(packets.clean_tag(t.tag) collate pg_catalog.pg_c_utf8) from pg_catalog.unnest(tags) as t (tag));

comment on function packets.tag_keys is 'Tags in the form in which they are compared: clean, in lower case.';

grant execute on function
  packets.clean_tag, packets.tag_keys
to l9_agent, l9_admin, l9_platform_admin, l9_worker, l9_searcher;
