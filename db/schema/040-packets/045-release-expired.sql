create function packets.tg_packet_store__release_expired()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  expired uuid;
begin
  select p.packet_id into expired
  from public.packet_store p
  -- By the hash alone: as `=`, tenant and scope would look like a way in too, through every memory they have.
  where p.content_hash = new.content_hash
    and p.tenant_id is not distinct from new.tenant_id
    and p.scope is not distinct from new.scope
    and p.project_id is not distinct from new.project_id
    and p.packet_type = new.packet_type
    and p.org_id is not distinct from new.org_id
    and p.user_id is not distinct from new.user_id
    and p.ttl <= now()
    and p.packet_id <> new.packet_id;
  if found then
    delete from public.packet_store p where p.packet_id = expired;
  end if;
  return new;
end
$$;

comment on function packets.tg_packet_store__release_expired() is
  'Deletes an expired memory that stands in the way of one that says the same, as if it had been cleaned up in time. Definer: what has expired is hidden from callers. It deletes only where the writer, by then checked, puts its own.';

create trigger _450_release_expired
  before insert or update of envelope, scope, project_id, packet_type on public.packet_store
  for each row execute function packets.tg_packet_store__release_expired();
