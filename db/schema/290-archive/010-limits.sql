-- Limits of archives and the form of a pointer. The tables and functions of this chapter use them, and the gateway
-- reads long documents by pieces_of().
create function archive.max_session_bytes() returns integer language sql immutable parallel safe return 25 * 1024 * 1024;

create function archive.max_blob_bytes() returns integer
language sql immutable parallel safe return archive.max_session_bytes() + 1024;

create function archive.max_piece_bytes() returns integer language sql immutable parallel safe return 1024 * 1024;

create function archive.pieces_of(bytes bytea) returns setof bytea
language sql immutable strict parallel safe set search_path = ''
begin atomic
  select substr(pieces_of.bytes, i.start, archive.max_piece_bytes())
  from generate_series(1, octet_length(pieces_of.bytes), archive.max_piece_bytes()) as i (start);
end;

create function archive.are_connectors(names text[]) returns boolean language sql immutable parallel safe set search_path = ''
return pg_catalog.cardinality(names) between 1 and 8
  and (select pg_catalog.bool_and((n.name ~ '^[a-z][a-z0-9-]{0,30}$') is true) from pg_catalog.unnest(names) as n (name));

create function archive.lasting() returns interval language sql immutable parallel safe return interval '1 hour';

create function archive.pointer_of(content_hash bytea) returns text
language sql immutable parallel safe return 'cascade://' || pg_catalog.encode(content_hash, 'hex');

create function archive.hash_of(pointer text) returns bytea language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if pointer is null or pointer !~ '^cascade://[0-9a-f]{64}$' then
    perform identity.raise_error('L9VAL', 'pointer: must be cascade:// and 64 hexadecimal digits');
  end if;
  return decode(substr(pointer, 11), 'hex');
end $$;
comment on function archive.max_session_bytes is 'The most bytes of a session as JSON, after redaction.';
comment on function archive.max_blob_bytes is 'The most bytes of an encrypted session.';
comment on function archive.max_piece_bytes is 'The most bytes of a session that the gateway reads in one row.';
comment on function archive.pieces_of is 'These bytes in pieces: a client needs no memory for several copies of the whole.';
comment on function archive.are_connectors is 'True if these can be the names of 1 to 8 stores. Null for null.';
comment on function archive.lasting is 'How long bytes without an archive are kept: much longer than a store takes.';
comment on function archive.pointer_of is 'The address of encrypted bytes with this SHA-256.';
comment on function archive.hash_of is 'The SHA-256 in a pointer. Raises L9VAL for any other text.';
grant execute on function archive.pointer_of, archive.hash_of to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function archive.max_piece_bytes, archive.pieces_of to l9_agent, l9_admin, l9_platform_admin;
