-- Tells a secret from what only looks like one: what a match of a pattern must pass besides. The searches for secrets
-- in texts and documents call passes() for each match.
create function secrets.is_placeholder(value text) returns boolean language sql immutable parallel safe
-- What documents write in place of a secret: a name, a variable, an ellipsis, one character again and again.
return value ~* '^(?:your|my|the|some|insert|enter|put)[-_ .]|^your|example|placeholder|change[-_]?me|redacted|dummy|sample|fake'
  '|x{4}|\*{3}|\.{3}|…|•|^[<${@(]|^[#%][\w/.:-]*$|\$\{|\{\{|^(?:null|undefined|none|true|false|string|number|boolean|password'
  '|passwd|pass|pwd|pw|secret|token|user|username|root|admin|guest|test|postgres|mypassword|mysecret|mytoken|p[a@]ssw[o0]rd)$'
  '|process\.env|import\.meta|os\.environ|getenv|secrets\.|^env[.(\[]|123456789|abcdefgh'
  or value ~ '^(.)\1+$';
comment on function secrets.is_placeholder is 'True if a value is what documents write in place of a secret.';

create function secrets.changes_of_class(value text) returns integer language sql immutable parallel safe
return pg_catalog.regexp_count(value, '[a-z](?=[^a-z])|[A-Z](?=[^A-Z])|[0-9](?=[^0-9])|[^A-Za-z0-9](?=[A-Za-z0-9])');
comment on function secrets.changes_of_class is 'How often the class of characters changes: in random texts twice as often.';

create function secrets.is_mixed(value text) returns boolean language sql immutable parallel safe
return pg_catalog.regexp_count(value, '[0-9]') >= greatest(1, pg_catalog.length(value) / 24)
  and secrets.changes_of_class(value) >= 0.2 * pg_catalog.length(value);
comment on function secrets.is_mixed is 'True if letters and digits alternate: a text of words has few digits, side by side.';

create function secrets.ends_in_crc32(token text) returns boolean language sql immutable parallel safe set search_path = ''
-- The random part begins behind the last underscore before it; GitHub, npm and Vercel compute the checksum of that part alone.
return (
  select pg_catalog.right(b.body, 6) = (
    select pg_catalog.string_agg(pg_catalog.substr(
      '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', (c.sum / (62 ^ n)::bigint % 62)::integer + 1, 1), ''
        order by n desc)
    from pg_catalog.generate_series(0, 5) as n)
  from (select pg_catalog.regexp_replace(token, '^[a-z]{2,4}_', '')) as b (body),
    lateral (select pg_catalog.crc32(pg_catalog.convert_to(pg_catalog.left(b.body, -6), 'UTF8'))) as c (sum));
comment on function secrets.ends_in_crc32 is 'True if a token ends in the CRC-32 of what follows its prefix, in base 62.';

create function secrets.is_random(value text) returns boolean language sql immutable parallel safe
return case
  when pg_catalog.length(value) < 16 or value ~ '^[0-9a-f]+$|^[0-9A-F]+$' then false
  when value ~ '[a-z]' and value ~ '[A-Z]' then
    pg_catalog.regexp_count(value, '[0-9]') >= pg_catalog.length(value) / 24
    and secrets.changes_of_class(value) >= 0.38 * pg_catalog.length(value)
  else pg_catalog.regexp_count(value, '[0-9]') >= pg_catalog.length(value) / 12
    and secrets.changes_of_class(value) >= 0.25 * pg_catalog.length(value)
  end;
comment on function secrets.is_random is 'True if letters and digits alternate as in a random text, not a hash or id.';

create function secrets.is_path(value text) returns boolean language sql immutable parallel safe set search_path = ''
-- Short pieces of a random text have no digit by chance, and many changes of case.
return value ~ '^/?(?:[A-Za-z0-9._-]{1,31}/)+[A-Za-z0-9._-]{1,31}$' and not exists (
  select from pg_catalog.string_to_table(value, '/') as piece
  where pg_catalog.length(piece) >= 8 and (secrets.is_random(piece)
    or piece ~ '[a-z]' and piece ~ '[A-Z]' and secrets.changes_of_class(piece) >= 0.45 * pg_catalog.length(piece)));
comment on function secrets.is_path is 'True if a text with slashes is made of names, as random base64 is not.';

-- Tests from the most common and cheapest to the rarest; the first that applies decides.
create function secrets.is_likely_value(value text, is_quoted boolean) returns boolean
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  characters constant integer := length(value);
  digits constant integer := characters - length(translate(value, '0123456789', ''));
  has_signs constant boolean := translate(value, '!#$%^&*?~', '') <> value;
