create function tasks.is_bare(value jsonb)
returns boolean
language sql
immutable
parallel safe
set search_path = ''
return not pg_catalog.jsonb_path_exists(value,
    'strict $.** ? (@.type() == "string" && !(@ like_regex "^[A-Za-z0-9._:/@+-]{0,100}$"))')
  and not pg_catalog.jsonb_path_exists(value,
    '$.** ? (@.type() == "object").keyvalue().key ? (!(@ like_regex "^[A-Za-z0-9._:/@+-]{1,100}$"))')
  and pg_catalog.octet_length(value::text) <= 4096;

comment on function tasks.is_bare(jsonb) is
  'Whether a value holds numbers, ids and names only, 4 KiB at most: no text that somebody wrote.';

create table public.tasks (
  id uuid primary key default uuidv7(),
  type text not null,
  status text not null,
  payload jsonb not null default '{}',
  result jsonb,
  error text,
  job_key text,
  job_id bigint,
  caller text,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text,
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  updated_at timestamptz not null default clock_timestamp(),
  foreign key (tenant_id, scope) references public.scopes (tenant_id, scope),
  constraint task_type_plain check (type ~ '^[a-z][a-z0-9_]{0,62}$'),
  constraint task_status_known check (status in ('queued', 'running', 'completed', 'failed')),
  constraint task_without_contents check (tasks.is_bare(payload) and tasks.is_bare(coalesce(result, '{}'))),
  constraint task_error_is_a_name check (error ~ '^[A-Za-z0-9._:-]{1,100}$'),
  constraint task_job_key_short check (octet_length(job_key) between 1 and 200),
  constraint task_fails_with_error check ((status = 'failed') = (error is not null)),
  constraint task_ends_once check ((status in ('completed', 'failed')) = (completed_at is not null)),
  constraint task_starts_before_it_runs check (status = 'queued' or started_at is not null)
);

create index tasks_newest_idx on public.tasks (tenant_id, created_at);
create index tasks_status_idx on public.tasks (tenant_id, status, type);
create index tasks_caller_idx on public.tasks (tenant_id, caller) where caller is not null;
create index tasks_completed_idx on public.tasks (completed_at);
create unique index tasks_open_key on public.tasks (tenant_id, job_key) where status in ('queued', 'running');

comment on table public.tasks is
  'Background work for a tenant, as its people see it: one row a run. Only jobs write it; rows go 30 days after their end.';
comment on column public.tasks.id is 'UUID version 7.';
comment on column public.tasks.type is 'What is done, such as reembed: a lower-case word.';
comment on column public.tasks.status is 'queued, running, completed or failed.';
comment on column public.tasks.payload is 'What it was asked: numbers, ids and names, never contents.';
comment on column public.tasks.result is 'What came of it: numbers, ids and names, never contents.';
comment on column public.tasks.error is 'The name of the error that it failed of. interrupted: its process ended.';
comment on column public.tasks.job_key is 'What it works on, such as extract and the id of a memory: under one key one task at a time is queued or runs.';
comment on column public.tasks.job_id is 'The job of the queue that does it, while it is there: graphile_worker.jobs.id, for l9_worker. Null: no job does, but a command.';
comment on column public.tasks.caller is 'Who asked for it; null: nobody, it came round by itself.';
comment on column public.tasks.tenant_id is 'The tenant that it is done for.';
comment on column public.tasks.org_id is 'The org that it is done for; null: the whole tenant.';
comment on column public.tasks.user_id is 'The user whom it is done for; null: the whole org.';
comment on column public.tasks.project_id is 'The project that it is about; null: all of them.';
comment on column public.tasks.scope is 'The scope that it is about: whoever reads that sees the task. Null: all of them, and then it is for admins, and whoever asked for it.';
comment on column public.tasks.created_at is 'When it was queued, or began.';
comment on column public.tasks.started_at is 'When it began.';
comment on column public.tasks.completed_at is 'When it ended, either way.';
comment on column public.tasks.updated_at is 'When its status last changed.';

call identity.protect_like_memories('public.tasks', noun => 'task', expires => false);
do $$
begin
  execute format('create policy unscoped_tasks on public.tasks for select to l9_admin using (scope is null and %s)', identity.project_condition());
end
$$;
comment on policy unscoped_tasks on public.tasks is 'Admins also see tasks that are about no single scope, within their projects; agents do not.';

create policy worker_access on public.tasks to l9_worker using (true);
create policy definer_functions on public.tasks to l9_owner using (true);

comment on policy worker_access on public.tasks is 'Jobs write down what became of what they do.';
comment on policy definer_functions on public.tasks is 'start_task() writes down what begins; only jobs may call it.';

grant select on public.tasks to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant update (status, result, error, started_at, completed_at, updated_at) on public.tasks to l9_worker;
grant delete, maintain on public.tasks to l9_worker;
-- Callers write none: a task is what a job does, not what somebody says of it.
