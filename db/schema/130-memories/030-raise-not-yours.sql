-- The refusal of get_memory(), update_memory() and delete_memory(), where a caller may not read or change a memory.
create function memories.raise_not_yours(packet_id uuid) returns void language plpgsql stable set search_path = '' as $$
begin
  -- Its creator knows that the memory exists, so it may learn why it is refused.
  perform packets.raise_if_held(packet_id);
  perform identity.raise_error('L9OWN', format('memory %s does not exist, or is not yours', packet_id), 'packet_id');
end $$;
comment on function memories.raise_not_yours is 'Raises L9OWN for a memory that does not exist, is not visible or belongs to '
  'someone else. One text serves all three so that callers can''t tell them apart; another one tells the creator of a memory '
  'that an administrator has written its present text.';
grant execute on function memories.raise_not_yours to l9_agent, l9_admin, l9_platform_admin;
