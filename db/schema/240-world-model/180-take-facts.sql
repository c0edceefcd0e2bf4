-- Facts change the world of their readers by updates of their own, which name the fact and come from a memory that states it. So
-- a world with facts is folded, erased and moved like any other; only supersession and retraction are followed here.

-- Facts take part in the permission checks of whoever asserted them. An update that follows from another change, such as an
-- erasure, must not ask for those of its caller.
drop trigger _300_take_from_source on public.world_model_updates;
create trigger _300_take_from_source before insert on public.world_model_updates
  for each row when (new.fact_id is null) execute function derived.tg__take_from_source('source_packet', 'trace_id');

create function world_model.tg_world_model_updates__take_from_evidence() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  select e.tenant_id, e.org_id, e.user_id, e.project_id, e.scope, e.ttl, e.correlation_id, e.session_id, e.trace_id, e.creator,
    e.source, e.agent, e.is_from_admin
  into strict new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope, new.ttl, new.correlation_id, new.session_id,
    new.trace_id, new.creator, new.source, new.agent, new.is_from_admin
  from public.fact_evidence e where e.fact_id = new.fact_id and e.packet_id = new.source_packet
  order by e.is_from_admin desc, e.created_at limit 1;
  new.created_at := clock_timestamp();
  new.updated_at := new.created_at;
  return new;
end $$;
comment on function world_model.tg_world_model_updates__take_from_evidence is 'Gives an update by a fact the owner, scope, '
  'expiry and references of the evidence. Definer: callers can''t read all evidence.';

create trigger _300_take_from_evidence before insert on public.world_model_updates
  for each row when (new.fact_id is not null) execute function world_model.tg_world_model_updates__take_from_evidence();

create function world_model.names_type(fact public.knowledge_facts) returns boolean language sql immutable parallel safe
return (fact).predicate = 'is a' and not (fact).is_single_valued and pg_catalog.jsonb_typeof((fact).object) = 'string';
comment on function world_model.names_type is 'True for a fact that says what its subject is, as in "billing is a service".';

-- Compares the value that holds now with the last one that facts brought into the world, and adds an update only if
-- they differ. Several facts of one statement thus lead to one update.
create function world_model.take_fact(fact public.knowledge_facts) returns void
language plpgsql volatile set search_path = '' as $$
declare
  is_type constant boolean := world_model.names_type(fact);
  current public.knowledge_facts;
  applied public.world_model_updates;
  last_update public.world_model_updates;
  version integer;
begin
  -- Several values of one predicate do not make an attribute.
  if not (fact.is_single_valued or is_type) or not exists (
    select from public.knowledge_facts f
    join public.fact_evidence e on e.fact_id = f.fact_id and e.into_world
    where f.audience_id = fact.audience_id and f.subject_normalized = fact.subject_normalized and f.predicate = fact.predicate
      and f.retracted_at is null and (not is_type or f.fact_id = fact.fact_id))
  then
    return;
  end if;
  -- What contradicts a value of the world takes its place, whether or not it was meant for the world.
  select f.* into current
  from public.knowledge_facts f
  where f.audience_id = fact.audience_id and f.subject_normalized = fact.subject_normalized and f.predicate = fact.predicate
    and f.retracted_at is null and (f.ttl is null or f.ttl > now()) and (not is_type or f.fact_id = fact.fact_id)
    and facts.holds_at(f.valid_from, f.valid_to, clock_timestamp())
    and exists (select from public.fact_evidence e where e.fact_id = f.fact_id and e.packet_id = f.source_packet)
  limit 1;
  if not found or not world_model.takes_facts(fact.tenant_id) then
    return;
  end if;
  select u.* into last_update
  from public.knowledge_facts f join public.world_model_updates u on u.fact_id = f.fact_id and u.audience_id = f.audience_id
  where f.audience_id = fact.audience_id and f.subject_normalized = fact.subject_normalized and f.predicate = fact.predicate
    and (not is_type or f.fact_id = fact.fact_id)
  order by u.state_version_after desc limit 1;
  if last_update.fact_id = current.fact_id and last_update.is_from_admin >= current.is_from_admin then
    return;
  end if;

  version := world_model.take_next_version(fact.audience_id, null);
  if exists (select from public.world_model_entities e where e.audience_id = fact.audience_id and e.ttl <= now()) then
    perform world_model.recompute_world(fact.audience_id, false);
  end if;
  insert into public.world_model_updates as u (
    source_packet, insight_id, insight_type, fact_id, entities, confidence, state_version_before, state_version_after)
  values (
    current.source_packet, current.source_packet, 'fact', current.fact_id,
    jsonb_build_array(jsonb_build_object('entity_id', current.subject) || case
      when is_type then jsonb_build_object('entity_type', current.object)
      else jsonb_build_object('attributes', jsonb_build_object(current.predicate, current.object)) end),
    current.confidence, version - 1, version)
  returning u.* into applied;
  perform world_model.merge_update(applied);
