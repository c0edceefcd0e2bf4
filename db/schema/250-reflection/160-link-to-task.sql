-- Links a lesson to a task by the name of the task, and makes the task's row if it has none. reflect() calls it where
-- a task_id is given.
create function reflection.link_to_task(task_id text, scope text, project_id text, reflection_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  task public.task_reflections;
begin
  select t.* into task
  from public.task_reflections t
  where t.tenant_id = me.tenant_id and t.scope = link_to_task.scope and t.project_id is not distinct from link_to_task.project_id
    and t.org_id is not distinct from me.org_id and t.user_id is not distinct from me.user_id
    and t.task_id = link_to_task.task_id;
  if not found then
    task := public.reflect_on_task(
      link_to_task.task_id, 'not described yet', scope => link_to_task.scope, project_id => link_to_task.project_id);
  end if;
  begin
    perform reflection.link_lesson(task.task_reflection_id, link_to_task.reflection_id);
  exception when sqlstate 'L9OWN' then
    perform identity.raise_error('L9OWN', 'task_id: this task is another agent''s');
  end;
end $$;
comment on function reflection.link_to_task is 'Links a lesson to the task of this id in the caller''s audience: its owner, in '
  'this scope and project. A task that has no row yet gets one. The caller holds the lock of lock_task(). L9OWN if another agent '
  'wrote the task.';
grant execute on function reflection.link_to_task to l9_agent, l9_admin;
