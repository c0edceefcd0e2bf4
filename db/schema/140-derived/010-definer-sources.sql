-- Functions of the owner derive rows from memories of other writers: they see, and lock, the memories that the caller sees.
do $$
begin
  execute format($sql$
    create policy definer_sources on public.packet_store for select to l9_owner
    using (withheld_creator is null and (
      (ttl is null or ttl > now())
        and ((select identity.current_role_name()) = 'l9_worker' or (select derived.is_deleting_memories()))
      or (select identity.current_role_name()) in ('l9_agent', 'l9_admin') and %s and (ttl is null or ttl > now())))$sql$,
    identity.definer_condition());
end $$;
create policy definer_source_locks on public.packet_store for update to l9_owner
  using (
    (select identity.current_role_name()) = 'l9_worker'
    or (select identity.current_role_name()) in ('l9_agent', 'l9_admin')
      and tenant_id = (select identity.current_tenant_id()))
  with check (false);

create policy definer_claims on public.packet_store for update to l9_owner
  using ((select identity.current_role_name()) = 'l9_admin' and tenant_id = (select identity.current_tenant_id()))
  with check ((select identity.current_role_name()) = 'l9_admin' and text_creator = (select identity.current_creator()));
comment on policy definer_claims on public.packet_store is 'Functions of the owner stamp an administrator on a memory from which '
  'that one states something. They can change nothing else: the trigger that stamps puts the caller there only.';
comment on policy definer_sources on public.packet_store is 'Functions of the owner see the memories that the caller sees, to '
  'derive rows from them; for jobs, and while memories are deleted that rest on others, all memories that have not expired. '
  'Nothing is derived from what is pending or rejected.';
comment on policy definer_source_locks on public.packet_store is 'Functions of the owner lock a memory that the caller sees '
  'while they derive from it. They can''t change any.';

create function derived.is_source(memory public.packet_store) returns boolean language sql stable set search_path = ''
-- Other policies show the owner more: expired memories for cleanup, and a whole tenant for erasure.
return case
  when (memory).withheld_creator is not null then false
  when identity.current_role_name() = 'l9_worker' then (memory).ttl is null or (memory).ttl > pg_catalog.now()
  when identity.current_role_name() in ('l9_agent', 'l9_admin') then
    ((memory).ttl is null or (memory).ttl > pg_catalog.now())
    and identity.may_read(identity.current_identity(),
      (memory).tenant_id, (memory).org_id, (memory).user_id, (memory).project_id, (memory).scope)
  else true
end;
comment on function derived.is_source is 'True if the caller may derive from a memory, as policy definer_sources says for the '
  'owner. Always true for migrations, which import.';
