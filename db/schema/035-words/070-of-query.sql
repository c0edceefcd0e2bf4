-- The words of a query, in the form that the words of memories have. Searches, suggestions and the search for
-- near-duplicates call of_query_in().

create function words.of_query(query text, language text)
returns text[]
language sql
immutable
parallel safe
set search_path = ''
set client_min_messages = warning
return array(
  select w.lexeme
  from pg_catalog.unnest(words.parse(pg_catalog.left(query, words.max_piece_characters()), language, is_query => true)) as w
  -- Whole identifiers have no positions. They are rare words, so they come first.
  order by w.positions[1] nulls first, w.lexeme collate "C");

comment on function words.of_query(text, text) is
  'The different words of a query as of_memory() writes them, without stop words: whole identifiers, then the others in the order of their first occurrence.';

create function words.of_query_in(query text, languages text[])
returns text[]
language sql
immutable
parallel safe
set search_path = ''
return case when pg_catalog.cardinality(languages) = 1 then words.of_query(query, languages[1]) else array(
  select w.lexeme
  from pg_catalog.unnest(languages) as l (language)
  cross join lateral pg_catalog.unnest(words.of_query(query, l.language)) with ordinality as w (lexeme, place)
  group by w.lexeme
  order by min(w.place), w.lexeme collate "C")
end;

comment on function words.of_query_in(text, text[]) is
  'The words of a query in each of several languages, so that it matches memories in any of them.';

grant execute on function words.of_query(text, text), words.of_query_in(text, text[]) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
