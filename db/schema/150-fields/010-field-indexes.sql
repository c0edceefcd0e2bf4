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
call identity.describe('public.field_indexes', 'Fields of envelopes that a tenant has indexed. register_field_index() and
    drop_field_index() write it.
  tenant_id: The tenant.
  field: The field, such as status or owner.name.
  created_by: The administrator that registered the index.
  created_at: When the index was registered.');

call identity.protect_tenant_rows('public.field_indexes',
  readers => 'Every caller in the tenant may read which fields are indexed.',
  writers => 'register_field_index() and drop_field_index() write the table, and the trigger of memories reads it.');

grant select on public.field_indexes to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: the functions check the caller and write the values and the audit row.
