-- The columns that only lessons have, one row for each memory of kind reflection. store_reflection() writes it;
-- recall_lessons() and GraphQL read it.
create table public.reflection_store (
  reflection_id uuid primary key default uuidv7(),
  source_packet uuid not null unique references public.packet_store on delete cascade,
  reflection_type text not null,
  context text,
  entities text[] not null default '{}',
  confidence double precision not null,
  priority text not null,
  times_seen integer not null default 1,
  agent_count integer not null default 1,
  last_seen timestamptz not null default clock_timestamp(),
  source_agent text,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz,
  expires_at timestamptz generated always as (ttl) virtual,
  creator text not null, created_at timestamptz not null, updated_at timestamptz not null,
  constraint reflection_type_known check (reflection_type = any (reflection.reflection_types())),
  constraint reflection_priority_known check (priority = any (reflection.priorities())),
  constraint reflection_confidence_from_0_to_99 check (confidence between 0 and 0.99),
  constraint reflection_seen_once_at_least check (times_seen >= 1),
  constraint reflection_agents_one_at_least check (agent_count between 1 and times_seen),
  constraint reflection_context_at_most_8_kib check (octet_length(context) <= reflection.max_text_bytes()),
  constraint reflection_entities_at_most_64 check (cardinality(entities) <= reflection.max_list_length())
);
alter table public.reflection_store alter column context set statistics 0, alter column entities set statistics 0;
-- A search uses this index to check whether the caller may read only few lessons.
create index reflection_store_readers_idx on public.reflection_store (tenant_id, scope, user_id, org_id, project_id);
call identity.describe('public.reflection_store', 'Lessons that agents learned, one row for each memory of kind reflection. Text,
    tags, vector and access count belong to the memory: reflection_store_content(), reflection_store_tags() and
    reflection_store_access_count() return them, and memory_embeddings holds the vector.
  reflection_id: UUID version 7, ordered by the time when the reflection was first saved.
  source_packet: The memory that holds the text, the tags and, in memory_embeddings, the vector. A memory has at most one row
    here.
  reflection_type: lesson, pattern, failure, success, insight, improvement, or false_constraint (a constraint that was believed to
    hold and does not).
  context: The circumstances in which the reflection applies or was learned: at most 8 KiB.
  entities: The names of the entities that the reflection is about: at most 64, each once and as its writer spelled it.
  confidence: The confidence, from 0 to 0.99: 1 - Π(1 - c) over the agents that saved the reflection with this text, where c is
    the highest confidence that the agent gave. An agent that repeats itself changes nothing.
  priority: critical, high, medium or low: the highest priority that an agent gave to this text.
  times_seen: The number of times that the reflection was saved with this text, by all agents.
  agent_count: The number of agents that saved the reflection with this text. Rankings count these.
  last_seen: The time when the reflection was last saved.
  source_agent: The agent that saved the reflection first.
  expires_at: The same as ttl: from then on the reflection is no longer recalled.');

call derived.derive_from_packets('public.reflection_store', 'reflection_id');
call secrets.guard_table('public.reflection_store',
  array['correlation_id', 'session_id', 'trace_id', 'reflection_type', 'priority', 'source_agent']);
