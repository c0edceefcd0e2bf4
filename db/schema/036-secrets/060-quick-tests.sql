create function secrets.literal(keyword text)
returns text
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.regexp_replace(keyword, '[^A-Za-z0-9_-]', '\\\&', 'g');

comment on function secrets.literal(text) is 'A regular expression that matches exactly this text.';

create function secrets.test_of(keywords text[], hint text, expression text)
returns text
language sql
immutable
parallel safe
set search_path = ''
return coalesce(
  (select pg_catalog.string_agg(secrets.literal(k), '|') from pg_catalog.unnest(keywords) as k),
  hint, expression);

comment on function secrets.test_of(text[], text, text) is
  'A regular expression that matches wherever a pattern does, for an alternation of the tests of all patterns.';

-- The tests are constants, so that a save need not read the patterns. They are made of the rows here, once.
do $$
declare
  test record;
begin
  for test in
    select 'guard_test' as name, '{credential}'::text[] as severities,
      'A regular expression that matches wherever a built-in pattern for credentials does, so that most texts need no second look.' as description
    union all
    select 'personal_test', '{credential,personal}', 'Like guard_test(), for credentials and personal data.'
    union all
    select 'strict_test', '{credential,personal,strict}', 'Like guard_test(), for every built-in pattern.'
  loop
    execute format($sql$create function secrets.%I() returns text language sql immutable parallel safe return %L$sql$, test.name, (
      -- In a URL the characters around a secret are encoded.
      select '%(?:3[AaDd]|2[0-9BbFf])|' || string_agg(secrets.test_of(p.keywords, p.hint, p.expression), '|' order by p.pattern_id)
      from public.secret_patterns p where p.severity = any (test.severities)));
    execute format('comment on function secrets.%I() is %L', test.name, test.description);
  end loop;
end
$$;

create function secrets.needs_look(content text, test text)
returns boolean
language sql
immutable
parallel safe
-- Without a search_path the call is inlined. Commit ids and hashes are tokens, too, but the most frequent ones by far, and their
-- first digits are enough to see what stands beside them.
return content ~ test
  and (content !~ '[0-9a-f]{32}' or pg_catalog.regexp_replace(content, '([0-9a-f]{12})[0-9a-f]{20,}', '\1', 'g') ~ test);

comment on function secrets.needs_look(text, text) is
  'True if a text may hold a secret, by one of the quick tests. Hashes and commit ids are shortened first.';

create function secrets.test_for(tenant_id uuid, is_strict boolean)
returns text
language sql
stable
set search_path = ''
return coalesce(
  (select case when is_strict then s.own_strict_test else s.own_test end
    from public.secret_settings s where s.tenant_id = test_for.tenant_id),
  case when is_strict then secrets.strict_test() else secrets.guard_test() end);

comment on function secrets.test_for(uuid, boolean) is 'The quick test of a tenant: that of the guard or, if is_strict, that of sessions.';

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
