create table public.memory_tombstones (
  packet_id uuid primary key,
  erasure_id uuid not null,
  tenant_id uuid not null,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  packet_type text not null,
  creator text not null,
  reason text not null,
  erased_by text not null,
  erased_at timestamptz not null default now(),
  -- No content, tags or metadata, and no hash of the content either: it would confirm a guess.
  constraint tombstone_reason_short check (octet_length(reason) <= 200)
);

create index memory_tombstones_erasure_idx on public.memory_tombstones (erasure_id);
create index memory_tombstones_tenant_idx on public.memory_tombstones (tenant_id, erased_at);

comment on table public.memory_tombstones is
  'Memories that were erased: that each was there, whose it was, and who erased it. Nothing of what it said.';
comment on column public.memory_tombstones.packet_id is 'The id that the memory had; the audit log has it too.';
comment on column public.memory_tombstones.erasure_id is 'The erasure: one for all that was erased in one go. UUID version 7.';
comment on column public.memory_tombstones.tenant_id is 'The tenant that owned it.';
comment on column public.memory_tombstones.org_id is 'The org that owned it, if one did.';
comment on column public.memory_tombstones.user_id is 'The user who owned it, if one did.';
comment on column public.memory_tombstones.project_id is 'The project it was in.';
comment on column public.memory_tombstones.scope is 'The scope it was in.';
comment on column public.memory_tombstones.packet_type is 'The kind of memory it was.';
comment on column public.memory_tombstones.creator is 'Who had written it last.';
comment on column public.memory_tombstones.reason is 'Why, in the words of whoever erased it: 200 bytes at most.';
comment on column public.memory_tombstones.erased_by is 'The caller that erased it.';
comment on column public.memory_tombstones.erased_at is 'When.';

call identity.protect_like_memories('public.memory_tombstones', noun => 'erased memory', expires => false);
alter policy scope_access on public.memory_tombstones using (false);
comment on policy scope_access on public.memory_tombstones is 'Agents see no tombstones: to them an erased memory does not exist.';

create policy definer_functions on public.memory_tombstones for select to l9_owner
  using (tenant_id = any ((select forgetting.administered_tenants())::uuid[]));
create policy definer_tombstones on public.memory_tombstones for insert to l9_owner
  with check (tenant_id = any ((select forgetting.administered_tenants())::uuid[]));

comment on policy definer_functions on public.memory_tombstones is 'Erasure goes by what it has marked, in tenants that the caller administers.';
comment on policy definer_tombstones on public.memory_tombstones is 'Erasure marks memories of tenants that the caller administers; nobody changes or removes a mark.';

grant select on public.memory_tombstones to l9_admin, l9_platform_admin;
-- Nothing for l9_agent, and no insert, update or delete for anyone.

create policy definer_erasure on public.packet_store to l9_owner
  using (tenant_id = any ((select forgetting.administered_tenants())::uuid[])) with check (false);
comment on policy definer_erasure on public.packet_store is
  'Erasure finds and deletes any memory, also an expired one, of a tenant that the caller administers; it changes none.';
