-- Who the caller is and what it may do. The console asks it, to offer a person only what the database would let it do.

create type public.caller_rights as (caller text, creator text, role text, tenant_id uuid, tenant_name text, org_id uuid,
  user_id uuid, projects text[], readable_scopes text[], writable_scopes text[], can_clean_up boolean, is_admin boolean,
  is_read_only boolean);
comment on type public.caller_rights is 'A caller and its rights, after the claims of its key or token were limited by its '
  'actor''s row.';
comment on column public.caller_rights.caller is 'The caller.';
comment on column public.caller_rights.creator is 'The creator of the memories that it saves.';
comment on column public.caller_rights.role is 'Database role of the caller.';
comment on column public.caller_rights.tenant_id is 'Tenant of the caller.';
comment on column public.caller_rights.tenant_name is 'Name of that tenant.';
comment on column public.caller_rights.org_id is 'The org that it acts for.';
comment on column public.caller_rights.user_id is 'The user that it acts for.';
comment on column public.caller_rights.projects is 'Projects that it can work in; * means every project.';
comment on column public.caller_rights.readable_scopes is 'Scopes that it can read.';
comment on column public.caller_rights.writable_scopes is 'Scopes that it can write.';
comment on column public.caller_rights.can_clean_up is 'True if it can delete expired memories.';
comment on column public.caller_rights.is_admin is 'True if it administers its tenant, or all tenants.';
comment on column public.caller_rights.is_read_only is 'True if it can write in no scope.';

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
