create function memories.audit_shown(answer public.save_result)
returns void
language sql
volatile
set search_path = ''
begin atomic
  select audit.audit_read('READ', pg_catalog.jsonb_build_object('status', (audit_shown.answer).status),
    ((audit_shown.answer).memory).packet_id, ((audit_shown.answer).memory).project_id, ((audit_shown.answer).memory).scope);
end;

comment on function memories.audit_shown(public.save_result) is
  'Audits that a save which wrote nothing returned a memory that was there already.';

grant execute on function memories.audit_shown(public.save_result) to l9_agent, l9_admin;

create function public.save_memory(
  content text default null,
  scope text default 'developer',
  project_id text default null,
  kind text default 'note',
  tags text[] default '{}',
  thread_id text default null,
  parent_ids uuid[] default '{}',
  ttl timestamptz default null,
  importance real default null,
  metadata jsonb default '{}',
  envelope jsonb default '{}',
  routing jsonb default '{}',
  provenance jsonb default '{}',
  correlation_id text default null,
  session_id text default null,
  trace_id text default null,
  idempotency_key text default null,
  on_similar text default null,
  content_vector extensions.vector default null,
  model text default null,
  speaker text default null,
  "timestamp" timestamptz default null,
  language text default null,
  branch text default null
)
returns public.save_result
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  saved public.packet_store;
  hash bytea;
  request_hash bytea;
  answer public.save_result;
  is_message boolean;
  draft public.packet_store;
  rules jsonb;
begin
  kind := coalesce(identity.given_text(save_memory.kind), 'note');
  scope := coalesce(identity.given_text(save_memory.scope), 'developer');
  thread_id := identity.given_text(save_memory.thread_id);
  language := identity.given_text(save_memory.language);
  on_similar := identity.given_text(save_memory.on_similar);
  is_message := save_memory.kind = 'message';
  rules := kinds.rules_of(save_memory.kind, me.tenant_id);
  if ttl <= now() then
    perform identity.raise_error('L9VAL', 'ttl: must be in the future', 'ttl');
  end if;
  project_id := packets.project_or_default(save_memory.project_id, save_memory.scope);
  branch := packets.branch_or_default(save_memory.branch, save_memory.project_id);
  if jsonb_typeof(save_memory.envelope) <> 'object' then
    perform identity.raise_error('L9VAL', 'envelope: must be an object', 'envelope');
  end if;

  if save_memory.speaker is not null then
    metadata := coalesce(save_memory.metadata, '{}') || jsonb_build_object('speaker', save_memory.speaker);
  end if;

  if save_memory.idempotency_key is not null then
    -- What may differ between a request and its retry is left out: the vector, which may have come late, and where the caller
    -- was when it sent it.
    request_hash := sha256(convert_to(jsonb_build_object(
      'content', save_memory.content, 'scope', save_memory.scope, 'project_id', save_memory.project_id, 'branch', save_memory.branch,
      'kind', kind, 'tags', coalesce(save_memory.tags, '{}'), 'thread_id', save_memory.thread_id,
      'parent_ids', coalesce(save_memory.parent_ids, '{}'), 'ttl', save_memory.ttl at time zone 'UTC',
      'importance', coalesce(importance, 0.5), 'metadata', coalesce(save_memory.metadata, '{}'),
      'envelope', coalesce(save_memory.envelope, '{}'), 'routing', coalesce(save_memory.routing, '{}'),
      'provenance', coalesce(save_memory.provenance, '{}'), 'correlation_id', save_memory.correlation_id,
      'timestamp', save_memory."timestamp" at time zone 'UTC', 'language', save_memory.language,
      'on_similar', coalesce(on_similar, 'keep'))::text, 'UTF8'));
    answer := memories.answer_of_key(save_memory.idempotency_key, request_hash);
    if answer.status is not null then
      perform memories.audit_shown(answer);
      return answer;
    end if;
  end if;

  if on_similar is not null then
    answer := duplicates.resolve_similar(
      on_similar, save_memory.content, save_memory.scope, save_memory.project_id, save_memory.branch, kind, tags, parent_ids, ttl, importance,
      save_memory.metadata, save_memory.envelope, content_vector, model);
    saved := answer.memory;
  end if;

  if rules is not null and answer.status is null then
    perform memories.check_made_content(kind, rules, save_memory.envelope, save_memory.content);
    draft.packet_type := kind;
    draft.envelope := coalesce(save_memory.envelope, '{}')
      || jsonb_strip_nulls(jsonb_build_object('content', save_memory.content));
    draft."timestamp" := save_memory."timestamp";
    draft.language := save_memory.language;
    draft.routing := save_memory.routing;
    draft.provenance := save_memory.provenance;
    draft.metadata := save_memory.metadata;
    draft.thread_id := save_memory.thread_id;
    draft.parent_ids := save_memory.parent_ids;
    draft.tags := save_memory.tags;
    draft.ttl := save_memory.ttl;
    draft.project_id := save_memory.project_id;
    draft.branch := save_memory.branch;
    draft.scope := save_memory.scope;
    draft.importance_score := importance;
    draft.correlation_id := save_memory.correlation_id;
    draft.session_id := save_memory.session_id;
    draft.trace_id := save_memory.trace_id;
    answer := memories.save_typed(draft, rules);
    saved := answer.memory;
  end if;

  for attempt in 1..3 loop
    -- A near-duplicate, or the memory that is the same by the rules of its kind, has already answered the save.
    exit when answer.status is not null;
    insert into public.packet_store (
      packet_type, envelope, "timestamp", language, routing, provenance, metadata, thread_id, parent_ids, tags, ttl, project_id, branch, scope,
      importance_score, correlation_id, session_id, trace_id)
    values (
      kind,
      coalesce(save_memory.envelope, '{}') || jsonb_build_object('content', save_memory.content), save_memory."timestamp",
      save_memory.language,
      coalesce(save_memory.routing, '{}'), coalesce(save_memory.provenance, '{}'), coalesce(save_memory.metadata, '{}'),
      save_memory.thread_id, coalesce(save_memory.parent_ids, '{}'), coalesce(save_memory.tags, '{}'), save_memory.ttl,
      save_memory.project_id, save_memory.branch, save_memory.scope, coalesce(importance, 0.5),
      save_memory.correlation_id, save_memory.session_id, save_memory.trace_id)
    on conflict do nothing
    returning packet_store.* into saved;
    if found then
      answer.status := 'inserted';
      exit;
    end if;

    hash := coalesce(hash, packets.text_identity(secrets.as_stored(save_memory.content, me.tenant_id)));
    draft.packet_type := kind;
    draft.scope := save_memory.scope;
    draft.project_id := save_memory.project_id;
    draft.branch := save_memory.branch;
    select s.* into saved
    from packets.find_same(draft, hash) s
    where not is_message or (s.thread_id, s."timestamp", s.speaker) is not distinct from (
      save_memory.thread_id, save_memory."timestamp",
      packets.speaker_of('message', packets.with_trimmed_speaker(save_memory.metadata), save_memory.content));
    if found then
      answer.status := 'skipped_dedupe';
      exit;
    end if;

    -- The conflicting memory was deleted concurrently: retry.
  end loop;

  if answer.status is null then
    raise exception using errcode = '40001', message = 'save_memory: too many concurrent saves of this content; try again';
  end if;
  answer.memory := saved;
  if answer.status <> 'inserted' then
    -- A kind with rules says itself when its memories expire.
    perform packets.claim_text(saved.packet_id, case when rules is null then coalesce(save_memory.ttl, 'infinity') end);
  end if;
  if answer.status = 'skipped_dedupe' then
    perform memories.audit_shown(answer);
  end if;
  if save_memory.idempotency_key is not null then
    perform memories.remember_answer(save_memory.idempotency_key, request_hash, answer);
  end if;
  return answer;
