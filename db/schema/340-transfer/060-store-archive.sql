-- Takes the encrypted bytes of an archive, whose row import_memories() stored. l9-memory import calls store_archive() through the
-- gateway, which wraps the key with a master key of its own.
create function transfer.store_archive(
  archive_id uuid, blob bytea, key_id text default null, wrapped_key bytea default null, fingerprint bytea default null)
returns text
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin constant administration.administrator := transfer.require_importer();
  taken public.session_archives;
  has_bytes boolean;
  has_key boolean;
begin
  select a.* into taken from public.session_archives a
  where a.archive_id = store_archive.archive_id and a.tenant_id = admin.target_tenant_id for update;
  if not found then
    return 'left_out';
  elsif taken.content_hash is distinct from sha256(store_archive.blob) then
    perform identity.raise_error('L9VAL', 'bytes: are not those that were archived');
  elsif store_archive.wrapped_key is not null and (octet_length(store_archive.wrapped_key) <> 60
    or (store_archive.key_id ~ '^[A-Za-z0-9._-]{1,64}$') is not true
    or octet_length(store_archive.fingerprint) is distinct from 32) then
    perform identity.raise_error('L9VAL', 'key: must be 32 bytes');
  end if;
  -- An archive that was moved to other stores since has its bytes there.
  has_bytes := 'postgres' <> all (taken.connectors)
    or exists (select from public.archive_blobs b where b.archive_id = taken.archive_id);
  has_key := store_archive.wrapped_key is null
    or exists (select from archive.wrapped_keys w where w.archive_id = taken.archive_id);
  if has_bytes and has_key then
    return 'present';
  end if;
  if not has_bytes then
    insert into public.archive_blobs (archive_id, content_hash, blob)
    values (taken.archive_id, taken.content_hash, store_archive.blob);
  end if;
  if not has_key then
    insert into archive.wrapped_keys (archive_id, wrapped_key) values (taken.archive_id, store_archive.wrapped_key);
    update public.session_archives a set key_id = store_archive.key_id,
      -- The same session may have been archived here before.
      fingerprint = case when exists (
        select from public.session_archives o
        where o.fingerprint = store_archive.fingerprint and o.tenant_id = a.tenant_id and o.scope = a.scope
          and o.creator = a.creator
          and (o.org_id, o.user_id, o.project_id) is not distinct from (a.org_id, a.user_id, a.project_id))
        then a.fingerprint else store_archive.fingerprint end
    where a.archive_id = taken.archive_id;
  end if;
  perform audit.write_audit('IMPORT', 'session_archives', taken.archive_id, taken.project_id, taken.scope,
    jsonb_build_object('kind', 'archive_bytes', 'with_key', not has_key));
  return 'stored';
end $$;
comment on function transfer.store_archive is 'Stores the encrypted bytes of an imported archive in the database, and '
  'its wrapped key if one is given: stored, present (nothing was missing), or left_out (the archive is not here). Raises L9VAL '
  'for other bytes. Definer: callers have no access to bytes and keys.';
grant execute on function transfer.store_archive to l9_admin;
