create function archive.put_archive_blob(content_hash bytea, blob bytea)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform identity.require_identity();
  if blob is null or octet_length(blob) not between 30 and archive.max_blob_bytes() or get_byte(blob, 0) <> 1 then
    perform identity.raise_error('L9VAL', 'blob: must be encrypted bytes of version 1', 'blob');
  end if;
  -- The table compares the bytes with their hash.
  insert into public.archive_blobs (content_hash, blob) values (put_archive_blob.content_hash, put_archive_blob.blob)
  on conflict do nothing;
end
$$;
comment on function archive.put_archive_blob(bytea, bytea) is
  'Stores encrypted bytes in the database under their SHA-256. Without an archive that names them they are collected an hour later. It answers nothing, so nobody learns what is there. Definer: callers have no access to the bytes.';

create function archive.get_archive_blob(content_hash bytea)
returns bytea
language sql
stable
security definer
set search_path = ''
begin atomic
  select b.blob
  from public.archive_blobs b
  where b.content_hash = get_archive_blob.content_hash
    -- The policies of session_archives hold here too: they show the owner's functions what their caller may read.
    and exists (
      select from public.session_archives a
      where a.content_hash = get_archive_blob.content_hash and (a.ttl is null or a.ttl > now()));
end;
comment on function archive.get_archive_blob(bytea) is
  'The encrypted bytes of an archive that the caller may read; null if there are none, or no such archive. Definer: callers have no access to the table.';

create function archive.has_archive_blob(content_hash bytea)
returns integer
language sql
stable
security definer
set search_path = ''
begin atomic
  select octet_length(archive.get_archive_blob(has_archive_blob.content_hash));
end;
comment on function archive.has_archive_blob(bytea) is
  'How many bytes the database has of an archive that the caller may read; null: none. Definer: as get_archive_blob().';

grant execute on function archive.put_archive_blob(bytea, bytea), archive.get_archive_blob(bytea), archive.has_archive_blob(bytea)
  to l9_agent, l9_admin;
