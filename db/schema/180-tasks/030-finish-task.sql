-- Ends the rows that start_task() began. The gateway's withJobRun() calls it after the work, with the result or the
-- name of the error.
create function tasks.finish_task(ids uuid[], result jsonb default null, error text default null) returns integer
language plpgsql volatile set search_path = '' as $$
declare
  finished integer;
begin
  if not coalesce(tasks.is_bare(coalesce(result, '{}')), false) then
    perform identity.raise_error('L9VAL', 'result: may hold only numbers, ids and names, at most 4 KiB');
  end if;
  update public.tasks t
  set status = case when finish_task.error is null then 'completed' else 'failed' end,
    result = finish_task.result,
    -- Only the name of an error is stored, because its text may quote contents.
    error = case when finish_task.error is not null then tasks.error_name(finish_task.error) end,
    completed_at = clock_timestamp(), updated_at = clock_timestamp()
  where t.id = any (ids) and t.status in ('queued', 'running');
  get diagnostics finished = row_count;
  return finished;
end $$;
comment on function tasks.finish_task is 'Records that runs ended, failed if an error is named; returns how many were open.';
grant execute on function tasks.finish_task to l9_worker;
