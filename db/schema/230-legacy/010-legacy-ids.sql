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
  'What became of each row of the old tables. It outlives the memory, so that one deleted here is not moved in again.';
comment on column legacy.legacy_ids.source is 'The database it came from.';
comment on column legacy.legacy_ids.source_table is 'The old table, such as memory.long_term.';
comment on column legacy.legacy_ids.source_id is 'The id it had there, as text.';
comment on column legacy.legacy_ids.new_id is 'The memory it is now (packet_id), or the audit row (audit_id).';
comment on column legacy.legacy_ids.outcome is
  'moved: a memory of its own; merged: a memory with the same content was there already; recorded: a row of audit_log.';
comment on column legacy.legacy_ids.source_hash is 'SHA-256 of the old content as it was (of an audit row: of the whole row). Null once the memory is deleted.';
comment on column legacy.legacy_ids.content_hash is 'As packet_store.content_hash. Null once the memory is deleted.';
comment on column legacy.legacy_ids.leftover is
  'Of a merged row what the memory that was there does not say: metadata, tags, unmapped columns. Null once the memory is deleted.';
comment on column legacy.legacy_ids.moved_at is 'When it was moved.';

alter table legacy.legacy_ids enable row level security;
alter table legacy.legacy_ids force row level security;

create policy definer_functions on legacy.legacy_ids to l9_owner using (true);
comment on policy definer_functions on legacy.legacy_ids is 'The functions of this chapter. Nobody else reads or writes it.';

create function legacy.tg_packet_store__forget_legacy()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  update legacy.legacy_ids i set source_hash = null, content_hash = null, leftover = null
  from old_rows o
  where i.new_id = o.packet_id;
  return null;
end
$$;

comment on function legacy.tg_packet_store__forget_legacy() is
  'With a memory goes what the list of old ids held of its content; the ids stay. Definer: nobody else writes that list.';

create trigger _900_forget_legacy after delete on public.packet_store
  referencing old table as old_rows
  for each statement execute function legacy.tg_packet_store__forget_legacy();
-- No grant on legacy_ids: it names memories of every tenant and scope.
