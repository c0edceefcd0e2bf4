-- A view for DBAs and administrators: what each actor may do in each scope, read from grants and policies themselves.
-- Callers read it in psql and over GraphQL.
create view public.access_matrix
with (security_invoker = true)
as
with policies as (
  -- The policies as PostgreSQL stores them. The claims that a policy calls tell which rule it states.
  select
    r.role, p.polpermissive as is_permissive,
    case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete' else 'all' end
      as command,
    coalesce(pg_catalog.pg_get_expr(p.polqual, p.polrelid), '') as qual,
    coalesce(pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid), pg_catalog.pg_get_expr(p.polqual, p.polrelid), '') as new_qual
  from pg_catalog.pg_policy p
  cross join unnest(identity.caller_roles()) as r (role)
  where p.polrelid = 'public.packet_store'::regclass
    and exists (select from unnest(p.polroles) as g (id) where pg_catalog.pg_has_role(r.role, g.id, 'usage'))
), rights as (
  select
    r.role, pg_catalog.has_table_privilege(r.role, 'public.packet_store', 'select')
      and coalesce(bool_or(p.is_permissive and p.command in ('all', 'select')), false) as may_read,
    coalesce(bool_or(p.is_permissive and p.command in ('all', 'select') and p.qual !~ 'current_scopes\('), false)
      as reads_any_scope,
    pg_catalog.has_any_column_privilege(r.role, 'public.packet_store', 'insert')
      and coalesce(bool_or(p.is_permissive and p.command in ('all', 'insert')), false) as may_write,
    coalesce(bool_or(p.is_permissive and p.command in ('all', 'insert') and p.new_qual !~ 'current_writable_scopes\('), false)
      as writes_any_scope,
    pg_catalog.has_any_column_privilege(r.role, 'public.packet_store', 'update')
      and pg_catalog.has_table_privilege(r.role, 'public.packet_store', 'delete')
      and coalesce(bool_or(p.is_permissive and p.command in ('all', 'update')), false)
      and coalesce(bool_or(p.is_permissive and p.command in ('all', 'delete')), false) as may_change,
    coalesce(bool_or(not p.is_permissive and p.command in ('all', 'update', 'delete')
      and p.qual ~ '''creator''.*current_creator\('), false) as changes_own_only,
    exists (
      select from pg_catalog.pg_proc f
      where f.pronamespace = 'public'::regnamespace and f.proname = 'delete_expired_memories'
        and pg_catalog.has_function_privilege(r.role, f.oid, 'execute')) as may_clean_up
  from unnest(identity.caller_roles()) as r (role)
  left join policies p on p.role = r.role
  group by r.role
), cells as (
  select
    a.tenant_id, a.caller, a.role, s.scope, s.is_project_scoped, r.may_change, r.changes_own_only,
    r.may_clean_up and a.can_clean_up as may_clean_up, t.is_active and a.is_active and coalesce(p.is_active, true)
      and r.may_read and (r.reads_any_scope or s.is_active
        and ('*' = any (a.readable_scopes) or s.scope = any (a.readable_scopes)))
      as may_read,
    t.is_active and a.is_active and coalesce(p.is_active, true)
      and r.may_write and (r.writes_any_scope or s.is_active
        and ('*' = any (a.writable_scopes) or s.scope = any (a.writable_scopes)))
      as may_write
  from public.actors a
  join public.tenants t on t.tenant_id = a.tenant_id
  join public.scopes s on s.tenant_id = a.tenant_id
  join rights r on r.role = a.role
  left join public.actors p on p.tenant_id = a.tenant_id and p.caller = a.registered_by
)
select
  tenant_id, caller, role, scope, is_project_scoped, may_read, may_write, case
    when not (may_read and may_write and may_change) then 'none'
    when changes_own_only then 'own'
    else 'any'
  end as may_change,
  may_write and may_clean_up as may_clean_up
from cells;
call identity.describe('public.access_matrix', 'Permissions of each actor in each scope: the registered actors and scopes under
    the current grants and policies of packet_store. A token can reduce these permissions, never extend them. An admin sees its
    tenant, an agent its own rows, an operator all rows.
  tenant_id: Tenant of the actor.
  caller: Actor.
  role: Database role of the actor.
  scope: Scope.
  is_project_scoped: True if memories of this scope belong to a project; the token says which projects are allowed.
  may_read: True if the actor can find and read memories of the scope.
  may_write: True if the actor can save memories in the scope.
  may_change: Memories of the scope that the actor can update and delete: any, own (those that carry its creator) or none.
  may_clean_up: True if the actor can delete expired memories of the scope.');
grant select on public.access_matrix to l9_agent, l9_admin, l9_platform_admin;
