create function search.check_search_settings(settings public.search_settings, half_life_days jsonb)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  name text;
  value real;
  half_life record;
begin
  for name, value in
    select w.key, w.value::real
    from jsonb_each_text(to_jsonb(settings)) as w
    where w.key in ('lexical_weight', 'semantic_weight', 'context_weight')
  loop
    if value not between 0 and 1 then
      perform identity.raise_error('L9VAL', format('%s: must be from 0 to 1', name), name);
    end if;
  end loop;
  if settings.lexical_weight + settings.semantic_weight = 0 then
    perform identity.raise_error('L9VAL', 'semantic_weight: lexical_weight or semantic_weight must be above 0', 'semantic_weight');
  elsif not (settings.recency_boost >= 0 and settings.importance_boost >= 0
    and settings.recency_boost + settings.importance_boost <= 0.2001) then
    perform identity.raise_error(
      'L9VAL', 'importance_boost: recency_boost and importance_boost must be at least 0, and together at most 0.2', 'importance_boost');
  end if;
  if jsonb_typeof(half_life_days) <> 'object' then
    perform identity.raise_error('L9VAL', 'half_life_days: must be an object that maps kinds to days', 'half_life_days');
  end if;
  for half_life in select d.key, d.value from jsonb_each(half_life_days) as d where d.value <> 'null' loop
    if jsonb_typeof(half_life.value) <> 'number' or half_life.value::numeric not between 0.01 and 36500 then
      perform identity.raise_error('L9VAL', 'half_life_days: each value must be a number of days from 0.01 to 36500', 'half_life_days');
    end if;
  end loop;
end
$$;

comment on function search.check_search_settings(public.search_settings, jsonb) is
  'Raises L9VAL, naming the field, if a setting is out of range.';

create function public.set_search_settings(
  lexical_weight real default null,
  semantic_weight real default null,
  context_weight real default null,
  uses_chunks boolean default null,
  recency_boost real default null,
  importance_boost real default null,
  half_life_days jsonb default null,
  tenant_id uuid default null
)
returns public.search_settings
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  admin administration.administrator := administration.require_administrator(set_search_settings.tenant_id);
  settings public.search_settings := search.default_settings();
  saved public.search_settings;
begin
  perform administration.require_whole_token(admin);
  settings.tenant_id := admin.target_tenant_id;
  settings.updated_at := now();
  insert into public.search_settings as s select settings.* on conflict do nothing;
  select s.* into settings from public.search_settings s where s.tenant_id = admin.target_tenant_id for update;
  settings.lexical_weight := coalesce(set_search_settings.lexical_weight, settings.lexical_weight);
  settings.semantic_weight := coalesce(set_search_settings.semantic_weight, settings.semantic_weight);
  settings.context_weight := coalesce(set_search_settings.context_weight, settings.context_weight);
  settings.uses_chunks := coalesce(set_search_settings.uses_chunks, settings.uses_chunks);
  settings.recency_boost := coalesce(set_search_settings.recency_boost, settings.recency_boost);
  settings.importance_boost := coalesce(set_search_settings.importance_boost, settings.importance_boost);
  perform search.check_search_settings(settings, set_search_settings.half_life_days);
  settings.half_life_days := settings.half_life_days || coalesce(jsonb_strip_nulls(set_search_settings.half_life_days), '{}');
  if octet_length(settings.half_life_days::text) > 16384 then
    perform identity.raise_error('L9LIM', 'half_life_days: must be at most 16384 bytes', 'half_life_days');
  end if;
  update public.search_settings s
  set lexical_weight = settings.lexical_weight, semantic_weight = settings.semantic_weight, context_weight = settings.context_weight,
    uses_chunks = settings.uses_chunks, recency_boost = settings.recency_boost, importance_boost = settings.importance_boost,
    half_life_days = settings.half_life_days, updated_at = clock_timestamp()
  where s.tenant_id = admin.target_tenant_id
  returning s.* into saved;
  return saved;
end
$$;

comment on function public.set_search_settings(real, real, real, boolean, real, real, jsonb, uuid) is
  'Changes the given weights of a tenant''s searches, from the next search on. Arguments left out, and half-lives of kinds not named, stay as they are. For admins whose token covers all scopes and projects. Audited. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: this function is the only way to change settings.';

grant execute on function public.set_search_settings(real, real, real, boolean, real, real, jsonb, uuid) to l9_admin, l9_platform_admin;
