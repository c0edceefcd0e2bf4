-- The operation delete_memory: deletes one memory. Foreign keys and triggers delete what was derived from it.
create function public.delete_memory(packet_id uuid, expected_version timestamptz default null) returns uuid
language plpgsql volatile set search_path = '' as $$
declare
  memory public.packet_store;
begin
  perform identity.require_identity();
  if expected_version is not null then
    -- Under row-level security FOR UPDATE finds only rows that the caller may change.
    select p.* into memory from public.packet_store p where p.packet_id = delete_memory.packet_id for update;
    if not found then
      perform memories.raise_not_yours(delete_memory.packet_id);
    end if;
    perform memories.check_version(memory, expected_version);
  end if;
  delete from public.packet_store p where p.packet_id = delete_memory.packet_id;
  if not found then
    perform memories.raise_not_yours(delete_memory.packet_id);
  end if;
  return delete_memory.packet_id;
end $$;
comment on function public.delete_memory is 'Deletes a memory and everything derived from it, and returns its id. Agents may '
  'delete only what they wrote; otherwise, or if the memory does not exist, L9OWN. expected_version: the updated_at that the '
  'caller has read; if the memory has changed since, nothing is deleted (L9VER).';
grant execute on function public.delete_memory to l9_agent, l9_admin;
