-- The scopes of each tenant, which decide who can read a memory. register_scope() and create_tenant() write them;
-- actors and memories name them.
create table public.scopes (
  tenant_id uuid not null references public.tenants,
  scope text not null,
  is_project_scoped boolean not null,
  description text not null default '',
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (tenant_id, scope),
  constraint scope_name_plain check (identity.is_identifier(scope)),
  constraint scope_description_short check (octet_length(description) <= 1000)
);
call identity.describe('public.scopes', 'Scopes decide who can see a memory; its author does not. The scopes developer, l-private
    and global are built in, and a tenant can add its own.
  tenant_id: Tenant that the scope belongs to.
  scope: Name: lower-case letters, digits, - and _.
  description: Purpose of the scope, in at most 1000 bytes.
  is_active: If false, no caller can read or write the scope until it is reactivated. Its memories are kept.
  created_at: When the scope was registered.
  is_project_scoped: True: each memory of this scope belongs to a project. False: its memories belong to no project, and their
    project_id is null.');

create trigger _600_active_actors after insert or update or delete on public.scopes
  for each row execute function identity.tg__refresh_active_actors();
create trigger _610_active_actors after truncate on public.scopes
  for each statement execute function identity.tg__refresh_active_actors();

alter table public.scopes enable row level security, force row level security;

create policy tenant_isolation on public.scopes as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.scopes for select to l9_agent, l9_admin
  using (scope = any ((select identity.current_scopes())::text[]));
create policy inactive_scopes on public.scopes for select to l9_admin
  using (not is_active and (select identity.has_every_scope()));
create policy platform_override on public.scopes for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('scopes')));
create policy definer_functions on public.scopes for select to l9_owner using (true);
create policy definer_inserts on public.scopes for insert to l9_owner with check (true);
create policy definer_updates on public.scopes for update to l9_owner using (true);
comment on policy tenant_isolation on public.scopes is 'A caller sees only the scopes of its tenant.';
comment on policy scope_access on public.scopes is 'A caller sees only the scopes that it can read; it does not learn that '
  'others exist.';
comment on policy inactive_scopes on public.scopes is 'An admin that has every scope also sees the inactive scopes, so that it '
  'can reactivate them.';
comment on policy platform_override on public.scopes is 'Operators see every scope; each read is audited.';
comment on policy definer_functions on public.scopes is 'current_identity() and the scope checks of triggers read scopes.';
comment on policy definer_inserts on public.scopes is 'register_scope() and create_tenant() insert.';
comment on policy definer_updates on public.scopes is 'register_scope(), deactivate_scope() and reactivate_scope() update. '
  'Nothing deletes a scope.';
grant select on public.scopes to l9_agent, l9_admin, l9_platform_admin;
-- No role can insert, update or delete: identity tables change through functions only.
