-- Sets what a tenant takes for a secret and what it does with one. Admins call the public functions in psql or GraphQL.
create function public.set_secret_settings(
  on_secret text default null, guards_personal_data boolean default null, tenant_id uuid default null)
returns public.secret_settings
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(set_secret_settings.tenant_id);
  saved public.secret_settings;
begin
  if set_secret_settings.on_secret not in ('refuse', 'redact', 'allow') then
    perform identity.raise_error('L9VAL', 'on_secret: must be refuse, redact or allow');
  end if;
  insert into public.secret_settings as s (tenant_id, on_secret, guards_personal_data)
  values (
    admin.target_tenant_id, coalesce(set_secret_settings.on_secret, 'refuse'),
    coalesce(set_secret_settings.guards_personal_data, false))
  on conflict on constraint secret_settings_pkey do update
  set on_secret = coalesce(set_secret_settings.on_secret, s.on_secret),
    guards_personal_data = coalesce(set_secret_settings.guards_personal_data, s.guards_personal_data),
    updated_at = clock_timestamp();
  perform secrets.refresh_own_test(admin.target_tenant_id);
  select s.* into saved from public.secret_settings s where s.tenant_id = admin.target_tenant_id;
  return saved;
end $$;
comment on function public.set_secret_settings is 'Sets what a tenant (by default the caller''s own) does with a secret in a '
  'write: refuse, redact or allow; and whether personal data counts as one. Arguments left out stay as they are. For admins '
  'whose token covers all scopes and projects. Audited. Errors: L9VAL, L9SCP, L9AUT. Definer: this function is the only way to '
  'change settings.';

create function secrets.refresh_own_test(tenant_id uuid) returns void language plpgsql volatile set search_path = '' as $$
begin
  update public.secret_settings s
  set own_test = (
    select string_agg('(?:' || coalesce((select string_agg(secrets.literal(k), '|') from unnest(p.keywords) as k), p.hint,
      p.expression) || ')', '|' order by p.pattern_id)
    from public.secret_patterns p
    where p.is_active
      and (p.tenant_id = s.tenant_id or p.tenant_id is null and p.severity = 'personal' and s.guards_personal_data)
      and (p.severity = 'credential' or p.severity = 'personal'))
  where s.tenant_id = refresh_own_test.tenant_id;
end $$;
comment on function secrets.refresh_own_test is 'Computes the quick test of a tenant from its patterns and settings.';

create function secrets.check_expression(field text, expression text) returns void
language plpgsql immutable set search_path = '' as $$
declare
  is_empty_match boolean;
begin
  if octet_length(expression) > secrets.max_expression_bytes() then
    perform identity.raise_error('L9LIM', format('%s: at most %s bytes', field, secrets.max_expression_bytes()));
  elsif expression ~ '\\[1-9]|\(\?|^\*\*\*' and expression ~ '\\[1-9]|\(\?(?![:=!<])|^\*\*\*' then
    perform identity.raise_error('L9VAL', format('%s: back-references and embedded options are not possible', field));
  elsif regexp_count(expression, '(?<!\\)\((?!\?)') > 1 then
    perform identity.raise_error('L9VAL', format('%s: at most one capturing group; use (?:…) for the others', field));
  end if;
  begin
    is_empty_match := '' ~ expression;
  exception when invalid_regular_expression then
    perform identity.raise_error('L9VAL', format('%s: is no regular expression of PostgreSQL', field));
  end;
  if is_empty_match is not false then
    perform identity.raise_error('L9VAL', format('%s: must not match an empty text', field));
  end if;
end $$;
comment on function secrets.check_expression is 'Raises L9VAL or L9LIM for an expression that a pattern may not have.';

create function secrets.refuse_literal_secret(field text, expression text, tenant_id uuid) returns void
language plpgsql stable set search_path = '' as $$
declare
  found_secret record;
begin
  -- Without the backslashes before signs it shows the text that it stands for.
  select f.pattern, f."position" into found_secret
  from secrets.find_in_text(regexp_replace(expression, '\\(?=[^A-Za-z0-9])', '', 'g'), tenant_id, '{credential}') as f limit 1;
  if found then
    perform secrets.raise_secret(field, found_secret.pattern, found_secret."position");
  end if;
end $$;
comment on function secrets.refuse_literal_secret is 'Raises L9SEC for a credential in an expression, which callers may read.';

-- Checks every argument, inserts or changes the pattern, and computes the quick test of the tenant again.
create function public.register_secret_pattern(
  name text, finds text, expression text, keywords text[] default null, severity text default 'credential',
  tenant_id uuid default null) returns public.secret_patterns
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(register_secret_pattern.tenant_id);
  saved public.secret_patterns;
  keys text[] := nullif(register_secret_pattern.keywords, '{}');
