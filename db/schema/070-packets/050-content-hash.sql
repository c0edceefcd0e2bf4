-- The hash by which two contents count as the same. Triggers of packet_store store it, and saves look for duplicates by it.
create function packets.content_hash(content text) returns bytea language sql immutable parallel safe strict set search_path = ''
return (
  select pg_catalog.sha256(pg_catalog.convert_to(
    pg_catalog.lower(pg_catalog.btrim(
      -- Replace only where there is something to collapse, and not every space.
      case when c.text ~ '\s\s|[^\S ]' then pg_catalog.regexp_replace(c.text, '\s{2,}|[^\S ]', ' ', 'g') else c.text end)),
    'UTF8'))
  -- An accent may be part of its letter or a character of its own. ASCII has none.
  from (
    select case when pg_catalog.octet_length(content) = pg_catalog.length(content) then content
      else pg_catalog.normalize(content, 'NFC') end as text
    offset 0) c);
comment on function packets.content_hash is 'SHA-256 of a text in NFC after trimming, collapsing white space and lower-casing '
  'it. Two contents with equal hashes have the same words; text_identity() tells whether they say the same.';
grant execute on function packets.content_hash to l9_agent, l9_admin;
