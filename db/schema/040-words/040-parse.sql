-- Turns a text into the words by which it is found. of_memory() and of_query() both call parse(), so that their words match.
create function words.stems(content text, language text) returns tsvector
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  -- Most memories are English, and a constant needs no call.
  config constant regconfig := case language when 'english' then 'pg_catalog.english'::regconfig
    else words.text_config(language) end;
  -- Only of ASCII characters there are as many as bytes. A regular expression takes several times as long.
  is_ascii constant boolean := octet_length(content) = length(content);
  separated text;
  split text;
begin
  if not words.has_identifiers(content) then
    return to_tsvector(config, words.to_lower(content, is_ascii));
  end if;
  separated := words.separate_identifiers(content);
  split := words.split_camel_case(separated);
  return to_tsvector(config, words.to_lower(split, is_ascii))
    -- What has no position is found, and counts as occurring once.
    || array_to_tsvector(words.whole_identifiers(content))
    || case when split = separated then '' else strip(to_tsvector(config, words.to_lower(separated, is_ascii))) end;
end $$;
comment on function words.stems is 'The stems of a cleaned() text''s words, its identifiers and their parts.';

create function words.parse(content text, language text, is_query boolean) returns tsvector
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  pairs tsvector := '';
  symbols text[];
  split text;
  plain text;
begin
  if octet_length(content) = length(content) then
    return words.stems(content, language);
  end if;
  symbols := words.symbols(content);
  content := words.cleaned(content);
  if content ~ ('[' || words.unspaced_characters() || ']') then
    pairs := words.character_pairs(content, not is_query);
    content := regexp_replace(content, '[' || words.unspaced_characters() || ']+', ' ', 'g');
  end if;
  if octet_length(content) > length(content) then
    split := words.split_camel_case(content);
    plain := (
      select string_agg(f.plain, ' ')
      from words.plain_forms(case when split = content then content else content || ' ' || split end) f);
  end if;
  return pairs || words.stems(content, language)
    || case when plain is null then '' else strip(words.stems(plain, language)) end
    || array_to_tsvector(symbols);
end $$;
comment on function words.parse is 'The words of a text of at most max_piece_characters(): stems() of words and plain_forms(), '
  'symbols, and pairs of characters. For a query, no single characters where there are pairs.';
grant execute on function words.stems, words.parse to l9_agent, l9_admin, l9_platform_admin, l9_worker;
