-- Patterns for the beginnings of words. Snippets mark words by them, and find_version_words() tests old texts by
-- them, whose words are not stored.
create function search.word_stems(query text, languages text[]) returns text[]
language sql stable parallel safe set search_path = ''
return array(
  -- Trim the stem to a common prefix of all word forms (English stemming drops a final e and maps y to i). It may match other
  -- words too.
  select s.stem
  from (
    select pg_catalog.regexp_replace(w.lexeme, '^([a-z][a-z]+)[eiy]$', '\1') as stem
    from pg_catalog.unnest(words.of_query_in(pg_catalog.left(query, search.max_query_characters()), languages)) as w (lexeme)
  ) s
  group by s.stem order by pg_catalog.length(s.stem) desc, s.stem collate "C" limit 40);
comment on function search.word_stems is 'Beginnings of the 40 longest words of a text, in any of the languages.';

create function search.stem_pattern(stem text) returns text language sql immutable parallel safe set search_path = ''
-- A flag that ignores case would depend on the locale, and hide where the parts of camelCase words begin.
return (
  select pg_catalog.string_agg(
    case
      when c.letter ~ '[][(){}.*+?^$|\\]' then '\' || c.letter
      when pg_catalog.upper(c.letter collate pg_catalog.pg_c_utf8) <> c.letter then
        '[' || c.letter || pg_catalog.upper(c.letter collate pg_catalog.pg_c_utf8) || ']'
      else c.letter
    end, '' order by c.place)
  from pg_catalog.string_to_table(stem, null) with ordinality as c (letter, place));
comment on function search.stem_pattern is 'A regular expression for a text that begins with the stem, in either case.';

create function search.searchable_text(content text) returns text language sql immutable parallel safe set search_path = ''
return pg_catalog.lower(content collate "C") || case when pg_catalog.octet_length(content) > pg_catalog.length(content) then (
  select ' ' || words.fold(c.cleaned) || ' ' || words.fold(c.cleaned, spells_out => true)
  from (select words.cleaned(content) as cleaned offset 0) c) else '' end;
comment on function search.searchable_text is 'A text in which stem_test() looks for stems: lower case, then folded.';

create function search.stem_test(stem text) returns text language sql immutable parallel safe set search_path = ''
return case
  -- The fastest test. A match in the middle of a word does no harm.
  when stem ~ '^[ -~]{4,}$' then pg_catalog.format('pg_catalog.strpos(s.lowered, %L) > 0', stem)
  when stem ~ '^[a-z0-9]+$' then pg_catalog.format('s.lowered ~ %L', '\m' || stem)
  else pg_catalog.format('s.content ~ %L', search.stem_pattern(stem)) end;
comment on function search.stem_test is 'A condition that holds for a content with a word that begins with the stem.';
grant execute on function search.word_stems, search.stem_pattern, search.searchable_text, search.stem_test to l9_agent, l9_admin,
  l9_platform_admin;
