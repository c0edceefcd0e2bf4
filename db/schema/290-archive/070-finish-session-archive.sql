-- The last step of archiving: the memory, the row and the wrapped key are saved together. The operation
-- store_session_to_cascade calls finish_session_archive() once the bytes are stored.
create type public.archived_session as (status text, pointer text, content_hash text, indexed boolean, redacted integer,
  packet_id uuid, findings jsonb, predecessor text);
comment on type public.archived_session is 'What became of a session that was to be archived.';
comment on column public.archived_session.status is 'inserted, skipped_dedupe (the same session was archived before) or refused '
  '(see findings).';
comment on column public.archived_session.pointer is 'The address of the archive; null if it was refused.';
comment on column public.archived_session.content_hash is 'SHA-256 of the encrypted bytes, in hexadecimal digits.';
comment on column public.archived_session.indexed is 'True if searches find it.';
comment on column public.archived_session.redacted is 'How many secrets and personal data were replaced.';
comment on column public.archived_session.packet_id is 'The memory of kind session.';
comment on column public.archived_session.findings is 'Pattern and path of everything that looks like a secret; null if nothing '
  'does.';
comment on column public.archived_session.predecessor is 'The pointer of the archive of the same session from before it was '
  'resumed; null if there is none.';

create function archive.find_archived(archive_id uuid, fingerprints bytea[]) returns public.archived_session
language plpgsql stable security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  found_one public.archived_session;
begin
  select 'skipped_dedupe', a.pointer, encode(a.content_hash, 'hex'), true, a.redacted, a.packet_id, null,
    (select b.pointer from public.session_archives b where b.archive_id = a.predecessor_id)
  into found_one
  from archive.prepared_sessions p
  join public.session_archives a on a.fingerprint = any (find_archived.fingerprints)
    and a.tenant_id = p.acting_tenant_id and a.scope = p.scope and a.project_id is not distinct from p.project_id
    and a.org_id is not distinct from me.org_id and a.user_id is not distinct from me.user_id and a.creator = me.creator
    and (a.ttl is null or a.ttl > now())
  where p.archive_id = find_archived.archive_id and p.acting_tenant_id = me.tenant_id and p.caller = me.caller
    and p.acting_user_id is not distinct from me.user_id
  limit 1;
  return found_one;
end $$;
comment on function archive.find_archived is 'The caller''s earlier archive of a session. Definer: reads prepared_sessions.';

create function archive.own_prepared(archive_id uuid) returns archive.prepared_sessions
language plpgsql stable security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  prepared archive.prepared_sessions;
begin
  select p.* into prepared
  from archive.prepared_sessions p
  where p.archive_id = own_prepared.archive_id and p.acting_tenant_id = me.tenant_id and p.caller = me.caller
    and p.acting_user_id is not distinct from me.user_id and p.prepared_at > clock_timestamp() - archive.lasting();
  if not found then
    perform identity.raise_error('L9VAL', 'archive_id: must be a session that you prepared within the last hour', 'archive_id');
  end if;
  return prepared;
end $$;
comment on function archive.own_prepared is 'A session that the caller prepared, or L9VAL. Definer: callers read no table.';

-- Checks that the memory and the bytes are those of the prepared session, and takes every word about the session from
-- what was scanned, never from its arguments.
create function archive.store_session_archive(archive_id uuid, packet_id uuid, content_hash bytea, size bigint, connectors text[],
  key_id text, wrapped_key bytea, fingerprint bytea) returns public.session_archives
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  prepared archive.prepared_sessions := archive.own_prepared(archive_id);
  source public.packet_store := derived.lock_source_memory(packet_id, 'packet_id');
  stored public.session_archives;
