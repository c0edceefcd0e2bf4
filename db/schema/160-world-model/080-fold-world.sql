-- These functions run with the rights of the caller and fold the updates that it may read. All updates of a world have the same
-- audience, so that a caller folds all of them or none.

create function world_model.world_lineage(audience_id uuid, version integer)
returns int4multirange
language sql
stable
parallel safe
set search_path = ''
begin atomic
  select coalesce(
    (select u.restored_versions + int4multirange(int4range(u.state_version_after, world_lineage.version, '(]'))
     from public.world_model_updates u
     where u.audience_id = world_lineage.audience_id and u.restored_versions is not null
       and u.state_version_after <= world_lineage.version and (u.ttl is null or u.ttl > now())
     order by u.state_version_after desc
     limit 1),
    int4multirange(int4range(0, world_lineage.version, '(]')));
end;

comment on function world_model.world_lineage(uuid, integer) is
  'The versions of the updates that make up a version of a world: all versions up to it or, after a restore, those of the restored state and all since.';

create function world_model.setter(creator text, source text, packet_id uuid)
returns jsonb
language sql immutable parallel safe
return jsonb_build_object('creator', creator, 'source', source, 'packet_id', packet_id);

comment on function world_model.setter is 'Who set an attribute, as set_by has it.';

create function world_model.fold_world(audience_id uuid, versions int4multirange)
returns table (
  entity_key text, entity_id text, entity_type text, attributes jsonb, confidence double precision, source_packet uuid, ttl timestamptz,
  creator text, source text, set_by jsonb)
language sql
stable
parallel safe
set search_path = ''
begin atomic
  with changes as (
    select entities.normalise_name(change.entity ->> 'entity_id') as entity_key, change.entity, u.state_version_after as version,
      coalesce((change.entity ->> 'confidence')::double precision, u.confidence) as confidence, u.source_packet, u.ttl,
      u.creator, u.source
    from public.world_model_updates u
    cross join lateral jsonb_array_elements(u.entities) as change (entity)
    where u.audience_id = fold_world.audience_id and u.state_version_after <@ versions and (u.ttl is null or u.ttl > now())
  ), dated_changes as (
    select c.*, max(c.version) filter (where c.entity -> 'delete' = 'true') over (partition by c.entity_key) as deleted_at_version
    from changes c
  ), effective_changes as (
    select d.* from dated_changes d where d.deleted_at_version is null or d.version > d.deleted_at_version
  ), last_values as (
    select distinct on (c.entity_key, a.key) c.entity_key, a.key, a.value,
      world_model.setter(c.creator, c.source, c.source_packet) as set_by
    from effective_changes c cross join lateral jsonb_each(coalesce(c.entity -> 'attributes', '{}')) as a (key, value)
    order by c.entity_key, a.key, c.version desc
  ), merged as (
    select l.entity_key, jsonb_object_agg(l.key, l.value) filter (where l.value <> 'null') as attributes,
      jsonb_object_agg(l.key, l.set_by) filter (where l.value <> 'null') as set_by
    from last_values l group by l.entity_key
  ), entities as (
    select c.entity_key,
      (array_agg(c.entity ->> 'entity_id' order by c.version desc))[1] as entity_id,
      (array_agg(c.entity ->> 'entity_type' order by c.version desc) filter (where c.entity ? 'entity_type'))[1] as entity_type,
      (array_agg(c.confidence order by c.version desc))[1] as confidence,
      (array_agg(c.source_packet order by c.version desc))[1] as source_packet,
      (array_agg(c.creator order by c.version desc))[1] as creator,
      (array_agg(c.source order by c.version desc))[1] as source,
      min(c.ttl) as ttl
    from effective_changes c group by c.entity_key
  )
  select e.entity_key, e.entity_id, coalesce(e.entity_type, 'entity'), coalesce(m.attributes, '{}'), e.confidence, e.source_packet, e.ttl,
    e.creator, e.source, coalesce(m.set_by, '{}')
  from entities e left join merged m on m.entity_key = e.entity_key;
end;

comment on function world_model.fold_world(uuid, int4multirange) is
  'The entities that the updates of these versions make up: for each attribute the last value that was set since the entity was last deleted. Expired updates are left out.';

create type world_model.world_size as (entity_count integer, relation_count integer);
comment on type world_model.world_size is
  'The number of entities in a state of a world, and the number of attribute values that name another of these entities.';

create function world_model.measure_world(audience_id uuid, versions int4multirange)
returns world_model.world_size
language sql
stable
parallel safe
set search_path = ''
begin atomic
  with folded as materialized (
    select f.entity_key, f.attributes from world_model.fold_world(measure_world.audience_id, versions) f
  )
  select row(
    (select count(*) from folded),
    (select count(*) from folded f
     cross join lateral jsonb_path_query(f.attributes, '$.*[*] ? (@.type() == "string")') as named (name)
     join folded other on other.entity_key = entities.normalise_name(named.name #>> '{}') and other.entity_key <> f.entity_key)
  )::world_model.world_size;
end;

comment on function world_model.measure_world(uuid, int4multirange) is
  'Counts the entities that the updates of these versions make up, and the attribute values, also members of lists, that name another of these entities.';

grant execute on function
  world_model.world_lineage(uuid, integer), world_model.setter(text, text, uuid), world_model.fold_world(uuid, int4multirange)
to l9_agent, l9_admin;
