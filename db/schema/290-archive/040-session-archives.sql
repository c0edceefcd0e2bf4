-- The tables of archives: what is known of each, its wrapped key, its bytes if the database stores them, and the
-- bytes that a job is to delete from other stores.
create table public.session_archives (
  archive_id uuid primary key,
  pointer text not null generated always as (archive.pointer_of(content_hash)) stored,
  content_hash bytea not null,
  size bigint not null,
  source_tool text,
  title text not null,
  summary text not null,
  started_at timestamptz,
  ended_at timestamptz,
  happened_at timestamptz not null,
  message_count integer not null,
  messages_given integer not null,
  predecessor_id uuid,
  tags text[] not null,
  schema_version text not null,
  connectors text[] not null,
  key_id text not null,
  redundancy integer not null generated always as (cardinality(connectors)) stored,
  redacted integer not null,
  fingerprint bytea not null,
  cost_estimate jsonb,
  packet_id uuid not null unique references public.packet_store on delete cascade,
  stored_at timestamptz not null default clock_timestamp(),
  verified_at timestamptz,
  verified_by text,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz, creator text not null, created_at timestamptz not null, updated_at timestamptz not null,
  constraint archive_hash_sha256 check (octet_length(content_hash) = 32 and octet_length(fingerprint) = 32),
  constraint archive_size_within_limit check (size between 1 and archive.max_blob_bytes()),
  constraint archive_connectors_named check (cardinality(connectors) between 1 and 8)
);
-- Erased contents must not survive in the planner's statistics.
alter table public.session_archives
  alter column title set statistics 0, alter column summary set statistics 0,
  alter column tags set statistics 0, alter column content_hash set statistics 0, alter column pointer set statistics 0,
  alter column fingerprint set statistics 0;
-- The key holds owner, scope and writer, so that a collision is never with an archive that the writer can't see.
create unique index session_archives_fingerprint_unique on public.session_archives
  (fingerprint, tenant_id, org_id, user_id, project_id, scope, creator) nulls not distinct;
create index session_archives_predecessor_idx on public.session_archives (predecessor_id) where predecessor_id is not null;
create index session_archives_pointer_idx on public.session_archives (content_hash);
create index session_archives_newest_idx on public.session_archives (tenant_id, scope, happened_at desc, archive_id desc);
comment on table public.session_archives is 'Archived sessions: what is known of each without opening it. The bytes are '
  'encrypted and stand in a store under their hash. Each belongs to a memory of kind session, is visible like it, and goes with '
  'it.';
comment on column public.session_archives.archive_id is 'UUID version 7.';
comment on column public.session_archives.pointer is 'The address of the archive: cascade:// and the SHA-256 of its encrypted '
  'bytes.';
comment on column public.session_archives.content_hash is 'SHA-256 of the encrypted bytes.';
comment on column public.session_archives.size is 'How many encrypted bytes there are.';
comment on column public.session_archives.source_tool is 'The tool that recorded the session.';
comment on column public.session_archives.title is 'The first line of the summary, or the session id.';
comment on column public.session_archives.summary is 'What the session was about; empty if nothing is known.';
comment on column public.session_archives.started_at is 'When the session began; null if the document does not say.';
comment on column public.session_archives.ended_at is 'When the session ended; null if the document does not say.';
comment on column public.session_archives.happened_at is 'When the session ended, or else began, or else was archived: the event '
  'time of its memory, by which lists are ordered.';
comment on column public.session_archives.message_count is 'How many messages are stored.';
comment on column public.session_archives.messages_given is 'How many messages the session had when it was archived, whether '
  'they are stored or not.';
comment on column public.session_archives.predecessor_id is 'The archive of the same session from before it was resumed. '
  'Searches show the successor; null: there is none before.';
comment on column public.session_archives.tags is 'Labels.';
comment on column public.session_archives.schema_version is 'The form of the stored document.';
comment on column public.session_archives.connectors is 'The stores that have the bytes: postgres, file, s3 or http.';
comment on column public.session_archives.key_id is 'The master key that wraps the key of this archive.';
comment on column public.session_archives.redundancy is 'How many stores have the bytes.';
comment on column public.session_archives.redacted is 'How many secrets and personal data were replaced before it was encrypted.';
comment on column public.session_archives.fingerprint is 'A keyed hash of the document, by which the same session is known '
  'again. It tells nothing without the master key.';
comment on column public.session_archives.cost_estimate is 'What estimate_storage_cost() said when it was stored.';
comment on column public.session_archives.packet_id is 'The memory of kind session by which a search finds it.';
comment on column public.session_archives.stored_at is 'When it was archived.';
comment on column public.session_archives.verified_by is 'The creator name of the caller that found them whole; null: not '
  'verified yet.';
comment on column public.session_archives.verified_at is 'When verify_archives last read its bytes for its creator or an '
  'administrator and found them whole; null: not since they were stored.';

