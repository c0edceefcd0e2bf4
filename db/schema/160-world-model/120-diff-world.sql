create type public.world_difference as (
  entity_id text,
  change text,
  entity_type text,
  former_type text,
  attributes jsonb,
  former_attributes jsonb,
  confidence double precision,
  former_confidence double precision
);
comment on type public.world_difference is 'What is another in one state of a world than in another, of one entity.';
comment on column public.world_difference.entity_id is 'The entity, as it is spelled in the later state, or in the earlier where it is gone.';
comment on column public.world_difference.entity_type is 'Its type in the later state.';
comment on column public.world_difference.former_type is 'Its type in the earlier state.';
comment on column public.world_difference.confidence is 'How sure it is in the later state.';
comment on column public.world_difference.former_confidence is 'How sure it was in the earlier state.';
comment on column public.world_difference.change is 'added, removed or changed.';
comment on column public.world_difference.attributes is 'Those that are new or others, as they became; null where one is gone.';
comment on column public.world_difference.former_attributes is 'The same ones as they were, where they were.';

create function world_model.changed_keys(attributes jsonb, other jsonb)
returns jsonb
language sql
immutable
parallel safe
set search_path = ''
return coalesce((
  select pg_catalog.jsonb_object_agg(a.key, attributes -> a.key)
  from pg_catalog.jsonb_object_keys(attributes || other) as a (key)
  where attributes -> a.key is distinct from other -> a.key), '{}');

comment on function world_model.changed_keys(jsonb, jsonb) is
  'Of the keys that are not the same in two objects, the values in the first; null for those that it has not.';

create function public.diff_world(
  a text,
  b text default null,
  scope text default 'developer',
  project_id text default null,
  audience_id uuid default null
)
returns setof public.world_difference
language plpgsql
stable
set search_path = ''
rows 100
as $$
#variable_conflict use_column
declare
  b_is_snapshot boolean := b !~ '^\d{1,9}$';
  one world_model.world_point;
  other world_model.world_point;
begin
  if a is null then
    perform identity.raise_error('L9VAL', 'a: the id of a snapshot, or a version', 'a');
  end if;
  -- Where one is a snapshot, the other is of its world.
  if b_is_snapshot then
    other := world_model.world_point(b, 'b', diff_world.scope, diff_world.project_id, diff_world.audience_id);
  end if;
  one := world_model.world_point(a, 'a', diff_world.scope, diff_world.project_id, coalesce(other.audience_id, diff_world.audience_id));
  if b_is_snapshot is distinct from true then
    other := world_model.world_point(b, 'b', one.scope, one.project_id, case
      when a !~ '^\d{1,9}$' then one.audience_id else diff_world.audience_id end);
  end if;
  return query
  select coalesce(n.entity_id, o.entity_id),
    case when o.entity_key is null then 'added' when n.entity_key is null then 'removed' else 'changed' end,
    n.entity_type, o.entity_type,
    case when n.entity_key is not null then world_model.changed_keys(n.attributes, coalesce(o.attributes, '{}')) end,
    case when o.entity_key is not null then world_model.changed_keys(o.attributes, coalesce(n.attributes, '{}')) end,
    n.confidence, o.confidence
  from world_model.fold_world(one.audience_id, one.versions) o
  full join world_model.fold_world(other.audience_id, other.versions) n on n.entity_key = o.entity_key
  where (o.entity_type, o.attributes, o.confidence) is distinct from (n.entity_type, n.attributes, n.confidence)
    or o.entity_key is null or n.entity_key is null
  order by coalesce(n.entity_id, o.entity_id);
end
$$;

comment on function public.diff_world(text, text, text, text, uuid) is
  'What changed in a world from a to b, each the id of a snapshot or a version (b null: the present): entities added, removed, and changed with the attributes that are others. Both are folded from what is left of the updates, so what was erased is in neither. Errors: L9VAL, L9SCP, L9OWN, L9AUT.';

grant execute on function world_model.changed_keys(jsonb, jsonb) to l9_agent, l9_admin;
grant execute on function public.diff_world(text, text, text, text, uuid) to l9_agent, l9_admin;
