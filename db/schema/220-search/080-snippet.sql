-- The piece of a text that a hit shows, with the words of the query between asterisks. fuse() and rank_hits() call
-- passage_pattern() once, and passage() and snippet() for each hit that they return.
create function search.truncate_to_bytes(content text, bytes integer) returns text language sql immutable parallel safe
return case
  when pg_catalog.octet_length(content) <= bytes then content
  else (
    select case when pg_catalog.octet_length(prefix.text) <= bytes then prefix.text else pg_catalog.left(content, bytes / 4) end
    from (
      -- Assume that all characters take the same number of bytes. If that is too long: no character takes more than four bytes.
      select pg_catalog.left(content,
        (bytes::bigint * pg_catalog.length(content) / pg_catalog.octet_length(content))::integer) as text
    ) prefix)
end;
comment on function search.truncate_to_bytes is 'The beginning of a text, in whole characters, of at most this number of bytes.';

-- One expression for all words of the query, since looking for each word by itself reads a long text again and again.
-- Scripts without spaces are matched by pairs of characters.
create function search.passage_pattern(query text, languages text[]) returns text
language plpgsql stable parallel safe set search_path = '' as $$
declare
  unspaced constant text := '[' || words.unspaced_characters() || ']';
  stems constant text[] := search.word_stems(query, languages);
  symbol constant text := '[\u20e3' || words.symbol_characters() || ']';
  begins text;
  parts text;
  symbols text;
  pairs text;
  singles text;
begin
  select
    string_agg(search.stem_pattern(s.stem), '|') filter (where s.stem !~ symbol),
    -- Within a camelCase word, a part begins with a capital.
    string_agg(initcap(s.stem), '|') filter (where s.stem ~ '^[a-z]+$'),
    string_agg(search.stem_pattern(s.stem), '|') filter (where s.stem ~ symbol)
  into begins, parts, symbols
  from unnest(stems) as s (stem) where s.stem !~ unspaced;
  -- Each character with the ones that follow it in the query, because pairs of characters overlap.
  select
    string_agg(c.first_one || '(?=[' || c.next_ones || '])', '|') filter (where c.next_ones <> ''),
    string_agg(c.first_one, '') filter (where c.is_single)
  into pairs, singles
  from (
    select left(s.stem, 1) as first_one, string_agg(substr(s.stem, 2), '') as next_ones, bool_or(length(s.stem) = 1) as is_single
    from unnest(stems) as s (stem) where s.stem ~ unspaced group by left(s.stem, 1)) c;
  return nullif(concat_ws('|',
    '(?<![[:alnum:]])(?:' || begins || ')[[:alpha:]]*', '(?:' || parts || ')[[:lower:]]*',
    '(?:' || symbols || ')[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]*', '(?:' || pairs || ')+' || unspaced, '[' || singles || ']'), '');
end $$;
comment on function search.passage_pattern is 'An expression for a query''s words in any of the languages, by their beginnings, '
  'its symbols and pairs of characters; null for none.';

create function search.with_written_forms(pattern text, passage text) returns text
language sql immutable parallel safe set search_path = ''
return coalesce((
  select '(?<![[:alnum:]])(?:' || pg_catalog.string_agg(distinct search.stem_pattern(f.written), '|') || ')[[:alpha:]]*|'
    || pattern
  from (
    select pg_catalog.regexp_replace(
      passage, '[\s\u00a0\u00a8\u00af\u00b4\u00b8\u1680\u2000-\u200a\u2017\u2028\u2029\u202f\u203e\u205f\u3000]', ' ', 'g')
      as passage
    -- The pattern finds the words of an ASCII text as they are.
    where pg_catalog.octet_length(passage) > pg_catalog.length(passage)
  ) p
  cross join lateral (select pg_catalog.normalize(words.without_invisible(p.passage), 'NFKC') as content offset 0) visible
  cross join lateral (
    select words.fold(visible.content) as once, words.fold(visible.content, spells_out => true) as spelt offset 0) plain
  cross join lateral unnest(
    string_to_array(p.passage, ' '), string_to_array(visible.content, ' '), string_to_array(plain.once, ' '),
    string_to_array(plain.spelt, ' '))
    as w (written, visible, once, spelt)
  cross join lateral (
    -- Without the punctuation around it.
    select pg_catalog.regexp_replace(w.written, pg_catalog.format('^%1$s|%1$s$',
      '[\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f]+'), '', 'g') as written) f
  where pg_catalog.length(f.written) between 1 and 100 and w.written !~ ('[' || words.unspaced_characters() || ']')
    -- Of ı and İ only one case differs from the plain letter.
    and (words.to_lower(w.written, false) <> w.once or w.once <> w.spelt
      or pg_catalog.upper(w.written collate pg_catalog.pg_c_utf8) <> pg_catalog.upper(w.once collate pg_catalog.pg_c_utf8))
    and (w.visible ~ pattern or w.once ~ pattern or w.spelt ~ pattern)
), pattern);
comment on function search.with_written_forms is 'A passage_pattern() that also matches words with accents or marks.';

