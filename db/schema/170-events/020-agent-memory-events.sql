-- Events, with their envelopes as columns. Triggers of packet_store fill the table from memories of kind event.
create table public.agent_memory_events (
  event_id uuid primary key default uuidv7(),
  agent_id text not null,
  "timestamp" timestamptz not null,
  packet_id uuid not null unique references public.packet_store on delete cascade,
  event_type text not null,
  content jsonb not null,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz, creator text not null, created_at timestamptz not null,
  updated_at timestamptz not null
);

-- Erased contents must not survive in the planner's statistics.
alter table public.agent_memory_events
  alter column agent_id set statistics 0, alter column event_type set statistics 0, alter column content set statistics 0;

create index agent_memory_events_readers_idx on public.agent_memory_events (tenant_id, scope, "timestamp");
create index agent_memory_events_type_idx on public.agent_memory_events (tenant_id, event_type, "timestamp");
create index agent_memory_events_agent_idx on public.agent_memory_events (tenant_id, agent_id, "timestamp");
call identity.describe('public.agent_memory_events', 'Events: one row for each memory of kind event, with its envelope as columns.
    Triggers keep the row in step with its memory.
  event_id: UUID version 7. It does not change while the memory stays an event.
  agent_id: The agent that the event names: envelope.agent_id, else metadata.agent, else the creator. The column creator says who
    wrote the memory.
  timestamp: When the event happened: the event time of its memory.
  packet_id: The memory that holds the event.
  event_type: The type of the event: envelope.event_type, such as deploy.finished.
  content: The other fields of the envelope; the text of the memory is its field content.');

call derived.derive_from_packets('public.agent_memory_events', 'event_id', 'packet_id');

create function events.fill_event(memory public.packet_store) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  -- An imported legacy memory may have the kind event without an event_type.
  if memory.packet_type <> 'event' or memory.envelope ->> 'event_type' is null or memory.ttl <= now() then
    delete from public.agent_memory_events e where e.packet_id = memory.packet_id;
    return;
  end if;
  insert into public.agent_memory_events as e (packet_id, agent_id, "timestamp", event_type, content)
  values (
    memory.packet_id,
    left(coalesce(memory.envelope ->> 'agent_id', memory.metadata ->> 'agent', memory.metadata ->> 'creator'), 200),
    memory."timestamp",
    memory.envelope ->> 'event_type',
    memory.envelope - array['event_type', 'agent_id', 'timestamp'])
  on conflict (packet_id) do update
    set agent_id = excluded.agent_id, "timestamp" = excluded."timestamp", event_type = excluded.event_type,
      content = excluded.content, updated_at = clock_timestamp();
end $$;
comment on function events.fill_event is 'Writes or deletes the event row of a memory. Definer: callers can''t write events.';
