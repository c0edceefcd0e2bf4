-- The chain of hashes by which a change of audit_log is found. seal_audit() adds seals, and verify_audit() checks them.
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
call identity.describe('public.audit_seals', 'A chain of hashes over audit_log. Each seal covers the rows that a range of
    transactions wrote, and the hash of the previous seal. Its rows are hashed one by one, so that an altered row can be named.
  seal_id: Number of the seal: 1, 2, 3 and so on, without gaps.
  sealed_at: When the seal was made.
  era: Number of the database cluster, counted from 1: a restored database lives in a new cluster, which numbers its transactions
    from the start again.
  era_after: Rows of this era occurred after this time, and not after the era_after of the next era.
  from_xid: First transaction that the seal covers.
  to_xid: First transaction that the seal does not cover; the next seal begins there.
  row_count: Number of rows that the seal covers.
  first_occurred_at: Earliest time of its rows.
  last_occurred_at: Latest time of its rows.
  audit_ids: Ids of its rows, sorted by transaction, then id.
  row_hashes: SHA-256 of each row, in the same order.
  rows_hash: SHA-256 over the ids and hashes of its rows.
  previous_hash: seal_hash of the previous seal; null for the first.
  seal_hash: SHA-256 over all other columns of the seal.');

create trigger _200_append_only before update or delete or truncate on public.audit_seals
  for each statement execute function l9_guard.tg_append_only();

alter table public.audit_seals enable always trigger _200_append_only;
alter table public.audit_seals enable row level security, force row level security;

create policy platform_override on public.audit_seals for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('audit_seals')));
create policy definer_functions on public.audit_seals for select to l9_owner using (true);
create policy definer_inserts on public.audit_seals for insert to l9_owner with check (true);
comment on policy platform_override on public.audit_seals is 'Operators see the seals, which span all tenants; each read is '
  'audited.';
comment on policy definer_functions on public.audit_seals is 'verify_audit() and audit_head() read the chain.';
comment on policy definer_inserts on public.audit_seals is 'seal_audit() inserts.';
grant select on public.audit_seals to l9_platform_admin;
-- No grant for l9_admin: seals reveal how active other tenants are. It has verify_audit() and audit_head().
