-- Reads audit_log page by page, and audits each page. Admins call export_audit() in psql or GraphQL, or run
-- `l9-memory audit export`.
create type public.audit_page as (rows jsonb, cursor text, "to" timestamptz);
call identity.describe('public.audit_page', 'A page of the audit log.
  rows: Rows as JSON objects, in order of time, with their transaction (xid).
  cursor: Start of the next page (its after argument). Null: this was the last page.
  to: End of the exported time; pass it as to with the next page.');

create function audit.audit_export(details jsonb) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
begin
  if me.role not in ('l9_admin', 'l9_platform_admin') then
    perform identity.raise_error('L9SCP', 'export_audit: only administrators can call this', '');
  elsif octet_length(details::text) > 4096 then
    perform identity.raise_error('L9LIM', 'details: at most 4096 bytes');
  end if;
  perform audit.write_audit('EXPORT', 'audit_log', details => details - 'org_id' - 'user_id');
end $$;
comment on function audit.audit_export is 'Audits an export by the caller. Definer: writes audit_log, about the caller alone.';

-- Rows are ordered by time and id, which make up the cursor. A page ends at page_size rows or about 4 MB.
create function public.export_audit(
  "from" timestamptz default null, "to" timestamptz default null, after text default null, page_size integer default 1000)
returns public.audit_page
language plpgsql volatile set search_path = '' set timezone = 'UTC' as $$
declare
  page public.audit_page;
  after_time timestamptz := coalesce(export_audit."from", '-infinity');
  after_id uuid := '00000000-0000-0000-0000-000000000000';
begin
  perform identity.require_identity();
  if page_size is null or page_size not between 1 and 5000 then
    perform identity.raise_error('L9VAL', 'page_size: from 1 to 5000');
  end if;
  if after is not null then
    if after !~ '^\S+Z_[0-9a-f-]{36}$' or not pg_input_is_valid(split_part(after, '_', 1), 'timestamptz')
      or not pg_input_is_valid(split_part(after, '_', 2), 'uuid') then
      perform identity.raise_error('L9VAL', 'after: must be the cursor of the previous page');
    end if;
    after_time := split_part(after, '_', 1);
    after_id := split_part(after, '_', 2);
  end if;
  -- The audit rows of this export, and all rows written while it runs, belong to the next export.
  page."to" := least(coalesce(export_audit."to", now()), now());

  with candidate_rows as (
    select a.audit_id, a.occurred_at,
      jsonb_build_object(
        'audit_id', a.audit_id, 'occurred_at', to_char(a.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'xid', a.xid::text,
        'operation', a.operation, 'table_name', a.table_name, 'row_id', a.row_id, 'tenant_id', a.tenant_id,
        'project_id', a.project_id, 'scope', a.scope, 'status', a.status, 'sqlstate', a.sqlstate, 'details', a.details) as line
    from public.audit_log a
    where a.occurred_at >= after_time and a.occurred_at < page."to" and (a.occurred_at, a.audit_id) > (after_time, after_id)
    order by a.occurred_at, a.audit_id limit page_size
  ), sized_rows as (
    select *, sum(octet_length(l.line::text)) over (order by l.occurred_at, l.audit_id) as bytes from candidate_rows l
  ), page_rows as (
    -- Details can be long, so a page ends early when it reaches 4 MB, but holds at least one row.
    select *, count(*) over () < (select count(*) from candidate_rows) as is_cut from sized_rows c
    where c.bytes <= 4000000 or c.audit_id = (select l.audit_id from candidate_rows l order by l.occurred_at, l.audit_id limit 1)
  )
  select coalesce(jsonb_agg(k.line order by k.occurred_at, k.audit_id), '[]'),
    case when count(*) = page_size or bool_or(k.is_cut) then
      (array_agg(to_char(k.occurred_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '_' || k.audit_id
        order by k.occurred_at desc, k.audit_id desc))[1] end
  into page.rows, page.cursor
  from page_rows k;
  perform audit.audit_export(jsonb_strip_nulls(jsonb_build_object(
    'from', export_audit."from", 'to', page."to", 'after', after, 'rows', jsonb_array_length(page.rows))));
  return page;
end $$;
comment on function public.export_audit is 'A page of the audit log, as far as the caller can read it, in order of time, from '
  '(inclusive) to (exclusive; by default now). after is the cursor of the previous page; page_size is 1 to 5000. Each page '
  'writes an audit row EXPORT, which is not part of the same export. For admins.';
grant execute on function audit.audit_export to l9_admin, l9_platform_admin;

grant execute on function public.export_audit to l9_admin, l9_platform_admin;
