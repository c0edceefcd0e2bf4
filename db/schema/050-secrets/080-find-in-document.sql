-- Finds or replaces the secrets of a JSON document at any depth. The guard, archives of sessions, the scan of stored
-- rows and the audit log call these functions.
create function secrets.find_in_value(name text, value text, tenant_id uuid, own_test text, is_strict boolean, most integer)
returns table (pattern text, "position" integer, length integer, line integer, "column" integer)
language plpgsql stable set search_path = '' as $$
declare
  starts integer[];
begin
  if secrets.needs_look(value, own_test, is_strict) then
    starts := case when strpos(value, E'\n') > 0 then secrets.line_starts(value) else '{1}' end;
    return query
      select f.pattern, f."position", f.length, n.line, f."position" - starts[n.line] + 1
      from secrets.find_in_text(
        value, find_in_value.tenant_id, secrets.severities_for(find_in_value.tenant_id, is_strict), find_in_value.most) as f
      cross join lateral width_bucket(f."position", starts) as n (line);
  end if;
  -- The name of a member says what its value is, as in {"password": "…"}.
  if secrets.is_named_secret(name, secrets.fold(value), is_strict)
      and not secrets.is_excepted(find_in_value.tenant_id, 'named-secret', value) then
    return query select 'named-secret', 1, length(value), 1, 1;
  end if;
end $$;

create function secrets.is_named_secret(name text, value text, is_strict boolean) returns boolean
language sql immutable parallel safe set search_path = ''
return case
  -- Counting the characters of a long text takes as long as a pattern.
  when name is null or pg_catalog.octet_length(value) > 2048 or pg_catalog.length(value) not between 6 and 512 then false
  when name = 'auth' then secrets.passes('basic', value, value)
  else name ~ (secrets.names_of_secrets() || '[A-Za-z0-9_.-]*$')
    and (value !~ '\s' and secrets.is_likely_value(value, is_quoted => true) and not secrets.names_a_place(name || ':', value)
      or is_strict and value !~ '^[0-9.]*$' and secrets.is_any_value(value))
end;
comment on function secrets.is_named_secret is 'True if a member''s name says secret and its value looks like one.';
comment on function secrets.find_in_value is 'The secrets of a text in a document, with the name of its member.';

create function secrets.step(key text) returns text language sql immutable parallel safe set search_path = ''
return '.' || case
  when key ~ '^[A-Za-z_][A-Za-z0-9_-]{0,39}$'
    and (not secrets.needs_look(key, null, true) or key ~ '^[A-Za-z_-]+$' and not secrets.is_random(key)) then key
  else '*' end;
comment on function secrets.step is 'A key as a path shows it: * if it is no plain name, since a key can be a secret itself.';

create function secrets.path_of(steps text[]) returns text language sql immutable parallel safe set search_path = ''
return '$' || coalesce((
  select pg_catalog.string_agg(
    case when s.step like '.%' then secrets.step(pg_catalog.substr(s.step, 2)) else s.step end, '' order by s.place)
  from pg_catalog.unnest(steps) with ordinality as s (step, place)), '');
comment on function secrets.path_of is 'A value''s path: .key for a member, * for a key itself, [place] for an element.';

-- Walks the document from the top. Unless it is strict, it enters only parts that may hold a secret by the quick tests.
create function secrets.find_in_document_of(tenant_id uuid, document jsonb, strict boolean, most integer default null)
returns table (pattern text, path text, "position" integer, line integer, "column" integer)
language plpgsql stable set search_path = '' as $$
declare
  own_test text := secrets.own_test(find_in_document_of.tenant_id);
