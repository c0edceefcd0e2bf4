-- Administrators change the weights of memory_find in their tenant here, over GraphQL and psql.
create function find.check_settings(settings public.find_settings) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  perform search.check_weights(to_jsonb(settings), '{match_weight,recency_weight,proximity_weight,citation_weight}');
  if settings.match_weight + settings.recency_weight + settings.proximity_weight + settings.citation_weight = 0 then
    perform identity.raise_error('L9VAL', 'match_weight: one of the four weights must be above 0');
  end if;
end $$;
comment on function find.check_settings is 'Raises L9VAL, naming the field, if a setting is out of range.';

-- Inserts the defaults first and locks the row, so that two administrators who change different weights at once both succeed.
create function public.set_find_settings(match_weight real default null, recency_weight real default null,
  proximity_weight real default null, citation_weight real default null, half_life_days jsonb default null,
  tenant_id uuid default null) returns public.find_settings
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(set_find_settings.tenant_id);
  settings public.find_settings := find.default_settings();
begin
  settings.tenant_id := admin.target_tenant_id;
  settings.updated_at := now();
  insert into public.find_settings as s select settings.* on conflict do nothing;
  select s.* into settings from public.find_settings s where s.tenant_id = admin.target_tenant_id for update;
  settings := jsonb_populate_record(settings, jsonb_strip_nulls(jsonb_build_object(
    'match_weight', set_find_settings.match_weight, 'recency_weight', set_find_settings.recency_weight,
    'proximity_weight', set_find_settings.proximity_weight, 'citation_weight', set_find_settings.citation_weight)));
  perform find.check_settings(settings);
  settings.half_life_days := search.changed_half_lives(settings.half_life_days, set_find_settings.half_life_days);
  settings.updated_at := clock_timestamp();
  update public.find_settings s set (
    tenant_id, match_weight, recency_weight, proximity_weight, citation_weight, half_life_days, updated_at) = (select settings.*)
  where s.tenant_id = admin.target_tenant_id returning s.* into settings;
  return settings;
end $$;
comment on function public.set_find_settings is 'Changes the given weights and half-lives of memory_find in a tenant, from the '
  'next call on. The weights count relative to their sum. Arguments left out, and half-lives of kinds not named, stay as they '
  'are. For admins whose token covers all scopes and projects. Audited. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: this '
  'function is the only way to change settings.';
grant execute on function public.set_find_settings to l9_admin, l9_platform_admin;
