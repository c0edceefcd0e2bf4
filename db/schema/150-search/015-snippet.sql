create function search.snippet_query(query text)
returns tsquery
language sql
stable
parallel safe
set search_path = ''
return (
  -- The lexemes as they are: parsing them again would stem them twice. Null, not empty, where there are none.
  select pg_catalog.string_agg(
    '''' || pg_catalog.replace(pg_catalog.replace(words.lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::pg_catalog.tsquery
  from (
    select lexeme
    from pg_catalog.unnest(pg_catalog.to_tsvector('pg_catalog.english', pg_catalog.left(query, 2000)))
    limit 50
  ) words);

comment on function search.snippet_query(text) is 'Any of the first 50 words of a text, in English stems; null where it has none.';

create function search.within_bytes(content text, bytes integer)
returns text
language sql
immutable
parallel safe
set search_path = ''
return case
  when pg_catalog.octet_length(content) <= bytes then content
  else (
    select case when pg_catalog.octet_length(beginning.cut) <= bytes then beginning.cut else pg_catalog.left(content, bytes / 4) end
    from (
      -- As many characters as there would be if all took as much room; no character takes more than four bytes.
      select pg_catalog.left(content, (bytes::bigint * pg_catalog.length(content) / pg_catalog.octet_length(content))::integer) as cut
    ) beginning)
end;

comment on function search.within_bytes(text, integer) is 'The beginning of a text, in so many bytes at most: whole characters.';

create function search.snippet(content text, words tsquery)
returns text
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  snippet text;
begin
  if words is null then
    return search.within_bytes(left(btrim(content), 240), 750);
  end if;
  snippet := ts_headline('pg_catalog.english', content, words, 'StartSel=**, StopSel=**, MaxWords=40, MinWords=20, MaxFragments=1');
  if octet_length(snippet) <= 750 then
    return snippet;
  end if;
  -- Forty words are no measure where there are no spaces.
  snippet := rtrim(search.within_bytes(substr(snippet, greatest(strpos(snippet, '**') - 60, 1)), 748), '*');
  return snippet || case when regexp_count(snippet, '\*\*') % 2 = 1 then '**' else '' end;
end
$$;

comment on function search.snippet(text, tsquery) is
  'The part of a text that holds most of the words, with ** around them; else its beginning. 40 words, and 750 bytes, at most.';

grant execute on function search.snippet_query(text), search.within_bytes(text, integer), search.snippet(text, tsquery)
  to l9_agent, l9_admin, l9_platform_admin;

create function search.passage_pattern(query text)
returns text
language plpgsql
stable
parallel safe
set search_path = ''
as $$
begin
  return (
    select '(?i)' || string_agg(case when s.stem ~ '^\w' then '\m' else '' end
      || regexp_replace(s.stem, '([][(){}.*+?^$|\\])', '\\\1', 'g'), '|')
    from unnest(search.word_stems(query)) as s (stem));
end
$$;

comment on function search.passage_pattern(text) is 'Where a word of the query begins, as a regular expression; null where it has none.';

create function search.passage(content text, pattern text)
returns text
language sql
stable
parallel safe
set search_path = ''
return case
  when pg_catalog.length(content) <= 4000 or pattern is null then pg_catalog.left(content, 4000)
  else pg_catalog.substr(
    content, greatest(pg_catalog.regexp_instr(content, pattern) - 500, 1), 4000)
end;

comment on function search.passage(text, text) is 'The 4000 characters of a long text around the first match of a pattern; else its beginning.';

grant execute on function search.passage(text, text), search.passage_pattern(text) to l9_agent, l9_admin, l9_platform_admin;
