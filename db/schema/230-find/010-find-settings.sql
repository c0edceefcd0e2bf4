-- How memory_find weighs its hits in a tenant: a row only for a tenant that changed a default. set_find_settings()
-- writes it; rank_hits() reads it by settings_of().
create table public.find_settings (
  tenant_id uuid primary key references public.tenants,
  match_weight real not null,
  recency_weight real not null,
  proximity_weight real not null,
  citation_weight real not null,
  half_life_days jsonb not null,
  updated_at timestamptz not null default now(),
  constraint find_weights_from_0_to_1 check (
    match_weight between 0 and 1 and recency_weight between 0 and 1
    and proximity_weight between 0 and 1 and citation_weight between 0 and 1),
  constraint find_weights_not_all_0 check (match_weight + recency_weight + proximity_weight + citation_weight > 0),
  constraint find_half_lives_object check (jsonb_typeof(half_life_days) = 'object' and half_life_days ? 'default')
);
call identity.describe('public.find_settings', 'Weights of memory_find in a tenant. Only a tenant that changed a default has a
    row. set_find_settings() writes it.
  tenant_id: The tenant.
  match_weight: Weight of how well a memory matches the query, from 0 to 1.
  recency_weight: Weight of how new a memory is, from 0 to 1.
  proximity_weight: Weight of how near a memory''s project and branch are to those that were asked for, from 0 to 1.
  citation_weight: Weight of how many memories and facts rest on a memory, from 0 to 1.
  half_life_days: Maps kinds to the days after which recency is one half; default is used for all other kinds.
  updated_at: Time when the settings were last changed.');
call identity.protect_tenant_rows('public.find_settings',
  readers => 'Every caller in the tenant may read how its hits are ranked.',
  writers => 'set_find_settings() writes the settings.');
grant select on public.find_settings to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: set_find_settings() checks the values.

create trigger _500_audit after insert or update on public.find_settings
  for each row execute function administration.tg__audit_identity(
    '', 'match_weight', 'recency_weight', 'proximity_weight', 'citation_weight', 'half_life_days');

create function find.default_settings() returns public.find_settings
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return jsonb_populate_record(null::public.find_settings, '{
    "match_weight": 0.4, "recency_weight": 0.3, "proximity_weight": 0.2, "citation_weight": 0.1, "half_life_days": {
      "default": 90, "decision": 365, "runbook": 365, "document": 365, "section": 365, "ddl": 365, "release_note": 180,
      "todo": 30, "pr_context": 14, "event": 14}}');
end $$;
comment on function find.default_settings is 'The defaults of all tenants. They stand only here.';

create function find.settings_of(tenant_id uuid) returns public.find_settings
language plpgsql stable set search_path = '' as $$
declare
  settings public.find_settings;
begin
  select s.* into settings from public.find_settings s where s.tenant_id = settings_of.tenant_id;
  if not found then
    settings := find.default_settings();
  end if;
  return settings;
end $$;
comment on function find.settings_of is 'The settings of a tenant, if the caller may read them, or else the defaults, without '
  'tenant_id.';
grant execute on function find.default_settings, find.settings_of to l9_agent, l9_admin, l9_platform_admin;
