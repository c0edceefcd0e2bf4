create function packets.tg_packet_store__stamp()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
  -- The client's creator and source are ignored.
  client_metadata jsonb := new.metadata - 'creator' - 'source';
begin
  if jsonb_strip_nulls(client_metadata) <> client_metadata then
    -- A null at the top level takes the default. Nested nulls, such as in notes, are kept.
    client_metadata := (
      select coalesce(jsonb_object_agg(m.key, m.value), '{}') from jsonb_each(client_metadata) as m where m.value <> 'null');
  end if;
  new.metadata := jsonb_build_object('agent', me.agent, 'tool_name', audit.current_tool())
    || client_metadata
    || jsonb_build_object('creator', me.creator, 'source', me.source);
  if octet_length(new.metadata::text) > packets.max_metadata_bytes() then
    perform identity.raise_error('L9LIM', format('metadata: at most %s bytes (64 KiB), got %s',
      packets.max_metadata_bytes(), octet_length(new.metadata::text)), 'metadata');
  end if;
  new.updated_at := clock_timestamp();
  if tg_op = 'INSERT' then
    new.tenant_id := me.tenant_id;
    new.org_id := me.org_id;
    new.user_id := me.user_id;
    new."timestamp" := new.updated_at;
    new.session_id := coalesce(new.session_id, left(identity.claim('session_id'), packets.max_reference_bytes()));
    new.trace_id := coalesce(new.trace_id, left(identity.claim('trace_id'), packets.max_reference_bytes()));
  else
    -- updated_at must move even if the clock is coarse or went back, because it distinguishes a change from a job's
    -- bookkeeping.
    new.updated_at := greatest(new.updated_at, old.updated_at + interval '1 microsecond');
  end if;
  return new;
end
$$;

comment on function packets.tg_packet_store__stamp() is
  'Writes creator, source, tenant, org and user from the caller''s identity, replacing what the client sent.';
