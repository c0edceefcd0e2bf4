-- Checks an insight before it is applied. apply_world_update() calls check_insight(), which calls the others for each entity.
create function world_model.check_keys(value jsonb, allowed text[], field text) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  unknown_key text := (select min(k.key) from jsonb_object_keys(value) as k (key) where k.key <> all (allowed));
begin
  if unknown_key is not null then
    perform identity.raise_error('L9VAL',
      format('%s: the key %s is unknown; use %s', field, left(unknown_key, 60), array_to_string(allowed, ', ')));
  end if;
end $$;
comment on function world_model.check_keys is 'Raises L9VAL, naming field and allowed keys, if an object has another key.';

-- Types are checked before values, because a cast of a wrong type would raise an error that names no field.
create function world_model.check_insight_entity(entity jsonb) returns jsonb
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if jsonb_typeof(entity) <> 'object' or jsonb_typeof(entity -> 'entity_id') is distinct from 'string' then
    perform identity.raise_error('L9VAL', 'insight.entities: must be a list of objects, each with an entity_id');
  end if;
  perform entities.check_name(entity ->> 'entity_id', 'insight.entities.entity_id');
  perform world_model.check_keys(entity, '{entity_id,entity_type,attributes,confidence,delete}', 'insight.entities');
  if jsonb_typeof(entity -> 'delete') not in ('boolean', 'null') then
    perform identity.raise_error('L9VAL', 'insight.entities.delete: must be true or false');
  elsif jsonb_typeof(entity -> 'entity_type') not in ('string', 'null') then
    perform identity.raise_error('L9VAL', 'insight.entities.entity_type: must be a text');
  elsif jsonb_typeof(entity -> 'attributes') not in ('object', 'null') then
    perform identity.raise_error('L9VAL', 'insight.entities.attributes: must be an object');
  elsif jsonb_typeof(entity -> 'confidence') not in ('number', 'null') then
    perform identity.raise_error('L9VAL', 'insight.entities.confidence: must be from 0 to 1');
  end if;
  if jsonb_typeof(entity -> 'entity_type') = 'string' then
    perform entities.check_name(entity ->> 'entity_type', 'insight.entities.entity_type');
  end if;
  if jsonb_typeof(entity -> 'confidence') = 'number' then
    perform entities.check_confidence((entity ->> 'confidence')::double precision, 'insight.entities.confidence');
  end if;
  if entity -> 'delete' = 'true' then
    return jsonb_build_object('entity_id', btrim(entity ->> 'entity_id'), 'delete', true);
  end if;
  -- A null means that a key is not given; within attributes a null removes the key, so those stay.
  return (select jsonb_object_agg(e.key, e.value) from jsonb_each(entity) as e where e.value <> 'null' and e.key <> 'delete')
    || jsonb_build_object('entity_id', btrim(entity ->> 'entity_id'));
end $$;
comment on function world_model.check_insight_entity is 'Checks what an insight says about an entity; returns it without nulls.';

-- Size and depth come first, so that nothing walks through a value that is refused for them anyway.
create function world_model.check_insight(insight jsonb) returns jsonb
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  entities jsonb;
begin
  if insight is null or jsonb_typeof(insight) <> 'object' then
    perform identity.raise_error('L9VAL', 'insight: must be an object with insight_type, content, confidence and entities');
  end if;
  perform identity.check_bytes(insight::text, 262144, 'insight');
  if jsonb_path_exists(insight, '$.**{64}') then
    perform identity.raise_error('L9LIM', 'insight: at most 64 levels deep');
  end if;
  perform world_model.check_keys(insight, '{insight_id,insight_type,content,confidence,entities}', 'insight');
  if jsonb_typeof(insight -> 'insight_type') is distinct from 'string'
    or insight ->> 'insight_type' !~ packets.kind_pattern() then
    perform identity.raise_error('L9VAL',
      'insight.insight_type: must be a word of lower-case letters, digits and _, at most 63 characters');
  elsif insight ->> 'insight_type' = 'restore' then
    perform identity.raise_error('L9VAL', 'insight.insight_type: restore is reserved for restore_world()');
  elsif jsonb_typeof(insight -> 'content') not in ('string', 'null') then
    perform identity.raise_error('L9VAL', 'insight.content: must be a text');
  elsif jsonb_typeof(insight -> 'insight_id') not in ('string', 'null')
      or not pg_input_is_valid(insight ->> 'insight_id', 'uuid') then
    perform identity.raise_error('L9VAL', 'insight.insight_id: must be a uuid');
  elsif jsonb_typeof(insight -> 'confidence') not in ('number', 'null') then
    perform identity.raise_error('L9VAL', 'insight.confidence: must be from 0 to 1');
  elsif jsonb_typeof(insight -> 'entities') not in ('array', 'null') then
    perform identity.raise_error('L9VAL', 'insight.entities: must be a list of objects, each with an entity_id');
  end if;
  perform identity.check_bytes(insight ->> 'content', 65536, 'insight.content');
  perform entities.check_confidence(coalesce((insight ->> 'confidence')::double precision, 1), 'insight.confidence');

  entities := coalesce(nullif(insight -> 'entities', 'null'), '[]');
  if jsonb_array_length(entities) > 200 then
    perform identity.raise_error('L9LIM', format('insight.entities: at most 200, got %s', jsonb_array_length(entities)));
  end if;
  entities := coalesce((
    select jsonb_agg(world_model.check_insight_entity(change.entity) order by change.place)
    from jsonb_array_elements(entities) with ordinality as change (entity, place)), '[]');
  if (select count(distinct entities.normalise_name(change.entity ->> 'entity_id')) < count(*)
      from jsonb_array_elements(entities) as change (entity)) then
    perform identity.raise_error('L9VAL', 'insight.entities: must name each entity only once');
  end if;
  return insight || jsonb_build_object('entities', entities);
end $$;
comment on function world_model.check_insight is 'Checks an insight (at most 200 entities and 256 KiB) and returns it.';
grant execute on function world_model.check_keys, world_model.check_insight_entity, world_model.check_insight to l9_agent,
  l9_admin;
