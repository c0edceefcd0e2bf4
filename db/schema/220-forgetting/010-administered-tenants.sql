create function forgetting.is_whole_operator(me identity.identity)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return me.role = 'l9_platform_admin'
  and '*' = any (me.projects) and '*' = any (identity.list_claim('scopes'));

comment on function forgetting.is_whole_operator(identity.identity) is
  'Whether this is an operator whose token is not cut down to some scopes or projects.';

create function forgetting.administered_tenants()
returns uuid[]
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  me identity.identity := identity.current_identity();
begin
  return case
    when forgetting.is_whole_operator(me) then array(select t.tenant_id from public.tenants t)
    when me.role in ('l9_admin', 'l9_platform_admin') then array[me.tenant_id]
    else '{}'
  end;
end
$$;

comment on function forgetting.administered_tenants() is
  'Tenants whose contents the caller may erase: its own for an admin, all for an operator with a whole token, none for anybody else. Policies of the owner''s functions ask for it.';

create function forgetting.may_erase(me identity.identity, scope text, project_id text)
returns boolean
language sql
stable
parallel safe
set search_path = ''
return forgetting.is_whole_operator(me)
  or identity.may_write(me, project_id, scope);

comment on function forgetting.may_erase(identity.identity, text, text) is
  'Whether the token of an admin covers a scope and project. What it administers at all is for administered_tenants() to say.';
