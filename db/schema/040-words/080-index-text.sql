-- What the BM25 indexes of packet_store hold: hashes of words in place of the words. The indexes and walk_words()
-- call index_text(), a generated column calls length().
create function words.index_token(lexeme text) returns text language sql immutable parallel safe strict
-- Without a search_path the call is inlined.
-- Digits alone: a text parser takes four times as long over words of letters and digits.
return (2147483648 + pg_catalog.hashtext(lexeme))::text;
comment on function words.index_token is 'A word as the index has it: its hash as a number, which two words may share.';

create function words.index_text(words tsvector) returns text language sql immutable parallel safe set search_path = ''
return (
  select coalesce(pg_catalog.string_agg(
    -- Most words occur once, or have no position.
    case when pg_catalog.cardinality(w.positions) > 1 then pg_catalog.repeat(
      words.index_token(w.lexeme) || ' ', pg_catalog.cardinality(w.positions))
    else words.index_token(w.lexeme) || ' ' end, ''), '')
  from pg_catalog.unnest(index_text.words) as w);
comment on function words.index_text is 'What the BM25 index indexes: the index_token() of each word, as often as it occurs.';

create function words.length(words tsvector) returns integer language sql immutable parallel safe set search_path = ''
return (select coalesce(sum(coalesce(pg_catalog.cardinality(w.positions), 1)), 0)::integer
  from pg_catalog.unnest(length.words) as w);
comment on function words.length is 'How many words a text has, without stop words; those without positions count once.';
grant execute on function words.index_token, words.index_text, words.length to l9_agent, l9_admin, l9_platform_admin, l9_worker;
