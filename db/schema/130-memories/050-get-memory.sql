-- The operation get_memory: reads one memory in full, and writes the audit log and the access log.
create function public.get_memory(packet_id uuid) returns public.packet_store language plpgsql volatile set search_path = '' as $$
declare
  memory public.packet_store;
begin
  select p.* into memory from public.packet_store p where p.packet_id = get_memory.packet_id;
  if not found then
    -- A session without an identity is told so: it finds nothing.
    perform identity.require_identity();
    perform memories.raise_not_yours(get_memory.packet_id);
  end if;
  perform importance.record_read(memory.packet_id, memory.project_id, memory.scope);
  return memory;
end $$;
comment on function public.get_memory is 'Returns one memory in full. Writes an audit row and an access log row. L9OWN if the '
  'memory does not exist or is not visible; the two cases give the same error.';
grant execute on function public.get_memory to l9_agent, l9_admin, l9_platform_admin;
