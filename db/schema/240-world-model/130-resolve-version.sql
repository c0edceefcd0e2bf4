-- Finds the world and the version that a caller means: by scope and project, by audience_id, by a number or by the id
-- of a snapshot. get_world_model(), diff_world() and restore_world() call it.
create type world_model.world_version as (audience_id uuid, scope text, project_id text, state_version integer,
  versions int4multirange);
comment on type world_model.world_version is 'A version of a world, current or former.';

-- Without an audience_id the world is computed from the caller's claims and need not exist yet; with one it must have
-- a row that the caller can read.
create function world_model.resolve_world(scope text, project_id text, audience_id uuid default null)
returns world_model.world_version
language plpgsql stable security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  resolved world_model.world_version;
begin
  if audience_id is null then
    resolve_world.project_id := packets.project_or_default(resolve_world.project_id, resolve_world.scope);
    -- The error is the same for a scope that does not exist and for one that the caller may not read.
    if scope is null or scope <> all (me.readable_scopes) then
      perform identity.raise_error('L9SCP', format('scope: you may read %s', array_to_string(me.readable_scopes, ', ')));
    elsif not identity.has_project(me, project_id) then
      perform identity.raise_error('L9SCP', 'project_id: not one of your projects');
    elsif packets.scope_has_projects(resolve_world.scope) and project_id is null then
      perform identity.raise_error('L9VAL', format('project_id: required in scope %s', scope));
    elsif not packets.scope_has_projects(resolve_world.scope) and project_id is not null then
      perform identity.raise_error('L9VAL', format('project_id: scope %s belongs to no project; leave it out', scope));
    end if;
    resolved.scope := resolve_world.scope;
    resolved.project_id := resolve_world.project_id;
    resolved.audience_id := packets.audience_id(me.tenant_id, me.org_id, me.user_id, project_id, scope);
  else
    -- The policies for functions of the owner show only worlds of which the caller may read a row.
    select visible.audience_id, visible.scope, visible.project_id into resolved.audience_id, resolved.scope, resolved.project_id
    from (
      select u.audience_id, u.scope, u.project_id from public.world_model_updates u
      where u.audience_id = resolve_world.audience_id and (u.ttl is null or u.ttl > now())
      union all select s.audience_id, s.scope, s.project_id from public.world_model_snapshots s
      where s.audience_id = resolve_world.audience_id and (s.ttl is null or s.ttl > now())
    ) visible
    limit 1;
    if not found then
      perform identity.raise_error('L9OWN',
        format('audience_id: world %s does not exist, or is not yours', resolve_world.audience_id));
    end if;
  end if;
  resolved.state_version := coalesce((select w.state_version from world_model.worlds w
    where w.audience_id = resolved.audience_id), 0);
  return resolved;
end $$;
comment on function world_model.resolve_world is 'Resolves a scope and project (null: the default of the caller) to the '
  'caller''s own world, that of its org and user, or audience_id to a world of which the caller may read a row; and adds the '
  'current version. Definer: reads the versions of worlds.';

-- A snapshot is read under the policies of the caller, which is why this function runs with the caller's rights and
-- leaves only the version counter to resolve_world().
create function world_model.resolve_version(point text, field text, scope text, project_id text, audience_id uuid default null)
returns world_model.world_version
language plpgsql stable set search_path = '' as $$
declare
  resolved world_model.world_version;
begin
  if point is not null and not world_model.is_version_number(point) then
    if not pg_input_is_valid(point, 'uuid') then
      perform identity.raise_error('L9VAL', format('%s: must be the id of a snapshot or a version', field));
    end if;
    -- The policies of the caller apply to this query.
    select s.audience_id, s.scope, s.project_id, s.state_version, s.snapshot into resolved
    from public.world_model_snapshots s
    where s.snapshot_id = point::uuid and (resolve_version.audience_id is null or s.audience_id = resolve_version.audience_id);
    if not found then
      perform identity.raise_error('L9OWN', format('%s: snapshot %s does not exist, is not yours, or is of another world', field,
        point));
    end if;
    return resolved;
  end if;
  resolved := world_model.resolve_world(scope, project_id, audience_id);
  if point::integer > resolved.state_version then
    perform identity.raise_error('L9VAL',
      format('%s: at most %s, the current version of the world', field, resolved.state_version));
  end if;
  resolved.state_version := coalesce(point::integer, resolved.state_version);
  resolved.versions := world_model.world_lineage(resolved.audience_id, resolved.state_version);
  return resolved;
end $$;
comment on function world_model.resolve_version is 'Resolves the id of a snapshot, a version, or null for the current one.';
grant execute on function world_model.resolve_world, world_model.resolve_version to l9_agent, l9_admin;
