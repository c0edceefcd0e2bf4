create function derived.lock_source_memory(packet_id uuid, field text default 'source_packet')
returns public.packet_store
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source public.packet_store;
begin
  -- Locked: whoever moves it to other readers meanwhile waits, and then takes along what is derived now; or was first, and
  -- then it is read as it has become.
  select p.* into source from public.packet_store p where p.packet_id = lock_source_memory.packet_id and derived.is_source(p) for share;
  if not found then
    perform identity.raise_error('L9OWN', format('%s: memory %s is not there, or not yours', field, lock_source_memory.packet_id), field);
  end if;
  if identity.current_role_name() in ('l9_agent', 'l9_admin') then
    perform packets.check_scope(source.scope, source.project_id);
  end if;
  return source;
end
$$;

comment on function derived.lock_source_memory(uuid, text) is
  'The memory that something is derived from, locked until the end of the transaction. The caller must see it (else L9OWN) and may write in its scope and project (else L9SCP). Not executable by callers: functions of the owner call it. Definer: locks memories of other writers.';
