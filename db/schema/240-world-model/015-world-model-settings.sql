-- Whether facts change the world models of a tenant. Administrators set it over GraphQL and psql, and the triggers of
-- facts ask takes_facts().
create table public.world_model_settings (
  tenant_id uuid primary key references public.tenants,
  takes_facts boolean not null default true,
  updated_at timestamptz not null default now()
);
call identity.describe('public.world_model_settings', 'Whether facts change the world models of a tenant. Only a tenant that
    changed the default has a row. set_world_model_settings() writes it.
  tenant_id: The tenant.
  takes_facts: True (the default) if facts that are extracted, or asserted with into_world, change the world model of their
    readers.
  updated_at: When the settings last changed.');
call identity.protect_tenant_rows('public.world_model_settings',
  readers => 'Every caller in the tenant may read whether its facts change the world.',
  writers => 'set_world_model_settings() writes the settings, and triggers of facts read them.');
grant select on public.world_model_settings to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: set_world_model_settings() checks the caller.

create trigger _500_audit after insert or update on public.world_model_settings
  for each row execute function administration.tg__audit_identity('', 'takes_facts');

create function public.set_world_model_settings(takes_facts boolean, tenant_id uuid default null)
returns public.world_model_settings
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(set_world_model_settings.tenant_id);
  saved public.world_model_settings;
begin
  if set_world_model_settings.takes_facts is null then
    perform identity.raise_error('L9VAL', 'takes_facts: must be true or false');
  end if;
  insert into public.world_model_settings as s (tenant_id, takes_facts)
  values (admin.target_tenant_id, set_world_model_settings.takes_facts)
  on conflict on constraint world_model_settings_pkey
    do update set takes_facts = excluded.takes_facts, updated_at = clock_timestamp()
  returning s.* into saved;
  return saved;
end $$;
comment on function public.set_world_model_settings is 'Sets whether facts change the world models of a tenant (by default the '
  'caller''s own), from the next fact on. Values that facts brought into a world before stay there; they still go with their '
  'memories and with a retraction. For admins with an unlimited token. Audited. Errors: L9VAL, L9SCP, L9AUT. Definer: only this '
  'function writes settings.';
grant execute on function public.set_world_model_settings to l9_admin, l9_platform_admin;

create function world_model.takes_facts(tenant_id uuid) returns boolean language sql stable set search_path = ''
return coalesce((select s.takes_facts from public.world_model_settings s where s.tenant_id = takes_facts.tenant_id), true);
comment on function world_model.takes_facts is 'True if facts change the world models of this tenant.';
