-- Erases what one user owns, the texts of that user's searches, and the user's name. Administrators and operators
-- reach erase_subject() over GraphQL and psql.
create function public.erase_subject(user_id uuid, reason text, tenant_id uuid default null) returns public.erasure
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_admin();
  target_tenant uuid := coalesce(tenant_id, me.tenant_id);
  erasure_id uuid := uuidv7();
  result public.erasure;
begin
  perform forgetting.check_erasure_reason(reason);
  if user_id is null then
    perform identity.raise_error('L9VAL', 'user_id: required, the user whose memories are to be erased');
  elsif target_tenant <> all (forgetting.administered_tenants()) then
    perform identity.raise_error('L9SCP', 'tenant_id: you may not erase in this tenant');
  elsif not forgetting.is_unrestricted_operator(me) and (
    not '*' = any (me.projects)
    or exists (select from public.scopes s where s.tenant_id = target_tenant and s.scope <> all (me.writable_scopes))
  ) then
    perform identity.raise_error('L9SCP',
      'erase_subject: your token must cover every scope and project of the tenant, so that nothing is left behind', '');
  end if;

  perform forgetting.mark_erased(erasure_id, reason, array(
    select p.packet_id from public.packet_store p
    where p.tenant_id = target_tenant and p.user_id = erase_subject.user_id));
  result := forgetting.erase_marked(me, erasure_id, reason, target_tenant, erase_subject.user_id);
  perform audit.write_audit_of_tenant(target_tenant, 'ERASE', 'users', erase_subject.user_id,
    details => jsonb_build_object('erasure_id', erasure_id, 'removed', result.removed));
  return result;
end $$;
comment on function public.erase_subject is 'Erases all memories that a user owns, as erase_memory() does, the texts of the '
  'searches of that user, and the name of the user; the user is deactivated. For admins whose token covers every scope and '
  'project of the tenant, and for operators (tenant_id: another tenant than that of their claims); else L9SCP. Definer: deletes '
  'rows that callers can''t see, such as expired ones.';
grant execute on function public.erase_subject to l9_agent, l9_admin, l9_platform_admin;
