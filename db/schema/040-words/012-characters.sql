-- What characters are for words: those that nobody sees, those that separate words, and those that are words of their own. They
-- are told by their code points alone, so that the result does not depend on the database's locale.
create function words.invisible_characters() returns text language sql immutable parallel safe
-- Soft hyphen; grapheme joiner; marks of direction; vowel separators and selectors of Mongolian; zero-width space, non-joiner
-- and joiner; word joiner and invisible operators; variation selectors; byte order mark; tags.
return '\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff';
comment on function words.invisible_characters is 'Characters without a shape, for the brackets of a regular expression.';

create function words.without_invisible(content text) returns text language sql immutable parallel safe set search_path = ''
-- The test is several times faster than the replacement.
return case when content ~ ('[' || words.invisible_characters() || ']')
  then pg_catalog.regexp_replace(content, '[' || words.invisible_characters() || ']+', '', 'g') else content end;
comment on function words.without_invisible is 'A text without its invisible_characters(): they cut no word in two.';

create function words.symbol_characters() returns text language sql immutable parallel safe
-- Signs of money, copyright and degrees; arrows, mathematics and technical signs; geometric shapes, dingbats and emoji.
return '\u00a2-\u00a5\u00a7\u00a9\u00ae\u00b0\u00b1\u00b6\u00d7\u00f7\u20a0-\u20cf\u2117\u2120-\u2122'
  '\u2190-\u23ff\u25a0-\u27bf\u27f0-\u27ff\u2900-\u2bff\u303d'
  '\U0001f000-\U0001f0ff\U0001f18e\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff';
comment on function words.symbol_characters is 'Characters that are words, as emoji, for the brackets of an expression.';

create function words.symbols(content text) returns text[] language sql immutable parallel safe set search_path = ''
return array(
  with found as materialized (
    -- A flag, a key, or a symbol with its variation, color of skin and tags, joined with others by zero-width joiners.
    select distinct pg_catalog.regexp_replace(m.match[1], '[\ufe0e\ufe0f]', '', 'g') as symbol
    from pg_catalog.regexp_matches(content, pg_catalog.format(
        '([\U0001f1e6-\U0001f1ff]{2}|[0-9#*]\ufe0f?\u20e3|%1$s(?:\u200d%1$s)*)',
        '[' || words.symbol_characters() || '][\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*'), 'g') as m (match)
    limit 1000
  ), plain as (
    select pg_catalog.regexp_replace(f.symbol, '(.)[\U0001f3fb-\U0001f3ff]', '\1', 'g') as symbol from found f
  )
  select f.symbol from found f
  union
  select p.symbol from plain p
  union
  select part.symbol from plain p cross join lateral pg_catalog.string_to_table(p.symbol, U&'\200D') as part (symbol));
comment on function words.symbols is 'The symbols of a text, without variants and colors of skins, and the parts of joined ones.';

create function words.cleaned(content text) returns text language plpgsql immutable parallel safe set search_path = '' as $$
begin
  -- In some locales symbols, dashes and quotation marks count as letters. A key is a symbol with its digit.
  content := regexp_replace(words.without_invisible(regexp_replace(content,
      '[' || words.symbol_characters() || '\U0001f3fb-\U0001f3ff]|[0-9#*]\ufe0f?\u20e3', ' ', 'g')),
    '[\u00a0-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u05be\u05c0\u05c3\u05c6'
    '\u2000-\u206f\u2190-\u245f\u2500-\u2bff\u3000-\u3004\u3008-\u303f\ufffc\ufffd]+',
    ' ', 'g');
  -- Full-width letters and ligatures become plain letters, and an accent that is a character of its own joins its letter.
  return case when octet_length(content) = length(content) then content else normalize(content, nfkc) end;
end $$;
comment on function words.cleaned is 'A text without what is no letter and no digit of a word, if it is not ASCII.';
grant execute on function words.invisible_characters, words.without_invisible, words.symbol_characters, words.symbols,
  words.cleaned to l9_agent, l9_admin, l9_platform_admin, l9_worker;
