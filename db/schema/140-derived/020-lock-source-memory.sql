-- Locks the memory that a row is derived from, after a check that the caller may derive from it. The functions that
-- write facts, relationships, lessons and the like call it, and so does a trigger of their tables.

-- What is stated from a memory that counts would count at once, so a caller whose saves there need a review states nothing.
create function derived.refuse_unreviewed(source public.packet_store, field text, kind text) returns void
language plpgsql stable set search_path = '' as $$
declare
  me constant identity.identity := identity.current_identity();
begin
  if not derived.is_being_restated(source.packet_id) and (
    packets.needs_review(me.tenant_id, me.caller, source.scope, source.project_id, source.packet_type, me.source)
    or packets.needs_review(me.tenant_id, me.caller, source.scope, source.project_id, kind, me.source)) then
    perform identity.raise_error('L9IMM', format('%s: what you state there needs a review, so nothing can be derived from a '
      'memory that counts; leave it out, so that a memory of its own waits for a reviewer', field));
  end if;
end $$;
comment on function derived.refuse_unreviewed is 'Raises L9IMM for an agent whose saves of this kind, or of the kind of the '
  'source, need a review in the place of the source. Not executable by callers.';

create function derived.lock_source_memory(
  packet_id uuid, field text default 'source_packet', kind text default null, says_nothing_new boolean default false)
returns public.packet_store
language plpgsql volatile security definer set search_path = '' as $$
declare
  source public.packet_store;
begin
  -- The lock makes a concurrent move to other readers wait, and that move then also moves the new row; a move that came
  -- first is read here.
  if identity.current_role_name() = 'l9_admin' then
    -- An administrator may come to stand by the text, which updates the memory: two that share a lock would deadlock then.
    select p.* into source from public.packet_store p where p.packet_id = lock_source_memory.packet_id and derived.is_source(p)
      for no key update;
  else
    select p.* into source from public.packet_store p where p.packet_id = lock_source_memory.packet_id and derived.is_source(p)
      for share;
  end if;
  if not found then
    perform identity.raise_error('L9OWN',
      format('%s: memory %s does not exist, or is not yours', field, lock_source_memory.packet_id));
  elsif identity.current_role_name() = 'l9_agent' and not says_nothing_new then
    perform derived.refuse_unreviewed(source, field, coalesce(lock_source_memory.kind, source.packet_type));
  end if;
  if identity.current_role_name() in ('l9_agent', 'l9_admin') then
    perform packets.check_scope(source.scope, source.project_id);
  end if;
  return source;
end $$;
comment on function derived.lock_source_memory is 'Returns the memory that a row is derived from, locked until the end of the '
  'transaction. kind: of the memory that says what is derived, if it is another one. says_nothing_new: what is derived was '
  'there already. L9IMM if what the caller saves of it needs a review. L9OWN unless the caller sees it; L9SCP unless the caller '
  'may write in its scope and project. Definer: locks memories of other writers.';
