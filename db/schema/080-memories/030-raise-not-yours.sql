create function memories.raise_not_yours(packet_id uuid)
returns void
language sql
immutable
parallel safe
set search_path = ''
return identity.raise_error('L9OWN', pg_catalog.format('memory %s does not exist, or is not yours', packet_id), 'packet_id');

comment on function memories.raise_not_yours(uuid) is
  'Raises L9OWN for a memory that does not exist, is not visible or belongs to someone else. One text serves all three so that callers can''t tell them apart.';

grant execute on function memories.raise_not_yours(uuid) to l9_agent, l9_admin, l9_platform_admin;
