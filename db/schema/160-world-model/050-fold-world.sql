-- Both run with the rights of whoever asks: a caller folds what it may read, which of a world is all or nothing.

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
  'The versions whose updates make up a version of a world: all up to it, or those of what it was last restored to, and all since.';

create function world_model.fold_world(audience_id uuid, versions int4multirange)
returns table (
  entity_key text, entity_id text, entity_type text, attributes jsonb, confidence double precision, source_packet uuid, ttl timestamptz)
language sql
stable
parallel safe
set search_path = ''
begin atomic
  with said as (
    select entities.normalise_name(said.entity ->> 'entity_id') as entity_key, said.entity, u.state_version_after as version,
      coalesce((said.entity ->> 'confidence')::double precision, u.confidence) as confidence, u.source_packet, u.ttl
    from public.world_model_updates u
    cross join lateral jsonb_array_elements(u.entities) as said (entity)
    where u.audience_id = fold_world.audience_id and u.state_version_after <@ versions and (u.ttl is null or u.ttl > now())
  ), since as (
    select s.*, max(s.version) filter (where s.entity -> 'delete' = 'true') over (partition by s.entity_key) as ended from said s
  ), kept as (
    select s.* from since s where s.ended is null or s.version > s.ended
  ), last_said as (
    select distinct on (k.entity_key, a.key) k.entity_key, a.key, a.value
    from kept k cross join lateral jsonb_each(coalesce(k.entity -> 'attributes', '{}')) as a (key, value)
    order by k.entity_key, a.key, k.version desc
  ), merged as (
    select l.entity_key, jsonb_object_agg(l.key, l.value) filter (where l.value <> 'null') as attributes
    from last_said l group by l.entity_key
  ), entities as (
    select k.entity_key,
      (array_agg(k.entity ->> 'entity_id' order by k.version desc))[1] as entity_id,
      (array_agg(k.entity ->> 'entity_type' order by k.version desc) filter (where k.entity ? 'entity_type'))[1] as entity_type,
      (array_agg(k.confidence order by k.version desc))[1] as confidence,
      (array_agg(k.source_packet order by k.version desc))[1] as source_packet,
      min(k.ttl) as ttl
    from kept k group by k.entity_key
  )
  select e.entity_key, e.entity_id, coalesce(e.entity_type, 'entity'), coalesce(m.attributes, '{}'), e.confidence, e.source_packet, e.ttl
  from entities e left join merged m on m.entity_key = e.entity_key;
end;

comment on function world_model.fold_world(uuid, int4multirange) is
  'The entities that the updates of these versions make up: for each attribute what was said last, since the entity was last deleted. What has expired is not among them.';

create type world_model.world_size as (entity_count integer, relation_count integer);
comment on type world_model.world_size is 'How many entities a state has, and how many of their attributes name another.';

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
  'How many entities the updates of these versions make up, and how many attributes of theirs, or members of lists, name another of them.';

grant execute on function
  world_model.world_lineage(uuid, integer), world_model.fold_world(uuid, int4multirange)
to l9_agent, l9_admin;
