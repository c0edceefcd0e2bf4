-- Says for one caller and one memory which policy decides. Administrators reach explain_access() over GraphQL and
-- psql; the functions before it are its steps.
create type public.policy_verdict as (policy text, is_permissive boolean, admits boolean, expression text, description text);
call identity.describe('public.policy_verdict', 'Result of one policy of packet_store for one memory.
  policy: Name of the policy.
  is_permissive: True: at least one such policy must admit the memory. False: every such policy must.
  admits: True if the policy admits the memory.
  expression: Expression of the policy, with the caller''s claims substituted.
  description: Comment of the policy.');

create type public.access_explanation as (packet_id uuid, tenant_id uuid, caller text, role text, is_visible boolean,
  decided_by text, policies public.policy_verdict[]);
call identity.describe('public.access_explanation', 'Whether a caller can see a memory, and why.
  packet_id: The memory.
  tenant_id: Tenant of the caller.
  caller: The caller.
  role: Database role of the caller.
  is_visible: True if the caller can see the memory.
  decided_by: Policy that decides: the first restrictive one that refuses, else the permissive ones. identity: the caller has no
    identity, because it is inactive or its claims do not match. grant: its role cannot read any memory.
  policies: Result of each policy that applies to the role.');

-- Reads the whole row, because policies are evaluated on a row of packet_store, keeps the columns that policies use, and clears
-- the contents, which nobody may see after the expiry.
create function access.get_expired_memory(packet_id uuid) returns public.packet_store
language plpgsql stable security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_admin();
  memory public.packet_store;
begin
  select p.* into memory from public.packet_store p
  where p.packet_id = get_expired_memory.packet_id
    and p.ttl <= now()
    and (me.role = 'l9_platform_admin'
      or p.tenant_id = me.tenant_id
        and p.scope = any (me.readable_scopes)
        and identity.has_project(me, p.project_id));
  return jsonb_populate_record(memory, jsonb_build_object(
    'envelope', null, 'content', null, 'routing', null, 'provenance', null, 'thread_id', null, 'speaker', null,
    'timestamp', null, 'parent_ids', null, 'tags', null, 'language', null, 'words', null, 'content_hash', null,
    'identity_hash', null, 'title', null, 'archived_at', null, 'correlation_id', null, 'branch', null, 'session_id', null,
    'trace_id', null, 'metadata', jsonb_build_object('creator', memory.metadata -> 'creator')));
end $$;
comment on function access.get_expired_memory is 'Owner, scope and project of an expired memory that waits for cleanup, without '
  'its contents, for an admin that could read it before. Definer: expired memories are hidden from every caller.';

-- The current_…() functions answer for the administrator who asks, so their calls in the text of a policy are
-- replaced by the values of the caller that is asked about.
create function access.substitute_claims(expression text, subject identity.identity) returns text
language plpgsql stable set search_path = '' as $$
declare
  result text := expression;
  claim record;
begin
  for claim in
    select * from (values
      ('current_tenant_id', format('%L::uuid', (subject).tenant_id)),
      ('current_org_id', format('%L::uuid', (subject).org_id)),
      ('current_user_id', format('%L::uuid', (subject).user_id)),
      ('current_caller', format('%L::text', (subject).caller)),
      ('current_creator', format('%L::text', (subject).creator)),
      ('current_scopes', format('%L::text[]', coalesce((subject).readable_scopes, '{}'))),
      ('current_writable_scopes', format('%L::text[]', coalesce((subject).writable_scopes, '{}'))),
      ('current_projects', format('%L::text[]', coalesce((subject).projects, '{}'))),
      ('has_every_project', coalesce('*' = any ((subject).projects), false)::text)) as c (name, literal)
  loop
    -- A backslash is special in the replacement text of regexp_replace.
    result := regexp_replace(result, format('\( SELECT identity\.%s\(\) AS %1$s\)', claim.name),
      replace(format('(%s)', claim.literal), '\', '\\'), 'g');
  end loop;
  -- This evaluates the policy on behalf of an admin, so it must not audit a read of the caller.
  result := regexp_replace(result,
    '\( SELECT identity\.allow_and_audit_operator_read\([^()]*\) AS allow_and_audit_operator_read\)',
    coalesce(((subject).role = 'l9_platform_admin')::text, 'false'), 'g');
  -- pg_get_expr prints PostgreSQL's own functions without a schema. A schema-qualified call is one of our functions that the
  -- substitution above does not handle.
  if result ~ '\m[a-z0-9_]+\.[a-z0-9_]+\(' then
    raise exception using errcode = '0A000', message = 'explain_access: a policy calls a function that cannot be substituted';
  end if;
  return result;
end $$;
comment on function access.substitute_claims is 'The expression of a policy with each identity.current_…() as a value.';

create function access.get_actor_role(tenant_id uuid, caller text) returns text
language sql stable security definer set search_path = ''
return (
  select a.role from public.actors a, identity.require_admin() as me
  where a.tenant_id = get_actor_role.tenant_id and a.caller = get_actor_role.caller
    and (me.role = 'l9_platform_admin' or a.tenant_id = me.tenant_id));
comment on function access.get_actor_role is 'Role of an actor, if the caller is an admin of its tenant. Definer: reads actors.';

create function access.get_identity_with_claims(
  tenant_id uuid, caller text, org_id uuid, user_id uuid, scopes text[], projects text[]) returns identity.identity
language plpgsql stable security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_admin();
  subject identity.identity;
begin
  if me.role <> 'l9_platform_admin' and get_identity_with_claims.tenant_id <> me.tenant_id then
    return null;
  end if;
  select a.tenant_id, get_identity_with_claims.org_id, get_identity_with_claims.user_id, a.caller, a.creator, a.source, a.agent,
    a.role, identity.intersect_scopes(a.readable_scopes, coalesce(get_identity_with_claims.scopes, '{*}')),
    identity.intersect_scopes(a.writable_scopes, coalesce(get_identity_with_claims.scopes, '{*}')),
    coalesce(get_identity_with_claims.projects, '{*}'), a.can_clean_up
  into subject
  from identity.active_actors a
  where a.tenant_id = get_identity_with_claims.tenant_id and a.caller = get_identity_with_claims.caller
    and identity.are_claims_valid(a.tenant_id, a.caller, get_identity_with_claims.org_id, get_identity_with_claims.user_id, null);
  return subject;
end $$;
comment on function access.get_identity_with_claims is 'The identity that these claims would give under the actor''s role, as '
  'current_identity() computes it, if the caller is an admin of their tenant; else null. Definer: reads identity tables.';

-- Evaluates each policy of packet_store for this row by itself, then combines them as PostgreSQL does: every
-- restrictive one must admit the row, and one permissive one.
create function public.explain_access(caller text, packet_id uuid, org_id uuid default null, user_id uuid default null,
  projects text[] default null, scopes text[] default null, tenant_id uuid default null) returns public.access_explanation
language plpgsql volatile set search_path = '' as $$
declare
  me identity.identity := identity.require_admin();
  memory public.packet_store;
  subject identity.identity;
  answer public.access_explanation;
  policy record;
  verdict public.policy_verdict;
begin
  answer.packet_id := explain_access.packet_id;
  answer.tenant_id := coalesce(explain_access.tenant_id, me.tenant_id);
  answer.caller := explain_access.caller;
  answer.policies := '{}';
  answer.is_visible := false;

  -- Runs with the admin's own rights, so that it learns nothing about a memory that it cannot see.
  select p.* into memory from public.packet_store p where p.packet_id = explain_access.packet_id;
  if not found then
    memory := access.get_expired_memory(explain_access.packet_id);
    if memory.packet_id is null then
      perform memories.raise_not_yours(explain_access.packet_id);
    end if;
  end if;
  answer.role := access.get_actor_role(answer.tenant_id, explain_access.caller);
  if answer.role is null then
    perform identity.raise_error('L9VAL', 'caller: no such actor in this tenant');
  end if;
  subject := access.get_identity_with_claims(
    answer.tenant_id, explain_access.caller, explain_access.org_id, explain_access.user_id,
    explain_access.scopes, explain_access.projects);

  for policy in
    -- pg_get_expr() is the text of a condition in the catalogue: the SQL that the policy adds to a query.
    select p.polname::text as name, p.polpermissive as is_permissive,
      coalesce(pg_get_expr(p.polqual, p.polrelid), 'true') as expression, obj_description(p.oid, 'pg_policy') as description
    from pg_policy p
    where p.polrelid = 'public.packet_store'::regclass
      and p.polcmd in ('r', '*')
      and exists (select from unnest(p.polroles) as g (id) where g.id = 0 or pg_has_role(answer.role, g.id, 'usage'))
    order by p.polpermissive, p.polname
  loop
    verdict.policy := policy.name;
    verdict.is_permissive := policy.is_permissive;
    verdict.expression := access.substitute_claims(policy.expression, subject);
    verdict.description := policy.description;
    execute format('select coalesce((%s), false) from (select ($1).*) as packet_store', verdict.expression)
    into verdict.admits
    using memory;
    answer.policies := answer.policies || verdict;
  end loop;

  -- Without an active actor, or with claims that don't match it, there is no subject.
  if subject.caller is null then
    answer.decided_by := 'identity';
  elsif not has_table_privilege(answer.role, 'public.packet_store', 'select') then
    answer.decided_by := 'grant';
  else
    select v.policy into answer.decided_by
    from unnest(answer.policies) as v where not v.is_permissive and not v.admits order by v.policy limit 1;
    if not found then
      answer.is_visible := exists (select from unnest(answer.policies) as v where v.is_permissive and v.admits);
      select string_agg(v.policy, ', ' order by v.policy) into answer.decided_by
      from unnest(answer.policies) as v where v.is_permissive and v.admits = answer.is_visible;
    end if;
  end if;
  perform audit.audit_read(
    'READ', jsonb_build_object('function', 'explain_access', 'explained_caller', answer.caller),
    memory.packet_id, memory.project_id, memory.scope);
  return answer;
end $$;
comment on function public.explain_access is 'Explains whether a caller with these claims can see a memory, and which policy of '
  'packet_store decides. The policies are read from the catalogue and evaluated as they are. For admins, and for memories that '
  'they can see themselves, including expired ones; else it raises L9OWN. Writes a READ audit row. Errors: L9OWN, L9VAL, L9SCP, '
  'L9AUT.';
grant execute on function access.get_expired_memory, access.substitute_claims, access.get_actor_role,
  access.get_identity_with_claims, public.explain_access to l9_admin, l9_platform_admin;
