--! Previous: sha1:ac70554165dd7698de7872816af62675a862f805
--! Hash: sha1:ee08180d480cf45d21122d358a57f7c34af5f2e2
--! Message: lock in one order

--! split: 1-current.sql
-- The roll-up of accesses, moves, deletions and statements lock memories, facts, evidence, relationships and statistics in one
-- order, so that they can't deadlock.
drop function if exists importance.roll_up_accesses_between(xid8, xid8, timestamptz);
drop function if exists facts.lock_facts(facts.fact_key);
drop trigger if exists _610_facts_follow on public.packet_store;
drop trigger if exists _630_facts_follow on public.packet_store;

-- Writers lock a memory, then what is derived from it, then its statistics. The roll-up takes its locks in this order, too.
create or replace function importance.lock_accessed_memories(
  from_xid xid8, to_xid xid8, era_after timestamptz, out locked_ids uuid[], out recounted_ids uuid[])
language plpgsql volatile set search_path = '' as $$
begin
  with taken as (
    delete from importance.pending_recounts r
    where r.recount_id in (select n.recount_id from importance.pending_recounts n order by n.recount_id limit 10000)
    returning r.packet_id
  ), asked as (
    select t.packet_id from taken t
    union
    select f.packet_id from public.memory_feedback f
    where f.xid >= lock_accessed_memories.from_xid and f.xid < lock_accessed_memories.to_xid
  )
  select coalesce(array_agg(a.packet_id), '{}') into recounted_ids from asked a;
  -- Rows are locked in order of their ids, so that this waits for a concurrent delete and can't deadlock.
  locked_ids := array(
    select p.packet_id from public.packet_store p
    where p.packet_id in (
      select a.target_id from importance.memory_access_log a
      where a.target_type = 'memory' and a.accessed_at > lock_accessed_memories.era_after
        and a.xid >= lock_accessed_memories.from_xid and a.xid < lock_accessed_memories.to_xid
      union all
      select c.id from unnest(recounted_ids) as c (id))
    order by p.packet_id
    for key share);
  recounted_ids := array(
    select c.id from unnest(recounted_ids) as c (id)
    intersect
    select l.id from unnest(locked_ids) as l (id));
end $$;
comment on function importance.lock_accessed_memories is 'Locks the memories that these transactions accessed or voted on, and '
  'up to 10,000 of pending_recounts, which it deletes there. recounted_ids: those whose voices must be counted again.';

-- Each count is a statement of its own, which sees what was committed before the locks were granted.
create or replace function importance.roll_up_accesses_between(
  from_xid xid8, to_xid xid8, era_after timestamptz, locked_ids uuid[], recounted_ids uuid[]) returns void
language plpgsql volatile set search_path = '' as $$
declare
  voice_ids uuid[];
begin
  if cardinality(locked_ids) = 0 then
    return;
  end if;
  perform importance.count_accesses(
    locked_ids, roll_up_accesses_between.from_xid, roll_up_accesses_between.to_xid, roll_up_accesses_between.era_after);
  insert into public.memory_signals (packet_id, tenant_id)
  select p.packet_id, p.tenant_id from public.packet_store p where p.packet_id = any (recounted_ids) order by p.packet_id
  on conflict do nothing;
  perform importance.lock_signals(locked_ids);
  voice_ids := recounted_ids || importance.count_reads(
    locked_ids, roll_up_accesses_between.from_xid, roll_up_accesses_between.to_xid, roll_up_accesses_between.era_after);
  voice_ids := array(select distinct c.id from unnest(voice_ids) as c (id));
  if cardinality(voice_ids) > 0 then
    perform importance.count_votes_and_citations(voice_ids);
    perform importance.sum_voices(voice_ids);
  end if;
end $$;
comment on function importance.roll_up_accesses_between is 'Adds the accesses of these transactions that are later than '
  'era_after to memory_signals, and counts again the voices of agents on the memories that they read and on recounted_ids. The '
  'caller holds the locks of lock_accessed_memories(), which returned both lists.';
grant execute on function importance.lock_accessed_memories, importance.roll_up_accesses_between to l9_worker;

create or replace function derived.lock_source_memory(
  packet_id uuid, field text default 'source_packet', kind text default null, says_nothing_new boolean default false)
returns public.packet_store
language plpgsql volatile security definer set search_path = '' as $$
declare
  source public.packet_store;
