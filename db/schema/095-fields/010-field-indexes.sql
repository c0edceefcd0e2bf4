-- Which fields of envelopes a tenant has indexed. register_field_index() and drop_field_index() write the rows; a
-- trigger of packet_store and searches read them.

create function fields.max_indexes() returns integer language sql immutable parallel safe return 20;
comment on function fields.max_indexes is 'Most fields that a tenant may index. Each adds rows to every save that has it.';

create table public.field_indexes (
  tenant_id uuid not null references public.tenants,
  field text not null,
  created_by text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, field),
  constraint field_index_names_a_field check (packets.field_path(field) is not null)
);
comment on table public.field_indexes is
  'Fields of envelopes that a tenant has indexed. register_field_index() and drop_field_index() write it.';
comment on column public.field_indexes.tenant_id is 'The tenant.';
comment on column public.field_indexes.field is 'The field, such as status or owner.name.';
comment on column public.field_indexes.created_by is 'The administrator that registered the index.';
comment on column public.field_indexes.created_at is 'When the index was registered.';

alter table public.field_indexes enable row level security, force row level security;

create policy tenant_isolation on public.field_indexes as restrictive to l9_agent, l9_admin, l9_platform_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.field_indexes for select to l9_agent, l9_admin using (true);
create policy platform_override on public.field_indexes for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('field_indexes')));
create policy definer_functions on public.field_indexes to l9_owner using (true);

comment on policy tenant_isolation on public.field_indexes is 'A search uses the indexes of its caller''s tenant.';
comment on policy scope_access on public.field_indexes is 'Every caller in the tenant may read which fields are indexed.';
comment on policy platform_override on public.field_indexes is
  'Operators read the indexes of their own tenant, and each read is audited.';
comment on policy definer_functions on public.field_indexes is
  'register_field_index() and drop_field_index() write the table, and the trigger of memories reads it.';
grant select on public.field_indexes to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: the functions check the caller and write the values and the audit row.
