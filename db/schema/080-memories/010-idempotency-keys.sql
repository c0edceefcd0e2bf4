create table public.idempotency_keys (
  tenant_id uuid not null references public.tenants,
  caller text not null,
  idempotency_key text not null,
  packet_id uuid references public.packet_store on delete cascade,
  status text,
  created_at timestamptz not null default now(),
  primary key (tenant_id, caller, idempotency_key),
  constraint idempotency_key_short check (octet_length(idempotency_key) between 1 and 200)
);

create index idempotency_keys_packet_idx on public.idempotency_keys (packet_id);
-- A key may contain text about its memory and is deleted with it, so the planner keeps no samples of it.
alter table public.idempotency_keys alter column idempotency_key set statistics 0;

comment on table public.idempotency_keys is
  'The first answer given for each idempotency key of a caller, so that a retried save returns it again.';
comment on column public.idempotency_keys.tenant_id is 'The tenant of the caller.';
comment on column public.idempotency_keys.caller is 'The caller that used the key.';
comment on column public.idempotency_keys.idempotency_key is 'The key, 1 to 200 bytes.';
comment on column public.idempotency_keys.created_at is 'When the key was first used.';
comment on column public.idempotency_keys.packet_id is 'The memory of the first answer; the key is deleted with it.';
comment on column public.idempotency_keys.status is 'The status first answered: inserted, updated or skipped_dedupe.';

alter table public.idempotency_keys enable row level security;
alter table public.idempotency_keys force row level security;

create policy tenant_isolation on public.idempotency_keys as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.idempotency_keys to l9_agent, l9_admin
  using (caller = (select identity.current_caller()))
  -- A foreign key check sees every row. Without this condition its result would reveal whether a hidden memory has the
  -- id.
  with check (
    caller = (select identity.current_caller())
    and (packet_id is null or exists (select from public.packet_store p where p.packet_id = idempotency_keys.packet_id)));

comment on policy tenant_isolation on public.idempotency_keys is 'Callers see keys of their own tenant only.';
comment on policy scope_access on public.idempotency_keys is
  'A key is visible only to the caller that used it, and may refer only to a memory that this caller may read.';

grant select, insert (tenant_id, caller, idempotency_key), update (packet_id, status) on public.idempotency_keys to l9_agent, l9_admin;
-- Nobody may delete: a key is deleted with its memory.