begin
  -- The lock makes a concurrent move to other readers wait, and that move then also moves the new row; a move that came
  -- first is read here.
  if identity.current_role_name() = 'l9_admin' then
    -- An administrator may come to stand by the text, which updates the memory: two that share a lock would deadlock then.
    select p.* into source from public.packet_store p where p.packet_id = lock_source_memory.packet_id and derived.is_source(p)
      for no key update;
  else
    select p.* into source from public.packet_store p where p.packet_id = lock_source_memory.packet_id and derived.is_source(p)
      for share;
  end if;
  if not found then
    perform identity.raise_error('L9OWN',
      format('%s: memory %s does not exist, or is not yours', field, lock_source_memory.packet_id));
  elsif identity.current_role_name() = 'l9_agent' and not says_nothing_new then
    perform derived.refuse_unreviewed(source, field, coalesce(lock_source_memory.kind, source.packet_type));
  end if;
  if identity.current_role_name() in ('l9_agent', 'l9_admin') then
    perform packets.check_scope(source.scope, source.project_id);
  end if;
  return source;
end $$;

create or replace function facts.lock_facts(variadic keys facts.fact_key[]) returns void language plpgsql volatile set search_path = '' as $$
declare
  key facts.fact_key;
begin
  foreach key in array keys loop
    -- A shared lock: register_predicate() takes it exclusively, so no fact is written under an old registration.
    perform pg_advisory_xact_lock_shared(hashtextextended(format('l9-memory predicate %s %s', key.tenant_id, key.predicate), 0));
    perform pg_advisory_xact_lock(
      hashtextextended(format('l9-memory facts %s %s %s', key.audience_id, key.predicate, key.subject_normalized), 0));
  end loop;
  -- The rows of all keys in the order of their ids, as in the roll-up of accesses, so that the two can't deadlock.
  perform from public.knowledge_facts f
  where f.fact_id in (
    select w.fact_id from unnest(keys) as k
    cross join lateral facts.facts_with_key(k, facts.is_single_valued(k.tenant_id, k.predicate)) w)
  order by f.fact_id for no key update;
end $$;
comment on function facts.lock_facts is 'Locks the facts of these keys, which must be in order, until the transaction ends.';

create or replace function facts.assert_fact_from(
  packet_id uuid, subject text, predicate text, object jsonb, confidence double precision default 0.8,
  valid_from timestamptz default null, extracted_by text default null, is_mention boolean default false,
  into_world boolean default false, valid_to timestamptz default null) returns public.knowledge_facts
language plpgsql volatile security definer set search_path = '' as $$
declare
  source public.packet_store := derived.lock_source_memory(assert_fact_from.packet_id, kind => 'fact');
  key facts.fact_key := facts.key_of_fact(source, assert_fact_from.subject, assert_fact_from.predicate, assert_fact_from.object);
  -- Only a job may name the model that found the fact.
  model text := case when identity.current_role_name() = 'l9_worker' or derived.is_being_restated(assert_fact_from.packet_id)
    then left(assert_fact_from.extracted_by, 200) end;
  is_single boolean;
  by_admin constant boolean := derived.is_from_admin(source);
  begins_at timestamptz := assert_fact_from.valid_from;
  id uuid;
  new_fact_id uuid;
  fact public.knowledge_facts;
