-- Quick tests that tell which texts may hold a secret. The guard calls needs_look() on every write, before any pattern is tried.
create function secrets.any_of(keywords text[]) returns text language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if '' = any (keywords) then
    return '';
  end if;
  return (
    select case when count(*) = 1 then min(branch.expression)
      else '(?:' || string_agg(branch.expression, '|' order by branch.first) || ')' end
    from (
      select left(k, 1) as first, secrets.literal(left(k, 1)) || secrets.any_of(array_agg(distinct substr(k, 2))) as expression
      from unnest(keywords) as k group by left(k, 1)
    ) branch);
end $$;
comment on function secrets.any_of is 'An expression for any of these texts as a tree of characters, which is faster.';

create function secrets.has_word(variadic words text[]) returns text language sql immutable parallel safe set search_path = ''
return '(' || (select pg_catalog.string_agg(pg_catalog.format('strpos(lowered, %L) > 0', w), ' or ')
  from pg_catalog.unnest(words) as w) || ')';
comment on function secrets.has_word is 'SQL that tests for these texts in lowered, faster than an expression does.';

create function secrets.test_of_hint(hint text) returns text language sql immutable parallel safe set search_path = ''
-- Looking around is several times as slow as what is tried first here.
return case hint
  when secrets.long_words() then 'content ~ ''[A-Za-z0-9]{32}'' and '
  when secrets.words_of_40() then 'content ~ ''[A-Za-z0-9+/]{40}'' and '
  when secrets.bare_hexadecimal_tokens() then 'content ~ ''[a-f0-9]{32}'' and '
  else '' end || pg_catalog.format('content ~ %L', hint);
comment on function secrets.test_of_hint is 'An expression of SQL: whether content matches a hint.';

create function secrets.cut_token() returns text language sql immutable parallel safe
return '(?:[A-Za-z_-][0-9]|[0-9][A-Za-z_-])[A-Za-z0-9_-]*[ \t]*[\\=]?(?:\r?\n|\\n)[ \t>]*[A-Za-z0-9_-]{6}';
comment on function secrets.cut_token is 'An expression for where a line break, escaped or not, may cut a token.';

-- The quick tests are functions, so that a save need not read the patterns. They are made of the rows here, once. Each hint is an
-- expression of its own: for a text of a few kilobytes, many small expressions are ten times as fast as one large alternation.
-- Most texts hold no word of 20 characters and few of the words of hints, so that one expression is tried on them.
do $$
declare
  named constant text := secrets.test_of_hint(secrets.named_values());
  password constant text := secrets.test_of_hint(secrets.labelled_passwords());
  token constant text := secrets.test_of_hint(secrets.labelled_tokens());
  columns constant text := secrets.test_of_hint(secrets.password_columns());
