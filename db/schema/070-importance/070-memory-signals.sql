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
  -- All rows of a page may change at once and still fit beside their old versions; with no index but the key each update
  -- is HOT.
  fillfactor = 45
);

comment on table public.memory_signals is
  'Usage statistics of memories: one narrow row for each memory that was ever used, kept up to date by a job. Importance is not stored; importance() computes it from these statistics, the writer''s estimate and the memory''s age.';
comment on column public.memory_signals.packet_id is 'The memory.';
comment on column public.memory_signals.tenant_id is 'The tenant of the memory.';
comment on column public.memory_signals.last_accessed is 'When the memory was last found or read.';
comment on column public.memory_signals.access_count is 'How often the memory was found or read.';
comment on column public.memory_signals.use_weight is
  'The memory''s use as of last_accessed, each use halved every 30 days: 1 for a read in full, 0.1 for a hit in a search.';
comment on column public.memory_signals.useful is 'How useful agents found the memory: the sum of their opinions, each below 1.';
comment on column public.memory_signals.useless is
  'How useless agents found the memory: the sum of their opinions, each below 1.';
comment on column public.memory_signals.contradiction_count is 'How many facts from other memories contradict this one.';

alter table public.memory_signals enable row level security;
alter table public.memory_signals force row level security;

create policy tenant_isolation on public.memory_signals as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.memory_signals for select to l9_agent, l9_admin
  using (exists (select from public.packet_store p where p.packet_id = memory_signals.packet_id));
create policy platform_override on public.memory_signals for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('memory_signals')));
create policy worker_access on public.memory_signals to l9_worker using (true);

comment on policy tenant_isolation on public.memory_signals is 'Nothing is shared between tenants.';
comment on policy scope_access on public.memory_signals is
  'Callers see the statistics of memories that they may read. The caller''s own policies are applied, so this holds when a memory moves.';
comment on policy platform_override on public.memory_signals is 'Operators read across tenants, and each read is audited.';
comment on policy worker_access on public.memory_signals is 'The job that rolls up the access log maintains the statistics.';

grant select on public.memory_signals to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, tenant_id, last_accessed, access_count, use_weight, useful, useless, contradiction_count)
  on public.memory_signals to l9_worker;
grant update (last_accessed, access_count, use_weight, useful, useless, contradiction_count) on public.memory_signals to l9_worker;
grant maintain on public.memory_signals to l9_worker;
-- Callers may not write: no single caller decides what matters.

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
  -- Use before the import counts as that many search hits.
  importance.decayed(coalesce((signals).use_weight, 0), (signals).last_accessed, at)
    + importance.decayed(0.1 * (memory).access_count, (memory).last_accessed, at),
  (memory).contradiction_count + coalesce((signals).contradiction_count, 0),
  greatest(extract(epoch from at - (memory)."timestamp")::double precision / 86400, 0))::real;

comment on function importance.importance_of(public.packet_store, public.memory_signals, timestamptz) is
  'The importance() of a memory at a time, given its usage statistics; null signals mean that it was never used. Pure.';

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
  'How much the memory matters, from 0 to 1: computed from the writer''s estimate, its kind, feedback, use, contradictions and age.';
comment on function public.packet_store_access_count(public.packet_store) is
  'How often the memory was found or read, up to the last roll-up of the access log.';
comment on function public.packet_store_last_accessed(public.packet_store) is
  'When the memory was last found or read, up to the last roll-up of the access log.';
comment on function public.packet_store_contradiction_count(public.packet_store) is
  'How many facts from other memories contradict this one.';

grant execute on function
  public.packet_store_importance_score(public.packet_store), public.packet_store_access_count(public.packet_store),
  public.packet_store_last_accessed(public.packet_store), public.packet_store_contradiction_count(public.packet_store)
to l9_agent, l9_admin, l9_platform_admin;
