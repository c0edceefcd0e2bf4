-- The operation save_memory. Other functions that save a memory, such as reflect(), assert_fact() and memory_store(),
-- call it, too.

-- A known idempotency key answers first, then near-duplicates. Otherwise the draft is saved, and a memory that is the same is the
-- answer.
create function public.save_memory(
  content text default null, scope text default 'developer', project_id text default null, kind text default 'note',
  tags text[] default '{}', thread_id text default null, parent_ids uuid[] default '{}', ttl timestamptz default null,
  importance real default null, metadata jsonb default '{}', envelope jsonb default '{}', routing jsonb default '{}',
  provenance jsonb default '{}', correlation_id text default null, session_id text default null, trace_id text default null,
  idempotency_key text default null, on_similar text default null, content_vector extensions.vector default null,
  model text default null, speaker text default null, "timestamp" timestamptz default null, language text default null,
  branch text default null) returns public.save_result
language plpgsql volatile set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  draft public.packet_store;
  rules jsonb;
  of_kind text;
  request_hash bytea;
  answer public.save_result;
  near public.similar_memory[];
begin
  draft.packet_type := coalesce(identity.given_text(kind), 'note');
  draft.scope := coalesce(identity.given_text(scope), 'developer');
  draft.thread_id := identity.given_text(thread_id);
  draft.language := identity.given_text(language);
  on_similar := identity.given_text(on_similar);
  rules := kinds.rules_of(draft.packet_type, me.tenant_id);
  if rules is null then
    of_kind := kinds.kind_notice(draft.packet_type);
  end if;
  if ttl <= now() then
    perform identity.raise_error('L9VAL', 'ttl: must be in the future');
  end if;
  draft.project_id := packets.project_or_default(project_id, draft.scope);
  draft.branch := packets.branch_or_default(branch, draft.project_id);
  if jsonb_typeof(envelope) <> 'object' then
    perform identity.raise_error('L9VAL', 'envelope: must be an object');
  end if;
  draft.metadata := metadata;
  if speaker is not null then
    draft.metadata := coalesce(metadata, '{}') || jsonb_build_object('speaker', speaker);
  end if;
  draft."timestamp" := save_memory."timestamp";
  draft.routing := routing;
  draft.provenance := provenance;
  draft.parent_ids := parent_ids;
  draft.tags := tags;
  draft.ttl := ttl;
  draft.importance_score := importance;
  draft.correlation_id := correlation_id;
  draft.session_id := session_id;
  draft.trace_id := trace_id;

  if idempotency_key is not null then
    -- What may differ between a request and its retry is left out: the vector, which may have come late, and where the caller
    -- was when it sent it.
    request_hash := sha256(convert_to(jsonb_build_object(
      'content', content, 'scope', draft.scope, 'project_id', draft.project_id, 'branch', draft.branch,
      'kind', draft.packet_type, 'tags', coalesce(tags, '{}'), 'thread_id', draft.thread_id,
      'parent_ids', coalesce(parent_ids, '{}'), 'ttl', ttl at time zone 'UTC',
      'importance', coalesce(importance, 0.5), 'metadata', coalesce(draft.metadata, '{}'),
      'envelope', coalesce(envelope, '{}'), 'routing', coalesce(routing, '{}'),
      'provenance', coalesce(provenance, '{}'), 'correlation_id', correlation_id,
      'timestamp', save_memory."timestamp" at time zone 'UTC', 'language', draft.language,
      'on_similar', coalesce(on_similar, 'keep'))::text, 'UTF8'));
    answer := memories.answer_of_key(idempotency_key, request_hash);
    if answer.status is not null then
      perform memories.audit_shown(answer);
      answer.notice := memories.save_notice(draft, content, of_kind);
      return answer;
    end if;
  end if;

  if on_similar is not null then
    answer := duplicates.resolve_similar(
      on_similar, content, draft.scope, draft.project_id, draft.branch, draft.packet_type, tags, parent_ids, ttl, importance,
      draft.metadata, envelope, content_vector, model);
  end if;
  if answer.status is null then
    if rules is not null then
      perform memories.check_made_content(draft.packet_type, rules, envelope, content);
    end if;
    draft.envelope := memories.with_content(envelope, content, rules);
    near := answer."similar";
    answer := memories.save_draft(draft, rules);
    if rules is null then
      answer."similar" := near; -- Of other kinds, their own rules say which are the same.
    end if;
  end if;
  answer.notice := memories.save_notice(draft, content, of_kind);
  perform memories.note_answer(answer, rules, ttl);
  if idempotency_key is not null then
    perform memories.remember_answer(idempotency_key, request_hash, answer);
  end if;
  return answer;
end $$;
comment on function public.save_memory is 'Saves a memory: inserted, or skipped_dedupe with the one of this place and kind that '
  'says the same. In a kind of memory_kinds envelope holds the fields; what is the same is updated. on_similar: keep, skip or '
  'merge near-duplicates; null: no search. idempotency_key: a retry gets the first answer. timestamp: at most 5 minutes ahead. '
  'Errors: L9SCP, L9VAL, L9LIM, L9IMM, L9OWN, L9AUT.';
grant execute on function public.save_memory to l9_agent, l9_admin;
