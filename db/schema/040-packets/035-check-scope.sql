create function packets.scope_has_projects(scope text)
returns boolean
language sql
stable
parallel safe
security definer
set search_path = ''
return (
  select s.is_project_scoped from public.scopes s
  where s.tenant_id = identity.current_tenant_id()
    and s.scope = scope_has_projects.scope
    and s.scope = any (identity.current_scopes()));

comment on function packets.scope_has_projects(text) is
  'Whether memories of a scope belong to projects; null for a scope the caller may not read. Definer: reads scopes.';

create function packets.check_scope(scope text, project_id text)
returns void
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
  has_projects boolean;
begin
  -- One text for a scope that does not exist and one that is not the caller's: they are never told apart.
  if scope is null or scope <> all (me.writable_scopes) then
    perform identity.raise_error('L9SCP', format('scope: you may write %s', array_to_string(me.writable_scopes, ', ')), 'scope');
  end if;
  select s.is_project_scoped into has_projects from public.scopes s
  where s.tenant_id = me.tenant_id and s.scope = check_scope.scope;
  if has_projects and project_id is null then
    perform identity.raise_error('L9VAL', format('project_id: required in scope %s', scope), 'project_id');
  elsif not has_projects and project_id is not null then
    perform identity.raise_error('L9VAL', format('project_id: scope %s belongs to no project; leave it out', scope), 'project_id');
  elsif project_id !~ '^[A-Za-z0-9._/@:+-]{1,200}$' then
    perform identity.raise_error('L9VAL', 'project_id: 1 to 200 letters, digits or ._/@:+-', 'project_id');
  elsif has_projects and not identity.has_project(me, project_id) then
    perform identity.raise_error('L9SCP', 'project_id: not one of your projects', 'project_id');
  end if;
end
$$;

comment on function packets.check_scope(text, text) is
  'Whether the caller may write this scope and project, or a clear error; the policies hold the same rule. Definer: asks the scopes table whether the scope has projects.';

create function packets.tg_packet_store__check_scope()
returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform packets.check_scope(new.scope, new.project_id);
  return new;
end
$$;

comment on function packets.tg_packet_store__check_scope() is 'Refuses a scope or project that is not the caller''s.';

create trigger _350_check_scope
  before insert or update of scope, project_id on public.packet_store
  for each row when (current_user <> 'l9_owner' or not (packets.is_legacy_import() or packets.is_job_writing()))
  execute function packets.tg_packet_store__check_scope();

grant execute on function packets.scope_has_projects(text), packets.check_scope(text, text)
  to l9_agent, l9_admin, l9_platform_admin;
