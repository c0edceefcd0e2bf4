-- What each actor's row is worth at present: every statement of every caller asks for it, most of them several times. Worked out
-- anew from three tables it took four times as long as one row read by its key.
create table identity.active_actors (
  tenant_id uuid not null references public.tenants on delete cascade,
  caller text not null,
  creator text not null,
  source text not null,
  agent text not null,
  role text not null,
  can_clean_up boolean not null,
  readable_scopes text[] not null,
  writable_scopes text[] not null,
  primary key (tenant_id, caller)
);

comment on table identity.active_actors is
  'Actors that may come in, with the scopes that their rows are worth at present. Made from actors, scopes and tenants by triggers of these, in the transaction that changes them; never written by hand.';

create function identity.refresh_active_actors(tenant_id uuid)
returns void
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
begin
  -- One at a time: of two that change a tenant at once, the second must see what the first did. Each statement after this
  -- one has a snapshot of its own.
  perform pg_advisory_xact_lock(hashtextextended('identity.active_actors ' || refresh_active_actors.tenant_id, 0));
  delete from identity.active_actors e where e.tenant_id = refresh_active_actors.tenant_id;
  insert into identity.active_actors
    (tenant_id, caller, creator, source, agent, role, can_clean_up, readable_scopes, writable_scopes)
  select a.tenant_id, a.caller, a.creator, a.source, a.agent, a.role, a.can_clean_up,
    coalesce(array_agg(s.scope order by s.scope)
      filter (where '*' = any (a.readable_scopes) or s.scope = any (a.readable_scopes)), '{}'),
    coalesce(array_agg(s.scope order by s.scope)
      filter (where '*' = any (a.writable_scopes) or s.scope = any (a.writable_scopes)), '{}')
  from public.actors a
  join public.tenants t on t.tenant_id = a.tenant_id and t.is_active
  left join public.scopes s on s.tenant_id = a.tenant_id and s.is_active
  where a.tenant_id = refresh_active_actors.tenant_id and a.is_active
  group by a.tenant_id, a.caller;
end
$$;

comment on function identity.refresh_active_actors(uuid) is
  'Makes the rows of a tenant anew. Not executable by callers.';

create function identity.tg__refresh_active_actors()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  if tg_op = 'TRUNCATE' then
    -- Of these tables none can be emptied without what rests on it.
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
end
$$;

comment on function identity.tg__refresh_active_actors() is
  'Keeps active_actors equal to what actors, scopes and tenants say. Definer: whoever changes these can''t write it.';

create trigger _600_active_actors after insert or update or delete on public.tenants
  for each row execute function identity.tg__refresh_active_actors();
create trigger _600_active_actors after insert or update or delete on public.scopes
  for each row execute function identity.tg__refresh_active_actors();
create trigger _600_active_actors after insert or update or delete on public.actors
  for each row execute function identity.tg__refresh_active_actors();
create trigger _610_active_actors after truncate on public.tenants
  for each statement execute function identity.tg__refresh_active_actors();
create trigger _610_active_actors after truncate on public.scopes
  for each statement execute function identity.tg__refresh_active_actors();
create trigger _610_active_actors after truncate on public.actors
  for each statement execute function identity.tg__refresh_active_actors();
