-- Administrators change the weights and languages of their tenant's searches here, over GraphQL and psql.
-- set_find_settings() shares changed_half_lives().
create function search.changed_half_lives(half_lives jsonb, change jsonb) returns jsonb
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  days jsonb;
  changed jsonb;
begin
  if jsonb_typeof(change) <> 'object' then
    perform identity.raise_error('L9VAL', 'half_life_days: must be an object that maps kinds to days');
  end if;
  for days in select d.value from jsonb_each(change) as d where d.value <> 'null' loop
    if jsonb_typeof(days) <> 'number' or days::numeric not between 0.01 and 36500 then
      perform identity.raise_error('L9VAL', 'half_life_days: each value must be a number of days from 0.01 to 36500');
    end if;
  end loop;
  changed := half_lives || coalesce(jsonb_strip_nulls(change), '{}');
  if octet_length(changed::text) > 16384 then
    perform identity.raise_error('L9LIM', 'half_life_days: must be at most 16384 bytes');
  end if;
  return changed;
end $$;
comment on function search.changed_half_lives is 'The half-lives in days with a change of some; null keeps one.';

create function search.check_weights(settings jsonb, names text[]) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  name text;
begin
  foreach name in array names loop
    if (settings ->> name)::real not between 0 and 1 then
      perform identity.raise_error('L9VAL', format('%s: must be from 0 to 1', name));
    end if;
  end loop;
end $$;
comment on function search.check_weights is 'Raises L9VAL, naming the field, if one of these settings is not from 0 to 1.';

-- Checks what the table's constraints check too, so that the error names the field rather than a constraint.
create function search.check_search_settings(settings public.search_settings) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  perform search.check_weights(to_jsonb(settings), '{lexical_weight,semantic_weight,lexical_context_weight,'
    'semantic_context_weight,chunk_weight,thread_weight,neighbour_weight,speaker_boost,common_word_share,min_relevance}');
  if settings.lexical_weight + settings.semantic_weight = 0 then
    perform identity.raise_error('L9VAL', 'semantic_weight: lexical_weight or semantic_weight must be above 0');
  elsif not (settings.recency_boost >= 0 and settings.importance_boost >= 0
    and settings.recency_boost + settings.importance_boost <= 0.2001) then
    perform identity.raise_error('L9VAL',
      'importance_boost: recency_boost and importance_boost must be at least 0, and together at most 0.2');
  end if;
  if cardinality(settings.languages) not between 1 and search.max_languages() or not settings.languages <@ words.languages() then
    perform identity.raise_error('L9VAL', format('languages: must be 1 to %s of %s', search.max_languages(),
      array_to_string(words.languages(), ', ')));
  end if;
end $$;
comment on function search.check_search_settings is 'Raises L9VAL, naming the field, if a setting is out of range.';

-- Inserts the defaults first and locks the row, so that two administrators who change different settings at once both succeed.
create function public.set_search_settings(lexical_weight real default null, semantic_weight real default null,
  lexical_context_weight real default null, semantic_context_weight real default null, uses_chunks boolean default null,
  chunk_weight real default null,
  thread_weight real default null, neighbour_weight real default null, speaker_boost real default null,
  common_word_share real default null, min_relevance real default null, recency_boost real default null,
  importance_boost real default null, half_life_days jsonb default null, tenant_id uuid default null,
  languages text[] default null) returns public.search_settings
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(set_search_settings.tenant_id);
  settings public.search_settings := search.default_settings();
begin
  settings.tenant_id := admin.target_tenant_id;
  settings.updated_at := now();
  insert into public.search_settings as s select settings.* on conflict do nothing;
  select s.* into settings from public.search_settings s where s.tenant_id = admin.target_tenant_id for update;
  settings := jsonb_populate_record(settings, jsonb_strip_nulls(jsonb_build_object(
    'lexical_weight', set_search_settings.lexical_weight, 'semantic_weight', set_search_settings.semantic_weight,
    'lexical_context_weight', set_search_settings.lexical_context_weight,
    'semantic_context_weight', set_search_settings.semantic_context_weight, 'uses_chunks', set_search_settings.uses_chunks,
    'chunk_weight', set_search_settings.chunk_weight, 'thread_weight', set_search_settings.thread_weight,
    'neighbour_weight', set_search_settings.neighbour_weight, 'speaker_boost', set_search_settings.speaker_boost,
    'common_word_share', set_search_settings.common_word_share, 'min_relevance', set_search_settings.min_relevance,
    'recency_boost', set_search_settings.recency_boost, 'importance_boost', set_search_settings.importance_boost)));
  if set_search_settings.languages is not null then
    settings.languages := array(
      select l.language from unnest(set_search_settings.languages) with ordinality as l (language, place)
      group by l.language order by min(l.place));
  end if;
  perform search.check_search_settings(settings);
  settings.half_life_days := search.changed_half_lives(settings.half_life_days, set_search_settings.half_life_days);
  settings.updated_at := clock_timestamp();
  update public.search_settings s set (
    tenant_id, lexical_weight, semantic_weight, lexical_context_weight, semantic_context_weight, uses_chunks, chunk_weight,
    thread_weight, neighbour_weight, speaker_boost, common_word_share, min_relevance, recency_boost, importance_boost,
    half_life_days, languages, updated_at)
    = (select settings.*)
  where s.tenant_id = admin.target_tenant_id returning s.* into settings;
  return settings;
end $$;
comment on function public.set_search_settings is 'Changes the given weights and languages of a tenant''s searches, from the '
  'next search on; memories keep the language that they have. Arguments left out, and half-lives of kinds not named, stay as '
  'they are. For admins whose token covers all scopes and projects. Audited. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: this '
  'function is the only way to change settings.';
grant execute on function public.set_search_settings to l9_admin, l9_platform_admin;
