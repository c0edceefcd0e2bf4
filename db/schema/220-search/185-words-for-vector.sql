-- The text that the vector of a query is made of. The gateway asks words_for_vector() before it calls the embedding
-- model for a search.
create function search.recent_speakers(project_id text) returns text[]
language plpgsql stable set search_path = '' set enable_seqscan = off
-- The plan does not depend on the project, and planning takes longer than reading the rows.
set plan_cache_mode = force_generic_plan as $$
declare
  max_memories constant integer := 100;
  own_tenant constant uuid := identity.current_tenant_id();
begin
  return array(
    select distinct lower(n.speaker)
    from unnest((identity.require_identity()).readable_scopes) as s (scope)
    cross join lateral (
      select p.speaker from public.packet_store p
      where p.tenant_id = own_tenant and p.scope = s.scope and p.project_id = recent_speakers.project_id order by p.packet_id desc
      limit max_memories
    ) n
    where n.speaker is not null);
end $$;
comment on function search.recent_speakers is 'Who speaks in the newest 100 memories of each scope, in lower case.';

-- Weighs the words of the query among the memories of the project; a weight below that of common_word_share marks a
-- word as common, and common names are left out.
create function search.words_for_vector(query text, project_id text) returns text
language plpgsql stable set search_path = '' as $$
declare
  -- Among a handful of memories any word can be in most of them.
  least_memories constant integer := 20;
  settings public.search_settings := search.settings_of(identity.current_tenant_id());
  share real := settings.common_word_share;
  lexemes text[];
  weights double precision[];
  common text[];
  speakers text[];
  answer text;
begin
  if project_id is null or share >= 1 or length(query) > search.max_query_characters() then
    return words_for_vector.query;
  end if;
  lexemes := search.query_words(query, settings.languages);
  -- The last weight is that of a word that no memory has, which tells how many memories there are.
  weights := (ranking.weigh_words(lexemes || ' '::text, null, project_id)).weights;
  if weights[cardinality(weights)] < ln(least_memories + 1) then
    return words_for_vector.query;
  end if;
  -- The weight of a word that a share of the memories has is the logarithm of 1 / share.
  common := array(select l.lexeme from unnest(lexemes, weights) as l (lexeme, weight)
    where l.lexeme is not null and l.weight < -ln(greatest(share, 0.01)));
  if common = '{}' then
    return words_for_vector.query;
  end if;
  speakers := search.recent_speakers(project_id);
  select string_agg(t.token, ' ' order by t.place) into answer
  from regexp_split_to_table(btrim(query), '\s+') with ordinality as t (token, place)
  cross join lateral (select search.query_words(t.token, settings.languages) as lexemes offset 0) w
  -- Only names: a sentence of common words alone still has to find the memory that says the same.
  where w.lexemes = '{}' or not w.lexemes <@ common
    or t.token !~ '^[[:upper:]]' and substring(lower(t.token) from '[[:alnum:]]+') <> all (speakers);
  return case when search.query_words(answer, settings.languages) <> '{}' then answer else words_for_vector.query end;
end $$;
comment on function search.words_for_vector is 'The text of which the gateway makes the vector of a query: the query without the '
  'names (words with a capital, and speakers of one word in any case of letters) that most memories of the project have '
  '(common_word_share of the settings), such as those of the people who speak in it, because they would draw the vector to all '
  'memories alike. The words'' part of a search keeps them. The query itself without a project, among fewer than 20 memories, or '
  'if nothing else were left. Only memories that the caller may read are counted.';
grant execute on function search.recent_speakers, search.words_for_vector to l9_agent, l9_admin, l9_platform_admin;
