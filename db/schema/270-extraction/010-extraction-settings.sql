-- Which memories a chat model may read, and the budget for it. set_extraction_settings() writes it; triggers of
-- packet_store and the jobs ask it before anything is sent.
create function extraction.are_kinds(kinds text[]) returns boolean language sql immutable parallel safe set search_path = ''
return not exists (select from pg_catalog.unnest(kinds) as k (kind) where k.kind is null or k.kind !~ packets.kind_pattern());
comment on function extraction.are_kinds is 'True if each text can be a kind: a lower-case word of at most 63 characters.';

create function extraction.is_budget(tokens_per_day bigint) returns boolean
language sql immutable parallel safe set search_path = ''
-- A single call may cost 50,000 tokens; with a smaller budget some memories would never be read.
return tokens_per_day between 50000 and 1000000000000;
comment on function extraction.is_budget is 'True if a tenant may have this budget of tokens a day: from 50000 to 10^12.';

create table public.extraction_settings (
  tenant_id uuid primary key references public.tenants,
  is_enabled boolean not null default false,
  kinds text[] not null default '{}',
  scopes text[] not null default '{developer,global}',
  writes_summaries boolean not null default false,
  tokens_per_day bigint not null default 200000,
  updated_at timestamptz not null default now(),
  constraint extraction_kinds_plain check (cardinality(kinds) <= 64 and extraction.are_kinds(kinds)),
  constraint extraction_scopes_at_most_64 check (cardinality(scopes) <= 64 and array_position(scopes, null) is null),
  constraint extraction_budget_of_a_call check (extraction.is_budget(tokens_per_day))
);
call identity.describe('public.extraction_settings', 'Which memories of a tenant a chat model may read, and for how many tokens a
    day. Without a row it may read nothing. set_extraction_settings() writes this table.
  tenant_id: The tenant.
  is_enabled: Whether a chat model extracts entities, facts and relationships from new memories.
  kinds: The kinds of memories that are read for extraction. With session, memories are drafted from archived sessions, too.
  scopes: The scopes whose memories a model may read. A memory of any other scope is never sent to a model, so private scopes must
    be named here.
  writes_summaries: Whether a chat model writes due summaries of memories in these scopes, whatever their kinds.
  tokens_per_day: The token budget of extraction and summaries together, for each day in UTC.
  updated_at: When the settings last changed.');
alter table public.extraction_settings enable row level security, force row level security;
create policy tenant_isolation on public.extraction_settings as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.extraction_settings for select to l9_admin using ((select identity.has_every_scope()));
create policy platform_override on public.extraction_settings for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('extraction_settings')));
create policy worker_access on public.extraction_settings for select to l9_worker using (true);
create policy definer_functions on public.extraction_settings to l9_owner using (true);
comment on policy tenant_isolation on public.extraction_settings is 'Callers read only settings of their own tenant.';
comment on policy scope_access on public.extraction_settings is 'Only admins of every scope read settings, because they name '
  'scopes that others must not learn of.';
comment on policy platform_override on public.extraction_settings is 'Operators read settings of all tenants; each such read is '
  'audited.';
comment on policy worker_access on public.extraction_settings is 'Jobs read the settings before each call of a model.';
comment on policy definer_functions on public.extraction_settings is 'set_extraction_settings() writes settings, and triggers of '
  'packet_store read them.';
grant select on public.extraction_settings to l9_admin, l9_platform_admin, l9_worker;
-- No role may insert, update or delete: set_extraction_settings() checks the values and writes an audit row.

create trigger _500_audit after insert or update on public.extraction_settings
  for each row execute function administration.tg__audit_identity(
    '', 'is_enabled', 'kinds', 'scopes', 'writes_summaries', 'tokens_per_day');
