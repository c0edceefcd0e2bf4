-- What became of each row of the old tables, in a schema that stays after the import. The functions of the import write
-- and read it, and a trigger of packet_store clears what it holds of deleted memories.

create schema legacy;
comment on schema legacy is
  'What became of the rows of the old memory.* tables. Nothing here is granted to anybody.';

create function legacy.tg_packet_store__forget_legacy()
returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  update legacy.legacy_ids i set source_hash = null, content_hash = null, leftover = null
  from old_rows o
  where i.new_id = o.packet_id;
  return null;
end
$$;

comment on function legacy.tg_packet_store__forget_legacy is
  'When a memory is deleted, clears what the list of old ids holds of its content; the ids stay. Definer: nobody '
  'else writes that list.';

create table legacy.legacy_ids (
  source text not null,
  source_table text not null,
  source_id text not null,
  new_id uuid not null,
  outcome text not null,
  source_hash bytea,
  content_hash bytea,
  leftover jsonb,
  moved_at timestamptz not null default clock_timestamp(),
  primary key (source, source_table, source_id),
  constraint legacy_outcome_known check (outcome in ('moved', 'merged', 'recorded')),
  constraint legacy_hashes_sha256 check (octet_length(source_hash) = 32 and octet_length(content_hash) = 32)
);

create index legacy_ids_new_idx on legacy.legacy_ids (new_id);

comment on table legacy.legacy_ids is
  'What became of each row of the old tables. An entry outlives its memory, so that a memory deleted here is not '
  'imported again.';
comment on column legacy.legacy_ids.source is 'The database that the row came from.';
comment on column legacy.legacy_ids.source_table is 'The old table, such as memory.long_term.';
comment on column legacy.legacy_ids.source_id is 'The id of the row in the old table, as text.';
comment on column legacy.legacy_ids.new_id is 'The memory (packet_id) or audit row (audit_id) that the row became.';
comment on column legacy.legacy_ids.outcome is
  'moved: the row became a memory of its own; merged: a memory with the same content already existed; recorded: the '
  'row became a row of audit_log.';
comment on column legacy.legacy_ids.source_hash is
  'SHA-256 of the old content, unchanged (for an audit row, of the whole row). Null once the memory is deleted.';
comment on column legacy.legacy_ids.content_hash is
  'The content hash, computed like packet_store.content_hash. Null once the memory is deleted.';
comment on column legacy.legacy_ids.leftover is
  'For a merged row, what the existing memory does not contain: metadata, tags, unmapped columns. Null once the '
  'memory is deleted.';
comment on column legacy.legacy_ids.moved_at is 'When the row was imported.';

call identity.keep_private('legacy.legacy_ids',
  functions => 'The import reads and writes it, and a trigger clears it. Nobody else does.');

create trigger _900_forget_legacy after delete on public.packet_store
  referencing old table as old_rows
  for each statement execute function legacy.tg_packet_store__forget_legacy();
-- There is no grant on legacy_ids: it names memories of every tenant and scope.
