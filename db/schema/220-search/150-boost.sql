-- The formulas of a score, each beside its reason. fuse() calls them for every candidate; the ranking of memory_find
-- shares recency() and word_tests().

-- These functions set no search_path, so that they are inlined: each runs for hundreds of candidates, and setting it takes ten
-- times as long as the formula. It is safe because their bodies were parsed when the functions were created.

create function search.enough_words(weights double precision[], memories integer) returns real
language sql immutable parallel safe
-- least() alone would ignore null, and return 1.
return (select sum(w.weight) * case when memories > 0 then least(1, 100.0 / memories) end
  from unnest(weights) as w (weight))::real;
comment on function search.enough_words is 'The BM25 score from which on a hybrid search trusts words, among so many memories '
  '(null: many, and then null): that of all words of the query among 100 or fewer. Among a few memories any word is rare, so '
  'that what shares one common word with a long question would seem to be a match.';

create function search.trust_in_words(best real, enough real) returns real
language sql immutable parallel safe return case when best < enough then power(best / enough, 2)::real else 1 end;
comment on function search.trust_in_words is 'What the words weigh, from 0 to 1, given the best BM25 score of the search.';

create function search.lift_by_context(content real, context real, weight real) returns real language sql immutable parallel safe
return case
  when context > coalesce(content, 0) then coalesce(content, 0) + weight * (context - coalesce(content, 0))
  else content end;
comment on function search.lift_by_context is 'A score, raised by weight times the lead that its context''s has over it.';

create function search.lift_by_chunk(best real, whole real, weight real) returns real
language sql immutable parallel safe return case when whole < best then whole + weight * (best - whole) else best end;
comment on function search.lift_by_chunk is 'A memory''s similarity, raised by weight times its nearest vector''s lead.';

create function search.named_speakers(query text) returns text language sql immutable parallel safe
return ' ' || regexp_replace(words.fold(left(query, search.max_query_characters())), '[^[:alnum:]]+', ' ', 'g')
  || case when query ~* '\m(i|me|my|mine|myself)\M' then ' user human me i ' else ' ' end;
comment on function search.named_speakers is 'A query''s words between spaces, for is_named(); "my" means the user''s.';

create function search.first_name_patterns(query text) returns text[] language sql immutable parallel safe set search_path = ''
return array(
  select words.fold(m.word[1]) || ' %'
  from pg_catalog.regexp_matches(
    pg_catalog.left(query, search.max_query_characters()), '\m([[:upper:]][[:alnum:]]{2,})\M(?!\.? [[:upper:]]|-[[:upper:]])',
    'g') as m (word)
  where pg_catalog.ts_lexize('pg_catalog.english_stem', pg_catalog.lower(m.word[1])) <> '{}');
comment on function search.first_name_patterns is 'What the names of speakers begin with whom a query names by their first '
  'names: its words of at least three letters with a capital, without stop words. Without a capital "project" would name a '
  'Project Manager. "Ann Jones" does not name Ann Smith, so a word before another with a capital is not a first name.';

create function search.plain_name(speaker text) returns text language sql immutable parallel safe
return trim(regexp_replace(
  case when octet_length(speaker) = length(speaker) then lower(speaker) else words.fold(speaker) end, '[^[:alnum:]]+', ' ', 'g'));
comment on function search.plain_name is 'The name of a speaker in the form of named_speakers(), with single spaces.';

create function search.is_named(name text, names text, patterns text[]) returns boolean language sql immutable parallel safe
return coalesce(strpos(names, ' ' || name || ' ') > 0 or name || ' ' like any (patterns), false);
comment on function search.is_named is 'True if a plain name is among the named speakers or begins like one of the first names.';

create function search.lift_by_speaker(score real, is_named boolean, weight real) returns real
language sql immutable parallel safe return case when is_named then score * (1 + weight * (1 - score)) else score end;
comment on function search.lift_by_speaker is 'Score of a memory whose speaker the query names; 0 and 1 stay as they are.';

