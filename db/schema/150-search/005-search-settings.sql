create table public.search_settings (
  tenant_id uuid primary key references public.tenants,
  lexical_weight real not null default 0.35,
  semantic_weight real not null default 0.65,
  context_weight real not null default 0.5,
  uses_chunks boolean not null default true,
  recency_boost real not null default 0.04,
  importance_boost real not null default 0.15,
  half_life_days jsonb not null default '{"default": 180}',
  updated_at timestamptz not null default now(),
  constraint search_weights_from_0_to_1 check (
    lexical_weight between 0 and 1 and semantic_weight between 0 and 1 and context_weight between 0 and 1),
  constraint search_weights_not_both_0 check (lexical_weight + semantic_weight > 0),
  constraint search_boosts_at_most_a_fifth check (
    recency_boost >= 0 and importance_boost >= 0 and recency_boost + importance_boost <= 0.2001),
  constraint search_half_lives_object check (jsonb_typeof(half_life_days) = 'object' and half_life_days ? 'default')
);

comment on table public.search_settings is
  'How a tenant''s searches weigh what they find: a row for each tenant that differs from the defaults of the columns. set_search_settings() writes them.';
comment on column public.search_settings.tenant_id is 'The tenant.';
comment on column public.search_settings.lexical_weight is 'How much words count in a hybrid search, against semantic_weight.';
comment on column public.search_settings.semantic_weight is 'How much meaning counts in a hybrid search, against lexical_weight.';
comment on column public.search_settings.context_weight is
  'How far a memory that matches better together with its predecessor in the thread is lifted towards that match: 0, not at all, to 1.';
comment on column public.search_settings.uses_chunks is 'Whether long memories are also compared chunk by chunk.';
comment on column public.search_settings.recency_boost is 'How much of its score a memory of this moment gets on top; half of that after a half-life, and so on.';
comment on column public.search_settings.importance_boost is 'How much of its score a memory of importance 1 gets on top. Both boosts together: a fifth at most.';
comment on column public.search_settings.half_life_days is 'Kind → days; default for all others.';
comment on column public.search_settings.updated_at is 'When they were last changed.';

alter table public.search_settings enable row level security;
alter table public.search_settings force row level security;

create policy tenant_isolation on public.search_settings as restrictive to l9_agent, l9_admin, l9_platform_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.search_settings for select to l9_agent, l9_admin using (true);
create policy platform_override on public.search_settings for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('search_settings')));
create policy definer_functions on public.search_settings to l9_owner using (true);

comment on policy tenant_isolation on public.search_settings is 'A search goes by the settings of the caller''s tenant, an operator''s too.';
comment on policy scope_access on public.search_settings is 'Everybody in the tenant may know how its searches weigh.';
comment on policy platform_override on public.search_settings is 'Operators, of their own tenant, each look on the record.';
comment on policy definer_functions on public.search_settings is 'set_search_settings() writes them.';

grant select on public.search_settings to l9_agent, l9_admin, l9_platform_admin;
-- No insert, update or delete for anyone: set_search_settings() checks them, and leaves its audit row.

create trigger _500_audit after insert or update on public.search_settings
  for each row execute function administration.tg__audit_identity(
    '', 'lexical_weight', 'semantic_weight', 'context_weight', 'uses_chunks', 'recency_boost', 'importance_boost', 'half_life_days');

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
  wanted public.search_settings;
  saved public.search_settings;
