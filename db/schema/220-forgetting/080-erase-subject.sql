create function public.erase_subject(user_id uuid, reason text, tenant_id uuid default null)
returns public.erasure
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_admin();
  of_tenant uuid := coalesce(tenant_id, me.tenant_id);
  erasure_id uuid := uuidv7();
  done public.erasure;
begin
  perform forgetting.check_erasure_reason(reason);
  if user_id is null then
    perform identity.raise_error('L9VAL', 'user_id: whose memories to erase', 'user_id');
  elsif of_tenant <> all (forgetting.administered_tenants()) then
    perform identity.raise_error('L9SCP', 'tenant_id: not yours to erase in', 'tenant_id');
  elsif not forgetting.is_whole_operator(me) and (
    not '*' = any (me.projects)
    or exists (select from public.scopes s where s.tenant_id = of_tenant and s.scope <> all (me.writable_scopes))
  ) then
    perform identity.raise_error('L9SCP',
      'erase_subject: this token does not cover every scope and project of the tenant, and would leave some behind');
  end if;

  perform forgetting.mark_erased(erasure_id, reason, array(
    select p.packet_id from public.packet_store p
    where p.tenant_id = of_tenant and p.user_id = erase_subject.user_id));
  done := forgetting.erase_marked(me, erasure_id, reason, of_tenant, erase_subject.user_id);
  perform audit.write_audit_of_tenant(of_tenant, 'ERASE', 'users', erase_subject.user_id,
    details => jsonb_build_object('erasure_id', erasure_id, 'removed', done.removed));
  return done;
end
$$;

comment on function public.erase_subject(uuid, text, uuid) is
  'Erases all memories that a user owns, as erase_memory does, the texts of its searches, and its name; the user is deactivated. For admins whose token covers every scope and project of the tenant, and operators (tenant_id: another tenant than that of their claims): else L9SCP. Definer: deletes what callers can''t even see, such as expired rows.';

grant execute on function public.erase_subject(uuid, text, uuid) to l9_agent, l9_admin, l9_platform_admin;
