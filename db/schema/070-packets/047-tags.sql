-- How tags are written and compared: normalise() keeps the clean form of each, searches compare the keys.
create function packets.clean_tag(tag text) returns text language sql immutable parallel safe set search_path = ''
return pg_catalog.regexp_replace(pg_catalog.normalize(tag, 'NFC'), '^[\s\u00a0\u3000]+|[\s\u00a0\u3000]+$', '', 'g');
comment on function packets.clean_tag is 'A tag as it is stored: in NFC, without white space around it.';

create function packets.tag_keys(tags text[]) returns text[] language sql stable parallel safe
-- Inlined, and without a query in it: a search compares the tags of many rows.
return pg_catalog.string_to_array(
  pg_catalog.lower(pg_catalog.array_to_string(tags, E'\x1f') collate pg_catalog.pg_c_utf8), E'\x1f');
comment on function packets.tag_keys is 'Stored tags in the form in which they are compared: in lower case.';

create function packets.wanted_tag_keys(tags text[]) returns text[] language sql stable strict parallel safe set search_path = ''
return packets.tag_keys(array(select packets.clean_tag(t.tag) from pg_catalog.unnest(tags) as t (tag)));
comment on function packets.wanted_tag_keys is 'Tags that a caller asks for, cleaned, in the form in which they are compared.';
grant execute on function packets.clean_tag, packets.tag_keys, packets.wanted_tag_keys to l9_agent, l9_admin, l9_platform_admin,
  l9_worker, l9_searcher;
