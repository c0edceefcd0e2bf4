create function memories.delete_expired(
  max_rows integer, me identity.identity default null)
returns table (of_tenant uuid, deleted bigint)
language plpgsql
volatile
set search_path = ''
as $$
begin
  if max_rows is null or max_rows not between 1 and 100000 then
    perform identity.raise_error('L9VAL', 'max_rows: from 1 to 100000', 'max_rows');
  end if;
  return query
  with doomed as (
    select p.packet_id from public.packet_store p
    where p.ttl <= now()
      and ((me).caller is null
        or p.tenant_id = (me).tenant_id and identity.may_write(me, p.project_id, p.scope)
          -- Agents see what belongs to their org and user, admins all of the tenant: so they clean up.
          and ((me).role = 'l9_admin' or (
            (p.org_id is null or p.org_id = (me).org_id) and (p.user_id is null or p.user_id = (me).user_id))))
    order by p.ttl
    limit max_rows
    -- What another cleanup is deleting, or a job holds, is left to it.
    for update skip locked
  ), gone as (
    delete from public.packet_store p using doomed where p.packet_id = doomed.packet_id returning p.tenant_id
  )
  select g.tenant_id, count(*) from gone g group by g.tenant_id;
end
$$;

comment on function memories.delete_expired(integer, identity.identity) is
  'Deletes what has expired, the oldest first, and says how many of which tenant: as far as this identity reaches; without one, of all. Not executable by callers: the two functions below say who may.';

create function public.delete_expired_memories(max_rows integer default 10000)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
  deleted bigint;
begin
  if not me.can_clean_up then
    perform identity.raise_error('L9SCP', 'delete_expired_memories: cleanup is not yours to do');
  end if;
  select coalesce(sum(gone.deleted), 0) into deleted
  from memories.delete_expired(max_rows, me) gone;
  perform audit.write_audit('CLEANUP', 'packet_store', details => jsonb_build_object('deleted', deleted, 'max_rows', max_rows));
  return deleted;
end
$$;

comment on function public.delete_expired_memories(integer) is
  'Deletes memories of the caller''s tenant, org, user (an admin''s: the whole tenant), scopes and projects whose ttl has passed, the oldest first, max_rows (1 to 100000) at most; returns how many. Only for actors that may clean up: else L9SCP. Definer: expired memories are hidden from everyone.';

create function memories.delete_expired_batch(max_rows integer default 1000)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
  gone record;
  deleted bigint := 0;
begin
  for gone in select g.of_tenant, g.deleted from memories.delete_expired(max_rows) g loop
    perform audit.write_audit_of_tenant(gone.of_tenant, 'CLEANUP', 'packet_store',
      details => jsonb_build_object('deleted', gone.deleted, 'max_rows', max_rows));
    deleted := deleted + gone.deleted;
  end loop;
  return deleted;
end
$$;

comment on function memories.delete_expired_batch(integer) is
  'The scheduled cleanup: deletes memories of every tenant whose ttl has passed, the oldest first, max_rows (1 to 100000) at most; returns how many, and puts them on each tenant''s record. Fewer than max_rows: nothing is left but what others hold. Definer: expired memories are hidden from everyone.';

grant execute on function public.delete_expired_memories(integer) to l9_agent, l9_admin;
grant execute on function memories.delete_expired_batch(integer) to l9_worker;
