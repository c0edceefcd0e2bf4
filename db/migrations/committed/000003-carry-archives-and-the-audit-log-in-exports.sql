--! Previous: sha1:1c373b11d60ac2a8c9d4bd9455965709cc809f47
--! Hash: sha1:ad3b943310dd45efa655b154d849e9f6f1c61a9e
--! Message: carry archives and the audit log in exports

--! split: 1-current.sql
-- What an import brings of the audit logs of other databases.
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

create function transfer.relation(target text) returns regclass language sql stable parallel safe set search_path = ''
return (
  select c.oid::regclass from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where (n.nspname, c.relname) = (
    case when target like '%.%' then split_part(target, '.', 1) else 'public' end, regexp_replace(target, '^[^.]*\.', '')));
comment on function transfer.relation is 'The table that a kind names; null if there is no such table.';

create function transfer.has_tenant(target text) returns boolean language sql stable parallel safe set search_path = ''
return exists (
  select from pg_catalog.pg_attribute a
  where a.attrelid = transfer.relation(target) and a.attname = 'tenant_id' and not a.attisdropped);
comment on function transfer.has_tenant is 'True if the rows of a table name their tenant. Others belong to a row that does.';


-- settings of table transfer.imported_audit_log is another
alter table transfer.imported_audit_log enable row level security,  force row level security, replica identity default;

-- settings of table transfer.imported_audit_seals is another
alter table transfer.imported_audit_seals enable row level security,  force row level security, replica identity default;

-- function archive.keys_in_use() is another
CREATE OR REPLACE FUNCTION archive.keys_in_use(OUT key_id text, OUT archives bigint)
 RETURNS SETOF record
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform administration.require_unlimited(null);
  return query select a.key_id, count(*) from public.session_archives a where a.key_id <> '' group by a.key_id order by a.key_id;
end $function$
;

-- function archive.open_session_archive(text,boolean,uuid) is another
CREATE OR REPLACE FUNCTION archive.open_session_archive(pointer text, with_blob boolean DEFAULT false, archive_id uuid DEFAULT NULL::uuid)
 RETURNS archive.opened_session
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  me identity.identity := identity.require_identity();
  opened archive.opened_session;
  found_one public.session_archives;
begin
  select a.* into found_one
  from public.session_archives a
  where a.content_hash = archive.hash_of(open_session_archive.pointer) and (a.ttl is null or a.ttl > now())
    and (open_session_archive.archive_id is null or a.archive_id = open_session_archive.archive_id)
  -- The key was chosen at random, so another archive that names this hash is a copy, and was entered later.
  order by a.stored_at, a.archive_id limit 1;
  if not found then
    perform identity.raise_error('L9OWN', 'pointer: there is no such archive, or it is not yours');
  end if;
  select found_one.archive_id, found_one.tenant_id, found_one.content_hash, found_one.schema_version, found_one.connectors,
    found_one.key_id, (select w.wrapped_key from archive.wrapped_keys w where w.archive_id = found_one.archive_id),
    case when open_session_archive.with_blob and found_one.size <= archive.max_piece_bytes() then (
      select b.blob from public.archive_blobs b where b.archive_id = found_one.archive_id) end,
    found_one.creator, found_one.source
  into opened;
  -- An operator leaves it with the tenant whose archive it is.
  perform audit.write_audit_of_tenant(found_one.tenant_id, 'RETRIEVE', 'session_archives', found_one.archive_id,
    found_one.project_id, found_one.scope, jsonb_build_object('pointer', found_one.pointer));
  return opened;
end $function$
;

-- function public.export_memories(text,timestamp with time zone,jsonb,integer) is another
CREATE OR REPLACE FUNCTION public.export_memories(kind text DEFAULT NULL::text, as_of timestamp with time zone DEFAULT NULL::timestamp with time zone, after jsonb DEFAULT NULL::jsonb, page_size integer DEFAULT 1000)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
 SET "TimeZone" TO 'UTC'
 SET "DateStyle" TO 'ISO'
 SET "IntervalStyle" TO 'postgres'
 SET bytea_output TO 'hex'
 SET extra_float_digits TO '1'
AS $function$
declare
  until constant timestamptz := least(coalesce(export_memories.as_of, statement_timestamp()), statement_timestamp());
  this transfer.kind;
  line text;
  key jsonb;
  lines text[] := '{}';
  bytes bigint := 0;
  last jsonb;
  page jsonb;
begin
  perform identity.require_identity();
  if export_memories.kind is null then
    perform transfer.audit_export(null, 0);
    return jsonb_build_object('header', transfer.header(until), 'as_of', until);
  end if;
  this := transfer.kind_named(export_memories.kind);
  if page_size is null or page_size not between 1 and 5000 then
    perform identity.raise_error('L9VAL', 'page_size: from 1 to 5000');
  elsif not transfer.is_readable(this) then
    perform identity.raise_error('L9SCP', 'kind: only administrators export this');
  elsif after is not null and (jsonb_typeof(after) <> 'array' or jsonb_array_length(after) <> cardinality(this.key)) then
    perform identity.raise_error('L9VAL', 'after: must be the cursor of the previous page');
  end if;
  if this.kind in ('audit_row', 'audit_seal') then
    page := transfer.audit_page(this.kind, until, export_memories.after, page_size);
    perform transfer.audit_export(this.kind, (page ->> 'count')::bigint);
    return page;
  end if;
  for line, key in execute format(
    'select jsonb_build_object(%L, %s)::text as line, jsonb_build_array(%s) as key
      from %s t where %s %s order by %s limit %s',
    this.kind, transfer.row_of(this, until), array_to_string(transfer.key_of(this), ', '), transfer.relation(this.target),
    transfer.condition_of(this, until), transfer.after(this, export_memories.after),
    array_to_string(transfer.key_of(this), ', '), page_size + 1)
  loop
    if cardinality(lines) = page_size or bytes > 4000000 then
      perform transfer.audit_export(this.kind, cardinality(lines));
      return jsonb_build_object('lines', array_to_string(lines, E'\n'), 'count', cardinality(lines), 'cursor', last);
    end if;
    lines := lines || line;
    bytes := bytes + octet_length(line);
    last := key;
  end loop;
  perform transfer.audit_export(this.kind, cardinality(lines));
  return jsonb_build_object('lines', array_to_string(lines, E'\n'), 'count', cardinality(lines), 'cursor', null);
end $function$
;

-- function public.import_memories(text,integer) is another
CREATE OR REPLACE FUNCTION public.import_memories(lines text, first_line integer DEFAULT 1)
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
 SET "TimeZone" TO 'UTC'
 SET "DateStyle" TO 'ISO'
 SET "IntervalStyle" TO 'postgres'
 SET bytea_output TO 'hex'
 SET extra_float_digits TO '1'
AS $function$
declare
  given jsonb[];
  numbers integer[];
  this transfer.kind;
begin
  perform transfer.require_importer();
  if import_memories.lines ~ '^\{"format":[^\n]*$' then
    perform transfer.check_header(import_memories.lines, import_memories.first_line);
    return jsonb_build_object('stored', 0, 'present', 0, 'left_out', 0);
  end if;
  select array_agg(transfer.check_line(l.line, (import_memories.first_line + l.place - 1)::integer) order by l.place),
    array_agg((import_memories.first_line + l.place - 1)::integer order by l.place)
  into given, numbers
  from unnest(string_to_array(import_memories.lines, E'\n')) with ordinality as l (line, place)
  where l.line <> '';
  if given is null then
    perform identity.raise_error('L9VAL', 'lines: none is given');
  elsif cardinality(given) > 5000 then
    perform identity.raise_error('L9LIM', 'lines: at most 5000 at a time');
  end if;
  select k.* into this from transfer.kinds() k where given[1] ? k.kind;
  if exists (select from unnest(given) as g (line) where not g.line ? this.kind) then
    perform identity.raise_error('L9VAL', 'lines: must be of one kind');
  end if;
  given := array(select g.line -> this.kind from unnest(given) with ordinality as g (line, place) order by g.place);
  return transfer.take_batch(this, numbers, given);
