-- Refuses a text that is too long. The checks of names, facts, relationships, events and feedback call check_bytes().
create function identity.check_bytes(value text, max_bytes integer, field text) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if octet_length(value) > max_bytes then
    perform identity.raise_error('L9LIM', format('%s: at most %s bytes, got %s', field, max_bytes, octet_length(value)));
  end if;
end $$;
comment on function identity.check_bytes is 'Raises L9LIM for this field if the text exceeds the byte limit.';
grant execute on function identity.check_bytes to l9_agent, l9_admin, l9_platform_admin, l9_worker;
