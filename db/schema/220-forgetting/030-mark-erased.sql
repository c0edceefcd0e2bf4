-- Summaries, facts and lessons, which may rest on what is erased.
create index packet_store_derived_idx on public.packet_store (tenant_id)
  where packet_type in ('summary', 'fact', 'reflection') and parent_ids <> '{}';

create function forgetting.mark_erased(erasure_id uuid, reason text, packet_ids uuid[])
returns integer
language sql
volatile
set search_path = ''
begin atomic
  with marked as (
    insert into public.memory_tombstones
      (packet_id, erasure_id, tenant_id, org_id, user_id, project_id, scope, packet_type, creator, reason, erased_by)
    select
      p.packet_id, mark_erased.erasure_id, p.tenant_id, p.org_id, p.user_id, p.project_id, p.scope, p.packet_type,
      p.metadata ->> 'creator', mark_erased.reason, identity.current_caller()
    from public.packet_store p
    where p.packet_id = any (packet_ids)
    for update
    on conflict do nothing
    returning packet_id
  )
  select count(*)::integer from marked;
end;

comment on function forgetting.mark_erased(uuid, text, uuid[]) is
  'Locks memories and writes their tombstones, and says how many; the functions below erase what is marked. Not executable by callers.';

create function forgetting.mark_derived(erasure_id uuid, reason text)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  derived uuid[];
begin
  loop
    derived := array(
      select p.packet_id
      from public.packet_store p
      where p.tenant_id in (
          select distinct t.tenant_id from public.memory_tombstones t where t.erasure_id = mark_derived.erasure_id)
        and not exists (select from public.memory_tombstones t where t.packet_id = p.packet_id)
        and p.packet_type in ('summary', 'fact', 'reflection') and p.parent_ids <> '{}'
        and (
          -- What memory_summary_sources says it rests on it does not outlive, not even in part.
          exists (
            select from public.memory_summary_sources l
            join public.memory_tombstones t on t.packet_id = l.packet_id
            where l.summary_packet = p.packet_id and t.erasure_id = mark_derived.erasure_id)
          or exists (
            select from unnest(p.parent_ids) as parent (id)
            join public.memory_tombstones t on t.packet_id = parent.id
            where t.erasure_id = mark_derived.erasure_id)
          -- A parent that was deleted or erased before is nothing to rest on either.
          and not exists (
            select from unnest(p.parent_ids) as parent (id)
            join public.packet_store kept on kept.packet_id = parent.id
            where not exists (select from public.memory_tombstones t where t.packet_id = kept.packet_id))));
    exit when derived = '{}';
    perform forgetting.mark_erased(erasure_id, reason, derived);
  end loop;
end
$$;

comment on function forgetting.mark_derived(uuid, text) is
  'Marks summaries, facts and lessons that rest on nothing but what is marked, and summaries of memory_summaries that rest on any of it; then those that rest on these, and so on. Not executable by callers.';
