-- Checks and ranks for the values of lessons. reflect() and store_reflection() call check_reflection(), and
-- find_reflection() asks can_reinforce().
create function reflection.priority_rank(priority text) returns integer
language sql immutable parallel safe return array_position(reflection.priorities(), priority) - 1;
comment on function reflection.priority_rank is 'The rank of a priority: low 0, medium 1, high 2, critical 3.';

create function reflection.can_reinforce(one_type text, other_type text) returns boolean language sql immutable parallel safe
return one_type = other_type or array[one_type, other_type] <@ array['lesson', 'pattern', 'insight', 'improvement'];
comment on function reflection.can_reinforce is 'True if two types mean the same by one text, as success and failure don''t.';

create function reflection.check_choice(value text, choices text[], field text) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if value is null or value <> all (choices) then
    perform identity.raise_error('L9VAL', format('%s: must be one of %s', field, array_to_string(choices, ', ')));
  end if;
end $$;
comment on function reflection.check_choice is 'Raises L9VAL, naming the field and the choices, if the value is not one of them.';

create function reflection.check_reflection(
  type text, context text, entities text[], confidence double precision, priority text, out names text[]) returns text[]
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  perform reflection.check_choice(type, reflection.reflection_types(), 'type');
  perform reflection.check_choice(priority, reflection.priorities(), 'priority');
  perform entities.check_confidence(confidence);
  perform identity.check_bytes(context, reflection.max_text_bytes(), 'context');
  if cardinality(entities) > reflection.max_list_length() then
    perform identity.raise_error('L9LIM',
      format('entities: at most %s, got %s', reflection.max_list_length(), cardinality(entities)));
  end if;
  names := entities.check_names(entities, 'entities');
end $$;
comment on function reflection.check_reflection is 'Raises for values that no reflection can have; returns the entities.';
grant execute on function reflection.priority_rank, reflection.can_reinforce, reflection.check_choice, reflection.check_reflection
  to l9_agent, l9_admin, l9_platform_admin, l9_worker;
