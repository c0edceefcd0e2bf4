-- The learned importance and the counters of a memory. GraphQL shows the public functions as fields of a memory, and
-- searches call importance_of().
create function importance.importance_of(memory public.packet_store, signals public.memory_signals, at timestamptz) returns real
language sql immutable parallel safe
return importance.importance(
  (memory).importance_score,
  (memory).packet_type,
  -- An agent that only read the memory counts half. Uses and contradictions before an import count as those of one agent,
  -- because nobody knows whose they were.
  coalesce((signals).useful, 0) + 0.5 * (
    importance.decayed(coalesce((signals).readers, 0), (signals).read_at, at)
    + importance.decayed(least((memory).access_count, 1)::double precision, (memory).last_accessed, at)),
  least((memory).contradiction_count, 1) + coalesce((signals).useless, 0),
  greatest(extract(epoch from at - (memory)."timestamp")::double precision / 86400, 0))::real;
comment on function importance.importance_of is 'importance() of a memory at a time; null signals: never found or used.';
grant execute on function importance.importance_of to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create function public.packet_store_importance_score(memory public.packet_store) returns real
language sql stable parallel safe set search_path = ''
return importance.importance_of(
  memory, (select s from public.memory_signals s where s.packet_id = (memory).packet_id), pg_catalog.now());

create function public.packet_store_access_count(memory public.packet_store) returns bigint
language sql stable parallel safe set search_path = ''
return (memory).access_count
  + coalesce((select s.access_count from public.memory_signals s where s.packet_id = (memory).packet_id), 0);

create function public.packet_store_last_accessed(memory public.packet_store) returns timestamptz
language sql stable parallel safe set search_path = ''
return greatest(
  (memory).last_accessed, (select s.last_accessed from public.memory_signals s where s.packet_id = (memory).packet_id));

create function public.packet_store_contradiction_count(memory public.packet_store) returns integer
language sql stable parallel safe set search_path = ''
return (memory).contradiction_count
  + coalesce((select s.contradiction_count from public.memory_signals s where s.packet_id = (memory).packet_id), 0);
comment on function public.packet_store_importance_score is 'How much the memory matters, from 0 to 1: computed from the '
  'writer''s estimate, its kind, what agents do with it (votes, reading after a search, citations, contradictions: one voice an '
  'agent) and its age.';
comment on function public.packet_store_access_count is 'How often the memory was found or read, up to the last roll-up of the '
  'access log.';
comment on function public.packet_store_last_accessed is 'When the memory was last found or read, up to the last roll-up of the '
  'access log.';
comment on function public.packet_store_contradiction_count is 'How many agents contradict this memory by facts of other '
  'memories.';
grant execute on function public.packet_store_importance_score, public.packet_store_access_count,
  public.packet_store_last_accessed, public.packet_store_contradiction_count to l9_agent, l9_admin, l9_platform_admin;
