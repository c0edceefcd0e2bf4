-- Changes a world by an insight. The operation update_world_model of the gateway calls apply_world_update(), and
-- facts join in at merge_update().
create function world_model.merge_into_entity(applied public.world_model_updates, change jsonb) returns text[]
language plpgsql volatile set search_path = '' as $$
declare
  key constant text := entities.normalise_name(change ->> 'entity_id');
  setter constant jsonb := world_model.setter(applied);
  entity public.world_model_entities;
  new_attributes jsonb := coalesce(change -> 'attributes', '{}');
  outranked text[] := '{}';
  removed_keys text[];
  is_header boolean;
begin
  select e.* into entity from public.world_model_entities e
  where e.audience_id = applied.audience_id and e.entity_id_normalized = key;
  if change -> 'delete' = 'true' then
    if entity.is_from_admin and not applied.is_from_admin then
      -- Attributes that agents have set go, those of administrators stay.
      perform world_model.recompute_world(applied.audience_id, false);
      return array['delete'];
    end if;
    delete from public.world_model_entities e where e.entity_row_id = entity.entity_row_id;
    return '{}';
  end if;
  if applied.is_from_admin and not entity.is_from_admin and entity.ttl is not null then
    -- Statements of agents that held for a time no longer count.
    perform world_model.recompute_world(applied.audience_id, false);
    return '{}';
  elsif entity.is_from_admin and not applied.is_from_admin and applied.ttl is not null then
    return array(select k.key from jsonb_object_keys(change - 'entity_id') as k (key) order by k.key);
  elsif not applied.is_from_admin then
    outranked := array(
      select a.key from jsonb_object_keys(new_attributes) as a (key)
      where entity.set_by -> a.key -> 'is_from_admin' = 'true' order by a.key);
    new_attributes := new_attributes - outranked;
    if entity.type_set_by -> 'is_from_admin' = 'true' and change ? 'entity_type' then
      change := change - 'entity_type';
      outranked := outranked || 'entity_type'::text;
    end if;
  end if;
  removed_keys := array(select a.key from jsonb_each(new_attributes) as a where a.value = 'null');
  is_header := entity.entity_row_id is null or applied.is_from_admin or not entity.is_from_admin;
  if entity.entity_row_id is null or applied.is_from_admin and not entity.is_from_admin then
    entity.entity_id := change ->> 'entity_id';
  end if;
  if is_header then
    entity.confidence := coalesce((change ->> 'confidence')::double precision, applied.confidence);
    entity.source_packet := applied.source_packet;
    entity.creator := applied.agent;
    entity.source := applied.source;
  end if;
  entity.attributes := (coalesce(entity.attributes, '{}') || new_attributes) - removed_keys;
  entity.set_by := (coalesce(entity.set_by, '{}')
    || coalesce((select jsonb_object_agg(a.key, setter) from jsonb_object_keys(new_attributes) as a (key)), '{}')) - removed_keys;
  entity.type_set_by := case when change ? 'entity_type' then setter else entity.type_set_by end;
  entity.entity_type := coalesce(change ->> 'entity_type', entity.entity_type, 'entity');
  entity.is_from_admin := applied.is_from_admin or coalesce(entity.is_from_admin, false);
  if octet_length(entity.attributes::text) > 65536 then
    perform identity.raise_error('L9LIM',
      format('insight.entities.attributes: an entity has at most 65536 bytes (64 KiB), this one would have %s',
        octet_length(entity.attributes::text)), 'insight.entities.attributes');
  end if;
  if entity.entity_row_id is not null then
    update public.world_model_entities e
    set entity_id = entity.entity_id, entity_type = entity.entity_type, attributes = entity.attributes, set_by = entity.set_by,
      type_set_by = entity.type_set_by, is_from_admin = entity.is_from_admin, confidence = entity.confidence,
      version = e.version + (is_header or new_attributes <> '{}' or change ? 'entity_type')::integer,
      source_packet = entity.source_packet, creator = entity.creator, source = entity.source, ttl = least(e.ttl, applied.ttl),
      updated_at = clock_timestamp()
    where e.entity_row_id = entity.entity_row_id;
  else
    insert into public.world_model_entities as e (
      entity_id, entity_type, attributes, set_by, type_set_by, is_from_admin, confidence, version, source_packet, creator,
      source, ttl)
    values (
      entity.entity_id, entity.entity_type, entity.attributes, entity.set_by, entity.type_set_by, entity.is_from_admin,
      entity.confidence, 1 + coalesce((
        select d.version from world_model.removed_entities d where d.audience_id = applied.audience_id and d.entity_key = key),
      0), entity.source_packet, entity.creator, entity.source, applied.ttl);
    delete from world_model.removed_entities d where d.audience_id = applied.audience_id and d.entity_key = key;
  end if;
  return outranked;
