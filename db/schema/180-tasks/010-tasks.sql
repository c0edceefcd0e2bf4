-- The table of the runs of background jobs, which callers read over GraphQL, and the checks that keep contents out of
-- it. Only jobs write it, by start_task(), finish_task() and record_runs().
create function tasks.is_bare(value jsonb) returns boolean language sql immutable parallel safe set search_path = ''
return not pg_catalog.jsonb_path_exists(value,
    'strict $.** ? (@.type() == "string" && !(@ like_regex "^[A-Za-z0-9._:/@+-]{0,100}$"))')
  and not pg_catalog.jsonb_path_exists(value,
    '$.** ? (@.type() == "object").keyvalue().key ? (!(@ like_regex "^[A-Za-z0-9._:/@+-]{1,100}$"))')
  and pg_catalog.octet_length(value::text) <= 4096;
comment on function tasks.is_bare is 'True for numbers, truth values, ids and names up to 4 KiB: no text that somebody wrote.';

create function tasks.is_error_name(name text) returns boolean language sql immutable parallel safe set search_path = ''
return name ~ '^[A-Za-z0-9._:-]{1,100}$';
comment on function tasks.is_error_name is 'True for the name of an error: 1 to 100 letters, digits or ._:-.';

create function tasks.error_name(error text) returns text language sql immutable parallel safe set search_path = ''
return coalesce(nullif(pg_catalog.left(pg_catalog.regexp_replace(error, '[^A-Za-z0-9._:-].*$', ''), 100), ''), 'Error');
comment on function tasks.error_name is 'The name at the start of an error; Error if there is none.';

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
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text,
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  updated_at timestamptz not null default clock_timestamp(),
  foreign key (tenant_id, scope) references public.scopes (tenant_id, scope),
  constraint task_type_plain check (type ~ packets.kind_pattern()),
  constraint task_status_known check (status in ('queued', 'running', 'completed', 'failed')),
  constraint task_without_contents check (tasks.is_bare(payload) and tasks.is_bare(coalesce(result, '{}'))),
  constraint task_error_is_a_name check (tasks.is_error_name(error)),
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
call identity.describe('public.tasks', 'Runs of background jobs for a tenant: one row for each run. Only jobs write this table. A
    row is deleted 30 days after its run ended.
  id: UUID version 7.
  type: The kind of work, such as reembed: a lower-case word.
  status: queued, running, completed or failed.
  payload: The parameters of the run: numbers, ids and names, never contents.
  result: The outcome of the run: numbers, ids and names, never contents.
  error: The name of the error that ended the run; interrupted if its process died. Null unless status is failed.
  job_key: The object of the work, such as extract and the id of a memory. At most one run with the same key is queued or running.
  job_id: graphile_worker.jobs.id of the job that does the work, for l9_worker. Null: a command does it.
  caller: The caller who asked for the run. Null: a schedule started it.
  tenant_id: The tenant that the run works for.
  org_id: The org that the run works for. Null: the whole tenant.
  user_id: The user that the run works for. Null: the whole org.
  project_id: The project that the run works on. Null: all projects.
  scope: The scope that the run works on; callers who can read this scope can read the row. Null: all scopes, and then only admins
    who can read every scope and project can read the row.
  created_at: When the run was queued, or when it started if it was never queued.
  started_at: When the run started.
  completed_at: When the run completed or failed.
  updated_at: When the status last changed.');

call identity.protect_like_memories('public.tasks', noun => 'task', expires => false);
-- Such a row may tell that there is work in any scope and project, and how much.
create policy unscoped_tasks on public.tasks for select to l9_admin
  using (scope is null and (select identity.has_every_scope()) and (select identity.has_every_project()));
comment on policy unscoped_tasks on public.tasks is 'Admins also read rows without a scope, if they can read every scope and '
  'project; agents can not.';

create policy worker_access on public.tasks to l9_worker using (true);
create policy definer_functions on public.tasks to l9_owner using (true);

comment on policy worker_access on public.tasks is 'Jobs record the progress and the outcome of their runs.';
comment on policy definer_functions on public.tasks is 'start_task() inserts and updates rows; only jobs may call it.';
grant select on public.tasks to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant update (status, result, error, started_at, completed_at, updated_at) on public.tasks to l9_worker;
grant delete, maintain on public.tasks to l9_worker;
grant execute on function tasks.is_bare, tasks.is_error_name, tasks.error_name to l9_worker;
-- Callers have no write privilege: rows report what jobs really did.