create function search.passage(content text, pattern text) returns text
language plpgsql stable parallel safe set search_path = '' as $$
declare
  place integer;
begin
  if length(content) <= 1500 or pattern is null then
    return left(content, 1500);
  end if;
  -- regexp_instr() would find every match to return the first.
  place := strpos(regexp_replace(content, pattern, e'\x01'), e'\x01');
  if place = 0 then
    place := strpos(regexp_replace(content, search.with_written_forms(pattern, content), e'\x01'), e'\x01');
  end if;
  return substr(content, greatest(place - 300, 1), 1500);
end $$;
comment on function search.passage is '1500 characters of a text around the first match of a pattern, or else the first 1500.';

-- Counts, from each match on, the different words within the width. The first five letters stand for a word, so that
-- forms of one word count once.
create function search.densest_place(marked text, width integer) returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  max_matches constant integer := 59;
  pieces constant text[] := string_to_array(marked, e'\x01');
  matches constant integer := least(coalesce(cardinality(pieces), 0) - 1, max_matches);
  place integer := length(pieces[1]) + 1;
  places integer[];
  words text[];
  near text[];
  most integer := 0;
  densest integer;
begin
  -- A query over the matches would take several times as long to begin as these loops take in all.
  for match in 1 .. matches loop
    places[match] := place;
    words[match] := lower(left(split_part(pieces[match + 1], e'\x02', 1), 5));
    place := place + length(pieces[match + 1]) - 1;
  end loop;
  for match in 1 .. matches loop
    -- The rest has too few to be denser.
    exit when most > matches - match;
    near := '{}';
    for other in match .. matches loop
      exit when places[other] > places[match] + width;
      if words[other] <> all (near) then
        near := near || words[other];
      end if;
    end loop;
    if cardinality(near) > most then
      most := cardinality(near);
      densest := places[match];
    end if;
  end loop;
  return densest;
end $$;
comment on function search.densest_place is 'Where the most different matches stand close to each other; null for none.';

-- Marks the whole text only to find its densest place, cuts that piece out of the unmarked text at spaces, and marks
-- the piece. Limits are in bytes, because a character takes up to four.
create function search.snippet(passage text, pattern text) returns text
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  width constant integer := 240;
  -- These characters mark the words until the asterisks can be told from those of the text.
  -- Looking for the characters is many times faster than replacing them.
  content constant text := case when strpos(passage, e'\x01') + strpos(passage, e'\x02') > 0
    then translate(passage, e'\x01\x02', '') else passage end;
  marked text;
  place integer;
  snippet text;
begin
  -- Only patterns as passage_pattern() makes them: a caller could pass any other regular expression, which may take for ever.
  if pattern ~ '^[(\[]' then
    if octet_length(content) > length(content) then
      pattern := search.with_written_forms(pattern, content);
    end if;
    marked := regexp_replace(content, pattern, e'\x01\\&\x02', 'g');
  end if;
  if length(content) <= width and octet_length(content) <= 700 and marked is not null then
    snippet := marked;
  else
    place := search.densest_place(marked, width - 60);
    if place is null then
      return search.truncate_to_bytes(left(btrim(content), width), 750);
    end if;
    place := greatest(least(place - 40, length(content) - width + 1), 1);
    snippet := substr(content, place, width);
    if place > 1 then
      snippet := regexp_replace(snippet, '^\S{0,30}\s+', '');
    end if;
    if place + width <= length(content) then
      -- Backwards, because otherwise each space could begin the match.
      snippet := reverse(regexp_replace(reverse(snippet), '^\S{0,30}\s+', ''));
    end if;
    if octet_length(snippet) > 700 then
      snippet := search.truncate_to_bytes(snippet, 700);
    end if;
    snippet := regexp_replace(snippet, pattern, e'\x01\\&\x02', 'g');
  end if;
  snippet := btrim(replace(replace(replace(snippet, e'\x02\x01', ''), e'\x01', '**'), e'\x02', '**'), e' \t\r\n');
  if octet_length(snippet) <= 750 then
    return snippet;
  end if;
  snippet := rtrim(search.truncate_to_bytes(snippet, 748), '*');
  return snippet || case when regexp_count(snippet, '\*\*') % 2 = 1 then '**' else '' end;
end $$;
comment on function search.snippet is 'About 240 characters, at most 750 bytes, with the most words of a pattern in **.';
grant execute on function search.truncate_to_bytes, search.passage_pattern, search.with_written_forms, search.passage,
  search.densest_place, search.snippet to l9_agent, l9_admin, l9_platform_admin;
