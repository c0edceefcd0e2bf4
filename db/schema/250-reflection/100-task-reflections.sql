-- The results of agents' tasks, one row for each task of an audience. reflect_on_task() writes it by
-- store_task_reflection(); callers read it over GraphQL.
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
  execution_time_ms double precision,
  metrics_improved jsonb not null default '{}',
  metrics_degraded jsonb not null default '{}',
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz, creator text not null, created_at timestamptz not null, updated_at timestamptz not null,
  constraint task_id_short check (not identity.is_blank(task_id) and octet_length(task_id) <= 200),
  constraint task_outcome_known check (outcome = any (reflection.task_outcomes())),
  constraint task_metrics_objects check (jsonb_typeof(metrics_improved) = 'object' and jsonb_typeof(metrics_degraded) = 'object'),
  constraint task_time_not_negative check (execution_time_ms >= 0 and execution_time_ms < 'infinity')
);
alter table public.task_reflections
  alter column task_id set statistics 0, alter column description set statistics 0, alter column what_worked set statistics 0,
  alter column what_failed set statistics 0, alter column recommendations set statistics 0,
  alter column related_decisions set statistics 0, alter column metrics_improved set statistics 0,
  alter column metrics_degraded set statistics 0;
-- One row for a task of an audience. The audience is in the key, so that a row never collides with one that its writer can't see.
create unique index task_reflections_task_unique on public.task_reflections
  (tenant_id, scope, project_id, org_id, user_id, task_id) nulls not distinct;
call identity.describe('public.task_reflections', 'Results of tasks: one row for each task of an audience (owner, project and
    scope). The memory of kind task_reflection holds the same in words, so that a search finds it. Its lessons are linked
    reflections: task_reflections_lessons() returns them, and task_reflections_lessons_learned(),
    task_reflections_false_constraints() and task_reflections_helpful_patterns() their texts by type.
  task_reflection_id: UUID version 7, ordered by the time when the row was first written.
  source_packet: The memory that holds the same in words.
  task_id: The name that the writer gives to the task: at most 200 bytes.
  description: The goal of the task.
  outcome: success, partial, failure or unknown.
  what_worked: The things that worked.
  what_failed: The things that failed.
  recommendations: Recommendations for the next such task.
  related_decisions: Memories of decisions that the task rests on. When the row was written, the writer and everyone who could
    read the row could read each of them.
  execution_time_ms: The duration of the task in milliseconds, which may have a fraction.
  metrics_improved: The metrics that improved: an object of names and numbers or texts, such as {"tests": 212, "p95": "120 ms to
    80 ms"}.
  metrics_degraded: The metrics that got worse, in the same form.');

call derived.derive_from_packets('public.task_reflections', 'task_reflection_id');
call derived.replace_expired('public.task_reflections', 'source_packet', 'there is a reflection on the same task already',
  'task_id');
call secrets.guard_table('public.task_reflections', array['correlation_id', 'session_id', 'trace_id', 'outcome']);
