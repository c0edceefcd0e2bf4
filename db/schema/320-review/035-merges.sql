-- Which memory was merged into which, and what went over with it, so that undo_review() can take it back. merge_memories() writes
-- the rows. They hold ids and counts, no texts.

create table review.merges (
  packet_id uuid primary key references public.packet_store on delete cascade,
  kept_id uuid not null references public.packet_store on delete cascade,
  was_pending boolean not null,
  fact_evidence uuid[] not null,
  relationship_evidence uuid[] not null,
  world_updates uuid[] not null,
  cited_by uuid[] not null,
  access_count bigint not null
);
create index merges_kept_idx on review.merges (kept_id);
comment on table review.merges is 'Memories that were merged into others, while both are there.';
comment on column review.merges.packet_id is 'The memory that was merged; it is rejected since.';
comment on column review.merges.kept_id is 'The memory that it was merged into.';
comment on column review.merges.was_pending is 'True if it waited for a review then; false if it counted.';
comment on column review.merges.fact_evidence is 'The statements of facts that went over.';
comment on column review.merges.relationship_evidence is 'The statements of relationships that went over.';
comment on column review.merges.world_updates is 'The updates of the world model that went over.';
comment on column review.merges.cited_by is 'The memories whose citation went over.';
comment on column review.merges.access_count is 'How many accesses were added to the count of the other memory.';
call identity.keep_private('review.merges', functions => 'merge_memories() writes the rows, and undo_review() reads them.');
-- Callers have no grant: the reason of a merged memory names the other one.

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
  foreach key in array keys loop
    perform facts.lock_facts(key);
  end loop;
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

-- What the other memory has already stays where it is, and is withdrawn with the memory.
create function review.move_to(merged public.packet_store, kept public.packet_store) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  from_id constant uuid := merged.packet_id;
  to_id constant uuid := kept.packet_id;
  moved review.merges;
begin
  perform identity.require_admin();
  moved.packet_id := from_id;
  moved.kept_id := to_id;
  moved.was_pending := merged.review_state is not distinct from 'pending';
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
  insert into importance.pending_recounts (packet_id) values (from_id), (to_id) on conflict do nothing;
  delete from review.merges m where m.packet_id = from_id;
  insert into review.merges select moved.*;
end $$;
comment on function review.move_to is 'Makes what was derived from a memory, its citations and accesses those of another one, '
  'and keeps what went over. For administrators. Definer: callers can''t write these tables.';

create function review.was_counting(packet_id uuid) returns boolean
language sql stable security definer set search_path = ''
return exists (select from review.merges m where m.packet_id = was_counting.packet_id and not m.was_pending);
comment on function review.was_counting is 'True for a memory that counted when it was merged into another, which is still '
  'there. Definer: reads a private table.';

create function review.move_back(packet_id uuid) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  moved review.merges;
begin
  perform identity.require_admin();
  delete from review.merges m where m.packet_id = move_back.packet_id returning m.* into moved;
  if moved.kept_id is not null then
    perform review.move_facts(moved.fact_evidence, moved.kept_id, moved.packet_id);
    perform review.move_relationships(moved.relationship_evidence, moved.kept_id, moved.packet_id);
    perform review.move_world_updates(moved.world_updates, moved.kept_id, moved.packet_id);
    perform review.move_accesses(-moved.access_count, moved.packet_id, moved.kept_id);
    update importance.memory_citations c
    set packet_id = moved.packet_id, content_hash = (
      select p.content_hash from public.packet_store p where p.packet_id = moved.packet_id)
    where c.packet_id = moved.kept_id and c.cited_by = any (moved.cited_by)
      and not exists (select from importance.memory_citations o where (o.packet_id, o.cited_by) = (moved.packet_id, c.cited_by));
    insert into importance.pending_recounts (packet_id) values (moved.packet_id), (moved.kept_id) on conflict do nothing;
  end if;
end $$;
comment on function review.move_back is 'Gives a merged memory back what went over to the other one. Does nothing for a memory '
  'that was not merged. For administrators. Definer: callers can''t write these tables.';
grant execute on function review.move_to, review.was_counting, review.move_back to l9_admin;
