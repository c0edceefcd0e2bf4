-- A memory as a JSON document. The operations of the gateway answer with it, and memory_history() compares states by it.

-- plpgsql takes the row apart once, and not for each field.
create function memories.json_of(memory public.packet_store, importance real) returns jsonb
language plpgsql stable parallel safe set search_path = '' as $$
declare
  document jsonb;
begin
  if memory.packet_id is null then
    return null;
  end if;
  document := jsonb_build_object(
    'packet_id', memory.packet_id,
    'content', memory.envelope ->> 'content',
    'kind', memory.packet_type,
    'title', memory.title,
    'scope', memory.scope,
    'project_id', memory.project_id,
    'branch', memory.branch,
    'tags', memory.tags,
    'metadata', memory.metadata,
    'envelope', memory.envelope - 'content',
    'routing', memory.routing,
    'provenance', memory.provenance,
    'thread_id', memory.thread_id,
    'speaker', memory.speaker,
    'language', memory.language,
    'parent_ids', memory.parent_ids,
    'importance', importance,
    'estimated_importance', memory.importance_score,
    -- infinity says only that the rules of the kind set no expiry.
    'ttl', nullif(memory.ttl, 'infinity'),
    'archived_at', memory.archived_at,
    'timestamp', memory."timestamp",
    'created_at', memory.created_at,
    'updated_at', memory.updated_at,
    'correlation_id', memory.correlation_id,
    'session_id', memory.session_id,
    'trace_id', memory.trace_id
  );
  if memory.review_state is not null then
    document := document
      || jsonb_build_object('review_state', memory.review_state, 'review_reason', memory.review_reason);
  end if;
  return document;
end $$;
comment on function memories.json_of is 'A memory as the gateway returns it, with its learned importance.';

create function memories.memory_json(memory public.packet_store) returns jsonb
language sql stable parallel safe set search_path = ''
return memories.json_of(memory, public.packet_store_importance_score(memory));
comment on function memories.memory_json is 'A memory as the gateway returns it; its fields are named like the parameters of '
  'save_memory, except that importance is the learned one and estimated_importance the writer''s.';

create function memories.columns_json(memory public.packet_store) returns jsonb
language plpgsql stable parallel safe set search_path = '' as $$
begin
  return memories.json_of(memory, null)
    || case when memory.text_creator is null then '{}' else jsonb_build_object('text_creator', memory.text_creator) end;
end $$;
comment on function memories.columns_json is 'What memory_json() returns and the memory''s text_creator, without the learned '
  'importance, which would have to be looked up.';

create function memories.saved_json(status text, memory public.packet_store) returns jsonb
language plpgsql stable parallel safe set search_path = '' as $$
begin
  -- Nobody has found or used a new memory yet, so there is nothing to look up.
  return memories.json_of(memory, case when status = 'inserted' then importance.importance_of(memory, null, now())
    else public.packet_store_importance_score(memory) end);
end $$;
comment on function memories.saved_json is 'The memory in the answer of a save with this status, as memory_json() returns it.';
grant execute on function memories.json_of, memories.memory_json, memories.columns_json, memories.saved_json
  to l9_agent, l9_admin, l9_platform_admin;
