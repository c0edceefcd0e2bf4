-- Functions of the owner make rows of memories that are not their own: they see the caller's, and lock them.

do $$
begin
  execute format($sql$
    create policy definer_sources on public.packet_store for select to l9_owner
    using (
      (ttl is null or ttl > now()) and (select identity.current_role_name()) = 'l9_worker'
      or (select identity.current_role_name()) in ('l9_agent', 'l9_admin') and %s and (ttl is null or ttl > now()))$sql$,
    identity.definer_condition());
end
$$;
create policy definer_source_locks on public.packet_store for update to l9_owner
  using (
    (select identity.current_role_name()) = 'l9_worker'
    or (select identity.current_role_name()) in ('l9_agent', 'l9_admin')
      and tenant_id = (select identity.current_tenant_id()))
  with check (false);

comment on policy definer_sources on public.packet_store is
  'Functions of the owner see the memories that the caller sees, to derive rows from them; for jobs, all that have not expired.';
comment on policy definer_source_locks on public.packet_store is
  'Functions of the owner lock a memory that the caller sees while they derive from it; they change nothing.';

create function derived.is_source(memory public.packet_store)
returns boolean
language sql
stable
set search_path = ''
-- Other policies show the owner more: what has expired, for cleanup, and all of a tenant, for erasure.
return case
  when identity.current_role_name() = 'l9_worker' then (memory).ttl is null or (memory).ttl > pg_catalog.now()
  when identity.current_role_name() in ('l9_agent', 'l9_admin') then
    ((memory).ttl is null or (memory).ttl > pg_catalog.now())
    and identity.may_read(identity.current_identity(),
      (memory).tenant_id, (memory).org_id, (memory).user_id, (memory).project_id, (memory).scope)
  else true
end;

comment on function derived.is_source(public.packet_store) is
  'Whether the caller sees a memory, and may derive from it: the condition of policy definer_sources. Functions of the owner ask it of each memory that is named to them. For migrations that move old memories in: always. Not executable by callers.';
