create table public.memory_signals (
  packet_id uuid primary key references public.packet_store on delete cascade,
  tenant_id uuid not null references public.tenants,
  last_accessed timestamptz,
  access_count bigint not null default 0,
  use_weight double precision not null default 0,
  useful double precision not null default 0,
  useless double precision not null default 0,
  contradiction_count integer not null default 0,
  constraint signals_not_negative check (
    access_count >= 0 and use_weight >= 0 and useful >= 0 and useless >= 0 and contradiction_count >= 0)
) with (
  -- Every row of a page may change in one go, and each then fits beside its former self. No index but the key: each of these
  -- updates is HOT.
  fillfactor = 45
);

comment on table public.memory_signals is
  'What is known of how memories are used: one narrow row for each that ever was, kept by a job. What a memory is worth is not stored but made of this, of what its writer thought and of its age, by importance().';
comment on column public.memory_signals.packet_id is 'The memory.';
comment on column public.memory_signals.tenant_id is 'As of the memory.';
comment on column public.memory_signals.last_accessed is 'When it was last found or read.';
comment on column public.memory_signals.access_count is 'How often it was found or read.';
comment on column public.memory_signals.use_weight is
  'Its use as of last_accessed, each halved in 30 days: 1 for having been read whole, 0.1 for having been among the hits.';
comment on column public.memory_signals.useful is 'How far agents found it useful: the sum of what each thinks, each below 1.';
comment on column public.memory_signals.useless is 'How far agents found it useless: the sum of what each thinks, each below 1.';
comment on column public.memory_signals.contradiction_count is 'How many facts from other memories contradict it.';

alter table public.memory_signals enable row level security;
alter table public.memory_signals force row level security;

create policy tenant_isolation on public.memory_signals as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.memory_signals for select to l9_agent, l9_admin
  using (exists (select from public.packet_store p where p.packet_id = memory_signals.packet_id));
create policy platform_override on public.memory_signals for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('memory_signals')));
create policy worker_access on public.memory_signals to l9_worker using (true);

comment on policy tenant_isolation on public.memory_signals is 'Nothing crosses tenants.';
comment on policy scope_access on public.memory_signals is 'Of memories that the caller may read: under its own policies, so that it follows them wherever they move.';
comment on policy platform_override on public.memory_signals is 'Operators read across tenants, each look on the record.';
comment on policy worker_access on public.memory_signals is 'The job that rolls up the access log keeps them.';

grant select on public.memory_signals to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, tenant_id, last_accessed, access_count, use_weight, useful, useless, contradiction_count)
  on public.memory_signals to l9_worker;
grant update (last_accessed, access_count, use_weight, useful, useless, contradiction_count) on public.memory_signals to l9_worker;
grant maintain on public.memory_signals to l9_worker;
-- Callers write none: what matters is not for one of them to say.

create function importance.importance_of(memory public.packet_store, signals public.memory_signals, at timestamptz)
returns real
language sql
immutable
parallel safe
return importance.importance(
  (memory).importance_score,
  (memory).packet_type,
  coalesce((signals).useful, 0),
  coalesce((signals).useless, 0),
  -- What a memory brought along from another store counts as so many hits.
  importance.decayed(coalesce((signals).use_weight, 0), (signals).last_accessed, at)
    + importance.decayed(0.1 * (memory).access_count, (memory).last_accessed, at),
  (memory).contradiction_count + coalesce((signals).contradiction_count, 0),
  greatest(extract(epoch from at - (memory)."timestamp")::double precision / 86400, 0))::real;

comment on function importance.importance_of(public.packet_store, public.memory_signals, timestamptz) is
  'importance() of a memory at a time, by what is known of its use; null signals: it was never used. Pure.';

grant execute on function importance.importance_of(public.packet_store, public.memory_signals, timestamptz)
  to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create function public.packet_store_importance_score(memory public.packet_store)
returns real
language sql
stable
parallel safe
set search_path = ''
return importance.importance_of(
  memory, (select s from public.memory_signals s where s.packet_id = (memory).packet_id), pg_catalog.now());

create function public.packet_store_access_count(memory public.packet_store)
returns bigint
language sql
stable
parallel safe
set search_path = ''
return (memory).access_count
  + coalesce((select s.access_count from public.memory_signals s where s.packet_id = (memory).packet_id), 0);

create function public.packet_store_last_accessed(memory public.packet_store)
returns timestamptz
language sql
stable
parallel safe
set search_path = ''
return greatest(
  (memory).last_accessed, (select s.last_accessed from public.memory_signals s where s.packet_id = (memory).packet_id));

create function public.packet_store_contradiction_count(memory public.packet_store)
returns integer
language sql
stable
parallel safe
set search_path = ''
return (memory).contradiction_count
  + coalesce((select s.contradiction_count from public.memory_signals s where s.packet_id = (memory).packet_id), 0);

comment on function public.packet_store_importance_score(public.packet_store) is
  'How much it matters, from 0 to 1: learned from the writer''s estimate, its kind, feedback, use, contradictions and age.';
comment on function public.packet_store_access_count(public.packet_store) is 'How often it was found or read, up to the last roll-up of the access log.';
comment on function public.packet_store_last_accessed(public.packet_store) is 'When it was last found or read.';
comment on function public.packet_store_contradiction_count(public.packet_store) is 'How many facts from other memories contradict it.';

grant execute on function
  public.packet_store_importance_score(public.packet_store), public.packet_store_access_count(public.packet_store),
  public.packet_store_last_accessed(public.packet_store), public.packet_store_contradiction_count(public.packet_store)
to l9_agent, l9_admin, l9_platform_admin;
