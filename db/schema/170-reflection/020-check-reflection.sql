create function reflection.priority_rank(priority text)
returns integer
language sql
immutable
parallel safe
return array_position(array['low', 'medium', 'high', 'critical'], priority) - 1;

comment on function reflection.priority_rank(text) is 'low 0, medium 1, high 2, critical 3.';

create function reflection.are_one_sort(one_type text, other_type text)
returns boolean
language sql
immutable
parallel safe
return one_type = other_type
  or one_type in ('lesson', 'pattern', 'insight', 'improvement') and other_type in ('lesson', 'pattern', 'insight', 'improvement');

comment on function reflection.are_one_sort(text, text) is
  'Whether reflections of these types that say the same mean the same: the words of a success mean something else as a failure, and those of a false constraint the opposite.';

create function reflection.check_choice(value text, choices text[], field text)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if value is null or value <> all (choices) then
    perform identity.raise_error('L9VAL', format('%s: one of %s', field, array_to_string(choices, ', ')), field);
  end if;
end
$$;

comment on function reflection.check_choice(text, text[], text) is 'L9VAL, naming the field and the choices, unless it is one of them.';

create function reflection.check_reflection(
  type text, context text, entities text[], confidence double precision, priority text, out names text[])
returns text[]
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  perform reflection.check_choice(
    type, '{lesson,pattern,failure,success,insight,improvement,false_constraint}', 'type');
  perform reflection.check_choice(priority, '{critical,high,medium,low}', 'priority');
  perform entities.check_confidence(confidence);
  perform identity.check_bytes(context, 8192, 'context');
  if cardinality(entities) > 64 then
    perform identity.raise_error('L9LIM', format('entities: at most 64, got %s', cardinality(entities)), 'entities');
  end if;
  names := entities.check_names(entities, 'entities');
end
$$;

comment on function reflection.check_reflection(text, text, text[], double precision, text) is
  'L9VAL or L9LIM, naming the field, for what a reflection can''t have; its entities, normalised, each once.';

grant execute on function
  reflection.priority_rank(text), reflection.are_one_sort(text, text), reflection.check_choice(text, text[], text),
  reflection.check_reflection(text, text, text[], double precision, text)
to l9_agent, l9_admin, l9_platform_admin, l9_worker;
