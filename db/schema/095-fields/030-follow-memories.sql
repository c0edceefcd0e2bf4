-- The trigger of packet_store that moves the indexed values of a memory with it, when its readers or its expiry
-- change.

create function fields.tg_packet_store__values_follow() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  update public.field_values v
  set tenant_id = new.tenant_id, org_id = new.org_id, user_id = new.user_id, project_id = new.project_id, scope = new.scope,
    ttl = new.ttl, updated_at = clock_timestamp()
  where v.packet_id = new.packet_id;
  return null;
end $$;
comment on function fields.tg_packet_store__values_follow is
  'Copies a memory''s new owner, project, scope and expiry to the values of its fields. Definer: callers can''t write '
  'field_values.';

call derived.follow_packets('_620_field_values_follow', 'fields.tg_packet_store__values_follow');
