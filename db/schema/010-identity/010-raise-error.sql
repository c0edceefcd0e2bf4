-- Raises the documented errors: triggers, checks and operations of all chapters call raise_error(). A text about one field
-- begins with it ('name: at most 200 characters'), so few calls name the field beside the text.
create function identity.raise_error(errcode text, message text, field text default null, hint text default null) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  raise exception using
    errcode = errcode, message = message, column = coalesce(field, substring(message from '^(\S+?): '), ''),
    hint = coalesce(hint, '');
end $$;
comment on function identity.raise_error is 'Raises one of the documented errors (docs/reference/errors.md): a SQLSTATE that '
  'begins with L9, a message fit for the caller, and the field that the error is about: by default the one that the message '
  'begins with; empty for none.';
grant execute on function identity.raise_error to l9_agent, l9_admin, l9_platform_admin, l9_worker;
