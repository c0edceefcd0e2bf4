-- Recomputes the cache identity.active_actors. Triggers of tenants, scopes, actors and tenant_moves do so in the transaction
-- that changes them.
create function identity.refresh_active_actors(tenant_id uuid) returns void language plpgsql volatile set search_path = '' as $$
begin
  -- The lock serialises changes of one tenant, so that the second transaction sees the changes of the first: each statement
  -- after this one takes a new snapshot.
  perform pg_advisory_xact_lock(hashtextextended('identity.active_actors ' || refresh_active_actors.tenant_id, 0));
  delete from identity.active_actors cached where cached.tenant_id = refresh_active_actors.tenant_id;
  insert into identity.active_actors
    (tenant_id, caller, creator, source, agent, role, can_clean_up, readable_scopes, writable_scopes, registered_by,
    move_state)
  select a.tenant_id, a.caller, a.creator, a.source, a.agent, a.role, a.can_clean_up,
    coalesce(array_agg(s.scope order by s.scope)
      filter (where '*' = any (a.readable_scopes) or s.scope = any (a.readable_scopes)), '{}'),
    coalesce(array_agg(s.scope order by s.scope)
      filter (where '*' = any (a.writable_scopes) or s.scope = any (a.writable_scopes)), '{}'),
    a.registered_by, m.state
  from public.actors a
  join public.tenants t on t.tenant_id = a.tenant_id and t.is_active
  left join identity.tenant_moves m on m.tenant_id = a.tenant_id and m.state <> 'arrived'
  left join public.scopes s on s.tenant_id = a.tenant_id and s.is_active
  where a.tenant_id = refresh_active_actors.tenant_id and a.is_active
    and (a.registered_by is null or exists (
      select from public.actors p where p.tenant_id = a.tenant_id and p.caller = a.registered_by and p.is_active))
  group by a.tenant_id, a.caller, m.state;
end $$;
comment on function identity.refresh_active_actors is 'Recomputes the rows of a tenant in active_actors.';

create function identity.tg__refresh_active_actors() returns trigger language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'TRUNCATE' then
    -- Truncating one of these tables also truncates the tables that reference it, so no active actor remains.
    delete from identity.active_actors;
    return null;
  end if;
  if tg_op <> 'INSERT' then
    perform identity.refresh_active_actors(old.tenant_id);
  end if;
  if tg_op = 'INSERT' or tg_op = 'UPDATE' and new.tenant_id <> old.tenant_id then
    perform identity.refresh_active_actors(new.tenant_id);
  end if;
  return null;
end $$;
comment on function identity.tg__refresh_active_actors is 'Keeps active_actors equal to what actors, scopes, tenants and '
  'tenant_moves say. Definer: the roles that change these tables cannot write active_actors.';