begin
  if secrets.is_pattern_name(register_secret_pattern.name) is not true then
    perform identity.raise_error('L9VAL', 'name: 1 to 63 lower-case letters, digits and -');
  elsif exists (select from public.secret_patterns p where p.tenant_id is null and p.name = register_secret_pattern.name) then
    perform identity.raise_error('L9VAL', 'name: is that of a built-in pattern');
  elsif register_secret_pattern.severity not in ('credential', 'personal') is not false then
    perform identity.raise_error('L9VAL', 'severity: must be credential or personal');
  elsif coalesce(octet_length(register_secret_pattern.finds), 0) not between 1 and 500 then
    perform identity.raise_error('L9VAL', 'finds: 1 to 500 bytes');
  elsif register_secret_pattern.expression is null then
    perform identity.raise_error('L9VAL', 'expression: is required');
  elsif cardinality(keys) > 32 or exists (select from unnest(keys) as k where coalesce(length(k), 0) not between 3 and 63) then
    perform identity.raise_error('L9VAL', 'keywords: at most 32 texts of 3 to 63 characters');
  elsif (select count(*) from public.secret_patterns p where p.tenant_id = admin.target_tenant_id
      and p.name <> register_secret_pattern.name) >= 32 then
    perform identity.raise_error('L9LIM', 'name: a tenant may have at most 32 patterns of its own');
  end if;
  perform secrets.check_expression('expression', register_secret_pattern.expression);
  perform secrets.refuse_literal_secret('expression', register_secret_pattern.expression, admin.target_tenant_id);
  insert into public.secret_patterns as p (tenant_id, name, finds, expression, keywords, severity, source)
  values (admin.target_tenant_id, register_secret_pattern.name, register_secret_pattern.finds,
    register_secret_pattern.expression, keys, register_secret_pattern.severity, 'an administrator of the tenant')
  on conflict on constraint secret_pattern_name_unique do update
  set finds = excluded.finds, expression = excluded.expression, keywords = excluded.keywords, severity = excluded.severity,
    is_active = true
  returning p.* into saved;
  insert into public.secret_settings (tenant_id) values (admin.target_tenant_id) on conflict do nothing;
  perform secrets.refresh_own_test(admin.target_tenant_id);
  return saved;
end $$;
comment on function public.register_secret_pattern is 'Adds a pattern to a tenant (default: the caller''s own), or changes it. '
  'expression: a regular expression; its only capturing group, if any, is the secret. keywords: one of them stands in every '
  'match; they speed up saves. severity: credential or personal. For admins with an unlimited token. Audited. Errors: L9VAL, '
  'L9LIM, L9SEC, L9SCP, L9AUT. Definer: this function is the only way to write patterns.';

create function public.deactivate_secret_pattern(name text, tenant_id uuid default null) returns public.secret_patterns
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(deactivate_secret_pattern.tenant_id);
  saved public.secret_patterns;
begin
  update public.secret_patterns p set is_active = false
  where p.tenant_id = admin.target_tenant_id and p.name = deactivate_secret_pattern.name returning p.* into saved;
  if not found then
    perform administration.raise_not_found('name');
  end if;
  perform secrets.refresh_own_test(admin.target_tenant_id);
  return saved;
end $$;
comment on function public.deactivate_secret_pattern is 'Switches off a pattern that the tenant added. A built-in pattern stays: '
  'register_secret_exception() says what is no secret. For admins whose token covers all scopes and projects. Audited. Errors: '
  'L9OWN, L9SCP, L9AUT. Definer: this function is the only way to write patterns.';

-- Neither the expression nor the reason may hold a credential, because every caller of the tenant can read them.
create function public.register_secret_exception(
  expression text, reason text, pattern text default null, tenant_id uuid default null) returns public.secret_exceptions
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(register_secret_exception.tenant_id);
  saved public.secret_exceptions;
begin
  if register_secret_exception.expression is null then
    perform identity.raise_error('L9VAL', 'expression: is required');
  elsif coalesce(octet_length(register_secret_exception.reason), 0) not between 1 and 500 then
    perform identity.raise_error('L9VAL', 'reason: 1 to 500 bytes');
  elsif register_secret_exception.pattern is not null and not exists (
      select from public.secret_patterns p
      where (p.tenant_id is null or p.tenant_id = admin.target_tenant_id) and p.name = register_secret_exception.pattern) then
    perform identity.raise_error('L9VAL', 'pattern: no such pattern');
  elsif (select count(*) from public.secret_exceptions e where e.tenant_id = admin.target_tenant_id and e.is_active) >= 100 then
    perform identity.raise_error('L9LIM', 'expression: a tenant may have at most 100 exceptions');
  end if;
  perform secrets.check_expression('expression', register_secret_exception.expression);
  perform secrets.refuse_literal_secret('expression', register_secret_exception.expression, admin.target_tenant_id);
  perform secrets.refuse_literal_secret('reason', register_secret_exception.reason, admin.target_tenant_id);
  insert into public.secret_exceptions as e (tenant_id, expression, pattern, reason)
  values (admin.target_tenant_id, register_secret_exception.expression, register_secret_exception.pattern,
    register_secret_exception.reason)
  returning e.* into saved;
  return saved;
end $$;
comment on function public.register_secret_exception is 'Says that texts which an expression matches from beginning to end are '
  'harmless in a tenant (by default the caller''s own), for one pattern or, if none is named, for all. Callers may read the '
  'expression, so it must not hold a credential. For admins with an unlimited token. Audited. Errors: L9VAL, L9LIM, L9SEC, '
  'L9SCP, L9AUT. Definer: this function is the only way to write exceptions.';

create function public.deactivate_secret_exception(exception_id uuid, tenant_id uuid default null)
returns public.secret_exceptions
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(deactivate_secret_exception.tenant_id);
  saved public.secret_exceptions;
begin
  update public.secret_exceptions e set is_active = false
  where e.tenant_id = admin.target_tenant_id and e.exception_id = deactivate_secret_exception.exception_id
  returning e.* into saved;
  if not found then
    perform administration.raise_not_found('exception_id');
  end if;
  return saved;
end $$;
comment on function public.deactivate_secret_exception is 'Switches off an exception. For admins whose token covers all scopes '
  'and projects. Audited. Errors: L9OWN, L9SCP, L9AUT. Definer: this function is the only way to write exceptions.';
grant execute on function public.set_secret_settings, public.register_secret_pattern, public.deactivate_secret_pattern,
  public.register_secret_exception, public.deactivate_secret_exception to l9_admin, l9_platform_admin;