begin
  perform entities.check_confidence(assert_fact_from.confidence);
  if not isfinite(begins_at) then
    perform identity.raise_error('L9VAL', 'valid_from: must be a finite point in time');
  end if;
  perform facts.lock_facts(key);
  is_single := facts.is_single_valued(key.tenant_id, key.predicate);
  -- Read the clock after taking the lock so that lock order and timestamps agree. Model-extracted facts are dated at the
  -- memory's timestamp.
  begins_at := coalesce(begins_at, case when model is not null then source."timestamp" end, clock_timestamp());

  if model is not null then
    -- A fact that somebody retracted is not extracted from the same memory again.
    select f.* into fact
    from facts.facts_with_key(key, is_single) f
    join public.fact_evidence e on e.fact_id = f.fact_id and e.packet_id = assert_fact_from.packet_id
    where f.retracted_at is not null and f.object_normalized = key.object_normalized limit 1;
    if found then
      return fact;
    end if;
  end if;

  if not isfinite(assert_fact_from.valid_to) or assert_fact_from.valid_to <= begins_at then
    perform identity.raise_error('L9VAL', 'valid_to: must be a finite point in time after valid_from');
  end if;

  id := facts.fact_at(key, is_single, begins_at, by_admin);
  if id is null then
    new_fact_id := facts.insert_fact(
      key, assert_fact_from.packet_id, assert_fact_from.subject, assert_fact_from.object, begins_at);
    id := new_fact_id;
  end if;
  -- A fact that is stated again from its end on holds again.
  update public.fact_evidence e set valid_to = null, end_stated_at = null
  where e.fact_id = id and e.valid_to <= begins_at and (not e.is_from_admin or by_admin);
  insert into public.fact_evidence as e (
    fact_id, packet_id, subject, object, confidence, valid_from, valid_to, end_stated_at, content_hash, extracted_by, into_world)
  values (
    id, assert_fact_from.packet_id, assert_fact_from.subject, assert_fact_from.object,
    derived.bounded_confidence(source, assert_fact_from.confidence), begins_at, assert_fact_from.valid_to,
    case when assert_fact_from.valid_to is not null then clock_timestamp() end,
    source.content_hash, model, model is not null or coalesce(assert_fact_from.into_world, false))
  on conflict on constraint evidence_counts_once do update set
    -- An agent's strongest word counts, however often it repeats it.
    confidence = greatest(e.confidence, excluded.confidence), mentions = e.mentions + is_mention::integer,
    valid_from = least(e.valid_from, excluded.valid_from), valid_to = coalesce(excluded.valid_to, e.valid_to),
    end_stated_at = coalesce(excluded.end_stated_at, e.end_stated_at), content_hash = excluded.content_hash,
    -- A fact that a job finds too is no longer a model's extraction alone.
    extracted_by = case when excluded.extracted_by is not null then e.extracted_by end,
    into_world = e.into_world or excluded.into_world, updated_at = clock_timestamp();
  -- Inserted while the memory is locked, so that recompute_facts() never waits for this row.
  insert into public.memory_signals (packet_id, tenant_id) values (assert_fact_from.packet_id, key.tenant_id)
  on conflict do nothing;
  perform facts.recompute_facts(key, is_single, new_fact_id, array[assert_fact_from.packet_id]);

  -- The fact may have been merged with an equal one.
  select f.* into fact
  from public.knowledge_facts f join public.fact_evidence e on e.fact_id = f.fact_id
  where e.packet_id = assert_fact_from.packet_id and f.audience_id = key.audience_id
    and f.subject_normalized = key.subject_normalized
    and f.predicate = key.predicate and f.object_normalized = key.object_normalized and f.retracted_at is null
  order by f.fact_id = id desc, f.valid_from desc limit 1;
  return fact;
end $$;

create or replace function facts.withdraw_evidence(packet_id uuid, only_extracted boolean default true) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  keys facts.fact_key[];
  key facts.fact_key;
begin
  keys := array(select k from facts.keys_of_evidence(withdraw_evidence.packet_id) k);
  if cardinality(keys) = 0 then
    return;
  end if;
  perform facts.lock_facts(variadic keys);
  delete from public.fact_evidence e
  where e.packet_id = withdraw_evidence.packet_id
    and (not only_extracted or e.extracted_by is not null
      -- Evidence of retracted facts stays, so that a job does not extract them again.
      and not exists (select from public.knowledge_facts f where f.fact_id = e.fact_id and f.retracted_at is not null));
  foreach key in array keys loop
    perform facts.recompute_facts(
      key, facts.is_single_valued(key.tenant_id, key.predicate), packet_ids => array[withdraw_evidence.packet_id]);
  end loop;
end $$;

-- Takes all its locks before anything moves, in the order of the keys, so that memories that move in opposite directions can't
-- deadlock.
create or replace function facts.tg_packet_store__facts_follow() returns trigger language plpgsql security definer set search_path = '' as $$
declare
  audience_id uuid := packets.audience_id(new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope);
  has_moved boolean := audience_id <> packets.audience_id(old.tenant_id, old.org_id, old.user_id, old.project_id, old.scope);
  keys facts.fact_key[] := array(
    select k from facts.keys_of_evidence(new.packet_id) k
    union select k from facts.keys_of_evidence(new.packet_id, audience_id) k where has_moved
    order by 1);
  key facts.fact_key;
  evidence public.fact_evidence;
begin
  if cardinality(keys) = 0 then
    return null;
  end if;
  perform facts.lock_facts(variadic keys);
  update public.fact_evidence e
  set tenant_id = new.tenant_id, org_id = new.org_id, user_id = new.user_id, project_id = new.project_id, scope = new.scope,
    ttl = new.ttl, updated_at = clock_timestamp()
  where e.packet_id = new.packet_id;
  if has_moved then
    insert into derived.memories_being_restated (packet_id) values (new.packet_id) on conflict do nothing;
    for evidence in
      select e.* from public.fact_evidence e where e.packet_id = new.packet_id order by e.created_at, e.evidence_id
    loop
      perform facts.move_evidence(evidence, new, audience_id);
    end loop;
    delete from derived.memories_being_restated r where r.packet_id = new.packet_id;
  end if;
  foreach key in array keys loop
    perform facts.recompute_facts(key, facts.is_single_valued(key.tenant_id, key.predicate), packet_ids => array[new.packet_id]);
  end loop;
  return null;
