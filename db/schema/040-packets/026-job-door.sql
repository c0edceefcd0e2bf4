create function packets.is_job_writing()
returns boolean
language sql
stable
parallel safe
set search_path = ''
return current_user = 'l9_owner' and identity.current_role_name() = 'l9_worker';

comment on function packets.is_job_writing() is
  'Whether a job saves a memory, which has no identity: run by a function of l9_owner, in a session whose own role is l9_worker. Which memories it may save is for the policies of packet_store to say.';

-- Triggers ask under whoever writes. Knowing the answer, which is no, opens nothing.
grant execute on function packets.is_job_writing() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
