-- The audit log in exports, and the logs that came from other databases: import_memories() stores them here, beside the
-- database's own, and export_memories() reads both. A log is named by the hash of the first seal of its chain. A line of a row
-- has the hash that its seal has of it; a line of a seal says what it covers of the tenant's rows, and names the line before.
create table transfer.imported_audit_log (
  tenant_id uuid not null references public.tenants,
  chain bytea not null,
  seal_id bigint not null,
  audit_id uuid not null,
  occurred_at timestamptz not null,
  xid xid8 not null,
  operation text not null,
  table_name text not null,
  row_id uuid,
  project_id text, scope text,
  status text not null,
  sqlstate text,
  details jsonb not null,
  row_hash bytea not null,
  imported_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, chain, audit_id)
);
alter table transfer.imported_audit_log alter column details set statistics 0;
create index imported_audit_log_seal_idx on transfer.imported_audit_log (tenant_id, chain, seal_id);
call identity.describe('transfer.imported_audit_log', 'Rows of the audit log of other databases, as an import brought them.
    Append-only for every role. Columns that are not named here are those of audit_log.
  chain: seal_hash of the first seal of the log from which the row comes.
  seal_id: The seal that covers it there.
  row_hash: The hash that this seal has of the row: audit_row_hash().
  imported_at: When it was imported.');

create table transfer.imported_audit_seals (
  tenant_id uuid not null references public.tenants,
  chain bytea not null,
  seal_id bigint not null,
  sealed_at timestamptz not null,
  seal_hash bytea not null,
  row_count integer not null,
  rows_hash bytea not null,
  previous_hash bytea,
  hash bytea not null,
  imported_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, chain, seal_id)
);
call identity.describe('transfer.imported_audit_seals', 'What each seal of another database says of the rows of the tenant.
    Append-only for every role.
  chain: seal_hash of the first seal of the log.
  seal_id: Number of the seal there.
  sealed_at: When it was made.
  seal_hash: Its hash there, as audit_head() returned it.
  row_count: How many rows of the tenant it covers.
  rows_hash: SHA-256 over their ids and hashes, in the order of transactions, then ids.
  previous_hash: The hash of the line before; null for the first seal.
  hash: sealed_part_hash() of the other columns.
  imported_at: When it was imported.');

do $$
declare
  target text;
begin
  foreach target in array array['transfer.imported_audit_log', 'transfer.imported_audit_seals'] loop
    execute format('create trigger _200_append_only before update or delete or truncate on %s
      for each statement execute function l9_guard.tg_append_only()', target);
    execute format('alter table %s enable always trigger _200_append_only', target);
    execute format('alter table %s enable row level security, force row level security', target);
    execute format('create policy tenant_isolation on %s as restrictive to l9_admin
      using (tenant_id = (select identity.current_tenant_id()))', target);
    execute format('comment on policy tenant_isolation on %s is %L', target, 'Admins read what was imported into their tenant.');
    execute format('create policy definer_functions on %s for select to l9_owner using (true)', target);
    execute format('comment on policy definer_functions on %s is %L', target, 'An import compares seals with their rows.');
    execute format('create policy definer_imports on %s for insert to l9_owner
      with check (tenant_id = (select identity.current_tenant_id()) and (select transfer.is_importing()))', target);
    execute format('comment on policy definer_imports on %s is %L', target,
      'An import writes rows of the tenant of the administrator who calls it.');
    execute format('grant select on %s to l9_admin', target);
  end loop;
end $$;
create policy scope_access on transfer.imported_audit_log for select to l9_admin
  using (scope is null or scope = any ((select identity.current_scopes())::text[]));
create policy scope_access on transfer.imported_audit_seals for select to l9_admin using (true);
comment on policy scope_access on transfer.imported_audit_log is 'Admins read them, within the scopes of their claims.';
comment on policy scope_access on transfer.imported_audit_seals is 'Seals tell of no row but its hash.';

create function transfer.own_chain() returns text language sql stable security definer set search_path = ''
return (select to_jsonb(s.seal_hash) #>> '{}' from public.audit_seals s where s.seal_id = 1);
comment on function transfer.own_chain is 'The name of this database''s own audit log, as lines have it; null before its first '
  'seal. Definer: admins read no seals.';

create function transfer.sealed_part_hash(part transfer.imported_audit_seals) returns bytea
language sql stable parallel safe set search_path = ''
return pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.jsonb_build_array(
  pg_catalog.encode((part).chain, 'hex'), (part).seal_id, extract(epoch from (part).sealed_at)::text,
  pg_catalog.encode((part).seal_hash, 'hex'), (part).row_count, pg_catalog.encode((part).rows_hash, 'hex'),
  pg_catalog.encode((part).previous_hash, 'hex'))::text, 'UTF8'));
comment on function transfer.sealed_part_hash is 'SHA-256 of the JSON array [chain, seal_id, sealed_at, seal_hash, row_count, '
  'rows_hash, previous_hash]. Times are seconds since 1970, hashes are hexadecimal.';

-- The same rows as the policies of audit_log show the caller. The hash is the one that was sealed, whatever the row has become.
create function transfer.readable_rows(seal public.audit_seals)
returns table (place bigint, audit_row public.audit_log, row_hash bytea)
language sql stable set search_path = ''
begin atomic
  select s.place, a, s.row_hash
  from rows from (unnest((seal).audit_ids), unnest((seal).row_hashes)) with ordinality as s (audit_id, row_hash, place)
  join public.audit_log a on a.audit_id = s.audit_id
    and a.occurred_at between (seal).first_occurred_at and (seal).last_occurred_at
  where a.tenant_id = identity.current_tenant_id() and (a.scope is null or a.scope = any (identity.current_scopes()))
  order by s.place;
end;
comment on function transfer.readable_rows is 'The audit rows under a seal that the caller may read.';

create function transfer.count_of_audit(kind text, as_of timestamptz) returns bigint
language plpgsql stable security definer set search_path = '' as $$
declare
  newest public.audit_seals;
begin
  perform audit.require_auditor('export_memories');
  select s.* into newest from public.audit_seals s where s.sealed_at <= count_of_audit.as_of order by s.seal_id desc limit 1;
  return case when newest.seal_id is null then 0 when kind = 'audit_seal' then newest.seal_id else (
    select count(*) from public.audit_log a
    where a.tenant_id = identity.current_tenant_id() and (a.scope is null or a.scope = any (identity.current_scopes()))
      and (a.xid < newest.to_xid or a.occurred_at <= newest.era_after)) end;
end $$;
comment on function transfer.count_of_audit is 'How many lines there are of the sealed audit log. Definer: admins read no seals.';

-- The cursor of a row is its seal and id, that of a seal its number and hash, to which the next one is linked.
create function transfer.audit_page(kind text, as_of timestamptz, after jsonb, page_size integer) returns jsonb
language plpgsql stable security definer set search_path = '' set timezone = 'UTC' as $$
declare
  chain constant bytea := (select s.seal_hash from public.audit_seals s where s.seal_id = 1);
  seal public.audit_seals;
  part transfer.imported_audit_seals;
  found_row record;
  passed bigint;
  lines text[] := '{}';
  bytes bigint := 0;
  last jsonb;
begin
  perform audit.require_auditor('export_memories');
  if after is not null and not (pg_input_is_valid(after ->> 0, 'bigint')
    and pg_input_is_valid(after ->> 1, case when kind = 'audit_row' then 'uuid' else 'bytea' end)) then
    perform identity.raise_error('L9VAL', 'after: must be the cursor of the previous page');
  end if;
  for seal in
    select s.* from public.audit_seals s
    where s.sealed_at <= audit_page.as_of
      and (after is null or s.seal_id > (after ->> 0)::bigint or kind = 'audit_row' and s.seal_id = (after ->> 0)::bigint)
    order by s.seal_id
  loop
    if kind = 'audit_seal' then
      if cardinality(lines) = page_size then
        return jsonb_build_object('lines', array_to_string(lines, E'\n'), 'count', cardinality(lines), 'cursor', last);
      end if;
      part.previous_hash := (coalesce(last, after) ->> 1)::bytea;
      part.chain := chain;
      part.seal_id := seal.seal_id;
      part.sealed_at := seal.sealed_at;
      part.seal_hash := seal.seal_hash;
      select count(*), audit.audit_rows_hash(
          array_agg((r.audit_row).audit_id order by r.place), array_agg(r.row_hash order by r.place))
      into part.row_count, part.rows_hash from transfer.readable_rows(seal) r;
      part.hash := transfer.sealed_part_hash(part);
      lines := lines || jsonb_build_object('audit_seal', to_jsonb(part) - '{tenant_id,imported_at}'::text[])::text;
      last := jsonb_build_array(part.seal_id, part.hash);
      continue;
    end if;
    passed := case when seal.seal_id = (after ->> 0)::bigint then array_position(seal.audit_ids, (after ->> 1)::uuid) else 0 end;
    for found_row in
      select r.row_hash, r.audit_row as a from transfer.readable_rows(seal) r where r.place > coalesce(passed, 0) order by r.place
    loop
      if cardinality(lines) = page_size or bytes > 4000000 then
        return jsonb_build_object('lines', array_to_string(lines, E'\n'), 'count', cardinality(lines), 'cursor', last);
      end if;
      lines := lines || jsonb_build_object('audit_row', jsonb_build_object(
        'chain', chain, 'seal_id', seal.seal_id, 'audit_id', (found_row.a).audit_id, 'occurred_at', (found_row.a).occurred_at,
        'xid', (found_row.a).xid, 'operation', (found_row.a).operation, 'table_name', (found_row.a).table_name,
        'row_id', (found_row.a).row_id, 'project_id', (found_row.a).project_id, 'scope', (found_row.a).scope,
        'status', (found_row.a).status, 'sqlstate', (found_row.a).sqlstate, 'details', (found_row.a).details,
        'row_hash', found_row.row_hash))::text;
      bytes := bytes + octet_length(lines[cardinality(lines)]);
      last := jsonb_build_array(seal.seal_id, (found_row.a).audit_id);
    end loop;
  end loop;
  return jsonb_build_object('lines', array_to_string(lines, E'\n'), 'count', cardinality(lines), 'cursor', null);
end $$;
comment on function transfer.audit_page is 'A page of the sealed audit log of this database, as far as the caller may read it. '
  'Definer: admins read no seals.';

create function transfer.check_audit_rows(rows jsonb) returns void language plpgsql stable set search_path = '' as $$
begin
  if exists (
    select from jsonb_array_elements(rows) as r (n)
    where audit.audit_row_hash(jsonb_populate_record(null::public.audit_log,
        r.n || jsonb_build_object('tenant_id', identity.current_tenant_id())))
      is distinct from (r.n ->> 'row_hash')::bytea) then
    perform identity.raise_error('L9VAL', 'audit_row: is not the row that was sealed', '');
  end if;
end $$;
comment on function transfer.check_audit_rows is 'Raises L9VAL for an audit row that has another hash than its seal knows.';

create function transfer.check_audit_seals(rows jsonb) returns void language plpgsql stable set search_path = '' as $$
declare
  part transfer.imported_audit_seals;
  former transfer.imported_audit_seals;
  counted bigint;
  hashed bytea;
begin
  for part in
    select n.* from jsonb_populate_recordset(null::transfer.imported_audit_seals, rows) as n order by n.chain, n.seal_id
  loop
    if (former.chain, former.seal_id) is distinct from (part.chain, part.seal_id - 1) then
      select s.* into former from transfer.imported_audit_seals s
      where s.tenant_id = identity.current_tenant_id() and s.chain = part.chain and s.seal_id = part.seal_id - 1;
    end if;
    select count(*), audit.audit_rows_hash(
        array_agg(a.audit_id order by a.xid, a.audit_id), array_agg(a.row_hash order by a.xid, a.audit_id))
    into counted, hashed from transfer.imported_audit_log a
    where a.tenant_id = identity.current_tenant_id() and a.chain = part.chain and a.seal_id = part.seal_id;
    if part.hash is distinct from transfer.sealed_part_hash(part) then
      perform identity.raise_error('L9VAL', format('audit_seal: seal %s was altered', part.seal_id), '');
    elsif part.previous_hash is distinct from former.hash or part.seal_id = 1 and part.chain <> part.seal_hash then
      perform identity.raise_error('L9VAL', format('audit_seal: seal %s does not match the one before it', part.seal_id), '');
    elsif (counted, hashed) is distinct from (part.row_count::bigint, part.rows_hash) then
      perform identity.raise_error('L9VAL',
        format('audit_seal: the rows under seal %s are not those that were sealed', part.seal_id), '');
    end if;
    former := part;
  end loop;
end $$;
comment on function transfer.check_audit_seals is 'Raises L9VAL for a seal that was altered, does not follow the one before it, '
  'or does not cover the rows that were imported.';
grant execute on function transfer.own_chain, transfer.count_of_audit, transfer.audit_page to l9_admin;
