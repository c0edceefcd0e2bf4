-- The plain forms of words with accents and other marks. The parser adds them beside the words as they are written, in texts and
-- in queries, so that each finds the other and what is written alike comes first. The tables stand here, because an extension
-- that removes accents is not part of the embedded engine.
create function words.to_lower(content text, is_ascii boolean) returns text language sql immutable parallel safe
-- Without a search_path the call is inlined. The parser lowers words itself, by the locale of the database, which may not know É.
return case when is_ascii then content else pg_catalog.lower(content collate pg_catalog.pg_c_utf8) end;
comment on function words.to_lower is 'A text in lower case if it is not ASCII, in the same way on every server.';

create function words.fold(content text, spells_out boolean default false) returns text
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  content := words.to_lower(content, false);
  if octet_length(content) = length(content) then
    return content;
  end if;
  if spells_out and content ~ '[äöüåø]' then
    content := replace(replace(replace(replace(replace(content, 'ä', 'ae'), 'ö', 'oe'), 'ü', 'ue'), 'å', 'aa'), 'ø', 'oe');
  end if;
  -- Accents; points and vowels of Hebrew and Arabic, with the stroke that lengthens a word; the ʻokina. й, ї and ў are letters
  -- of their own.
  content := regexp_replace(normalize(content, nfkd),
    '(?<![иу])\u0306|(?<!і)\u0308|[\u0300-\u0305\u0307\u0309-\u036f\u0483-\u0487'
    '\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f'
    '\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670'
    '\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u02bb\u02bc]+',
    '', 'g');
  -- Letters that Unicode does not take apart: Latin, Greek, Cyrillic, then the forms of alef, teh, yeh, heh and kaf, and digits.
  content := translate(content,
    'øłđðħŧıŋɓɗƙƴɨʉəǝɛɔς' || 'ґ' || 'أإآٱىةؤئیکۀہھ' || '٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९',
    'olddhtinbdkyiueeeoσ' || 'г' || 'اااايهوييكههه' || '012345678901234567890123456789');
  if content ~ '[ßæœþ]' then
    content := replace(replace(replace(replace(content, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
  end if;
  return normalize(content, nfc);
end $$;
comment on function words.fold is 'A text in lower case, with plain letters in the place of those with accents and other marks: '
  'jurgen for Jürgen, weissbier for Weißbier. spells_out: with two letters for those that are also written so, as in juergen.';

create function words.plain_forms(content text) returns table (written text, plain text)
language sql immutable parallel safe set search_path = ''
begin atomic
  with texts as materialized (
    -- Spaces alone separate words here, so that the lists of words agree.
    select words.to_lower(pg_catalog.translate(content, E'\t\n\r\f\v', '     '), false) as lowered
  ), folded as materialized (
    select t.lowered, words.fold(t.lowered) as once, words.fold(t.lowered, spells_out => true) as spelt from texts t
  )
  select w.written, w.plain
  from folded f
  cross join lateral unnest(string_to_array(f.lowered, ' '), string_to_array(f.once, ' ')) as w (written, plain)
  where f.lowered <> f.once and w.written <> w.plain
  union all
  select w.written, w.plain
  from folded f
  cross join lateral unnest(string_to_array(f.lowered, ' '), string_to_array(f.spelt, ' '), string_to_array(f.once, ' '))
    as w (written, plain, folded)
  where f.once <> f.spelt and w.plain <> w.folded;
end;
comment on function words.plain_forms is 'The words of a text that have plain forms, lower-case, with both of fold().';
grant execute on function words.to_lower, words.fold, words.plain_forms to l9_agent, l9_admin, l9_platform_admin, l9_worker;
