create function archive.collect_archives()
returns integer
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  collected integer;
  unfinished integer;
begin
  delete from archive.prepared_sessions p where p.prepared_at < clock_timestamp() - archive.lasting();
  get diagnostics unfinished = row_count;
  delete from public.archive_blobs b
  where b.stored_at < clock_timestamp() - archive.lasting()
    and not exists (select from public.session_archives a where a.content_hash = b.content_hash);
  get diagnostics collected = row_count;
  -- Whoever can read an archive could announce its bytes.
  delete from archive.pending_deletions d
  where exists (select from public.session_archives a where a.content_hash = d.content_hash);
  return collected + unfinished;
end
$$;
comment on function archive.collect_archives() is
  'Removes what a crash left: sessions that were prepared and bytes that were stored more than an hour ago, and that no archive names. Returns how many. Definer: the job has no access to the tables.';
grant execute on function archive.collect_archives() to l9_worker;

create function archive.needs_collection()
returns boolean
language sql
stable
security definer
set search_path = ''
begin atomic
  select exists (select from archive.pending_deletions d where d.due_at <= clock_timestamp())
    or exists (select from archive.prepared_sessions p where p.prepared_at < clock_timestamp() - archive.lasting())
    or exists (
      select from public.archive_blobs b
      where b.stored_at < clock_timestamp() - archive.lasting()
        and not exists (select from public.session_archives a where a.content_hash = b.content_hash));
end;
comment on function archive.needs_collection() is 'True if there is something to collect. Definer: the job has no access to the tables.';
grant execute on function archive.needs_collection() to l9_worker;
