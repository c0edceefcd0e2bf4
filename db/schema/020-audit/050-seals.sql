create table public.audit_seals (
  seal_id bigint primary key,
  sealed_at timestamptz not null default clock_timestamp(),
  era integer not null,
  era_after timestamptz not null,
  from_xid xid8 not null,
  to_xid xid8 not null,
  row_count integer not null,
  first_occurred_at timestamptz,
  last_occurred_at timestamptz,
  audit_ids uuid[] not null,
  row_hashes bytea[] not null,
  rows_hash bytea not null,
  previous_hash bytea,
  seal_hash bytea not null,
  constraint audit_seal_hash_unique unique (seal_hash),
  constraint audit_seal_is_linked check ((seal_id = 1) = (previous_hash is null)),
  constraint audit_seal_is_a_range check (from_xid < to_xid),
  constraint audit_seal_counts_its_rows check (row_count = cardinality(audit_ids) and row_count = cardinality(row_hashes))
);

create index audit_seals_time_idx on public.audit_seals (last_occurred_at);

comment on table public.audit_seals is
  'A chain of hashes over audit_log. Each seal covers what a range of transactions wrote, and the seal before it; its rows are hashed one by one, so that a changed one can be named.';
comment on column public.audit_seals.seal_id is 'Counts up from 1, without gaps.';
comment on column public.audit_seals.sealed_at is 'When it was made.';
comment on column public.audit_seals.era is 'Counts the database clusters this database has lived in: transactions are numbered anew in each.';
comment on column public.audit_seals.era_after is 'Rows of this era occurred after it, and not after that of the next era.';
comment on column public.audit_seals.from_xid is 'The first transaction it covers.';
comment on column public.audit_seals.to_xid is 'The first transaction it does not cover; the next seal begins there.';
comment on column public.audit_seals.row_count is 'How many rows it covers.';
comment on column public.audit_seals.first_occurred_at is 'The earliest time of its rows.';
comment on column public.audit_seals.last_occurred_at is 'The latest time of its rows.';
comment on column public.audit_seals.audit_ids is 'Its rows, by transaction, then id.';
comment on column public.audit_seals.row_hashes is 'SHA-256 of each, in the same order.';
comment on column public.audit_seals.rows_hash is 'SHA-256 over the ids and hashes of its rows.';
comment on column public.audit_seals.previous_hash is 'seal_hash of the seal before; null for the first.';
comment on column public.audit_seals.seal_hash is 'SHA-256 over everything else of the seal.';

create trigger _100_append_only
  before update or delete or truncate on public.audit_seals
  for each statement execute function l9_guard.tg_append_only();
alter table public.audit_seals enable always trigger _100_append_only;
alter table public.audit_seals enable row level security;
alter table public.audit_seals force row level security;

create policy platform_override on public.audit_seals for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('audit_seals')));
create policy definer_functions on public.audit_seals for select to l9_owner using (true);
create policy definer_inserts on public.audit_seals for insert to l9_owner with check (true);
comment on policy platform_override on public.audit_seals is 'Operators see the seals, which span all tenants.';
comment on policy definer_functions on public.audit_seals is 'verify_audit() and audit_head() read the chain.';
comment on policy definer_inserts on public.audit_seals is 'seal_audit() adds to it.';

grant select on public.audit_seals to l9_platform_admin;
-- Nothing for l9_admin: how much other tenants do is not its business. It has verify_audit() and audit_head().

create table public.audit_archives (
  table_name text primary key,
  month date not null,
  row_count bigint not null,
  seal_ids bigint[] not null,
  seal_rows bigint[] not null,
  archived_at timestamptz not null default clock_timestamp(),
  archived_by text not null,
  constraint audit_archive_counts_by_seal check (cardinality(seal_ids) = cardinality(seal_rows))
);

comment on table public.audit_archives is 'Months of audit_log that were detached, and how many rows of which seals went with them.';
comment on column public.audit_archives.table_name is 'What was a partition, and is now a table by itself, until a superuser drops it.';
comment on column public.audit_archives.month is 'The first day of its month, in UTC.';
comment on column public.audit_archives.row_count is 'How many rows it holds.';
comment on column public.audit_archives.seal_ids is 'The seals that cover its rows.';
comment on column public.audit_archives.seal_rows is 'How many of its rows each of them covers.';
comment on column public.audit_archives.archived_at is 'When it was detached.';
comment on column public.audit_archives.archived_by is 'Who detached it.';

create trigger _100_append_only
  before update or delete or truncate on public.audit_archives
  for each statement execute function l9_guard.tg_append_only();
alter table public.audit_archives enable always trigger _100_append_only;
alter table public.audit_archives enable row level security;
alter table public.audit_archives force row level security;

create policy platform_override on public.audit_archives for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('audit_archives')));
create policy definer_functions on public.audit_archives for select to l9_owner using (true);
create policy definer_inserts on public.audit_archives for insert to l9_owner with check (true);
comment on policy platform_override on public.audit_archives is 'Operators see what was archived.';
comment on policy definer_functions on public.audit_archives is 'verify_audit() does not miss what was archived.';
comment on policy definer_inserts on public.audit_archives is 'detach_audit_partition() adds to it.';

grant select on public.audit_archives to l9_platform_admin;
