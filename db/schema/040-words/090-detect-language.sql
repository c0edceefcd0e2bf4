-- Guesses the language of a text. The trigger that chooses the language of a memory calls detect_language().
create function words.script_of(language text) returns text language sql immutable parallel safe
return case language
  when 'arabic' then '[\u0600-\u06ff]'
  when 'armenian' then '[\u0530-\u058f]'
  when 'greek' then '[\u0370-\u03ff\u1f00-\u1fff]'
  when 'hindi' then '[\u0900-\u097f]'
  when 'nepali' then '[\u0900-\u097f]'
  when 'russian' then '[\u0400-\u04ff]'
  when 'tamil' then '[\u0b80-\u0bff]'
  when 'yiddish' then '[\u0590-\u05ff]'
end;
comment on function words.script_of is 'A regular expression for a language''s own script; null if it shares one.';

create function words.detect_language(content text, languages text[]) returns text
language sql immutable parallel safe set search_path = '' set client_min_messages = warning
return case when pg_catalog.cardinality(languages) <= 1 then languages[1] else (
  select l.language
  from pg_catalog.left(content, 2000) as beginning (text),
    pg_catalog.unnest(languages) with ordinality as l (language, place)
  order by
    coalesce(
      pg_catalog.regexp_count(beginning.text, words.script_of(l.language)) * 3 > pg_catalog.length(beginning.text), false) desc,
    -- Stop words are up to half of a text, and only the configuration of their language drops them.
    words.length(pg_catalog.to_tsvector(words.text_config(l.language), beginning.text)),
    l.place
  limit 1)
end;
comment on function words.detect_language is 'The probable language of a text, by script, then stop words; else the first one.';
grant execute on function words.script_of, words.detect_language to l9_agent, l9_admin, l9_platform_admin, l9_worker;
