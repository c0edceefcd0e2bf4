create type public.world_entity as (
  entity_id text,
  entity_type text,
  attributes jsonb,
  confidence double precision,
  version integer,
  source_packet uuid
);
comment on type public.world_entity is 'An entity of a world.';
comment on column public.world_entity.entity_id is 'Its name, as it was last spelled.';
comment on column public.world_entity.entity_type is 'What sort of thing it is, such as service.';
comment on column public.world_entity.attributes is 'What holds of it.';
comment on column public.world_entity.confidence is 'How sure that is, from 0 to 1.';
comment on column public.world_entity.version is 'Rises by one with each change; null in a former version of the world.';
comment on column public.world_entity.source_packet is 'The memory behind the last update of it.';

create type public.world_model as (
  audience_id uuid,
  scope text,
  project_id text,
  version integer,
  entity_count integer,
  entities public.world_entity[]
);
comment on type public.world_model is 'A world, at one of its versions.';
comment on column public.world_model.audience_id is 'The world: one for each owner, project and scope.';
comment on column public.world_model.scope is 'The scope of the world.';
comment on column public.world_model.project_id is 'Its project; null in scope global.';
comment on column public.world_model.version is 'The version: what apply_world_update() takes as expected_version.';
comment on column public.world_model.entity_count is 'How many entities match, of which entities may hold the first only.';
comment on column public.world_model.entities is 'The entities, by their names.';

create function public.get_world_model(
  scope text default 'developer',
  project_id text default null,
  entity_ids text[] default null,
  entity_type text default null,
  version integer default null,
  max_entities integer default 100,
  audience_id uuid default null
)
returns public.world_model
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_column
declare
  wanted text[];
  at world_model.world_point;
  answer public.world_model;
begin
  if max_entities is null or max_entities not between 1 and 1000 then
    perform identity.raise_error('L9VAL', 'max_entities: from 1 to 1000', 'max_entities');
  elsif cardinality(entity_ids) > 1000 then
    perform identity.raise_error('L9LIM', format('entity_ids: at most 1000, got %s', cardinality(entity_ids)), 'entity_ids');
  elsif get_world_model.version < 0 then
    perform identity.raise_error('L9VAL', 'version: 0 or more', 'version');
  end if;
  wanted := case when entity_ids is not null then array(select entities.normalise_name(i.id) from unnest(entity_ids) as i (id)) end;
  at := world_model.world_point(get_world_model.version::text, 'version', get_world_model.scope, get_world_model.project_id,
    get_world_model.audience_id);
  answer.audience_id := at.audience_id;
  answer.scope := at.scope;
  answer.project_id := at.project_id;
  answer.version := at.state_version;
  with matching as (
    select e.entity_id, e.entity_type, e.attributes, e.confidence, e.version, e.source_packet
    from public.world_model_entities e
    where get_world_model.version is null and e.audience_id = at.audience_id
      and (wanted is null or e.entity_id_normalized = any (wanted))
      and (get_world_model.entity_type is null or e.entity_type = get_world_model.entity_type)
    union all
    select f.entity_id, f.entity_type, f.attributes, f.confidence, null, f.source_packet
    from world_model.fold_world(at.audience_id, at.versions) f
    where get_world_model.version is not null
      and (wanted is null or f.entity_key = any (wanted))
      and (get_world_model.entity_type is null or f.entity_type = get_world_model.entity_type)
  ), first as (
    select * from matching order by entity_id limit max_entities
  )
  select (select count(*) from matching),
    coalesce((
      select array_agg(row(f.entity_id, f.entity_type, f.attributes, f.confidence, f.version, f.source_packet)::public.world_entity
        order by f.entity_id)
      from first f), '{}')
  into answer.entity_count, answer.entities;
  return answer;
end
$$;

comment on function public.get_world_model(text, text, text[], text, integer, integer, uuid) is
  'The world of a scope and project, as it is or (version) as it was: its version and entities, by name, max_entities (1 to 1000) at most; only those named, or of one type. The world is that of the caller''s own org and user, unless audience_id names another that it may read. What was erased since is in no former version either. Errors: L9SCP, L9VAL, L9LIM, L9OWN, L9AUT.';

grant execute on function public.get_world_model(text, text, text[], text, integer, integer, uuid) to l9_agent, l9_admin;
