-- The words by which a memory is found. The trigger that sets packet_store.words calls of_memory(), as do searches
-- that look at earlier versions.
create function words.max_piece_characters() returns integer language sql immutable parallel safe return 8192;
comment on function words.max_piece_characters is 'How many characters are parsed at once, to fit into one tsvector.';

create function words.max_lexemes() returns integer language sql immutable parallel safe return 25000;
comment on function words.max_lexemes is 'With so many words, a content''s rest is left out: more would not fit a tsvector.';

create function words.max_word_bytes() returns integer language sql immutable parallel safe return 2000;
comment on function words.max_word_bytes is 'A word of so many bytes fits into a tsvector. Longer ones may be left out.';

-- A long content is parsed in pieces, cut at white space, because the words of all of it may not fit into one tsvector.
create function words.of_content(content text, language text) returns tsvector
language plpgsql immutable parallel safe set search_path = ''
-- to_tsvector warns about and skips words over 2 kB; the warning is of no use here.
set client_min_messages = warning as $$
declare
  total constant integer := length(content);
  most constant integer := words.max_piece_characters();
  -- Finding the n-th character takes n steps, so pieces are taken from a stretch of the content.
  stretch text := '';
  stretch_place integer := 1;
  piece text;
  place integer := 1;
  answer tsvector := '';
begin
  if total <= most then
    return words.parse(content, language, is_query => false);
  end if;
  while place <= total and length(answer) < words.max_lexemes() loop
    if place + most > stretch_place + length(stretch) then
      stretch := substr(content, place, 16 * most);
      stretch_place := place;
    end if;
    piece := substr(stretch, place - stretch_place + 1, most);
    if place + length(piece) <= total then
      -- No word is cut in two, unless it is as long as the piece.
      piece := coalesce(substring(piece from '^(.*)\s'), piece);
    end if;
    answer := answer || words.parse(piece, language, is_query => false);
    place := place + length(piece);
  end loop;
  return answer;
end $$;
comment on function words.of_content is 'The words of a content of any length. Of one with too many words, the end is left out.';

create function words.of_memory(content text, language text, event_time timestamptz, kind text) returns tsvector
language sql immutable parallel safe
-- Without a search_path the call is inlined.
return case
    -- Most contents are short: they hold no word that to_tsvector() would warn about, and are parsed at once.
    when octet_length(content) <= words.max_word_bytes() then words.parse(content, language, is_query => false)
    else words.of_content(content, language)
  end || case when kind = 'message' then coalesce(words.date_words(event_time), '') else '' end;
comment on function words.of_memory is 'The words by which a memory is found: those of its content and, for a message, the date '
  'of the event. Of a content with too many words, the end is left out.';
grant execute on function words.max_piece_characters, words.max_lexemes, words.max_word_bytes, words.of_content, words.of_memory
  to l9_agent, l9_admin, l9_platform_admin, l9_worker;