end $$;
comment on function world_model.take_fact is 'Brings a fact''s current value into its world, if one was meant for it.';

-- First takes out the updates whose fact was retracted, moved or lost its memory, then lets each fact bring in the
-- current value, in the order in which worlds are locked.
create function world_model.follow_facts(fact_ids uuid[]) returns void language plpgsql volatile set search_path = '' as $$
declare
  lost uuid[];
  fact public.knowledge_facts;
begin
  if cardinality(fact_ids) = 0 then
    return;
  end if;
  lost := array(
    select u.update_id from public.world_model_updates u
    where u.fact_id = any (fact_ids) and not exists (
      select from public.knowledge_facts f
      join public.fact_evidence e on e.fact_id = f.fact_id and e.packet_id = u.source_packet
      where f.fact_id = u.fact_id and f.audience_id = u.audience_id and f.retracted_at is null));
  if lost <> '{}' then
    -- A trigger of this table recomputes the worlds: an earlier value applies again.
    delete from public.world_model_updates u where u.update_id = any (lost);
  end if;
  for fact in
    select f.* from public.knowledge_facts f
    where f.fact_id = any (fact_ids) and (f.is_single_valued or world_model.names_type(f))
    order by f.audience_id, f.subject_normalized, f.predicate, f.fact_id
  loop
    perform world_model.take_fact(fact);
  end loop;
end $$;
comment on function world_model.follow_facts is 'Takes values of lost facts out of worlds, and brings in current ones.';

create function world_model.tg_knowledge_facts__worlds_follow() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if tg_op = 'DELETE' then
    perform world_model.follow_facts(array(select o.fact_id from old_rows o));
  else
    -- Counts and confidences change often, and no world shows them.
    perform world_model.follow_facts(array(
      select n.fact_id from new_rows n join old_rows o on o.fact_id = n.fact_id
      where (n.audience_id, n.source_packet, n.object, n.is_single_valued, n.valid_from, n.is_from_admin)
          is distinct from (o.audience_id, o.source_packet, o.object, o.is_single_valued, o.valid_from, o.is_from_admin)
        or n.valid_to is distinct from o.valid_to or n.retracted_at is distinct from o.retracted_at));
  end if;
  return null;
end $$;
comment on function world_model.tg_knowledge_facts__worlds_follow is 'Makes worlds follow facts that were superseded, retracted, '
  'moved or deleted. Definer: callers can''t write these tables.';

create trigger _640_worlds_follow_update after update on public.knowledge_facts
  referencing old table as old_rows new table as new_rows
  for each statement execute function world_model.tg_knowledge_facts__worlds_follow();
create trigger _640_worlds_follow_delete after delete on public.knowledge_facts referencing old table as old_rows
  for each statement execute function world_model.tg_knowledge_facts__worlds_follow();

create function world_model.tg_fact_evidence__into_world() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.extracted_by is null and not world_model.takes_facts(new.tenant_id) then
    perform identity.raise_error('L9VAL',
      'into_world: this tenant keeps facts out of its world model (set_world_model_settings)');
  end if;
  -- A new fact is not current yet; the update that makes it so is followed.
  perform world_model.follow_facts(array[new.fact_id]);
  return null;
end $$;
comment on function world_model.tg_fact_evidence__into_world is 'Brings a known fact into the world when somebody asks for it. '
  'Raises L9VAL if the tenant keeps facts out of its world model. Definer: callers can''t write these tables.';

create trigger _640_into_world after insert on public.fact_evidence
  for each row when (new.into_world) execute function world_model.tg_fact_evidence__into_world();
create trigger _640_into_world_later after update of into_world on public.fact_evidence
  for each row when (new.into_world and not old.into_world) execute function world_model.tg_fact_evidence__into_world();
