create function world_model.touch_entity(
  audience_id uuid, said jsonb, confidence double precision, source_packet uuid, ttl timestamptz)
returns void
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  key text := entities.normalise_name(said ->> 'entity_id');
  given jsonb := coalesce(said -> 'attributes', '{}');
  removed text[] := array(select a.key from jsonb_each(given) as a where a.value = 'null');
  sure double precision := coalesce((said ->> 'confidence')::double precision, touch_entity.confidence);
  bytes integer;
begin
  if said -> 'delete' = 'true' then
    delete from public.world_model_entities e where e.audience_id = touch_entity.audience_id and e.entity_id_normalized = key;
    return;
  end if;
  update public.world_model_entities e
  set entity_id = said ->> 'entity_id', entity_type = coalesce(said ->> 'entity_type', e.entity_type),
    attributes = (e.attributes || given) - removed, confidence = sure, version = e.version + 1,
    source_packet = touch_entity.source_packet, ttl = least(e.ttl, touch_entity.ttl), updated_at = clock_timestamp()
  where e.audience_id = touch_entity.audience_id and e.entity_id_normalized = key
  returning octet_length(e.attributes::text) into bytes;
  if not found then
    insert into public.world_model_entities as e (entity_id, entity_type, attributes, confidence, version, source_packet, ttl)
    values (
      said ->> 'entity_id', coalesce(said ->> 'entity_type', 'entity'), given - removed, sure,
      1 + coalesce((
        select d.version from world_model.removed_entities d
        where d.audience_id = touch_entity.audience_id and d.entity_key = key), 0),
      touch_entity.source_packet, touch_entity.ttl)
    returning octet_length(e.attributes::text) into bytes;
    delete from world_model.removed_entities d where d.audience_id = touch_entity.audience_id and d.entity_key = key;
  end if;
  if bytes > 65536 then
    perform identity.raise_error('L9LIM',
      format('insight.entities.attributes: at most 65536 bytes (64 KiB) of an entity, would be %s', bytes), 'insight.entities.attributes');
  end if;
end
$$;

comment on function world_model.touch_entity(uuid, jsonb, double precision, uuid, timestamptz) is
  'Folds what an update says of one entity into it, as fold_world() would. Not executable by callers.';

create function world_model.next_world_version(audience_id uuid, expected_version integer)
returns integer
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  version integer := world_model.lock_world(audience_id);
begin
  if expected_version <> version then
    perform identity.raise_error('L9VAL', format('expected_version: the world is at version %s', version), 'expected_version',
      'Read it again, and decide anew.');
  end if;
  update world_model.worlds w set state_version = version + 1 where w.audience_id = next_world_version.audience_id;
  return version + 1;
end
$$;

comment on function world_model.next_world_version(uuid, integer) is
  'Takes the next version of a world, which nobody else changes until the end of the transaction; L9VAL where another one than expected is the present one. Not executable by callers.';

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
  version integer := world_model.next_world_version(world, expected_version);
begin
  if exists (select from public.world_model_entities e where e.audience_id = world and e.ttl <= now()) then
    -- Nothing is to be built on what has expired, and is not cleaned up yet.
    perform world_model.recompute_world(world, false);
  end if;
  insert into public.world_model_updates as u (
    source_packet, insight_id, insight_type, entities, content, confidence, state_version_before, state_version_after)
  values (
    source.packet_id, coalesce((checked ->> 'insight_id')::uuid, source.packet_id), checked ->> 'insight_type', checked -> 'entities',
    checked ->> 'content', coalesce((checked ->> 'confidence')::double precision, 1), version - 1, version)
  returning u.* into applied;
  perform world_model.touch_entity(world, said.entity, applied.confidence, applied.source_packet, applied.ttl)
  from jsonb_array_elements(applied.entities) with ordinality as said (entity, place) order by said.place;
  return applied;
end
$$;

comment on function world_model.write_world_update(uuid, jsonb, integer) is
  'apply_world_update() for a memory that is there. Definer: callers can''t write these tables. The caller must see the memory, and may write where it is.';

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
declare
  packet_id uuid := source_packet;
begin
  perform identity.require_identity();
  if packet_id is null then
    if coalesce(world_model.check_insight(insight) ->> 'content', '') !~ '\S' then
      perform identity.raise_error('L9VAL', 'insight.content: required where no source_packet is given', 'insight.content');
    end if;
    packet_id := (
      (public.save_memory(
        content => insight ->> 'content', scope => apply_world_update.scope, project_id => apply_world_update.project_id,
        kind => 'insight')).memory).packet_id;
  end if;
  return world_model.write_world_update(packet_id, insight, expected_version);
end
$$;

comment on function public.apply_world_update(jsonb, integer, uuid, text, text) is
  'Changes the world by an insight: insight_type, content, confidence (1 unless said) and entities, each with entity_id, entity_type, attributes (merged; null takes a key away), confidence, or delete: true. The world of source_packet; without one the content is saved as a memory of kind insight in that scope and project, and the world is the one there. With expected_version only if that is the present version: else L9VAL, which names the present one. Versions of the world and of each entity touched rise by one. Errors: L9VAL, L9LIM, L9SCP, L9OWN, L9AUT.';

grant execute on function world_model.write_world_update(uuid, jsonb, integer) to l9_agent, l9_admin;
grant execute on function public.apply_world_update(jsonb, integer, uuid, text, text) to l9_agent, l9_admin;
