create table public.reflection_store (
  reflection_id uuid primary key default uuidv7(),
  source_packet uuid not null unique references public.packet_store on delete cascade,
  reflection_type text not null,
  context text,
  entities text[] not null default '{}',
  confidence double precision not null,
  priority text not null,
  times_seen integer not null default 1,
  last_seen timestamptz not null default clock_timestamp(),
  source_agent text,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  expires_at timestamptz generated always as (ttl) virtual,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint reflection_type_known check (
    reflection_type in ('lesson', 'pattern', 'failure', 'success', 'insight', 'improvement', 'false_constraint')),
  constraint reflection_priority_known check (priority in ('critical', 'high', 'medium', 'low')),
  constraint reflection_confidence_from_0_to_99 check (confidence between 0 and 0.99),
  constraint reflection_seen_once_at_least check (times_seen >= 1),
  constraint reflection_context_at_most_8_kib check (octet_length(context) <= 8192),
  constraint reflection_entities_at_most_64 check (cardinality(entities) <= 64)
);

alter table public.reflection_store alter column context set statistics 0, alter column entities set statistics 0;

-- The lessons that a caller may read, where a search looks whether they are few.
create index reflection_store_readers_idx on public.reflection_store (tenant_id, scope, user_id, org_id, project_id);

comment on table public.reflection_store is
  'What agents learned: what is particular to memories of kind reflection, one row each. Text, tags and vector are the memory''s own, and so is how often it was found: reflection_store_content(), reflection_store_tags() and reflection_store_access_count() give them, and memory_embeddings has the vector.';
comment on column public.reflection_store.reflection_id is 'UUID version 7: ordered by when it was first told.';
comment on column public.reflection_store.source_packet is
  'The memory that says it: its text, tags and, in memory_embeddings, its vector. A row for each memory at most.';
comment on column public.reflection_store.reflection_type is
  'lesson, pattern, failure, success, insight, improvement, or false_constraint: what was thought to bind and does not.';
comment on column public.reflection_store.context is 'When it applies, or how it was learned: 8 KiB at most.';
comment on column public.reflection_store.entities is 'What it is about: 64 names at most, normalised (case, white space, Unicode).';
comment on column public.reflection_store.confidence is
  'How sure it is, from 0 to 0.99: 1 - (1 - c) (1 - c) … over all who told it, so it grows with each and never reaches 1.';
comment on column public.reflection_store.priority is 'critical, high, medium or low: the highest that anyone gave it.';
comment on column public.reflection_store.times_seen is 'How often it was told.';
comment on column public.reflection_store.last_seen is 'When it was last told.';
comment on column public.reflection_store.source_agent is 'The agent that told it first.';
comment on column public.reflection_store.expires_at is 'The same as ttl: from then on nobody recalls it.';

call derived.derive_from_packets('public.reflection_store', 'reflection_id');
