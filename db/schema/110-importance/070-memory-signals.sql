-- Usage statistics of memories. The roll-up job and the functions that write facts keep them up to date;
-- importance_of() and searches read them.
create table public.memory_signals (
  packet_id uuid primary key references public.packet_store on delete cascade,
  tenant_id uuid not null references public.tenants,
  last_accessed timestamptz,
  access_count bigint not null default 0,
  useful double precision not null default 0,
  useless double precision not null default 0,
  readers double precision not null default 0,
  read_at timestamptz,
  contradiction_count integer not null default 0,
  constraint signals_not_negative check (
    access_count >= 0 and useful >= 0 and useless >= 0 and readers >= 0 and contradiction_count >= 0)
) with (
  -- All rows of a page may change at once and still fit beside their old versions; with no index but the key each update is HOT.
  fillfactor = 45
);
call identity.describe('public.memory_signals', 'Usage statistics of memories: one narrow row for each memory that was ever found,
    used or contradicted, kept up to date by a job. Importance is not stored; importance() computes it from these statistics, the
    writer''s estimate and the memory''s age.
  packet_id: The memory.
  tenant_id: The tenant of the memory.
  last_accessed: When the memory was last found or read.
  access_count: How often the memory was found or read. It says nothing of importance: being found is not being used.
  useful: How many agents voted that the memory was useful, or built on it.
  useless: How many agents voted that the memory was useless, or contradict it.
  readers: How many further agents read the memory in full after they had found it, as of read_at: each counts 1 at its last
    reading, halved every 30 days.
  read_at: When the last of these agents read it.
  contradiction_count: How many agents contradict the memory by facts of other memories.');

alter table public.memory_signals enable row level security, force row level security;

create policy tenant_isolation on public.memory_signals as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.memory_signals for select to l9_agent, l9_admin
  using (exists (select from public.packet_store p where p.packet_id = memory_signals.packet_id));
create policy platform_override on public.memory_signals for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('memory_signals')));
create policy worker_access on public.memory_signals to l9_worker using (true);

comment on policy tenant_isolation on public.memory_signals is 'Nothing is shared between tenants.';
comment on policy scope_access on public.memory_signals is 'Callers see the statistics of memories that they may read. The '
  'caller''s own policies are applied, so this holds when a memory moves.';
comment on policy platform_override on public.memory_signals is 'Operators read across tenants, and each read is audited.';
comment on policy worker_access on public.memory_signals is 'The job that rolls up the access log maintains the statistics.';
grant select on public.memory_signals to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (packet_id, tenant_id, last_accessed, access_count, useful, useless, readers, read_at, contradiction_count)
  on public.memory_signals to l9_worker;
grant update (last_accessed, access_count, useful, useless, readers, read_at, contradiction_count)
  on public.memory_signals to l9_worker;
grant maintain on public.memory_signals to l9_worker;
-- Callers may not write: no single caller decides what matters.
