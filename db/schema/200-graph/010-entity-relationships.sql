-- The edges of the entity graph: one row for each triple in each audience, computed from relationship_evidence.
-- relate_from() writes it, and the indexes below serve edges_of().
create table public.entity_relationships (
  relationship_id uuid primary key default uuidv7(),
  source_entity text not null,
  relationship_type text not null,
  target_entity text not null,
  source_normalized text not null,
  target_normalized text not null,
  confidence double precision not null,
  mention_count bigint not null default 1,
  agent_count integer not null default 1,
  is_from_admin boolean not null default false,
  first_seen timestamptz not null default clock_timestamp(),
  last_seen timestamptz not null default clock_timestamp(),
  -- References relationship_evidence, which references the memory. A foreign key to packet_store would deadlock with a
  -- concurrent delete that recomputes this relationship.
  source_packet uuid not null,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz, creator text not null, created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (tenant_id, scope) references public.scopes (tenant_id, scope),
  constraint relationship_of_two_entities check (source_normalized <> target_normalized),
  constraint relationship_type_normalised check (relationship_type ~ '^\S+$' and octet_length(relationship_type) <= 200),
  constraint relationship_confidence_at_most_99 check (confidence between 0 and 0.99),
  constraint relationship_mentioned check (mention_count > 0 and agent_count between 1 and mention_count)
) with (fillfactor = 90);
-- Erased contents must not survive in the planner's statistics.
alter table public.entity_relationships
  alter column source_entity set statistics 0, alter column relationship_type set statistics 0,
  alter column target_entity set statistics 0, alter column source_normalized set statistics 0,
  alter column target_normalized set statistics 0;
call identity.describe('public.entity_relationships', 'The entity graph: how two entities are related, one row for each triple
    (source, type, target) in one tenant, org, user, project and scope. Everything but the triple is computed from
    relationship_evidence. relate() writes this table.
  relationship_id: UUID version 7, so ids are ordered by when the relationship was first stated.
  source_entity: The entity that the relationship starts from, as its source memory spells it.
  relationship_type: The type of the relationship: lower case with underscores, such as depends_on.
  target_entity: The entity that the relationship leads to, as its source memory spells it.
  source_normalized: source_entity in the form in which names are compared: Unicode NFKC, lower case, white space collapsed.
  target_normalized: target_entity in the form in which names are compared: Unicode NFKC, lower case, white space collapsed.
  confidence: From 0 to 0.99: 1 - Π(1 - c) over the agents that state the relationship (noisy-or), where c is the highest
    confidence that the agent gave. What an administrator states has the confidence of administrators alone.
  mention_count: How often the relationship was stated.
  agent_count: How many agents state the relationship. Rankings count these.
  is_from_admin: True if an administrator states the relationship.
  first_seen: When a memory that still exists first stated the relationship.
  last_seen: When a memory that still exists last stated the relationship.
  source_packet: The memory that stands for all that state the relationship: of those by administrators or, without any, by
    agents, the one that expires last; of several such memories, the oldest.');

-- It doesn't follow its memory as other derived tables do: several memories state a relationship, so the graph's own triggers
-- move and delete the evidence of one, and compute the relationship again.
call derived.derive_from_packets('public.entity_relationships', 'relationship_id', follows => false,
  evidence_table => 'relationship_evidence');
-- The relationship type is compared with the patterns here. The names are copied from relationship_evidence, which has compared
-- them already, and the references from the memory.
call secrets.guard_table('public.entity_relationships',
  array['correlation_id', 'session_id', 'trace_id', 'source_entity', 'target_entity'], redacts => false);
create unique index relationship_triple_unique on public.entity_relationships
  (source_normalized, relationship_type, target_normalized, tenant_id, scope, project_id, org_id, user_id) nulls not distinct;
-- One index for each direction, most confident first. The scope comes before the confidence, so a scan never skips rows of
-- scopes that the caller can't read.
create index entity_relationships_outgoing_idx
  on public.entity_relationships (tenant_id, source_normalized, scope, confidence desc);
create index entity_relationships_incoming_idx
  on public.entity_relationships (tenant_id, target_normalized, scope, confidence desc);
create index entity_relationships_readers_idx on public.entity_relationships (tenant_id, scope, relationship_id);
create index entity_relationships_source_idx on public.entity_relationships (source_packet);
comment on index public.relationship_triple_unique is 'Prevents a second row for the same triple in one audience, also under '
  'concurrent writes.';

create function graph.check_relationship_type(type text, field text default 'type') returns text
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  normalised constant text := replace(entities.normalise_name(type), ' ', '_');
begin
  if coalesce(normalised, '') = '' then
    perform identity.raise_error('L9VAL', format('%s: a relationship type is required, such as depends_on', field));
  end if;
  perform identity.check_bytes(type, 200, field), identity.check_bytes(normalised, 200, field);
  return normalised;
end $$;
comment on function graph.check_relationship_type is 'The stored form of a type: a name with underscores, or L9VAL, L9LIM.';
grant execute on function graph.check_relationship_type to l9_agent, l9_admin, l9_platform_admin, l9_worker;
