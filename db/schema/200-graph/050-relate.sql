-- States a relationship: relate() for callers over GraphQL and psql, which saves a memory if none is named, and
-- relate_from() for a memory that exists, which the extraction job calls too.
create function graph.relate_from(packet_id uuid, source text, type text, target text, confidence double precision default 0.8,
  extracted_by text default null) returns public.entity_relationships
language plpgsql volatile security definer set search_path = '' as $$
declare
  source_name constant text := entities.check_name(relate_from.source, 'source');
  type_name constant text := graph.check_relationship_type(relate_from.type);
  target_name constant text := entities.check_name(relate_from.target, 'target');
  -- Only a job may name the model that extracted the relationship.
  extractor constant text := case when identity.current_role_name() = 'l9_worker'
    or derived.is_being_restated(relate_from.packet_id) then relate_from.extracted_by end;
  stated record;
  source public.packet_store;
  relation public.entity_relationships;
begin
  perform entities.check_confidence(relate_from.confidence);
  if source_name = target_name then
    perform identity.raise_error('L9VAL', 'target: must be another entity than source');
  end if;
  perform identity.check_bytes(extractor, 200, 'extracted_by');
  source := derived.lock_source_memory(relate_from.packet_id, kind => 'fact');

  -- The upsert locks an existing row, so concurrent statements of one triple are counted one after the other.
  insert into public.entity_relationships as r (
    source_entity, relationship_type, target_entity, source_normalized, target_normalized, confidence, source_packet,
    is_from_admin)
  values (
    btrim(relate_from.source), type_name, btrim(relate_from.target), source_name, target_name,
    entities.noisy_or(array[derived.bounded_confidence(source, relate_from.confidence)]), relate_from.packet_id,
    derived.is_from_admin(source))
  on conflict (source_normalized, relationship_type, target_normalized, tenant_id, scope, project_id, org_id, user_id)
  do update set relationship_id = r.relationship_id
  returning r.relationship_id, old.relationship_id is null as is_new into stated;

  insert into public.relationship_evidence as e (relationship_id, packet_id, source_entity, target_entity, confidence,
    extracted_by)
  values (
    stated.relationship_id, relate_from.packet_id, btrim(relate_from.source), btrim(relate_from.target),
    derived.bounded_confidence(source, relate_from.confidence), extractor)
  on conflict on constraint relationship_evidence_once do update
  -- An agent's strongest word counts, however often it repeats it.
  set confidence = greatest(e.confidence, excluded.confidence), mentions = e.mentions + 1,
    extracted_by = case when e.extracted_by is not null then excluded.extracted_by end,
    last_seen = clock_timestamp(), updated_at = clock_timestamp();

  if not stated.is_new then
    perform graph.recompute_relationships(array[stated.relationship_id]);
  end if;
  select r.* into relation from public.entity_relationships r where r.relationship_id = stated.relationship_id;
  return relation;
end $$;
comment on function graph.relate_from is 'States a relationship from a memory, for a caller who may read it and write in its '
  'scope, or for a job (extracted_by its model). Definer: callers can''t write these tables.';

-- Checks everything before it saves a memory, so that a refused relationship leaves none behind. Two names of one
-- entity are refused here; relate_from() compares only the spellings.
create function public.relate(source text, type text, target text, confidence double precision default 0.8,
  source_packet uuid default null, scope text default 'developer', project_id text default null)
returns public.entity_relationships
language plpgsql volatile set search_path = '' as $$
declare
  type_name constant text := graph.check_relationship_type(relate.type);
  packet_id uuid := relate.source_packet;
  saved public.save_result;
begin
  perform identity.require_identity();
  perform entities.check_name(relate.source, 'source'), entities.check_name(relate.target, 'target');
  perform entities.check_confidence(relate.confidence);
  if entities.normalise_name(relate.target) = any (entities.names_of(relate.source)) then
    perform identity.raise_error('L9VAL', 'target: must be another entity than source; both are names of the same entity');
  end if;
  if packet_id is null then
    saved := public.save_memory(
      format('%s %s %s', btrim(relate.source), replace(type_name, '_', ' '), btrim(relate.target)),
      relate.scope, relate.project_id, branch => '*', kind => 'fact',
      envelope => derived.on_approval('fact', coalesce(relate.scope, 'developer'),
        packets.project_or_default(relate.project_id, coalesce(relate.scope, 'developer')), 'relate', jsonb_build_object(
          'source', relate.source, 'type', relate.type, 'target', relate.target, 'confidence', relate.confidence)));
    packet_id := (saved.memory).packet_id;
    if packets.is_withheld((saved.memory).review_state) then
      return null; -- There is none before an approval.
    end if;
    perform derived.keep_alive(packet_id);
  else
    perform derived.refuse_withheld_source(packet_id);
  end if;
  return graph.relate_from(packet_id, relate.source, relate.type, relate.target, relate.confidence);
end $$;
comment on function public.relate is 'States that source is related to target: relate(''billing'', ''depends_on'', '
  '''postgres''). Stating it again counts a mention; each further agent raises its confidence. source_packet: the memory that '
  'states it and decides where it is visible; left out, one of kind fact is saved in scope and project_id; the answer is null '
  'while that waits for a review. Errors: L9VAL, L9LIM, L9SCP, L9OWN, L9AUT.';
grant execute on function graph.relate_from to l9_agent, l9_admin, l9_worker;
grant execute on function public.relate to l9_agent, l9_admin;