create function search.lift_by_neighbour(score real, neighbour real, weight real) returns real
language sql immutable parallel safe return case when neighbour > 0 then score + weight * neighbour * (1 - score) else score end;
comment on function search.lift_by_neighbour is 'Score of a memory beside one of the first hits in its thread; at most 1.';

create function search.lift_by_path(score real, path real) returns real language sql immutable parallel safe
return case when path is not null then coalesce(score, 0) + 0.3::real * path * (1 - coalesce(score, 0)) else score end;
comment on function search.lift_by_path is 'Score of a memory that states a relation on a path of this confidence; at most 1.';

create function search.lift_by_thread(score real, best real, weight real) returns real
language sql immutable parallel safe return (score + weight * best) / (1 + weight);
comment on function search.lift_by_thread is 'Score of a memory, given the best score in its thread, which keeps its own.';

create function search.word_tests(lexemes text[], query text default null, languages text[] default '{}') returns tsquery[]
language sql immutable parallel safe set search_path = ''
begin atomic
  with written as materialized (
    -- Most queries are ASCII, and their words have one form each.
    select f.lexeme, f.forms
    from (select query where pg_catalog.octet_length(query) > pg_catalog.length(query)) q (query)
    cross join lateral words.forms_in_query(q.query, languages) f
  )
  select coalesce(pg_catalog.array_agg(t.test order by t.place), '{}')
  from (
    select l.place, (
      select pg_catalog.string_agg(ranking.lexeme_query(other.lexeme)::text, ' | ')
      from pg_catalog.unnest(lexemes) as other (lexeme)
      where other.lexeme = l.lexeme
        or pg_catalog.strpos(other.lexeme, l.lexeme) > 0 and (pg_catalog.length(l.lexeme) > 1 or other.lexeme ~ '[-_/.:@#\\]')
        or other.lexeme = any (w.forms))::tsquery as test
    from pg_catalog.unnest(lexemes) with ordinality as l (lexeme, place) left join written w on w.lexeme = l.lexeme) t;
end;
comment on function search.word_tests is 'For each word of a query, what a memory that has it matches: the word itself, another '
  'form of it, or an identifier of the query that it is part of. A memory has 2026-03-06 by its date, and neither 03 nor 06.';

create function search.word_share(words tsvector, tests tsquery[], weights double precision[]) returns real
language sql immutable parallel safe
return (
  select (sum(w.weight) filter (where words @@ w.test) / nullif(sum(w.weight), 0))::real
  from unnest(tests, weights) as w (test, weight));
comment on function search.word_share is 'The weighed share of the words of a query that a memory has, by its word_tests().';

create function search.recency(age interval, half_life_days double precision) returns real language sql immutable parallel safe
return power(0.5, least(greatest(extract(epoch from age)::double precision, 0) / (86400 * half_life_days), 100))::real;
comment on function search.recency is '1 for what happened now, 0.5 after one half-life, 0.25 after two, and so on.';

create function search.max_boost(settings public.search_settings) returns real
language sql immutable parallel safe return 1 + settings.recency_boost + settings.importance_boost;
comment on function search.max_boost is 'The boost of a memory for which every signal is 1, before it is scaled to 1.';

create function search.boost(recency real, importance real, settings public.search_settings) returns real
language sql immutable parallel safe
return (1 + settings.recency_boost * recency + settings.importance_boost * importance) / search.max_boost(settings);
comment on function search.boost is 'Boost factor of a score, at most 1. It is bounded: a hit with a lower score overtakes a '
  'higher one only if its score is more than 1 / (1 + recency_boost + importance_boost) of it, which is 84 % by default and '
  'never less than 83 %.';
grant execute on function search.enough_words, search.trust_in_words, search.lift_by_context, search.lift_by_chunk,
  search.named_speakers, search.first_name_patterns, search.plain_name, search.is_named, search.lift_by_speaker,
  search.lift_by_neighbour, search.lift_by_thread, search.lift_by_path, search.word_tests, search.word_share, search.recency,
  search.max_boost, search.boost to l9_agent, l9_admin, l9_platform_admin;
