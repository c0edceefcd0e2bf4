-- A cache of each actor's effective scopes. Every statement reads it, usually several times, and computing the scopes from
-- three tables took four times as long as reading one row by its key.
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
  registered_by text,
  move_state text,
  primary key (tenant_id, caller)
);
comment on table identity.active_actors is 'Cache of the active actors with the scopes that they can use now. Triggers of '
  'actors, scopes, tenants and tenant_moves recompute it in the same transaction; nothing else writes it. move_state: that of '
  'tenant_moves; null: the tenant is served.';

alter table identity.active_actors enable row level security, force row level security;

create policy tenant_isolation on identity.active_actors as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on identity.active_actors for select to l9_agent, l9_admin
  using (caller = (select identity.current_caller()));
create policy definer_functions on identity.active_actors to l9_owner using (true);
comment on policy tenant_isolation on identity.active_actors is 'The same rule as on actors. Callers have no grant on this '
  'table.';
comment on policy scope_access on identity.active_actors is 'The same rule as on actors. Callers have no grant on this table.';
comment on policy definer_functions on identity.active_actors is 'current_identity() reads the row that limits the claims; '
  'triggers of actors, scopes and tenants write it.';

-- No role has a grant on this table.
