-- What stays of an erased memory: that it existed, whose it was and who erased it. mark_erased() writes it;
-- administrators read it over GraphQL.
create function forgetting.max_reason_bytes() returns integer language sql immutable parallel safe return 200;
comment on function forgetting.max_reason_bytes is 'The maximum length of the reason of an erasure, in bytes.';

create table public.memory_tombstones (
  packet_id uuid primary key,
  erasure_id uuid not null,
  tenant_id uuid not null, org_id uuid, user_id uuid, project_id text, scope text not null,
  packet_type text not null,
  creator text not null,
  reason text not null,
  erased_by text not null,
  erased_at timestamptz not null default now(),
  -- There are no columns for content, tags or metadata, and none for a hash of the content, which would confirm a guess.
  constraint tombstone_reason_short check (octet_length(reason) <= forgetting.max_reason_bytes())
);
-- An admin who erases a secret may quote it as the reason.
alter table public.memory_tombstones alter column reason set statistics 0;
create index memory_tombstones_erasure_idx on public.memory_tombstones (erasure_id);
create index memory_tombstones_tenant_idx on public.memory_tombstones (tenant_id, erased_at);
call identity.describe('public.memory_tombstones', 'Erased memories: that they existed, who owned them and who erased them. A
    tombstone holds nothing of the content.
  packet_id: The id that the memory had. The audit log has it too.
  erasure_id: The erasure: all memories erased by one call have the same. UUID version 7.
  tenant_id: The tenant that owned the memory.
  org_id: The org that owned the memory, or null.
  user_id: The user who owned the memory, or null.
  project_id: The project of the memory, or null.
  scope: The scope of the memory.
  packet_type: The kind of the memory.
  creator: The creator that wrote the memory last.
  reason: The reason for the erasure as its caller gave it, without secrets: at most 200 bytes.
  erased_by: The caller that erased the memory.
  erased_at: The time of the erasure.');

call identity.protect_like_memories('public.memory_tombstones', noun => 'erased memory', expires => false);
alter policy scope_access on public.memory_tombstones using (false);
comment on policy scope_access on public.memory_tombstones is 'Agents see no tombstones: to them an erased memory does not '
  'exist.';
create policy definer_functions on public.memory_tombstones for select to l9_owner
  using (tenant_id = any ((select forgetting.administered_tenants())::uuid[]));
create policy definer_tombstones on public.memory_tombstones for insert to l9_owner
  with check (tenant_id = any ((select forgetting.administered_tenants())::uuid[]));
comment on policy definer_functions on public.memory_tombstones is 'Erasure reads the tombstones that it has written, in tenants '
  'that the caller administers.';
comment on policy definer_tombstones on public.memory_tombstones is 'Erasure inserts tombstones of memories in tenants that the '
  'caller administers. Nobody updates or deletes a tombstone.';
grant select on public.memory_tombstones to l9_admin, l9_platform_admin;
-- Deliberately no grant to l9_agent, and no insert, update or delete for anyone.

create function forgetting.tg_memory_tombstones__redact() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  -- An erasure must not fail because of its reason, whatever the tenant does with secrets.
  if secrets.needs_look(new.reason, secrets.own_test(new.tenant_id), false) then
    new.reason := (secrets.redact_text(new.reason, new.tenant_id, secrets.severities_for(new.tenant_id, false))).redacted;
    if octet_length(new.reason) > forgetting.max_reason_bytes() then
      -- A character has at most 4 bytes.
      new.reason := left(new.reason, forgetting.max_reason_bytes() / 4);
    end if;
  end if;
  return new;
end $$;
comment on function forgetting.tg_memory_tombstones__redact is 'Replaces secrets in the reason of an erasure before it is kept. '
  'Definer: reads the settings of the row''s tenant.';

create trigger _100_redact before insert on public.memory_tombstones
  for each row execute function forgetting.tg_memory_tombstones__redact();
create policy definer_erasure on public.packet_store to l9_owner
  using (tenant_id = any ((select forgetting.administered_tenants())::uuid[])) with check (false);
comment on policy definer_erasure on public.packet_store is 'Erasure reads and deletes every memory, also an expired one, of '
  'tenants that the caller administers. It updates none.';
