-- What a caller may erase. The policies of the owner's functions ask administered_tenants(), and the erasing
-- functions ask may_erase() for each memory.
create function forgetting.is_unrestricted_operator(me identity.identity) returns boolean
language sql stable parallel safe set search_path = ''
return me.role = 'l9_platform_admin' and '*' = any (me.projects) and '*' = any (identity.list_claim('scopes'));
comment on function forgetting.is_unrestricted_operator is 'True for an operator with a token of all scopes and projects.';

create function forgetting.administered_tenants() returns uuid[] language plpgsql stable parallel safe set search_path = '' as $$
declare
  me identity.identity := identity.current_identity();
begin
  return case
    when forgetting.is_unrestricted_operator(me) then array(select t.tenant_id from public.tenants t)
    when me.role in ('l9_admin', 'l9_platform_admin') then array[me.tenant_id]
    else '{}'
  end;
end $$;
comment on function forgetting.administered_tenants is 'The tenants in which the caller may erase: for an admin its own, for an '
  'operator with an unrestricted token all, for anyone else none. The policies for functions of the owner use it.';

create function forgetting.may_erase(me identity.identity, scope text, project_id text) returns boolean
language sql stable parallel safe set search_path = ''
return forgetting.is_unrestricted_operator(me) or identity.may_write(me, project_id, scope);
comment on function forgetting.may_erase is 'True if the token of an admin covers this scope and project of its tenant.';
