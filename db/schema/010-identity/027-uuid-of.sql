-- Reads an id out of a text that may be anything. Views of kinds, the audit of GraphQL and the successors of memories call it.

-- In plpgsql, because the planner folds constants: in one expression it would cast before it tests.
create function identity.uuid_of(value text) returns uuid
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  if pg_input_is_valid(value, 'uuid') then
    return value::uuid;
  end if;
  return null;
end $$;
comment on function identity.uuid_of is 'The UUID that a text is; null if it is not one.';
grant execute on function identity.uuid_of to l9_agent, l9_admin, l9_platform_admin, l9_worker;
