create function world_model.merge_into_entity(
  audience_id uuid, change jsonb, confidence double precision, source_packet uuid, ttl timestamptz)
returns void
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  world constant uuid := merge_into_entity.audience_id;
  key constant text := entities.normalise_name(change ->> 'entity_id');
  new_attributes constant jsonb := coalesce(change -> 'attributes', '{}');
  removed_keys constant text[] := array(select a.key from jsonb_each(new_attributes) as a where a.value = 'null');
  new_confidence constant double precision := coalesce((change ->> 'confidence')::double precision, merge_into_entity.confidence);
  new_setters jsonb;
  applied public.world_model_updates;
  bytes integer;
begin
  if change -> 'delete' = 'true' then
    delete from public.world_model_entities e where e.audience_id = world and e.entity_id_normalized = key;
    return;
  end if;
  select u.* into applied from public.world_model_updates u
  where u.audience_id = world and u.source_packet = merge_into_entity.source_packet
  order by u.state_version_after desc limit 1;
  new_setters := (
    select coalesce(jsonb_object_agg(a.key, world_model.setter(applied.creator, applied.source, applied.source_packet)), '{}')
    from jsonb_each(new_attributes) as a);
  update public.world_model_entities e
  set entity_id = change ->> 'entity_id', entity_type = coalesce(change ->> 'entity_type', e.entity_type),
    attributes = (e.attributes || new_attributes) - removed_keys, set_by = (e.set_by || new_setters) - removed_keys,
    confidence = new_confidence, version = e.version + 1, source_packet = applied.source_packet, creator = applied.creator,
    source = applied.source, ttl = least(e.ttl, merge_into_entity.ttl), updated_at = clock_timestamp()
  where e.audience_id = world and e.entity_id_normalized = key
  returning octet_length(e.attributes::text) into bytes;
  if not found then
    insert into public.world_model_entities as e (
      entity_id, entity_type, attributes, set_by, confidence, version, source_packet, creator, source, ttl)
    values (
      change ->> 'entity_id', coalesce(change ->> 'entity_type', 'entity'), new_attributes - removed_keys,
      new_setters - removed_keys, new_confidence,
      1 + coalesce((
        select d.version from world_model.removed_entities d where d.audience_id = world and d.entity_key = key), 0),
      applied.source_packet, applied.creator, applied.source, merge_into_entity.ttl)
    returning octet_length(e.attributes::text) into bytes;
    delete from world_model.removed_entities d where d.audience_id = world and d.entity_key = key;
  end if;
  if bytes > 65536 then
    perform identity.raise_error('L9LIM',
      format('insight.entities.attributes: an entity has at most 65536 bytes (64 KiB), this one would have %s', bytes), 'insight.entities.attributes');
  end if;
end
$$;

comment on function world_model.merge_into_entity(uuid, jsonb, double precision, uuid, timestamptz) is
  'Merges what the newest update from a memory says about one entity into it, with the same result as fold_world(). Not executable by callers.';

create function world_model.write_world_update(source_packet uuid, insight jsonb, expected_version integer)
returns public.world_model_updates
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  source public.packet_store := derived.lock_source_memory(source_packet);
  checked jsonb := world_model.check_insight(insight);
  world uuid := packets.audience_id(source.tenant_id, source.org_id, source.user_id, source.project_id, source.scope);
  applied public.world_model_updates;
  version integer := world_model.take_next_version(world, expected_version);
begin
  if exists (select from public.world_model_entities e where e.audience_id = world and e.ttl <= now()) then
    -- Leave out memories that have expired and are not cleaned up yet.
    perform world_model.recompute_world(world, false);
  end if;
  insert into public.world_model_updates as u (
    source_packet, insight_id, insight_type, entities, content, confidence, state_version_before, state_version_after)
  values (
    source.packet_id, coalesce((checked ->> 'insight_id')::uuid, source.packet_id), checked ->> 'insight_type', checked -> 'entities',
    checked ->> 'content', coalesce((checked ->> 'confidence')::double precision, 1), version - 1, version)
  returning u.* into applied;
  perform world_model.merge_into_entity(world, change.entity, applied.confidence, applied.source_packet, applied.ttl)
  from jsonb_array_elements(applied.entities) with ordinality as change (entity, place) order by change.place;
  return applied;
end
$$;

comment on function world_model.write_world_update(uuid, jsonb, integer) is
  'Does the work of apply_world_update() for an existing memory. The caller must see the memory and may write in its scope and project. Definer: callers can''t write these tables.';

create function public.apply_world_update(
  insight jsonb,
  expected_version integer default null,
  source_packet uuid default null,
  scope text default 'developer',
  project_id text default null
)
returns public.world_model_updates
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform identity.require_identity();
  if source_packet is null and coalesce(world_model.check_insight(insight) ->> 'content', '') !~ '\S' then
    perform identity.raise_error('L9VAL', 'insight.content: required unless source_packet is given', 'insight.content');
  end if;
  return world_model.write_world_update(
    derived.packet_for('insight', insight ->> 'content', scope, project_id, source_packet), insight, expected_version);
end
$$;

comment on function public.apply_world_update(jsonb, integer, uuid, text, text) is
  'Changes a world by an insight: insight_type, content, confidence (1 by default) and entities, each with entity_id, entity_type, attributes (merged; null removes a key), confidence, or delete: true. The world is that of source_packet; without source_packet the content is saved as a memory of kind insight in this scope and project, whose world it is. With expected_version the insight is applied only if that is the current version; else L9VAL names the current one. The versions of the world and of each entity in the insight rise by one. Errors: L9VAL, L9LIM, L9SCP, L9OWN, L9AUT.';

grant execute on function world_model.write_world_update(uuid, jsonb, integer) to l9_agent, l9_admin;
grant execute on function public.apply_world_update(jsonb, integer, uuid, text, text) to l9_agent, l9_admin;
