-- Keeps the table tasks small, and ends runs whose process died. The gateway's job delete_expired calls it.
create function tasks.sweep_tasks(batch_size integer default 1000) returns bigint
language plpgsql volatile set search_path = '' as $$
declare
  deleted_count bigint;
begin
  update public.tasks t
  set status = 'failed', error = 'interrupted', completed_at = clock_timestamp(), updated_at = clock_timestamp()
  where t.status in ('queued', 'running') and t.updated_at < now() - interval '7 days';
  delete from public.tasks t where t.id in (
    select expired.id from public.tasks expired
    where expired.completed_at < now() - interval '30 days' limit batch_size for update skip locked);
  get diagnostics deleted_count = row_count;
  return deleted_count;
end $$;
comment on function tasks.sweep_tasks is 'Deletes up to batch_size runs that ended more than 30 days ago and returns their '
  'number. Also marks runs as failed (interrupted) that have not changed for 7 days and have not ended.';
grant execute on function tasks.sweep_tasks to l9_worker;
