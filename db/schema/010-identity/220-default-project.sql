-- The project and the branch of what is saved without naming one. Saves ask for them through project_or_default() and
-- branch_or_default().
create function identity.default_project() returns text language plpgsql stable security definer set search_path = '' as $$
declare
  me identity.identity := identity.current_identity();
  claimed text := identity.claim('default_project');
begin
  if me.caller is null then
    return null;
  elsif claimed is not null and identity.is_project_id(claimed) and identity.has_project(me, claimed) then
    return claimed;
  elsif cardinality(me.projects) = 1 and me.projects[1] <> '*' then
    return me.projects[1];
  end if;
  return (
    select a.default_project from public.actors a
    where a.tenant_id = me.tenant_id and a.caller = me.caller and identity.has_project(me, a.default_project));
end $$;
comment on function identity.default_project is 'The project of what the caller saves without naming one: its claim '
  'default_project, its only project, or its actor''s default, if it may work in it; else null. Definer: reads actors.';
grant execute on function identity.default_project to l9_agent, l9_admin;

create function identity.fallback_project() returns text language plpgsql stable security definer set search_path = '' as $$
declare
  me constant identity.identity := identity.current_identity();
begin
  return coalesce(identity.default_project(),
    case when me.caller is not null and identity.has_project(me, 'default') then 'default' end);
end $$;
comment on function identity.fallback_project is 'The default project or, where the caller has none, the project default, if it '
  'may work in it: a first save needs no set-up. Definer: asks who calls.';
grant execute on function identity.fallback_project to l9_agent, l9_admin;

create function identity.default_branch(project_id text) returns text language plpgsql stable set search_path = '' as $$
declare
  claimed constant text := identity.claim('default_branch');
begin
  -- The claim names a branch of the default project; without a default project it holds for whichever project the call names.
  return case when project_id is null or claimed is null then null
    when identity.is_branch(claimed) and coalesce(identity.default_project() = project_id, true) then claimed end;
end $$;
comment on function identity.default_branch is 'The branch of what the caller saves in this project without naming one, by the '
  'claim default_branch: of the default project or, without one, of every project. Null means every branch.';
grant execute on function identity.default_branch to l9_agent, l9_admin;
