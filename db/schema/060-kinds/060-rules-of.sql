-- The rules of a kind, for triggers and for functions that save; and the built-in kinds, for the tools that the gateway lists.
create function kinds.rules_of(kind text, tenant_id uuid) returns jsonb
language sql stable parallel safe security definer set search_path = ''
return (
  select k.rules from public.memory_kinds k
  where k.kind = rules_of.kind and (
    k.tenant_id is null or k.tenant_id = identity.current_tenant_id()
    or k.tenant_id = rules_of.tenant_id and identity.current_role_name() in ('l9_owner', 'l9_worker')));
comment on function kinds.rules_of is 'The rules of a kind in the caller''s tenant, for jobs and the owner in the named one; '
  'null if the kind is free. Definer: the trigger needs them once for each row, without the cost of policies.';
grant execute on function kinds.rules_of to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create function kinds.built_in() returns table (kind text, purpose text, rules jsonb)
language sql stable security definer set search_path = ''
begin atomic
  select k.kind, k.purpose, k.rules from public.memory_kinds k where k.tenant_id is null order by k.created_at, k.kind;
end;
comment on function kinds.built_in is 'The built-in kinds, for the list of tools. Definer: jobs can''t read memory_kinds.';
grant execute on function kinds.built_in to l9_worker;
