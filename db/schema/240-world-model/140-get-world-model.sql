-- The operation get_world_model, with the types that it answers.
create type public.world_entity as (entity_id text, entity_type text, attributes jsonb, confidence double precision,
  version integer, source_packet uuid, creator text, source text, set_by jsonb);
call identity.describe('public.world_entity', 'An entity of a world.
  entity_id: The name of the entity, as an administrator spelled it first or, if none named it, an agent.
  entity_type: The type of the entity, such as service.
  attributes: The attributes of the entity: for each key the value that an administrator set last or, if none did, an agent.
  confidence: The confidence of the last update of the entity, from 0 to 1.
  version: The version of the entity. It rises by one with each change; null in a former version of the world.
  source_packet: The memory behind the last update of the entity that counts.
  creator: Who made the last update of the entity that counts.
  source: The source of who made it; of an update by a job, the source of the memory.
  set_by: Who set each attribute: for each key the creator and source of who set it, the memory (packet_id) and is_from_admin.');

create type public.world_model as (audience_id uuid, scope text, project_id text, version integer, entity_count integer,
  entities public.world_entity[]);
call identity.describe('public.world_model', 'A world at one of its versions.
  audience_id: The world. There is one for each owner (tenant, org, user), project and scope.
  scope: The scope of the world.
  project_id: The project of the world; null in scope global.
  version: The version of the world. apply_world_update() takes it as expected_version.
  entity_count: The number of entities that match. It can be larger than the number in entities, which max_entities limits.
  entities: The entities that match, sorted by name.');

-- The current version is read from the stored entities, a former one is folded from the updates; both halves of one
-- statement have the same filters.
create function public.get_world_model(scope text default 'developer', project_id text default null,
  entity_ids text[] default null, entity_type text default null, version integer default null, max_entities integer default 100,
  audience_id uuid default null) returns public.world_model
language plpgsql volatile set search_path = '' as $$
declare
  wanted_keys text[];
  resolved world_model.world_version;
  result public.world_model;
begin
  entity_ids := identity.given_list(entity_ids);
  entity_type := identity.given_text(get_world_model.entity_type);
  if max_entities is null or max_entities not between 1 and 1000 then
    perform identity.raise_error('L9VAL', 'max_entities: must be from 1 to 1000');
  elsif cardinality(entity_ids) > 1000 then
    perform identity.raise_error('L9LIM', format('entity_ids: at most 1000, got %s', cardinality(entity_ids)));
  elsif get_world_model.version < 0 then
    perform identity.raise_error('L9VAL', 'version: must be 0 or more');
  end if;
  wanted_keys := case when entity_ids is not null then array(select entities.normalise_name(i.id)
    from unnest(entity_ids) as i (id)) end;
  resolved := world_model.resolve_version(get_world_model.version::text, 'version', get_world_model.scope,
    get_world_model.project_id, get_world_model.audience_id);
  result.audience_id := resolved.audience_id;
  result.scope := resolved.scope;
  result.project_id := resolved.project_id;
  result.version := resolved.state_version;
  with matching as (
    select e.entity_id, e.entity_type, e.attributes, e.confidence, e.version, e.source_packet, e.creator, e.source, e.set_by
    from public.world_model_entities e
    where get_world_model.version is null and e.audience_id = resolved.audience_id
      and (wanted_keys is null or e.entity_id_normalized = any (wanted_keys))
      and (get_world_model.entity_type is null or e.entity_type = get_world_model.entity_type)
    union all
    select f.entity_id, f.entity_type, f.attributes, f.confidence, null, f.source_packet, f.creator, f.source, f.set_by
    from world_model.fold_world(resolved.audience_id, resolved.versions) f
    where get_world_model.version is not null
      and (wanted_keys is null or f.entity_key = any (wanted_keys))
      and (get_world_model.entity_type is null or f.entity_type = get_world_model.entity_type)
  ), first as (
    select * from matching order by entity_id limit max_entities
  )
  select (select count(*) from matching),
    coalesce((
      select array_agg(row(
        f.entity_id, f.entity_type, f.attributes, f.confidence, f.version, f.source_packet, f.creator, f.source,
        f.set_by)::public.world_entity
        order by f.entity_id)
      from first f), '{}') into result.entity_count, result.entities;
  perform audit.audit_read(
    'READ',
    jsonb_build_object(
      'tables', jsonb_build_object('world_model_entities', cardinality(result.entities)), 'version', result.version,
      'ids', array(
        select e.source_packet from unnest(result.entities) e where e.source_packet is not null
        union select world_model.packets_of_setters(e.set_by) from unnest(result.entities) e)),
    project_id => result.project_id, scope => result.scope);
  return result;
end $$;
comment on function public.get_world_model is 'The world of a scope and project, now or at a former version: its version and its '
  'entities by name, at most max_entities (1 to 1000); entity_ids, entity_type: only these. It is that of the caller''s own org '
  'and user, unless audience_id names another that it may read. Nothing that was erased since is shown. Writes a READ audit row, '
  'hence volatile. Errors: L9SCP, L9VAL, L9LIM, L9OWN, L9AUT.';
grant execute on function public.get_world_model to l9_agent, l9_admin;
