-- The months of audit_log that were detached. detach_audit_partition() lists them, so that verify_audit() does not
-- report their rows as missing.
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
call identity.describe('public.audit_archives', 'Months of audit_log that were detached, with the number of rows that each seal
    lost with them.
  table_name: Table that was a partition. It stays as a table of its own until a superuser drops it.
  month: First day of the month, in UTC.
  row_count: Number of rows that it holds.
  seal_ids: Seals that cover its rows.
  seal_rows: Number of its rows that each of these seals covers, in the same order.
  archived_at: When it was detached.
  archived_by: Caller that detached it.');

create trigger _200_append_only before update or delete or truncate on public.audit_archives
  for each statement execute function l9_guard.tg_append_only();

alter table public.audit_archives enable always trigger _200_append_only;
alter table public.audit_archives enable row level security, force row level security;

create policy platform_override on public.audit_archives for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('audit_archives')));
create policy definer_functions on public.audit_archives for select to l9_owner using (true);
create policy definer_inserts on public.audit_archives for insert to l9_owner with check (true);
comment on policy platform_override on public.audit_archives is 'Operators see what was archived; each read is audited.';
comment on policy definer_functions on public.audit_archives is 'verify_audit() reads which rows were archived, so that it does '
  'not report them as missing.';
comment on policy definer_inserts on public.audit_archives is 'detach_audit_partition() inserts.';
grant select on public.audit_archives to l9_platform_admin;
