create function identity.check_bytes(value text, most integer, field text)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  if octet_length(value) > most then
    perform identity.raise_error('L9LIM', format('%s: at most %s bytes, got %s', field, most, octet_length(value)), field);
  end if;
end
$$;

comment on function identity.check_bytes(text, integer, text) is 'L9LIM, naming the field, where it is longer than that.';

grant execute on function identity.check_bytes(text, integer, text) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