end
$$;

comment on function public.save_memory(
  text, text, text, text, text[], text, uuid[], timestamptz, real, jsonb, jsonb, jsonb, jsonb, text, text, text, text, text,
  extensions.vector, text, text, timestamptz, text, text) is
  'Saves a memory. The status is inserted, or skipped_dedupe with the existing memory, as a read that is audited, if one '
  'with the same content (ignoring case and white space, except where they mean something, as in code) exists in this '
  'scope, project, branch and kind. In a kind of memory_kinds the envelope holds its fields, the content is made from '
  'them and left out, and storing again what is the same updates it (updated): a field that is left out stays, one that '
  'is null goes. A memory of kind message, a turn of a conversation, is such a duplicate only if thread, speaker and '
  'event time are the same, too. timestamp: when it happened, at most five minutes ahead, by default now. speaker: who '
  'said it; else the name that begins the text of a message. language: that of the content, such as german, or none if '
  'its words are not to be stemmed; by default one of the tenant''s languages. on_similar controls near-duplicates: keep '
  'saves and reports them, skip saves nothing, merge joins the two, but messages are never skipped or merged; null does '
  'not search for them. idempotency_key: a repeated save with the same key and the same arguments (session_id, trace_id '
  'and the vector aside) returns the first answer; with other arguments it is refused. Each caller, org and user has '
  'keys of its own. content_vector, of the given model, lets the search compare meaning too. project_id: in a scope that '
  'has projects, by default that of the key, token, working copy or actor. branch: the branch of the project for which '
  'it holds, by default that of the working copy; * stands for every branch. The writer comes from the caller''s '
  'identity. Errors: L9SCP, L9VAL, L9LIM, L9IMM, L9OWN, L9AUT.';
grant execute on function public.save_memory(
  text, text, text, text, text[], text, uuid[], timestamptz, real, jsonb, jsonb, jsonb, jsonb, text, text, text, text, text,
  extensions.vector, text, text, timestamptz, text, text)
  to l9_agent, l9_admin;
