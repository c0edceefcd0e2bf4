-- Counts who read, voted on and cited memories. The roll-up of the access log calls count_reads() and
-- count_votes_and_citations().
create function importance.could_read(access importance.memory_access_log, memory public.packet_store) returns boolean
language sql immutable parallel safe
return (memory).tenant_id = (access).tenant_id and (memory).scope = (access).scope
  and (memory).project_id is not distinct from (access).project_id
  and ((access).is_admin
    or ((memory).org_id is null or (memory).org_id = (access).org_id)
    and ((memory).user_id is null or (memory).user_id = (access).user_id));
comment on function importance.could_read is 'True if the caller of an access could read the memory: rows can be forged.';

create function importance.agent_of(tenant_id uuid, caller text) returns text
language sql stable parallel safe security definer set search_path = ''
return coalesce(
  (select a.creator from public.actors a where a.tenant_id = agent_of.tenant_id and a.caller = agent_of.caller), agent_of.caller);
comment on function importance.agent_of is 'A caller''s creator name, its one voice. Definer: jobs don''t read actors.';

create function importance.read_window() returns interval language sql immutable parallel safe return interval '1 hour';
comment on function importance.read_window is 'How long after a search a get_memory of a hit by the same agent counts as use.';

create function importance.first_access_id(at timestamptz) returns uuid language sql immutable parallel safe
return (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
comment on function importance.first_access_id is 'No greater than the id of any access since this time, for the log''s key.';

create function importance.reads_after_search(from_xid xid8, to_xid xid8, era_after timestamptz)
returns table (packet_id uuid, access_id uuid)
language sql stable set search_path = ''
-- One pass over the searches of the last hour, whatever the planner knows of the log; a loop would read them for each access.
set enable_nestloop = off
begin atomic
  with reads as materialized (
    select a.access_id, a.target_id, a.agent_id, a.tenant_id, a.org_id, a.user_id, a.accessed_at
    from importance.memory_access_log a
    where a.target_type = 'memory' and a.access_context = 'get'
      and a.xid >= from_xid and a.xid < to_xid and a.accessed_at > era_after
  ), bounds as materialized (
    select importance.first_access_id(min(r.accessed_at) - importance.read_window()) as first_id,
      importance.first_access_id(max(r.accessed_at) + interval '1 ms') as last_id
    from reads r
  )
  select distinct r.target_id, r.access_id
  from reads r
  join importance.memory_access_log s on s.target_id = r.target_id and s.agent_id = r.agent_id and s.tenant_id = r.tenant_id
    and s.org_id is not distinct from r.org_id and s.user_id is not distinct from r.user_id
    and s.target_type = 'memory' and s.access_context = 'search'
    and s.accessed_at between r.accessed_at - importance.read_window() and r.accessed_at
  where s.access_id >= (select b.first_id from bounds b) and s.access_id < (select b.last_id from bounds b);
end;
comment on function importance.reads_after_search is 'Reads of what a search had shown to the same agent in read_window().';

create function importance.count_reads(packet_ids uuid[], from_xid xid8, to_xid xid8, era_after timestamptz) returns uuid[]
language plpgsql volatile set search_path = '' as $$
declare
  read_ids uuid[];
begin
  with reads as (
    select r.packet_id, importance.agent_of(a.tenant_id, a.agent_id) as agent, max(a.accessed_at) as read_at
    from importance.reads_after_search(from_xid, to_xid, era_after) r
    join importance.memory_access_log a on a.access_id = r.access_id and a.accessed_at = uuid_extract_timestamp(r.access_id)
    join unnest(count_reads.packet_ids) as l (id) on l.id = r.packet_id
    join public.packet_store p on p.packet_id = l.id and importance.could_read(a, p)
    where importance.text_hash_at(p.packet_id, a.accessed_at) = p.content_hash group by 1, 2
  ), written as (
    insert into importance.memory_voices as v (packet_id, agent, read_at)
    select r.packet_id, r.agent, r.read_at from reads r order by r.packet_id, r.agent
    on conflict (packet_id, agent) do update set read_at = greatest(v.read_at, excluded.read_at) returning v.packet_id
  )
  select coalesce(array_agg(distinct w.packet_id), '{}') into read_ids from written w;
  return read_ids;
end $$;
comment on function importance.count_reads is 'Counts who read which of these locked memories after a search.';

-- Takes the last vote of each agent on the present text, and the citations by memories that have the same readers.
create function importance.count_votes_and_citations(packet_ids uuid[]) returns void language sql volatile set search_path = ''
begin atomic
  with votes as (
    -- The last vote of each agent, on whichever access.
    select distinct on (f.packet_id, a.agent) f.packet_id, a.agent, case when f.was_useful then 1 else -1 end::smallint as vote
    from public.memory_feedback f
    join public.packet_store p on p.packet_id = f.packet_id and p.content_hash = f.content_hash
    cross join lateral (select importance.agent_of(f.tenant_id, f.agent_id) as agent) a
    where f.packet_id = any (packet_ids) order by f.packet_id, a.agent, f.given_at desc, f.access_id desc
  ), citing as (
    -- Importance is the same for all readers of a memory, so a memory that one of them can't read, or not as long, must not
    -- count. Parents are never hidden from readers of the child, so equal audiences are the only ones that qualify.
    select distinct p.packet_id, m.metadata ->> 'creator' as agent, true as has_cited
    from public.packet_store p
    join importance.memory_citations c on c.packet_id = p.packet_id and c.content_hash = p.content_hash
    join public.packet_store m on m.packet_id = c.cited_by
    where p.packet_id = any (packet_ids)
      and m.tenant_id = p.tenant_id and m.scope = p.scope and m.project_id is not distinct from p.project_id
      and m.org_id is not distinct from p.org_id and m.user_id is not distinct from p.user_id
      and coalesce(m.ttl, 'infinity') >= coalesce(p.ttl, 'infinity')
      -- What a job writes of itself is nobody's use.
      and m.metadata ->> 'creator' <> 'job'
  ), counted as (
    select packet_id, agent, v.vote, c.has_cited
    from votes v
    full join citing c using (packet_id, agent)
  ), known as (
    select v.packet_id, v.agent from importance.memory_voices v where v.packet_id = any (packet_ids)
  )
  insert into importance.memory_voices as v (packet_id, agent, vote, has_cited)
  select packet_id, agent, n.vote, coalesce(n.has_cited, false)
  from counted n
  full join known k using (packet_id, agent)
  order by packet_id, agent
  on conflict (packet_id, agent) do update set vote = excluded.vote, has_cited = excluded.has_cited
  where (v.vote, v.has_cited) is distinct from (excluded.vote, excluded.has_cited);
end;
comment on function importance.count_votes_and_citations is 'Writes to memory_voices each agent''s last vote on these locked '
  'memories, and who wrote what rests on them. Counting again does no harm.';
grant execute on function importance.could_read, importance.agent_of, importance.read_window, importance.first_access_id,
  importance.reads_after_search, importance.count_reads, importance.count_votes_and_citations to l9_worker;
