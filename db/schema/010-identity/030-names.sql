-- Patterns and lists that tables and functions share. They are inlined into the statements that call them: hence no
-- `set search_path`; their bodies are parsed here, once.
create function identity.is_identifier(value text) returns boolean language sql immutable parallel safe
return value ~ '^[a-z0-9][a-z0-9_-]{0,62}$';
comment on function identity.is_identifier is 'True if the value can name a tenant or a scope. Null for null.';

create function identity.is_display_name(value text, max_length integer) returns boolean language sql immutable parallel safe
return value ~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]*[^[:cntrl:][:space:]])?$' and pg_catalog.char_length(value) <= max_length;
comment on function identity.is_display_name is 'True if the value can be shown as a name. Null for null.';

create function identity.is_caller_name(value text) returns boolean language sql immutable parallel safe
return value ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$';
comment on function identity.is_caller_name is 'True if the value can name a caller. Null for null.';

create function identity.is_project_id(value text) returns boolean language sql immutable parallel safe
-- The length by itself: {1,200} would make 200 states of the expression, which take 30 times as long.
return value ~ '^[A-Za-z0-9._/@:+-]+$' and pg_catalog.char_length(value) <= 200;
comment on function identity.is_project_id is 'True if the value can name a project. Null for null.';

create function identity.is_branch(value text) returns boolean language sql immutable parallel safe
-- As `git check-ref-format --branch` has it.
return pg_catalog.char_length(value) between 1 and 255 and value !~ '[[:cntrl:] ~^:?*\[\\]'
  and value !~ '^[-/.]|^@$|//|\.\.|@\{|/\.|[/.]$|\.lock(/|$)';
comment on function identity.is_branch is 'True if the value can name a branch, as Git has it. Null for null.';

create function identity.caller_roles() returns text[] language sql immutable parallel safe
return array['l9_agent', 'l9_admin', 'l9_platform_admin'];
comment on function identity.caller_roles is 'The database roles under which an actor can call.';

create function identity.default_tenant_id() returns uuid language sql immutable parallel safe
return '00000000-0000-7000-8000-000000000001'::uuid;
comment on function identity.default_tenant_id is 'Id of the tenant default, which every installation has.';
grant execute on function identity.is_identifier, identity.is_display_name, identity.is_caller_name, identity.is_project_id,
  identity.is_branch, identity.caller_roles, identity.default_tenant_id to l9_agent, l9_admin, l9_platform_admin, l9_worker;
