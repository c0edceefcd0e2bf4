-- Imported memories keep their writers and times. Only `l9-memory migrate-legacy`, through the functions of schema
-- legacy, may insert them; this function tells when.

create function packets.is_legacy_import()
returns boolean
language sql stable parallel safe set search_path = ''
return current_user = 'l9_owner'
  and identity.current_role_name() = 'l9_owner'
  and coalesce(pg_catalog.current_setting('l9.legacy_import', true), '') = 'on';

comment on function packets.is_legacy_import is
  'True if this statement imports old memories: it runs as l9_owner, the session''s own role is l9_owner too, and '
  'the session has set l9.legacy_import = on. A definer function called by an agent, an admin or a job also runs as '
  'l9_owner, but its session keeps the caller''s role, so the result is false for them whatever they set.';

-- Triggers call this as the writing role, so it must be executable. It returns false for them and grants nothing.
grant execute on function packets.is_legacy_import to l9_agent, l9_admin, l9_platform_admin, l9_worker;
