-- The operation delete_memory: deletes one memory. Foreign keys and triggers delete what was derived from it.

create function public.delete_memory(packet_id uuid)
returns uuid
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
begin
  perform identity.require_identity();
  delete from public.packet_store p where p.packet_id = delete_memory.packet_id;
  if not found then
    perform memories.raise_not_yours(delete_memory.packet_id);
  end if;
  return delete_memory.packet_id;
end
$$;

comment on function public.delete_memory(uuid) is
  'Deletes a memory and everything derived from it, and returns its id. Agents may delete only what they wrote; otherwise, or if the memory does not exist, L9OWN.';

grant execute on function public.delete_memory(uuid) to l9_agent, l9_admin;
