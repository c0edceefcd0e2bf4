-- Whose words a memory holds. Rules about whose word counts for what ask this.

create function packets.writer_of(memory public.packet_store) returns text
language sql immutable parallel safe
return (memory).metadata ->> 'creator';

comment on function packets.writer_of is
  'The creator name of the actor whose words the memory holds. What a job extracts from the memory is this actor''s statement.';

grant execute on function packets.writer_of to l9_agent, l9_admin, l9_platform_admin, l9_worker;
