-- What the writer of a conversation is told that saves it as notes. save_memory() and memory_store() call conversation_notice().
create function memories.conversation_notice(draft public.packet_store, content text) returns text
language sql immutable parallel safe set search_path = ''
return case
  when (draft).packet_type = 'note' and (draft).thread_id is not null
    and packets.speaker_of('message', (draft).metadata, content) is not null
  then 'This note of a thread looks like something that somebody said. '
    'Save such texts with kind message, speaker and timestamp: they are found better, and by who said them and when.' end;
comment on function memories.conversation_notice is 'How a draft is saved better, if it is a note of a thread that names who '
  'said it, as speaker or as the name that begins its text ("Ann: good morning"). Null otherwise. Nothing is changed by itself.';
grant execute on function memories.conversation_notice to l9_agent, l9_admin;