begin
  -- Most values are names, types and words: they are told first, with few expressions.
  if characters not between 6 and 512 or digits = 0 and characters < 20 and not has_signs then
    return false;
  elsif secrets.is_placeholder(value) or value ~ '^(?:[\w.-]*:/|\.{0,2}/[\w.-]+/|~/|\.{1,2}/|%[a-zA-Z]/)' then
    return false;
  -- The name of another variable.
  elsif value ~ '^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$' and value ~ secrets.names_of_secrets() then
    return false;
  -- When a password was changed.
  elsif value ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+(?:Z|[+-][0-9:]+)?)?$' then
    return false;
  -- Code: a call, an option, a path of names.
  elsif not is_quoted and value ~ '[(]|^[A-Za-z_$][\w$]*[?!]?(?:\.[A-Za-z_$][\w$]*)+$|^\W+$|^--?[a-z]' and value !~ '^eyJ' then
    return false;
  elsif digits = 0 then
    return value !~ '^[\w.-]+[!?:]?$' and has_signs and value ~ '[a-z]' and value ~ '[A-Z]'
      or characters >= 20 and secrets.changes_of_class(value) >= 0.4 * characters;
  elsif value ~ '^[0-9_.,:/-]+$' then
    return is_quoted and characters >= 8 and digits = characters;
  elsif characters >= 16 and (value ~ '^[0-9a-f]+$|^[0-9a-f]{8}-[0-9a-f]{4}-' or secrets.is_random(value)) then
    return value !~ '^(?:0x|[a-z]+1|did:|[1-9A-HJ-NP-Za-km-z]{25,})' or not secrets.is_public_identifier(value)
      or value ~ '^0x.{64}$';
  elsif value ~ '^0x[0-9a-fA-F]{40}$' then
    return false;
  -- Algorithms, and words with a number: sha256, token2, user-1.
  elsif value ~* '^(?:[a-z]+[-_])?(?:(?:sha|md|utf|base|ed|secp|hs|rs|es|ps|aes|int|uint|oauth|bcrypt|argon|hmac|x|v'
      '|ascii|iso)[-_]?\d+\w*[-_.]?)+$|^[A-Za-z]*(?:[-_. ]?[A-Za-z]+)*[-_. ]?[0-9]{1,2}$' then
    return false;
  elsif has_signs or digits >= 3 then
    return true;
  else
    return secrets.changes_of_class(value) >= case when is_quoted then 3 else 4 end;
  end if;
end $$;
comment on function secrets.is_likely_value is 'True for a value that someone uses, no placeholder, type or code.';

create function secrets.names_a_place(whole text, part text) returns boolean
language sql immutable parallel safe set search_path = ''
return (
  select case
    when b.before !~* '(?:file|path|dir|folder|name|ref|arn|type|class|length|size|count|ttl)["''\]\\]{0,4}\s{0,3}'
      '(?:=>|:=|[=:>,])?\s{0,3}[bfru]{0,2}["''`\\]{0,3}$' then false
    else b.before ~* '(?:name|ref|arn|type|class|length|size|count|ttl)[^A-Za-z]*[bfru]{0,2}[^A-Za-z]*$' or part ~ '[/\\.]' end
  from (select pg_catalog.left(whole, pg_catalog.length(whole) - pg_catalog.length(part) + 1
    - pg_catalog.strpos(pg_catalog.reverse(whole), pg_catalog.reverse(part)))) as b (before));
comment on function secrets.names_a_place is 'True if the name before a value says that the value is not the secret but where it '
  'is, or how it is called, as in JWT_SECRET_FILE or secretName. whole is the match, part the value.';

create function secrets.is_labelled_value(value text) returns boolean language sql immutable parallel safe set search_path = ''
-- In a sentence, words that are joined by signs are words, and times and versions are no passwords.
return secrets.is_likely_value(value, is_quoted => false)
  and (value !~ '^[A-Za-z]+(?:[-_./@+:][A-Za-z0-9]*)+$' or pg_catalog.regexp_count(value, '[0-9]') >= 3
    or secrets.changes_of_class(value) >= 0.4 * pg_catalog.length(value))
  and value !~ '^(?:v?[0-9]+(?:[.:,/-][0-9]+)*[a-z%°]{0,3}|[0-9]+(?:[-_][A-Za-z]+)+|[A-Za-z]+://.*|[0-9]+-[a-z]+)$'
  -- A number and what it counts, as languages without spaces write it.
  and value !~ '^[0-9]*[\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3]';
comment on function secrets.is_labelled_value is 'True if what follows a label is a password, and no word, number or address.';

create function secrets.is_any_value(value text) returns boolean language sql immutable parallel safe set search_path = ''
return pg_catalog.length(pg_catalog.btrim(value, '"'' ')) >= 6 and value !~ '^["'']?\[redacted: '
  and not secrets.is_placeholder(pg_catalog.btrim(value, '"'' '))
  -- A call, a path of names, and what a redaction has left.
  and value !~ '^[A-Za-z_$][\w$]*[?!]?(?:\.[A-Za-z_$][\w$]*)*[?!]?\(|^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+$';
comment on function secrets.is_any_value is 'True if what follows a secret''s name is no placeholder and no code.';

create function secrets.decode_beginning(encoded text) returns text
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  clean text := left(translate(regexp_replace(encoded, '\s', '', 'g'), '-_=', '+/'), 80);
begin
  -- Encoded bytes that are no text are shown escaped.
  return encode(decode(left(clean, length(clean) / 4 * 4) || case length(clean) % 4
    when 2 then right(clean, 2) || '==' when 3 then right(clean, 3) || '=' else '' end, 'base64'), 'escape');
