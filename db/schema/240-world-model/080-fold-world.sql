-- Computes any version of a world from its updates. recompute_world(), get_world_model() and diff_world() call fold_world().
-- These functions run with the rights of the caller and fold the updates that it may read. All updates of a world have the same
-- audience, so that a caller folds all of them or none.
create function world_model.world_lineage(audience_id uuid, version integer) returns int4multirange
language sql stable parallel safe set search_path = ''
begin atomic
  select coalesce(
    (select u.restored_versions + int4multirange(int4range(u.state_version_after, world_lineage.version, '(]'))
     from public.world_model_updates u
     where u.audience_id = world_lineage.audience_id and u.restored_versions is not null
       and u.state_version_after <= world_lineage.version and (u.ttl is null or u.ttl > now())
     order by u.state_version_after desc limit 1),
    int4multirange(int4range(0, world_lineage.version, '(]')));
end;
comment on function world_model.world_lineage is 'The versions that make up a version of a world, after a restore too.';

create function world_model.setter(by public.world_model_updates) returns jsonb language sql immutable parallel safe
return jsonb_build_object(
  'creator', (by).agent, 'source', (by).source, 'packet_id', (by).source_packet, 'is_from_admin', (by).is_from_admin);
comment on function world_model.setter is 'Who set an attribute by this update, as world_model_entities.set_by has it.';

create function world_model.packets_of_setters(set_by jsonb) returns setof uuid
language sql immutable parallel safe set search_path = ''
begin atomic
  select (s.value ->> 'packet_id')::uuid from jsonb_each(set_by) as s where s.value ->> 'packet_id' is not null;
end;
comment on function world_model.packets_of_setters is 'The memories by which attributes were set, for an audit row.';

-- Looks for the last delete of each entity, drops what came before it, and keeps for each attribute the last value of
-- an administrator or else of an agent. merge_into_entity() must give the same.
create function world_model.fold_world(audience_id uuid, versions int4multirange)
returns table (entity_key text, entity_id text, entity_type text, attributes jsonb, confidence double precision,
  source_packet uuid, ttl timestamptz, creator text, source text, set_by jsonb, type_set_by jsonb, is_from_admin boolean)
language sql stable parallel safe set search_path = ''
begin atomic
  with changes as (
    select entities.normalise_name(change.entity ->> 'entity_id') as entity_key, change.entity, u.state_version_after as version,
      coalesce((change.entity ->> 'confidence')::double precision, u.confidence) as confidence, u.source_packet, u.ttl,
      u.is_from_admin, u.agent as creator, u.source, world_model.setter(u) as set_by
    from public.world_model_updates u
    cross join lateral jsonb_array_elements(u.entities) as change (entity)
    where u.audience_id = fold_world.audience_id and u.state_version_after <@ versions and (u.ttl is null or u.ttl > now())
  ), dated_changes as (
    select c.*,
      max(c.version) filter (where c.entity -> 'delete' = 'true') over (partition by c.entity_key, c.is_from_admin)
        as deleted_at_version,
      max(c.version) filter (where c.entity -> 'delete' = 'true' and c.is_from_admin) over (partition by c.entity_key)
        as removed_at_version
    from changes c
  ), left_changes as (
    -- An agent's delete takes away what agents have set, an administrator's everything.
    select d.*, bool_or(d.is_from_admin) over (partition by d.entity_key) as has_admin from dated_changes d
    where (d.deleted_at_version is null or d.version > d.deleted_at_version)
      and (d.removed_at_version is null or d.version > d.removed_at_version)
  ), effective_changes as (
    -- An entity is hidden from when the first memory behind it expires, so agents must not set that time for an administrator's.
    select l.* from left_changes l where l.is_from_admin or l.ttl is null or not l.has_admin
  ), values_set as (
    select c.entity_key, a.key, a.value, c.version, c.is_from_admin, c.set_by,
      max(c.version) filter (where c.is_from_admin) over (partition by c.entity_key, a.key) as admin_version
    from effective_changes c cross join lateral jsonb_each(coalesce(c.entity -> 'attributes', '{}')) as a (key, value)
  ), last_values as (
    -- An administrator's value stands against those of agents, before and after; once it takes the value away, theirs count
    -- again.
    select distinct on (v.entity_key, v.key) v.entity_key, v.key, v.value, v.set_by
    from values_set v
    where v.admin_version is null or v.version > v.admin_version or v.version = v.admin_version and v.value <> 'null'
    order by v.entity_key, v.key, v.is_from_admin desc, v.version desc
  ), merged as (
    select l.entity_key, jsonb_object_agg(l.key, l.value) filter (where l.value <> 'null') as attributes,
      jsonb_object_agg(l.key, l.set_by) filter (where l.value <> 'null') as set_by
    from last_values l group by l.entity_key
  ), entities as (
    select c.entity_key,
      -- An administrator's spelling or, if there is none, an agent's; later ones don't change it.
      (array_agg(c.entity ->> 'entity_id' order by c.is_from_admin desc, c.version))[1] as entity_id,
      (array_agg(c.entity ->> 'entity_type' order by c.is_from_admin desc, c.version desc)
        filter (where c.entity ? 'entity_type'))[1] as entity_type,
      (array_agg(c.set_by order by c.is_from_admin desc, c.version desc)
        filter (where c.entity ? 'entity_type'))[1] as type_set_by,
      (array_agg(c.confidence order by c.is_from_admin desc, c.version desc))[1] as confidence,
      (array_agg(c.source_packet order by c.is_from_admin desc, c.version desc))[1] as source_packet,
      (array_agg(c.creator order by c.is_from_admin desc, c.version desc))[1] as creator,
      (array_agg(c.source order by c.is_from_admin desc, c.version desc))[1] as source, bool_or(c.is_from_admin) as is_from_admin,
      min(c.ttl) as ttl
    from effective_changes c group by c.entity_key
  )
  select e.entity_key, e.entity_id, coalesce(e.entity_type, 'entity'), coalesce(m.attributes, '{}'), e.confidence,
    e.source_packet, e.ttl, e.creator, e.source, coalesce(m.set_by, '{}'), e.type_set_by, e.is_from_admin
  from entities e left join merged m on m.entity_key = e.entity_key;
end;
comment on function world_model.fold_world is 'The entities that the updates of these versions make up: for each attribute the '
  'last value that an administrator set or, if none did, an agent, since the entity was last deleted. Expired updates are left '
  'out.';

create type world_model.world_size as (entity_count integer, relation_count integer);
comment on type world_model.world_size is 'The numbers of entities, and of attribute values that name another entity.';

create function world_model.measure_world(audience_id uuid, versions int4multirange) returns world_model.world_size
language sql stable parallel safe set search_path = ''
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
comment on function world_model.measure_world is 'Counts entities, and attribute values that name another of them.';
grant execute on function world_model.world_lineage, world_model.setter, world_model.packets_of_setters, world_model.fold_world to
  l9_agent, l9_admin;
