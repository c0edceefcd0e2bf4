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
call identity.describe('public.session_archives', 'Archived sessions: what is known of each without opening it. The bytes are
    encrypted and stand in a store under their hash. Each belongs to a memory of kind session, is visible like it, and goes with
    it.
  archive_id: UUID version 7.
  pointer: The address of the archive: cascade:// and the SHA-256 of its encrypted bytes.
  content_hash: SHA-256 of the encrypted bytes.
  size: How many encrypted bytes there are.
  source_tool: The tool that recorded the session.
  title: The first line of the summary, or the session id.
  summary: What the session was about; empty if nothing is known.
  started_at: When the session began; null if the document does not say.
  ended_at: When the session ended; null if the document does not say.
  happened_at: When the session ended, or else began, or else was archived: the event time of its memory, by which lists are
    ordered.
  message_count: How many messages are stored.
  messages_given: How many messages the session had when it was archived, whether they are stored or not.
  predecessor_id: The archive of the same session from before it was resumed. Searches show the successor; null: there is none
    before.
  tags: Labels.
  schema_version: The form of the stored document.
  connectors: The stores that have the bytes: postgres, file, s3 or http.
  key_id: The master key that wraps the key of this archive. Empty: it was imported without its key, and nobody can open it.
  redundancy: How many stores have the bytes.
  redacted: How many secrets and personal data were replaced before it was encrypted.
  fingerprint: A keyed hash of the document, by which the same session is known again. It tells nothing without the master key.
  cost_estimate: What estimate_storage_cost() said when it was stored.
  packet_id: The memory of kind session by which a search finds it.
  stored_at: When it was archived.
  verified_by: The creator name of the caller that found them whole; null: not verified yet.
  verified_at: When verify_archives last read its bytes for its creator or an administrator and found them whole; null: not since
    they were stored.');

call derived.derive_from_packets('public.session_archives', 'archive_id', 'packet_id');
create index session_archives_session_idx on public.session_archives (tenant_id, session_id);
comment on column public.session_archives.session_id is 'The id of the archived session, which its memory has too.';

create table archive.wrapped_keys (
  archive_id uuid primary key references public.session_archives on delete cascade,
  wrapped_key bytea not null,
  constraint wrapped_key_60_bytes check (octet_length(wrapped_key) = 60)
);
call identity.describe('archive.wrapped_keys', 'The key of each archive, encrypted with a master key that the database never sees.
    Deleting the row makes the bytes unreadable, wherever copies of them are.
  archive_id: The archive.
  wrapped_key: Nonce (12 bytes), encrypted key (32), tag (16).');
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
call identity.describe('public.archive_blobs', 'The encrypted bytes of archives in the store postgres.
  archive_id: The archive, which is entered after its bytes.
  content_hash: SHA-256 of the bytes.
  blob: Version (1 byte), nonce (12), encrypted document, tag (16).
  stored_at: When they were stored. Bytes that no archive names are collected an hour later.');
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
call identity.describe('archive.pending_deletions', 'Bytes in stores outside the database that the job deletes: those of deleted
    archives, which are unreadable already, because their keys are gone, and those that are being stored, until their archive is
    entered.
  archive_id: The archive that was deleted, or is to be entered.
  connector: The store that has them.
  content_hash: SHA-256 of the bytes.
  entered_at: When the archive was entered, or its bytes were announced. Bytes that another archive named before that are its own,
    and stay.
  due_at: When they may be deleted.');
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
