--! Previous: sha1:1954e2e486fce1547f23007d1d98a4d7368d84bc
--! Hash: sha1:a779ad1beea499d37a45ef6f140975ec60278871
--! Message: draft memories from archived sessions

--! split: 1-current.sql
-- function archive.draft_kinds() is new
CREATE OR REPLACE FUNCTION archive.draft_kinds()
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ARRAY['decision'::text, 'fact'::text, 'lesson'::text, 'note'::text, 'preference'::text, 'todo'::text]
;

-- function archive.is_known(public.packet_store,text,jsonb) is new
CREATE OR REPLACE FUNCTION archive.is_known(draft public.packet_store, content text, rules jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO ''
BEGIN ATOMIC
 SELECT (((memories.find_same(draft, rules)).packet_id IS NOT NULL) OR (EXISTS ( SELECT
            FROM (unnest((archive.draft_kinds() || ARRAY['reflection'::text, 'rule'::text])) k(kind)
              CROSS JOIN LATERAL duplicates.find_similar(
                 CASE
                     WHEN (k.kind = (is_known.draft).packet_type) THEN COALESCE(kinds.text_of(is_known.rules, (is_known.draft).envelope), is_known.content)
                     ELSE is_known.content
                 END, (is_known.draft).scope, (is_known.draft).project_id, NULL::text, k.kind, ( SELECT identity.current_org_id() AS current_org_id), ( SELECT identity.current_user_id() AS current_user_id)) s(packet_id, similarity, content_hash)))));
END
;

-- function archive.max_draft_chars() is new
CREATE OR REPLACE FUNCTION archive.max_draft_chars()
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN 500
;

-- function archive.may_be_drafted_from(uuid) is new
CREATE OR REPLACE FUNCTION archive.may_be_drafted_from(archive_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  prepared archive.prepared_sessions := archive.own_prepared(may_be_drafted_from.archive_id);
begin
  return exists (
    select from public.extraction_settings s
    where s.tenant_id = prepared.acting_tenant_id and extraction.is_wanted(s, 'session', prepared.scope, null));
end $function$
;

-- function archive.save_session_draft(uuid,text,text,text,text) is new
CREATE OR REPLACE FUNCTION archive.save_session_draft(packet_id uuid, kind text, content text, reason text, model text)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  source public.packet_store;
  draft public.packet_store;
  rules jsonb;
  lesson public.reflect_result;
  saved public.save_result;
  saved_id uuid;
begin
  select p.* into source from public.packet_store p
  where p.packet_id = save_session_draft.packet_id and p.packet_type = 'session'
    and p.metadata ->> 'creator' = (select identity.current_creator());
  if not found then
    perform memories.raise_not_yours(save_session_draft.packet_id);
  elsif (save_session_draft.kind = any (archive.draft_kinds())) is not true then
    perform identity.raise_error('L9VAL', 'kind: must be one of ' || array_to_string(archive.draft_kinds(), ', '));
  elsif greatest(char_length(content), char_length(reason)) > archive.max_draft_chars() then
    perform identity.raise_error('L9LIM', format('content: at most %s characters, and its reason, too',
      archive.max_draft_chars()), 'content');
  elsif identity.is_blank(model) is not false or octet_length(model) > packets.max_reference_bytes() then
    perform identity.raise_error('L9VAL', 'model: a name of at most 200 bytes is required');
  end if;
  draft.packet_type := case save_session_draft.kind when 'lesson' then 'reflection' else save_session_draft.kind end;
  draft.scope := source.scope;
  draft.project_id := source.project_id;
  rules := kinds.rules_of(draft.packet_type, source.tenant_id);
  draft.envelope := case draft.packet_type
    when 'decision' then jsonb_build_object('title', content, 'status', 'proposed', 'rationale', reason)
    when 'todo' then jsonb_build_object('text', content, 'status', 'open')
    else jsonb_build_object('content', content) end;

  perform set_config('l9.extracting_model', model, true);
  if not archive.is_known(draft, content, rules) then
    if draft.packet_type = 'reflection' then
      lesson := public.reflect(content, context => reason, scope => source.scope, project_id => source.project_id, branch => '*',
        learned_from => array[source.packet_id], expires_at => source.ttl);
      saved_id := case when lesson.status <> 'reinforced' then (lesson.reflection).source_packet end;
    else
      saved := public.save_memory(draft.envelope ->> 'content', scope => source.scope, project_id => source.project_id,
        branch => '*', kind => draft.packet_type, parent_ids => array[source.packet_id], ttl => source.ttl,
        session_id => source.session_id, "timestamp" => source."timestamp", envelope => draft.envelope - 'content');
      saved_id := case when saved.status = 'inserted' then (saved.memory).packet_id end;
    end if;
  end if;
  perform set_config('l9.extracting_model', '', true);
  return saved_id;
end $function$
;

-- function packets.extracting_model() is new
CREATE OR REPLACE FUNCTION packets.extracting_model()
 RETURNS text
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN NULLIF(current_setting('l9.extracting_model'::text, true), ''::text)
;

-- function packets.needs_review(uuid,text,text,text,text,text) is another
CREATE OR REPLACE FUNCTION packets.needs_review(tenant_id uuid, caller text, scope text, project_id text, kind text, source text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return coalesce((
    select r.needs_review from public.review_rules r
    where r.tenant_id = needs_review.tenant_id
      and (r.caller is null or r.caller = needs_review.caller)
      and (r.scope is null or r.scope = needs_review.scope)
      and (r.project_id is null or r.project_id = needs_review.project_id)
      and (r.kinds is null or needs_review.kind = any (r.kinds))
      and (r.source is null or r.source = needs_review.source)
    order by r.specificity desc, r.updated_at desc, r.rule_id desc limit 1), false)
    or case when needs_review.kind <> 'extraction' and packets.extracting_model() is not null then
      packets.needs_review(needs_review.tenant_id, 'job', needs_review.scope, needs_review.project_id, 'extraction', 'l9-memory')
    else false end;
end $function$
;

-- function packets.tg_packet_store__stamp() is another
CREATE OR REPLACE FUNCTION packets.tg_packet_store__stamp()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
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
end $function$
;

-- grants on routine archive.draft_kinds() to l9_admin is new
revoke all on routine archive.draft_kinds() from l9_admin;
grant EXECUTE on routine archive.draft_kinds() to l9_admin;

-- grants on routine archive.draft_kinds() to l9_agent is new
revoke all on routine archive.draft_kinds() from l9_agent;
grant EXECUTE on routine archive.draft_kinds() to l9_agent;

-- grants on routine archive.draft_kinds() to l9_owner is new
revoke all on routine archive.draft_kinds() from l9_owner;
grant EXECUTE on routine archive.draft_kinds() to l9_owner;

-- grants on routine archive.is_known(public.packet_store,text,jsonb) to l9_admin is new
revoke all on routine archive.is_known(public.packet_store,text,jsonb) from l9_admin;
grant EXECUTE on routine archive.is_known(public.packet_store,text,jsonb) to l9_admin;

-- grants on routine archive.is_known(public.packet_store,text,jsonb) to l9_agent is new
revoke all on routine archive.is_known(public.packet_store,text,jsonb) from l9_agent;
grant EXECUTE on routine archive.is_known(public.packet_store,text,jsonb) to l9_agent;

-- grants on routine archive.is_known(public.packet_store,text,jsonb) to l9_owner is new
revoke all on routine archive.is_known(public.packet_store,text,jsonb) from l9_owner;
grant EXECUTE on routine archive.is_known(public.packet_store,text,jsonb) to l9_owner;

-- grants on routine archive.max_draft_chars() to l9_admin is new
revoke all on routine archive.max_draft_chars() from l9_admin;
grant EXECUTE on routine archive.max_draft_chars() to l9_admin;

-- grants on routine archive.max_draft_chars() to l9_agent is new
revoke all on routine archive.max_draft_chars() from l9_agent;
grant EXECUTE on routine archive.max_draft_chars() to l9_agent;

-- grants on routine archive.max_draft_chars() to l9_owner is new
revoke all on routine archive.max_draft_chars() from l9_owner;
grant EXECUTE on routine archive.max_draft_chars() to l9_owner;

-- grants on routine archive.may_be_drafted_from(uuid) to l9_admin is new
revoke all on routine archive.may_be_drafted_from(uuid) from l9_admin;
grant EXECUTE on routine archive.may_be_drafted_from(uuid) to l9_admin;

-- grants on routine archive.may_be_drafted_from(uuid) to l9_agent is new
revoke all on routine archive.may_be_drafted_from(uuid) from l9_agent;
grant EXECUTE on routine archive.may_be_drafted_from(uuid) to l9_agent;

-- grants on routine archive.may_be_drafted_from(uuid) to l9_owner is new
revoke all on routine archive.may_be_drafted_from(uuid) from l9_owner;
grant EXECUTE on routine archive.may_be_drafted_from(uuid) to l9_owner;

-- grants on routine archive.save_session_draft(uuid,text,text,text,text) to l9_admin is new
revoke all on routine archive.save_session_draft(uuid,text,text,text,text) from l9_admin;
grant EXECUTE on routine archive.save_session_draft(uuid,text,text,text,text) to l9_admin;

-- grants on routine archive.save_session_draft(uuid,text,text,text,text) to l9_agent is new
revoke all on routine archive.save_session_draft(uuid,text,text,text,text) from l9_agent;
grant EXECUTE on routine archive.save_session_draft(uuid,text,text,text,text) to l9_agent;

-- grants on routine archive.save_session_draft(uuid,text,text,text,text) to l9_owner is new
revoke all on routine archive.save_session_draft(uuid,text,text,text,text) from l9_owner;
grant EXECUTE on routine archive.save_session_draft(uuid,text,text,text,text) to l9_owner;

-- grants on routine packets.extracting_model() to l9_admin is new
revoke all on routine packets.extracting_model() from l9_admin;
grant EXECUTE on routine packets.extracting_model() to l9_admin;

-- grants on routine packets.extracting_model() to l9_agent is new
revoke all on routine packets.extracting_model() from l9_agent;
grant EXECUTE on routine packets.extracting_model() to l9_agent;

-- grants on routine packets.extracting_model() to l9_owner is new
revoke all on routine packets.extracting_model() from l9_owner;
grant EXECUTE on routine packets.extracting_model() to l9_owner;

-- grants on routine packets.extracting_model() to l9_platform_admin is new
revoke all on routine packets.extracting_model() from l9_platform_admin;
grant EXECUTE on routine packets.extracting_model() to l9_platform_admin;

-- grants on routine packets.extracting_model() to l9_worker is new
revoke all on routine packets.extracting_model() from l9_worker;
grant EXECUTE on routine packets.extracting_model() to l9_worker;

-- owner of routine archive.draft_kinds() is new
alter routine archive.draft_kinds() owner to l9_owner;

-- owner of routine archive.is_known(public.packet_store,text,jsonb) is new
alter routine archive.is_known(public.packet_store,text,jsonb) owner to l9_owner;

-- owner of routine archive.max_draft_chars() is new
alter routine archive.max_draft_chars() owner to l9_owner;

-- owner of routine archive.may_be_drafted_from(uuid) is new
alter routine archive.may_be_drafted_from(uuid) owner to l9_owner;

-- owner of routine archive.save_session_draft(uuid,text,text,text,text) is new
alter routine archive.save_session_draft(uuid,text,text,text,text) owner to l9_owner;

-- owner of routine packets.extracting_model() is new
alter routine packets.extracting_model() owner to l9_owner;

-- comment on column public.extraction_settings.kinds is another
comment on column public.extraction_settings.kinds is 'The kinds of memories that are read for extraction. With session, memories are drafted from archived sessions, too.';

-- comment on column public.packet_store.metadata is another
comment on column public.packet_store.metadata is 'An object of at most 64 KiB beside updated_by. creator, source, agent and tool_name are stamped from the caller that saved the memory and never change (source is extraction, and model its name, where a chat model drafted it); updated_by holds the same of the caller that changed it last, with caller and at (the time). notes (an object) and other keys are stored as given; an agent or tool_name that the client sends is kept in notes.';

-- comment on function archive.draft_kinds() is new
comment on function archive.draft_kinds() is 'The kinds of what a chat model drafts from a session.';

-- comment on function archive.is_known(public.packet_store,pg_catalog.text,pg_catalog.jsonb) is new
comment on function archive.is_known(public.packet_store,pg_catalog.text,pg_catalog.jsonb) is 'True if a memory that the caller reads in the place of a draft says the same, or nearly. content: the draft without its reason.';

-- comment on function archive.max_draft_chars() is new
comment on function archive.max_draft_chars() is 'The most characters of a draft, which holds one fact.';

-- comment on function archive.may_be_drafted_from(pg_catalog.uuid) is new
comment on function archive.may_be_drafted_from(pg_catalog.uuid) is 'True if the tenant lets a chat model extract from sessions in the scope of one that the caller prepared. Raises L9VAL if there is none. Definer: callers read neither prepared_sessions nor the settings.';

-- comment on function archive.save_session_draft(pg_catalog.uuid,pg_catalog.text,pg_catalog.text,pg_catalog.text,pg_catalog.text) is new
comment on function archive.save_session_draft(pg_catalog.uuid,pg_catalog.text,pg_catalog.text,pg_catalog.text,pg_catalog.text) is 'Saves a draft of a chat model as a memory of the caller, where the caller''s archived session is, with that as its parent: of source extraction, and pending where what models extract waits for a review. content: one fact. reason: why, of a decision; when it applies, of a lesson. Returns null if a memory there says it already. Errors: L9OWN and those of a save.';

-- comment on function packets.extracting_model() is new
comment on function packets.extracting_model() is 'The chat model that drafted what this transaction saves now; null if none did.';

-- comment on function packets.needs_review(pg_catalog.uuid,pg_catalog.text,pg_catalog.text,pg_catalog.text,pg_catalog.text,pg_catalog.text) is another
comment on function packets.needs_review(pg_catalog.uuid,pg_catalog.text,pg_catalog.text,pg_catalog.text,pg_catalog.text,pg_catalog.text) is 'True if a memory of this scope, project and kind waits for a reviewer when this caller with this source saves it, or if a chat model drafted it and what models extract there waits. Definer: callers can''t read the rules.';

-- comment on function packets.tg_packet_store__stamp() is another
comment on function packets.tg_packet_store__stamp() is 'Writes creator, source, agent, tool_name, tenant, org, user and time of saving from the caller''s identity and the clock, replacing what the client sent; what a chat model drafted has the source extraction. An update leaves them and writes metadata.updated_by. The event time is the writer''s, or else the time of saving; a turn of a conversation comes after those that its thread has. Bounds the importance, and refuses a scope or project that the caller may not write, and a branch of no project.';
