-- Looks for credentials in what is stored already, one page of one table at a time. Administrators call
-- scan_for_secrets(), as the command l9-memory scan does, until its cursor is null.
create type public.stored_secret as (table_name text, row_id uuid, field text, pattern text, line integer, "column" integer);
call identity.describe('public.stored_secret', 'A secret in a stored row, without its text.
  table_name: The table of the row.
  row_id: The id that names the row, such as the packet_id of a memory, of its versions, or of the memory that was saved under an
    idempotency key.
  field: The column and, in a document, the path.
  pattern: The name of the pattern, as in secret_patterns.
  line: The line of the text that it begins in, from 1.
  column: The character of that line with which it begins, from 1.');

create type public.secret_scan as (rows_scanned integer, table_name text, cursor text, findings public.stored_secret[]);
call identity.describe('public.secret_scan', 'What one step of a scan found.
  rows_scanned: How many rows this step compared with the patterns.
  table_name: The table that this step scanned.
  cursor: Where the next step goes on; null after the last one.
  findings: The secrets of these rows.');

create function secrets.guarded_tables() returns table (table_name text, guarded regclass, key_column name, columns name[])
language sql stable set search_path = ''
begin atomic
  select c.relname::text, c.oid::regclass, k.attname,
    array(select a.attname from pg_catalog.pg_attribute a
      where a.attrelid = c.oid and a.attnum = any (t.tgattr::int2[]) order by a.attnum)
  from pg_catalog.pg_trigger t
  join pg_catalog.pg_class c on c.oid = t.tgrelid
  join pg_catalog.pg_index i on i.indrelid = c.oid and i.indisprimary and i.indnkeyatts = 1
  join pg_catalog.pg_attribute k on k.attrelid = c.oid and k.attnum = i.indkey[0] and k.atttypid = 'uuid'::regtype
  where t.tgname = '_370_guard_secrets'
  union all
  -- They hold copies of guarded texts, and texts that the guard did not check.
  select 'packet_versions', 'public.packet_versions'::regclass, 'packet_id',
    array(select secrets.guarded_columns('public.packet_versions', '{packet_type,replaced_by,replaced_with}'))
      || 'project_id'::name
  union all select 'memory_tombstones', 'public.memory_tombstones', 'packet_id', '{reason}';
end;
comment on function secrets.guarded_tables is 'The tables that a scan looks through, with the key column and the others.';

create function secrets.find_in_idempotency_keys(packet_ids uuid[], out keys_scanned integer, out findings public.stored_secret[])
language plpgsql stable security definer set search_path = '' as $$
begin
  perform secrets.require_scanner();
  select count(distinct k.ctid),
    coalesce(array_agg(row('idempotency_keys', k.packet_id, 'idempotency_key', f.pattern, f.line,
      f."column")::public.stored_secret) filter (where f.pattern is not null), '{}')
  into keys_scanned, findings
  from public.idempotency_keys k
  left join lateral secrets.find_in_document(to_jsonb(k.idempotency_key), false) as f on true
  where k.tenant_id = identity.current_tenant_id() and k.packet_id = any (packet_ids);
end $$;
comment on function secrets.find_in_idempotency_keys is 'The secrets in the idempotency keys under which these memories were '
  'saved: how many keys there are, and the patterns, never a key. For callers of scan_for_secrets(). Definer: a caller sees its '
  'own keys only, and an administrator scans those of all.';

create function secrets.require_scanner() returns void language sql stable security definer set search_path = ''
return administration.require_whole_token(administration.require_administrator(null));
comment on function secrets.require_scanner is 'Raises L9SCP or L9AUT unless the caller is an administrator with an unlimited '
  'token. Definer: callers cannot execute the checks of the schema administration. The scan itself runs with the rights of the '
  'caller.';

-- The cursor is a table and the last id in it. Rows are read under the caller's policies; only idempotency keys,
-- which belong to their writers, are read as the owner.
create function public.scan_for_secrets(after text default null, max_rows integer default 500) returns public.secret_scan
language plpgsql stable set search_path = '' as $$
declare
  scanned record;
  step public.secret_scan;
  from_table text := coalesce(split_part(scan_for_secrets.after, ':', 1), '');
  from_row text := nullif(split_part(scan_for_secrets.after, ':', 2), '');
  row_ids uuid[];
  of_keys record;
begin
  perform secrets.require_scanner();
  if max_rows not between 1 and 10000 then
    perform identity.raise_error('L9VAL', 'max_rows: from 1 to 10000');
  elsif from_row is not null and not pg_input_is_valid(from_row, 'uuid') then
    perform identity.raise_error('L9VAL', 'after: must be the cursor of the step before');
  end if;
  select g.* into scanned from secrets.guarded_tables() g where g.table_name >= from_table order by g.table_name limit 1;
  if not found then
    perform identity.raise_error('L9VAL', 'after: must be the cursor of the step before');
  end if;
  -- Several versions have the packet_id of their memory: a step takes all of the last one.
  execute format($sql$
    with page as materialized (
      select t.%1$I as row_id, jsonb_build_object(%2$s) as fields
      from %3$s t where ($1 is null or t.%1$I > $1) order by t.%1$I fetch first $2 rows with ties
    )
    select count(*)::integer, array(select p.row_id from page p order by p.row_id),
      array(select row(%4$L, p.row_id, secrets.field_of(f.path), f.pattern, f.line, f."column")::public.stored_secret
        from page p cross join lateral secrets.find_in_document(p.fields, false) as f)
    from page$sql$,
    scanned.key_column, (select string_agg(format('%1$L, t.%1$I', c), ', ') from unnest(scanned.columns) as c), scanned.guarded,
    scanned.table_name)
  into step.rows_scanned, row_ids, step.findings
  using case when scanned.table_name = from_table then from_row::uuid end, scan_for_secrets.max_rows;
  step.table_name := scanned.table_name;
  step.cursor := case
    when step.rows_scanned >= scan_for_secrets.max_rows then scanned.table_name || ':' || row_ids[cardinality(row_ids)]
    else (select min(g.table_name) from secrets.guarded_tables() g where g.table_name > scanned.table_name) || ':'
  end;
  if scanned.table_name = 'packet_store' then
    of_keys := secrets.find_in_idempotency_keys(row_ids);
    step.rows_scanned := step.rows_scanned + of_keys.keys_scanned;
    step.findings := step.findings || of_keys.findings;
  end if;
  return step;
end $$;
comment on function public.scan_for_secrets is 'Compares stored rows that the caller may read with the patterns for credentials, '
  'step by step: it returns the ids of rows, fields and names of patterns, never a text, and a cursor for the next step. For '
  'admins whose token covers all scopes and projects. Errors: L9VAL, L9SCP, L9AUT.';
grant execute on function secrets.require_scanner, secrets.guarded_tables, secrets.guarded_columns,
  secrets.find_in_idempotency_keys, secrets.field_of to l9_admin;
grant execute on function public.scan_for_secrets to l9_admin;
