-- Which facts belong together, and the locks for them. Every function that writes facts first builds a key, calls
-- lock_facts(), and reads what it recomputes by facts_with_key().
create type facts.fact_key as (tenant_id uuid, audience_id uuid, subject_normalized text, predicate text, object_normalized text);
comment on type facts.fact_key is 'Facts recomputed together: of an audience, subject and predicate, and object if multi-valued.';

create function facts.facts_with_key(key facts.fact_key, is_single boolean) returns setof public.knowledge_facts
language sql stable
begin atomic
  select f.* from public.knowledge_facts f
  where f.audience_id = (key).audience_id and f.subject_normalized = (key).subject_normalized and f.predicate = (key).predicate
    and (is_single or f.object_normalized = (key).object_normalized);
end;
comment on function facts.facts_with_key is 'Facts recomputed together, also ended, expired or retracted ones.';

create function facts.lock_facts(variadic keys facts.fact_key[]) returns void language plpgsql volatile set search_path = '' as $$
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
