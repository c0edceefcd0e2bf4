create table public.extraction_settings (
  tenant_id uuid primary key references public.tenants,
  is_enabled boolean not null default false,
  kinds text[] not null default '{}',
  scopes text[] not null default '{developer,global}',
  writes_summaries boolean not null default false,
  tokens_per_day bigint not null default 200000,
  updated_at timestamptz not null default now(),
  constraint extraction_kinds_plain check (
    cardinality(kinds) <= 64 and array_position(kinds, null) is null
    and array_to_string(kinds, ',') ~ '^([a-z][a-z0-9_]{0,62}(,[a-z][a-z0-9_]{0,62})*)?$'),
  constraint extraction_scopes_at_most_64 check (cardinality(scopes) <= 64 and array_position(scopes, null) is null),
  -- One call may cost 50,000: with less, some memories would never be read.
  constraint extraction_budget_of_a_call check (tokens_per_day between 50000 and 1000000000000)
);

comment on table public.extraction_settings is
  'What a tenant lets a chat model read, and for how many tokens a day: nothing, where there is no row. set_extraction_settings() writes them.';
comment on column public.extraction_settings.tenant_id is 'The tenant.';
comment on column public.extraction_settings.is_enabled is 'Whether entities, facts and relations are extracted from new memories.';
comment on column public.extraction_settings.kinds is 'From memories of these kinds.';
comment on column public.extraction_settings.scopes is 'A memory of another scope is never shown to a model. Private ones have to be named here.';
comment on column public.extraction_settings.writes_summaries is 'Whether due summaries of memories in these scopes are written by a chat model; kinds do not matter.';
comment on column public.extraction_settings.tokens_per_day is 'What both may cost together, by days of UTC.';
comment on column public.extraction_settings.updated_at is 'When they were last changed.';

alter table public.extraction_settings enable row level security;
alter table public.extraction_settings force row level security;

create policy tenant_isolation on public.extraction_settings as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.extraction_settings for select to l9_admin
  using ((select identity.has_every_scope()));
create policy platform_override on public.extraction_settings for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('extraction_settings')));
create policy worker_access on public.extraction_settings for select to l9_worker using (true);
create policy definer_functions on public.extraction_settings to l9_owner using (true);

comment on policy tenant_isolation on public.extraction_settings is 'Nothing crosses tenants.';
comment on policy scope_access on public.extraction_settings is
  'Administrators of every scope: they name scopes that others are not to know of.';
comment on policy platform_override on public.extraction_settings is 'Operators read across tenants, each look on the record.';
comment on policy worker_access on public.extraction_settings is 'Jobs ask them before each call.';
comment on policy definer_functions on public.extraction_settings is
  'set_extraction_settings() writes them, and a save asks whether its memory is to be listed.';

grant select on public.extraction_settings to l9_admin, l9_platform_admin, l9_worker;
-- No insert, update or delete for anyone: set_extraction_settings() checks them, and leaves its audit row.

create trigger _500_audit after insert or update on public.extraction_settings
  for each row execute function administration.tg__audit_identity(
    '', 'is_enabled', 'kinds', 'scopes', 'writes_summaries', 'tokens_per_day');
