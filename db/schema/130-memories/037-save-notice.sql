-- What the writer of a memory is told about saving it better. save_memory() and memory_store() call save_notice().
create function memories.conversation_notice(draft public.packet_store, content text) returns text
language sql immutable parallel safe set search_path = ''
return case
  when (draft).packet_type = 'note' and (draft).thread_id is not null
    and packets.speaker_of('message', (draft).metadata, content) is not null
  then 'This note of a thread looks like something that somebody said. '
    'Save such texts with kind message, speaker and timestamp: they are found better, and by who said them and when.' end;
comment on function memories.conversation_notice is 'How a draft is saved better, if it is a note of a thread that names who '
  'said it, as speaker or as the name that begins its text ("Ann: good morning"). Null otherwise. Nothing is changed by itself.';

create function memories.save_notice(draft public.packet_store, content text, of_kind text) returns text
language sql stable parallel safe set search_path = ''
return nullif(pg_catalog.concat_ws(' ', memories.conversation_notice(draft, content), of_kind), '');
comment on function memories.save_notice is 'How a draft is saved better, or null. of_kind: kinds.kind_notice() of a free kind.';
grant execute on function memories.conversation_notice, memories.save_notice to l9_agent, l9_admin;
