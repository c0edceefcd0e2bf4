-- Limits and forms that several tables and functions of this chapter share.

create function world_model.max_description_bytes()
returns integer
language sql
immutable
parallel safe
return 1000;

create function world_model.is_insight_type(value text)
returns boolean
language sql
immutable
parallel safe
return value ~ '^[a-z][a-z0-9_]{0,62}$';

create function world_model.is_version_number(value text)
returns boolean
language sql
immutable
parallel safe
return value ~ '^\d{1,9}$';

comment on function world_model.max_description_bytes() is 'The maximum length of the description of a snapshot, in bytes.';
comment on function world_model.is_insight_type(text) is
  'True for a word of lower-case letters, digits and _, at most 63 characters long.';
comment on function world_model.is_version_number(text) is
  'True for the number of a version; where a snapshot or a version can be given, any other text must be the id of a snapshot.';

grant execute on function
  world_model.max_description_bytes(), world_model.is_insight_type(text), world_model.is_version_number(text)
to l9_agent, l9_admin;
