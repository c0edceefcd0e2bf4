-- The idempotency keys of callers, each with the answer that it had. save_memory() and memory_store() call
-- answer_of_key() and remember_answer().
create table public.idempotency_keys (
  tenant_id uuid not null references public.tenants,
  caller text not null,
  acting_org_id uuid,
  acting_user_id uuid,
  idempotency_key text not null,
  request_hash bytea not null,
  packet_id uuid references public.packet_store on delete cascade,
  status text,
  created_at timestamptz not null default now(),
  constraint idempotency_key_unique unique nulls not distinct (tenant_id, caller, acting_org_id, acting_user_id, idempotency_key),
  constraint idempotency_key_short check (octet_length(idempotency_key) between 1 and 200)
);

create index idempotency_keys_packet_idx on public.idempotency_keys (packet_id);
-- A key may contain text about its memory and is deleted with it, so the planner keeps no samples of it.
alter table public.idempotency_keys alter column idempotency_key set statistics 0;
alter table public.idempotency_keys alter column request_hash set statistics 0;
call identity.describe('public.idempotency_keys', 'The first answer given for each idempotency key of a caller, its org and its
    user, so that a retried save returns it again.
  tenant_id: The tenant of the caller.
  caller: The caller that used the key.
  acting_org_id: The org of the caller, or null. Each org has keys of its own.
  acting_user_id: The user that the caller acted for, or null. Each user has keys of its own.
  idempotency_key: The key, 1 to 200 bytes.
  request_hash: SHA-256 of the arguments of the save, so that a key that is used again for another save is refused.
  created_at: When the key was first used.
  packet_id: The memory of the first answer; the key is deleted with it.
  status: The status first answered: inserted, updated or skipped_dedupe.');

alter table public.idempotency_keys enable row level security, force row level security;

create policy tenant_isolation on public.idempotency_keys as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.idempotency_keys to l9_agent, l9_admin
  using (
    caller = (select identity.current_caller())
    and acting_org_id is not distinct from (select identity.current_org_id())
    and acting_user_id is not distinct from (select identity.current_user_id()))
  -- A foreign key check sees every row. Without this condition its result would reveal whether a hidden memory has the id.
  with check (
    caller = (select identity.current_caller())
    and acting_org_id is not distinct from (select identity.current_org_id())
    and acting_user_id is not distinct from (select identity.current_user_id())
    and (packet_id is null or exists (select from public.packet_store p where p.packet_id = idempotency_keys.packet_id)));

comment on policy tenant_isolation on public.idempotency_keys is 'Callers see keys of their own tenant only.';
comment on policy scope_access on public.idempotency_keys is 'A key is visible only to the caller that used it, acting for the '
  'same org and user, and may refer only to a memory that this caller may read.';

create policy definer_functions on public.idempotency_keys for select to l9_owner using (true);
comment on policy definer_functions on public.idempotency_keys is 'A scan for secrets reads the keys of all callers of a tenant.';

-- A retry must find the key that was sent, so it is refused rather than redacted.
call secrets.guard_table('public.idempotency_keys', redacts => false);

grant select, insert (tenant_id, caller, acting_org_id, acting_user_id, idempotency_key, request_hash), update (packet_id, status,
  request_hash) on public.idempotency_keys to l9_agent, l9_admin;
-- Nobody may delete: a key is deleted with its memory.

-- The insert reserves the key. If another save has the key, it waits for that one and reads its answer.
create function memories.answer_of_key(idempotency_key text, request_hash bytea) returns public.save_result
language plpgsql volatile set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  first_request bytea;
  answer public.save_result;
begin
  if octet_length(answer_of_key.idempotency_key) not between 1 and 200 then
    perform identity.raise_error('L9LIM', 'idempotency_key: 1 to 200 bytes');
  end if;
  -- A concurrent save with the same key is waited for here; its answer is then found below.
  insert into public.idempotency_keys (tenant_id, caller, acting_org_id, acting_user_id, idempotency_key, request_hash)
  values (me.tenant_id, me.caller, me.org_id, me.user_id, answer_of_key.idempotency_key, answer_of_key.request_hash)
  on conflict do nothing;
  if not found then
    select k.request_hash, k.status, p into first_request, answer.status, answer.memory
    from public.idempotency_keys k
    join public.packet_store p on p.packet_id = k.packet_id
    where k.tenant_id = me.tenant_id and k.caller = me.caller and k.acting_org_id is not distinct from me.org_id
      and k.acting_user_id is not distinct from me.user_id and k.idempotency_key = answer_of_key.idempotency_key;
    -- If the caller can no longer see the key's memory, that must look as if it were deleted: then nothing is compared.
    if first_request <> answer_of_key.request_hash then
      perform identity.raise_error('L9VAL',
        'idempotency_key: was used before, for a save with other arguments; a retry repeats all arguments, another save '
        'needs another key');
    end if;
  end if;
  return answer;
end $$;
comment on function memories.answer_of_key is 'Reserves an idempotency key of the caller, and returns the answer that it had for '
  'the same request. The status is null if the memory is still to be saved. Errors: L9LIM, L9VAL if the key was used for another '
  'request.';

create function memories.remember_answer(idempotency_key text, request_hash bytea, answer public.save_result) returns void
language sql volatile set search_path = ''
begin atomic
  update public.idempotency_keys k
  set packet_id = ((remember_answer.answer).memory).packet_id, status = (remember_answer.answer).status,
    request_hash = remember_answer.request_hash
  from identity.require_identity() me
  where k.tenant_id = me.tenant_id and k.caller = me.caller and k.acting_org_id is not distinct from me.org_id
    and k.acting_user_id is not distinct from me.user_id and k.idempotency_key = remember_answer.idempotency_key;
end;
comment on function memories.remember_answer is 'Keeps the answer of a save under its reserved idempotency key.';
grant execute on function memories.answer_of_key, memories.remember_answer to l9_agent, l9_admin;
