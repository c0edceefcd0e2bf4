-- Reasoning traces, with their envelopes as columns. Triggers of packet_store fill the table from memories of kind
-- reasoning_trace.
create table public.reasoning_traces (
  trace_id uuid primary key default uuidv7(),
  agent_id text not null,
  packet_id uuid not null unique references public.packet_store on delete cascade,
  steps jsonb not null,
  extracted_features jsonb not null,
  inference_steps jsonb not null,
  reasoning_tokens jsonb not null,
  decision_tokens jsonb not null,
  confidence_scores jsonb not null,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz, creator text not null, created_at timestamptz not null,
  updated_at timestamptz not null
);

-- Erased contents must not survive in the planner's statistics.
alter table public.reasoning_traces
  alter column agent_id set statistics 0, alter column steps set statistics 0,
  alter column extracted_features set statistics 0, alter column inference_steps set statistics 0,
  alter column reasoning_tokens set statistics 0, alter column decision_tokens set statistics 0,
  alter column confidence_scores set statistics 0;

-- A search counts the traces that its caller may read with an index-only scan, as it does for memory_contexts.
create index reasoning_traces_readers_idx on public.reasoning_traces (tenant_id, scope, user_id, org_id, project_id)
  include (packet_id, ttl);
create index reasoning_traces_agent_idx on public.reasoning_traces (tenant_id, agent_id, created_at);
call identity.describe('public.reasoning_traces', 'Reasoning traces: one row for each memory of kind reasoning_trace, with its
    envelope as columns. Triggers keep the row in step with its memory. The text of the steps is embedded as type reasoning.
  trace_id: UUID version 7. It does not change while the memory stays a reasoning trace.
  agent_id: The agent that the trace names: envelope.agent_id, else metadata.agent, else the creator. The column creator says who
    wrote the memory.
  packet_id: The memory that holds the trace.
  steps: The steps in order: a list of texts, or of objects that contain texts.
  extracted_features: What the agent took from its input: an object.
  inference_steps: What the agent inferred: a list.
  reasoning_tokens: The number of tokens that the reasoning took, or a list of the tokens.
  decision_tokens: The number of tokens that the decision took, or a list of the tokens.
  confidence_scores: An object that maps names to confidences from 0 to 1.');

-- trace_id is the key of the reasoning trace, so the trace of its memory has another name.
call derived.derive_from_packets('public.reasoning_traces', 'trace_id', 'packet_id', trace_column => 'packet_trace_id');

create function events.field_or_default(envelope jsonb, field text, default_value jsonb) returns jsonb
language sql immutable parallel safe set search_path = '' return coalesce(nullif(envelope -> field, 'null'), default_value);
comment on function events.field_or_default is 'Returns a field of the envelope, or the default if the field is absent or null.';

-- Inserts or updates the row of the memory, or deletes it if the memory is no longer a trace or has expired.
create function events.fill_reasoning(memory public.packet_store) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  -- An imported legacy memory may have the kind reasoning_trace without steps.
  if memory.packet_type <> 'reasoning_trace' or memory.envelope -> 'steps' is null or memory.ttl <= now() then
    delete from public.reasoning_traces t where t.packet_id = memory.packet_id;
    return;
  end if;
  insert into public.reasoning_traces as t (
    packet_id, agent_id, steps, extracted_features, inference_steps, reasoning_tokens, decision_tokens, confidence_scores)
  values (
    memory.packet_id,
    left(coalesce(memory.envelope ->> 'agent_id', memory.metadata ->> 'agent', memory.metadata ->> 'creator'), 200),
    memory.envelope -> 'steps',
    events.field_or_default(memory.envelope, 'extracted_features', '{}'),
    events.field_or_default(memory.envelope, 'inference_steps', '[]'),
    events.field_or_default(memory.envelope, 'reasoning_tokens', '[]'),
    events.field_or_default(memory.envelope, 'decision_tokens', '[]'),
    events.field_or_default(memory.envelope, 'confidence_scores', '{}'))
  on conflict (packet_id) do update
    set agent_id = excluded.agent_id, steps = excluded.steps, extracted_features = excluded.extracted_features,
      inference_steps = excluded.inference_steps, reasoning_tokens = excluded.reasoning_tokens,
      decision_tokens = excluded.decision_tokens, confidence_scores = excluded.confidence_scores, updated_at = clock_timestamp();
end $$;
comment on function events.fill_reasoning is 'Writes or deletes the trace row of a memory. Definer: callers can''t write traces.';

-- Fills what the kind was before and what it is now. An update counts only if it changes something that the row holds.
create function events.tg_packet_store__fill_columns() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  is_changed constant boolean := tg_op = 'INSERT' or old.withheld_creator is not null
    or new.packet_type <> old.packet_type or new.envelope <> old.envelope
    or new.metadata -> 'agent' is distinct from old.metadata -> 'agent';
  is_approved constant boolean := tg_op = 'UPDATE' and old.withheld_creator is not null;
begin
  if is_approved then
    insert into derived.memories_being_restated (packet_id) values (new.packet_id) on conflict do nothing;
  end if;
  if 'event' in (new.packet_type, old.packet_type) and (is_changed or new."timestamp" <> old."timestamp") then
    perform events.fill_event(new);
  end if;
  if 'reasoning_trace' in (new.packet_type, old.packet_type) and is_changed then
    perform events.fill_reasoning(new);
  end if;
  if is_approved then
    delete from derived.memories_being_restated a where a.packet_id = new.packet_id;
  end if;
  return null;
end $$;
comment on function events.tg_packet_store__fill_columns is 'Keeps a memory''s row in step. Definer: runs what callers can''t.';

create trigger _610_fill_columns after insert on public.packet_store
  for each row when (new.packet_type in ('event', 'reasoning_trace') and new.withheld_creator is null)
  execute function events.tg_packet_store__fill_columns();
create trigger _610_fill_columns_again after update on public.packet_store
  for each row when (new.withheld_creator is null
    and (old.packet_type in ('event', 'reasoning_trace') or new.packet_type in ('event', 'reasoning_trace')))
  execute function events.tg_packet_store__fill_columns();
