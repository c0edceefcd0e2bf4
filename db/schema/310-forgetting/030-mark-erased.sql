-- Writes the tombstones of an erasure before anything is deleted. erase_memory() and erase_subject() call
-- mark_erased(), and erase_marked() calls mark_derived().

-- Summaries, facts and lessons that are derived from other memories and may have to be erased with them.
create index packet_store_derived_idx on public.packet_store (tenant_id)
  where packet_type in ('summary', 'fact', 'reflection') and parent_ids <> '{}';

create function forgetting.mark_erased(erasure_id uuid, reason text, packet_ids uuid[]) returns integer
language sql volatile set search_path = ''
begin atomic
  with marked as (
    insert into public.memory_tombstones
      (packet_id, erasure_id, tenant_id, org_id, user_id, project_id, scope, packet_type, creator, reason, erased_by)
    select
      p.packet_id, mark_erased.erasure_id, p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope, p.packet_type,
      p.metadata ->> 'creator', mark_erased.reason, identity.current_caller()
    from public.packet_store p
    where p.packet_id = any (packet_ids) for update on conflict do nothing returning packet_id
  )
  select count(*)::integer from marked;
end;
comment on function forgetting.mark_erased is 'Locks memories, writes their tombstones and returns how many it wrote. The other '
  'functions of this chapter erase the memories that have a tombstone of the same erasure.';

-- Repeats until a round finds nothing new, because a summary of a summary rests on the erased memory too.
create function forgetting.mark_derived(erasure_id uuid, reason text) returns void
language plpgsql volatile set search_path = '' as $$
declare
  derived_packets uuid[];
begin
  loop
    derived_packets := array(
      select p.packet_id
      from public.packet_store p
      where p.tenant_id in (
          select distinct t.tenant_id from public.memory_tombstones t where t.erasure_id = mark_derived.erasure_id)
        and not exists (select from public.memory_tombstones t where t.packet_id = p.packet_id)
        and p.packet_type in ('summary', 'fact', 'reflection') and p.parent_ids <> '{}'
        and (
          -- A summary is erased with the first of its sources.
          exists (
            select from public.memory_summary_sources l
            join public.memory_tombstones t on t.packet_id = l.packet_id
            where l.summary_packet = p.packet_id and t.erasure_id = mark_derived.erasure_id)
          or exists (
            select from unnest(p.parent_ids) as parent (id)
            join public.memory_tombstones t on t.packet_id = parent.id
            where t.erasure_id = mark_derived.erasure_id)
          -- Other memories are erased when no parent is left. A parent that was deleted or erased earlier is not left either.
          and not exists (
            select from unnest(p.parent_ids) as parent (id)
            join public.packet_store kept on kept.packet_id = parent.id
            where not exists (select from public.memory_tombstones t where t.packet_id = kept.packet_id)))
      union
      -- A part, such as a section of a document, is erased with the whole.
      select p.packet_id
      from public.memory_tombstones t
      join public.packet_store p on p.part_of = t.packet_id
      where t.erasure_id = mark_derived.erasure_id
        and not exists (select from public.memory_tombstones other where other.packet_id = p.packet_id));
    exit when derived_packets = '{}';
    perform forgetting.mark_erased(erasure_id, reason, derived_packets);
  end loop;
end $$;
comment on function forgetting.mark_derived is 'Writes tombstones for parts of erased memories, for summaries, facts and lessons '
  'all of whose parents are erased, and for summaries of memory_summaries with any erased source; then for those derived from '
  'these, and so on.';
