-- Removes what an interrupted or deleted archive left behind. The gateway's job collect_archives calls these
-- functions, and deletes in the stores outside the database itself.
create function archive.is_named_before(content_hash bytea, entered_at timestamptz) returns boolean
language sql stable set search_path = ''
begin atomic
  select exists (
    select from public.session_archives a
    where a.content_hash = is_named_before.content_hash and a.stored_at < is_named_before.entered_at);
end;
comment on function archive.is_named_before is 'True if an archive entered before this time has bytes with this hash.';

create function archive.collect_archives() returns integer language plpgsql volatile security definer set search_path = '' as $$
declare
  collected integer;
  unfinished integer;
begin
  delete from archive.prepared_sessions p where p.prepared_at < clock_timestamp() - archive.lasting();
  get diagnostics unfinished = row_count;
  delete from public.archive_blobs b
  where b.stored_at < clock_timestamp() - archive.lasting()
    and not exists (select from public.session_archives a where a.archive_id = b.archive_id);
  get diagnostics collected = row_count;
  -- A caller that knows the hash of an archive could announce its bytes, or enter an archive of its own with them.
  delete from archive.pending_deletions d
  where d.due_at <= clock_timestamp() and archive.is_named_before(d.content_hash, d.entered_at);
  return collected + unfinished;
end $$;
comment on function archive.collect_archives is 'Removes what a crash left: sessions that were prepared and bytes that were '
  'stored more than an hour ago, and that no archive names. Returns how many. Definer: the job has no access to the tables.';
grant execute on function archive.collect_archives to l9_worker;

create function archive.needs_collection() returns boolean language sql stable security definer set search_path = ''
begin atomic
  select exists (select from archive.pending_deletions d where d.due_at <= clock_timestamp())
    or exists (select from archive.prepared_sessions p where p.prepared_at < clock_timestamp() - archive.lasting())
    or exists (
      select from public.archive_blobs b
      where b.stored_at < clock_timestamp() - archive.lasting()
        and not exists (select from public.session_archives a where a.archive_id = b.archive_id));
end;
comment on function archive.needs_collection is 'True if there is something to collect. Definer: the job reads no tables.';
grant execute on function archive.needs_collection to l9_worker;

create function archive.bytes_to_delete(connector text, at_most integer) returns table (archive_id uuid, content_hash bytea)
language sql stable security definer set search_path = ''
begin atomic
  select d.archive_id, d.content_hash
  from archive.pending_deletions d
  where d.connector = bytes_to_delete.connector and d.due_at <= clock_timestamp()
    and not archive.is_named_before(d.content_hash, d.entered_at)
  order by d.due_at limit least(at_most, 1000);
end;
comment on function archive.bytes_to_delete is 'The next bytes to delete in another store. Definer: the job reads no table.';

create function archive.note_deletion(archive_id uuid, connector text) returns void
language sql volatile security definer set search_path = ''
begin atomic
  delete from archive.pending_deletions d where d.archive_id = note_deletion.archive_id and d.connector = note_deletion.connector;
end;
comment on function archive.note_deletion is 'Says that the bytes of an archive were deleted from a store outside the database. '
  'Definer: the job has no access to the tables.';
grant execute on function archive.bytes_to_delete, archive.note_deletion to l9_worker;
