create function public.erase_memory(packet_id uuid, reason text)
returns public.erasure
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_admin();
  erasure_id uuid := uuidv7();
begin
  perform forgetting.check_erasure_reason(reason);
  -- None is marked where a concurrent erasure was quicker.
  if forgetting.mark_erased(erasure_id, reason, array(
    select p.packet_id from public.packet_store p
    where p.packet_id = erase_memory.packet_id
      and p.tenant_id = any (forgetting.administered_tenants())
      and forgetting.may_erase(me, p.scope, p.project_id))) = 0
  then
    perform memories.raise_not_yours(erase_memory.packet_id);
  end if;
  return forgetting.erase_marked(me, erasure_id, reason);
end
$$;

comment on function public.erase_memory(uuid, text) is
  'Erases a memory, expired or not, everywhere: with its versions, vectors, chunks, keys, texts of searches that found it, and summaries, facts and lessons that rest on it alone. A tombstone without content stays. For admins, within their tenant and claims, and operators: else L9SCP; L9OWN where it is not there. Definer: deletes what callers can''t even see, such as expired rows.';

grant execute on function public.erase_memory(uuid, text) to l9_agent, l9_admin, l9_platform_admin;
