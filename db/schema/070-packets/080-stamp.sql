-- The trigger _300_stamp of packet_store, which writes who saved or changed a memory and when, whatever the client sent, and
-- checks where. An update keeps the stamps of the creator and says in updated_by who changed the memory last.
create type packets.writer as (me identity.identity, max_importance real, has_projects boolean);
comment on type packets.writer is 'The caller that writes a memory, the importance that it may give, and whether the memory''s '
  'scope belongs to projects.';

create function packets.writer_in(scope text, is_checked boolean) returns packets.writer
language plpgsql stable security definer set search_path = '' as $$
declare
  writer packets.writer;
begin
  writer.me := identity.require_identity();
  if is_checked then
    -- What bounds_of() and has_projects() say, in one query: every saved row pays for it.
    select (identity.bounds_of_actor(a)).max_importance, s.is_project_scoped into writer.max_importance, writer.has_projects
    from (values (writer.me)) as w (me)
    left join public.actors a on a.tenant_id = (w.me).tenant_id and a.creator = (w.me).creator
    left join public.scopes s on s.tenant_id = (w.me).tenant_id and s.scope = writer_in.scope
      and s.scope = any ((w.me).writable_scopes);
  end if;
  return writer;
end $$;
comment on function packets.writer_in is 'The caller, and what is checked where is_checked says so: see the type writer. Raises '
  'L9AUT without an identity. Definer: agents see no row of actors but their own, and not every scope.';
grant execute on function packets.writer_in to l9_agent, l9_admin, l9_platform_admin;

-- On an update, importance and place are checked only where they change.
create function packets.tg_packet_store__stamp() returns trigger language plpgsql set search_path = '' as $$
declare
  has_moved constant boolean := tg_op = 'INSERT'
    or (new.scope, new.project_id, new.branch) is distinct from (old.scope, old.project_id, old.branch);
  is_weighed constant boolean := tg_op = 'INSERT'
    or new.importance_score is distinct from old.importance_score or new.content_hash <> old.content_hash;
  writing constant packets.writer := packets.writer_in(new.scope, has_moved or is_weighed);
  me constant identity.identity := writing.me;
  writer jsonb := jsonb_build_object(
    'creator', me.creator, 'source', me.source, 'agent', me.agent, 'tool_name', audit.current_tool());
  -- Who saved it: this caller, or the one that is recorded.
  stamps jsonb := writer;
  client_metadata jsonb := new.metadata - '{creator,source,agent,tool_name,updated_by}'::text[];
  claims jsonb;
  last_turn timestamptz;
  model constant text := packets.extracting_model();
