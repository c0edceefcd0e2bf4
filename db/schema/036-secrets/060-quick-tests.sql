create function secrets.literal(keyword text)
returns text
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.regexp_replace(keyword, '[^A-Za-z0-9_-]', '\\\&', 'g');

comment on function secrets.literal(text) is 'A regular expression that matches exactly this text.';

create function secrets.any_of(keywords text[])
returns text
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if '' = any (keywords) then
    return '';
  end if;
  return (
    select case when count(*) = 1 then min(branch.expression) else '(?:' || string_agg(branch.expression, '|' order by branch.first) || ')' end
    from (
      select left(k, 1) as first, secrets.literal(left(k, 1)) || secrets.any_of(array_agg(distinct substr(k, 2))) as expression
      from unnest(keywords) as k
      group by left(k, 1)
    ) branch);
end
$$;

comment on function secrets.any_of(text[]) is
  'A regular expression that matches any of these texts: a tree of their characters, which is several times as fast as an alternation.';

create function secrets.words_of_hint(hint text)
returns text[]
language sql
immutable
parallel safe
set search_path = ''
return case hint
  when secrets.named_values() then '{pass,pwd,secret,token,credential,key}'::text[]
  when secrets.authorization_headers() then '{bearer,basic}'
  when secrets.credentials_in_urls() then '{://}'
  when secrets.rare_words() then '{private,sig=,"\"auth",mysql,mariadb,%}'::text[] || pg_catalog.string_to_array(secrets.zero_width_characters(), null)
end;

comment on function secrets.words_of_hint(text) is
  'Texts, one of which stands in every match of a built-in hint if it is written in lower case: looking for them is several times as fast. Null if there are none.';

create function secrets.test_of_hint(hint text)
returns text
language sql
immutable
parallel safe
set search_path = ''
-- Looking around is several times as slow as what is tried first here.
return case hint
  when secrets.long_words() then 'content ~ ''[A-Za-z0-9]{32}'' and '
  when secrets.words_of_40() then 'content ~ ''[A-Za-z0-9+/]{40}'' and '
  else '' end || pg_catalog.format('content ~ %L', hint);

comment on function secrets.test_of_hint(text) is 'An expression of SQL: whether content matches a hint.';

-- The quick tests are functions, so that a save need not read the patterns. They are made of the rows here, once. Each hint is an
-- expression of its own: for a text of a few kilobytes, many small expressions are ten times as fast as one large alternation.
-- Most texts hold no word of 20 characters and few of the words of hints, so that one expression is tried on them.
do $$
begin
  execute format($sql$
create function secrets.any_keyword()
returns text
language sql
immutable
parallel safe
return %L $sql$,
    (select secrets.any_of(array_agg(distinct k)) from public.secret_patterns p, unnest(p.keywords) as k));
  execute format($sql$
create function secrets.may_hold_credential(content text)
returns boolean
language plpgsql
immutable
parallel safe
set search_path = ''
as $body$
declare
  lowered constant text := lower(content collate "C");
begin
  -- A hint without words matches only where 20 letters, digits, - and _ stand in a row, but for one.
  return content ~ '[A-Za-z0-9_-]{20}' and (content ~ secrets.any_keyword() or %s)
    or %s
    or %s;
end
$body$ $sql$,
    (select string_agg(distinct secrets.test_of_hint(p.hint), ' or ')
     from public.secret_patterns p
     where p.severity = 'credential' and p.hint is not null and secrets.words_of_hint(p.hint) is null and p.hint <> secrets.words_of_40()),
    secrets.test_of_hint(secrets.words_of_40()),
    (select string_agg(distinct format('(%s) and content ~ %L',
        (select string_agg(format('strpos(lowered, %L) > 0', w), ' or ') from unnest(secrets.words_of_hint(p.hint)) as w), p.hint), E'\n    or ')
     from public.secret_patterns p where p.severity = 'credential' and secrets.words_of_hint(p.hint) is not null));
end
$$;

comment on function secrets.any_keyword() is 'A regular expression that matches any keyword of the built-in patterns.';
comment on function secrets.may_hold_credential(text) is
  'True if a text may match a built-in pattern for credentials. Most texts do not, and need no second look.';

do $$
begin
  -- These hints are short, so that one expression of all reads a long text once.
  execute format($sql$
create function secrets.may_hold_more(content text)
returns boolean
language sql
immutable
parallel safe
return content ~ %L $sql$,
    (select string_agg(distinct p.hint, '|') from public.secret_patterns p where p.severity in ('personal', 'strict') and p.hint is not null));
end
$$;

comment on function secrets.may_hold_more(text) is
  'True if a text may match a built-in pattern for personal data, or one that only sessions are compared with.';

create function secrets.needs_look(content text, own_test text, is_strict boolean)
returns boolean
language sql
immutable
parallel safe
-- Without a search_path the call is inlined.
return secrets.may_hold_credential(content)
  or own_test is not null and content ~ own_test
  or is_strict and secrets.may_hold_more(content);

comment on function secrets.needs_look(text, text, boolean) is
  'True if a text may hold a secret, by the quick tests: that of credentials, that of the tenant (null if it has none) and, if is_strict, those of sessions.';

create function secrets.own_test(tenant_id uuid)
returns text
language sql
stable
set search_path = ''
return (select s.own_test from public.secret_settings s where s.tenant_id = own_test.tenant_id);

comment on function secrets.own_test(uuid) is 'The quick test of a tenant''s own patterns and of personal data, if it guards that; null if it has none.';

create function secrets.severities_for(tenant_id uuid, is_strict boolean)
returns text[]
language sql
stable
set search_path = ''
return case
  when is_strict then '{credential,personal,strict}'::text[]
  when (select s.guards_personal_data from public.secret_settings s where s.tenant_id = severities_for.tenant_id) then '{credential,personal}'
  else '{credential}'
end;

comment on function secrets.severities_for(uuid, boolean) is 'Which patterns a tenant''s writes or, if is_strict, its sessions are compared with.';
