-- Compares two texts by their words: how much they share, and whether what differs changes what they say. find_similar()
-- calls compare_used_words() for each candidate.
create function duplicates.max_parsed_chars() returns integer language sql immutable parallel safe return 65536;
comment on function duplicates.max_parsed_chars is 'How many characters are parsed at once, to fit into one tsvector.';

create function duplicates.max_compared_chars() returns integer language sql immutable parallel safe return 131072;
comment on function duplicates.max_compared_chars is 'Longer texts are only compared for exact duplicates.';

create function duplicates.distinct_words(content text) returns text[]
language sql stable parallel safe strict set search_path = ''
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
comment on function duplicates.distinct_words is 'Distinct words in lower case; of scripts without spaces, characters.';

create type duplicates.used_word as (place integer, word text, spelling text, is_start boolean, is_flag boolean, adjoins boolean);
comment on type duplicates.used_word is 'A word where it stands in a text: place, lower-case and written form, and what begins '
  'or precedes it.';

create function duplicates.plain_text(content text) returns text
language plpgsql immutable parallel safe strict set search_path = '' as $$
begin
  content := normalize(content, nfkc);
  if octet_length(content) > length(content) then
    -- Vowel marks, joiners and invisible characters make no other word; digits of other scripts are digits.
    content := translate(
      regexp_replace(
        content, '[\u00ad\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0640\u200b-\u200f\u2060\ufe0f\ufeff]', '', 'g'),
      '٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९০১২৩৪৫৬৭৮৯๐๑๒๓๔๕๖๗๘๙’ʼ−–',
      '01234567890123456789012345678901234567890123456789''''--');
    if content ~ '[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]' then
      -- The Korean word for "not" is a syllable of many others, so it is told by its spaces. Few of 少な- are negations.
      content := regexp_replace(content, '(^|\s)안\s', '\1 않 ', 'g');
      content := regexp_replace(content, '少な([くい])', '少 \1', 'g');
      content := regexp_replace(content, '([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])', ' \1 ', 'g');
    end if;
  end if;
  -- Arrows compare nothing, and "don't" is "do not".
  content := regexp_replace(content, '-+>|=>|<-+', ' ', 'g');
  if position('''' in content) > 0 then
    content := regexp_replace(content, '\mcan''t\M', 'can not', 'gi');
    content := regexp_replace(content, '\mwon''t\M', 'will not', 'gi');
    content := regexp_replace(content, 'n''t\M', ' not', 'gi');
    -- The apostrophe within п'ять is part of the word.
    content := regexp_replace(content, '([\u0400-\u04ff])''(?=[\u0400-\u04ff])', '\1', 'g');
  end if;
  return regexp_replace(content, '\mcannot\M', 'can not', 'gi');
end $$;
comment on function duplicates.plain_text is 'A text in one form: digits of every script as ASCII, without marks and joiners, '
  'contractions in full, characters of scripts without spaces apart.';

create function duplicates.used_words(content text) returns duplicates.used_word[]
language sql immutable parallel safe strict set search_path = ''
return (
  select pg_catalog.array_agg(row(
    t.place,
    case
      when t.found[2] !~ '^[0-9]' then pg_catalog.lower(t.found[2] collate pg_catalog.pg_c_utf8)
      -- A sign belongs to its number, a separator of thousands does not.
      else case when t.found[1] ~ '(^|[\s(=:])-$' then '-' else '' end
        || case when t.found[2] ~ '^[0-9]{1,3}(,[0-9]{3})+$' then pg_catalog.replace(t.found[2], ',', '') else t.found[2] end
    end,
    t.found[2], t.place = 1 or t.found[1] ~ '[.!?:;\n*#>|•(\[{"„“«]',
    t.found[1] ~ '(^|[\s`"''(])--?$',
    t.found[1] ~ '^ *$')::duplicates.used_word order by t.place)
  from pg_catalog.regexp_matches(duplicates.plain_text(content) collate pg_catalog.pg_c_utf8,
    '([^[:alnum:]_<>=≤≥≠%‰$€£¥₹°✅❌✓✗✔✘👍👎⛔🚫]*)'
    -- A number with its parts, as in 10:30, 2026-03-01 and 2.4.1; a word; a sign that compares or measures.
    || '([0-9]+(?:[.,:/-][0-9]+)*|[[:alpha:]_\u0900-\u0dff][[:alnum:]_\u0900-\u0dff]*|[<>!=]=|[[:alnum:]]'
    || '|[<>=≤≥≠%‰$€£¥₹°✅❌✓✗✔✘👍👎⛔🚫])', 'g') with ordinality as t (found, place));
comment on function duplicates.used_words is 'The words of a text in their order.';

create function duplicates.stemmer_of(language text) returns regdictionary language sql stable parallel safe set search_path = ''
return (case when language = any (words.languages()) and language <> 'none' then 'pg_catalog.' || language || '_stem'
  else 'pg_catalog.english_stem' end)::pg_catalog.regdictionary;
comment on function duplicates.stemmer_of is 'The dictionary that stems the words of a language.';

-- Counts the words of both texts, looks up the meanings of those that differ, and compares the rest by their stems.
-- Texts that share little are compared no further.
create function duplicates.compare_used_words(
  one duplicates.used_word[], other duplicates.used_word[], language text, out similarity real, out is_distinguished boolean)
returns record
language sql stable parallel safe set search_path = ''
begin atomic
  with uses as materialized (
    select s.side, u.place, u.word, u.spelling, u.is_start, u.is_flag, u.adjoins,
      lag(u.word) over (partition by s.side order by u.place) as before,
      lead(u.word) over (partition by s.side order by u.place) as behind,
      lead(u.word, 2) over (partition by s.side order by u.place) as second_behind,
      lead(u.adjoins) over (partition by s.side order by u.place) as is_joined,
      lead(u.adjoins, 2) over (partition by s.side order by u.place) as is_second_joined
    from (select 1 as side, one as used union all select 2, other) s cross join lateral unnest(s.used) as u
  ), counted as materialized (
    select u.word, count(*) filter (where u.side = 1) as in_one, count(*) filter (where u.side = 2) as in_other,
      bool_or(u.is_flag or position('_' in u.word) > 1 or substr(u.spelling, 2) <> substr(u.word, 2))
        and bool_or(u.word !~ '^[0-9-]') as is_code,
      -- Of options, identifiers and symbols of units, such as -v and mW, the case tells.
      bool_or(u.is_flag or position('_' in u.word) > 1 or u.spelling ~ '[[:lower:]][[:upper:]]')
        and array_agg(distinct u.spelling) filter (where u.side = 1)
          <> array_agg(distinct u.spelling) filter (where u.side = 2) as is_recased,
      bool_or(u.spelling <> u.word and not u.is_start) as is_capital, bool_or(u.spelling <> u.word
        and u.is_start) as is_beginning,
      bool_or(u.spelling = u.word) and upper(u.word) <> u.word as is_lower
    from uses u group by u.word
  ), rough as materialized (
    -- Texts that share little are compared no further.
    select count(*) filter (where in_one > 0 and in_other > 0) > 0.4 * count(*) as is_near from counted
  ), stemmed as materialized (
    select c.*, stem.stems[1] as stem, coalesce(stem.stems = '{}', false) as is_stop
    from counted c
    cross join lateral (select ts_lexize(duplicates.stemmer_of(compare_used_words.language), c.word) as stems) stem
  ), spoken as materialized (
    select m.language
    from (
      select v.language, count(*) as words, max(count(*)) over () as most
      from duplicates.telling_words v join counted c on c.word = v.word
      where v.class = 'marker' and (select is_near from rough) group by v.language) m
    where m.words >= 0.7 * m.most
  ), grams as (
    select g.gram, count(*) filter (where u.side = 1) - count(*) filter (where u.side = 2) as surplus
    from uses u
    cross join lateral (values
      (case when u.is_joined then u.word || u.behind end),
      (case when u.is_joined and u.is_second_joined then u.word || u.behind || u.second_behind end)) as g (gram)
    where u.word ~ '^[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]$' and g.gram is not null group by g.gram
    having count(*) filter (where u.side = 1) <> count(*) filter (where u.side = 2)
  ), changed as materialized (
    select s.word, s.in_one - s.in_other as surplus from stemmed s where s.in_one <> s.in_other and (select is_near from rough)
    union all
    select g.gram, g.surplus from grams g where (select is_near from rough)
  ), meanings as materialized (
    select c.word, c.surplus, v.class, v.means,
      row_number() over (partition by c.word, v.class = 'instead' order by right(v.word, 1) = '*', length(v.word) desc,
        v.class, v.means) as choice
    from changed c
    join duplicates.telling_words v
      on v.word = any (array(
        select c.word union all select left(c.word, n) || '*' from generate_series(2, least(length(c.word), 12)) as n))
      and v.class in ('negation', 'number', 'date', 'time', 'unit', 'instead')
      and (not v.is_shared or v.language in (select language from spoken))
    union all
    select c.word, c.surplus, 'number', c.word, 1 from changed c where c.word ~ '[0-9]'
    union all
    -- Numbers in one word, such as fünfundzwanzig and ventidue.
    select distinct c.word, c.surplus, 'number', c.word, 1
    from changed c
    join duplicates.telling_words first on first.class = 'number' and first.word = any (array(
      select left(c.word, n) from generate_series(2, least(length(c.word) - 2, 10)) as n))
    join duplicates.telling_words last on last.class = 'number' and last.word = any (array(
      select right(c.word, n) from generate_series(3, least(length(c.word) - 2, 10)) as n))
    where length(c.word) > 5 and substr(c.word, length(first.word) + 1, length(c.word) - length(first.word) - length(last.word))
      in ('', 'und', 'en', 'ën', 'og', 'och')
  ), keyed as materialized (
    select s.word, s.in_one, s.in_other, s.is_code, s.is_capital, s.is_beginning, s.is_lower,
      s.is_stop or exists (
        select from duplicates.telling_words v
        where v.word = s.word and v.class = 'marker' and v.language in (select language from spoken)) as is_stop,
      coalesce(m.class || ' ' || m.means, s.stem, s.word) as key
    from stemmed s
    left join meanings m on m.word = s.word and m.class <> 'instead' and m.choice = 1
  ), keys as materialized (
    select k.key, sum(k.in_one) as in_one, sum(k.in_other) as in_other, bool_or(k.is_stop) as is_stop,
      bool_or(k.is_code) or bool_or(k.is_capital) and not bool_or(k.is_lower) and not bool_or(k.is_stop) as is_name
    from keyed k group by k.key
  ), slots as materialized (
    -- Where one text has another word than the other between the same two words.
    select u.word, u.before, u.behind, count(*) filter (where u.side = 1) - count(*) filter (where u.side = 2) as surplus
    from uses u
    where (select is_near from rough) group by u.word, u.before, u.behind
    having count(*) filter (where u.side = 1) <> count(*) filter (where u.side = 2)
  )
  select
    coalesce((
      select sum(case when k.is_stop then 0.5 else 1 end) filter (where k.in_one > 0 and k.in_other > 0)
        / sum(case when k.is_stop then 0.5 else 1 end)
      from keys k), 0)::real,
    exists (
      select from meanings m
      where m.class <> 'instead' and m.choice = 1 group by m.class, m.means
      having sum(m.surplus) <> 0)
    or exists (select from counted c where c.is_recased)
    -- Names of people, which Chinese, Japanese and Korean tell by a title.
    or exists (select from changed c where c.word ~ '^([一-龯](さん|くん|先生|女士)|[一-龯]{1,2}[様氏]|[가-힣]{1,2}[씨님])$')
    or exists (
      select from meanings a join meanings b on a.class = 'instead' and b.class = 'instead'
        and split_part(a.means, '/', 1) = split_part(b.means, '/', 1) and a.means <> b.means
      where a.surplus > 0 and b.surplus < 0)
    or exists (
      select from keys k
      -- In German every noun is written like a name; what is put in the place of another is found below.
      where k.is_name and (k.in_one = 0 or k.in_other = 0)
        and (not exists (select from spoken where spoken.language = 'de')
          or exists (select from keyed w where w.key = k.key and w.is_code))
        and k.key not like 'time %'
        -- A time zone tells only in the place of another.
        and not exists (select from keyed w join meanings m on m.word = w.word and m.means like 'zone/%' where w.key = k.key))
    or exists (
      select
      from slots a join slots b on (a.before, a.behind) is not distinct from (b.before, b.behind) and a.word <> b.word
      join keyed x on x.word = a.word join keyed y on y.word = b.word
      where a.surplus > 0 and b.surplus < 0 and x.key <> y.key and not x.is_stop and not y.is_stop
        and (a.before is not null or a.behind is not null)
        and case when x.in_one = x.in_other then
          -- Two words have changed places, unless they are only listed in another order.
          y.in_one = y.in_other
          and not coalesce(a.before in ('and', 'or', 'und', 'oder', 'et', 'ou', 'y', 'o', 'e', 'i', 'и', 'og', 'och',
            'en'), false)
          and not coalesce(a.behind in ('and', 'or', 'und', 'oder', 'et', 'ou', 'y', 'o', 'e', 'i', 'и', 'og', 'och',
            'en'), false)
        else x.in_other = 0 and y.in_one = 0 and not x.is_lower and not y.is_lower
          and (x.is_capital or x.is_beginning) and (y.is_capital or y.is_beginning)
        end)
    or exists (
      select
      from changed a
      join changed b on sign(a.surplus) = -sign(b.surplus)
      join duplicates.telling_words p on p.class = 'prefix' and starts_with(b.word, p.word)
      left join stemmed x on x.word = a.word
      left join stemmed y on y.word = b.word
      where length(a.word) >= case when p.word in ('a', 'o', 'u', 'on') then 5 when p.word in ('ن', 'نا', 'بی', 'لا', 'अ')
        then 2 else 3 end
        and (b.word = p.word || a.word or y.stem = p.word || x.stem))
    or exists (
      select
      from changed a
      join changed b on sign(a.surplus) = -sign(b.surplus)
      join duplicates.telling_words p on p.class = 'suffix' and b.word = a.word || p.word
      where length(a.word) >= 3)
    or exists (
      select
      from changed a
      join duplicates.telling_words p on p.class = 'prefixes' and starts_with(a.word, p.word)
      join duplicates.telling_words q on q.class = 'prefixes' and split_part(q.means, '/', 1) = split_part(p.means, '/',
        1) and q.means > p.means
      join changed b on sign(a.surplus) = -sign(b.surplus) and b.word = q.word || substr(a.word, length(p.word) + 1)
      where length(a.word) - length(p.word) >= 4)
    or exists (
      select
      from changed a
      join duplicates.telling_words p on p.class = 'suffixes' and right(a.word, length(p.word)) = p.word
      join duplicates.telling_words q on q.class = 'suffixes' and split_part(q.means, '/', 1) = split_part(p.means, '/',
        1) and q.means <> p.means
      join changed b on sign(a.surplus) = -sign(b.surplus) and b.word = left(a.word, -length(p.word)) || q.word
      where length(a.word) - length(p.word) >= 3)
    or exists (
      -- The Turkish negation stands within the verb: kalıyor, kalmıyor; çalışır, çalışmaz.
      select
      from changed a join changed b on sign(a.surplus) = -sign(b.surplus) and length(b.word) between length(a.word)
        and length(a.word) + 3
      cross join lateral generate_series(2, length(b.word) - 2) as at
      where substr(b.word, at + 1, 2) ~ 'm[aeıiuü]'
        and a.word in (
          left(b.word, at) || substr(b.word, at + 3), left(b.word, at) || regexp_replace(substr(b.word, at + 3), '^y', ''),
          left(b.word, at) || substr(b.word, at + 2, 1) || regexp_replace(substr(b.word, at + 3), '^z', 'r'),
          left(b.word, at) || regexp_replace(substr(b.word, at + 3), '^z', 'r')));
end;
comment on function duplicates.compare_used_words is 'How much of their words two texts share, from 0 to 1: the Jaccard index of '
  'stems, without regard to word order; frequent words weigh half. is_distinguished: the words that differ hold a negation or '
  'its prefix, a number, a unit, a date, a time, a name or the opposite of one another, or two words have changed places, so '
  'that the texts don''t say the same, however similar they are.';
grant execute on function duplicates.max_parsed_chars, duplicates.max_compared_chars, duplicates.distinct_words,
  duplicates.plain_text, duplicates.used_words, duplicates.stemmer_of, duplicates.compare_used_words to l9_agent, l9_admin;
