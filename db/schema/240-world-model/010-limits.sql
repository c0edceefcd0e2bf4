-- Limits and forms that several tables and functions of this chapter share.
create function world_model.max_description_bytes() returns integer language sql immutable parallel safe return 1000;

create function world_model.is_version_number(value text) returns boolean
language sql immutable parallel safe return value ~ '^\d{1,9}$';
comment on function world_model.max_description_bytes is 'The maximum length of the description of a snapshot, in bytes.';
comment on function world_model.is_version_number is 'True for a version number; another text must be the id of a snapshot.';
grant execute on function world_model.max_description_bytes, world_model.is_version_number to l9_agent, l9_admin;
