-- What the caller is and may do, one function for each part of its identity. Policies call them inside (select …),
-- once per query.

-- Without a search_path these are inlined: policies ask them dozens of times in a search.

create function identity.current_tenant_id() returns uuid language sql stable parallel safe
return (identity.current_identity()).tenant_id;
comment on function identity.current_tenant_id is 'The caller''s tenant, or null without an identity.';

create function identity.current_org_id() returns uuid language sql stable parallel safe
return (identity.current_identity()).org_id;
comment on function identity.current_org_id is 'The caller''s org, or null.';

create function identity.current_user_id() returns uuid language sql stable parallel safe
return (identity.current_identity()).user_id;
comment on function identity.current_user_id is 'The user that the caller acts for, or null.';

create function identity.current_caller() returns text language sql stable parallel safe
return (identity.current_identity()).caller;
comment on function identity.current_caller is 'The caller''s name, such as L or C, or null without an identity.';

create function identity.current_creator() returns text language sql stable parallel safe
return (identity.current_identity()).creator;
comment on function identity.current_creator is 'The value of metadata.creator in the caller''s own memories, or null.';

create function identity.current_scopes() returns text[] language sql stable parallel safe
return coalesce((identity.current_identity()).readable_scopes, '{}');
comment on function identity.current_scopes is 'Scopes that the caller can read; empty without an identity.';

create function identity.current_writable_scopes() returns text[] language sql stable parallel safe
return coalesce((identity.current_identity()).writable_scopes, '{}');
comment on function identity.current_writable_scopes is 'Scopes that the caller can write; empty without an identity.';

create function identity.current_projects() returns text[] language sql stable parallel safe
return coalesce((identity.current_identity()).projects, '{}');
comment on function identity.current_projects is 'Projects that the caller can work in; {*} is all, {} none.';

-- A policy evaluates this once per query; '*' = any (…) in the policy itself would run for every row and dominate its cost.
-- It asks the claim alone, because each policy also asks for tenant or scopes, which a session without an identity has none of.
create function identity.has_every_project() returns boolean language sql stable parallel safe
return identity.claim('projects') is null or '*' = any (identity.list_claim('projects'));
comment on function identity.has_every_project is 'True if no claim keeps the caller to some projects of its tenant.';
grant execute on function identity.current_tenant_id, identity.current_org_id, identity.current_user_id, identity.current_caller,
  identity.current_creator, identity.current_scopes, identity.current_writable_scopes, identity.current_projects,
  identity.has_every_project to l9_agent, l9_admin, l9_platform_admin, l9_worker;
