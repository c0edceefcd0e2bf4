-- Compares two versions of a world. Callers reach diff_world() over GraphQL and psql.
create type public.world_difference as (entity_id text, change text, entity_type text, former_type text, attributes jsonb,
  former_attributes jsonb, confidence double precision, former_confidence double precision, set_by jsonb, former_set_by jsonb);
call identity.describe('public.world_difference', 'The difference of one entity between two versions of a world.
  entity_id: The name of the entity as spelled in the later version, or in the earlier version if it was removed.
  entity_type: The type of the entity in the later version.
  former_type: The type of the entity in the earlier version.
  confidence: The confidence of the entity in the later version, from 0 to 1.
  former_confidence: The confidence of the entity in the earlier version, from 0 to 1.
  change: The kind of change: added, removed or changed.
  attributes: The attributes that differ, with their values in the later version; null for one that was removed.
  set_by: Who set each of the attributes that differ in the later version, as in get_world_model(); null for an entity that was
    removed.
  former_set_by: Who set each of the attributes that differ in the earlier version; null for an entity that was added.
  former_attributes: The attributes that differ, with their values in the earlier version; null for one that was added.');

create function world_model.changed_keys(attributes jsonb, other_attributes jsonb) returns jsonb
language sql immutable parallel safe set search_path = ''
return coalesce((
  select pg_catalog.jsonb_object_agg(a.key, attributes -> a.key)
  from pg_catalog.jsonb_object_keys(attributes || other_attributes) as a (key)
  where attributes -> a.key is distinct from other_attributes -> a.key), '{}');
comment on function world_model.changed_keys is 'The keys that differ between two objects, with the first one''s values.';

create function world_model.setters_of(set_by jsonb, attributes jsonb) returns jsonb
language sql immutable parallel safe set search_path = ''
return case when attributes is not null then coalesce((
  select pg_catalog.jsonb_object_agg(s.key, s.value) from pg_catalog.jsonb_each(set_by) as s where attributes ? s.key), '{}') end;
comment on function world_model.setters_of is 'Who set these attributes.';

-- Resolves first whichever of a and b is a snapshot, because it says of which world the other one is a version. Then
-- both are folded and joined by the names of entities.
create function public.diff_world(a text, b text default null, scope text default 'developer', project_id text default null,
  audience_id uuid default null) returns setof public.world_difference
language plpgsql volatile set search_path = '' rows 100 as $$
declare
  b_is_snapshot boolean := not world_model.is_version_number(b);
  earlier world_model.world_version;
  later world_model.world_version;
  differences public.world_difference[];
begin
  if a is null then
    perform identity.raise_error('L9VAL', 'a: must be the id of a snapshot or a version');
  end if;
  -- If one of the two is a snapshot, the other one is a version of its world.
  if b_is_snapshot then
    later := world_model.resolve_version(b, 'b', diff_world.scope, diff_world.project_id, diff_world.audience_id);
  end if;
  earlier := world_model.resolve_version(a, 'a', diff_world.scope, diff_world.project_id,
    coalesce(later.audience_id, diff_world.audience_id));
  if b_is_snapshot is distinct from true then
    later := world_model.resolve_version(b, 'b', earlier.scope, earlier.project_id, case
      when not world_model.is_version_number(a) then earlier.audience_id else diff_world.audience_id end);
  end if;
  differences := array(
    select row(coalesce(n.entity_id, o.entity_id),
      case when o.entity_key is null then 'added' when n.entity_key is null then 'removed' else 'changed' end,
      n.entity_type, o.entity_type,
      c.attributes, c.former, n.confidence, o.confidence, world_model.setters_of(n.set_by, c.attributes),
      world_model.setters_of(o.set_by, c.former))::public.world_difference
    from world_model.fold_world(earlier.audience_id, earlier.versions) o
    full join world_model.fold_world(later.audience_id, later.versions) n on n.entity_key = o.entity_key
    cross join lateral (
      select
        case when n.entity_key is not null
          then world_model.changed_keys(n.attributes, coalesce(o.attributes, '{}')) end as attributes,
        case when o.entity_key is not null
          then world_model.changed_keys(o.attributes, coalesce(n.attributes, '{}')) end as former) c
    where (o.entity_type, o.attributes, o.confidence) is distinct from (n.entity_type, n.attributes, n.confidence)
      or o.entity_key is null or n.entity_key is null
    order by coalesce(n.entity_id, o.entity_id));
  perform audit.audit_read(
    'READ',
    jsonb_build_object(
      'tables', jsonb_build_object('world_model_entities', cardinality(differences)),
      'version', later.state_version, 'former_version', earlier.state_version,
      'ids', array(
        select world_model.packets_of_setters(d.set_by) from unnest(differences) d
        union select world_model.packets_of_setters(d.former_set_by) from unnest(differences) d)),
    project_id => later.project_id, scope => later.scope);
  return query select d.* from unnest(differences) d;
end $$;
comment on function public.diff_world is 'The differences of a world between a and b, each the id of a snapshot or a version (b '
  'null: the current version): entities added, removed, and changed with the attributes that differ. Both are folded from the '
  'updates that are left, so that neither shows anything that was erased. Writes a READ audit row, hence volatile. Errors: '
  'L9VAL, L9SCP, L9OWN, L9AUT.';
grant execute on function world_model.changed_keys, world_model.setters_of to l9_agent, l9_admin;
grant execute on function public.diff_world to l9_agent, l9_admin;
