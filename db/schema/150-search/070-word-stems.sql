create function search.word_stems(query text, skipped integer default 0)
returns text[]
language sql
stable
parallel safe
set search_path = ''
return array(
  -- Trim the stem to a common prefix of all word forms (English stemming drops a final e and maps y to i). It may match other words too.
  select pg_catalog.regexp_replace(words.lexeme, '(..)[eiy]$', '\1')
  from pg_catalog.unnest(pg_catalog.to_tsvector('pg_catalog.english', pg_catalog.left(query, search.max_query_characters()))) as words
  order by pg_catalog.length(words.lexeme) desc, words.lexeme
  limit 12 offset skipped);

comment on function search.word_stems(text, integer) is
  'Stems of the 12 longest words of a text, skipping the first `skipped`; empty if there are none.';

grant execute on function search.word_stems(text, integer) to l9_agent, l9_admin, l9_platform_admin;