begin
  return query
    with recursive nodes (steps, name, value) as (
      select '{}'::text[], null::text, document
      union all
      select n.steps || child.step, child.name, child.value
      from nodes n
      cross join lateral (
        select '.' || o.key as step, o.key as name, o.value
        from jsonb_each(case when jsonb_typeof(n.value) = 'object' then n.value else '{}' end) as o
        union all
        select '.*', null, to_jsonb(o.key)
        from jsonb_each(case when jsonb_typeof(n.value) = 'object' then n.value else '{}' end) as o
        union all
        select format('[%s]', a.place - 1), null, a.value
        from jsonb_array_elements(case when jsonb_typeof(n.value) = 'array' then n.value else '[]' end)
          with ordinality as a (value, place)
      ) child
      where jsonb_typeof(n.value) in ('object', 'array')
        -- A session is large, and most of its parts hold a long token: testing each level would read it several times.
        and (strict or n.steps = '{}' or secrets.needs_look(n.value::text, own_test, false))
    )
    select f.pattern, secrets.path_of(n.steps), f."position", f.line, f."column"
    from nodes n
    cross join lateral secrets.find_in_value(
      n.name, n.value #>> '{}', find_in_document_of.tenant_id, own_test, strict, find_in_document_of.most) as f
    where jsonb_typeof(n.value) in ('string', 'number') limit find_in_document_of.most;
end $$;
comment on function secrets.find_in_document_of is 'The secrets in texts, numbers and keys of a document: all, or so many.';

create function secrets.find_in_document(document jsonb, strict boolean)
returns table (pattern text, path text, "position" integer, line integer, "column" integer)
language sql stable security definer set search_path = ''
begin atomic
  select f.pattern, f.path, f."position", f.line, f."column"
  from identity.current_tenant_id() as t (tenant_id)
  cross join lateral secrets.find_in_document_of(t.tenant_id, document, strict) as f
  -- Hardly any session passes these tests as a whole.
  where strict or secrets.needs_look(document::text, secrets.own_test(t.tenant_id), false);
end;
comment on function secrets.find_in_document is 'The secrets of every text, number and key of a document at any depth: the '
  'pattern, the path, and the place in the text, in characters from its beginning and by line and column. If strict, personal '
  'data and long tokens too. The path shows keys only if they are plain names. Definer: compares with the patterns and '
  'exceptions of the caller''s tenant alone.';

-- Calls itself for keys, members and elements; a part in which the quick tests find nothing stays as it is.
create function secrets.redact_value(name text, value jsonb, tenant_id uuid, own_test text, severities text[], is_strict boolean,
  out redacted jsonb, out replaced integer)
language plpgsql stable set search_path = '' as $$
declare
  kind constant text := jsonb_typeof(value);
  text_value text;
  changed record;
begin
  redacted := value;
  replaced := 0;
  if kind in ('string', 'number') then
    text_value := value #>> '{}';
    if secrets.is_named_secret(name, secrets.fold(text_value), is_strict)
        and not secrets.is_excepted(tenant_id, 'named-secret', text_value) then
      redacted := '"[redacted: named-secret]"';
      replaced := 1;
    elsif secrets.needs_look(text_value, own_test, is_strict) then
      changed := secrets.redact_text(text_value, tenant_id, severities);
      replaced := changed.replaced;
      if replaced > 0 then
        redacted := to_jsonb(changed.redacted);
      end if;
    end if;
  elsif kind = 'object' and secrets.needs_look(value::text, own_test, is_strict) then
    select jsonb_object_agg(k.redacted #>> '{}', v.redacted), coalesce(sum(k.replaced + v.replaced), 0)
    into redacted, replaced
    from jsonb_each(value) as o
    cross join lateral secrets.redact_value(null, to_jsonb(o.key), tenant_id, own_test, severities, is_strict) as k
    cross join lateral secrets.redact_value(o.key, o.value, tenant_id, own_test, severities, is_strict) as v;
    redacted := coalesce(redacted, '{}');
  elsif kind = 'array' and secrets.needs_look(value::text, own_test, is_strict) then
    select jsonb_agg(v.redacted order by a.place), coalesce(sum(v.replaced), 0)
    into redacted, replaced
    from jsonb_array_elements(value) with ordinality as a (value, place)
    cross join lateral secrets.redact_value(null, a.value, tenant_id, own_test, severities, is_strict) as v;
    redacted := coalesce(redacted, '[]');
  end if;
end $$;
comment on function secrets.redact_value is 'A value with each secret replaced, and how many. A member''s name tells what it is.';

create type secrets.redaction as (document jsonb, replaced integer);
comment on type secrets.redaction is 'A document without secrets, and how many were replaced.';

create function secrets.redact_document(document jsonb, strict boolean) returns secrets.redaction
language sql stable security definer set search_path = ''
return (
  select (v.redacted, v.replaced)::secrets.redaction
  from identity.current_tenant_id() as t (tenant_id)
  cross join lateral secrets.redact_value(
    null, document, t.tenant_id, secrets.own_test(t.tenant_id), secrets.severities_for(t.tenant_id, strict), strict) as v);
comment on function secrets.redact_document is 'A document with each secret replaced by [redacted: pattern], and how many were '
  'replaced. Definer: compares with the patterns and exceptions of the caller''s tenant alone.';
grant execute on function secrets.find_in_document, secrets.redact_document to l9_agent, l9_admin, l9_platform_admin, l9_worker;
