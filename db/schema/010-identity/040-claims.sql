-- Reads the claims that the gateway sets for a transaction. The identity of the caller is computed from them. A save reads a
-- dozen claims, so claim() and current_role_name() have no search_path, which would keep PostgreSQL from inlining them.
create function identity.claim(name text) returns text language sql stable parallel safe
return nullif(pg_catalog.current_setting('jwt.claims.' || name, true), '');
comment on function identity.claim is 'A claim of this transaction, or null if the claim is missing or empty.';

create function identity.list_claim(name text) returns text[] language sql stable parallel safe set search_path = ''
return case
  when identity.claim(name) is null then array['*']
  when pg_catalog.left(identity.claim(name), 1) <> '[' then pg_catalog.string_to_array(identity.claim(name), ',')
  when identity.claim(name) is json array then
    array(select pg_catalog.jsonb_array_elements_text(identity.claim(name)::jsonb))
  else '{}'
end;
comment on function identity.list_claim is 'A claim that is a list, given as JSON or separated by commas: {*} if it is missing, '
  'empty if it is malformed.';

create function identity.current_role_name() returns text language sql stable parallel safe
return case pg_catalog.current_setting('role')
  when 'none' then session_user::text
  else pg_catalog.current_setting('role')
end;
comment on function identity.current_role_name is 'The role that the session has taken, inside a definer function too.';

create function identity.intersect_scopes(list text[], claimed text[]) returns text[]
language sql immutable parallel safe set search_path = ''
return case when '*' = any (claimed) then list
  else array(select l.entry from unnest(list) with ordinality as l (entry, position)
    where l.entry = any (claimed) order by l.position) end;
comment on function identity.intersect_scopes is 'The values of list that are claimed, in its order; all of them if '
  'claimed holds *.';
grant execute on function identity.claim, identity.list_claim, identity.current_role_name to l9_agent, l9_admin,
  l9_platform_admin, l9_worker;
