-- A memory as a JSON document. The operations of the gateway answer with it, and memory_history() compares states by
-- it.

create function memories.json_of(memory public.packet_store, importance real) returns jsonb
language sql stable parallel safe set search_path = ''
return case when (memory).packet_id is not null then pg_catalog.jsonb_build_object(
  'packet_id', (memory).packet_id,
  'content', (memory).envelope ->> 'content',
  'kind', (memory).packet_type,
  'title', (memory).title,
  'scope', (memory).scope,
  'project_id', (memory).project_id,
  'branch', (memory).branch,
  'tags', (memory).tags,
  'metadata', (memory).metadata,
  'envelope', (memory).envelope - 'content',
  'routing', (memory).routing,
  'provenance', (memory).provenance,
  'thread_id', (memory).thread_id,
  'speaker', (memory).speaker,
  'language', (memory).language,
  'parent_ids', (memory).parent_ids,
  'importance', importance,
  'estimated_importance', (memory).importance_score,
  -- infinity says only that the rules of the kind set no expiry.
  'ttl', nullif((memory).ttl, 'infinity'),
  'archived_at', (memory).archived_at,
  'timestamp', (memory)."timestamp",
  'created_at', (memory).created_at,
  'updated_at', (memory).updated_at,
  'correlation_id', (memory).correlation_id,
  'session_id', (memory).session_id,
  'trace_id', (memory).trace_id
) || case when (memory).review_state is null then '{}' else pg_catalog.jsonb_build_object(
  'review_state', (memory).review_state, 'review_reason', (memory).review_reason) end end;
comment on function memories.json_of is 'A memory as the gateway returns it, with its learned importance.';

create function memories.memory_json(memory public.packet_store) returns jsonb
language sql stable parallel safe set search_path = ''
return memories.json_of(memory, public.packet_store_importance_score(memory));
comment on function memories.memory_json is 'A memory as the gateway returns it; its fields are named like the parameters of '
  'save_memory, except that importance is the learned one and estimated_importance the writer''s.';

create function memories.saved_json(status text, memory public.packet_store) returns jsonb
language sql stable parallel safe set search_path = ''
-- Nobody has found or used a new memory yet, so there is nothing to look up.
return memories.json_of(memory, case when status = 'inserted' then importance.importance_of(memory, null, pg_catalog.now())
  else public.packet_store_importance_score(memory) end);
comment on function memories.saved_json is 'The memory in the answer of a save with this status, as memory_json() returns it.';
grant execute on function memories.json_of, memories.memory_json, memories.saved_json to l9_agent, l9_admin, l9_platform_admin;
