-- Secrets that are written so that no pattern matches them: in letters that look like others, with characters that are not seen
-- between them, encoded, set apart or cut by line breaks. find_in_text() and redact_text() undo this before they compare a text
-- with the patterns.
create function secrets.invisible() returns text language sql immutable parallel safe
return '[\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\u3164\uFE00-\uFE0F\uFEFF'
  '\uFFA0\U000E0000-\U000E0FFF]';
comment on function secrets.invisible is 'An expression for a character that is not seen, as a soft hyphen or a tag.';

create function secrets.letters_in_disguise() returns text language sql immutable parallel safe
return '\uFF10-\uFF19\uFF21-\uFF3A\uFF3F\uFF41-\uFF5A\u2460-\u2468\u24B6-\u24EA\U0001D400-\U0001D7FF\U0001CCD6-\U0001CCF9'
  '\U0001F130-\U0001F149';
comment on function secrets.letters_in_disguise is 'The inside of brackets: full-width, mathematical, circled … letters.';

create function secrets.look_alikes() returns text language sql immutable parallel safe
return '[' || secrets.letters_in_disguise()
  || '\uFF01-\uFF5E\u00A0\u2000-\u200A\u202F\u205F\u3000\u00B2\u00B3\u00B9\u2070\u2071\u2074-\u2079\u207F\u2080-\u2089'
  || '\u02B0-\u02B8\u1D2C\u1D43\u2102\u210A-\u2113\u2115\u2119-\u211D\u2124\u212C\u212D\u212F-\u2131\u2133\u2134\u2145-\u2149'
  || '\u2010-\u2015\u2212]';
comment on function secrets.look_alikes is 'An expression for a character that stands for exactly one of ASCII.';

create function secrets.fold(content text) returns text language sql immutable parallel safe set search_path = ''
-- Each character becomes one, so that what is found stands at the same place.
return case when pg_catalog.octet_length(content) = pg_catalog.length(content) or content !~ secrets.look_alikes()
  then content else (
  select pg_catalog.string_agg(
    s.piece || coalesce(
      pg_catalog.translate(normalize(m.groups[1], nfkc), U&'\2010\2011\2012\2013\2014\2015\2212', '-------'), ''), ''
    order by s.place)
  from pg_catalog.regexp_split_to_table(content, secrets.look_alikes() || '+') with ordinality as s (piece, place)
  left join pg_catalog.regexp_matches(content, secrets.look_alikes() || '+', 'g') with ordinality as m (groups, place)
    on m.place = s.place
) end;
comment on function secrets.fold is 'A text of the same length, its look-alikes replaced by what they stand for.';

create function secrets.disguises() returns text language sql immutable parallel safe
-- Signs of East Asian texts and superscripts are common, and no disguise alone.
return '[' || secrets.letters_in_disguise() || ']{6}|[A-Za-z0-9_-][' || secrets.letters_in_disguise() || ']|['
  || secrets.letters_in_disguise() || '][A-Za-z0-9_-]|[\u2070-\u2079\u207F\u2080-\u2089\u02B0-\u02B8\u2102-\u2134]{6}|[!-~]'
  || secrets.invisible() || '+[!-~]|[\u2010-\u2015\u2212][A-Za-z0-9_]{16}';
comment on function secrets.disguises is 'An expression for where characters outside ASCII may hide a secret.';

create function secrets.encoded_sign() returns text language sql immutable parallel safe
return '(?:%[0-9A-Fa-f]{2}|&#[0-9]{1,4};|&#[xX][0-9A-Fa-f]{1,4};'
  || '|&(?:lowbar|colon|equals|sol|period|hyphen|dash|num|excl|commat|plus|amp);|\\u00[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|'
  || secrets.invisible() || ')';
comment on function secrets.encoded_sign is 'An expression for a character encoded as in URLs, HTML or code, or not seen.';

create function secrets.encoded_word() returns text language sql immutable parallel safe
return '(?:[^\s"''<>&]|&#?[A-Za-z0-9]{1,8};)*' || secrets.encoded_sign() || '(?:[^\s"''<>&]|&#?[A-Za-z0-9]{1,8};)*';
comment on function secrets.encoded_word is 'A regular expression for a word in which characters are encoded, or not seen.';

create function secrets.decode_words(content text) returns text
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  encoded text;
  code integer;
begin
  content := regexp_replace(content, secrets.invisible(), '', 'g');
  -- Also what was encoded several times: %253A is %3A.
  for encoded, code in
    select distinct m.groups[1],
      coalesce(m.groups[2]::integer, ('x' || lpad(coalesce(m.groups[3], m.groups[4], m.groups[5]), 8, '0'))::bit(32)::integer)
    from regexp_matches(content, '(&#([0-9]{1,4});|&#[xX]([0-9A-Fa-f]{1,4});|\\(?:u00|x)([0-9A-Fa-f]{2})'
      '|%(?:25)*([01346-7][0-9A-Fa-f]|2[0-46-9A-Fa-f]|5[0-9A-Fa-f]))', 'g') as m (groups)
  loop
    if code in (9, 10, 13) or code between 32 and 126 then
      content := replace(content, encoded, chr(code));
    end if;
  end loop;
  content := replace(replace(replace(replace(replace(replace(content, '&lowbar;', '_'), '&colon;', ':'), '&equals;', '='),
    '&sol;', '/'), '&period;', '.'), '&amp;', '&');
  -- The rest cannot be decoded again.
  return replace(content, '%', ' ');
end $$;
comment on function secrets.decode_words is 'Words with encoded characters of ASCII decoded, repeatedly, without unseen ones.';

create function secrets.words_apart() returns text language sql immutable parallel safe
return '(?:[!-~][ \t]){15,}[!-~]|[A-Za-z0-9_.~+/=-]+(?:[ \t]*[\\=]?\r?\n[ \t>]*[A-Za-z0-9_.~+/=-]+)+';
comment on function secrets.words_apart is 'An expression for 16 or more characters apart, and a token cut by line breaks.';

create function secrets.join_words(content text) returns text language sql immutable parallel safe set search_path = ''
return pg_catalog.regexp_replace(content, '[\\=]?\s[\s>]*', '', 'g');
comment on function secrets.join_words is 'What words_apart() matches, without the spaces and line breaks.';
