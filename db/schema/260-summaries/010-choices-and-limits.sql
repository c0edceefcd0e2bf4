-- The values of scope_type and the limits of this chapter: constraints, checks and searches all use these functions.
create function summaries.scope_types() returns text[]
language sql immutable parallel safe return array['thread', 'agent', 'topic', 'time_period', 'project', 'task'];

create function summaries.max_sources() returns integer language sql immutable parallel safe return 500;

create function summaries.max_subject_bytes() returns integer language sql immutable parallel safe return 1000;
comment on function summaries.scope_types is 'The types of subjects that can be summarised; not scopes of memories.';
comment on function summaries.max_sources is 'The maximum number of memories that a summary can rest on.';
comment on function summaries.max_subject_bytes is 'The maximum length of scope_value in bytes.';
grant execute on function summaries.scope_types, summaries.max_sources, summaries.max_subject_bytes to l9_agent, l9_admin,
  l9_platform_admin, l9_worker;
