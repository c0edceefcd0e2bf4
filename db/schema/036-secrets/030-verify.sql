create function secrets.is_placeholder(value text)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
-- What documents write in place of a secret: a name, a variable, an ellipsis, one character again and again.
return value ~* '^(?:your|my|the|some|insert|enter|put)[-_ .]|^your|example|placeholder|change[-_]?me|redacted|dummy|sample|fake|x{4}|\*{3}|\.{3}|…|•|^[<$%{#@(]|\$\{|\{\{|^(?:null|undefined|none|true|false|string|number|boolean|password|passwd|pass|pwd|pw|secret|token|user|username|root|admin|guest|test|postgres|mypassword|mysecret|mytoken|p[a@]ssw[o0]rd)$|process\.env|import\.meta|os\.environ|getenv|secrets\.|^env[.(\[]|123456789|abcdefgh'
  or value ~ '^(.)\1+$';

comment on function secrets.is_placeholder(text) is 'True if a value is what documents write in place of a secret.';

create function secrets.changes_of_class(value text)
returns integer
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.regexp_count(value, '[a-z](?=[^a-z])|[A-Z](?=[^A-Z])|[0-9](?=[^0-9])|[^A-Za-z0-9](?=[A-Za-z0-9])');

comment on function secrets.changes_of_class(text) is
  'How often a text changes between lower case, upper case, digits and other characters. In random texts that is more than twice as often as in names.';

create function secrets.is_random(value text)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return case
  when pg_catalog.length(value) < 16 or value ~ '^[0-9a-f]+$|^[0-9A-F]+$' then false
  when value ~ '[a-z]' and value ~ '[A-Z]' then
    pg_catalog.regexp_count(value, '[0-9]') >= pg_catalog.length(value) / 24
    and secrets.changes_of_class(value) >= 0.38 * pg_catalog.length(value)
  else pg_catalog.regexp_count(value, '[0-9]') >= pg_catalog.length(value) / 12
    and secrets.changes_of_class(value) >= 0.25 * pg_catalog.length(value)
  end;

comment on function secrets.is_random(text) is
  'True if letters and digits alternate as in a random text. Hexadecimal digits alone are not taken for one: hashes and ids are made of them.';

create function secrets.is_likely_value(value text, is_quoted boolean)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return case
  when secrets.is_placeholder(value) or value ~ '^(?:[a-z]+:/|\.{0,2}/[\w.-]+/|~/|\.{1,2}/)' then false
  -- Code: a call, an element, a property, a type, a path of names.
  when not is_quoted and value ~ '[(]|^[A-Za-z_$][\w$]*[?!]?(?:\.[A-Za-z_$][\w$]*)+$|^\W+$|^--?[a-z]' and value !~ '^eyJ' then false
  when value ~* '^(?:(?:sha|md|utf|base|ed|secp|hs|rs|es|ps|aes|int|uint|oauth|bcrypt|argon|hmac|x|v|ascii|iso)[-_]?\d+\w*[-_.]?)+$' then false
  when value ~ '^[0-9.,:/-]+$' then pg_catalog.length(value) >= 8 and is_quoted and value !~ '[.,:/-]'
  -- Random texts without digits, and with few.
  when pg_catalog.length(value) >= 16 and secrets.is_random(value) then true
  when value ~ '^[0-9a-f]{16,}$|^[0-9a-f]{8}-[0-9a-f]{4}-' then true
  when value !~ '[0-9]' then
    (value ~ '[a-z]' and value ~ '[A-Z]' and value ~ '[!#$%^&*?~]' or pg_catalog.length(value) >= 20 and secrets.changes_of_class(value) >= 0.4 * pg_catalog.length(value))
    and value !~ '^[\w.-]+[!?:]?$'
  when value !~ '[A-Za-z]' then value ~ '[!#$%^&*?~]'
  -- Words with a single digit are more often names: token2, user-1, v1.
  when value ~ '^[A-Za-z]*(?:[-_. ]?[A-Za-z]+)*[-_. ]?[0-9]{1,2}$' then false
  when is_quoted then value !~ '^[A-Za-z]+(?:[-_. ][A-Za-z0-9]+)*$' or pg_catalog.regexp_count(value, '[0-9]') >= 3
    or value ~ '^[A-Za-z0-9]+$' and secrets.changes_of_class(value) >= 3
  else value ~ '[0-9]{3}|[!#$%^&*?~]' or secrets.changes_of_class(value) >= 4
  end;

