-- Hands out what it takes to decrypt an archive, and notes what reading it showed. The operations
-- retrieve_session_from_cascade and verify_archives call these functions.
create type archive.opened_session as (archive_id uuid, tenant_id uuid, content_hash bytea, schema_version text,
  connectors text[], key_id text, wrapped_key bytea, blob bytea, creator text, source text);
comment on type archive.opened_session is 'What is needed to fetch and decrypt the bytes of an archive; with blob, its bytes.';

-- Bytes of one piece come along with the key, which saves a second call for most sessions; larger ones are read piece by piece.
create function archive.open_session_archive(pointer text, with_blob boolean default false, archive_id uuid default null)
returns archive.opened_session
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  opened archive.opened_session;
  found_one public.session_archives;
begin
  select a.* into found_one
  from public.session_archives a
  where a.content_hash = archive.hash_of(open_session_archive.pointer) and (a.ttl is null or a.ttl > now())
    and (open_session_archive.archive_id is null or a.archive_id = open_session_archive.archive_id)
  -- The key was chosen at random, so another archive that names this hash is a copy, and was entered later.
  order by a.stored_at, a.archive_id limit 1;
  if not found then
    perform identity.raise_error('L9OWN', 'pointer: there is no such archive, or it is not yours');
  end if;
  select found_one.archive_id, found_one.tenant_id, found_one.content_hash, found_one.schema_version, found_one.connectors,
    found_one.key_id, (select w.wrapped_key from archive.wrapped_keys w where w.archive_id = found_one.archive_id),
    case when open_session_archive.with_blob and found_one.size <= archive.max_piece_bytes() then (
      select b.blob from public.archive_blobs b where b.archive_id = found_one.archive_id) end,
    found_one.creator, found_one.source
  into opened;
  -- An operator leaves it with the tenant whose archive it is.
  perform audit.write_audit_of_tenant(found_one.tenant_id, 'RETRIEVE', 'session_archives', found_one.archive_id,
    found_one.project_id, found_one.scope, jsonb_build_object('pointer', found_one.pointer));
  return opened;
end $$;
comment on function archive.open_session_archive is 'Hands out the wrapped key (null: it was imported without it) of an archive '
  'that the caller may read (archive_id: of this one with the pointer; else the first that was entered) and, if with_blob, '
  'the bytes that the database has of it, if they are one piece; and leaves an audit row (RETRIEVE). Raises L9OWN if '
  'there is none or it is not the caller''s. Definer: callers have no access to keys and bytes.';

create function archive.may_keep(kept public.session_archives, me identity.identity) returns boolean
language sql stable set search_path = ''
return (kept.creator = (me).creator or (me).role = 'l9_admin')
  and exists (select from public.packet_store p where p.packet_id = kept.packet_id and packets.may_rewrite(p, me));
comment on function archive.may_keep is 'True if the caller made an archive that no administrator stands by, or is one.';

create function archive.note_verification(archive_id uuid, problem text default null, connector text default null) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  noted public.session_archives;
begin
  select a.* into noted from public.session_archives a where a.archive_id = note_verification.archive_id;
  if not found then
    perform identity.raise_error('L9OWN', 'archive_id: there is no such archive, or it is not yours');
  elsif problem is null then
    if not archive.may_keep(noted, me) then
      return false;
    end if;
    update public.session_archives a set verified_at = clock_timestamp(), verified_by = me.creator
    where a.archive_id = noted.archive_id;
  elsif problem not in ('missing', 'hash', 'tag', 'key') then
    perform identity.raise_error('L9VAL', 'problem: must be missing, hash, tag or key');
  elsif connector is not null and not archive.are_connectors(array[connector]) then
    perform identity.raise_error('L9VAL', 'connector: must be the name of a store');
  else
    perform audit.write_audit('RETRIEVE', 'session_archives', noted.archive_id, noted.project_id, noted.scope,
      jsonb_strip_nulls(jsonb_build_object('pointer', noted.pointer, 'problem', problem, 'connector', connector)), 'L9INT');
  end if;
  return true;
end $$;
comment on function archive.note_verification is 'Records that the bytes of an archive were read and found to be whole, for its '
  'creator and for administrators: false, and nothing changes, for others who may read it. With a problem, which any reader may '
  'meet, it writes an audit row with what was wrong: missing (no store has them), hash (they are others), tag (they do not open, '
  'or belong to another archive), key (the master key is missing or wrong); connector names the store if it is about one copy. '
  'Definer: callers cannot write these tables.';

-- Locks the row, so that concurrent runs of verify_archives set the list one after the other, each with the former
-- list in its audit row.
create function archive.name_copies(archive_id uuid, connectors text[]) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  named public.session_archives;
begin
  if archive.are_connectors(name_copies.connectors) is not true then
    perform identity.raise_error('L9VAL', 'connectors: 1 to 8 names of stores');
  end if;
  select a.* into named from public.session_archives a where a.archive_id = name_copies.archive_id for update;
  if not found then
    perform identity.raise_error('L9OWN', 'archive_id: there is no such archive, or it is not yours');
  elsif not archive.may_keep(named, me) then
    return false;
  elsif named.connectors = name_copies.connectors then
    return true;
  end if;
  update public.session_archives a set connectors = name_copies.connectors where a.archive_id = named.archive_id;
  if 'postgres' <> all (name_copies.connectors) then
    delete from public.archive_blobs b where b.archive_id = named.archive_id;
  end if;
  perform audit.write_audit_of_tenant(named.tenant_id, 'UPDATE', 'session_archives', named.archive_id, named.project_id,
    named.scope, jsonb_build_object('pointer', named.pointer, 'connectors', to_jsonb(name_copies.connectors), 'was_connectors',
      to_jsonb(named.connectors)));
  return true;
end $$;
comment on function archive.name_copies is 'Sets which stores have the bytes of an archive, after they were read there or before '
  'they are written there, with an audit row. If the database is none of them, its bytes are deleted. For the creator of the '
  'archive and for administrators: false, and nothing changes, for others who may read it. Definer: callers cannot write these '
  'tables.';
grant execute on function archive.open_session_archive, archive.note_verification, archive.name_copies to l9_agent, l9_admin,
  l9_platform_admin;
