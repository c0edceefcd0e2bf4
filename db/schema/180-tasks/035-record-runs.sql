-- Writes the rows of a run that has ended, in place of start_task() and finish_task(). The gateway's recordingRuns()
-- calls it for jobs that go through all tenants at once.
create function tasks.record_runs(type text, started_at timestamptz, results jsonb, error text default null) returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
  recorded integer;
begin
  insert into public.tasks (type, status, result, error, tenant_id, started_at, completed_at)
  select record_runs.type, case when record_runs.error is null then 'completed' else 'failed' end, r.value,
    case when record_runs.error is not null then tasks.error_name(record_runs.error) end, r.key::uuid, record_runs.started_at,
    clock_timestamp()
  from jsonb_each(results) as r;
  get diagnostics recorded = row_count;
  return recorded;
end $$;
comment on function tasks.record_runs is 'Records a run that has ended, for jobs that know only afterwards for which tenants '
  'they did something: results has the result for each tenant_id. The run failed if an error is named. Returns the number of '
  'rows. Definer: jobs can''t insert into tasks.';
grant execute on function tasks.record_runs to l9_worker;
