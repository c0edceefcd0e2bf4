-- Tells whether a background job saves a memory. The conditions of triggers of packet_store call it, because a job
-- has no identity that they could stamp or check.
create function packets.is_job_writing() returns boolean language sql stable parallel safe set search_path = ''
return current_user = 'l9_owner' and identity.current_role_name() = 'l9_worker';
comment on function packets.is_job_writing is 'True if a background job, which has no identity, saves a memory: the statement '
  'runs in a function of l9_owner and the session''s own role is l9_worker. The policies of packet_store decide which memories '
  'the job may save.';

-- Triggers call this as the writing role, so it must be executable. It returns false for them and grants nothing.
grant execute on function packets.is_job_writing to l9_agent, l9_admin, l9_platform_admin, l9_worker;
