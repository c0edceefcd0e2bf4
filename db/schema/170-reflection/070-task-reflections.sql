create table public.task_reflections (
  task_reflection_id uuid primary key default uuidv7(),
  source_packet uuid not null unique references public.packet_store on delete cascade,
  task_id text not null,
  description text not null,
  outcome text not null,
  what_worked text[] not null default '{}',
  what_failed text[] not null default '{}',
  recommendations text[] not null default '{}',
  related_decisions uuid[] not null default '{}',
  execution_time_ms bigint,
  metrics_improved text[] not null default '{}',
  metrics_degraded text[] not null default '{}',
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint task_id_short check (task_id ~ '\S' and octet_length(task_id) <= 200),
  constraint task_outcome_known check (outcome = any (reflection.task_outcomes())),
  constraint task_time_not_negative check (execution_time_ms >= 0)
);

alter table public.task_reflections
  alter column task_id set statistics 0, alter column description set statistics 0, alter column what_worked set statistics 0,
  alter column what_failed set statistics 0, alter column recommendations set statistics 0, alter column related_decisions set statistics 0,
  alter column metrics_improved set statistics 0, alter column metrics_degraded set statistics 0;

-- One row for a task of an audience. The audience is in the key, so that a row never collides with one that its writer can't see.
create unique index task_reflections_task_unique on public.task_reflections
  (tenant_id, scope, project_id, org_id, user_id, task_id) nulls not distinct;

comment on table public.task_reflections is
  'Results of tasks: one row for each task of an audience (owner, project and scope). The memory of kind task_reflection holds the same in words, so that a search finds it. Its lessons are linked reflections: task_reflections_lessons() returns them, task_reflections_lessons_learned() their texts.';
comment on column public.task_reflections.task_reflection_id is
  'UUID version 7, ordered by the time when the row was first written.';
comment on column public.task_reflections.source_packet is 'The memory that holds the same in words.';
comment on column public.task_reflections.task_id is 'The name that the writer gives to the task: at most 200 bytes.';
comment on column public.task_reflections.description is 'The goal of the task.';
comment on column public.task_reflections.outcome is 'success, partial, failure or unknown.';
comment on column public.task_reflections.what_worked is 'The things that worked.';
comment on column public.task_reflections.what_failed is 'The things that failed.';
comment on column public.task_reflections.recommendations is 'Recommendations for the next such task.';
comment on column public.task_reflections.related_decisions is
  'Memories of decisions that the task rests on. When the row was written, the writer and everyone who could read the row could read each of them.';
comment on column public.task_reflections.execution_time_ms is 'The duration of the task in milliseconds.';
comment on column public.task_reflections.metrics_improved is 'The metrics that improved, such as p95 120 ms to 80 ms.';
comment on column public.task_reflections.metrics_degraded is 'The metrics that got worse.';

call derived.derive_from_packets('public.task_reflections', 'task_reflection_id');

create table public.task_reflection_lessons (
  task_reflection_id uuid not null references public.task_reflections on delete cascade,
  reflection_id uuid not null references public.reflection_store on delete cascade,
  tenant_id uuid not null references public.tenants,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (task_reflection_id, reflection_id)
);

create index task_reflection_lessons_reflection_idx on public.task_reflection_lessons (reflection_id);

comment on table public.task_reflection_lessons is 'Links between tasks and the lessons that were learned from them.';
comment on column public.task_reflection_lessons.task_reflection_id is 'The task.';
comment on column public.task_reflection_lessons.reflection_id is 'The lesson.';
comment on column public.task_reflection_lessons.tenant_id is 'The tenant of both the task and the lesson.';
comment on column public.task_reflection_lessons.created_at is 'The time when the two were linked.';
comment on column public.task_reflection_lessons.updated_at is 'The same as created_at, because a link never changes.';

alter table public.task_reflection_lessons enable row level security;
alter table public.task_reflection_lessons force row level security;

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
comment on policy scope_access on public.task_reflection_lessons is
  'A link is visible to callers that may read both the task and the lesson. The policies of these two tables decide, so the link follows both wherever they move.';
comment on policy platform_override on public.task_reflection_lessons is
  'Operators read across tenants, and each read is audited. A link is hidden when the task or the lesson has expired.';
comment on policy worker_access on public.task_reflection_lessons is 'Background jobs read all rows.';
comment on policy definer_functions on public.task_reflection_lessons is
  'link_lesson() writes links in the tenant of the caller, after it has checked that the caller may read both ends.';

grant select on public.task_reflection_lessons to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant maintain on public.task_reflection_lessons to l9_worker;