end $$;
comment on function world_model.merge_into_entity is 'Merges what an update says about one entity, as fold_world() does.';

create function world_model.merge_update(applied public.world_model_updates) returns public.world_model_updates
language plpgsql volatile set search_path = '' as $$
declare
  change jsonb;
  keys text[];
begin
  for change in
    select c.entity from jsonb_array_elements(applied.entities) with ordinality as c (entity, place) order by c.place
  loop
    keys := world_model.merge_into_entity(applied, change);
    if keys <> '{}' then
      applied.outranked := applied.outranked || jsonb_build_object('entity_id', change -> 'entity_id', 'keys', to_jsonb(keys));
    end if;
  end loop;
  if applied.outranked <> '[]' then
    update public.world_model_updates u set outranked = applied.outranked where u.update_id = applied.update_id;
  end if;
  return applied;
end $$;
comment on function world_model.merge_update is 'Merges an update into the entities of its world; records what was outranked.';

create function world_model.write_world_update(source_packet uuid, insight jsonb, expected_version integer)
returns public.world_model_updates
language plpgsql volatile security definer set search_path = '' as $$
declare
  source public.packet_store := derived.lock_source_memory(source_packet, kind => 'insight');
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
    source.packet_id, coalesce((checked ->> 'insight_id')::uuid, source.packet_id), checked ->> 'insight_type',
    checked -> 'entities', checked ->> 'content', coalesce((checked ->> 'confidence')::double precision, 1), version - 1, version)
  returning u.* into applied;
  return world_model.merge_update(applied);
end $$;
comment on function world_model.write_world_update is 'Does the work of apply_world_update() for an existing memory. The caller '
  'must see the memory and may write in its scope and project. Definer: callers can''t write these tables.';

create function public.apply_world_update(insight jsonb, expected_version integer default null, source_packet uuid default null,
  scope text default 'developer', project_id text default null) returns public.world_model_updates
language plpgsql volatile set search_path = '' as $$
begin
  perform identity.require_identity();
  if source_packet is null and identity.is_blank(coalesce(world_model.check_insight(insight) ->> 'content', '')) then
    perform identity.raise_error('L9VAL', 'insight.content: required unless source_packet is given', 'insight.content');
  end if;
  return world_model.write_world_update(
    derived.packet_for('insight', insight ->> 'content', scope, project_id, source_packet), insight, expected_version);
end $$;
comment on function public.apply_world_update is 'Changes the world of source_packet by an insight; without it the content is '
  'saved as a memory of kind insight in this scope and project. insight: insight_type, content, confidence and at most 200 '
  'entities, each with entity_id, entity_type, attributes (null removes a key), confidence, or delete: true. expected_version: '
  'if it is another, L9VAL names it. Errors: L9VAL, L9LIM, L9SCP, L9OWN, L9AUT.';
grant execute on function world_model.write_world_update to l9_agent, l9_admin;
grant execute on function public.apply_world_update to l9_agent, l9_admin;
