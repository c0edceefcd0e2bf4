-- Who the caller is and what it may do. The console asks it, to offer a person only what the database would let it do.

create type public.caller_rights as (caller text, creator text, role text, tenant_id uuid, tenant_name text, org_id uuid,
  user_id uuid, projects text[], readable_scopes text[], writable_scopes text[], can_clean_up boolean, is_admin boolean,
  is_read_only boolean);
call identity.describe('public.caller_rights', 'A caller and its rights, after the claims of its key or token were limited by its
    actor''s row.
  caller: The caller.
  creator: The creator of the memories that it saves.
  role: Database role of the caller.
  tenant_id: Tenant of the caller.
  tenant_name: Name of that tenant.
  org_id: The org that it acts for.
  user_id: The user that it acts for.
  projects: Projects that it can work in; * means every project.
  readable_scopes: Scopes that it can read.
  writable_scopes: Scopes that it can write.
  can_clean_up: True if it can delete expired memories.
  is_admin: True if it administers its tenant, or all tenants.
  is_read_only: True if it can write in no scope.');

create function public.who_am_i() returns public.caller_rights
language plpgsql stable security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
begin
  return (me.caller, me.creator, me.role, me.tenant_id, (select t.name from public.tenants t where t.tenant_id = me.tenant_id),
    me.org_id, me.user_id, me.projects, me.readable_scopes, me.writable_scopes, me.can_clean_up,
    me.role in ('l9_admin', 'l9_platform_admin'), cardinality(me.writable_scopes) = 0)::public.caller_rights;
end $$;
comment on function public.who_am_i is 'The caller of this request and its rights: what its key or token claims, limited by its '
  'actor. Definer: not every caller can read the name of its tenant.';
grant execute on function public.who_am_i to l9_agent, l9_admin, l9_platform_admin;
