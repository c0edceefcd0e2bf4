-- The words of scripts without spaces, such as Chinese and Thai: pairs of characters, which parse() adds to the other words.
create function words.unspaced_characters() returns text language sql immutable parallel safe
-- Thai, Lao, Myanmar, Khmer; the iteration mark and zero of Han; Hiragana, Katakana; Han; Hangul.
return '\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ecd\u1000-\u103f\u1050-\u109f\u1780-\u17d3\u3005\u3007\u3041-\u3096'
  '\u3099-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af\uac00-\ud7a3';
comment on function words.unspaced_characters is 'Characters of scripts without spaces between words, for brackets.';

create function words.character_pairs(content text, keeps_single boolean) returns tsvector
language sql immutable parallel safe set search_path = ''
return (
  select coalesce(pg_catalog.string_agg(
    case
      when c.next_one <> ' ' then
        c.this_one || c.next_one || ':' || least(c.place, 16383) || case when keeps_single then ' ' || c.this_one else '' end
      when c.previous_one <> ' ' then case when keeps_single then c.this_one end
      else c.this_one || ':' || least(c.place, 16383)
    end, ' '), '')::pg_catalog.tsvector
  from (
    select characters.this_one, characters.place,
      pg_catalog.lag(characters.this_one, 1, ' ') over (order by characters.place) as previous_one,
      pg_catalog.lead(characters.this_one, 1, ' ') over (order by characters.place) as next_one
    from pg_catalog.string_to_table(
      pg_catalog.regexp_replace(content, '[^' || words.unspaced_characters() || ']+', ' ', 'g'), null)
      with ordinality as characters (this_one, place)
  ) c
  where c.this_one <> ' ');
comment on function words.character_pairs is 'Adjacent characters of scripts without spaces, in pairs, and those that stand '
  'alone. keeps_single: every character by itself too, without a position, so that a query of one finds it.';
grant execute on function words.unspaced_characters, words.character_pairs to l9_agent, l9_admin, l9_platform_admin, l9_worker;
