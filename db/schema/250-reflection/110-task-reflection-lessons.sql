-- The links between tasks and lessons. link_lesson() writes them; the fields of tasks and lessons in GraphQL read them.
create table public.task_reflection_lessons (
  task_reflection_id uuid not null references public.task_reflections on delete cascade,
  reflection_id uuid not null references public.reflection_store on delete cascade,
  tenant_id uuid not null references public.tenants, created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (task_reflection_id, reflection_id)
);
create index task_reflection_lessons_reflection_idx on public.task_reflection_lessons (reflection_id);
call identity.describe('public.task_reflection_lessons', 'Links between tasks and the lessons that were learned from them.
  task_reflection_id: The task.
  reflection_id: The lesson.
  tenant_id: The tenant of both the task and the lesson.
  created_at: The time when the two were linked.
  updated_at: The same as created_at, because a link never changes.');
alter table public.task_reflection_lessons enable row level security, force row level security;
create policy tenant_isolation on public.task_reflection_lessons as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.task_reflection_lessons for select to l9_agent, l9_admin
  using (
    exists (select from public.task_reflections t where t.task_reflection_id = task_reflection_lessons.task_reflection_id)
    and exists (select from public.reflection_store r where r.reflection_id = task_reflection_lessons.reflection_id));
create policy platform_override on public.task_reflection_lessons for select to l9_platform_admin
  using (
    (select identity.allow_and_audit_operator_read('task_reflection_lessons'))
    and exists (select from public.task_reflections t where t.task_reflection_id = task_reflection_lessons.task_reflection_id)
    and exists (select from public.reflection_store r where r.reflection_id = task_reflection_lessons.reflection_id));
create policy worker_access on public.task_reflection_lessons for select to l9_worker using (true);
create policy definer_functions on public.task_reflection_lessons to l9_owner
  using ((select identity.current_role_name()) not in ('l9_agent', 'l9_admin')
    or tenant_id = (select identity.current_tenant_id()));
comment on policy tenant_isolation on public.task_reflection_lessons is 'Nothing is shared between tenants.';
comment on policy scope_access on public.task_reflection_lessons is 'A link is visible to callers that may read both the task '
  'and the lesson. The policies of these two tables decide, so the link follows both wherever they move.';
comment on policy platform_override on public.task_reflection_lessons is 'Operators read across tenants, and each read is '
  'audited. A link is hidden when the task or the lesson has expired.';
comment on policy worker_access on public.task_reflection_lessons is 'Background jobs read all rows.';
comment on policy definer_functions on public.task_reflection_lessons is 'link_lesson() writes links in the tenant of the '
  'caller, after it has checked that the caller may read both ends.';
grant select on public.task_reflection_lessons to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant maintain on public.task_reflection_lessons to l9_worker;
