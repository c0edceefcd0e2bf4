-- Turns a text into the words by which it is found. of_memory() and of_query() both call parse(), so that their words
-- match.

create function words.to_lower(content text, is_ascii boolean)
returns text
language sql
immutable
parallel safe
-- Without a search_path the call is inlined.
-- The parser lowers words itself, by the locale of the database, which may not know É.
return case when is_ascii then content else pg_catalog.lower(content collate pg_catalog.pg_c_utf8) end;

comment on function words.to_lower(text, boolean) is 'A text in lower case if it is not ASCII, in the same way on every server.';

-- Each step is taken only for a text that needs it: most are ASCII, and many hold no identifier.
create function words.parse(content text, language text, is_query boolean)
returns tsvector
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  -- Most memories are English, and a constant needs no call.
  config constant regconfig := case language when 'english' then 'pg_catalog.english'::regconfig else words.text_config(language) end;
  -- Only of ASCII characters there are as many as bytes. A regular expression takes several times as long.
  is_ascii boolean := octet_length(content) = length(content);
  pairs tsvector := '';
  separated text;
  split text;
begin
  if not is_ascii then
    -- In some locales dashes and quotation marks count as letters.
    content := regexp_replace(content, '[\u00a0-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u2000-\u206f\u2190-\u2bff\u3000-\u3004\u3008-\u303f]+', ' ', 'g');
    is_ascii := octet_length(content) = length(content);
  end if;
  if not is_ascii then
    -- Full-width letters become plain ones, and an accent that is a character of its own joins its letter.
    content := normalize(content, nfkc);
    if content ~ ('[' || words.unspaced_characters() || ']') then
      pairs := words.character_pairs(content, not is_query);
      content := regexp_replace(content, '[' || words.unspaced_characters() || ']+', ' ', 'g');
    end if;
  end if;
  if not words.has_identifiers(content) then
    return pairs || to_tsvector(config, words.to_lower(content, is_ascii));
  end if;
  separated := words.separate_identifiers(content);
  split := words.split_camel_case(separated);
  return pairs
    || to_tsvector(config, words.to_lower(split, is_ascii))
    -- What has no position is found, and counts as occurring once.
    || array_to_tsvector(words.whole_identifiers(content))
    || case when split = separated then '' else strip(to_tsvector(config, words.to_lower(separated, is_ascii))) end;
end
$$;

comment on function words.parse(text, text, boolean) is
  'The words of a text of at most max_piece_characters() characters: the stems of its words, the parts of its identifiers and the identifiers as a whole, and pairs of characters of scripts without spaces. For a query, single characters are left out where there are pairs.';

grant execute on function words.to_lower(text, boolean), words.parse(text, text, boolean) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
