-- Who sees a row that belongs to a tenant, org, user, project and scope: the product's promise, written down once.
-- Policies get it as text, so that they stay plain expressions that the planner and explain_access() understand;
-- functions that run as the owner, to which those policies do not apply, call may_read(), which PostgreSQL inlines.
create function identity.project_condition() returns text language sql immutable parallel safe set search_path = ''
return $sql$(project_id is null or (select identity.has_every_project())
      or project_id = any ((select identity.current_projects())::text[]))$sql$;
comment on function identity.project_condition is 'A policy condition: the row''s project, if any, is one of the caller''s.';

create function identity.reader_condition() returns text language sql immutable parallel safe set search_path = ''
return 'scope = any ((select identity.current_scopes())::text[]) and ' || identity.project_condition();
comment on function identity.reader_condition is 'A policy condition: the caller may read the row''s scope and project.';

create function identity.writer_condition() returns text language sql immutable parallel safe set search_path = ''
return 'scope = any ((select identity.current_writable_scopes())::text[]) and ' || identity.project_condition();
comment on function identity.writer_condition is 'A policy condition: the caller may write the row''s scope and project.';

create function identity.owner_condition() returns text language sql immutable parallel safe set search_path = ''
return $sql$(org_id is null or org_id = (select identity.current_org_id()))
      and (user_id is null or user_id = (select identity.current_user_id()))$sql$;
comment on function identity.owner_condition is 'A policy condition: the row''s org and user are the caller''s, or null.';

create function identity.definer_condition() returns text language sql immutable parallel safe set search_path = ''
return pg_catalog.format($sql$tenant_id = (select identity.current_tenant_id())
      and %s
      and ((select identity.current_role_name()) = 'l9_admin' or %s)$sql$, identity.reader_condition(),
      identity.owner_condition());
comment on function identity.definer_condition is 'For policies of the owner: the agent or admin that called may read the row.';

create function identity.searcher_condition(table_name text) returns text
language sql immutable parallel safe set search_path = ''
return pg_catalog.format($sql$case (select identity.current_role_name())
      when 'l9_platform_admin' then (select identity.allow_and_audit_operator_read(%L))
      else %s end$sql$, table_name, identity.definer_condition());
comment on function identity.searcher_condition is 'For policies of l9_searcher: whoever called may read the row.';

-- One list of names, conditions and descriptions makes the policies, so that memories and what follows them are protected alike.
create procedure identity.protect_like_memories(
  target regclass, noun text default 'memory', expires boolean default true, is_writable boolean default false)
language plpgsql set search_path = '' as $$
declare
  name constant text := (select c.relname from pg_class c where c.oid = target);
  unexpired constant text := case when expires then ' and (ttl is null or ttl > now())' else '' end;
  verb constant text := case when is_writable then 'read and write' else 'read' end;
  command constant text := case when is_writable then '' else 'for select ' end;
  check_of_writes constant text := case when is_writable then format(' with check (%s)', identity.writer_condition()) else '' end;
  policy record;
  named_column text;
begin
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  -- The planner's estimates ignore policies: with statistics, EXPLAIN would tell for a guessed name whether hidden rows have it.
  for named_column in
    select a.attname from pg_attribute a
    where a.attrelid = target and a.attname in (
      'project_id', 'branch', 'thread_id', 'session_id', 'correlation_id', 'trace_id', 'speaker', 'packet_type',
      'reflection_type')
  loop
    execute format('alter table %s alter column %I set statistics 0', target, named_column);
  end loop;
  for policy in
    select * from (values
      ('tenant_isolation', 'as restrictive to l9_agent, l9_admin', 'tenant_id = (select identity.current_tenant_id())', '',
        'Nothing is shared between tenants.'),
      ('org_isolation', 'as restrictive to l9_agent', 'org_id is null or org_id = (select identity.current_org_id())', '',
        format('A %s of an org is visible to callers of that org; one without an org is visible to the whole tenant.', noun)),
      ('user_visibility', 'as restrictive to l9_agent', 'user_id is null or user_id = (select identity.current_user_id())', '',
        format('A %s of a user is visible to callers that act for that user; one without a user is visible to the whole org.',
          noun)),
      ('scope_access', command || 'to l9_agent', identity.reader_condition() || unexpired, check_of_writes,
        format('Agents %s in the scopes and projects of their claims.', verb)
          || case when expires then ' Expired rows are invisible.' else '' end),
      ('admin_override', command || 'to l9_admin', identity.reader_condition() || unexpired, check_of_writes,
        format('Admins %s in their whole tenant, across orgs, users and authors, within their claims.', verb)),
      ('platform_override', 'for select to l9_platform_admin',
        format('(select identity.allow_and_audit_operator_read(%L))', name) || unexpired, '',
        'Operators read across tenants, and each read is audited. They write nothing.')
    ) as p (name, addressed, condition, check_of_writes, description)
  loop
    execute format(
      'create policy %I on %s %s using (%s)%s', policy.name, target, policy.addressed, policy.condition, policy.check_of_writes);
    execute format('comment on policy %I on %s is %L', policy.name, target, policy.description);
  end loop;
end $$;
comment on procedure identity.protect_like_memories is 'Enables and forces row-level security on a table with the columns '
  'tenant_id, org_id, user_id, project_id and scope (and ttl, where rows expire), and creates the policies that decide who sees '
  'a memory. The names that rows are grouped by get no planner statistics. noun: what a row is, for the comments. is_writable: '
  'agents and admins may also write rows of scopes that they may write. A table that differs from memories alters the policy '
  'after this call.';

-- Inlined into the query that calls it: hence no `set search_path`; the body is parsed here, once, with all names resolved.
create function identity.has_project(me identity.identity, project_id text) returns boolean language sql immutable parallel safe
return project_id is null or '*' = any ((me).projects) or project_id = any ((me).projects);
comment on function identity.has_project is 'True if a row of this project, or of none, lies within the caller''s projects.';

create function identity.may_read(
  me identity.identity, tenant_id uuid, org_id uuid, user_id uuid, project_id text, scope text) returns boolean
language sql immutable parallel safe
return tenant_id = (me).tenant_id
  and scope = any ((me).readable_scopes)
  and identity.has_project(me, project_id)
  and ((me).role = 'l9_admin' or (org_id is null or org_id = (me).org_id) and (user_id is null or user_id = (me).user_id));
comment on function identity.may_read is 'True if an agent or admin may read a row of this tenant, org, user, project and scope: '
  'the rule of protect_like_memories() as a function. The caller of this function checks the expiry.';

create function identity.may_write(me identity.identity, project_id text, scope text) returns boolean
language sql immutable parallel safe
return scope = any ((me).writable_scopes)
  and identity.has_project(me, project_id);
comment on function identity.may_write is 'True if the claims let the caller write in this project (null: none) and scope.';
grant execute on function identity.has_project, identity.may_read, identity.may_write to l9_agent, l9_admin, l9_platform_admin,
  l9_worker;