end $$;

update derived.derived_tables set has_own_way = true where table_name = 'fact_evidence';

-- This trigger runs before the others that follow a memory. A statement of a fact locks the fact's key before its evidence, and a
-- deletion locks facts before relationships; a trigger that locked them in another order could cause a deadlock.
call derived.follow_packets('_610_facts_follow', 'facts.tg_packet_store__facts_follow');

create or replace function public.retract_fact(fact_id uuid, reason text default null) returns public.knowledge_facts
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  fact public.knowledge_facts;
  key facts.fact_key;
  is_single boolean;
begin
  perform identity.check_bytes(reason, 1000, 'reason');
  for attempt in 1..2 loop
    -- The policies of the owner return only facts that the caller can read.
    select f.* into fact from public.knowledge_facts f
    where f.fact_id = retract_fact.fact_id and (f.ttl is null or f.ttl > now());
    if not found then
      perform identity.raise_error('L9OWN', format('fact %s does not exist, or is not yours', retract_fact.fact_id), 'fact_id');
    end if;
    exit when attempt = 2;
    key := (fact.tenant_id, fact.audience_id, fact.subject_normalized, fact.predicate, fact.object_normalized);
    perform facts.lock_facts(key);
    is_single := facts.is_single_valued(key.tenant_id, key.predicate);
  end loop;
  if fact.audience_id <> key.audience_id then
    raise exception using errcode = '40001', message = 'retract_fact: the fact was moved concurrently; try again';
  end if;

  perform packets.check_scope(fact.scope, fact.project_id);
  if me.role = 'l9_agent' and exists (
    -- An agent may retract only facts that nobody else asserted.
    select from public.fact_evidence e where e.fact_id = fact.fact_id and e.creator <> me.creator) then
    perform identity.raise_error('L9OWN', format('fact %s does not exist, or is not yours', retract_fact.fact_id), 'fact_id');
  elsif fact.retracted_at is not null then
    perform identity.raise_error('L9VAL', 'fact_id: the fact is already retracted');
  end if;

  update public.knowledge_facts f
  set retracted_at = clock_timestamp(), retraction_reason = nullif(btrim(retract_fact.reason), ''), updated_at = clock_timestamp()
  where f.fact_id = fact.fact_id;
  perform facts.recompute_facts(key, is_single, fact.fact_id);
  select f.* into fact from public.knowledge_facts f where f.fact_id = fact.fact_id;
  return fact;
end $$;

create or replace function facts.roll_up_accesses(max_rows integer default 10000) returns bigint
language plpgsql volatile set search_path = '' as $$
declare
  last_xid constant xid8 := '18446744073709551615';
  progress importance.access_roll_up;
  horizon xid8;
  until_xid xid8;
  first_xid xid8;
  row_total bigint;
  memories record;
begin
  if max_rows is null or max_rows not between 1 and 100000 then
    perform identity.raise_error('L9VAL', 'max_rows: must be from 1 to 100000');
  end if;
  -- One run at a time. The select is a statement of its own, so its snapshot includes what a previous run committed.
  perform pg_advisory_xact_lock(hashtextextended('l9-memory access roll-up', 0));
  select * into strict progress from importance.access_roll_up;
  -- All transactions before the oldest running one have ended, so no further row of theirs can appear.
  horizon := pg_snapshot_xmin(pg_current_snapshot());
  if progress.to_xid > pg_snapshot_xmax(pg_current_snapshot()) then
    -- The progress lies in the future, so this database was restored from a dump into another cluster. First the rows of
    -- the dump that are not rolled up yet are counted; then its rows are skipped, because their transaction ids mean
    -- nothing in this cluster.
    if not exists (
        select from importance.memory_access_log a where a.xid >= progress.to_xid and a.accessed_at > progress.era_after)
      and not exists (select from public.memory_feedback f where f.xid >= progress.to_xid) then
      update importance.access_roll_up set to_xid = '0', era_after = newest_at;
      return 0;
    end if;
    horizon := last_xid;
  end if;

  -- About max_rows rows: a transaction is never split, even if it alone has more.
  select min(n.xid), (array_agg(n.xid order by n.xid))[max_rows + 1], count(*) into first_xid, until_xid, row_total
  from (
    (select a.xid from importance.memory_access_log a
     where a.xid >= progress.to_xid and a.xid < horizon and a.accessed_at > progress.era_after order by a.xid limit max_rows + 1)
    union all
    (select f.xid from public.memory_feedback f
     where f.xid >= progress.to_xid and f.xid < horizon order by f.xid limit max_rows + 1)
  ) n;
  if row_total = 0 then
    if not exists (select from importance.pending_recounts) then
      return 0;
    end if;
    until_xid := progress.to_xid;
  else
    until_xid := case when until_xid is null then horizon when until_xid > first_xid then until_xid
      else ((first_xid::text::numeric + 1)::text)::xid8 end;
  end if;
  -- Memories, facts, then the statistics of memories: the order in which callers that change memories lock them.
  select m.* into strict memories from importance.lock_accessed_memories(progress.to_xid, until_xid, progress.era_after) m;
  perform facts.roll_up_fact_accesses_between(progress.to_xid, until_xid, progress.era_after);
  perform importance.roll_up_accesses_between(
    progress.to_xid, until_xid, progress.era_after, memories.locked_ids, memories.recounted_ids);
  if row_total = 0 then
    return 1;
  end if;
  update importance.access_roll_up
  set to_xid = until_xid, rolled_up_at = clock_timestamp(), newest_at = greatest(newest_at, (
    select max(a.accessed_at) from importance.memory_access_log a
    where a.xid >= progress.to_xid and a.xid < until_xid and a.accessed_at > progress.era_after));
  return least(row_total, max_rows);
