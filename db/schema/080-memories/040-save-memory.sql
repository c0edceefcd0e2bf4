-- The operation save_memory. Other functions that save a memory, such as reflect(), assert_fact() and memory_store(),
-- call it, too.

create function memories.audit_shown(answer public.save_result)
returns void
language sql volatile set search_path = ''
begin atomic
  select audit.audit_read('READ', pg_catalog.jsonb_build_object('status', (audit_shown.answer).status),
    ((audit_shown.answer).memory).packet_id, ((audit_shown.answer).memory).project_id, ((audit_shown.answer).memory).scope);
end;

comment on function memories.audit_shown is
  'Audits that a save which wrote nothing returned a memory that was there already.';

grant execute on function memories.audit_shown to l9_agent, l9_admin;

-- A known idempotency key answers first, then near-duplicates, then the rules of a kind. Otherwise the memory is
-- inserted, and one that is there already is the answer.
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
language plpgsql volatile set search_path = ''
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

comment on function public.save_memory is
  'Saves a memory: inserted, or skipped_dedupe with the one of this place and kind that says the same. In a kind of '
  'memory_kinds envelope holds the fields; what is the same is updated. on_similar: keep, skip or merge '
  'near-duplicates; null: no search. idempotency_key: a retry gets the first answer. timestamp: at most 5 minutes '
  'ahead. Errors: L9SCP, L9VAL, L9LIM, L9IMM, L9OWN, L9AUT.';
grant execute on function public.save_memory to l9_agent, l9_admin;
