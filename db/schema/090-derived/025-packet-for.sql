-- The memory that a statement is derived from. Callers of assert_fact(), apply_world_update() and the like name one, or one is saved.

create function derived.packet_for(
  kind text, content text, scope text, project_id text, source_packet uuid, envelope jsonb default '{}') returns uuid
language plpgsql volatile set search_path = ''
as $$
begin
  if source_packet is not null then
    -- Else an agent could take the statement of an administrator away, or change what it rests on.
    perform packets.claim_text(source_packet);
    return source_packet;
  end if;
  return ((public.save_memory(
    content => content, scope => scope, project_id => project_id, branch => '*', kind => kind, envelope => envelope)).memory).packet_id;
end
$$;

comment on function derived.packet_for(text, text, text, text, uuid, jsonb) is
  'The memory that something is to be derived from: source_packet or, if it is null, a new memory of this kind and content, of every branch: what is derived has no branch. Runs with the rights of the caller.';

grant execute on function derived.packet_for(text, text, text, text, uuid, jsonb) to l9_agent, l9_admin;