begin
  if source.packet_type <> 'session' or source.scope <> prepared.scope or source.project_id is distinct from prepared.project_id
    or source.metadata ->> 'creator' <> me.creator then
    perform identity.raise_error('L9VAL',
      'packet_id: must be your memory of kind session in the scope and project of the archive', 'packet_id');
  elsif octet_length(content_hash) is distinct from 32 or octet_length(fingerprint) is distinct from 32
    or octet_length(wrapped_key) is distinct from 60 or coalesce(cardinality(connectors), 0) not between 1 and 8
    or (size between 30 and archive.max_blob_bytes()) is not true or (key_id ~ '^[A-Za-z0-9._-]{1,64}$') is not true
    or exists (select from unnest(connectors) as c (name) where (c.name ~ '^[a-z][a-z0-9-]{0,30}$') is not true) then
    perform identity.raise_error('L9VAL', 'blob: hash, size, key or stores are malformed', 'blob');
  elsif exists (
    select from unnest(connectors) as c (name)
    where not case c.name
      when 'postgres' then exists (
        select from public.archive_blobs b
        where b.archive_id = store_session_archive.archive_id and b.content_hash = store_session_archive.content_hash
          and octet_length(b.blob) = store_session_archive.size)
      else exists (
        select from archive.pending_deletions d
        where d.archive_id = store_session_archive.archive_id and d.content_hash = store_session_archive.content_hash
          and d.connector = c.name) end) then
    -- Only what was stored for this archive counts, so that this tells nothing of the bytes of others.
    perform identity.raise_error('L9VAL', 'blob: must be stored before its archive', 'blob');
  end if;
  delete from archive.prepared_sessions p where p.archive_id = store_session_archive.archive_id;
  delete from archive.pending_deletions d where d.archive_id = store_session_archive.archive_id;
  insert into public.session_archives (
    archive_id, content_hash, size, source_tool, title, summary, started_at, ended_at, happened_at, message_count,
    messages_given, tags, schema_version, connectors, key_id, redacted, fingerprint, cost_estimate, packet_id, creator)
  values (
    archive_id, content_hash, size, prepared.source_tool, prepared.title, prepared.summary, prepared.started_at,
    prepared.ended_at, source."timestamp", prepared.message_count, prepared.messages_given, prepared.tags, '1', connectors,
    key_id, prepared.redacted, fingerprint, to_jsonb(public.estimate_storage_cost(size, cardinality(connectors), connectors[1])),
    packet_id, me.creator)
  returning * into stored;
  insert into archive.wrapped_keys (archive_id, wrapped_key) values (archive_id, wrapped_key);
  perform audit.write_audit('ARCHIVE', 'session_archives', archive_id, prepared.project_id, prepared.scope,
    jsonb_build_object('pointer', stored.pointer, 'size', size, 'connectors', to_jsonb(connectors), 'redacted',
      prepared.redacted));
  return stored;
end $$;
comment on function archive.store_session_archive is 'Enters a prepared session, whose bytes were stored in the database or '
  'announced for other stores, for its memory: its row and its wrapped key, with an audit row (ARCHIVE) in the same transaction. '
  'What it says of the session comes from what was scanned. Definer: writes tables that callers cannot.';

create function archive.is_longer(one public.session_archives, other public.session_archives) returns boolean
language sql immutable parallel safe set search_path = ''
return one.messages_given >= other.messages_given and coalesce(one.ended_at >= other.ended_at, true)
  and (one.messages_given > other.messages_given or coalesce(one.ended_at > other.ended_at, false));
comment on function archive.is_longer is 'True if one of two archives of a session goes on where the other ended.';

create type archive.succession as (former uuid, latter uuid);
comment on type archive.succession is 'The memories of two archives of one session, of which searches show the latter.';

-- Finds the last archive of the same session and puts the new one behind it or, if it ended earlier, before it, so
-- that archives of one session form one chain.
create function archive.succeed(archive_id uuid) returns archive.succession
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  added public.session_archives;
  last public.session_archives;
begin
  select a.* into added
  from public.session_archives a
  where a.archive_id = succeed.archive_id and a.tenant_id = me.tenant_id and a.creator = me.creator;
  if added.session_id is null then
    return null;
  end if;
  -- Of two that archive one session at the same time, the second follows the first.
  perform pg_advisory_xact_lock(hashtextextended(concat_ws(E'\n', added.tenant_id, added.creator, added.session_id), 0));
  select a.* into last
  from public.session_archives a
  where a.session_id = added.session_id and a.tenant_id = added.tenant_id and a.scope = added.scope and a.creator = added.creator
    and (a.org_id, a.user_id, a.project_id, a.source_tool, a.started_at)
      is not distinct from (added.org_id, added.user_id, added.project_id, added.source_tool, added.started_at)
    and a.archive_id <> added.archive_id and (a.ttl is null or a.ttl > now())
    and (archive.is_longer(added, a) or archive.is_longer(a, added))
    and not exists (select from public.session_archives n where n.predecessor_id = a.archive_id)
  order by a.stored_at desc, a.archive_id desc limit 1;
  if not found then
    return null;
  elsif archive.is_longer(added, last) then
    update public.session_archives a set predecessor_id = last.archive_id where a.archive_id = added.archive_id;
    return row(last.packet_id, added.packet_id)::archive.succession;
  end if;
  -- An older copy was archived late.
  update public.session_archives a set predecessor_id = last.predecessor_id where a.archive_id = added.archive_id;
  update public.session_archives a set predecessor_id = added.archive_id where a.archive_id = last.archive_id;
  return row(added.packet_id, last.packet_id)::archive.succession;
