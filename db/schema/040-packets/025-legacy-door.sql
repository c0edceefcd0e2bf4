-- Memories that were written before this database was have their writers and times already. One door lets them in as they
-- are: `l9-memory migrate-legacy`, through the functions of chapter 095. This file says when that door is open.

create function packets.is_legacy_import()
returns boolean
language sql
stable
parallel safe
set search_path = ''
return current_user = 'l9_owner'
  and identity.current_role_name() = 'l9_owner'
  and coalesce(pg_catalog.current_setting('l9.legacy_import', true), '') = 'on';

comment on function packets.is_legacy_import() is
  'Whether this statement moves old memories in: run by l9_owner, in a session whose own role is l9_owner too, which has said so (set l9.legacy_import = on). A definer function that an agent, an admin or a job calls runs as l9_owner, but its session keeps the caller''s role: never for those, whatever they set.';

-- Triggers ask under whoever writes. Knowing the answer, which is no, opens nothing.
grant execute on function packets.is_legacy_import() to l9_agent, l9_admin, l9_platform_admin, l9_worker;
