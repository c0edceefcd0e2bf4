-- Deletes expired memories: the operation delete_expired_memories within the reach of its caller, and
-- delete_expired_batch() for a job of the gateway in all tenants.
create function memories.delete_expired(
  max_rows integer, me identity.identity default null) returns table (of_tenant uuid, deleted bigint)
language plpgsql volatile set search_path = '' as $$
begin
  if max_rows is null or max_rows not between 1 and 100000 then
    perform identity.raise_error('L9VAL', 'max_rows: must be from 1 to 100000');
  end if;
  return query
  with expired as (
    select p.packet_id from public.packet_store p
    where p.ttl <= now()
      and ((me).caller is null
        or p.tenant_id = (me).tenant_id and identity.may_write(me, p.project_id, p.scope)
          -- Agents clean up the memories of their org and user, admins those of the whole tenant.
          and ((me).role = 'l9_admin' or (
            (p.org_id is null or p.org_id = (me).org_id) and (p.user_id is null or p.user_id = (me).user_id))))
    order by p.ttl limit max_rows
    -- Rows locked by another cleanup or a job are skipped.
    for update skip locked
  ), removed as (
    delete from public.packet_store p using expired where p.packet_id = expired.packet_id returning p.tenant_id
  )
  select g.tenant_id, count(*) from removed g group by g.tenant_id;
end $$;
comment on function memories.delete_expired is 'Deletes expired memories, oldest first, within an identity''s reach or all; '
  'returns how many per tenant. Callers check who may.';

create function public.delete_expired_memories(max_rows integer default 10000) returns bigint
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  deleted bigint;
begin
  if not me.can_clean_up then
    perform identity.raise_error('L9SCP', 'delete_expired_memories: you are not allowed to clean up expired memories', '');
  end if;
  select coalesce(sum(d.deleted), 0) into deleted
  from memories.delete_expired(max_rows, me) d;
  perform audit.write_audit('CLEANUP', 'packet_store', details => jsonb_build_object('deleted', deleted, 'max_rows', max_rows));
  return deleted;
end $$;
comment on function public.delete_expired_memories is 'Deletes expired memories of the caller''s tenant, org, user (for an '
  'admin: the whole tenant), scopes and projects, the oldest first and at most max_rows (1 to 100000); returns how many. L9SCP '
  'unless the actor may clean up. Definer: expired memories are hidden from everyone.';

create function memories.delete_expired_batch(max_rows integer default 1000) returns table (tenant_id uuid, deleted bigint)
language plpgsql volatile security definer set search_path = '' as $$
begin
  for tenant_id, deleted in select g.of_tenant, g.deleted from memories.delete_expired(max_rows) g loop
    perform audit.write_audit_of_tenant(tenant_id, 'CLEANUP', 'packet_store',
      details => jsonb_build_object('deleted', deleted, 'max_rows', max_rows));
    return next;
  end loop;
end $$;
comment on function memories.delete_expired_batch is 'The scheduled cleanup: deletes expired memories of every tenant, the '
  'oldest first and at most max_rows (1 to 100000), audits them in each tenant and returns how many those were. Fewer than '
  'max_rows in all means that only rows locked by others are left. Definer: expired memories are hidden from everyone.';
grant execute on function public.delete_expired_memories to l9_agent, l9_admin;
grant execute on function memories.delete_expired_batch to l9_worker;
