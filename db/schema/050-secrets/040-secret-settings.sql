-- What a tenant does with a secret in a write. set_secret_settings() writes the row, and the guard reads it.
create table public.secret_settings (
  tenant_id uuid primary key references public.tenants,
  on_secret text not null default 'refuse',
  guards_personal_data boolean not null default false,
  own_test text,
  updated_at timestamptz not null default now(),
  constraint on_secret_known check (on_secret in ('refuse', 'redact', 'allow'))
);
call identity.describe('public.secret_settings', 'What a tenant does with a secret in a write. Only a tenant that changed a
    default or added a pattern has a row. set_secret_settings() writes it.
  tenant_id: The tenant.
  on_secret: refuse: the write fails with L9SEC (the default). redact: each secret is replaced by [redacted: pattern]. allow: it
    is stored, and an audit row names field and pattern.
  guards_personal_data: True if e-mail addresses, telephone numbers, credit cards and account numbers are treated like
    credentials.
  own_test: A quick regular expression that matches wherever a pattern of the tenant''s own does, or one for personal data if it
    guards that; null if there is none. The functions that change patterns and settings keep it.
  updated_at: Time when the settings were last changed.');

call identity.protect_tenant_rows('public.secret_settings',
  readers => 'Every caller may read what happens to a secret that it writes.',
  writers => 'The guard reads the settings; set_secret_settings() writes them.');

grant select on public.secret_settings to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: functions check the values, and a trigger audits them.

create trigger _500_audit after insert or update on public.secret_settings
  for each row execute function administration.tg__audit_identity('', 'on_secret', 'guards_personal_data');
create trigger _500_audit after insert or update on public.secret_patterns
  for each row when (new.tenant_id is not null) execute function administration.tg__audit_identity(
    'pattern_id', 'name', 'finds', 'expression', 'keywords', 'hint', 'severity', 'is_active');
