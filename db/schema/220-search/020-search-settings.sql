-- How the searches of a tenant are weighted: a row only for a tenant that changed a default. set_search_settings()
-- writes it; open_search() reads it by settings_of().
create table public.search_settings (
  tenant_id uuid primary key references public.tenants,
  lexical_weight real not null,
  semantic_weight real not null,
  lexical_context_weight real not null,
  semantic_context_weight real not null,
  uses_chunks boolean not null,
  chunk_weight real not null,
  thread_weight real not null,
  neighbour_weight real not null,
  speaker_boost real not null,
  common_word_share real not null,
  min_relevance real not null,
  recency_boost real not null,
  importance_boost real not null,
  half_life_days jsonb not null,
  languages text[] not null,
  updated_at timestamptz not null default now(),
  constraint search_weights_from_0_to_1 check (
    lexical_weight between 0 and 1 and semantic_weight between 0 and 1 and lexical_context_weight between 0 and 1
    and semantic_context_weight between 0 and 1 and chunk_weight between 0 and 1 and thread_weight between 0 and 1
    and neighbour_weight between 0 and 1 and speaker_boost between 0 and 1 and common_word_share between 0 and 1
    and min_relevance between 0 and 1),
  constraint search_weights_not_both_0 check (lexical_weight + semantic_weight > 0),
  constraint search_boosts_at_most_a_fifth check (
    recency_boost >= 0 and importance_boost >= 0 and recency_boost + importance_boost <= 0.2001),
  constraint search_languages_1_to_5 check (
    cardinality(languages) between 1 and search.max_languages() and languages <@ words.languages()),
  constraint search_half_lives_object check (jsonb_typeof(half_life_days) = 'object' and half_life_days ? 'default')
);
call identity.describe('public.search_settings', 'Weights of a tenant''s searches. Only a tenant that changed a default has a row.
    set_search_settings() writes it.
  tenant_id: The tenant.
  lexical_weight: Weight of words in a hybrid search, from 0 to 1, relative to semantic_weight.
  semantic_weight: Weight of meaning in a hybrid search, from 0 to 1, relative to lexical_weight.
  lexical_context_weight: From 0 to 1. If the words match better together with those of its predecessor in the thread, a memory''s
    score of words is raised by this part of the difference.
  semantic_context_weight: The same for the score of meaning.
  uses_chunks: True if long memories are also compared chunk by chunk.
  chunk_weight: From 0 to 1. If a chunk of a long memory is nearer to the query than the memory as a whole, its score is raised by
    this part of the difference.
  thread_weight: From 0 to 1: how much the best score in its thread, among the candidates, counts beside the score of a memory
    itself.
  neighbour_weight: From 0 to 1: which part of its own score each of the first three hits lends to the memories before and after
    it in its thread.
  speaker_boost: From 0 to 1. If the query names a speaker, the scores of what that speaker said are raised; a score of 0.5 by
    half of this part.
  common_word_share: Names (words with a capital) that more than this share (0 to 1) of the memories of the project have are left
    out of the text that the vector of a query is made of. 1: none is left out.
  min_relevance: The min_relevance, from 0 to 1, of a search by a query that compares meaning and gives none.
  recency_boost: Part of its score that a memory saved just now gains. The gain halves with every half-life.
  importance_boost: Part of its score that a memory of importance 1 gains. Both boosts together are at most 0.2.
  half_life_days: Maps kinds to half-lives in days; default is used for all other kinds.
  languages: The languages of the tenant''s memories. A query is matched in each of them. A memory whose writer gives no language
    gets the one that its script and stop words point to, else the first.
  updated_at: Time when the settings were last changed.');
call identity.protect_tenant_rows('public.search_settings',
  readers => 'Every caller in the tenant may read how its searches are weighted.',
  writers => 'set_search_settings() writes the settings.');
grant select on public.search_settings to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: set_search_settings() checks the values and writes the audit row.

create trigger _500_audit after insert or update on public.search_settings
  for each row execute function administration.tg__audit_identity(
    '', 'lexical_weight', 'semantic_weight', 'lexical_context_weight', 'semantic_context_weight', 'uses_chunks', 'chunk_weight',
    'thread_weight', 'neighbour_weight', 'speaker_boost', 'common_word_share', 'min_relevance', 'recency_boost',
    'importance_boost', 'half_life_days', 'languages');

create function search.default_settings() returns public.search_settings
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return jsonb_populate_record(null::public.search_settings, '{
    "lexical_weight": 0.35, "semantic_weight": 0.65, "lexical_context_weight": 0.75, "semantic_context_weight": 1,
    "uses_chunks": true, "chunk_weight": 0.25, "thread_weight": 0.25, "neighbour_weight": 0.2, "speaker_boost": 1,
    "common_word_share": 0.4, "min_relevance": 0.2, "recency_boost": 0.04, "importance_boost": 0.15,
    "half_life_days": {"default": 180}, "languages": ["english"]}');
end $$;
comment on function search.default_settings is 'The defaults of all tenants. They stand only here.';

create function search.settings_of(tenant_id uuid) returns public.search_settings
language plpgsql stable set search_path = '' as $$
declare
  settings public.search_settings;
begin
  select s.* into settings from public.search_settings s where s.tenant_id = settings_of.tenant_id;
  if not found then
    settings := search.default_settings();
  end if;
  return settings;
end $$;
comment on function search.settings_of is 'The settings of a tenant, if the caller may read them, or else the defaults.';
grant execute on function search.default_settings, search.settings_of to l9_agent, l9_admin, l9_platform_admin;
