-- Begins the row of a run, once for each tenant that the run works for. The gateway calls it in withJobRun() before
-- the work, and in queueJobRun() for work that waits.
create function tasks.start_task(
  type text, tenant_id uuid default null, payload jsonb default '{}', scope text default null, project_id text default null,
  org_id uuid default null, user_id uuid default null, caller text default null, job_key text default null,
  is_queued boolean default false, job_id bigint default null) returns uuid[]
language plpgsql volatile security definer set search_path = '' as $$
declare
  tenant uuid;
  id uuid;
  ids uuid[] := '{}';
begin
  if not coalesce(tasks.is_bare(start_task.payload), false) then
    perform identity.raise_error('L9VAL', 'payload: may hold only numbers, ids and names, at most 4 KiB');
  end if;
  for tenant in
    select t.tenant_id from public.tenants t
    where t.tenant_id = start_task.tenant_id or start_task.tenant_id is null and t.is_active order by t.tenant_id
  loop
    id := null;
    if start_task.job_key is not null then
      perform pg_advisory_xact_lock(hashtextextended(format('l9 task %s %s', tenant, start_task.job_key), 0));
      if is_queued then
        -- A key is queued or running at most once, so an existing run is used again.
        select t.id into id from public.tasks t
        where t.tenant_id = tenant and t.job_key = start_task.job_key and t.status in ('queued', 'running');
      else
        -- A run of this key that is still marked as running was left behind by a dead process.
        update public.tasks t
        set status = 'failed', error = 'interrupted', completed_at = clock_timestamp(), updated_at = clock_timestamp()
        where t.tenant_id = tenant and t.job_key = start_task.job_key and t.status = 'running';
        update public.tasks t set status = 'running', job_id = start_task.job_id, started_at = clock_timestamp(),
          updated_at = clock_timestamp()
        where t.tenant_id = tenant and t.job_key = start_task.job_key and t.status = 'queued' returning t.id into id;
      end if;
    end if;
    if id is null then
      insert into public.tasks as t (
        type, status, payload, job_key, job_id, caller, tenant_id, org_id, user_id, project_id, scope, started_at)
      values (
        start_task.type, case when is_queued then 'queued' else 'running' end, start_task.payload, start_task.job_key,
        start_task.job_id, start_task.caller, tenant, start_task.org_id, start_task.user_id, start_task.project_id,
        start_task.scope, case when not is_queued then clock_timestamp() end)
      returning t.id into id;
    end if;
    ids := ids || id;
  end loop;
  return ids;
end $$;
comment on function tasks.start_task is 'Records that a run starts, or is queued (is_queued), for one tenant or for each active '
  'tenant. Returns the ids for finish_task(). With a job_key, a queued run of the same key starts, and a run of that key that a '
  'dead process left running is marked as failed. Definer: reads tenants, which jobs can''t read.';
grant execute on function tasks.start_task to l9_worker;
