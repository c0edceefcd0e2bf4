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

create function archive.announce_archive_blob(content_hash bytea, connectors text[])
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
  perform identity.require_identity();
  if octet_length(announce_archive_blob.content_hash) is distinct from 32 or coalesce(cardinality(connectors), 0) not between 1 and 8
    or exists (select from unnest(connectors) as c (name) where (c.name ~ '^[a-z][a-z0-9-]{0,30}$') is not true) then
    perform identity.raise_error('L9VAL', 'blob: hash or stores are malformed', 'blob');
  end if;
  -- A prepared session can be finished within lasting(), so that nothing is deleted while its archive is being entered.
  insert into archive.pending_deletions (content_hash, connector, due_at)
  select announce_archive_blob.content_hash, c.name, clock_timestamp() + 2 * archive.lasting() from unnest(connectors) as c (name)
  on conflict do nothing;
end
$$;
comment on function archive.announce_archive_blob(bytea, text[]) is
  'Says that encrypted bytes with this hash are about to be put into stores outside the database. If no archive names them two hours later, a job deletes them there. Errors: L9VAL, L9AUT. Definer: callers have no access to the queue.';

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

grant execute on function archive.put_archive_blob(bytea, bytea), archive.announce_archive_blob(bytea, text[]), archive.get_archive_blob(bytea), archive.has_archive_blob(bytea)
  to l9_agent, l9_admin;
