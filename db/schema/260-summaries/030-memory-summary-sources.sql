-- Which memories each summary rests on, and the trigger that deletes a summary when one of them is deleted.
-- store_summary_row() writes it; find_due() looks for changed sources here.
create table public.memory_summary_sources (
  summary_packet uuid not null references public.memory_summaries (source_packet) on delete cascade,
  packet_id uuid not null references public.packet_store on delete cascade,
  is_changed boolean not null default false,
  tenant_id uuid not null references public.tenants, created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (summary_packet, packet_id)
);
create index memory_summary_sources_packet_idx on public.memory_summary_sources (packet_id);
call identity.describe('public.memory_summary_sources', 'The memories that each summary rests on.
  summary_packet: The memory of the summary.
  packet_id: The memory that the summary rests on.
  is_changed: True if the text of the source was changed since; then the summary is due again.
  tenant_id: The tenant of both memories.
  created_at: The time when the summary was written.
  updated_at: The time when is_changed was last set.');
alter table public.memory_summary_sources enable row level security, force row level security;
create policy tenant_isolation on public.memory_summary_sources as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy scope_access on public.memory_summary_sources for select to l9_agent, l9_admin
  using (
    exists (select from public.memory_summaries s where s.source_packet = memory_summary_sources.summary_packet)
    and exists (select from public.packet_store p where p.packet_id = memory_summary_sources.packet_id));
create policy platform_override on public.memory_summary_sources for select to l9_platform_admin
  using (
    (select identity.allow_and_audit_operator_read('memory_summary_sources'))
    and exists (select from public.memory_summaries s where s.source_packet = memory_summary_sources.summary_packet)
    and exists (select from public.packet_store p where p.packet_id = memory_summary_sources.packet_id));
create policy worker_access on public.memory_summary_sources for select to l9_worker using (true);
create policy definer_functions on public.memory_summary_sources to l9_owner using (true);
comment on policy tenant_isolation on public.memory_summary_sources is 'Nothing is shared between tenants.';
comment on policy scope_access on public.memory_summary_sources is 'A row is visible to callers that may read both the summary '
  'and the source. The policies of these two tables decide, so the row follows both wherever they move.';
comment on policy platform_override on public.memory_summary_sources is 'Operators read across tenants, and each read is '
  'audited. A row is hidden when the summary or the source has expired.';
comment on policy worker_access on public.memory_summary_sources is 'Background jobs read all rows.';
comment on policy definer_functions on public.memory_summary_sources is 'Functions that delete summaries when a source is '
  'deleted or moves must also see rows that the caller does not.';
grant select on public.memory_summary_sources to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant maintain on public.memory_summary_sources to l9_worker;

create function summaries.tg_memory_summary_sources__delete_summaries() returns trigger
language plpgsql security definer set search_path = '' set enable_nestloop = off as $$
begin
  -- Summaries whose own memory was deleted in this statement no longer exist, and deleting them has no effect.
  perform derived.delete_memories(array(select distinct o.summary_packet from old_rows o));
  return null;
end $$;
comment on function summaries.tg_memory_summary_sources__delete_summaries is 'Deletes a summary when the first of its sources is '
  'deleted. Definer: deletes also summaries that the caller does not see.';

create trigger _600_delete_summaries after delete on public.memory_summary_sources referencing old table as old_rows
  for each statement execute function summaries.tg_memory_summary_sources__delete_summaries();
