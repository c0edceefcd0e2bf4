-- Refuses, redacts or audits secrets in what callers write. guard_table() gives a table the trigger for it; functions
-- for saves and documents call check_texts(), refuse_in() and as_stored().
create function secrets.raise_secret(
  path text, pattern text, place integer, line integer default 1, "column" integer default null) returns void
language plpgsql volatile set search_path = '' as $$
begin
  begin
    -- Else the log of the server would keep the statement, with the secret if it is written out in it.
    perform set_config('log_min_error_statement', 'panic', true);
  exception when insufficient_privilege then
    null; -- bootstrap.sql grants it, where a superuser runs it.
  end;
  raise exception using
    errcode = 'L9SEC',
    message = format('%s: has what looks like a secret (pattern %s, at character %s)%s; remove it and save again',
      path, pattern, place, case when line > 1 then format(' in line %s', line) end),
    column = split_part(split_part(path, '.', 1), '[', 1),
    detail = jsonb_build_array(
      jsonb_build_object('path', path, 'line', line, 'column', coalesce("column", place), 'pattern', pattern));
end $$;
comment on function secrets.raise_secret is 'Raises L9SEC, which names path, pattern and place, never the text. Its detail is '
  'the list of findings: path, line, column and pattern.';

create function secrets.field_of(path text) returns text language sql immutable parallel safe set search_path = ''
-- The content of a memory stands in its envelope, but callers know it by its own name.
return pg_catalog.regexp_replace(pg_catalog.regexp_replace(path, '^\$\.', ''), '^envelope\.content\M', 'content');
comment on function secrets.field_of is 'The path of a finding in a row as an error names it.';

-- The settings of the tenant decide: redact all, refuse at the first finding, or audit up to 1000 of them.
create function secrets.guard(fields jsonb, tenant_id uuid, table_name text, operation text, redacts boolean) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
  on_secret text;
  finding record;
  redaction record;
begin
  if fields = '{}' then
    return null;
  end if;
  on_secret := coalesce((select s.on_secret from public.secret_settings s where s.tenant_id = guard.tenant_id), 'refuse');
  if on_secret = 'redact' and not redacts then
    on_secret := 'refuse';
  end if;
  if on_secret = 'redact' then
    select v.redacted, v.replaced into redaction
    from secrets.redact_value(null, fields, guard.tenant_id, secrets.own_test(guard.tenant_id),
      secrets.severities_for(guard.tenant_id, false), false) as v;
    if redaction.replaced > 0 then
      -- The answer of the call says how many were replaced in its transaction.
      perform set_config('l9.redacted',
        (coalesce(nullif(current_setting('l9.redacted', true), ''), '0')::integer + redaction.replaced)::text, true);
      return redaction.redacted;
    end if;
    return null;
  end if;
  select min(f."position") as place, min(f.line) as line, min(f."column") as "column", min(f.path) as path,
    min(f.pattern) as pattern,
    jsonb_agg(distinct jsonb_build_object('field', split_part(secrets.field_of(f.path), '.', 1), 'pattern', f.pattern))
      as all_found
  into finding
  from secrets.find_in_document_of(guard.tenant_id, fields, false, case when on_secret = 'refuse' then 1 else 1000 end) f;
  if finding.path is null then
    return null;
  elsif on_secret = 'refuse' then
    perform secrets.raise_secret(secrets.field_of(finding.path), finding.pattern, finding.place, finding.line, finding."column");
  end if;
  perform audit.write_audit_of_tenant(guard.tenant_id, operation, table_name,
    details => jsonb_build_object('allowed_secrets', finding.all_found));
  return null;
end $$;
comment on function secrets.guard is 'Does what the tenant set for secrets in these fields of a row: raises L9SEC, returns the '
  'fields without them, or audits that they were let through. Null if the fields stay as they are. Definer: reads the settings '
  'of the row''s tenant, and callers cannot write audit_log.';

create function secrets.check_texts(texts text[], field text) returns void
language plpgsql stable security definer set search_path = '' as $$
declare
  me constant identity.identity := identity.require_identity();
  finding record;
begin
  if coalesce((select s.on_secret from public.secret_settings s where s.tenant_id = me.tenant_id), 'refuse') <> 'refuse' then
    return;
  end if;
  select f.pattern, f."position" into finding from secrets.find_in_document_of(me.tenant_id, to_jsonb(texts), false, 1) as f;
  if found then
    perform secrets.raise_secret(field, finding.pattern, finding."position");
  end if;
end $$;
comment on function secrets.check_texts is 'Raises L9SEC if one of these texts has a secret and the tenant refuses them: for '
  'what is stored in several transactions, before the first. Definer: compares with the patterns of the caller''s tenant.';
grant execute on function secrets.check_texts to l9_agent, l9_admin;

create function secrets.redacted_count() returns integer language sql stable set search_path = ''
return nullif(pg_catalog.current_setting('l9.redacted', true), '')::integer;
comment on function secrets.redacted_count is 'How many secrets the guard replaced in this transaction; null if none.';

create function secrets.as_stored(content text, tenant_id uuid) returns text
language sql stable security definer set search_path = ''
return case
  when exists (select from public.secret_settings s where s.tenant_id = as_stored.tenant_id and s.on_secret = 'redact')
    and secrets.needs_look(content, secrets.own_test(tenant_id), false)
  then (secrets.redact_text(content, tenant_id, secrets.severities_for(tenant_id, false))).redacted
  else content
