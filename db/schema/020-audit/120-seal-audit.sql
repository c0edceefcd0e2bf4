-- Adds seals over the rows of audit_log. A job of the gateway calls is_audit_unsealed() and seal_audit(), and its
-- metrics call audit_backlog().
create function audit.seal_audit_until(horizon xid8, max_rows integer) returns bigint
language plpgsql volatile security definer set search_path = '' as $$
declare
  last_xid constant xid8 := '18446744073709551615';
  last public.audit_seals;
  seal public.audit_seals;
  first_xid xid8;
begin
  select * into last from public.audit_seals s order by s.seal_id desc limit 1;
  seal.seal_id := coalesce(last.seal_id, 0) + 1;
  seal.sealed_at := clock_timestamp();
  seal.era := coalesce(last.era, 1);
  seal.era_after := coalesce(last.era_after, '-infinity');
  seal.from_xid := coalesce(last.to_xid, '0');
  seal.to_xid := horizon;
  seal.previous_hash := last.seal_hash;

  if last.to_xid = last_xid then
    -- The last seal closed an era: rows newer than every sealed row belong to the next era.
    seal.era := last.era + 1;
    seal.era_after := coalesce((select max(s.last_occurred_at) from public.audit_seals s), last.era_after);
    seal.from_xid := '0';
  elsif last.to_xid > pg_snapshot_xmax(pg_current_snapshot()) then
    -- The last sealed transaction lies in the future, so this database was restored from a dump into another cluster.
    -- The restored rows that were not sealed yet get the last seal of their era.
    seal.to_xid := last_xid;
  end if;

  if seal.to_xid <> last_xid then
    select a.xid into first_xid from public.audit_log a
    where a.xid >= seal.from_xid and a.xid < horizon and a.occurred_at > seal.era_after order by a.xid limit 1;
    if not found then
      return 0;
    end if;
    -- A seal covers at most max_rows rows, but a transaction is never split: one that exceeds max_rows is sealed whole.
    select case when a.xid > first_xid then a.xid else ((a.xid::text::bigint + 1)::text)::xid8 end into seal.to_xid
    from public.audit_log a
    where a.xid >= seal.from_xid and a.xid < horizon and a.occurred_at > seal.era_after order by a.xid offset max_rows limit 1;
    seal.to_xid := coalesce(seal.to_xid, horizon);
  end if;

  select count(*), min(r.occurred_at), max(r.occurred_at),
    coalesce(array_agg(r.audit_id order by r.xid, r.audit_id), '{}'),
    coalesce(array_agg(audit.audit_row_hash(r) order by r.xid, r.audit_id), '{}')
  into seal.row_count, seal.first_occurred_at, seal.last_occurred_at, seal.audit_ids, seal.row_hashes
  from public.audit_log r
  where r.xid >= seal.from_xid and r.xid < seal.to_xid and r.occurred_at > seal.era_after;
  seal.rows_hash := audit.audit_rows_hash(seal.audit_ids, seal.row_hashes);
  seal.seal_hash := audit.audit_seal_hash(seal);
  insert into public.audit_seals select seal.*;
  -- After closing an era this never returns 0, because the next era may have rows to seal.
  return greatest(seal.row_count, case when seal.to_xid = last_xid then 1 else 0 end);
end $$;
comment on function audit.seal_audit_until is 'Adds one seal, in order, over the unsealed rows of transactions before the '
  'horizon; returns their number. Definer: reads audit_log, writes audit_seals.';

create function audit.seal_audit(max_rows integer default 10000) returns bigint
language plpgsql volatile security definer set search_path = '' as $$
begin
  if max_rows is null or max_rows not between 1 and 100000 then
    perform identity.raise_error('L9VAL', 'max_rows: from 1 to 100000');
  end if;
  -- The lock serialises sealing. A caller that had to wait sees the other seal, because each statement takes a new snapshot.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory audit seal', 0));
  -- All transactions before the oldest running one have ended, so no further row of theirs can appear.
  return audit.seal_audit_until(pg_snapshot_xmin(pg_current_snapshot()), max_rows);
end $$;
comment on function audit.seal_audit is 'Adds one seal of at most about max_rows rows (whole transactions) over the committed '
  'rows, in order, and returns how many rows it covers; 0 if nothing is left. Transactions in flight are never skipped. Definer: '
  'reads audit_log, writes audit_seals.';

create function audit.is_audit_unsealed() returns boolean language sql stable security definer set search_path = ''
begin atomic
  with last as (select s.to_xid, s.era_after from public.audit_seals s order by s.seal_id desc limit 1)
  select exists (
    select from public.audit_log a
    where a.xid >= coalesce((select last.to_xid from last), '0')
      and a.occurred_at > coalesce((select last.era_after from last), '-infinity'))
    or exists (select from last where last.to_xid > pg_snapshot_xmax(pg_current_snapshot()));
end;
comment on function audit.is_audit_unsealed is 'True if there may be rows to seal. Definer: jobs cannot read audit_log.';

create function audit.audit_backlog() returns table (unsealed bigint, oldest_seconds double precision, last_sealed_at timestamptz)
language sql stable security definer set search_path = ''
begin atomic
  with last as (select s.to_xid, s.era_after, s.sealed_at from public.audit_seals s order by s.seal_id desc limit 1)
  select count(*), coalesce(extract(epoch from clock_timestamp() - min(unsealed_rows.occurred_at)), 0)::double precision,
    (select last.sealed_at from last)
  from (
    select a.occurred_at from public.audit_log a
    where a.xid >= coalesce((select last.to_xid from last), '0')
      and a.occurred_at > coalesce((select last.era_after from last), '-infinity')
    limit 100000
  ) as unsealed_rows;
end;
comment on function audit.audit_backlog is 'Number of rows of audit_log that are not sealed yet (it counts at most 100,000), the '
  'age of the oldest in seconds, and when the last seal was made. Definer: jobs cannot read audit_log.';
grant execute on function audit.seal_audit, audit.is_audit_unsealed, audit.audit_backlog to l9_worker;
