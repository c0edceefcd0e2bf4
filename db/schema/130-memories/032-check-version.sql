-- A write that names the version it was made for is refused where the memory has changed since: update_memory(), delete_memory()
-- and store_item() check it while they hold the lock of the row.
create function memories.check_version(memory public.packet_store, expected_version timestamptz) returns void
language plpgsql immutable set search_path = '' as $$
begin
  -- Some clients keep milliseconds only; a memory changes twice within one only by a caller that has not read it between.
  if expected_version is null or memory.updated_at = expected_version
    or date_trunc('milliseconds', expected_version) = expected_version and date_trunc('milliseconds',
      memory.updated_at) = expected_version then
    return;
  end if;
  raise exception using
    errcode = 'L9VER', column = 'expected_version',
    message = case when memory.packet_id is null then 'expected_version: no memory is there any more that is the same'
      else format('expected_version: memory %s has changed since you read it; its updated_at is %s now', memory.packet_id,
        to_jsonb(memory.updated_at) #>> '{}') end,
    hint = 'Read it again, join your change with what is there, and send its updated_at as expected_version. Nothing was written',
    -- Not its text: the log of the server may keep errors.
    detail = coalesce(jsonb_build_object('packet_id', memory.packet_id, 'updated_at', memory.updated_at)::text, '');
end $$;
comment on function memories.check_version is 'Raises L9VER if a memory is no longer as it was when the caller read it. '
  'expected_version: the updated_at that the caller read; null checks nothing. The detail holds packet_id and updated_at of the '
  'memory as it is.';

create function memories.present_state(packet_id uuid) returns jsonb language plpgsql volatile set search_path = '' as $$
declare
  memory public.packet_store;
begin
  select p.* into memory from public.packet_store p where p.packet_id = present_state.packet_id;
  if not found then
    return null;
  end if;
  perform audit.audit_read('READ', '{}', memory.packet_id, memory.project_id, memory.scope);
  return jsonb_build_object('packet_id', memory.packet_id, 'updated_at', memory.updated_at, 'content',
    memory.envelope ->> 'content');
end $$;
comment on function memories.present_state is 'What a memory is now, for a failed expected_version; null if hidden. Audited.';
grant execute on function memories.check_version, memories.present_state to l9_agent, l9_admin;
