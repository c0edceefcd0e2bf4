create type public.policy_verdict as (
  policy text,
  is_permissive boolean,
  admits boolean,
  expression text,
  description text
);
comment on type public.policy_verdict is 'What one policy of packet_store says of a memory.';
comment on column public.policy_verdict.policy is 'Its name.';
comment on column public.policy_verdict.is_permissive is 'True: one such policy must admit. False: each such policy must.';
comment on column public.policy_verdict.admits is 'Its verdict.';
comment on column public.policy_verdict.expression is 'The rule, with the caller''s claims filled in.';
comment on column public.policy_verdict.description is 'What it is for.';

create type public.access_explanation as (
  packet_id uuid,
  tenant_id uuid,
  caller text,
  role text,
  is_visible boolean,
  decided_by text,
  policies public.policy_verdict[]
);
comment on type public.access_explanation is 'Whether a caller sees a memory, and why.';
comment on column public.access_explanation.packet_id is 'The memory.';
comment on column public.access_explanation.tenant_id is 'The tenant of the caller.';
comment on column public.access_explanation.caller is 'The caller.';
comment on column public.access_explanation.role is 'Its database role.';
comment on column public.access_explanation.is_visible is 'Whether it sees the memory.';
comment on column public.access_explanation.decided_by is
  'The policy that decided: of those that refuse the first restrictive one, else the permissive one. identity: it is nobody, being inactive or with claims that do not fit. grant: its role may read no memory.';
comment on column public.access_explanation.policies is 'The verdict of each policy for its role.';

create function access.expired_memory(packet_id uuid)
returns public.packet_store
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.require_admin();
  memory public.packet_store;
begin
  select p.* into memory from public.packet_store p
  where p.packet_id = expired_memory.packet_id
    and p.ttl <= now()
    and (me.role = 'l9_platform_admin'
      or p.tenant_id = me.tenant_id
        and p.scope = any (me.readable_scopes)
        and identity.has_project(me, p.project_id));
  -- Whose it was, not what it said: that is gone for everyone.
  memory.envelope := null;
  memory.content := null;
  memory.routing := null;
  memory.provenance := null;
  memory.metadata := jsonb_build_object('creator', memory.metadata -> 'creator');
  memory.thread_id := null;
  memory.parent_ids := null;
  memory.tags := null;
  memory.content_hash := null;
  memory.correlation_id := null;
  memory.session_id := null;
  memory.trace_id := null;
  return memory;
end
$$;

comment on function access.expired_memory(uuid) is
  'Whose a memory was that has expired and waits for cleanup, without what it said, to an admin that could read it before. Definer: expired memories are hidden from everyone.';

create function access.claims_filled_in(expression text, me identity.identity)
returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  answer text := expression;
  claim record;
