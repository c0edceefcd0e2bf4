create function memories.raise_not_yours(packet_id uuid)
returns void
language sql
immutable
parallel safe
set search_path = ''
return identity.raise_error('L9OWN', pg_catalog.format('memory %s is not there, or not yours', packet_id), 'packet_id');

comment on function memories.raise_not_yours(uuid) is
  'The error for a memory that is not there, not visible, or someone else''s: one text for all, so that none can be told from another.';

create function public.get_memory(packet_id uuid)
returns public.packet_store
language plpgsql
volatile
set search_path = ''
as $$
declare
  memory public.packet_store;
begin
  perform identity.require_identity();
  select p.* into memory from public.packet_store p where p.packet_id = get_memory.packet_id;
  if not found then
    perform memories.raise_not_yours(get_memory.packet_id);
  end if;
  perform audit.audit_read('READ', '{}', memory.packet_id, memory.project_id, memory.scope);
  perform importance.log_accesses('get', array[memory.packet_id], array[memory.scope], array[memory.project_id]);
  return memory;
end
$$;

comment on function public.get_memory(uuid) is
  'One memory, whole. Leaves an audit row, and one in the access log. L9OWN when it is not there or not visible: the two are never told apart.';

grant execute on function memories.raise_not_yours(uuid) to l9_agent, l9_admin, l9_platform_admin;
grant execute on function public.get_memory(uuid) to l9_agent, l9_admin, l9_platform_admin;
