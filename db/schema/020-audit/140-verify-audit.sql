-- Checks audit_log against its seals. Admins call verify_audit() in psql or GraphQL, or run `l9-memory audit verify`.
create type public.audit_verification as (
  ok boolean, seals bigint, rows bigint, unsealed bigint, archived bigint, broken_seal bigint, broken_row uuid, reason text,
  head text, last_seal bigint, is_complete boolean);
call identity.describe('public.audit_verification', 'Result of verify_audit(). An admin of a tenant gets the rows of its tenant
    only; the chain itself is one for all tenants.
  ok: False if a row or seal was altered, removed or added; the other columns say which.
  seals: Number of seals that were checked.
  rows: Number of rows that were checked against their seals.
  unsealed: Number of rows that are too new to be sealed; null if the end of the chain was not reached.
  archived: Number of rows of these seals that lie in detached partitions: the chain still covers their hashes, but the rows were
    not read. Null for an admin of a tenant.
  broken_seal: First seal that is broken, or whose rows were changed.
  broken_row: First row that was changed, if it is a single row and the caller may know of it.
  reason: What is wrong.
  head: Hash of the newest seal. Store it outside the database, and pass it to a later verify_audit.
  last_seal: Last seal that was checked.
  is_complete: False if max_rows was reached; continue with after_seal => last_seal.');

-- Compares the seal with its own hash first. A full join of its rows with the sealed hashes then tells which row was
-- altered, removed or added.
create function audit.audit_seal_problem(
  seal public.audit_seals, era_until timestamptz, only_tenant uuid,
  out row_count bigint, out archived bigint, out broken_row uuid, out reason text)
language plpgsql stable set search_path = '' as $$
declare
  missing bigint;
  added bigint;
  first_altered uuid;
  first_missing uuid;
  first_added uuid;
begin
  if audit.audit_rows_hash(seal.audit_ids, seal.row_hashes) <> seal.rows_hash
    or audit.audit_seal_hash(seal) <> seal.seal_hash then
    reason := 'the seal was altered';
    return;
  end if;
  select coalesce(sum(a.seal_rows[array_position(a.seal_ids, seal.seal_id)]), 0) into archived
  from public.audit_archives a where seal.seal_id = any (a.seal_ids);

  with current_rows as (
    select r.audit_id, r.tenant_id, audit.audit_row_hash(r) as hash
    from public.audit_log r
    where r.xid >= seal.from_xid and r.xid < seal.to_xid and r.occurred_at > seal.era_after and r.occurred_at <= era_until
  ), sealed_rows as (
    select s.audit_id, s.hash, s.position
    from rows from (unnest(seal.audit_ids), unnest(seal.row_hashes)) with ordinality as s (audit_id, hash, position)
  )
  select
    count(*) filter (where p.audit_id is not null and (only_tenant is null or p.tenant_id = only_tenant)),
    count(*) filter (where p.audit_id is null), count(*) filter (where s.audit_id is null),
    (array_agg(s.audit_id order by s.position) filter (where p.hash <> s.hash))[1],
    (array_agg(s.audit_id order by s.position) filter (where p.audit_id is null))[1],
    (array_agg(p.audit_id order by p.audit_id) filter (where s.audit_id is null))[1]
  into row_count, missing, added, first_altered, first_missing, first_added
  from current_rows p full join sealed_rows s on s.audit_id = p.audit_id;

  if first_altered is not null then
    reason := 'a row was altered';
    broken_row := first_altered;
  elsif missing <> archived then
    reason := case when archived = 0 then 'a row was removed'
      else format('%s rows were archived, but %s are missing', archived, missing) end;
    if archived = 0 then
      broken_row := first_missing;
      -- If it still exists, its xid or time was altered, so that this seal no longer covers it.
      if exists (select from public.audit_log r where r.audit_id = first_missing) then
        reason := 'a row was altered';
      end if;
    end if;
  elsif added > 0 then
    reason := 'a row was added';
    broken_row := first_added;
  end if;

  if broken_row is not null and only_tenant is not null
    and not exists (select from public.audit_log r where r.audit_id = broken_row and r.tenant_id = only_tenant) then
    broken_row := null;
  end if;
end $$;
comment on function audit.audit_seal_problem is 'Compares a seal with its hash and rows; reason is null if both are right.';

-- Goes through the seals in order, compares each with the one before it and with its rows, and stops at the first that is broken.
create function public.verify_audit(
  "from" timestamptz default null, "to" timestamptz default null, head text default null, after_seal bigint default null,
  max_rows bigint default null) returns public.audit_verification
language plpgsql stable security definer set search_path = '' as $$
declare
  me identity.identity := audit.require_auditor('verify_audit');
  only_tenant uuid;
  result public.audit_verification;
  seal public.audit_seals;
  previous public.audit_seals;
  newest public.audit_seals;
  era_until timestamptz;
  first_seal bigint;
  final_seal bigint;
  problem record;
  rows_read bigint := 0;
begin
  if me.role = 'l9_admin' then
    only_tenant := me.tenant_id;
  end if;
  if head !~ '^[0-9a-f]{64}$' then
    perform identity.raise_error('L9VAL', 'head: must be 64 hexadecimal digits, as audit_head returns them');
  elsif max_rows < 1 then
    perform identity.raise_error('L9VAL', 'max_rows: at least 1');
  end if;

  result := row(true, 0, 0, null, case when only_tenant is null then 0 end, null, null, null, null, null, true);
  select * into newest from public.audit_seals s order by s.seal_id desc limit 1;
  result.head := encode(newest.seal_hash, 'hex');

  -- The range of seals that covers this time, from the first to the last, without gaps.
  select coalesce(min(s.seal_id), newest.seal_id + 1) into first_seal
  from public.audit_seals s where verify_audit."from" is null or s.last_occurred_at >= verify_audit."from";
  select coalesce(max(s.seal_id), 0) into final_seal
  from public.audit_seals s where verify_audit."to" is null or s.first_occurred_at < verify_audit."to";
  if verify_audit."from" is null then
    first_seal := 1;
  end if;
  if verify_audit."to" is null then
    final_seal := newest.seal_id;
  end if;
  first_seal := greatest(first_seal, coalesce(after_seal, 0) + 1);
  select * into previous from public.audit_seals s where s.seal_id = first_seal - 1;
  result.last_seal := previous.seal_id;

  for seal in
    select * from public.audit_seals s where s.seal_id between first_seal and final_seal order by s.seal_id
  loop
    if rows_read >= max_rows then
      result.is_complete := false;
      exit;
    end if;
    -- If a seal is missing, the next one does not match its predecessor.
    if seal.seal_id <> coalesce(previous.seal_id, 0) + 1
      or seal.previous_hash is distinct from previous.seal_hash
      or previous.seal_id is null and (seal.era <> 1 or seal.from_xid <> '0')
      or seal.era = previous.era and seal.from_xid <> previous.to_xid
      or seal.era <> previous.era and (
        seal.era <> previous.era + 1 or previous.to_xid <> '18446744073709551615' or seal.from_xid <> '0') then
      result.broken_seal := seal.seal_id;
      result.reason := 'the seal does not match the previous one: a seal was removed, or the chain was rebuilt';
      exit;
    end if;
    if era_until is null or seal.era is distinct from previous.era then
      select coalesce(min(s.era_after), 'infinity') into era_until from public.audit_seals s where s.era > seal.era;
    end if;
    select * into problem from audit.audit_seal_problem(seal, era_until, only_tenant);
    if problem.reason is not null then
      result.broken_seal := seal.seal_id;
      result.broken_row := problem.broken_row;
      result.reason := problem.reason;
      exit;
    end if;
    rows_read := rows_read + greatest(seal.row_count, 1);
    result.rows := result.rows + problem.row_count;
    result.archived := result.archived + problem.archived;
    result.seals := result.seals + 1;
    result.last_seal := seal.seal_id;
    previous := seal;
  end loop;

  if result.reason is null and head is not null and not exists (
    select from public.audit_seals s where s.seal_hash = decode(verify_audit.head, 'hex')) then
    result.reason := 'no seal has the hash given as head: the end of the chain was removed, or the chain was rebuilt';
  end if;
  if result.reason is null and result.is_complete and final_seal is not distinct from newest.seal_id then
    select count(*) into result.unsealed from public.audit_log a
    where a.xid >= coalesce(newest.to_xid, '0') and a.occurred_at > coalesce(newest.era_after, '-infinity')
      and (only_tenant is null or a.tenant_id = only_tenant);
  end if;
  result.ok := result.reason is null;
  return result;
end $$;
comment on function public.verify_audit is 'Checks the audit log against its seals: those between the times from and to, or all. '
  'head: an earlier hash of audit_head, stored outside the database; if it is no longer in the chain, the end of the chain was '
  'removed. after_seal and max_rows split the check of a large log. For admins; one of a tenant learns nothing of other '
  'tenants'' rows. Definer: reads audit_log of every tenant, and audit_seals.';
grant execute on function public.verify_audit to l9_admin, l9_platform_admin;
