create table public.entity_relationships (
  relationship_id uuid primary key default uuidv7(),
  source_entity text not null,
  relationship_type text not null,
  target_entity text not null,
  source_normalized text not null,
  target_normalized text not null,
  confidence double precision not null,
  mention_count bigint not null default 1,
  first_seen timestamptz not null default clock_timestamp(),
  last_seen timestamptz not null default clock_timestamp(),
  -- A key to its evidence (015), which has the key to the memory: to check one to the memory would be to wait for whoever
  -- deletes that, while he waits to settle this.
  source_packet uuid not null,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (tenant_id, scope) references public.scopes (tenant_id, scope),
  constraint relationship_of_two_entities check (source_normalized <> target_normalized),
  constraint relationship_type_normalised check (relationship_type ~ '^\S+$' and octet_length(relationship_type) <= 200),
  constraint relationship_confidence_at_most_99 check (confidence between 0 and 0.99),
  constraint relationship_mentioned check (mention_count > 0)
) with (fillfactor = 90);

-- Names are contents: they are not sampled, for the reason given at packet_store.
alter table public.entity_relationships
  alter column source_entity set statistics 0, alter column relationship_type set statistics 0,
  alter column target_entity set statistics 0, alter column source_normalized set statistics 0,
  alter column target_normalized set statistics 0;

comment on table public.entity_relationships is
  'The entity graph: what memories say of how two entities are related, one row for a triple in one tenant, org, user, project and scope. All but the triple is worked out from relationship_evidence. relate() writes it.';
comment on column public.entity_relationships.relationship_id is 'UUID version 7: ordered by when it was first stated.';
comment on column public.entity_relationships.source_entity is 'The entity that the relation goes out from, as its source memory spells it.';
comment on column public.entity_relationships.relationship_type is 'What the relation is: in lower case, with underscores, such as depends_on.';
comment on column public.entity_relationships.target_entity is 'The entity that the relation goes to, as its source memory spells it.';
comment on column public.entity_relationships.source_normalized is 'source_entity as it is compared: Unicode NFKC, in lower case, white space collapsed.';
comment on column public.entity_relationships.target_normalized is 'target_entity as it is compared: Unicode NFKC, in lower case, white space collapsed.';
comment on column public.entity_relationships.confidence is
  'From 0 to 0.99: 1 less the product of the doubts that each mention left, so it rises with every mention.';
comment on column public.entity_relationships.mention_count is 'How often it was stated.';
comment on column public.entity_relationships.first_seen is 'When it was first stated by a memory that is still there.';
comment on column public.entity_relationships.last_seen is 'When it was last stated by a memory that is still there.';
comment on column public.entity_relationships.source_packet is 'The memory that states it and lasts longest; of several, the first that did.';

call derived.derive_from_packets('public.entity_relationships', 'relationship_id', follows => false);

create unique index relationship_triple_unique on public.entity_relationships
  (source_normalized, relationship_type, target_normalized, tenant_id, scope, project_id, org_id, user_id) nulls not distinct;
-- Both ways of walking, the surest relations first; with the scope in front, so that others' are never walked past.
create index entity_relationships_outgoing_idx on public.entity_relationships (tenant_id, source_normalized, scope, confidence desc);
create index entity_relationships_incoming_idx on public.entity_relationships (tenant_id, target_normalized, scope, confidence desc);
create index entity_relationships_readers_idx on public.entity_relationships (tenant_id, scope, relationship_id);
create index entity_relationships_source_idx on public.entity_relationships (source_packet);

comment on index public.relationship_triple_unique is 'Makes a second row of one triple in one room impossible, also for concurrent writers.';

create function graph.check_relationship_type(type text, field text default 'type')
returns text
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  normalised constant text := replace(entities.normalise_name(type), ' ', '_');
begin
  if coalesce(normalised, '') = '' then
    perform identity.raise_error('L9VAL', format('%s: what the relation is, such as depends_on', field), field);
  end if;
  perform identity.check_bytes(type, 200, field), identity.check_bytes(normalised, 200, field);
  return normalised;
end
$$;

comment on function graph.check_relationship_type(text, text) is
  'A type of relations as it is stored: normalised as names are, with underscores for spaces, at most 200 bytes; else L9VAL or L9LIM.';

grant execute on function graph.check_relationship_type(text, text) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
