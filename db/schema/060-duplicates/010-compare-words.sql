create function duplicates.distinct_words(content text)
returns text[]
language sql
stable
parallel safe
strict
set search_path = ''
-- A "word" of two thousand letters is left out without a word.
set client_min_messages = warning
return case
  when pg_catalog.length(content) <= 65536 and content !~ '[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]' then
    pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.simple', content))
  else array(
    -- In pieces, since a text of 1 MiB may have more words than fit into one tsvector. Scripts that write no spaces are taken
    -- sign by sign.
    select distinct w.lexeme
    from pg_catalog.generate_series(1, pg_catalog.length(content), 65536) as piece (start)
    cross join lateral pg_catalog.unnest(pg_catalog.tsvector_to_array(pg_catalog.to_tsvector('pg_catalog.simple',
      pg_catalog.regexp_replace(pg_catalog.substr(content, piece.start, 65536),
        '([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])', '\1 ', 'g')))) as w (lexeme))
end;

comment on function duplicates.distinct_words(text) is 'The words of a text, in lower case, each once; of scripts without spaces, its signs.';

create function duplicates.compare_words(one text, other text, out similarity real, out are_told_apart boolean)
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
      -- What was left of "don't".
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
    select is_shared, is_negation or is_name_or_number as is_telling,
      -- A word that one of them lacks counts by how much it may change what is said.
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
    coalesce(bool_or(is_telling) filter (where not is_shared), false)
  from weighed;
end;

comment on function duplicates.compare_words(text, text) is
  'How much of their words two texts share, from 0 to 1 (weighted Jaccard, of English stems; order does not count), and whether a number, a name (by its capitals) or a negation that only one of them has tells them apart.';

grant execute on function duplicates.distinct_words(text), duplicates.compare_words(text, text)
  to l9_agent, l9_admin, l9_platform_admin;
