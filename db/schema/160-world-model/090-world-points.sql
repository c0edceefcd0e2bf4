create type world_model.world_point as (audience_id uuid, scope text, project_id text, state_version integer, versions int4multirange);
comment on type world_model.world_point is 'A world, or one of its former versions.';

create function world_model.reach_world(scope text, project_id text, audience_id uuid default null)
returns world_model.world_point
language plpgsql
stable
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  reached world_model.world_point;
begin
  if audience_id is null then
    -- One text for a scope that does not exist and one that is not the caller's.
    if scope is null or scope <> all (me.readable_scopes) then
      perform identity.raise_error('L9SCP', format('scope: you may read %s', array_to_string(me.readable_scopes, ', ')), 'scope');
    elsif not identity.has_project(me, project_id) then
      perform identity.raise_error('L9SCP', 'project_id: not one of your projects', 'project_id');
    elsif packets.scope_has_projects(reach_world.scope) and project_id is null then
      perform identity.raise_error('L9VAL', format('project_id: required in scope %s', scope), 'project_id');
    elsif not packets.scope_has_projects(reach_world.scope) and project_id is not null then
      perform identity.raise_error('L9VAL', format('project_id: scope %s belongs to no project; leave it out', scope), 'project_id');
    end if;
    reached.scope := reach_world.scope;
    reached.project_id := reach_world.project_id;
    reached.audience_id := packets.audience_id(me.tenant_id, me.org_id, me.user_id, project_id, scope);
  else
    -- The policies for functions of the owner: no world but one of which the caller could read a row.
    select known.audience_id, known.scope, known.project_id into reached.audience_id, reached.scope, reached.project_id
    from (
      select u.audience_id, u.scope, u.project_id from public.world_model_updates u
      where u.audience_id = reach_world.audience_id and (u.ttl is null or u.ttl > now())
      union all
      select s.audience_id, s.scope, s.project_id from public.world_model_snapshots s
      where s.audience_id = reach_world.audience_id and (s.ttl is null or s.ttl > now())
    ) known
    limit 1;
    if not found then
      perform identity.raise_error('L9OWN', format('audience_id: world %s is not there, or not yours', reach_world.audience_id), 'audience_id');
    end if;
  end if;
  reached.state_version := coalesce((select w.state_version from world_model.worlds w where w.audience_id = reached.audience_id), 0);
  return reached;
end
$$;

comment on function world_model.reach_world(text, text, uuid) is
  'The world of this scope and project that is the caller''s own (as its org''s and user''s memories are), or (audience_id) any of which it could read a row; and the version that it is at. Else L9SCP, L9VAL or L9OWN. Definer: reads how far the versions have come.';

create function world_model.world_point(point text, field text, scope text, project_id text, audience_id uuid default null)
returns world_model.world_point
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_column
declare
  found_point world_model.world_point;
begin
  if point is not null and point !~ '^\d{1,9}$' then
    if not pg_input_is_valid(point, 'uuid') then
      perform identity.raise_error('L9VAL', format('%s: the id of a snapshot, or a version', field), field);
    end if;
    -- Under the caller's own policies.
    select s.audience_id, s.scope, s.project_id, s.state_version, s.snapshot into found_point
    from public.world_model_snapshots s
    where s.snapshot_id = point::uuid and (world_point.audience_id is null or s.audience_id = world_point.audience_id);
    if not found then
      perform identity.raise_error('L9OWN', format('%s: snapshot %s is not there, or not yours, or of another world', field, point), field);
    end if;
    return found_point;
  end if;
  found_point := world_model.reach_world(scope, project_id, audience_id);
  if point::integer > found_point.state_version then
    perform identity.raise_error('L9VAL', format('%s: the world is at version %s', field, found_point.state_version), field);
  end if;
  found_point.state_version := coalesce(point::integer, found_point.state_version);
  found_point.versions := world_model.world_lineage(found_point.audience_id, found_point.state_version);
  return found_point;
end
$$;

comment on function world_model.world_point(text, text, text, text, uuid) is
  'What a caller means by the id of a snapshot, by a version of a world, or (null) by its present.';

grant execute on function world_model.reach_world(text, text, uuid), world_model.world_point(text, text, text, text, uuid)
  to l9_agent, l9_admin;
