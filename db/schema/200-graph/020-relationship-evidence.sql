-- The table of statements that relationships are computed from: which agent stated which one, from which memory.
-- relate_from() writes it, and the triggers of memories move and delete its rows.
create table public.relationship_evidence (
  evidence_id uuid primary key default uuidv7(),
  relationship_id uuid not null references public.entity_relationships on delete cascade,
  packet_id uuid not null references public.packet_store on delete cascade,
  source_entity text not null,
  target_entity text not null,
  confidence double precision not null,
  mentions bigint not null default 1,
  agent text not null,
  is_from_admin boolean not null,
  extracted_by text,
  last_seen timestamptz not null default clock_timestamp(),
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz, creator text not null, created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (tenant_id, scope) references public.scopes (tenant_id, scope),
  constraint relationship_evidence_once unique (relationship_id, packet_id, creator),
  constraint evidence_confidence_between_0_and_1 check (confidence between 0 and 1),
  constraint evidence_mentioned check (mentions > 0),
  constraint evidence_extractor_short check (octet_length(extracted_by) <= 200)
) with (fillfactor = 90);
-- Deferred, because a relationship is inserted before its evidence.
alter table public.entity_relationships add constraint relationship_source_is_evidence
  foreign key (relationship_id, source_packet, creator)
  references public.relationship_evidence (relationship_id, packet_id, creator) deferrable initially deferred;
alter table public.relationship_evidence
  alter column source_entity set statistics 0, alter column target_entity set statistics 0,
  alter column extracted_by set statistics 0;
call identity.describe('public.relationship_evidence', 'Evidence of relationships: which agent states a relationship from which
    memory, with which confidence and how often. Confidence and counts of a relationship are computed from these rows.
  evidence_id: UUID version 7.
  relationship_id: The relationship; it has the same tenant, org, user, project and scope as the memory.
  packet_id: The memory that states the relationship.
  source_entity: The entity that the relationship starts from, as this memory spells it.
  target_entity: The entity that the relationship leads to, as this memory spells it.
  confidence: The highest confidence in the relationship that the agent gave with this memory, from 0 to 1.
  mentions: How often the agent stated the relationship from this memory.
  agent: The creator name of the agent whose statement it is: creator or, if a job extracted the relationship, the writer of the
    memory.
  is_from_admin: True if that agent was an administrator when it made the statement.
  extracted_by: The chat model that extracted the relationship from the memory. Null: a caller stated it, possibly besides a
    model.
  last_seen: When the relationship was last stated from this memory.');

call derived.derive_from_packets('public.relationship_evidence', 'evidence_id', 'packet_id', follows => false);
create trigger _320_stamp_statement before insert on public.relationship_evidence
  for each row execute function derived.tg__stamp_statement('packet_id');
-- A relationship is found by the normalised names of its entities, so it is refused rather than redacted.
call secrets.guard_table('public.relationship_evidence', array['correlation_id', 'session_id', 'trace_id', 'agent'],
  redacts => false);
create index relationship_evidence_packet_idx on public.relationship_evidence (packet_id);
create index relationship_evidence_readers_idx on public.relationship_evidence (tenant_id, scope, evidence_id);
