-- What jobs call, as l9_worker.

create function tasks.start_task(
  type text,
  tenant_id uuid default null,
  payload jsonb default '{}',
  scope text default null,
  project_id text default null,
  org_id uuid default null,
  user_id uuid default null,
  caller text default null,
  job_key text default null,
  is_queued boolean default false,
  job_id bigint default null
)
returns uuid[]
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  tenant uuid;
  id uuid;
  ids uuid[] := '{}';
begin
  if not coalesce(tasks.is_bare(start_task.payload), false) then
    perform identity.raise_error('L9VAL', 'payload: numbers, ids and names only, 4 KiB at most', 'payload');
  end if;
  for tenant in
    select t.tenant_id from public.tenants t
    where t.tenant_id = start_task.tenant_id or start_task.tenant_id is null and t.is_active
    order by t.tenant_id
  loop
    id := null;
    if start_task.job_key is not null then
      perform pg_advisory_xact_lock(hashtextextended(format('l9 task %s %s', tenant, start_task.job_key), 0));
      if is_queued then
        -- It waits already, or runs: one key is in the queue once.
        select t.id into id from public.tasks t
        where t.tenant_id = tenant and t.job_key = start_task.job_key and t.status in ('queued', 'running');
      else
        -- What still seems to run under this key was left behind by a process that died.
        update public.tasks t
        set status = 'failed', error = 'interrupted', completed_at = clock_timestamp(), updated_at = clock_timestamp()
        where t.tenant_id = tenant and t.job_key = start_task.job_key and t.status = 'running';
        update public.tasks t set status = 'running', job_id = start_task.job_id, started_at = clock_timestamp(), updated_at = clock_timestamp()
        where t.tenant_id = tenant and t.job_key = start_task.job_key and t.status = 'queued'
        returning t.id into id;
      end if;
    end if;
    if id is null then
      insert into public.tasks as t (type, status, payload, job_key, job_id, caller, tenant_id, org_id, user_id, project_id, scope, started_at)
      values (
        start_task.type, case when is_queued then 'queued' else 'running' end, start_task.payload, start_task.job_key,
        start_task.job_id, start_task.caller, tenant, start_task.org_id, start_task.user_id, start_task.project_id, start_task.scope,
        case when not is_queued then clock_timestamp() end)
      returning t.id into id;
    end if;
    ids := ids || id;
  end loop;
  return ids;
end
$$;

comment on function tasks.start_task(text, uuid, jsonb, text, text, uuid, uuid, text, text, boolean, bigint) is
  'Writes down that something begins, or (is_queued) waits to begin, for a tenant, or for each that is active, and returns the ids for finish_task(). Under a job_key one that waits begins, and one that was left running by a process that died has failed. Definer: reads tenants, which jobs don''t see.';

create function tasks.finish_task(ids uuid[], result jsonb default null, error text default null)
returns integer
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  finished integer;
begin
  if not coalesce(tasks.is_bare(coalesce(result, '{}')), false) then
    perform identity.raise_error('L9VAL', 'result: numbers, ids and names only, 4 KiB at most', 'result');
  end if;
  update public.tasks t
  set status = case when finish_task.error is null then 'completed' else 'failed' end,
    result = finish_task.result,
    -- A name is all that is kept of an error: its text may quote what it is about.
    error = case when finish_task.error is not null
      then coalesce(nullif(left(regexp_replace(finish_task.error, '[^A-Za-z0-9._:-].*$', ''), 100), ''), 'Error') end,
    completed_at = clock_timestamp(), updated_at = clock_timestamp()
  where t.id = any (ids) and t.status in ('queued', 'running');
  get diagnostics finished = row_count;
  return finished;
end
$$;

comment on function tasks.finish_task(uuid[], jsonb, text) is
  'Writes down that tasks have ended: failed, where an error is named, else completed. Returns how many had not ended before.';

create function tasks.sweep_tasks(batch_size integer default 1000)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
  gone bigint;
begin
  update public.tasks t
  set status = 'failed', error = 'interrupted', completed_at = clock_timestamp(), updated_at = clock_timestamp()
  where t.status in ('queued', 'running') and t.updated_at < now() - interval '7 days';
  delete from public.tasks t where t.id in (
    select old.id from public.tasks old
    where old.completed_at < now() - interval '30 days'
    limit batch_size
    for update skip locked);
  get diagnostics gone = row_count;
  return gone;
end
$$;

comment on function tasks.sweep_tasks(integer) is
  'Deletes up to batch_size tasks that ended more than 30 days ago, and returns how many; those of which nothing was heard for 7 days have failed.';

grant execute on function
  tasks.is_bare(jsonb),
  tasks.start_task(text, uuid, jsonb, text, text, uuid, uuid, text, text, boolean, bigint),
  tasks.finish_task(uuid[], jsonb, text),
  tasks.sweep_tasks(integer)
to l9_worker;
