-- Erases one memory with everything that rests on it alone. Administrators and operators reach erase_memory() over
-- GraphQL and psql.
create function public.erase_memory(packet_id uuid, reason text) returns public.erasure
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_admin();
  erasure_id uuid := uuidv7();
begin
  perform forgetting.check_erasure_reason(reason);
  -- No tombstone is written if the caller may not erase the memory or a concurrent erasure was faster.
  if forgetting.mark_erased(erasure_id, reason, array(
    select p.packet_id from public.packet_store p
    where p.packet_id = erase_memory.packet_id
      and p.tenant_id = any (forgetting.administered_tenants())
      and forgetting.may_erase(me, p.scope, p.project_id))) = 0
  then
    perform memories.raise_not_yours(erase_memory.packet_id);
  end if;
  return forgetting.erase_marked(me, erasure_id, reason);
end $$;
comment on function public.erase_memory is 'Erases a memory, expired or not, everywhere: with its versions, vectors, chunks, '
  'keys, texts of searches that found it, and summaries, facts and lessons that rest only on it. A tombstone without content '
  'stays. For admins, within their tenant and claims, and for operators (else L9SCP); L9OWN if the memory does not exist. '
  'Definer: deletes rows that callers can''t see, such as expired ones.';
grant execute on function public.erase_memory to l9_agent, l9_admin, l9_platform_admin;
