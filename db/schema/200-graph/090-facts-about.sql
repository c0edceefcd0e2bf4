-- Facts take part in the graph beside relationships: named_entities() and the graph retriever of a search call these functions.
-- Facts about entities: a fact whose object is a plain value counts for its subject.
create function graph.entities_of_facts(names text[]) returns text[]
language plpgsql stable set search_path = '' set enable_seqscan = off as $$
declare
  me constant identity.identity := identity.require_identity();
begin
  return array(
    select n.name
    from unnest(names) as n (name)
    cross join lateral (
      (select from public.knowledge_facts f
       where f.tenant_id = me.tenant_id and f.subject_normalized = n.name and f.scope = any (me.readable_scopes)
         and (f.ttl is null or f.ttl > now())
       limit 1)
      union all (select from public.knowledge_facts f
       where f.tenant_id = me.tenant_id and f.object_normalized = n.name and f.scope = any (me.readable_scopes)
         and (f.ttl is null or f.ttl > now())
       limit 1)
      limit 1
    ) matching_fact);
end $$;
comment on function graph.entities_of_facts is 'Those names that are subject or object of a fact that the caller can read.';

create type graph.fact_of_entity as (
  place integer, fact_id uuid, subject text, predicate text, object text, confidence double precision);
comment on type graph.fact_of_entity is 'A fact about the entity at a position (place) of a list.';

-- Subject and object are asked apart, each by its own index. The inner limit bounds what is sorted for a name that
-- thousands of facts mention.
create function graph.facts_about(names text[], max_facts integer) returns setof graph.fact_of_entity
language plpgsql stable set search_path = '' set enable_seqscan = off as $$
declare
  me constant identity.identity := identity.require_identity();
begin
  return query
  select n.place::integer, k.fact_id, k.subject, k.predicate, k.object, k.confidence
  from unnest(names) with ordinality as n (name, place)
  cross join lateral (
    select * from (
      select f.fact_id, f.subject, f.predicate, f.object #>> '{}' as object, f.confidence::double precision as confidence,
        f.is_from_admin
      from public.knowledge_facts f
      where f.tenant_id = me.tenant_id and f.subject_normalized = n.name and f.scope = any (me.readable_scopes)
        and f.retracted_at is null and facts.holds_at(f.valid_from, f.valid_to, now())
        and (f.ttl is null or f.ttl > now())
      union select f.fact_id, f.subject, f.predicate, f.object #>> '{}', f.confidence::double precision, f.is_from_admin
      from public.knowledge_facts f
      where f.tenant_id = me.tenant_id and f.object_normalized = n.name and f.scope = any (me.readable_scopes)
        and f.retracted_at is null and facts.holds_at(f.valid_from, f.valid_to, now())
        and (f.ttl is null or f.ttl > now())
      limit 2000
    ) f
    order by f.confidence desc, f.is_from_admin desc limit 100
  ) k
  limit max_facts;
end $$;
comment on function graph.facts_about is 'Facts about these entities that hold now and the caller can read, 100 for each.';

create function graph.packets_of_fact(fact_id uuid) returns setof uuid language sql stable rows 3 set search_path = ''
begin atomic
  select distinct e.packet_id from public.fact_evidence e
  where e.fact_id = packets_of_fact.fact_id order by e.packet_id desc limit 20;
end;
comment on function graph.packets_of_fact is 'The memories that state a fact and that the caller can read, the 20 newest.';
grant execute on function graph.entities_of_facts, graph.facts_about, graph.packets_of_fact to l9_agent, l9_admin,
  l9_platform_admin;