begin
  perform administration.require_whole_token(admin);
  insert into public.search_settings as s (tenant_id) values (admin.target_tenant_id) on conflict do nothing;
  select s.* into wanted from public.search_settings s where s.tenant_id = admin.target_tenant_id for update;
  wanted.lexical_weight := coalesce(set_search_settings.lexical_weight, wanted.lexical_weight);
  wanted.semantic_weight := coalesce(set_search_settings.semantic_weight, wanted.semantic_weight);
  wanted.context_weight := coalesce(set_search_settings.context_weight, wanted.context_weight);
  wanted.uses_chunks := coalesce(set_search_settings.uses_chunks, wanted.uses_chunks);
  wanted.recency_boost := coalesce(set_search_settings.recency_boost, wanted.recency_boost);
  wanted.importance_boost := coalesce(set_search_settings.importance_boost, wanted.importance_boost);
  perform search.check_search_settings(wanted, set_search_settings.half_life_days);
  wanted.half_life_days := wanted.half_life_days || coalesce(jsonb_strip_nulls(set_search_settings.half_life_days), '{}');
  if octet_length(wanted.half_life_days::text) > 16384 then
    perform identity.raise_error('L9LIM', 'half_life_days: at most 16384 bytes', 'half_life_days');
  end if;
  update public.search_settings s
  set lexical_weight = wanted.lexical_weight, semantic_weight = wanted.semantic_weight, context_weight = wanted.context_weight,
    uses_chunks = wanted.uses_chunks, recency_boost = wanted.recency_boost, importance_boost = wanted.importance_boost,
    half_life_days = wanted.half_life_days, updated_at = clock_timestamp()
  where s.tenant_id = admin.target_tenant_id
  returning s.* into saved;
  return saved;
end
$$;

comment on function public.set_search_settings(real, real, real, boolean, real, real, jsonb, uuid) is
  'Changes what is given of how a tenant''s searches weigh what they find, from the next search on; half-lives of kinds not named stay. For admins with a whole token. Audited. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: settings change by this function only.';

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
  days record;
begin
  for name, value in
    select w.key, w.value::real
    from jsonb_each_text(to_jsonb(settings)) as w
    where w.key in ('lexical_weight', 'semantic_weight', 'context_weight')
  loop
    if value not between 0 and 1 then
      perform identity.raise_error('L9VAL', format('%s: from 0 to 1', name), name);
    end if;
  end loop;
  if settings.lexical_weight + settings.semantic_weight = 0 then
    perform identity.raise_error('L9VAL', 'semantic_weight: one of lexical_weight and semantic_weight must be above 0', 'semantic_weight');
  elsif not (settings.recency_boost >= 0 and settings.importance_boost >= 0
    and settings.recency_boost + settings.importance_boost <= 0.2001) then
    perform identity.raise_error('L9VAL', 'importance_boost: recency_boost and importance_boost, from 0, together at most 0.2', 'importance_boost');
  end if;
  if jsonb_typeof(half_life_days) <> 'object' then
    perform identity.raise_error('L9VAL', 'half_life_days: an object, kind → days', 'half_life_days');
  end if;
  for days in select d.key, d.value from jsonb_each(half_life_days) as d where d.value <> 'null' loop
    if jsonb_typeof(days.value) <> 'number' or days.value::numeric not between 0.01 and 36500 then
      perform identity.raise_error('L9VAL', 'half_life_days: numbers of days, from 0.01 to 36500', 'half_life_days');
    end if;
  end loop;
end
$$;

comment on function search.check_search_settings(public.search_settings, jsonb) is 'L9VAL, naming the field, for settings out of range.';

grant execute on function public.set_search_settings(real, real, real, boolean, real, real, jsonb, uuid) to l9_admin, l9_platform_admin;

create function search.current_search_settings()
returns public.search_settings
language plpgsql
stable
set search_path = ''
as $$
declare
  settings public.search_settings;
begin
  select s.* into settings from public.search_settings s where s.tenant_id = (select identity.current_tenant_id());
  if not found then
    -- As the columns say by default; null for the tenant, which has none of its own.
    settings := row(null, 0.35, 0.65, 0.5, true, 0.04, 0.15, '{"default": 180}', null)::public.search_settings;
  end if;
  return settings;
end
$$;

comment on function search.current_search_settings() is 'Those of the caller''s tenant, or the defaults.';

grant execute on function search.current_search_settings() to l9_agent, l9_admin, l9_platform_admin;