end;
comment on function secrets.as_stored is 'A text as a table stores it: without its secrets where the tenant redacts them. '
  'Definer: reads the settings of the tenant.';
grant execute on function secrets.redacted_count, secrets.as_stored to l9_agent, l9_admin;

create function secrets.refuse_in(fields jsonb) returns void language sql volatile security definer set search_path = ''
begin atomic
  select secrets.guard(fields, identity.current_tenant_id(), 'packet_store', 'INSERT', false)
  where not exists (
    select from public.secret_settings s where s.tenant_id = identity.current_tenant_id() and s.on_secret <> 'refuse');
end;
comment on function secrets.refuse_in is 'Raises L9SEC for a secret in fields that are stored in parts, by their own place in '
  'what the caller gave, if the caller''s tenant refuses secrets. Definer: reads the settings and exceptions of the caller''s '
  'tenant alone.';
grant execute on function secrets.refuse_in to l9_agent, l9_admin;

create function secrets.guarded_columns(guarded regclass, except_columns text[]) returns setof name
language sql stable set search_path = ''
begin atomic
  select a.attname
  from pg_catalog.pg_attribute a
  where a.attrelid = guarded and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    and a.atttypid in ('text'::regtype, 'text[]'::regtype, 'jsonb'::regtype)
    -- What is chosen from a list, or written by triggers alone, holds no text of a caller.
    and a.attname <> all (array['scope', 'project_id', 'creator', 'source', 'caller', 'language', 'status']::name[])
    and a.attname !~ '_normalized$' and a.attname::text <> all (except_columns)
  order by a.attnum;
end;
comment on function secrets.guarded_columns is 'Columns for callers'' texts: none that are chosen from a list or computed.';

-- Creates a trigger function that joins the changed texts of a row, and builds JSON of them only if the quick tests
-- ask for a look.
create procedure secrets.guard_table(
  guarded regclass, except_columns text[] default '{}', redacts boolean default true,
  then_do text default '', refused_columns text[] default '{}')
language plpgsql set search_path = '' as $$
declare
  name text := (select c.relname from pg_class c where c.oid = guarded);
  all_columns constant text[] := array(select distinct c
    from unnest(array(select secrets.guarded_columns(guarded, except_columns))::text[] || refused_columns) as c);
  columns constant text[] := array(select secrets.guarded_columns(guarded, except_columns || refused_columns));
begin
  execute format($sql$
    create function secrets.tg_%1$s__guard_secrets()
    returns trigger
    language plpgsql
    security definer
    set search_path = ''
    as $body$
    declare
      -- No text of a caller has this character.
      texts text := concat_ws(E'\x1f', %2$s);
      own_test text := (select s.own_test from public.secret_settings s where s.tenant_id = new.tenant_id);
      changed jsonb;
    begin
      -- Only what changed is looked at: old is null in an insert.
      if not secrets.needs_look(texts, own_test, false) then
        return new;
      end if;
      %8$s
      changed := secrets.guard(jsonb_strip_nulls(jsonb_build_object(%3$s)), new.tenant_id, %4$L, tg_op, %7$L);
      if changed is not null then
        %5$s
        %6$s
      end if;
      return new;
    end
    $body$ $sql$, name,
    (select string_agg(format('case when new.%1$I is distinct from old.%1$I then new.%1$I::text end', c), ', ')
      from unnest(all_columns) as c),
    (select string_agg(format('%1$L, case when new.%1$I is distinct from old.%1$I then to_jsonb(new.%1$I) end', c), ', ')
      from unnest(columns) as c),
    name,
    (select string_agg(format('if changed ? %1$L then new.%1$I := %2$s; end if;', c.column_name,
        case a.atttypid
          when 'text'::regtype then format('changed ->> %L', c.column_name)
          when 'jsonb'::regtype then format('changed -> %L', c.column_name)
          else format('array(select jsonb_array_elements_text(changed -> %L))', c.column_name)
        end), E'\n        ')
      from unnest(columns) as c (column_name)
      join pg_attribute a on a.attrelid = guarded and a.attname = c.column_name),
    then_do, redacts,
    (select string_agg(format(
        'perform secrets.guard(jsonb_strip_nulls(jsonb_build_object('
          '%1$L, case when new.%1$I is distinct from old.%1$I then to_jsonb(new.%1$I) end)), '
          'new.tenant_id, %2$L, tg_op, false);',
        c, name), E'\n      ')
      from unnest(refused_columns) as c));
  execute format('comment on function secrets.tg_%s__guard_secrets() is %L', name,
    'Refuses, redacts or audits secrets in what a caller writes, as the tenant set. guard_table() made it for the columns of its '
    'table. Definer: reads the settings of the row''s tenant, and callers cannot write audit_log.');
  -- After the tenant is stamped, before anything is derived from the text.
  execute format(
    'create trigger _370_guard_secrets before insert or update of %s on %s '
    'for each row execute function secrets.tg_%s__guard_secrets()',
    (select string_agg(format('%I', c), ', ') from unnest(all_columns) as c), guarded, name);
end $$;
comment on procedure secrets.guard_table is 'Guards a table with a column tenant_id: its texts, arrays of texts and documents '
  'are compared with the patterns whenever they are written. except_columns are left out; redacts is false for a table whose '
  'texts cannot be replaced, where they are refused instead, and refused_columns names the columns of another table of which '
  'this is true; then_do is run after texts were redacted.';
