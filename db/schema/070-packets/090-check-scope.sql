-- The scope, project and branch that a caller may write. The trigger of packet_store that stamps calls check_place(), and
-- functions that write call check_scope(); project_or_default() and branch_or_default() fill in what a save leaves out.
create function packets.scope_has_projects(scope text) returns boolean
language sql stable parallel safe security definer set search_path = ''
return (
  select s.is_project_scoped from public.scopes s
  where s.tenant_id = identity.current_tenant_id()
    and s.scope = scope_has_projects.scope
    and s.scope = any (identity.current_scopes()));
comment on function packets.scope_has_projects is 'True if the scope has projects; null if hidden. Definer: reads scopes.';

-- Without a search_path these are inlined.
create function packets.project_or_default(project_id text, scope text) returns text language sql stable parallel safe
return coalesce(nullif(project_id, ''), case when packets.scope_has_projects(scope) then identity.fallback_project() end);
comment on function packets.project_or_default is 'The project or, if left out in a scope with projects, the caller''s default, '
  'and at last the project default.';

create function packets.one_branch(branch text) returns text language sql immutable parallel safe
return nullif(nullif(branch, ''), '*');
comment on function packets.one_branch is 'The branch that a call names; null, every branch, for * and an empty text.';

create function packets.branch_or_default(branch text, project_id text) returns text language sql stable parallel safe
return case when nullif(branch, '') is null then identity.default_branch(project_id) else packets.one_branch(branch) end;
comment on function packets.branch_or_default is 'The branch that a save names, null for *, or else the default in this project.';

create function packets.has_projects(me identity.identity, scope text) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  -- Nothing is revealed about scopes that the caller may not write.
  return (
    select s.is_project_scoped from public.scopes s
    where s.tenant_id = me.tenant_id and s.scope = has_projects.scope and s.scope = any (me.writable_scopes));
end $$;
comment on function packets.has_projects is 'True if a scope that the caller may write has projects; null for other scopes.';

create function packets.check_place(me identity.identity, has_projects boolean, scope text, project_id text, branch text)
returns void
language plpgsql immutable set search_path = '' as $$
begin
  -- A scope that does not exist and one that the caller may not write give the same error, so that callers can't tell them apart.
  if scope is null or scope <> all (me.writable_scopes) then
    perform identity.raise_error('L9SCP', format('scope: you may write %s', array_to_string(me.writable_scopes, ', ')));
  elsif has_projects and project_id is null then
    perform identity.raise_error('L9VAL', format(
      'project_id: required in scope %s; name one, or set a default with register_actor(), in the key or in the token', scope));
  elsif not has_projects and project_id is not null then
    perform identity.raise_error('L9VAL', format('project_id: scope %s belongs to no project; leave it out', scope));
  elsif not identity.is_project_id(project_id) then
    perform identity.raise_error('L9VAL', 'project_id: must be 1 to 200 letters, digits or ._/@:+-');
  elsif has_projects and not identity.has_project(me, project_id) then
    perform identity.raise_error('L9SCP', 'project_id: must be one of your projects');
  elsif branch is not null and project_id is null then
    perform identity.raise_error('L9VAL',
      format('branch: scope %s belongs to no project, so it has no branches; leave it out', scope));
  end if;
end $$;
comment on function packets.check_place is 'Raises a clear error (L9SCP or L9VAL) unless this caller may write in a scope and '
  'project, of which has_projects() is known, and for a branch of no project. The policies enforce the same rule.';

create function packets.check_scope(scope text, project_id text) returns void
language plpgsql stable security definer set search_path = '' as $$
declare
  me constant identity.identity := identity.require_identity();
begin
  perform packets.check_place(me, packets.has_projects(me, scope), scope, project_id, null);
end $$;
comment on function packets.check_scope is 'Raises a clear error (L9SCP or L9VAL) unless the caller may write in this scope and '
  'project. Definer: reads in the scopes table whether the scope has projects.';
grant execute on function packets.project_or_default, packets.branch_or_default to l9_agent, l9_admin;
grant execute on function packets.one_branch to l9_agent, l9_admin, l9_platform_admin;
grant execute on function packets.scope_has_projects, packets.check_scope, packets.check_place to l9_agent, l9_admin,
  l9_platform_admin;
