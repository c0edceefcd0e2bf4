-- Takes over what a chat model found in a memory. The extraction job calls store_extraction() with the answer.
create type extraction.stored_extraction as (is_stored boolean, facts integer, relations integer, dropped integer);
comment on type extraction.stored_extraction is 'What was stored of a chat model''s answer, and how many items were dropped.';

-- Asserts item by item; a refused item is undone alone.
create function extraction.assert_items(source public.packet_store, extraction jsonb, model text)
returns extraction.stored_extraction
language plpgsql volatile set search_path = '' as $$
declare
  stored extraction.stored_extraction := (true, 0, 0, 0);
  item jsonb;
  is_fit boolean;
begin
  -- Only names, values and confidences are taken from the answer. The order prevents deadlocks with other writers.
  for item, is_fit in
    select f.item, f.is_fit
    from (
      select jsonb_build_object('subject', e.item -> 'name', 'predicate', 'is a', 'object', e.item -> 'type',
        'confidence', e.item -> 'confidence') as item, e.is_fit
      from extraction.extracted_items(extraction, 'entities', '{name,type}') e
      union all
      select e.item, e.is_fit from extraction.extracted_items(extraction, 'facts', '{subject,predicate,object}') e
    ) f
    order by entities.normalise_name(f.item ->> 'subject'), entities.normalise_name(f.item ->> 'predicate'), f.item ->> 'object'
  loop
    if is_fit then
      begin
        perform facts.assert_fact_from(
          source.packet_id, btrim(item ->> 'subject'), item ->> 'predicate', to_jsonb(btrim(item ->> 'object')),
          (item ->> 'confidence')::double precision, kinds.field_time(item -> 'valid_from'),
          extracted_by => assert_items.model);
        stored.facts := stored.facts + 1;
        continue;
      exception when sqlstate 'L9VAL' or sqlstate 'L9LIM' or sqlstate 'L9SEC' then
        null; -- An item that breaks a rule of facts, or has a secret, is dropped.
      end;
    end if;
    stored.dropped := stored.dropped + 1;
  end loop;

  for item, is_fit in
    select e.item, e.is_fit from extraction.extracted_items(extraction, 'relations', '{source,type,target}') e
    order by entities.normalise_name(e.item ->> 'source'), entities.normalise_name(e.item ->> 'type'),
      entities.normalise_name(e.item ->> 'target')
  loop
    if is_fit then
      begin
        perform graph.relate_from(
          source.packet_id, item ->> 'source', item ->> 'type', item ->> 'target', (item ->> 'confidence')::double precision,
          extracted_by => assert_items.model);
        stored.relations := stored.relations + 1;
        continue;
      exception when sqlstate 'L9VAL' or sqlstate 'L9LIM' or sqlstate 'L9SEC' then
        null;
      end;
    end if;
    stored.dropped := stored.dropped + 1;
  end loop;
  return stored;
end $$;
comment on function extraction.assert_items is 'Asserts the facts and relationships of an answer of a chat model from the '
  'memory that it read. Not executable by callers.';

-- Locks the memory, checks that its text and the settings are those of the lease, takes the former extraction back,
-- and asserts the items or, where they need a review, keeps them for it.
create function extraction.store_extraction(packet_id uuid, content_hash bytea, extraction jsonb, model text)
returns extraction.stored_extraction
language plpgsql volatile security definer set search_path = ''
-- Shorter than deadlock_timeout, so that this job gives way before a caller's transaction could fail.
set lock_timeout = '500ms' as $$
declare
  stored extraction.stored_extraction := (false, 0, 0, 0);
  source public.packet_store;
begin
  if coalesce(btrim(store_extraction.model), '') = '' or octet_length(store_extraction.model) > 200 then
    perform identity.raise_error('L9VAL', 'model: a name of at most 200 bytes is required', 'model');
  end if;
  select p.* into source from public.packet_store p
  where p.packet_id = store_extraction.packet_id and p.content_hash = store_extraction.content_hash
  for no key update;
  if not found then
    return stored; -- The memory was deleted, or changed since the lease and is queued again.
  end if;
  delete from extraction.pending_extractions q where q.packet_id = source.packet_id;
  if not exists (
    select from public.extraction_settings s
    where s.tenant_id = source.tenant_id and extraction.is_wanted(s, source.packet_type, source.scope, source.ttl)) then
    return stored;
  end if;

  perform facts.withdraw_evidence(source.packet_id, only_extracted => true);
  perform extraction.withdraw_extracted_relationships(source.packet_id);

  delete from extraction.proposals d where d.source_packet = source.packet_id;
  if packets.needs_review(source.tenant_id, 'job', source.scope, source.project_id, 'extraction', 'l9-memory') then
    perform extraction.propose(source, extraction, store_extraction.model);
    stored.is_stored := true;
    return stored;
  end if;
  return extraction.assert_items(source, extraction, store_extraction.model);
end $$;
comment on function extraction.store_extraction is 'Stores what a chat model extracted from a memory, replaces the previous '
  'extraction, and removes the memory from the queue, in one transaction: entities (as facts with the predicate is a), facts '
  'and relationships, at most 50 of each. Items that break a limit are dropped and counted. Where extractions need a review, '
  'one memory of kind extraction waits with all items. Stores nothing if the text has changed since the lease or the tenant '
  'no longer wants it read. Scope, owner and source are the memory''s own, whatever the answer contains. For jobs. Definer: '
  'writes tables that jobs can''t write.';
grant execute on function extraction.store_extraction to l9_worker;