begin
  for claim in
    select * from (values
      ('current_tenant_id', format('%L::uuid', (me).tenant_id)),
      ('current_org_id', format('%L::uuid', (me).org_id)),
      ('current_user_id', format('%L::uuid', (me).user_id)),
      ('current_caller', format('%L::text', (me).caller)),
      ('current_creator', format('%L::text', (me).creator)),
      ('current_scopes', format('%L::text[]', coalesce((me).readable_scopes, '{}'))),
      ('current_writable_scopes', format('%L::text[]', coalesce((me).writable_scopes, '{}'))),
      ('current_projects', format('%L::text[]', coalesce((me).projects, '{}'))),
      ('has_every_project', coalesce('*' = any ((me).projects), false)::text)) as c (name, literal)
  loop
    -- In the replacement a backslash is special.
    answer := regexp_replace(answer, format('\( SELECT identity\.%s\(\) AS %1$s\)', claim.name),
      replace(format('(%s)', claim.literal), '\', '\\'), 'g');
  end loop;
  -- Asked for a reason, not by them: it is no look of theirs.
  answer := regexp_replace(answer, '\( SELECT identity\.allow_and_audit_operator_read\([^()]*\) AS allow_and_audit_operator_read\)',
    coalesce(((me).role = 'l9_platform_admin')::text, 'false'), 'g');
  -- Functions of PostgreSQL stand without a schema here: a schema names one of ours that is not known above.
  if answer ~ '\m[a-z0-9_]+\.[a-z0-9_]+\(' then
    raise exception using errcode = '0A000', message = 'explain_access: a policy asks for what it does not know';
  end if;
  return answer;
end
$$;

comment on function access.claims_filled_in(text, identity.identity) is
  'The expression of a policy with what it asks of the session, (select identity.current_…()), replaced by what it would be for this identity.';

create function access.role_of_actor(tenant_id uuid, caller text)
returns text
language sql
stable
security definer
set search_path = ''
return (
  select a.role from public.actors a, identity.require_admin() as me
  where a.tenant_id = role_of_actor.tenant_id and a.caller = role_of_actor.caller
    and (me.role = 'l9_platform_admin' or a.tenant_id = me.tenant_id));

comment on function access.role_of_actor(uuid, text) is
  'The database role of an actor, to an admin of its tenant; else null. Definer: reads actors.';

create function access.identity_in_question(
  tenant_id uuid, caller text, org_id uuid, user_id uuid, scopes text[], projects text[])
returns identity.identity
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.require_admin();
  them identity.identity;
begin
  if me.role <> 'l9_platform_admin' and identity_in_question.tenant_id <> me.tenant_id then
    return null;
  end if;
  select a.tenant_id, identity_in_question.org_id, identity_in_question.user_id, a.caller, a.creator, a.source, a.agent, a.role,
    identity.intersect_scopes(a.readable_scopes, coalesce(identity_in_question.scopes, '{*}')),
    identity.intersect_scopes(a.writable_scopes, coalesce(identity_in_question.scopes, '{*}')),
    coalesce(identity_in_question.projects, '{*}'), a.can_clean_up
  into them
  from identity.active_actors a
  where a.tenant_id = identity_in_question.tenant_id and a.caller = identity_in_question.caller
    and identity.are_claims_valid(a.tenant_id, a.caller, identity_in_question.org_id, identity_in_question.user_id, null);
  return them;
end
$$;

comment on function access.identity_in_question(uuid, text, uuid, uuid, text[], text[]) is
  'What these claims would be worth, to an admin of their tenant, as current_identity() would have it under the actor''s role. Definer: reads identity tables.';

create function public.explain_access(
  caller text,
  packet_id uuid,
  org_id uuid default null,
  user_id uuid default null,
  projects text[] default null,
  scopes text[] default null,
  tenant_id uuid default null
)
returns public.access_explanation
language plpgsql
stable
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_admin();
  memory public.packet_store;
  them identity.identity;
  answer public.access_explanation;
  policy record;
  verdict public.policy_verdict;
begin
  answer.packet_id := explain_access.packet_id;
  answer.tenant_id := coalesce(explain_access.tenant_id, me.tenant_id);
  answer.caller := explain_access.caller;
  answer.policies := '{}';
  answer.is_visible := false;

  -- As the admin: of a memory that it can't see itself it learns nothing.
  select p.* into memory from public.packet_store p where p.packet_id = explain_access.packet_id;
  if not found then
    memory := access.expired_memory(explain_access.packet_id);
    if memory.packet_id is null then
      perform memories.raise_not_yours(explain_access.packet_id);
    end if;
  end if;
  answer.role := access.role_of_actor(answer.tenant_id, explain_access.caller);
  if answer.role is null then
    perform identity.raise_error('L9VAL', 'caller: no actor of this tenant', 'caller');
  end if;
  them := access.identity_in_question(
    answer.tenant_id, explain_access.caller, explain_access.org_id, explain_access.user_id,
    explain_access.scopes, explain_access.projects);

  for policy in
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
    verdict.expression := access.claims_filled_in(policy.expression, them);
    verdict.description := policy.description;
    execute format('select coalesce((%s), false) from (select ($1).*) as packet_store', verdict.expression)
    into verdict.admits
    using memory;
    answer.policies := answer.policies || verdict;
  end loop;

  if them.caller is null then
    answer.decided_by := 'identity';
  elsif not has_table_privilege(answer.role, 'public.packet_store', 'select') then
    answer.decided_by := 'grant';
  else
    select v.policy into answer.decided_by
    from unnest(answer.policies) as v
    where not v.is_permissive and not v.admits
    order by v.policy limit 1;
    if not found then
      answer.is_visible := exists (select from unnest(answer.policies) as v where v.is_permissive and v.admits);
      select string_agg(v.policy, ', ' order by v.policy) into answer.decided_by
      from unnest(answer.policies) as v
      where v.is_permissive and v.admits = answer.is_visible;
    end if;
  end if;
  return answer;
end
$$;

comment on function public.explain_access(text, uuid, uuid, uuid, text[], text[], uuid) is
  'Whether a caller, with these claims, sees a memory, and which policy of packet_store decides: they are taken from the catalogue and evaluated as they stand. For admins, of memories that they can see themselves, expired ones included; else L9OWN. Errors: L9OWN, L9VAL, L9SCP, L9AUT.';

grant execute on function
  access.expired_memory(uuid), access.claims_filled_in(text, identity.identity),
  access.role_of_actor(uuid, text),
  access.identity_in_question(uuid, text, uuid, uuid, text[], text[]),
  public.explain_access(text, uuid, uuid, uuid, text[], text[], uuid)
to l9_admin, l9_platform_admin;