exception when others then
  return '';
end $$;
comment on function secrets.decode_beginning is 'The first 60 bytes of a text in base64; an empty text if it is not base64.';

create function secrets.passes_luhn(digits text) returns boolean language sql immutable parallel safe set search_path = ''
return (
  select sum(case when n % 2 = 1 then d when d > 4 then 2 * d - 9 else 2 * d end) % 10 = 0
  from pg_catalog.string_to_table(pg_catalog.reverse(digits), null) with ordinality as t (c, n),
    lateral (select c::integer) as v (d));
comment on function secrets.passes_luhn is 'True if the last of these digits is the check digit of the others.';

create function secrets.passes_iban(iban text) returns boolean language sql immutable parallel safe set search_path = ''
return (
  select pg_catalog.string_agg(
    case when c ~ '[0-9]' then c else (pg_catalog.ascii(c) - 55)::text end, '' order by n)::numeric % 97 = 1
  from pg_catalog.string_to_table(pg_catalog.substr(iban, 5) || pg_catalog.left(iban, 4), null) with ordinality as t (c, n));
comment on function secrets.passes_iban is 'True if the two check digits of an account number are right.';

-- One branch for each verification that a pattern can name.
create function secrets.passes(verification text, whole text, part text) returns boolean
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  case verification
    when 'none' then
      return true;
    when 'placeholder' then
      return not secrets.is_placeholder(part);
    when 'crc32' then
      return not secrets.is_placeholder(part) or secrets.ends_in_crc32(part);
    when 'random token' then
      return secrets.is_mixed(part) and not secrets.is_placeholder(part);
    when 'value' then
      return not secrets.names_a_place(whole, part) and secrets.is_likely_value(rtrim(part, '.,:;)?'), is_quoted => false);
    when 'quoted value' then
      return not secrets.names_a_place(whole, part) and secrets.is_likely_value(part, is_quoted => true);
    when 'command value' then
      -- Such an option is followed by a password, even if that is a word with a number.
      return not secrets.names_a_place(whole, part) and (secrets.is_likely_value(part, is_quoted => true)
        or length(part) >= 8 and part ~ '[A-Za-z]' and part ~ '[0-9]' and part !~ '^(?:-|[.~]{0,2}/|[\w.-]*:/)'
        and not secrets.is_placeholder(part));
    when 'labelled value' then
      -- In quotation marks, words of random letters are a password, too.
      return secrets.is_labelled_value(rtrim(part, '.,:;)?]'))
        or length(part) >= 8 and part ~ '[0-9]' and secrets.changes_of_class(part) >= 0.4 * length(part)
          and left(right(whole, length(part) + 1), 1) in ('"', '''', '`', '«', '„', '“', '‘') and part !~ '^[.~]{0,2}/'
          and not secrets.is_placeholder(part);
    when 'labelled token' then
      return length(part) >= 20 and whole !~ '://' and part !~ '[(]' and secrets.is_labelled_value(rtrim(part, '.,:;)?]'))
        and (secrets.is_random(part) or part ~ '^[0-9a-f]+$' and secrets.is_mixed(part));
    when 'any' then
      -- A redaction leaves no secret.
      return part !~ '^\[redacted: ';
    when 'any value' then
      return secrets.is_any_value(part);
    when 'random' then
      -- Text in base64, certificates and public keys of SSH.
      return whole !~ '^-|^base64,|^did:|^sha[0-9]+-|^SHA[0-9]+:|[+/\n]|\\n|^AAAA|^ssh-' and exists (
        select from regexp_split_to_table(whole, '[-_]') as piece
        where length(piece) between 32 and 512 and secrets.is_random(piece) and not secrets.is_public_identifier(piece));
    when 'long token' then
      if whole ~ '^[0-9a-fA-F]+$' then
        return length(whole) not in (32, 40, 56, 64, 96, 128);
      end if;
      -- Ids with hyphens, paths and long names are made of words and numbers.
      return secrets.is_random(whole) and whole !~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
        and not secrets.is_path(whole) and whole !~ '^did:'
        and not exists (select from string_to_table(whole, '/') as piece where secrets.is_public_identifier(piece));
    when 'base64' then
      -- Without a sign it is found as a random text of letters and digits.
      return whole ~ '[+/]' and secrets.is_random(whole) and not secrets.is_path(whole);
    when 'encoded key' then
      return secrets.decode_beginning(part) ~ 'PRIVATE KEY';
    when 'basic' then
      return secrets.decode_beginning(part) ~ '^[^\s:\\]+:[^\s\\]{3,}$'
        and not secrets.is_placeholder(split_part(secrets.decode_beginning(part), ':', 2));
    when 'luhn' then
      return length(translate(part, ' -', '')) between 13 and 19 and secrets.passes_luhn(translate(part, ' -', ''));
    when 'iban' then
      return length(translate(part, ' ', '')) between 15 and 34 and secrets.passes_iban(upper(translate(part, ' ', '')));
  end case;
end $$;
comment on function secrets.passes is 'True if a match passes its pattern''s verification. part: the secret in it.';
