-- Decides from the form of a query how memory_find searches for it. memory_find calls choose_route(), and its ranking
-- looks for quoted phrases by the same functions.
create function find.plain_text(text text) returns text language sql immutable parallel safe set search_path = ''
return pg_catalog.btrim(pg_catalog.regexp_replace(
  words.fold(pg_catalog.normalize(words.without_invisible(text), 'NFKC')), '\s+', ' ', 'g'));
comment on function find.plain_text is 'A text in the form of words.fold(), with single spaces, in which phrases are looked for.';

create function find.quoted_phrases(query text) returns text[] language sql immutable parallel safe set search_path = ''
return array(
  select find.plain_text(coalesce(m.parts[1], m.parts[2]))
  from pg_catalog.regexp_matches(query, '"([^"]*[^"[:space:]][^"]*)"|“([^”]*[^”[:space:]][^”]*)”', 'g') as m (parts));
comment on function find.quoted_phrases is 'The phrases between quotation marks in a query, in the form of find.plain_text().';

create function find.has_phrases(text text, phrases text[]) returns boolean
language sql immutable parallel safe set search_path = ''
return not exists (
  select from pg_catalog.unnest(phrases) as p (phrase) where pg_catalog.strpos(find.plain_text(text), p.phrase) = 0);
comment on function find.has_phrases is 'True if a text has all of these phrases, ignoring case, accents and white space.';

create function find.looks_exact(query text) returns boolean language sql immutable parallel safe set search_path = ''
return find.quoted_phrases(query) <> '{}' or (
  select pg_catalog.count(*) between 1 and 3 and pg_catalog.bool_and(
    words.has_identifiers(t.token)
    -- A hash, an error code, a constant, an option, a ticket, or the name of a file.
    or t.token ~ '^(?=.*[0-9])[0-9a-f]{7,64}$' or t.token ~ '^[A-Z]+[0-9][A-Z0-9]*$'
    or t.token ~ '^--?[a-z]' or t.token ~ '^#[0-9]+$' or t.token ~ '^\.?[A-Za-z0-9-]+\.[A-Za-z][A-Za-z0-9]*$')
  from pg_catalog.regexp_split_to_table(pg_catalog.btrim(query, e' \t\r\n'), '\s+') as t (token));
comment on function find.looks_exact is 'True if a query has a quoted phrase, or is one to three identifiers or paths.';

create function find.asks_for_relations(query text) returns boolean language sql immutable parallel safe
return query ~* ('\m(depend(s|ed|ing|ent|ents|ency|encies)?|rel(y|ies|ying)) (up)?on\M|\m(dependenc(y|ies)|dependents?) of\M'
  '|\m(relat(ed|es)|link(ed|s)|connect(ed|s)) (to|with)\M|\m(used|called|owned|affected|impacted|blocked|caused) by\M');
comment on function find.asks_for_relations is 'True if a query asks how things are related, as in "what depends on billing?".';

create function find.choose_route(query text, mode text) returns text language plpgsql stable set search_path = '' as $$
begin
  return case
    when query is null then 'newest'
    when mode in ('fast', 'deep') then mode
    when find.looks_exact(query) then 'fast'
    when find.asks_for_relations(query) and graph.named_entities(query, 8) <> '{}' then 'graph'
    else 'hybrid' end;
end $$;
comment on function find.choose_route is 'How a query is searched: in mode fast or deep as asked; in mode auto fast if the query '
  'looks exact, graph if it asks for relations of an entity that the caller knows, else hybrid. Without a query: newest.';
grant execute on function find.plain_text, find.quoted_phrases, find.has_phrases, find.looks_exact, find.asks_for_relations,
  find.choose_route to l9_agent, l9_admin, l9_platform_admin;
