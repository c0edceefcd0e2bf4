create type archive.opened_session as (
  archive_id uuid,
  tenant_id uuid,
  content_hash bytea,
  schema_version integer,
  connectors text[],
  key_id text,
  wrapped_key bytea,
  blob bytea
);
comment on type archive.opened_session is
  'What is needed to fetch the bytes of an archive and to decrypt them with the master key; with blob, the bytes themselves.';

create function archive.open_session_archive(pointer text, with_blob boolean default false)
returns archive.opened_session
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
  opened archive.opened_session;
  found_one public.session_archives;
begin
  select a.* into found_one
  from public.session_archives a
  where a.content_hash = archive.hash_of(open_session_archive.pointer) and (a.ttl is null or a.ttl > now());
  if not found then
    perform identity.raise_error('L9OWN', 'pointer: there is no such archive, or it is not yours', 'pointer');
  end if;
  select found_one.archive_id, found_one.tenant_id, found_one.content_hash, found_one.schema_version, found_one.connectors, found_one.key_id, w.wrapped_key,
    case when open_session_archive.with_blob and 'postgres' = any (found_one.connectors) and found_one.size <= archive.max_piece_bytes() then (
      select b.blob from public.archive_blobs b where b.content_hash = found_one.content_hash) end
  into opened
  from archive.wrapped_keys w where w.archive_id = found_one.archive_id;
  perform audit.write_audit('RETRIEVE', 'session_archives', found_one.archive_id, found_one.project_id, found_one.scope,
    jsonb_build_object('pointer', found_one.pointer));
  return opened;
end
$$;
comment on function archive.open_session_archive(text, boolean) is
  'Hands out the wrapped key of an archive that the caller may read and, if with_blob, the bytes that the database has of it, if they are one piece; and leaves an audit row (RETRIEVE). Raises L9OWN if there is none or it is not the caller''s. Definer: callers have no access to keys and bytes.';

create function archive.note_verification(archive_id uuid, problem text default null)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
  noted public.session_archives;
begin
  select a.* into noted from public.session_archives a where a.archive_id = note_verification.archive_id;
  if not found then
    perform identity.raise_error('L9OWN', 'archive_id: there is no such archive, or it is not yours', 'archive_id');
  elsif problem is null then
    update public.session_archives a set verified_at = clock_timestamp() where a.archive_id = noted.archive_id;
  elsif problem not in ('missing', 'hash', 'tag', 'key') then
    perform identity.raise_error('L9VAL', 'problem: must be missing, hash, tag or key', 'problem');
  else
    perform audit.write_audit('RETRIEVE', 'session_archives', noted.archive_id, noted.project_id, noted.scope,
      jsonb_build_object('pointer', noted.pointer, 'problem', problem), 'L9INT');
  end if;
end
$$;
comment on function archive.note_verification(uuid, text) is
  'Records that the bytes of an archive were read and found to be whole, or an audit row with what was wrong: missing (no store has them), hash (they are others), tag (they do not open, or belong to another archive), key (the master key is missing or wrong). Definer: callers cannot write these tables.';

grant execute on function archive.open_session_archive(text, boolean), archive.note_verification(uuid, text) to l9_agent, l9_admin;
