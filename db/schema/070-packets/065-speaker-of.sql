-- Who said what a memory says. The generated column packet_store.speaker calls speaker_of(), and save_memory()
-- compares turns of conversations by it.
create function packets.words_before_a_colon() returns text[] language sql immutable parallel safe
return array[
  'a', 'action', 'attention', 'cc', 'caution', 'conclusion', 'data', 'date', 'details', 'e.g.', 'edit', 'error', 'example',
    'file', 'from', 'ftp',
  'fw', 'fwd', 'fyi', 'hint', 'http', 'https', 'i.e.', 'important', 'info', 'mailto', 'nb', 'n.b.', 'note', 'notes', 'p.s.', 'ps',
    'q',
  'question', 'answer', 're', 'reminder', 'result', 'subject', 'summary', 'tip', 'tldr', 'to', 'todo', 'update', 'warning'];
comment on function packets.words_before_a_colon is 'Words that begin a text before a colon and name nobody, such as note.';

create function packets.named_speaker(content text) returns text language sql immutable parallel safe
begin atomic
  -- The first word may be written anyhow ("user", "l-cto"). A following word does not begin with a lower-case letter, so that
  -- "I have a question:" is no name, unless it is a particle or a single letter. White space follows the colon, unlike in a URL
  -- or a time of day, except after the wide colon of Chinese and Japanese.
  select n.name
  from (
    select (regexp_match(left(content, 80),
      '^\s*([[:alnum:]@_\u0080-\uffff][^\s:：,;!?"<>{}=|*#/\\]*'
      || '(?: (?:(?:de|del|der|den|di|da|du|la|le|van|von|of|the|and|bin|ibn|al|[a-z])(?= |:|：)'
      || '|[^\sa-z:：,;!?"<>{}=|*#/\\][^\s:：,;!?"<>{}=|*#/\\]*))*)'
      || '(?::\s+|：\s*)\S'))[1] as name
  ) n
  where length(n.name) <= 60 and lower(n.name) <> all (packets.words_before_a_colon());
end;
comment on function packets.named_speaker is 'The name before a colon that begins a text, as in "Ann: good morning"; else null.';

create function packets.is_speaker(speaker text) returns boolean language sql immutable parallel safe
return octet_length(speaker) <= packets.max_reference_bytes()
  and speaker !~ '[[:cntrl:]]' and speaker ~ '^\S(.*\S)?$';
comment on function packets.is_speaker is 'True for the name of a speaker: one trimmed line of 1 to 200 bytes.';

create function packets.speaker_of(packet_type text, metadata jsonb, content text) returns text
language sql immutable parallel safe
-- Not inlined: the generated columns that call it would be planned for every statement, which takes longer than a call.
set search_path = ''
return case
  when jsonb_typeof(metadata -> 'speaker') = 'string' and packets.is_speaker(metadata ->> 'speaker') then metadata ->> 'speaker'
  when packet_type = 'message' then packets.named_speaker(content)
end;
comment on function packets.speaker_of is 'Who said it: metadata.speaker or, of a message, the name that begins its text.';

-- Writers evaluate these functions in the generated columns, so they must be executable.
grant execute on function packets.words_before_a_colon, packets.named_speaker, packets.is_speaker, packets.speaker_of to l9_agent,
  l9_admin, l9_platform_admin, l9_worker;
