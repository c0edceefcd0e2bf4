-- Reads what a caller may read as JSON lines, page by page, and audits each page. l9-memory export calls export_memories() over
-- GraphQL, first without a kind.

create function transfer.audit_export(kind text, lines bigint) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  this transfer.kind;
begin
  perform identity.require_identity();
  select k.* into this from transfer.kinds() k where k.kind = audit_export.kind;
  perform audit.write_audit('EXPORT', coalesce(this.target, 'packet_store'),
    details => jsonb_strip_nulls(jsonb_build_object('kind', this.kind, 'rows', lines)));
end $$;
comment on function transfer.audit_export is 'Audits an export by the caller. Definer: writes audit_log, about the caller alone.';

create function transfer.is_readable(kind transfer.kind) returns boolean language sql stable parallel safe set search_path = ''
return has_table_privilege(transfer.relation((kind).target), 'select')
  and ((kind).parts_table is null or has_table_privilege('public.' || (kind).parts_table, 'select'));
comment on function transfer.is_readable is 'True if the role of the caller may read rows of this kind at all.';

create function transfer.version() returns integer language sql immutable parallel safe return 1;
comment on function transfer.version is 'The version of the format of exports.';

create function transfer.header(as_of timestamptz) returns jsonb language plpgsql stable set search_path = '' as $$
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
end $$;
comment on function transfer.header is 'The first line of an export: its format and version, the tenant, and what the caller '
  'reads of each kind.';

-- The rows are fetched one after the other, so that a page ends before it grows too large for an answer.
create function public.export_memories(
  kind text default null, as_of timestamptz default null, after jsonb default null, page_size integer default 1000) returns jsonb
language plpgsql volatile set search_path = '' set timezone = 'UTC' set datestyle = 'ISO' set intervalstyle = 'postgres'
set bytea_output = 'hex' set extra_float_digits = 1 as $$
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
end $$;
comment on function public.export_memories is 'A page of what the caller may read, as JSON lines: lines, their count, and cursor '
  '(after of the next page; null: this was the last). Without a kind: header, which lists the kinds in their order and gives '
  'as_of. page_size is 1 to 5000. Each page is audited. Errors: L9VAL, L9SCP, L9AUT.';
grant execute on function transfer.audit_export, transfer.is_readable, transfer.version, transfer.header to l9_agent, l9_admin;

grant execute on function public.export_memories to l9_agent, l9_admin;
