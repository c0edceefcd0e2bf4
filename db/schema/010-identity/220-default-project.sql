create function identity.default_project()
returns text
language plpgsql
stable
security definer
set search_path = ''
as $$
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
end
$$;

comment on function identity.default_project() is
  'The project of what the caller saves without naming one: the claim default_project (of its key, its token or its working copy), its only project, or the default of its actor, if it may work in that project; null if there is none. Definer: reads actors.';

grant execute on function identity.default_project() to l9_agent, l9_admin;