begin
  if tg_op = 'INSERT' and model is not null then
    stamps := stamps || '{"source": "extraction"}';
    client_metadata := client_metadata || jsonb_build_object('model', model);
  elsif tg_op = 'UPDATE' then
    stamps := jsonb_strip_nulls(jsonb_build_object(
      'creator', old.metadata -> 'creator', 'source', old.metadata -> 'source', 'agent', old.metadata -> 'agent',
      'tool_name', old.metadata -> 'tool_name'));
  end if;
  if jsonb_strip_nulls(client_metadata) <> client_metadata then
    -- A null at the top level takes the default. Nested nulls, such as in notes, are kept.
    client_metadata := (
      select coalesce(jsonb_object_agg(m.key, m.value), '{}') from jsonb_each(client_metadata) as m where m.value <> 'null');
  end if;
  if new.metadata ?| '{agent,tool_name}' then
    -- The client's creator and source are ignored. An agent or tool that it names is worth a note, but is no stamp.
    select jsonb_object_agg(c.key, new.metadata -> c.key) into claims
    from unnest('{agent,tool_name}'::text[]) as c (key)
    where new.metadata -> c.key not in ('null', coalesce(stamps -> c.key, 'null'), writer -> c.key);
    if claims is not null then
      client_metadata := client_metadata || jsonb_build_object('notes', coalesce(client_metadata -> 'notes', '{}') || claims);
    end if;
  end if;
  new.updated_at := clock_timestamp();
  if tg_op = 'UPDATE' then
    -- updated_at must move even if the clock is coarse or went back, because it distinguishes a change from a job's bookkeeping.
    new.updated_at := greatest(new.updated_at, old.updated_at + interval '1 microsecond');
    if client_metadata ?| packets.attesting_fields() then
      client_metadata := packets.keep_attestations(client_metadata, old.metadata, packets.has_other_writer(old, me)
        and new.envelope -> 'content' is distinct from old.envelope -> 'content', me);
    end if;
    new.metadata := client_metadata || stamps
      || jsonb_strip_nulls(jsonb_build_object('updated_by', old.metadata -> 'updated_by'));
    new.text_creator := packets.text_creator_of(new, old, me);
    if (
      new.packet_type, new.envelope, new."timestamp", new.language, new.routing, new.provenance, new.metadata, new.thread_id,
      new.parent_ids, new.tags, new.ttl, new.project_id, new.branch, new.scope, new.importance_score, new.correlation_id,
      new.session_id, new.trace_id
    ) is distinct from (
      old.packet_type, old.envelope, old."timestamp", old.language, old.routing, old.provenance, old.metadata, old.thread_id,
      old.parent_ids, old.tags, old.ttl, old.project_id, old.branch, old.scope, old.importance_score, old.correlation_id,
      old.session_id, old.trace_id
    ) then
      new.metadata := new.metadata || jsonb_build_object('updated_by', writer || jsonb_build_object(
        'caller', me.caller, 'at', to_char(new.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')));
    end if;
  else
    if client_metadata ?| packets.attesting_fields() then
      client_metadata := packets.keep_attestations(client_metadata, '{}', false, me);
    end if;
    new.metadata := client_metadata || stamps;
    new.text_creator := null;
  end if;
  -- The stamp of another caller's change must not make a memory too large to be changed.
  if octet_length((new.metadata - 'updated_by')::text) > packets.max_metadata_bytes() then
    perform identity.raise_error('L9LIM', format('metadata: at most %s bytes (64 KiB), got %s',
      packets.max_metadata_bytes(), octet_length((new.metadata - 'updated_by')::text)));
  end if;
  if tg_op = 'INSERT' then
    new.tenant_id := me.tenant_id;
    new.org_id := me.org_id;
    new.user_id := me.user_id;
    new.created_at := new.updated_at;
    if new."timestamp" is null and new.packet_type = 'message' and new.thread_id is not null then
      -- Several turns fit into a millisecond, which is what the clock of the embedded engine counts.
      select p."timestamp" into last_turn from public.packet_store p
      where p.tenant_id = new.tenant_id and p.thread_id = new.thread_id
        and p."timestamp" >= new.created_at and p."timestamp" - new.created_at < packets.max_time_ahead()
        and p.scope = new.scope and p.project_id is not distinct from new.project_id
        and p.org_id is not distinct from new.org_id and p.user_id is not distinct from new.user_id
      order by p."timestamp" desc limit 1;
    end if;
    new."timestamp" := coalesce(new."timestamp", last_turn + interval '1 microsecond', new.created_at);
    new.correlation_id := coalesce(new.correlation_id, left(identity.claim('correlation_id'), packets.max_reference_bytes()));
    new.session_id := coalesce(new.session_id, left(identity.claim('session_id'), packets.max_reference_bytes()));
    new.trace_id := coalesce(new.trace_id, left(identity.claim('trace_id'), packets.max_reference_bytes()));
  end if;
  if tg_op = 'INSERT' or new."timestamp" is distinct from old."timestamp" then
    -- The five minutes allow for clocks that differ.
    if not coalesce(isfinite(new."timestamp") and new."timestamp" >= '0001-01-01T00:00:00Z'
      and new."timestamp" - new.created_at <= packets.max_time_ahead(), false) then
      perform identity.raise_error('L9VAL',
        'timestamp: must be the time when it happened, from the year 1 to five minutes after it is saved');
    end if;
  end if;
  if is_weighed then
    -- Also where it changes the text of a memory that another made important.
    new.importance_score := least(new.importance_score, writing.max_importance);
  end if;
  if has_moved then
    perform packets.check_place(me, writing.has_projects, new.scope, new.project_id, new.branch);
  end if;
  return new;
end $$;
comment on function packets.tg_packet_store__stamp is 'Writes creator, source, agent, tool_name, tenant, org, user and time of '
  'saving from the caller''s identity and the clock, replacing what the client sent; what a chat model drafted has the source '
  'extraction. An update leaves them and writes metadata.updated_by. The event time is the writer''s, or else the time of '
  'saving; a turn of a conversation comes after those that its thread has. Bounds the importance, and refuses a scope or project '
  'that the caller may not write, and a branch of no project.';
