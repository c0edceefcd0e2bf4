create function search.check_search(
  query text, k integer, mode text, tags_match text, since timestamptz, until timestamptz, threshold real,
  packet_id uuid, as_of timestamptz, max_tokens integer, filters jsonb)
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  -- All that JavaScript takes for white space, too: the gateway asks for no vector of it.
  if query is not null and query !~ '[^\s\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]' then
    perform identity.raise_error('L9VAL', 'query: must not be blank', 'query');
  elsif octet_length(query) > 32768 then
    perform identity.raise_error('L9LIM', format('query: at most 32768 bytes, got %s', octet_length(query)), 'query');
  elsif query is not null and packet_id is not null then
    perform identity.raise_error('L9VAL', 'packet_id: instead of a query, not beside one', 'packet_id');
  elsif k is null or k not between 1 and 100 then
    perform identity.raise_error('L9VAL', 'k: from 1 to 100', 'k');
  elsif mode is null or mode not in ('hybrid', 'lexical', 'semantic', 'graph') then
    perform identity.raise_error('L9VAL', 'mode: hybrid, lexical, semantic or graph', 'mode');
  elsif mode = 'graph' and packet_id is not null then
    perform identity.raise_error('L9VAL', 'mode: graph starts from the entities that a query names; leave packet_id out, or choose another mode', 'mode');
  elsif tags_match is null or tags_match not in ('any', 'all') then
    perform identity.raise_error('L9VAL', 'tags_match: any or all', 'tags_match');
  elsif not coalesce(threshold between 0 and 2, true) then
    perform identity.raise_error('L9VAL', 'threshold: a cosine distance, from 0 to 2', 'threshold');
  elsif since > until then
    perform identity.raise_error('L9VAL', 'since: must not be after until', 'since');
  elsif max_tokens not between 500 and 1000000 then
    perform identity.raise_error('L9VAL', 'max_tokens: from 500 to 1000000', 'max_tokens');
  elsif as_of > clock_timestamp() then
    perform identity.raise_error('L9VAL', 'as_of: must not be in the future', 'as_of');
  elsif octet_length(filters::text) > 16384 then
    perform identity.raise_error('L9LIM', 'scopes, kinds, tags and other filters: at most 16384 bytes together', 'filters');
  elsif query is null and packet_id is null and not filters ?| array['since', 'until', 'tags', 'kinds', 'thread_id', 'creator'] then
    perform identity.raise_error(
      'L9VAL', 'query: give a query, the packet_id of a memory to find others like it, or a filter such as since, until or tags', 'query');
  end if;
end
$$;

comment on function search.check_search(
  text, integer, text, text, timestamptz, timestamptz, real, uuid, timestamptz, integer, jsonb) is
  'L9VAL or L9LIM, naming the field, for what a search can''t be asked.';

grant execute on function search.check_search(
  text, integer, text, text, timestamptz, timestamptz, real, uuid, timestamptz, integer, jsonb)
to l9_agent, l9_admin, l9_platform_admin;
