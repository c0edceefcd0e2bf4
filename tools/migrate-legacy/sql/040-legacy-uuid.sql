-- The id that an old row gets if its own can't be used. classify_legacy_row() calls it.

create function legacy_import.legacy_uuid(source text, source_table text, source_id text, created timestamptz)
returns uuid
language sql immutable parallel safe set search_path = ''
begin atomic
  with parts as (
    select substring(pg_catalog.sha256(pg_catalog.convert_to(
        pg_catalog.jsonb_build_array(source, source_table, source_id)::text, 'UTF8')) from 1 for 16) as hash,
      substring(pg_catalog.int8send(greatest(0, floor(extract(epoch from created) * 1000))::bigint) from 3 for 6) as time
  ), timed as (
    select overlay(hash placing coalesce(time, '\x000000000000') from 1 for 6) as bytes from parts
  ), versioned as (
    select pg_catalog.set_byte(
      pg_catalog.set_byte(bytes, 6, pg_catalog.get_byte(bytes, 6) & 15 | 112),
      8, pg_catalog.get_byte(bytes, 8) & 63 | 128) as bytes
    from timed
  )
  select pg_catalog.encode(bytes, 'hex')::uuid from versioned;
end;

comment on function legacy_import.legacy_uuid is
  'The id for an old row whose own id is not a UUID or is already used: a version 7 UUID made of its time and a '
  'hash of its origin. The same row always gets the same id.';
