-- How similar two texts are by their words. find_similar() calls compare_words() for each candidate.

create function duplicates.max_parsed_chars()
returns integer
language sql
immutable
parallel safe
return 65536;

comment on function duplicates.max_parsed_chars() is
  'How many characters are parsed into words at once: a longer text may have more words than fit into one tsvector.';

create function duplicates.max_compared_chars() returns integer language sql immutable parallel safe return 131072;

comment on function duplicates.max_compared_chars() is
  'The greatest length of a text, in characters, that is compared with others word by word. Of longer ones only exact duplicates '
  'are found.';

create function duplicates.distinct_words(content text)
returns text[]
language sql
stable
parallel safe
strict
set search_path = ''
-- to_tsvector warns about and skips words over 2 kB; the warning is of no use here.
set client_min_messages = warning
return case
  when pg_catalog.length(content) <= duplicates.max_parsed_chars() and content !~ '[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]' then
    pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.simple', content))
  else array(
    -- Long texts are split, because a text of 1 MiB may have more words than fit into one tsvector. Characters of
    -- scripts without spaces count as words.
    select distinct w.lexeme
    from pg_catalog.generate_series(1, pg_catalog.length(content), duplicates.max_parsed_chars()) as piece (start)
    cross join lateral pg_catalog.unnest(pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.simple',
      pg_catalog.regexp_replace(pg_catalog.substr(content, piece.start, duplicates.max_parsed_chars()),
        '([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])', '\1 ', 'g')))) as w (lexeme))
end;

comment on function duplicates.distinct_words(text) is
  'The distinct words of a text in lower case; for scripts without spaces, its characters.';

-- Words count by their English stems. One that only one text has weighs more if it is a number, a name or a negation.
create function duplicates.compare_words(one text, other text, out similarity real, out is_distinguished boolean)
returns record
language sql
stable
parallel safe
strict
set search_path = ''
begin atomic
  with words as (
    select
      coalesce(stem.stems[1], w.word) as word,
      bool_or(w.place = 1) and bool_or(w.place = 2) as is_shared,
      bool_or(stem.stems = '{}') as is_stop_word,
      -- The t is what the parser leaves of "don't".
      bool_or(w.word in ('not', 'no', 'never', 'none', 'nor', 'without', 'cannot', 't')) as is_negation,
      bool_or(
        w.word ~ '[0-9]'
        or stem.stems <> '{}' and (
          position(upper(left(w.word, 1)) || substr(w.word, 2) in case w.place when 1 then one else other end) > 0
          or length(w.word) > 1 and position(upper(w.word) in case w.place when 1 then one else other end) > 0)
          and lower(w.word) <> upper(w.word)) as is_name_or_number
    from (
      select 1 as place, a.word from unnest(duplicates.distinct_words(one)) as a (word)
      union all
      select 2, b.word from unnest(duplicates.distinct_words(other)) as b (word)
    ) w
    cross join lateral (select ts_lexize('pg_catalog.english_stem', w.word) as stems) stem
    group by 1
  ), weighed as (
    select is_shared, is_negation or is_name_or_number as is_distinguishing,
      -- A word that only one text has weighs more if it is likely to change the meaning.
      case
        when not is_shared and is_negation then 3
        when not is_shared and is_name_or_number then 1.5
        when is_stop_word then 0.5
        else 1
      end as weight
    from words
  )
  select
    coalesce(sum(weight) filter (where is_shared) / sum(weight), 0)::real,
    coalesce(bool_or(is_distinguishing) filter (where not is_shared), false)
  from weighed;
end;

comment on function duplicates.compare_words(text, text) is
  'How much of their words two texts share, from 0 to 1: the weighted Jaccard index of English stems, without regard to word order. is_distinguished is true if a number, a name (recognised by its capitals) or a negation occurs in only one of them.';

grant execute on function duplicates.max_parsed_chars(), duplicates.max_compared_chars(), duplicates.distinct_words(text),
  duplicates.compare_words(text, text)
  to l9_agent, l9_admin, l9_platform_admin;
