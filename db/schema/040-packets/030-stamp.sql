create function packets.tg_packet_store__stamp()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
  -- What the client sent as creator or source never counts.
  given jsonb := new.metadata - 'creator' - 'source';
begin
  if jsonb_strip_nulls(given) <> given then
    -- Null takes the default. Nulls further in, such as in notes, are kept as given.
    given := (select coalesce(jsonb_object_agg(m.key, m.value), '{}') from jsonb_each(given) as m where m.value <> 'null');
  end if;
  new.metadata := jsonb_build_object('agent', me.agent, 'tool_name', audit.current_tool())
    || given
    || jsonb_build_object('creator', me.creator, 'source', me.source);
  if octet_length(new.metadata::text) > 65536 then
    perform identity.raise_error('L9LIM',
      format('metadata: at most 65536 bytes (64 KiB), got %s', octet_length(new.metadata::text)), 'metadata');
  end if;
  new.updated_at := clock_timestamp();
  if tg_op = 'INSERT' then
    new.tenant_id := me.tenant_id;
    new.org_id := me.org_id;
    new.user_id := me.user_id;
    new."timestamp" := new.updated_at;
    new.session_id := coalesce(new.session_id, left(identity.claim('session_id'), 200));
    new.trace_id := coalesce(new.trace_id, left(identity.claim('trace_id'), 200));
  else
    -- Where the clock is coarse, or went back: what tells a change from a job's bookkeeping must have moved.
    new.updated_at := greatest(new.updated_at, old.updated_at + interval '1 microsecond');
  end if;
  return new;
end
$$;

comment on function packets.tg_packet_store__stamp() is
  'Writes who saved it (creator, source, tenant, org, user) from the caller''s identity, over anything the client sent.';

create trigger _300_stamp
  before insert or update of envelope, packet_type, metadata, routing, provenance, thread_id, parent_ids, tags, ttl, project_id,
    scope, importance_score, correlation_id, session_id, trace_id
  on public.packet_store
  for each row when (current_user <> 'l9_owner' or not (packets.is_legacy_import() or packets.is_job_writing()))
  execute function packets.tg_packet_store__stamp();