comment on function secrets.is_likely_value(text, boolean) is
  'True if what is assigned to a name such as password is a value that someone uses, rather than a placeholder, a type, or code.';

create function secrets.decode_beginning(encoded text)
returns text
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  clean text := left(translate(regexp_replace(encoded, '\s', '', 'g'), '-_=', '+/'), 80);
begin
  -- Encoded bytes that are no text are shown escaped.
  return encode(decode(left(clean, length(clean) / 4 * 4) || case length(clean) % 4
    when 2 then right(clean, 2) || '==' when 3 then right(clean, 3) || '=' else '' end, 'base64'), 'escape');
exception when others then
  return '';
end
$$;

comment on function secrets.decode_beginning(text) is 'The first 60 bytes of a text in base64; an empty text if it is none.';

create function secrets.passes_luhn(digits text)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return (
  select sum(case when n % 2 = 1 then d when d > 4 then 2 * d - 9 else 2 * d end) % 10 = 0
  from pg_catalog.string_to_table(pg_catalog.reverse(digits), null) with ordinality as t (c, n),
    lateral (select c::integer) as v (d));

comment on function secrets.passes_luhn(text) is 'True if the last of these digits is the check digit of the others.';

create function secrets.passes_iban(iban text)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return (
  select pg_catalog.string_agg(case when c ~ '[0-9]' then c else (pg_catalog.ascii(c) - 55)::text end, '' order by n)::numeric % 97 = 1
  from pg_catalog.string_to_table(pg_catalog.substr(iban, 5) || pg_catalog.left(iban, 4), null) with ordinality as t (c, n));

comment on function secrets.passes_iban(text) is 'True if the two check digits of an account number are right.';

create function secrets.passes(verification text, whole text, part text)
returns boolean
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  case verification
    when 'none' then
      return true;
    when 'placeholder' then
      return not secrets.is_placeholder(part);
    when 'value' then
      return secrets.is_likely_value(rtrim(part, '.,:;)?'), is_quoted => false);
    when 'quoted value' then
      return secrets.is_likely_value(part, is_quoted => true);
    when 'random' then
      -- Text in base64, certificates and public keys of SSH.
      return whole !~ '^-|^base64,|^sha[0-9]+-|[+/\n]|\\n|^AAAA|^ssh-' and exists (
        select from regexp_split_to_table(whole, '[-_]') as piece
        where length(piece) between 32 and 512 and secrets.is_random(piece));
    when 'long token' then
      if whole ~ '^[0-9a-fA-F]+$' then
        return length(whole) not in (32, 40, 56, 64, 96, 128);
      end if;
      -- Ids with hyphens, paths and long names are made of words and numbers.
      return secrets.is_random(whole) and whole !~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
        and whole !~ '^/?(?:[A-Za-z0-9._-]{1,31}/)+[A-Za-z0-9._-]{1,31}$';
    when 'encoded key' then
      return secrets.decode_beginning(part) ~ 'PRIVATE KEY';
    when 'basic' then
      return secrets.decode_beginning(part) ~ '^[^\s:\\]+:[^\s\\]{3,}$' and not secrets.is_placeholder(split_part(secrets.decode_beginning(part), ':', 2));
    when 'luhn' then
      return length(translate(part, ' -', '')) between 13 and 19 and secrets.passes_luhn(translate(part, ' -', ''));
    when 'iban' then
      return length(translate(part, ' ', '')) between 15 and 34 and secrets.passes_iban(translate(part, ' ', ''));
  end case;
end
$$;

comment on function secrets.passes(text, text, text) is
  'True if a match of a pattern also passes its verification. whole is the match, part the secret in it.';