begin
  execute format($sql$
create function secrets.any_keyword() returns text language sql immutable parallel safe
return %L $sql$,
    (select secrets.any_of(array_agg(distinct k)) from public.secret_patterns p, unnest(p.keywords) as k));
  execute format($sql$
create function secrets.may_hold_credential(content text) returns boolean
language plpgsql immutable parallel safe set search_path = '' as $body$
declare
  lowered constant text := lower(content collate "C");
  long_words text;
begin
  -- Whatever has no word for a hint has 20 such characters in a row, or single ones with a space between any two, or is cut by a
  -- line break.
  if content ~ %7$L then
    -- The words around them are few, and compared with the keywords ten times as fast as the whole text.
    long_words := (select string_agg(m.groups[1], ' ')
      from regexp_matches(content, '([^\s"''<>]*[A-Za-z0-9_-]{20}[^\s"''<>]*)', 'g') as m (groups));
    if content ~ '(?:[A-Za-z0-9_-] ){15}' or content ~ %3$L and content ~ secrets.any_keyword() or %2$s then
      return true;
    elsif long_words is not null then
      declare
        content constant text := long_words;
      begin
        if content ~ secrets.any_keyword() or %1$s then
          return true;
        end if;
      end;
    end if;
  end if;
  return %4$s
    or octet_length(content) > length(content) and (content ~ %5$L or %6$s);
end
$body$ $sql$,
    (select string_agg(distinct secrets.test_of_hint(p.hint), ' or ')
     from public.secret_patterns p
     where p.severity = 'credential' and p.hint in (
       secrets.long_words(), secrets.bare_tokens(), secrets.bare_hexadecimal_tokens())),
    secrets.test_of_hint(secrets.words_of_40()), secrets.cut_token(),
    concat_ws(E'\n    or ',
      secrets.has_word('pass', 'pw') || format(' and (%s or %s or %s)', named, password, columns),
      secrets.has_word('secret', 'token', 'credential', 'key')
        || format(' and (%s or long_words is not null and %s)', named, token),
      secrets.has_word(
        'wort', 'woord', 'senha', 'senord', 'contrase', 'parol', 'paroo', 'hesl', 'hasl', 'jelsz', 'sifre', 'kata sandi',
        'adgangskode', 'salasana', 'lozink', 'geslo', 'slapta') || format(' and (%s or %s)', password, columns),
      secrets.has_word('://') || ' and ' || secrets.test_of_hint(secrets.credentials_in_urls()),
      secrets.has_word('bearer', 'basic') || ' and ' || secrets.test_of_hint(secrets.authorization_headers()),
      secrets.has_word('private', 'sig=', '"auth', '%', '&#') || ' and ' || secrets.test_of_hint(secrets.rare_words()),
      '(' || secrets.has_word(' -') || ' and content ~ '' --?[A-Za-z]'' or ' || secrets.has_word(
        'sqlplus', 'wpa_passphrase', 'rabbitmqctl', 'machine', ':5432:', ':5433:', ':6432:', ':*:') || ') and '
        || secrets.test_of_hint(secrets.command_lines())),
    secrets.disguises(), password || ' or ' || columns, '[A-Za-z0-9_+/-]{20}|(?:[A-Za-z0-9_-] ){15}|' || secrets.cut_token());
end $$;
comment on function secrets.any_keyword is 'A regular expression that matches any keyword of the built-in patterns.';
comment on function secrets.may_hold_credential is 'True if a text may match a built-in pattern for credentials, which few do.';

do $$
begin
  execute format($sql$
create function secrets.may_hold_more(content text) returns boolean language sql immutable parallel safe
return %s $sql$,
    -- These hints are short, so that one expression of all reads a long text once. Flags stand at the beginning of one.
    (select string_agg(h.test, ' or ')
     from (
       select format('content ~ %L', string_agg(distinct p.hint, '|')) as test
       from public.secret_patterns p where p.severity in ('personal', 'strict', 'session') and p.hint is not null
       group by case when p.hint like '(?%' then p.hint end
     ) h));
end $$;
comment on function secrets.may_hold_more is 'True if a text may match one for personal data, long tokens or sessions.';

create function secrets.needs_look(content text, own_test text, is_strict boolean) returns boolean
language sql immutable parallel safe
-- Without a search_path the call is inlined.
return secrets.may_hold_credential(content)
  or own_test is not null and content ~ own_test
  or is_strict and secrets.may_hold_more(content);
comment on function secrets.needs_look is 'True if a text may hold a secret, by the quick tests: that of credentials, that of '
  'the tenant (null if it has none) and, if is_strict, those of sessions.';

create function secrets.own_test(tenant_id uuid) returns text language sql stable set search_path = ''
return (select s.own_test from public.secret_settings s where s.tenant_id = own_test.tenant_id);
comment on function secrets.own_test is 'The quick test of a tenant''s own patterns and personal data; null for none.';

create function secrets.severities_for(tenant_id uuid, is_strict boolean) returns text[] language sql stable set search_path = ''
return case
  when is_strict then '{credential,personal,strict,session}'::text[]
  when (select s.guards_personal_data from public.secret_settings s where s.tenant_id = severities_for.tenant_id)
    then '{credential,personal}'
  else '{credential}'
end;
comment on function secrets.severities_for is 'The patterns for a tenant''s writes or, if is_strict, its sessions.';
