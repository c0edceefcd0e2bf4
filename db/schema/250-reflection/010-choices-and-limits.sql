-- The values that columns of this chapter take, and its limits: constraints, checks and ranks all use these functions.
create function reflection.reflection_types() returns text[] language sql immutable parallel safe
return array['lesson', 'pattern', 'failure', 'success', 'insight', 'improvement', 'false_constraint'];

create function reflection.priorities() returns text[]
language sql immutable parallel safe return array['low', 'medium', 'high', 'critical'];

create function reflection.task_outcomes() returns text[]
language sql immutable parallel safe return array['success', 'partial', 'failure', 'unknown'];

create function reflection.max_list_length() returns integer language sql immutable parallel safe return 64;

create function reflection.max_text_bytes() returns integer language sql immutable parallel safe return 8192;

create function reflection.default_priority() returns text language sql immutable parallel safe return 'medium';

create function reflection.default_confidence() returns double precision language sql immutable parallel safe return 0.7;
comment on function reflection.reflection_types is 'The types of reflections.';
comment on function reflection.priorities is 'The priorities of reflections, lowest first.';
comment on function reflection.default_priority is 'The priority of a reflection for which none is given.';
comment on function reflection.default_confidence is 'The confidence in a reflection for which none is given.';
comment on function reflection.task_outcomes is 'The outcomes of tasks.';
comment on function reflection.max_list_length is 'The maximum number of entries in a list of entities, texts or memories.';
comment on function reflection.max_text_bytes is 'The maximum length of a context, or of a text in a list, in bytes.';
grant execute on function reflection.reflection_types, reflection.priorities, reflection.task_outcomes,
  reflection.max_list_length, reflection.max_text_bytes, reflection.default_priority, reflection.default_confidence to l9_agent,
  l9_admin, l9_platform_admin, l9_worker;
