-- The words of a query, in the form that the words of memories have. Searches, suggestions and the search for
-- near-duplicates call of_query_in().
create function words.of_query(query text, language text) returns text[]
language sql immutable parallel safe set search_path = '' set client_min_messages = warning
return array(
  select w.lexeme
  from pg_catalog.unnest(words.parse(pg_catalog.left(query, words.max_piece_characters()), language, is_query => true)) as w
  -- Whole identifiers have no positions. They are rare words, so they come first.
  order by w.positions[1] nulls first, w.lexeme collate "C");
comment on function words.of_query is 'The different words of a query as of_memory() writes them, without stop words: whole '
  'identifiers, then the others in the order of their first occurrence.';

create function words.of_query_in(query text, languages text[]) returns text[]
language sql immutable parallel safe set search_path = ''
return case when pg_catalog.cardinality(languages) = 1 then words.of_query(query, languages[1]) else array(
  select w.lexeme
  from pg_catalog.unnest(languages) as l (language)
  cross join lateral pg_catalog.unnest(words.of_query(query, l.language)) with ordinality as w (lexeme, place)
  group by w.lexeme order by min(w.place), w.lexeme collate "C")
end;
comment on function words.of_query_in is 'The words of a query in each of several languages, to match memories in any.';

create function words.forms_in_query(query text, languages text[]) returns table (lexeme text, forms text[])
language sql immutable parallel safe set search_path = '' set client_min_messages = warning
begin atomic
  with texts as materialized (
    -- The forms of a word have the same place in both texts.
    select pg_catalog.string_agg(f.written, ' ') as written, pg_catalog.string_agg(f.plain, ' ') as plain
    from words.plain_forms(words.cleaned(pg_catalog.left(query, words.max_piece_characters()))) f
  ), pairs as materialized (
    select distinct w.lexeme as written, p.lexeme as plain
    from texts t
    cross join pg_catalog.unnest(languages) as l (language)
    cross join lateral pg_catalog.unnest(words.stems(t.written, l.language)) w
    cross join lateral pg_catalog.unnest(w.positions) as at (place)
    join lateral pg_catalog.unnest(words.stems(t.plain, l.language)) p on at.place = any (p.positions)
  ), members as (
    select p.written, p.written as lexeme from pairs p union select p.written, p.plain from pairs p
  )
  select m.lexeme, pg_catalog.array_agg(distinct other.lexeme)
  from members m join members other on other.written = m.written group by m.lexeme;
end;
comment on function words.forms_in_query is 'The words of a query, in any of the languages, that have other forms, as written '
  'and plain, each with all forms of its word. Whoever has one of them has the word.';
grant execute on function words.of_query, words.of_query_in, words.forms_in_query to l9_agent, l9_admin, l9_platform_admin,
  l9_worker;
