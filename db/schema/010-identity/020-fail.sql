create function identity.raise_error(errcode text, message text, field text default null, hint text default null)
returns void
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
  raise exception using
    errcode = errcode,
    message = message,
    column = coalesce(field, ''),
    hint = coalesce(hint, '');
end
$$;

comment on function identity.raise_error(text, text, text, text) is
  'Raises one of the documented errors (docs/reference/errors.md): SQLSTATE L9…, a text fit for the caller, and the field it is about.';

grant execute on function identity.raise_error(text, text, text, text) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
