-- The operation record_feedback: an agent says whether a memory that it was shown was useful. The access is looked up
-- under the policies of the caller, so that nobody votes on what it was not shown.
create function public.record_feedback(access_id uuid, was_useful boolean, reason text default null)
returns public.memory_feedback
language plpgsql volatile set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  memory_id uuid;
  vote public.memory_feedback;
begin
  if access_id is null then
    perform identity.raise_error('L9VAL', 'access_id: required');
  elsif was_useful is null then
    perform identity.raise_error('L9VAL', 'was_useful: must be true or false');
  end if;
  select p.packet_id into memory_id
  from importance.memory_access_log a
  join public.packet_store p on p.packet_id = a.target_id and p.tenant_id = a.tenant_id
  where a.access_id = record_feedback.access_id and a.accessed_at = uuid_extract_timestamp(record_feedback.access_id)
    and a.tenant_id = me.tenant_id and a.agent_id = me.caller
    and a.org_id is not distinct from me.org_id and a.user_id is not distinct from me.user_id;
  if not found then
    perform identity.raise_error('L9OWN',
      format('access %s does not exist, or is not yours', record_feedback.access_id), 'access_id');
  end if;
  insert into public.memory_feedback as f (access_id, packet_id, was_useful, reason)
  values (record_feedback.access_id, memory_id, record_feedback.was_useful, nullif(btrim(record_feedback.reason), ''))
  on conflict on constraint memory_feedback_pkey do update set was_useful = excluded.was_useful, reason = excluded.reason
  returning f.* into vote;
  return vote;
exception when foreign_key_violation then
  -- The memory was deleted concurrently.
  perform identity.raise_error('L9OWN',
    format('access %s does not exist, or is not yours', record_feedback.access_id), 'access_id');
end $$;
comment on function public.record_feedback is 'Records whether a memory that the caller was shown was useful, and why (at most '
  '1000 bytes). access_id is that of the hit. A second call for the same access replaces the first. Audited. L9OWN if the access '
  'does not exist, is not the caller''s, or its memory can''t be read any more; the three cases give the same error. Errors: '
  'L9OWN, L9VAL, L9LIM, L9AUT.';
grant execute on function public.record_feedback to l9_agent, l9_admin;
-- Operators get no grant: feedback is for those who work in the tenant.