end $$;

-- Moved evidence needs a relationship in the new audience. What exists there is locked with the relationships that it leaves, so
-- that memories that move in opposite directions can't deadlock; the others are made in the order of the unique index.
create or replace function graph.tg_packet_store__relationships_follow() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  old_ids constant uuid[] := array(
    select distinct e.relationship_id from public.relationship_evidence e where e.packet_id = new.packet_id);
  equal_ids uuid[] := '{}';
  has_moved constant boolean := packets.audience_id(new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope)
    <> packets.audience_id(old.tenant_id, old.org_id, old.user_id, old.project_id, old.scope);
  relation record;
  target_id uuid;
  new_ids uuid[] := '{}';
begin
  if old_ids = '{}' then
    return null;
  end if;
  if has_moved then
    equal_ids := array(
      select there.relationship_id from public.entity_relationships here
      join public.entity_relationships there
        on there.source_normalized = here.source_normalized and there.relationship_type = here.relationship_type
        and there.target_normalized = here.target_normalized and there.tenant_id = new.tenant_id and there.scope = new.scope
        and there.project_id is not distinct from new.project_id and there.org_id is not distinct from new.org_id
        and there.user_id is not distinct from new.user_id
      where here.relationship_id = any (old_ids));
  end if;
  perform graph.lock_relationships(old_ids || equal_ids);
  if has_moved and new.ttl <= now() then
    -- An expired memory is not readable in any audience.
    delete from public.relationship_evidence e where e.packet_id = new.packet_id;
  elsif has_moved then
    insert into derived.memories_being_restated (packet_id) values (new.packet_id) on conflict do nothing;
    for relation in
      select e.evidence_id, e.source_entity, e.target_entity, r.source_normalized, r.relationship_type, r.target_normalized,
        r.confidence
      from public.relationship_evidence e join public.entity_relationships r on r.relationship_id = e.relationship_id
      where e.packet_id = new.packet_id order by r.source_normalized, r.relationship_type, r.target_normalized
    loop
      insert into public.entity_relationships as r (
        source_entity, relationship_type, target_entity, source_normalized, target_normalized, confidence, source_packet)
      values (
        relation.source_entity, relation.relationship_type, relation.target_entity, relation.source_normalized,
        relation.target_normalized, 0, new.packet_id)
      on conflict (source_normalized, relationship_type, target_normalized, tenant_id, scope, project_id, org_id, user_id)
      do update set relationship_id = r.relationship_id
      returning r.relationship_id into target_id;
      update public.relationship_evidence e
      set relationship_id = target_id, tenant_id = new.tenant_id, org_id = new.org_id, user_id = new.user_id,
        project_id = new.project_id, scope = new.scope, ttl = new.ttl, updated_at = clock_timestamp()
      where e.evidence_id = relation.evidence_id;
      new_ids := new_ids || target_id;
    end loop;
    delete from derived.memories_being_restated r where r.packet_id = new.packet_id;
  else
    update public.relationship_evidence e set ttl = new.ttl, updated_at = clock_timestamp() where e.packet_id = new.packet_id;
  end if;
  perform graph.recompute_relationships(old_ids || new_ids);
  return null;
end $$;

create or replace function review.move_facts(evidence_ids uuid[], from_id uuid, to_id uuid) returns void
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