end $function$
;

-- function transfer.after(transfer.kind,jsonb) is another
CREATE OR REPLACE FUNCTION transfer.after(kind transfer.kind, cursor jsonb)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  written text[];
begin
  if cursor is null then
    return '';
  end if;
  select array_agg(format('%L::%s', cursor ->> k.place::integer - 1, format_type(a.atttypid, null)) order by k.place) into written
  from unnest((kind).key) with ordinality as k (name, place)
  join pg_catalog.pg_attribute a on a.attrelid = transfer.relation((kind).target) and a.attname = k.name
  where pg_input_is_valid(cursor ->> k.place::integer - 1, format_type(a.atttypid, null));
  if cardinality(written) is distinct from cardinality((kind).key) then
    perform identity.raise_error('L9VAL', 'after: must be the cursor of the previous page');
  end if;
  return format('and (%s) > (%s)', array_to_string(transfer.key_of(kind), ', '), array_to_string(written, ', '));
end $function$
;

-- function transfer.audit_page(text,timestamp with time zone,jsonb,integer) is new
CREATE OR REPLACE FUNCTION transfer.audit_page(kind text, as_of timestamp with time zone, after jsonb, page_size integer)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET "TimeZone" TO 'UTC'
AS $function$
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
end $function$
;

-- function transfer.check_audit_rows(jsonb) is new
CREATE OR REPLACE FUNCTION transfer.check_audit_rows(rows jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if exists (
    select from jsonb_array_elements(rows) as r (n)
    where audit.audit_row_hash(jsonb_populate_record(null::public.audit_log,
        r.n || jsonb_build_object('tenant_id', identity.current_tenant_id())))
      is distinct from (r.n ->> 'row_hash')::bytea) then
    perform identity.raise_error('L9VAL', 'audit_row: is not the row that was sealed', '');
  end if;
end $function$
;

-- function transfer.check_audit_seals(jsonb) is new
CREATE OR REPLACE FUNCTION transfer.check_audit_seals(rows jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
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
end $function$
;

-- function transfer.check_rows(transfer.kind,administration.administrator,jsonb) is another
CREATE OR REPLACE FUNCTION transfer.check_rows(kind transfer.kind, admin administration.administrator, rows jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if kind.kind = 'actor' then
    perform transfer.check_actors(admin, rows);
  elsif kind.target = 'packet_store' and exists (
    select from public.memory_tombstones d
    join jsonb_populate_recordset(null::public.packet_store, rows) as n using (packet_id)) then
    perform identity.raise_error('L9VAL', 'packet_id: this memory was erased here');
  elsif exists (
    select from jsonb_array_elements(rows) as r (n), jsonb_to_record(r.n) as k (created_at timestamptz, updated_at timestamptz)
    where greatest(k.created_at, k.updated_at) > now() + packets.max_time_ahead()) then
    perform identity.raise_error('L9VAL', 'created_at: lies in the future');
  end if;
  if kind.is_setting and exists (select from public.packet_store p where p.tenant_id = admin.target_tenant_id) then
    if transfer.has_any(kind, rows) then
      perform identity.raise_error('L9VAL',
        format('%s: differs from what is here, and there are memories here already', kind.kind));
    end if;
  elsif kind.source is not null and 'org_id' = any (transfer.columns_of(kind)) and kind.target <> 'memory_feedback' then
    perform transfer.check_audience(kind.target, kind.source, rows);
  end if;
  if kind.target = 'transfer.imported_audit_log' then
    perform transfer.check_audit_rows(rows);
  elsif kind.target = 'transfer.imported_audit_seals' then
    perform transfer.check_audit_seals(rows);
  end if;
  if kind.parts_table like '%evidence' then
    perform transfer.check_audience(kind.parts_table, 'packet_id',
      (select jsonb_agg(e) from jsonb_array_elements(rows) as r (n), jsonb_array_elements(r.n -> kind.parts) as e));
  end if;
end $function$
;

-- function transfer.columns_of(transfer.kind) is another
CREATE OR REPLACE FUNCTION transfer.columns_of(kind transfer.kind)
 RETURNS text[]
 LANGUAGE sql
 STABLE PARALLEL SAFE
 SET search_path TO ''
RETURN CASE WHEN ((kind).kind = 'succession'::text) THEN '{fact_id,superseded_by}'::text[] ELSE ARRAY(SELECT (a.attname)::text AS attname FROM pg_attribute a WHERE ((a.attrelid = (transfer.relation((columns_of.kind).target))::oid) AND (a.attnum > 0) AND (NOT a.attisdropped) AND (a.attgenerated = ''::"char") AND (a.attname <> 'tenant_id'::name) AND ((a.attname)::text <> ALL ((columns_of.kind).left_out))) ORDER BY a.attnum) END
;

-- function transfer.count_of_audit(text,timestamp with time zone) is new
CREATE OR REPLACE FUNCTION transfer.count_of_audit(kind text, as_of timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  newest public.audit_seals;
begin
  perform audit.require_auditor('export_memories');
  select s.* into newest from public.audit_seals s where s.sealed_at <= count_of_audit.as_of order by s.seal_id desc limit 1;
  return case when newest.seal_id is null then 0 when kind = 'audit_seal' then newest.seal_id else (
    select count(*) from public.audit_log a
    where a.tenant_id = identity.current_tenant_id() and (a.scope is null or a.scope = any (identity.current_scopes()))
      and (a.xid < newest.to_xid or a.occurred_at <= newest.era_after)) end;
end $function$
;

-- function transfer.has_any(transfer.kind,jsonb) is another
CREATE OR REPLACE FUNCTION transfer.has_any(kind transfer.kind, rows jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  found_one boolean;
begin
  execute format('select exists (select from %s t join jsonb_populate_recordset(null::%1$s, $1) as n on %s
      where t.tenant_id = identity.current_tenant_id())', transfer.relation(kind.target),
    (select string_agg(case k.name when 'tenant_id' then 'true' else format('t.%I = n.%1$I', k.name) end, ' and ')
      from unnest(kind.key) as k (name)))
  into found_one using rows;
  return found_one;
end $function$
;

-- function transfer.header(timestamp with time zone) is another
CREATE OR REPLACE FUNCTION transfer.header(as_of timestamp with time zone)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  kind transfer.kind;
  counts jsonb := '[]';
  counted bigint;
begin
  for kind in select k.* from transfer.kinds() k where transfer.is_readable(k) order by k.place loop
    if kind.kind in ('audit_row', 'audit_seal') then
      counted := transfer.count_of_audit(kind.kind, as_of);
    else
      execute format('select count(*) from %s t where %s', transfer.relation(kind.target), transfer.condition_of(kind, as_of))
      into counted;
    end if;
    counts := counts || jsonb_strip_nulls(jsonb_build_object('kind', kind.kind, 'lines', counted, 'option', kind.option));
  end loop;
  return jsonb_build_object('format', 'l9-memory', 'version', transfer.version(), 'tenant_id', identity.current_tenant_id(),
    'counts', counts);
end $function$
;

-- function transfer.insert_rows(text,text[],boolean,jsonb) is another
CREATE OR REPLACE FUNCTION transfer.insert_rows(target text, columns text[], is_setting boolean, rows jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  names constant text := (select string_agg(quote_ident(c.name), ', ') from unnest(columns) as c (name));
  expressions constant text := (select string_agg('n.' || quote_ident(c.name), ', ') from unnest(columns) as c (name));
  others constant text[] := case target
    when 'packet_store' then array['identity_hash', 'packets.identity_hash(n.packet_type, identity.current_tenant_id(),
      n.envelope, n.packet_id, case when n.has_own_identity then n.metadata ->> ''creator'' end)']
    when 'memory_embeddings' then array['context_id', 'case when n.embedding_type = ''context'' then
      (select c.context_id from public.memory_contexts c where c.packet_id = n.packet_id) end']
    when 'memory_feedback' then array['xid', 'pg_current_xact_id()']
    -- Without a key until store_archive() brings it. No other session is taken for one that nobody can open.
    when 'session_archives' then array['connectors, key_id, fingerprint',
      '''{postgres}'', '''', sha256(uuid_send(uuidv4()))'] end;
begin
  execute format('insert into %s as t (%s%s%s) select %s%s%s from jsonb_populate_recordset(null::%1$s, $1) as n',
    transfer.relation(target), case when transfer.has_tenant(target) then 'tenant_id, ' else '' end, names, ', ' || others[1],
    case when transfer.has_tenant(target) then 'identity.current_tenant_id(), ' else '' end, expressions, ', ' || others[2])
    || case when is_setting then format(' on conflict on constraint %I do update set (%s) = row (%s)
      where t.tenant_id = identity.current_tenant_id()', target || '_pkey', names,
      (select string_agg('excluded.' || quote_ident(c.name), ', ') from unnest(columns) as c (name))) else '' end
  using rows;
end $function$
;

-- function transfer.is_readable(transfer.kind) is another
CREATE OR REPLACE FUNCTION transfer.is_readable(kind transfer.kind)
 RETURNS boolean
 LANGUAGE sql
 STABLE PARALLEL SAFE
 SET search_path TO ''
RETURN (has_table_privilege((transfer.relation((kind).target))::oid, 'select'::text) AND (((kind).parts_table IS NULL) OR has_table_privilege(('public.'::text || (kind).parts_table), 'select'::text)))
;

-- function transfer.key_of(transfer.kind) is another
CREATE OR REPLACE FUNCTION transfer.key_of(kind transfer.kind)
 RETURNS text[]
 LANGUAGE sql
 STABLE PARALLEL SAFE
 SET search_path TO ''
RETURN ARRAY(SELECT format('t.%I%s'::text, k.name, CASE WHEN (a.atttypid = ('text'::regtype)::oid) THEN ' collate "C"'::text ELSE ''::text END) AS format FROM (unnest((key_of.kind).key) WITH ORDINALITY k(name, place) JOIN pg_attribute a ON (((a.attrelid = (transfer.relation((key_of.kind).target))::oid) AND (a.attname = k.name)))) ORDER BY k.place)
;

-- function transfer.kinds() is another
CREATE OR REPLACE FUNCTION transfer.kinds()
 RETURNS SETOF transfer.kind
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
BEGIN ATOMIC
 SELECT (row_number() OVER ())::integer AS row_number,
     k.kind,
     k.target,
     (k.key)::text[] AS key,
     (k.left_out)::text[] AS left_out,
     k.condition,
     k.source,
     k.parts,
     k.parts_table,
     (k.parts_key)::text[] AS parts_key,
     k.parts_condition,
     ((k.source IS NULL) AND (k.kind <> ALL (ARRAY['memory'::text, 'task'::text, 'attestation'::text])) AND (k.kind !~ 'audit_(row|seal)$'::text)),
         CASE
             WHEN (k.kind = ANY (ARRAY['context'::text, 'vector'::text])) THEN 'vectors'::text
             WHEN (k.kind ~ 'audit_(row|seal)$'::text) THEN 'audit'::text
             ELSE NULL::text
         END AS "case"
    FROM ( VALUES ('scope'::text,'scopes'::text,'{scope}'::text,'{created_at}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('org'::text,'orgs'::text,'{org_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('user'::text,'users'::text,'{user_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('actor'::text,'actors'::text,'{caller}'::text,'{login,created_at}'::text,'t.role <> ''l9_platform_admin'''::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('memory_kind'::text,'memory_kinds'::text,'{kind_id}'::text,'{}'::text,'t.tenant_id is not null'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('memory_kind_field'::text,'memory_kind_fields'::text,'{kind_id,field}'::text,'{}'::text,'t.tenant_id is not null'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('search_settings'::text,'search_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('find_settings'::text,'find_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('extraction_settings'::text,'extraction_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('archive_settings'::text,'archive_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('world_model_settings'::text,'world_model_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('secret_settings'::text,'secret_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('secret_pattern'::text,'secret_patterns'::text,'{pattern_id}'::text,'{}'::text,'t.tenant_id is not null'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('secret_exception'::text,'secret_exceptions'::text,'{exception_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('review_settings'::text,'review_settings'::text,'{tenant_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('review_rule'::text,'review_rules'::text,'{rule_id}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('fact_predicate'::text,'fact_predicates'::text,'{predicate}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('storage_price'::text,'storage_prices'::text,'{connector,priced_on}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('field_index'::text,'field_indexes'::text,'{field}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('memory'::text,'packet_store'::text,'{packet_id}'::text,'{content_hash,identity_hash,words,chunk_count}'::text,'t.part_of is null'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('section'::text,'packet_store'::text,'{packet_id}'::text,'{content_hash,identity_hash,words,chunk_count}'::text,'t.part_of is not null'::text,'part_of'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('version'::text,'packet_versions'::text,'{packet_id,version_id}'::text,'{}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('signals'::text,'memory_signals'::text,'{packet_id}'::text,'{}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('voice'::text,'importance.memory_voices'::text,'{packet_id,agent}'::text,'{}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('feedback'::text,'memory_feedback'::text,'{access_id}'::text,'{xid}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('event'::text,'agent_memory_events'::text,'{event_id}'::text,'{}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('reasoning_trace'::text,'reasoning_traces'::text,'{trace_id}'::text,'{}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('alias'::text,'entity_aliases'::text,'{alias_id}'::text,'{}'::text,'true'::text,'source_packet'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('fact'::text,'knowledge_facts'::text,'{fact_id}'::text,'{audience_id,superseded_by}'::text,'true'::text,'source_packet'::text,'evidence'::text,'fact_evidence'::text,'{fact_id,fact_id,evidence_id}'::text,'exists (select from public.packet_store p where p.packet_id = c.packet_id and p.created_at <= $as_of)'::text), ('succession'::text,'knowledge_facts'::text,'{fact_id}'::text,NULL::text,'t.superseded_by is not null'::text,'source_packet'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('relationship'::text,'entity_relationships'::text,'{relationship_id}'::text,'{}'::text,'true'::text,'source_packet'::text,'evidence'::text,'relationship_evidence'::text,'{relationship_id,relationship_id,evidence_id}'::text,'exists (select from public.packet_store p where p.packet_id = c.packet_id and p.created_at <= $as_of)'::text), ('task'::text,'tasks'::text,'{id}'::text,'{job_id}'::text,'t.caller is not null'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('reflection'::text,'reflection_store'::text,'{reflection_id}'::text,'{}'::text,'true'::text,'source_packet'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('attestation'::text,'reflection.attestations'::text,'{reflection_id,agent}'::text,'{}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('task_reflection'::text,'task_reflections'::text,'{task_reflection_id}'::text,'{}'::text,'true'::text,'source_packet'::text,'lessons'::text,'task_reflection_lessons'::text,'{task_reflection_id,task_reflection_id,reflection_id}'::text,'exists (select from public.reflection_store r where r.reflection_id = c.reflection_id)'::text), ('summary'::text,'memory_summaries'::text,'{summary_id}'::text,'{}'::text,'true'::text,'source_packet'::text,'sources'::text,'memory_summary_sources'::text,'{summary_packet,source_packet,packet_id}'::text,'exists (select from public.packet_store p where p.packet_id = c.packet_id and p.created_at <= $as_of)'::text), ('proposal'::text,'extraction.proposals'::text,'{packet_id}'::text,'{}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('world_update'::text,'world_model_updates'::text,'{update_id}'::text,'{}'::text,'true'::text,'source_packet'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('world_entity'::text,'world_model_entities'::text,'{entity_row_id}'::text,'{}'::text,'true'::text,'source_packet'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('world_snapshot'::text,'world_model_snapshots'::text,'{snapshot_id}'::text,'{}'::text,'true'::text,'source_packet'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('merge'::text,'review.merges'::text,'{packet_id}'::text,'{}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('context'::text,'memory_contexts'::text,'{packet_id}'::text,'{context_id,created_at}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('vector'::text,'memory_embeddings'::text,'{packet_id,embedding_type,model,chunk_index}'::text,'{embedding_id,compared_vector,context_id,created_at}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('archive'::text,'session_archives'::text,'{archive_id}'::text,'{connectors,key_id,fingerprint,verified_at,verified_by}'::text,'true'::text,'packet_id'::text,NULL::text,NULL::text,NULL::text,NULL::text), ('audit_row'::text,'transfer.imported_audit_log'::text,'{chain,audit_id}'::text,'{imported_at}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('audit_seal'::text,'transfer.imported_audit_seals'::text,'{chain,seal_id}'::text,'{imported_at}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('imported_audit_row'::text,'transfer.imported_audit_log'::text,'{chain,audit_id}'::text,'{imported_at}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text), ('imported_audit_seal'::text,'transfer.imported_audit_seals'::text,'{chain,seal_id}'::text,'{imported_at}'::text,'true'::text,NULL::text,NULL::text,NULL::text,NULL::text,NULL::text)) k(kind, target, key, left_out, condition, source, parts, parts_table, parts_key, parts_condition);
END
;

-- function transfer.left_out(transfer.kind,jsonb[]) is another
CREATE OR REPLACE FUNCTION transfer.left_out(kind transfer.kind, rows jsonb[])
 RETURNS boolean[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  answer boolean[];
begin
  execute format('select array_agg(not (%s)%s order by g.place)
      from unnest($1) with ordinality as g (given, place), jsonb_populate_record(null::%s, g.given) as t',
    transfer.source_of(kind, 'infinity'),
    case when kind.target = 'packet_store' then ' or coalesce(t.ttl <= now(), false)
      or exists (select from public.memory_tombstones d where d.packet_id = t.packet_id)' else '' end,
    transfer.relation(kind.target))
  into answer using rows;
  return answer;
end $function$
;

-- function transfer.own_chain() is new
CREATE OR REPLACE FUNCTION transfer.own_chain()
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
RETURN (SELECT (to_jsonb(s.seal_hash) #>> '{}'::text[]) FROM public.audit_seals s WHERE (s.seal_id = 1))
;

-- function transfer.raise_versions(text,jsonb) is new
CREATE OR REPLACE FUNCTION transfer.raise_versions(target text, rows jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  world record;
begin
  for world in
    select packets.audience_id(identity.current_tenant_id(), w.org_id, w.user_id, w.project_id, w.scope) as audience_id,
      max(coalesce(w.state_version_after, w.state_version)) as version
    from jsonb_to_recordset(rows) as w (org_id uuid, user_id uuid, project_id text, scope text, state_version integer,
      state_version_after integer)
    group by 1 order by 1
  loop
    perform world_model.lock_world(world.audience_id);
    update world_model.worlds w set state_version = world.version
    where w.audience_id = world.audience_id and w.state_version < world.version;
  end loop;
end $function$
;

-- function transfer.readable_rows(public.audit_seals) is new
CREATE OR REPLACE FUNCTION transfer.readable_rows(seal public.audit_seals)
 RETURNS TABLE(place bigint, audit_row public.audit_log, row_hash bytea)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
BEGIN ATOMIC
 SELECT s.place,
     a.*::public.audit_log AS a,
     s.row_hash
    FROM (UNNEST((readable_rows.seal).audit_ids, (readable_rows.seal).row_hashes) WITH ORDINALITY s(audit_id, row_hash, place)
      JOIN public.audit_log a ON (((a.audit_id = s.audit_id) AND ((a.occurred_at >= (readable_rows.seal).first_occurred_at) AND (a.occurred_at <= (readable_rows.seal).last_occurred_at)))))
   WHERE ((a.tenant_id = identity.current_tenant_id()) AND ((a.scope IS NULL) OR (a.scope = ANY (identity.current_scopes()))))
   ORDER BY s.place;
END
;

-- function transfer.recompute_worlds(jsonb) is new
CREATE OR REPLACE FUNCTION transfer.recompute_worlds(rows jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  world uuid;
begin
  perform transfer.require_importer();
  for world in
    select distinct packets.audience_id(identity.current_tenant_id(), e.org_id, e.user_id, e.project_id, e.scope) as id
    from jsonb_to_recordset(rows) as e (org_id uuid, user_id uuid, project_id text, scope text) order by id
  loop
    perform world_model.recompute_world(world, false);
  end loop;
end $function$
;

-- function transfer.sealed_part_hash(transfer.imported_audit_seals) is new
CREATE OR REPLACE FUNCTION transfer.sealed_part_hash(part transfer.imported_audit_seals)
 RETURNS bytea
 LANGUAGE sql
 STABLE PARALLEL SAFE
 SET search_path TO ''
RETURN sha256(convert_to((jsonb_build_array(encode((part).chain, 'hex'::text), (part).seal_id, (EXTRACT(epoch FROM (part).sealed_at))::text, encode((part).seal_hash, 'hex'::text), (part).row_count, encode((part).rows_hash, 'hex'::text), encode((part).previous_hash, 'hex'::text)))::text, 'UTF8'::name))
;

-- function transfer.skipped_triggers(text) is another
CREATE OR REPLACE FUNCTION transfer.skipped_triggers(target text)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO ''
RETURN (SELECT string_agg(('%1$s trigger '::text || quote_ident((t.tgname)::text)), ', '::text) AS string_agg FROM pg_trigger t WHERE ((t.tgrelid = (transfer.relation(skipped_triggers.target))::oid) AND (NOT t.tgisinternal) AND (((t.tgtype)::integer & 20) <> 0) AND (t.tgenabled <> 'A'::"char") AND (t.tgname !~ '^_500_audit'::text) AND (t.tgname <> ALL (ARRAY['_100_normalise'::name, '_310_audience'::name, '_370_guard_secrets'::name, '_380_words'::name, '_610_index_fields'::name, '_640_cite_insert'::name, '_900_enqueue_embedding'::name]))))
;

-- function transfer.source_of(transfer.kind,timestamp with time zone) is another
CREATE OR REPLACE FUNCTION transfer.source_of(kind transfer.kind, as_of timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
RETURN CASE WHEN ((kind).kind = 'attestation'::text) THEN format('exists (select from public.reflection_store r join public.packet_store p on p.packet_id = r.source_packet
      where r.reflection_id = t.reflection_id and p.created_at <= %L::timestamptz)'::text, as_of) WHEN ((kind).source IS NULL) THEN 'true'::text ELSE (format('exists (select from public.packet_store p where p.packet_id = t.%I and p.created_at <= %L::timestamptz)'::text, (kind).source, as_of) || CASE (kind).kind WHEN 'succession'::text THEN ' and exists (select from public.knowledge_facts f where f.fact_id = t.superseded_by)'::text WHEN 'merge'::text THEN format(' and exists (select from public.packet_store p where p.packet_id = t.kept_id and p.created_at <= %L::timestamptz)'::text, as_of) WHEN 'proposal'::text THEN format(' and exists (select from public.packet_store p where p.packet_id = t.source_packet and p.created_at <= %L::timestamptz)'::text, as_of) WHEN 'context'::text THEN format(' and exists (select from public.packet_store p
        where p.packet_id = t.predecessor_id and p.created_at <= %L::timestamptz)'::text, as_of) WHEN 'vector'::text THEN ' and exists (select from public.embedding_models m where m.model = t.model)
      and (t.embedding_type <> ''context'' or exists (select from public.memory_contexts c where c.packet_id = t.packet_id))'::text ELSE ''::text END) END
;

-- function transfer.store_archive(uuid,bytea,text,bytea,bytea) is new
CREATE OR REPLACE FUNCTION transfer.store_archive(archive_id uuid, blob bytea, key_id text DEFAULT NULL::text, wrapped_key bytea DEFAULT NULL::bytea, fingerprint bytea DEFAULT NULL::bytea)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  admin constant administration.administrator := transfer.require_importer();
  taken public.session_archives;
  has_bytes boolean;
  has_key boolean;
begin
  select a.* into taken from public.session_archives a
  where a.archive_id = store_archive.archive_id and a.tenant_id = admin.target_tenant_id for update;
  if not found then
    return 'left_out';
  elsif taken.content_hash is distinct from sha256(store_archive.blob) then
    perform identity.raise_error('L9VAL', 'bytes: are not those that were archived');
  elsif store_archive.wrapped_key is not null and (octet_length(store_archive.wrapped_key) <> 60
    or (store_archive.key_id ~ '^[A-Za-z0-9._-]{1,64}$') is not true
    or octet_length(store_archive.fingerprint) is distinct from 32) then
    perform identity.raise_error('L9VAL', 'key: must be 32 bytes');
  end if;
  -- An archive that was moved to other stores since has its bytes there.
  has_bytes := 'postgres' <> all (taken.connectors)
    or exists (select from public.archive_blobs b where b.archive_id = taken.archive_id);
  has_key := store_archive.wrapped_key is null
    or exists (select from archive.wrapped_keys w where w.archive_id = taken.archive_id);
  if has_bytes and has_key then
    return 'present';
  end if;
  if not has_bytes then
    insert into public.archive_blobs (archive_id, content_hash, blob)
    values (taken.archive_id, taken.content_hash, store_archive.blob);
  end if;
  if not has_key then
    insert into archive.wrapped_keys (archive_id, wrapped_key) values (taken.archive_id, store_archive.wrapped_key);
    update public.session_archives a set key_id = store_archive.key_id,
      -- The same session may have been archived here before.
      fingerprint = case when exists (
        select from public.session_archives o
        where o.fingerprint = store_archive.fingerprint and o.tenant_id = a.tenant_id and o.scope = a.scope
          and o.creator = a.creator
          and (o.org_id, o.user_id, o.project_id) is not distinct from (a.org_id, a.user_id, a.project_id))
        then a.fingerprint else store_archive.fingerprint end
    where a.archive_id = taken.archive_id;
  end if;
  perform audit.write_audit('IMPORT', 'session_archives', taken.archive_id, taken.project_id, taken.scope,
    jsonb_build_object('kind', 'archive_bytes', 'with_key', not has_key));
  return 'stored';
end $function$
;

-- function transfer.stored(transfer.kind,jsonb[]) is another
CREATE OR REPLACE FUNCTION transfer.stored(kind transfer.kind, rows jsonb[])
 RETURNS jsonb[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  answer jsonb[];
begin
  execute format('select array_agg((select %s from %s t where %s and %s) order by g.place)
      from unnest($1) with ordinality as g (given, place), jsonb_populate_record(null::%2$s, g.given) as n',
    transfer.row_of(kind, 'infinity'), transfer.relation(kind.target),
    (select string_agg(case k.name when 'tenant_id' then 'true' else format('t.%I = n.%1$I', k.name) end, ' and ')
      from unnest(kind.key) as k (name)),
    case when transfer.has_tenant(kind.target) then 't.tenant_id = (select identity.current_tenant_id())' else 'true' end)
  into answer using rows;
  return answer;
end $function$
;

-- function transfer.switch_triggers(transfer.kind,text) is another
CREATE OR REPLACE FUNCTION transfer.switch_triggers(kind transfer.kind, action text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  target text;
begin
  if kind.is_setting then
    return;
  end if;
  foreach target in array array_remove(array[kind.target, kind.parts_table], null) loop
    if transfer.skipped_triggers(target) is not null then
      execute format('alter table %s ', transfer.relation(target)) || format(transfer.skipped_triggers(target), action);
    end if;
  end loop;
end $function$
;

-- function transfer.take_batch(transfer.kind,integer[],jsonb[]) is new
CREATE OR REPLACE FUNCTION transfer.take_batch(kind transfer.kind, numbers integer[], rows jsonb[])
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  state text;
  message text;
  rule text;
  field text;
  detail text;
begin
  return transfer.take_rows(kind, numbers, rows);
exception when others then
  get stacked diagnostics state = returned_sqlstate, message = message_text, rule = constraint_name, field = column_name,
    detail = pg_exception_detail;
  if state !~ '^(22|23|L9)' or message ~ '^line \d+: ' then
    raise;
  elsif cardinality(rows) > 1 then
    for place in 1..cardinality(rows) loop
      perform transfer.take_batch(kind, numbers[place:place], rows[place:place]);
    end loop;
  end if;
  perform transfer.raise_in_line(numbers[1], kind.kind, state, message, rule, field, detail);
end $function$
;

-- function transfer.take_rows(transfer.kind,integer[],jsonb[]) is another
CREATE OR REPLACE FUNCTION transfer.take_rows(kind transfer.kind, numbers integer[], rows jsonb[])
 RETURNS jsonb
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  out_of_place constant boolean[] := transfer.left_out(kind, rows);
  given constant jsonb[] := transfer.with_known_parts(kind, rows);
  before constant jsonb[] := transfer.stored(kind, given);
  afterwards jsonb[];
  fresh jsonb := '[]';
  -- What jobs make and count, or follows from other rows, goes on where it is.
  is_made_here constant boolean := kind.option = 'vectors' or kind.kind in ('signals', 'voice', 'world_entity');
  own_chain constant text := case when kind.option = 'audit' then transfer.own_chain() end;
  place integer;
  is_new boolean[];
  problem text;
begin
  for place in 1..cardinality(given) loop
    is_new[place] := not out_of_place[place]
      -- The log of this database is here already.
      and (given[place] ->> 'chain' = own_chain) is not true
      and case when is_made_here is true then before[place] is null
        else transfer.differing(given[place] - '{access_count}'::text[], before[place]) is not null end;
    if is_new[place] and before[place] is not null and not kind.is_setting
      and not (kind.kind = 'succession' and before[place] ->> 'superseded_by' is null) then
      perform identity.raise_error('L9VAL', format('line %s: %s.%s: differs from what is stored under this id', numbers[place],
        kind.kind, transfer.differing(given[place] - '{access_count}'::text[], before[place])), 'lines');
    end if;
  end loop;
  select coalesce(jsonb_agg(g.given order by g.place), '[]') into fresh
  from unnest(given) with ordinality as g (given, place) where is_new[g.place];
  if fresh <> '[]' then
    perform transfer.store_rows(kind.kind, fresh);
    afterwards := transfer.stored(kind, given);
    for place in 1..cardinality(given) loop
      problem := case when is_new[place] and kind.kind <> 'world_entity'
        then transfer.differing(given[place], afterwards[place]) end;
      if problem is not null then
        perform identity.raise_error('L9VAL',
          format('line %s: %s.%s: can''t be stored as it stands there', numbers[place], kind.kind, problem), problem);
      end if;
    end loop;
  end if;
  if kind.kind = 'world_entity' and (fresh <> '[]' or true = any (out_of_place)) then
    perform transfer.recompute_worlds(to_jsonb(given));
  end if;
  return jsonb_build_object('stored', jsonb_array_length(fresh),
    'left_out', (select count(*) from unnest(out_of_place) as o (is_out) where o.is_out),
    'present', (select count(*) from unnest(is_new, out_of_place) as n (is_new, is_out) where not n.is_new and not n.is_out));
end $function$
;

-- function transfer.write_rows(transfer.kind,jsonb) is another
CREATE OR REPLACE FUNCTION transfer.write_rows(kind transfer.kind, rows jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if kind.kind = 'succession' then
    update public.knowledge_facts f set superseded_by = n.superseded_by
    from jsonb_populate_recordset(null::public.knowledge_facts, rows) as n
    where f.fact_id = n.fact_id and f.tenant_id = identity.current_tenant_id() and f.superseded_by is null;
    return;
  end if;
  -- A fact and its evidence name each other.
  set constraints all deferred;
  -- A later version may have columns that the file does not know: they take their defaults.
  perform transfer.insert_rows(kind.target,
    array(select c.name from unnest(transfer.columns_of(kind)) as c (name) where rows -> 0 ? c.name), kind.is_setting, rows);
  if kind.parts is not null then
    perform transfer.insert_rows(kind.parts_table,
      array(select c.name from unnest(transfer.part_columns_of(kind)) as c (name) where p.parts -> 0 ? c.name), false, p.parts)
    from (
      select jsonb_agg(e) as parts
      from jsonb_array_elements(rows) as r (n), jsonb_array_elements(r.n -> kind.parts) as e) p
    where p.parts is not null;
  end if;
  if kind.kind = 'vector' then
    -- A long text stays in the queue, whose job counts its chunks.
    delete from embeddings.pending_embeddings q
    using jsonb_populate_recordset(null::public.memory_embeddings, rows) as n, public.packet_store p
    where q.packet_id = n.packet_id and q.model = n.model and p.packet_id = n.packet_id
      and octet_length(p.envelope ->> 'content') <= 1000;
  end if;
  if kind.kind in ('world_update', 'world_snapshot') then
    perform transfer.raise_versions(kind.target, rows);
  elsif kind.kind = 'version' then
    -- A citation counts for the text that was cited, which only the versions tell.
    update importance.memory_citations c set content_hash = importance.text_hash_at(c.packet_id, m.created_at)
    from public.packet_store m
    where m.packet_id = c.cited_by
      and c.packet_id in (select (r.n ->> 'packet_id')::uuid from jsonb_array_elements(rows) as r (n))
      and c.content_hash is distinct from importance.text_hash_at(c.packet_id, m.created_at);
  end if;
  set constraints all immediate;
end $function$
;

-- policy definer_functions on transfer.imported_audit_log is new
drop policy if exists definer_functions on transfer.imported_audit_log;
create policy definer_functions on transfer.imported_audit_log for select to l9_owner using (true);

-- policy definer_functions on transfer.imported_audit_seals is new
drop policy if exists definer_functions on transfer.imported_audit_seals;
create policy definer_functions on transfer.imported_audit_seals for select to l9_owner using (true);

-- policy definer_imports on transfer.imported_audit_log is new
drop policy if exists definer_imports on transfer.imported_audit_log;
create policy definer_imports on transfer.imported_audit_log for insert to l9_owner with check (((tenant_id = ( SELECT identity.current_tenant_id() AS current_tenant_id)) AND ( SELECT transfer.is_importing() AS is_importing)));

-- policy definer_imports on transfer.imported_audit_seals is new
drop policy if exists definer_imports on transfer.imported_audit_seals;
create policy definer_imports on transfer.imported_audit_seals for insert to l9_owner with check (((tenant_id = ( SELECT identity.current_tenant_id() AS current_tenant_id)) AND ( SELECT transfer.is_importing() AS is_importing)));

-- policy scope_access on extraction.proposals is new
drop policy if exists scope_access on extraction.proposals;
create policy scope_access on extraction.proposals for select to l9_admin using ((select identity.has_every_scope() and identity.has_every_project()) and (EXISTS ( SELECT
   FROM public.packet_store p
  WHERE (p.packet_id = proposals.packet_id))));

-- policy scope_access on importance.memory_voices is new
drop policy if exists scope_access on importance.memory_voices;
create policy scope_access on importance.memory_voices for select to l9_admin using ((select identity.has_every_scope() and identity.has_every_project()) and (EXISTS ( SELECT
   FROM public.packet_store p
  WHERE (p.packet_id = memory_voices.packet_id))));

-- policy scope_access on reflection.attestations is new
drop policy if exists scope_access on reflection.attestations;
create policy scope_access on reflection.attestations for select to l9_admin using ((select identity.has_every_scope() and identity.has_every_project()) and (EXISTS ( SELECT
   FROM public.reflection_store r
  WHERE (r.reflection_id = attestations.reflection_id))));

-- policy scope_access on transfer.imported_audit_log is new
drop policy if exists scope_access on transfer.imported_audit_log;
create policy scope_access on transfer.imported_audit_log for select to l9_admin using (((scope IS NULL) OR (scope = ANY (( SELECT identity.current_scopes() AS current_scopes)::text[]))));

-- policy scope_access on transfer.imported_audit_seals is new
drop policy if exists scope_access on transfer.imported_audit_seals;
create policy scope_access on transfer.imported_audit_seals for select to l9_admin using (true);

-- policy tenant_isolation on transfer.imported_audit_log is new
drop policy if exists tenant_isolation on transfer.imported_audit_log;
create policy tenant_isolation on transfer.imported_audit_log as restrictive for all to l9_admin using ((tenant_id = ( SELECT identity.current_tenant_id() AS current_tenant_id)));

-- policy tenant_isolation on transfer.imported_audit_seals is new
drop policy if exists tenant_isolation on transfer.imported_audit_seals;
create policy tenant_isolation on transfer.imported_audit_seals as restrictive for all to l9_admin using ((tenant_id = ( SELECT identity.current_tenant_id() AS current_tenant_id)));

-- trigger _200_append_only on transfer.imported_audit_log is new
create or replace trigger _200_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON transfer.imported_audit_log FOR EACH STATEMENT EXECUTE FUNCTION l9_guard.tg_append_only();
alter table transfer.imported_audit_log enable always trigger _200_append_only;

-- trigger _200_append_only on transfer.imported_audit_seals is new
create or replace trigger _200_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON transfer.imported_audit_seals FOR EACH STATEMENT EXECUTE FUNCTION l9_guard.tg_append_only();
alter table transfer.imported_audit_seals enable always trigger _200_append_only;

-- grants on routine transfer.audit_page(text,timestamp with time zone,jsonb,integer) to l9_admin is new
revoke all on routine transfer.audit_page(text,timestamp with time zone,jsonb,integer) from l9_admin;
grant EXECUTE on routine transfer.audit_page(text,timestamp with time zone,jsonb,integer) to l9_admin;

-- grants on routine transfer.audit_page(text,timestamp with time zone,jsonb,integer) to l9_owner is new
revoke all on routine transfer.audit_page(text,timestamp with time zone,jsonb,integer) from l9_owner;
grant EXECUTE on routine transfer.audit_page(text,timestamp with time zone,jsonb,integer) to l9_owner;

-- grants on routine transfer.check_audit_rows(jsonb) to l9_owner is new
revoke all on routine transfer.check_audit_rows(jsonb) from l9_owner;
grant EXECUTE on routine transfer.check_audit_rows(jsonb) to l9_owner;

-- grants on routine transfer.check_audit_seals(jsonb) to l9_owner is new
revoke all on routine transfer.check_audit_seals(jsonb) from l9_owner;
grant EXECUTE on routine transfer.check_audit_seals(jsonb) to l9_owner;

-- grants on routine transfer.count_of_audit(text,timestamp with time zone) to l9_admin is new
revoke all on routine transfer.count_of_audit(text,timestamp with time zone) from l9_admin;
grant EXECUTE on routine transfer.count_of_audit(text,timestamp with time zone) to l9_admin;

-- grants on routine transfer.count_of_audit(text,timestamp with time zone) to l9_owner is new
revoke all on routine transfer.count_of_audit(text,timestamp with time zone) from l9_owner;
grant EXECUTE on routine transfer.count_of_audit(text,timestamp with time zone) to l9_owner;

-- grants on routine transfer.has_tenant(text) to l9_admin is new
revoke all on routine transfer.has_tenant(text) from l9_admin;
grant EXECUTE on routine transfer.has_tenant(text) to l9_admin;

-- grants on routine transfer.has_tenant(text) to l9_agent is new
revoke all on routine transfer.has_tenant(text) from l9_agent;
grant EXECUTE on routine transfer.has_tenant(text) to l9_agent;

-- grants on routine transfer.own_chain() to l9_admin is new
revoke all on routine transfer.own_chain() from l9_admin;
grant EXECUTE on routine transfer.own_chain() to l9_admin;

-- grants on routine transfer.own_chain() to l9_owner is new
revoke all on routine transfer.own_chain() from l9_owner;
grant EXECUTE on routine transfer.own_chain() to l9_owner;

-- grants on routine transfer.raise_versions(text,jsonb) to l9_owner is new
revoke all on routine transfer.raise_versions(text,jsonb) from l9_owner;
grant EXECUTE on routine transfer.raise_versions(text,jsonb) to l9_owner;

-- grants on routine transfer.readable_rows(public.audit_seals) to l9_owner is new
revoke all on routine transfer.readable_rows(public.audit_seals) from l9_owner;
grant EXECUTE on routine transfer.readable_rows(public.audit_seals) to l9_owner;

-- grants on routine transfer.recompute_worlds(jsonb) to l9_admin is new
revoke all on routine transfer.recompute_worlds(jsonb) from l9_admin;
grant EXECUTE on routine transfer.recompute_worlds(jsonb) to l9_admin;

-- grants on routine transfer.recompute_worlds(jsonb) to l9_owner is new
revoke all on routine transfer.recompute_worlds(jsonb) from l9_owner;
grant EXECUTE on routine transfer.recompute_worlds(jsonb) to l9_owner;

-- grants on routine transfer.relation(text) to l9_admin is new
revoke all on routine transfer.relation(text) from l9_admin;
grant EXECUTE on routine transfer.relation(text) to l9_admin;

-- grants on routine transfer.relation(text) to l9_agent is new
revoke all on routine transfer.relation(text) from l9_agent;
grant EXECUTE on routine transfer.relation(text) to l9_agent;

-- grants on routine transfer.sealed_part_hash(transfer.imported_audit_seals) to l9_owner is new
revoke all on routine transfer.sealed_part_hash(transfer.imported_audit_seals) from l9_owner;
grant EXECUTE on routine transfer.sealed_part_hash(transfer.imported_audit_seals) to l9_owner;

-- grants on routine transfer.store_archive(uuid,bytea,text,bytea,bytea) to l9_admin is new
revoke all on routine transfer.store_archive(uuid,bytea,text,bytea,bytea) from l9_admin;
grant EXECUTE on routine transfer.store_archive(uuid,bytea,text,bytea,bytea) to l9_admin;

-- grants on routine transfer.store_archive(uuid,bytea,text,bytea,bytea) to l9_owner is new
revoke all on routine transfer.store_archive(uuid,bytea,text,bytea,bytea) from l9_owner;
grant EXECUTE on routine transfer.store_archive(uuid,bytea,text,bytea,bytea) to l9_owner;

-- grants on routine transfer.take_batch(transfer.kind,integer[],jsonb[]) to l9_admin is new
revoke all on routine transfer.take_batch(transfer.kind,integer[],jsonb[]) from l9_admin;
grant EXECUTE on routine transfer.take_batch(transfer.kind,integer[],jsonb[]) to l9_admin;

-- grants on routine transfer.take_batch(transfer.kind,integer[],jsonb[]) to l9_owner is new
revoke all on routine transfer.take_batch(transfer.kind,integer[],jsonb[]) from l9_owner;
grant EXECUTE on routine transfer.take_batch(transfer.kind,integer[],jsonb[]) to l9_owner;

-- grants on table extraction.proposals to l9_admin is new
revoke all on table extraction.proposals from l9_admin;
grant SELECT on table extraction.proposals to l9_admin;

-- grants on table importance.memory_voices to l9_admin is new
revoke all on table importance.memory_voices from l9_admin;
grant SELECT on table importance.memory_voices to l9_admin;

-- grants on table reflection.attestations to l9_admin is new
revoke all on table reflection.attestations from l9_admin;
grant SELECT on table reflection.attestations to l9_admin;

-- grants on table transfer.imported_audit_log to l9_admin is new
revoke all on table transfer.imported_audit_log from l9_admin;
grant SELECT on table transfer.imported_audit_log to l9_admin;

-- grants on table transfer.imported_audit_seals to l9_admin is new
revoke all on table transfer.imported_audit_seals from l9_admin;
grant SELECT on table transfer.imported_audit_seals to l9_admin;

-- owner of routine transfer.audit_page(text,timestamp with time zone,jsonb,integer) is new
alter routine transfer.audit_page(text,timestamp with time zone,jsonb,integer) owner to l9_owner;

-- owner of routine transfer.check_audit_rows(jsonb) is new
alter routine transfer.check_audit_rows(jsonb) owner to l9_owner;

-- owner of routine transfer.check_audit_seals(jsonb) is new
alter routine transfer.check_audit_seals(jsonb) owner to l9_owner;

-- owner of routine transfer.count_of_audit(text,timestamp with time zone) is new
alter routine transfer.count_of_audit(text,timestamp with time zone) owner to l9_owner;

-- owner of routine transfer.own_chain() is new
alter routine transfer.own_chain() owner to l9_owner;

-- owner of routine transfer.raise_versions(text,jsonb) is new
alter routine transfer.raise_versions(text,jsonb) owner to l9_owner;

-- owner of routine transfer.readable_rows(public.audit_seals) is new
alter routine transfer.readable_rows(public.audit_seals) owner to l9_owner;

-- owner of routine transfer.recompute_worlds(jsonb) is new
alter routine transfer.recompute_worlds(jsonb) owner to l9_owner;

-- owner of routine transfer.sealed_part_hash(transfer.imported_audit_seals) is new
alter routine transfer.sealed_part_hash(transfer.imported_audit_seals) owner to l9_owner;

-- owner of routine transfer.store_archive(uuid,bytea,text,bytea,bytea) is new
alter routine transfer.store_archive(uuid,bytea,text,bytea,bytea) owner to l9_owner;

-- owner of routine transfer.take_batch(transfer.kind,integer[],jsonb[]) is new
alter routine transfer.take_batch(transfer.kind,integer[],jsonb[]) owner to l9_owner;

-- comment on column public.session_archives.key_id is another
comment on column public.session_archives.key_id is 'The master key that wraps the key of this archive. Empty: it was imported without its key, and nobody can open it.';

-- comment on column transfer.imported_audit_log.chain is new
comment on column transfer.imported_audit_log.chain is 'seal_hash of the first seal of the log from which the row comes.';

-- comment on column transfer.imported_audit_log.imported_at is new
comment on column transfer.imported_audit_log.imported_at is 'When it was imported.';

-- comment on column transfer.imported_audit_log.row_hash is new
comment on column transfer.imported_audit_log.row_hash is 'The hash that this seal has of the row: audit_row_hash().';

-- comment on column transfer.imported_audit_log.seal_id is new
comment on column transfer.imported_audit_log.seal_id is 'The seal that covers it there.';

-- comment on column transfer.imported_audit_seals.chain is new
comment on column transfer.imported_audit_seals.chain is 'seal_hash of the first seal of the log.';

-- comment on column transfer.imported_audit_seals.hash is new
comment on column transfer.imported_audit_seals.hash is 'sealed_part_hash() of the other columns.';

-- comment on column transfer.imported_audit_seals.imported_at is new
comment on column transfer.imported_audit_seals.imported_at is 'When it was imported.';

-- comment on column transfer.imported_audit_seals.previous_hash is new
comment on column transfer.imported_audit_seals.previous_hash is 'The hash of the line before; null for the first seal.';

-- comment on column transfer.imported_audit_seals.row_count is new
comment on column transfer.imported_audit_seals.row_count is 'How many rows of the tenant it covers.';

-- comment on column transfer.imported_audit_seals.rows_hash is new
comment on column transfer.imported_audit_seals.rows_hash is 'SHA-256 over their ids and hashes, in the order of transactions, then ids.';

-- comment on column transfer.imported_audit_seals.seal_hash is new
comment on column transfer.imported_audit_seals.seal_hash is 'Its hash there, as audit_head() returned it.';

-- comment on column transfer.imported_audit_seals.seal_id is new
comment on column transfer.imported_audit_seals.seal_id is 'Number of the seal there.';

-- comment on column transfer.imported_audit_seals.sealed_at is new
comment on column transfer.imported_audit_seals.sealed_at is 'When it was made.';

-- comment on column transfer.kind.option is another
comment on column transfer.kind.option is 'What is exported only if it is asked for: vectors, which jobs make again where they are missing, or audit.';

-- comment on column transfer.kind.target is another
comment on column transfer.kind.target is 'Its table, in schema public if it names none.';

-- comment on function archive.open_session_archive(pg_catalog.text,boolean,pg_catalog.uuid) is another
comment on function archive.open_session_archive(pg_catalog.text,boolean,pg_catalog.uuid) is 'Hands out the wrapped key (null: it was imported without it) of an archive that the caller may read (archive_id: of this one with the pointer; else the first that was entered) and, if with_blob, the bytes that the database has of it, if they are one piece; and leaves an audit row (RETRIEVE). Raises L9OWN if there is none or it is not the caller''s. Definer: callers have no access to keys and bytes.';

-- comment on function transfer.audit_page(pg_catalog.text,timestamp with time zone,pg_catalog.jsonb,integer) is new
comment on function transfer.audit_page(pg_catalog.text,timestamp with time zone,pg_catalog.jsonb,integer) is 'A page of the sealed audit log of this database, as far as the caller may read it. Definer: admins read no seals.';

-- comment on function transfer.check_audit_rows(pg_catalog.jsonb) is new
comment on function transfer.check_audit_rows(pg_catalog.jsonb) is 'Raises L9VAL for an audit row that has another hash than its seal knows.';

-- comment on function transfer.check_audit_seals(pg_catalog.jsonb) is new
comment on function transfer.check_audit_seals(pg_catalog.jsonb) is 'Raises L9VAL for a seal that was altered, does not follow the one before it, or does not cover the rows that were imported.';

-- comment on function transfer.count_of_audit(pg_catalog.text,timestamp with time zone) is new
comment on function transfer.count_of_audit(pg_catalog.text,timestamp with time zone) is 'How many lines there are of the sealed audit log. Definer: admins read no seals.';

-- comment on function transfer.own_chain() is new
comment on function transfer.own_chain() is 'The name of this database''s own audit log, as lines have it; null before its first seal. Definer: admins read no seals.';

-- comment on function transfer.raise_versions(pg_catalog.text,pg_catalog.jsonb) is new
comment on function transfer.raise_versions(pg_catalog.text,pg_catalog.jsonb) is 'Raises the versions of worlds to those of these updates or snapshots.';

-- comment on function transfer.readable_rows(public.audit_seals) is new
comment on function transfer.readable_rows(public.audit_seals) is 'The audit rows under a seal that the caller may read.';

-- comment on function transfer.recompute_worlds(pg_catalog.jsonb) is new
comment on function transfer.recompute_worlds(pg_catalog.jsonb) is 'Computes the worlds of these entities again, so that nothing in them comes from an update that was left out. Definer: callers can''t write these tables.';

-- comment on function transfer.sealed_part_hash(transfer.imported_audit_seals) is new
comment on function transfer.sealed_part_hash(transfer.imported_audit_seals) is 'SHA-256 of the JSON array [chain, seal_id, sealed_at, seal_hash, row_count, rows_hash, previous_hash]. Times are seconds since 1970, hashes are hexadecimal.';

-- comment on function transfer.store_archive(pg_catalog.uuid,pg_catalog.bytea,pg_catalog.text,pg_catalog.bytea,pg_catalog.bytea) is new
comment on function transfer.store_archive(pg_catalog.uuid,pg_catalog.bytea,pg_catalog.text,pg_catalog.bytea,pg_catalog.bytea) is 'Stores the encrypted bytes of an imported archive in the database, and its wrapped key if one is given: stored, present (nothing was missing), or left_out (the archive is not here). Raises L9VAL for other bytes. Definer: callers have no access to bytes and keys.';

-- comment on function transfer.take_batch(transfer.kind,integer[],pg_catalog.jsonb[]) is new
comment on function transfer.take_batch(transfer.kind,integer[],pg_catalog.jsonb[]) is 'Stores rows as take_rows() does. An error names the line of the first wrong row.';

-- comment on policy definer_functions on transfer.imported_audit_log is new
comment on policy definer_functions on transfer.imported_audit_log is 'An import compares seals with their rows.';

-- comment on policy definer_functions on transfer.imported_audit_seals is new
comment on policy definer_functions on transfer.imported_audit_seals is 'An import compares seals with their rows.';

-- comment on policy definer_imports on transfer.imported_audit_log is new
comment on policy definer_imports on transfer.imported_audit_log is 'An import writes rows of the tenant of the administrator who calls it.';

-- comment on policy definer_imports on transfer.imported_audit_seals is new
comment on policy definer_imports on transfer.imported_audit_seals is 'An import writes rows of the tenant of the administrator who calls it.';

-- comment on policy scope_access on extraction.proposals is new
comment on policy scope_access on extraction.proposals is 'Administrators with a whole token export what belongs to the memories that they read.';

-- comment on policy scope_access on importance.memory_voices is new
comment on policy scope_access on importance.memory_voices is 'Administrators with a whole token export what belongs to the memories that they read.';

-- comment on policy scope_access on reflection.attestations is new
comment on policy scope_access on reflection.attestations is 'Administrators with a whole token export what belongs to the memories that they read.';

-- comment on policy scope_access on transfer.imported_audit_log is new
comment on policy scope_access on transfer.imported_audit_log is 'Admins read them, within the scopes of their claims.';

-- comment on policy scope_access on transfer.imported_audit_seals is new
comment on policy scope_access on transfer.imported_audit_seals is 'Seals tell of no row but its hash.';

-- comment on policy tenant_isolation on transfer.imported_audit_log is new
comment on policy tenant_isolation on transfer.imported_audit_log is 'Admins read what was imported into their tenant.';

-- comment on policy tenant_isolation on transfer.imported_audit_seals is new
comment on policy tenant_isolation on transfer.imported_audit_seals is 'Admins read what was imported into their tenant.';

-- comment on table transfer.imported_audit_log is new
comment on table transfer.imported_audit_log is 'Rows of the audit log of other databases, as an import brought them. Append-only for every role. Columns that are not named here are those of audit_log.';

-- comment on table transfer.imported_audit_seals is new
comment on table transfer.imported_audit_seals is 'What each seal of another database says of the rows of the tenant. Append-only for every role.';
