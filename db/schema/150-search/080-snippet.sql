create function search.snippet_query(query text)
returns tsquery
language sql
stable
parallel safe
set search_path = ''
return (
  -- The lexemes are quoted, because parsing them again would stem them twice. Without words the result is null, not empty.
  select pg_catalog.string_agg(
    '''' || pg_catalog.replace(pg_catalog.replace(words.lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::pg_catalog.tsquery
  from (
    select lexeme
    from pg_catalog.unnest(pg_catalog.to_tsvector('pg_catalog.english', pg_catalog.left(query, search.max_query_characters())))
    limit 50
  ) words);

comment on function search.snippet_query(text) is 'A query for any of the first 50 words of a text, in English stems; null if it has none.';

create function search.truncate_to_bytes(content text, bytes integer)
returns text
language sql
immutable
parallel safe
set search_path = ''
return case
  when pg_catalog.octet_length(content) <= bytes then content
  else (
    select case when pg_catalog.octet_length(prefix.text) <= bytes then prefix.text else pg_catalog.left(content, bytes / 4) end
    from (
      -- Assume that all characters take the same number of bytes. If that is too long: no character takes more than four bytes.
      select pg_catalog.left(content, (bytes::bigint * pg_catalog.length(content) / pg_catalog.octet_length(content))::integer) as text
    ) prefix)
end;

comment on function search.truncate_to_bytes(text, integer) is 'The beginning of a text, in whole characters, of at most this number of bytes.';

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
    return search.truncate_to_bytes(left(btrim(content), 240), 750);
  end if;
  snippet := ts_headline('pg_catalog.english', content, words, 'StartSel=**, StopSel=**, MaxWords=40, MinWords=20, MaxFragments=1');
  if octet_length(snippet) <= 750 then
    return snippet;
  end if;
  -- The limit of forty words does not help if the text has no spaces.
  snippet := rtrim(search.truncate_to_bytes(substr(snippet, greatest(strpos(snippet, '**') - 60, 1)), 748), '*');
  return snippet || case when regexp_count(snippet, '\*\*') % 2 = 1 then '**' else '' end;
end
$$;

comment on function search.snippet(text, tsquery) is
  'The part of a text that holds most of the words, with ** around them, or the beginning of the text if words is null. At most 40 words and 750 bytes.';

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

comment on function search.passage_pattern(text) is 'A regular expression that matches the beginning of any word of the query; null if it has none.';

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

comment on function search.passage(text, text) is '4000 characters of a long text around the first match of a pattern, or the first 4000 if nothing matches.';

grant execute on function
  search.snippet_query(text), search.truncate_to_bytes(text, integer), search.snippet(text, tsquery), search.passage_pattern(text),
  search.passage(text, text)
to l9_agent, l9_admin, l9_platform_admin;