end $$;
comment on function archive.succeed is 'Puts an archive of the caller''s beside the one that the same tool recorded of the same '
  'session, and that began when it did: the longer one succeeds the other. Null if there is none. Definer: callers cannot change '
  'archives.';

create function archive.hide_former(succession archive.succession) returns void
language plpgsql volatile set search_path = '' as $$
begin
  update public.packet_store p set envelope = p.envelope || jsonb_build_object('succeeded_by', succession.latter)
  where p.packet_id = succession.former;
exception when sqlstate 'L9OWN' or sqlstate 'L9IMM' then
  -- Somebody else has changed it since, so it stays in searches.
  null;
end $$;
comment on function archive.hide_former is 'Takes an archive''s memory out of searches once the archive has a successor.';

-- Runs in a block of its own, so that of two calls with one session the second undoes what it has saved and answers
-- with the archive of the first.
create function archive.finish_session_archive(archive_id uuid, content_hash bytea, size bigint, connectors text[], key_id text,
  wrapped_key bytea, fingerprints bytea[], blob bytea default null) returns public.archived_session
language plpgsql volatile set search_path = '' as $$
declare
  prepared archive.prepared_sessions := archive.own_prepared(archive_id);
  pointer constant text := archive.pointer_of(content_hash);
  saved public.save_result;
  packet_id uuid;
  stored public.session_archives;
  succession archive.succession;
  answer public.archived_session := archive.find_archived(archive_id, fingerprints);
begin
  if answer.status is not null then
    return answer;
  end if;
  begin
    -- The bytes come first: store_session_archive() refuses a row without them.
    if blob is not null then
      perform archive.put_archive_blob(archive_id, content_hash, blob);
    end if;
    saved := public.save_memory(
      content => concat_ws(E'\n', nullif(prepared.title, prepared.session_key), nullif(prepared.summary, prepared.title),
        format('Session %s%s, archived as %s', prepared.session_key, ' of ' || prepared.source_tool, pointer)),
      scope => prepared.scope, project_id => prepared.project_id, branch => '*', kind => 'session', tags => prepared.tags,
      session_id => prepared.session_key, "timestamp" => least(coalesce(prepared.ended_at, prepared.started_at), now()),
      envelope => jsonb_build_object('pointer', pointer, 'title', prepared.title, 'source_tool',
        prepared.source_tool));
    perform derived.refuse_withheld(saved.memory);
    packet_id := (saved.memory).packet_id;
    stored := archive.store_session_archive(archive_id, packet_id, content_hash, size, connectors, key_id, wrapped_key,
      fingerprints[1]);
    succession := archive.succeed(archive_id);
    if succession.former is not null then
      perform archive.hide_former(succession);
    end if;
  exception when unique_violation then
    -- The same session was archived at the same time: the first one stays.
    answer := archive.find_archived(archive_id, fingerprints);
    if answer.status is null then
      raise;
    end if;
    return answer;
  end;
  return row('inserted', stored.pointer, encode(stored.content_hash, 'hex'), true, stored.redacted, packet_id, null, (
    select b.pointer from public.session_archives a join public.session_archives b on b.archive_id = a.predecessor_id
    where a.archive_id = stored.archive_id))::public.archived_session;
end $$;
comment on function archive.finish_session_archive is 'Ends what prepare_session_archive() began: saves the memory of kind '
  'session, and enters the archive. blob: the bytes, if one of the stores is the database; the other stores must have them '
  'already. fingerprints: of the same document by every master key, the first that of key_id. A longer archive of a session '
  'succeeds the shorter one. If the caller archived it before, the answer is skipped_dedupe and nothing is stored.';
grant execute on function archive.find_archived, archive.own_prepared, archive.succeed, archive.hide_former,
  archive.store_session_archive, archive.finish_session_archive to l9_agent, l9_admin;
grant usage on type public.archived_session, archive.succession to l9_agent, l9_admin;
