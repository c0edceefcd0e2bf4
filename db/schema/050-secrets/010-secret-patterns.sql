-- The patterns by which secrets are found: built-in ones, and those that register_secret_pattern() adds for a tenant.
-- find_in_text() and redact_text() compare texts with them.
create function secrets.max_expression_bytes() returns integer language sql immutable parallel safe return 2000;
comment on function secrets.max_expression_bytes is 'The longest regular expression of a tenant''s pattern, in bytes.';

create function secrets.is_pattern_name(name text) returns boolean language sql immutable parallel safe
return name ~ '^[a-z][a-z0-9-]{0,62}$';
comment on function secrets.is_pattern_name is 'True if a pattern may have this name.';

create table public.secret_patterns (
  pattern_id uuid primary key default uuidv7(),
  tenant_id uuid references public.tenants,
  name text not null,
  finds text not null,
  expression text not null,
  keywords text[],
  hint text,
  verification text not null default 'placeholder',
  severity text not null default 'credential',
  source text not null,
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  constraint secret_pattern_name_unique unique nulls not distinct (tenant_id, name),
  constraint secret_pattern_name_plain check (secrets.is_pattern_name(name)),
  constraint secret_pattern_expression_short check (
    tenant_id is null or octet_length(expression) <= secrets.max_expression_bytes()),
  constraint secret_pattern_keywords_long check (array_position(keywords, null) is null and not ('' = any (keywords))),
  constraint secret_pattern_verification_known check (verification in (
    'placeholder', 'crc32', 'random token', 'value', 'quoted value', 'command value', 'labelled value', 'labelled token',
    'random', 'base64', 'long token',
    'encoded key', 'basic', 'luhn', 'iban', 'any', 'any value')),
  constraint secret_pattern_severity_known check (severity in ('credential', 'personal', 'strict', 'session'))
);
call identity.describe('public.secret_patterns', 'Patterns of secrets: the built-in ones (tenant_id is null) and those that the
    administrators of a tenant added with register_secret_pattern().
  pattern_id: Id of the pattern.
  tenant_id: The tenant that added the pattern; null for a built-in one, which holds for all.
  name: The name that an error and a redacted text give: lower-case letters, digits and -.
  finds: What the pattern finds.
  expression: A regular expression of PostgreSQL. If it has a capturing group, that is the secret; else the whole match is.
  keywords: Texts, in the same case, one of which stands in every match, within or beside 20 or more letters, digits, - and _ in a
    row: other texts need no second look. Null if there is no such text.
  hint: A quick regular expression that matches wherever the pattern does, for a pattern without keywords. Null: the pattern is
    tried on every text that needs a second look.
  verification: What a match must pass beside: that it is no placeholder, that it looks like the value of a password, is random,
    or has a valid check digit.
  severity: credential: guarded in every tenant. personal: guarded only where the tenant sets it. strict: looked for only in
    sessions and by find_secrets(). session: looked for only in sessions, which fail closed.
  source: Where the format is described, or who added the pattern.
  is_active: False if the pattern is switched off.
  created_at: When the pattern was added.');

call identity.protect_tenant_rows('public.secret_patterns', has_built_in => true,
  readers => 'Every caller may read what is refused, so that it can tell why.',
  writers => 'The guard reads the patterns; register_secret_pattern() writes them.');

grant select on public.secret_patterns to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: register_secret_pattern() checks the values, and a trigger audits them.
