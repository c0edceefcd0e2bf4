-- The trigger _450_replace_expired of packet_store: an expired memory does not keep one that is the same from being
-- saved.

create function packets.tg_packet_store__replace_expired() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  expired uuid;
begin
  select p.packet_id into expired
  from public.packet_store p
  -- `is not distinct from` keeps the planner on the hash column; with `=` it may choose the (tenant, scope) index and
  -- scan all of it.
  where p.identity_hash = new.identity_hash
    and p.tenant_id is not distinct from new.tenant_id
    and p.scope is not distinct from new.scope
    and p.project_id is not distinct from new.project_id
    and p.branch is not distinct from new.branch
    and p.packet_type = new.packet_type
    and p.org_id is not distinct from new.org_id
    and p.user_id is not distinct from new.user_id
    and (new.packet_type <> 'message' or (p.thread_id, p."timestamp", p.speaker) is not distinct from (
      new.thread_id, new."timestamp", packets.speaker_of(new.packet_type, new.metadata, new.envelope ->> 'content')))
    and p.withheld_creator is not distinct from
      case when packets.is_withheld(new.review_state) then new.metadata ->> 'creator' end
    and p.ttl <= now()
    and p.packet_id <> new.packet_id;
  if found then
    delete from public.packet_store p where p.packet_id = expired;
  end if;
  return new;
end $$;
comment on function packets.tg_packet_store__replace_expired is 'Deletes an expired memory that would collide with a new one '
  'that is the same, as cleanup would have done. Definer: callers can''t see expired memories. It deletes a row only if the '
  'writer, already checked by then, writes to the same key.';
