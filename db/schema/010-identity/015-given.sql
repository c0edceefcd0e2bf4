-- What a caller gave: hosts fill in what they leave out with an empty list or text. Searches and saves read their optional
-- arguments so.
create function identity.is_blank(value text) returns boolean language sql immutable parallel safe
-- Without a search_path the call is inlined. The characters are told by their code points, since classes depend on the locale:
-- white space, those without a shape as in words.invisible_characters(), the fillers of Hangul, the blank of Braille.
return value !~ '[^\u0009-\u000d\u0020\u0085\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f'
  '\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0'
  '\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]';

create function identity.given_text(value text) returns text language sql immutable parallel safe
return case when not identity.is_blank(value) then value end;

create function identity.given_list(list text[]) returns text[] language sql immutable parallel safe
return nullif(list, '{}');

create function identity.given_object(value jsonb) returns jsonb language sql immutable parallel safe set search_path = ''
return (
  select pg_catalog.jsonb_object_agg(f.key, f.value)
  from pg_catalog.jsonb_each(value) as f
  where f.value not in ('null', '[]')
    and not (pg_catalog.jsonb_typeof(f.value) = 'string' and identity.is_blank(f.value #>> '{}')));
comment on function identity.is_blank is 'True if a text has nothing that can be seen.';
comment on function identity.given_text is 'The text, or null if it is blank: an optional text that is blank was left out.';
comment on function identity.given_list is 'The list, or null if it is empty: an optional list that is empty was left out.';
comment on function identity.given_object is 'The object without fields that are null, an empty list or a blank text.';
grant execute on function identity.is_blank, identity.given_text, identity.given_list, identity.given_object to l9_agent,
  l9_admin, l9_platform_admin, l9_worker;
