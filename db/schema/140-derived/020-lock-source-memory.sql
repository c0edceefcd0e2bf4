-- Locks the memory that a row is derived from, after a check that the caller may derive from it. The functions that
-- write facts, relationships, lessons and the like call it, and so does a trigger of their tables.
create function derived.lock_source_memory(packet_id uuid, field text default 'source_packet') returns public.packet_store
language plpgsql volatile security definer set search_path = '' as $$
declare
  source public.packet_store;
begin
  -- The lock makes a concurrent move to other readers wait, and that move then also moves the new row; a move that came
  -- first is read here.
  select p.* into source from public.packet_store p where p.packet_id = lock_source_memory.packet_id and derived.is_source(p)
    for share;
  if not found then
    perform identity.raise_error('L9OWN',
      format('%s: memory %s does not exist, or is not yours', field, lock_source_memory.packet_id));
  end if;
  if identity.current_role_name() in ('l9_agent', 'l9_admin') then
    perform packets.check_scope(source.scope, source.project_id);
  end if;
  return source;
end $$;
comment on function derived.lock_source_memory is 'Returns the memory that a row is derived from, locked until the end of the '
  'transaction. L9OWN unless the caller sees it; L9SCP unless the caller may write in its scope and project. Definer: locks '
  'memories of other writers.';
