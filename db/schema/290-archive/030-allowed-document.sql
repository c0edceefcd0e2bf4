-- Reduces a session to the fields that may be stored. prepare_session_archive() calls allowed_document() before
-- anything else is done with the session.
create function archive.allowed_message(message jsonb, with_tool_calls boolean) returns jsonb
language sql immutable parallel safe set search_path = ''
return pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
  'role', case when pg_catalog.jsonb_typeof(message -> 'role') = 'string' then message -> 'role' end,
  'text', case when pg_catalog.jsonb_typeof(message -> 'text') = 'string' then message -> 'text' end,
  'tool_calls', case when with_tool_calls and pg_catalog.jsonb_typeof(message -> 'tool_calls') = 'array' then (
    select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
      'name', c.call -> 'name', 'input', c.call -> 'input', 'output', c.call -> 'output',
      'success', c.call -> 'success') order by c.place)
    from pg_catalog.jsonb_array_elements(message -> 'tool_calls') with ordinality as c (call, place)
    where pg_catalog.jsonb_typeof(c.call) = 'object') end));
comment on function archive.allowed_message is 'What is stored of a message: role, text and, if wanted, its tool calls.';

-- Checks the types of all known fields before it builds the document, so that a wrong one is an error rather than
-- silently dropped. Unknown fields are dropped.
create function archive.allowed_document(session jsonb, archive_fields text[]) returns jsonb
language plpgsql immutable set search_path = '' as $$
declare
  document jsonb;
  messages jsonb := session -> 'messages';
begin
  if session is null or jsonb_typeof(session) <> 'object' then
    perform identity.raise_error('L9VAL', 'session: must be an object');
  elsif identity.is_blank(coalesce(session ->> 'session_id', '')) or jsonb_typeof(session -> 'session_id') <> 'string'
    or octet_length(session ->> 'session_id') > 200 then
    perform identity.raise_error('L9VAL', 'session.session_id: must be a text of 1 to 200 bytes', 'session');
  elsif session ->> 'timestamp' is not null and kinds.field_time(session -> 'timestamp') is null
    or session ->> 'ended_at' is not null and kinds.field_time(session -> 'ended_at') is null then
    perform identity.raise_error('L9VAL', 'session.timestamp, session.ended_at: must be times as in 2026-12-31T23:59:59Z',
      'session');
  elsif coalesce(jsonb_typeof(session -> 'tool_name'), 'null') not in ('string', 'null')
      or octet_length(session ->> 'tool_name') > 100 then
    perform identity.raise_error('L9VAL', 'session.tool_name: must be a text of at most 100 bytes', 'session');
  elsif coalesce(jsonb_typeof(session -> 'success'), 'null') not in ('boolean', 'null') then
    perform identity.raise_error('L9VAL', 'session.success: must be true or false', 'session');
  elsif coalesce(jsonb_typeof(session -> 'summary'), 'null') not in ('string', 'null')
      or octet_length(session ->> 'summary') > 16384 then
    perform identity.raise_error('L9VAL', 'session.summary: must be a text of at most 16384 bytes', 'session');
  elsif coalesce(jsonb_typeof(session -> 'tags'), 'null') not in ('array', 'null')
    or exists (
      select from jsonb_array_elements(
        case when jsonb_typeof(session -> 'tags') = 'array' then session -> 'tags' else '[]' end) as t (tag)
      where jsonb_typeof(t.tag) <> 'string' or octet_length(t.tag #>> '{}') > 200) then
    perform identity.raise_error('L9VAL', 'session.tags: must be a list of texts of at most 200 bytes', 'session');
  elsif coalesce(jsonb_typeof(messages), 'null') not in ('array', 'null') then
    perform identity.raise_error('L9VAL', 'session.messages: must be a list', 'session');
  end if;
  document := jsonb_strip_nulls(jsonb_build_object(
    'session_id', session -> 'session_id', 'timestamp', session -> 'timestamp', 'ended_at', session -> 'ended_at',
    'tool_name', session -> 'tool_name', 'success', session -> 'success', 'summary', session -> 'summary',
    'tags', session -> 'tags'));
  if 'messages' = any (archive_fields) and jsonb_typeof(messages) = 'array' then
    document := document || jsonb_build_object('messages', coalesce((
      select jsonb_agg(archive.allowed_message(m.message, 'tool_calls' = any (archive_fields)) order by m.place)
      from jsonb_array_elements(messages) with ordinality as m (message, place)
      where jsonb_typeof(m.message) = 'object'), '[]'));
  end if;
  return document;
end $$;
comment on function archive.allowed_document is 'What may be stored of a session: listed fields, or L9VAL for a wrong type.';
