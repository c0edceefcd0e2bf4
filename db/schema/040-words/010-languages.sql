-- The languages of memories and the configuration of PostgreSQL for each. Triggers, settings and searches ask which
-- there are, and parse() asks for the configuration.
create function words.languages() returns text[] language sql immutable parallel safe
return array[
  'none', 'arabic', 'armenian', 'basque', 'catalan', 'danish', 'dutch', 'english', 'estonian', 'finnish', 'french', 'german',
  'greek', 'hindi', 'hungarian', 'indonesian', 'irish', 'italian', 'lithuanian', 'nepali', 'norwegian', 'portuguese', 'romanian',
  'russian', 'serbian', 'spanish', 'swedish', 'tamil', 'turkish', 'yiddish'];
comment on function words.languages is 'Those that PostgreSQL has a stemmer for, and none, which keeps every word as it is.';

create function words.text_config(language text) returns regconfig
language sql immutable parallel safe strict set search_path = ''
-- The configurations of pg_catalog are part of PostgreSQL, with fixed ids.
return ('pg_catalog.' || case when language <> 'none' and language = any (words.languages()) then language
  else 'simple' end)::pg_catalog.regconfig;
comment on function words.text_config is 'The text search configuration of a language; simple for none and unknown ones.';
grant execute on function words.text_config, words.languages to l9_agent, l9_admin, l9_platform_admin, l9_worker;
