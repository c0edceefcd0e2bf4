create function kinds.rules_of(kind text, tenant_id uuid)
returns jsonb
language sql
stable
parallel safe
security definer
set search_path = ''
return (
  select k.rules from public.memory_kinds k
  where k.kind = rules_of.kind and (
    k.tenant_id is null or k.tenant_id = identity.current_tenant_id()
    or k.tenant_id = rules_of.tenant_id and identity.current_role_name() in ('l9_owner', 'l9_worker')));

comment on function kinds.rules_of(text, uuid) is
  'The rules of a kind in the caller''s tenant, for jobs and the owner in the named one; null if the kind is free. Definer: the trigger needs them once for each row, without the cost of policies.';

grant execute on function kinds.rules_of(text, uuid) to l9_agent, l9_admin, l9_worker;
