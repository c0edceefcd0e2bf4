-- Which memory was merged into which, and what went over with it, so that undo_review() can take it back. merge_memories() writes
-- the rows. They hold ids and counts, no texts.

create table review.merges (
  packet_id uuid primary key references public.packet_store on delete cascade,
  kept_id uuid not null references public.packet_store on delete cascade,
  fact_evidence uuid[] not null,
  relationship_evidence uuid[] not null,
  world_updates uuid[] not null,
  cited_by uuid[] not null,
  access_count bigint not null
);
create index merges_kept_idx on review.merges (kept_id);
call identity.describe('review.merges', 'Memories that counted when they were merged into others, while both are there.
  packet_id: The memory that was merged; it is rejected since.
  kept_id: The memory that it was merged into.
  fact_evidence: The statements of facts that went over.
  relationship_evidence: The statements of relationships that went over.
  world_updates: The updates of the world model that went over.
  cited_by: The memories whose citation went over.
  access_count: How many accesses were added to the count of the other memory.');
call identity.keep_private('review.merges', functions => 'merge_memories() writes the rows, and undo_review() deletes them.');
create policy scope_access on review.merges for select to l9_admin
  using (exists (select from public.packet_store p where p.packet_id = merges.packet_id));
comment on policy scope_access on review.merges is 'Reviewers see which of the memories that they may read were merged.';
grant select on review.merges to l9_admin;

create function review.is_same_audience(one public.packet_store, other public.packet_store) returns boolean
language sql immutable parallel safe set search_path = ''
return ((one).tenant_id, (one).scope) = ((other).tenant_id, (other).scope)
  and ((one).project_id, (one).org_id, (one).user_id) is not distinct from ((other).project_id, (other).org_id, (other).user_id);
comment on function review.is_same_audience is 'True if the same callers can read two memories.';

create function review.move_facts(evidence_ids uuid[], from_id uuid, to_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
declare
  keys constant facts.fact_key[] := array(
    select k from facts.keys_of_evidence(from_id) k union select k from facts.keys_of_evidence(to_id) k order by 1);
  key facts.fact_key;
begin
  if cardinality(evidence_ids) = 0 then
    return;
  end if;
  perform facts.lock_facts(variadic keys);
  update public.fact_evidence e set packet_id = to_id where e.packet_id = from_id and e.evidence_id = any (evidence_ids);
  foreach key in array keys loop
    perform facts.recompute_facts(key, facts.is_single_valued(key.tenant_id, key.predicate), packet_ids => array[from_id, to_id]);
  end loop;
end $$;

create function review.move_relationships(evidence_ids uuid[], from_id uuid, to_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
declare
  ids constant uuid[] := array(
    select distinct e.relationship_id from public.relationship_evidence e where e.evidence_id = any (evidence_ids));
begin
  if ids <> '{}' then
    perform graph.lock_relationships(ids);
    update public.relationship_evidence e set packet_id = to_id
    where e.packet_id = from_id and e.evidence_id = any (evidence_ids);
    perform graph.recompute_relationships(ids);
  end if;
end $$;

create function review.move_world_updates(update_ids uuid[], from_id uuid, to_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
declare
  world uuid;
begin
  update public.world_model_updates u set source_packet = to_id
  where u.source_packet = from_id and u.update_id = any (update_ids);
  for world in
    select distinct u.audience_id from public.world_model_updates u where u.update_id = any (update_ids) order by u.audience_id
  loop
    perform world_model.recompute_world(world, counts_as_change => false);
  end loop;
end $$;

create function review.move_accesses(accesses bigint, from_id uuid, to_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
begin
  insert into public.memory_signals (packet_id, tenant_id)
  select p.packet_id, p.tenant_id from public.packet_store p where p.packet_id = to_id
  on conflict (packet_id) do nothing;
  perform importance.lock_signals(array[from_id, to_id]);
  update public.memory_signals s set
    access_count = greatest(s.access_count + accesses, 0),
    last_accessed = greatest(s.last_accessed, (select f.last_accessed from public.memory_signals f where f.packet_id = from_id))
  where s.packet_id = to_id;
  insert into importance.memory_voices (packet_id, agent, vote, read_at)
  select to_id, v.agent, v.vote, v.read_at from importance.memory_voices v where v.packet_id = from_id and accesses >= 0
  on conflict (packet_id, agent) do nothing;
  perform importance.sum_voices(array[to_id]);
end $$;
comment on function review.move_facts is 'Makes statements of facts those of another memory of the same audience.';
comment on function review.move_relationships is 'Makes statements of relationships those of another memory.';
comment on function review.move_world_updates is 'Makes updates of the world model those of another memory.';
comment on function review.move_accesses is 'Adds this many accesses to those of another memory, and votes of agents that have '
  'not voted on that one. Fewer than 0 takes them back; votes stay.';

-- What the other memory has already stays where it is, and is withdrawn with the memory. Both are locked as sources, so a caller
-- reaches only memories that count and in whose place it may write.
create function review.move_to(from_id uuid, to_id uuid) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  me constant identity.identity := identity.require_admin();
  merged constant public.packet_store := derived.lock_source_memory(from_id, 'others');
  kept constant public.packet_store := derived.lock_source_memory(to_id, 'keep');
  moved review.merges;
begin
  if not review.is_same_audience(merged, kept) then
    perform identity.raise_error('L9VAL', 'others: must be of the scope, project, org and user of keep');
  end if;
  moved.packet_id := from_id;
  moved.kept_id := to_id;
  moved.fact_evidence := array(
    select e.evidence_id from public.fact_evidence e
    where e.packet_id = from_id and not exists (select from public.fact_evidence o
      where o.packet_id = to_id and (o.fact_id, o.creator) = (e.fact_id, e.creator)));
  moved.relationship_evidence := array(
    select e.evidence_id from public.relationship_evidence e
    where e.packet_id = from_id and not exists (select from public.relationship_evidence o
      where o.packet_id = to_id and (o.relationship_id, o.creator) = (e.relationship_id, e.creator)));
  moved.world_updates := array(select u.update_id from public.world_model_updates u where u.source_packet = from_id);
  moved.cited_by := array(
    select c.cited_by from importance.memory_citations c
    where c.packet_id = from_id and c.cited_by <> to_id
      and not exists (select from importance.memory_citations o where o.packet_id = to_id and o.cited_by = c.cited_by));
  moved.access_count := coalesce((select s.access_count from public.memory_signals s where s.packet_id = from_id), 0);
  perform review.move_facts(moved.fact_evidence, from_id, to_id);
  perform review.move_relationships(moved.relationship_evidence, from_id, to_id);
  perform review.move_world_updates(moved.world_updates, from_id, to_id);
  perform review.move_accesses(moved.access_count, from_id, to_id);
  update importance.memory_citations c set packet_id = to_id, content_hash = kept.content_hash
  where c.packet_id = from_id and c.cited_by = any (moved.cited_by);
  insert into importance.pending_recounts (packet_id) values (from_id), (to_id);
  delete from review.merges m where m.packet_id = from_id;
  insert into review.merges select moved.*;
end $$;
comment on function review.move_to is 'Makes what was derived from a memory, its citations and accesses those of another one, '
  'and keeps what went over. For administrators. Definer: callers can''t write these tables.';

create function review.move_back(packet_id uuid) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  me constant identity.identity := identity.require_admin();
  merged constant public.packet_store := derived.lock_source_memory(move_back.packet_id, 'packet_ids');
  moved review.merges;
begin
  delete from review.merges m where m.packet_id = merged.packet_id returning m.* into moved;
  -- Nothing is left to give back where the other memory does not count any more.
  if exists (select from public.packet_store p where p.packet_id = moved.kept_id and review.is_same_audience(p, merged)) then
    perform review.move_facts(moved.fact_evidence, moved.kept_id, moved.packet_id);
    perform review.move_relationships(moved.relationship_evidence, moved.kept_id, moved.packet_id);
    perform review.move_world_updates(moved.world_updates, moved.kept_id, moved.packet_id);
    perform review.move_accesses(-moved.access_count, moved.packet_id, moved.kept_id);
    update importance.memory_citations c set packet_id = moved.packet_id, content_hash = merged.content_hash
    where c.packet_id = moved.kept_id and c.cited_by = any (moved.cited_by)
      and not exists (select from importance.memory_citations o where (o.packet_id, o.cited_by) = (moved.packet_id, c.cited_by));
    insert into importance.pending_recounts (packet_id) values (moved.packet_id), (moved.kept_id);
  end if;
end $$;
comment on function review.move_back is 'Gives a memory that was merged, and counts again, back what went over to the other one. '
  'For administrators. Definer: callers can''t write these tables.';
grant execute on function review.is_same_audience, review.move_to, review.move_back to l9_admin;