call derived.derive_from_packets('public.session_archives', 'archive_id', 'packet_id');
create index session_archives_session_idx on public.session_archives (tenant_id, session_id);
comment on column public.session_archives.session_id is 'The id of the archived session, which its memory has too.';

create table archive.wrapped_keys (
  archive_id uuid primary key references public.session_archives on delete cascade,
  wrapped_key bytea not null,
  constraint wrapped_key_60_bytes check (octet_length(wrapped_key) = 60)
);
comment on table archive.wrapped_keys is 'The key of each archive, encrypted with a master key that the database never sees. '
  'Deleting the row makes the bytes unreadable, wherever copies of them are.';
comment on column archive.wrapped_keys.archive_id is 'The archive.';
comment on column archive.wrapped_keys.wrapped_key is 'Nonce (12 bytes), encrypted key (32), tag (16).';
call identity.keep_private('archive.wrapped_keys', functions => 'Functions hand a key to callers who may read its archive.');
-- Callers have no grant: open_session_archive() hands out one key at a time, on the record.

-- The bytes belong to one archive, not to their hash: nobody else can name, replace or delete them, or notice that they are
-- there.
create table public.archive_blobs (
  archive_id uuid primary key,
  content_hash bytea not null,
  blob bytea not null,
  stored_at timestamptz not null default clock_timestamp(),
  constraint blob_is_its_hash check (content_hash = sha256(blob)),
  constraint blob_within_limit check (octet_length(blob) between 30 and archive.max_blob_bytes())
);
-- Encrypted bytes can't be compressed.
alter table public.archive_blobs alter column blob set storage external,
  alter column content_hash set statistics 0, alter column blob set statistics 0;
comment on table public.archive_blobs is 'The encrypted bytes of archives in the store postgres.';
comment on column public.archive_blobs.archive_id is 'The archive, which is entered after its bytes.';
comment on column public.archive_blobs.content_hash is 'SHA-256 of the bytes.';
comment on column public.archive_blobs.blob is 'Version (1 byte), nonce (12), encrypted document, tag (16).';
comment on column public.archive_blobs.stored_at is 'When they were stored. Bytes that no archive names are collected an hour '
  'later.';
call identity.keep_private('public.archive_blobs', functions => 'Functions store, return and collect bytes.');
-- Callers have no grant: get_archive_blob() returns the bytes of an archive that the caller may read.

create table archive.pending_deletions (
  archive_id uuid not null,
  connector text not null,
  content_hash bytea not null,
  entered_at timestamptz not null,
  due_at timestamptz not null default clock_timestamp(),
  primary key (archive_id, connector)
);
alter table archive.pending_deletions alter column content_hash set statistics 0;
comment on table archive.pending_deletions is 'Bytes in stores outside the database that the job deletes: those of deleted '
  'archives, which are unreadable already, because their keys are gone, and those that are being stored, until their archive is '
  'entered.';
comment on column archive.pending_deletions.archive_id is 'The archive that was deleted, or is to be entered.';
comment on column archive.pending_deletions.connector is 'The store that has them.';
comment on column archive.pending_deletions.content_hash is 'SHA-256 of the bytes.';
comment on column archive.pending_deletions.entered_at is 'When the archive was entered, or its bytes were announced. Bytes that '
  'another archive named before that are its own, and stay.';
comment on column archive.pending_deletions.due_at is 'When they may be deleted.';
call identity.keep_private('archive.pending_deletions',
  functions => 'Functions queue deletions, and take back those of an archive that is entered.');
-- Nobody has a grant: bytes_to_delete() and note_deletion() are the job's.

create function archive.tg_session_archives__forget_bytes() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  update public.session_archives a set predecessor_id = old.predecessor_id where a.predecessor_id = old.archive_id;
  delete from public.archive_blobs b where b.archive_id = old.archive_id;
  insert into archive.pending_deletions (archive_id, connector, content_hash, entered_at)
  select old.archive_id, c.name, old.content_hash, old.stored_at from unnest(old.connectors) as c (name)
  where c.name <> 'postgres'
  on conflict on constraint pending_deletions_pkey do update
    set content_hash = excluded.content_hash, entered_at = excluded.entered_at, due_at = excluded.due_at;
  return null;
end $$;
comment on function archive.tg_session_archives__forget_bytes is 'Deletes the bytes of a deleted archive from the database, and '
  'queues their deletion elsewhere. Its key goes by a foreign key, and its successor follows its predecessor. Definer: callers '
  'cannot delete bytes.';
create trigger _600_forget_bytes after delete on public.session_archives
  for each row execute function archive.tg_session_archives__forget_bytes();

call derived.replace_expired('public.session_archives', 'packet_id', 'the same session is archived there already', 'fingerprint',
  'creator');
