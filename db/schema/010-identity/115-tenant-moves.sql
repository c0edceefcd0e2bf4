-- The tenants that move between databases, which a database does not serve until they have arrived. `l9-memory tenant move`,
-- which a superuser runs, writes it. refresh_active_actors() copies the state to active_actors, where current_identity()
-- finds it.
create table identity.tenant_moves (
  tenant_id uuid primary key references public.tenants on delete cascade,
  state text not null,
  move_id uuid not null,
  arrival_id uuid,
  cell text,
  changed_at timestamptz not null default clock_timestamp(),
  constraint tenant_move_state_known check (state in ('stopped', 'arriving', 'arrived', 'moved'))
);
call identity.describe('identity.tenant_moves', 'Tenants that move to another database, or came from one. A tenant without a row
    is served, and so is one that has arrived.
  state: stopped: its rows are being copied from here for the last time. arriving: they are here, but the other database still
    owns the tenant. arrived: this database owns it. moved: the other database owns it.
  move_id: The last move, by which both databases know that they speak of the same one.
  arrival_id: The move that brought the tenant here; null if it was created or imported here.
  cell: Name of the database that it moved to, as the directory of the proxy has it, if one was given.
  changed_at: When the state was reached.');

create trigger _600_active_actors after insert or update or delete on identity.tenant_moves
  for each row execute function identity.tg__refresh_active_actors();

alter table identity.tenant_moves enable row level security, force row level security;

create policy tenant_isolation on identity.tenant_moves as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on identity.tenant_moves for select to l9_agent, l9_admin using (true);
create policy definer_functions on identity.tenant_moves for select to l9_owner using (true);
comment on policy tenant_isolation on identity.tenant_moves is 'The same rule as on tenants. Callers have no grant on this '
  'table.';
comment on policy scope_access on identity.tenant_moves is 'The same rule as on tenants. Callers have no grant on this table.';
comment on policy definer_functions on identity.tenant_moves is 'refresh_active_actors() and tg__refuse_moving() read it.';
-- No role has a grant: only a superuser moves a tenant.

create function identity.refuse_moving(state text) returns boolean
language plpgsql stable parallel safe set search_path = '' as $$
begin
  perform identity.raise_error('L9BSY', case state
    when 'moved' then 'this tenant has moved to another database: connect to its address again'
    else 'this tenant is being moved to another database: try again in a few seconds' end, '');
  return false;
end $$;
comment on function identity.refuse_moving is 'Raises L9BSY for a caller of a tenant in this state of a move.';
