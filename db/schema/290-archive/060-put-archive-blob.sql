-- Writes, announces and reads the encrypted bytes of an archive. The gateway calls these while it stores and fetches;
-- finish_session_archive() puts bytes into the database by put_archive_blob().
create function archive.put_archive_blob(archive_id uuid, content_hash bytea, blob bytea) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  perform archive.own_prepared(put_archive_blob.archive_id);
  if blob is null or octet_length(blob) not between 30 and archive.max_blob_bytes() or get_byte(blob, 0) <> 1 then
    perform identity.raise_error('L9VAL', 'blob: must be encrypted bytes of version 1');
  end if;
  -- The table compares the bytes with their hash.
  insert into public.archive_blobs as b (archive_id, content_hash, blob)
  values (put_archive_blob.archive_id, put_archive_blob.content_hash, put_archive_blob.blob)
  on conflict on constraint archive_blobs_pkey do update
    set content_hash = excluded.content_hash, blob = excluded.blob, stored_at = clock_timestamp();
end $$;
comment on function archive.put_archive_blob is 'Stores the encrypted bytes of a session that the caller prepared in the '
  'database. If its archive is not entered, they are collected an hour later. Definer: callers have no access to the bytes.';

create function archive.announce_archive_blob(archive_id uuid, content_hash bytea, connectors text[]) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  perform archive.own_prepared(announce_archive_blob.archive_id);
  if octet_length(announce_archive_blob.content_hash) is distinct from 32 or archive.are_connectors(connectors) is not true then
    perform identity.raise_error('L9VAL', 'blob: hash or stores are malformed');
  end if;
  -- A prepared session can be finished within lasting(), so that nothing is deleted while its archive is being entered.
  insert into archive.pending_deletions as d (archive_id, connector, content_hash, entered_at, due_at)
  select distinct announce_archive_blob.archive_id, c.name, announce_archive_blob.content_hash,
    clock_timestamp(), clock_timestamp() + 2 * archive.lasting()
  from unnest(connectors) as c (name)
  on conflict on constraint pending_deletions_pkey do update
    set content_hash = excluded.content_hash, entered_at = excluded.entered_at, due_at = excluded.due_at;
end $$;
comment on function archive.announce_archive_blob is 'Says that encrypted bytes with this hash, of a session that the caller '
  'prepared, are about to be put into stores outside the database. If the archive is not entered, a job deletes them there two '
  'hours later, unless another archive had them before. Definer: callers have no access to the queue.';

create function archive.restore_archive_blob(archive_id uuid, blob bytea) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  restored public.session_archives;
begin
  select a.* into restored
  from public.session_archives a where a.archive_id = restore_archive_blob.archive_id and 'postgres' = any (a.connectors);
  if not found then
    perform identity.raise_error('L9OWN', 'archive_id: there is no such archive in the database, or it is not yours');
  elsif restored.content_hash is distinct from sha256(restore_archive_blob.blob) then
    perform identity.raise_error('L9VAL', 'blob: must be the bytes of the archive');
  end if;
  insert into public.archive_blobs as b (archive_id, content_hash, blob)
  values (restored.archive_id, restored.content_hash, restore_archive_blob.blob)
  on conflict on constraint archive_blobs_pkey do update set content_hash = excluded.content_hash, blob = excluded.blob;
end $$;
comment on function archive.restore_archive_blob is 'Writes the bytes of an archive that the caller may read into the database '
  'again, where the archive names the database as one of its stores. Definer: callers have no access to the bytes.';

create function archive.get_archive_blob(archive_id uuid) returns bytea language sql stable security definer set search_path = ''
begin atomic
  -- The policies of session_archives hold here too: they show the owner's functions what their caller may read.
  select b.blob
  from public.session_archives a
  join public.archive_blobs b on b.archive_id = a.archive_id
  where a.archive_id = get_archive_blob.archive_id and (a.ttl is null or a.ttl > now());
end;
comment on function archive.get_archive_blob is 'The encrypted bytes of an archive that the caller may read; null if there are '
  'none, or no such archive. Definer: callers have no access to the table.';
grant execute on function archive.put_archive_blob, archive.announce_archive_blob to l9_agent, l9_admin;
grant execute on function archive.restore_archive_blob, archive.get_archive_blob to l9_agent, l9_admin, l9_platform_admin;
