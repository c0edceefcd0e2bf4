-- Facts about the entities of the graph. What has no object that is an entity is about its subject all the same.

create function graph.entities_of_facts(names text[])
returns text[]
language plpgsql
stable
set search_path = ''
set enable_seqscan = off
as $$
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
      union all
      (select from public.knowledge_facts f
       where f.tenant_id = me.tenant_id and f.object_normalized = n.name and f.scope = any (me.readable_scopes)
         and (f.ttl is null or f.ttl > now())
       limit 1)
      limit 1
    ) known);
end
$$;

comment on function graph.entities_of_facts(text[]) is 'Which of these names are subject or object of a fact that the caller sees.';

create type graph.fact_of_entity as (
  place integer, fact_id uuid, subject text, predicate text, object text, confidence double precision);

comment on type graph.fact_of_entity is 'A fact about the entity at a place of a list.';

create function facts.facts_of(names text[], most integer)
returns setof graph.fact_of_entity
language plpgsql
stable
set search_path = ''
set enable_seqscan = off
as $$
declare
  me constant identity.identity := identity.require_identity();
begin
  return query
  select n.place::integer, k.fact_id, k.subject, k.predicate, k.object, k.confidence
  from unnest(names) with ordinality as n (name, place)
  cross join lateral (
    select * from (
      select f.fact_id, f.subject, f.predicate, f.object #>> '{}' as object, f.confidence::double precision as confidence
      from public.knowledge_facts f
      where f.tenant_id = me.tenant_id and f.subject_normalized = n.name and f.scope = any (me.readable_scopes)
        and f.superseded_by is null and f.retracted_at is null and (f.valid_to is null or f.valid_to > now())
        and (f.ttl is null or f.ttl > now())
      union
      select f.fact_id, f.subject, f.predicate, f.object #>> '{}', f.confidence::double precision
      from public.knowledge_facts f
      where f.tenant_id = me.tenant_id and f.object_normalized = n.name and f.scope = any (me.readable_scopes)
        and f.superseded_by is null and f.retracted_at is null and (f.valid_to is null or f.valid_to > now())
        and (f.ttl is null or f.ttl > now())
      limit 2000
    ) f
    order by f.confidence desc
    limit 100
  ) k
  limit most;
end
$$;

comment on function facts.facts_of(text[], integer) is
  'Facts about these entities that hold and that the caller sees, the surest first: 100 of each at most, and most in all.';

create function graph.packets_of_fact(fact_id uuid)
returns setof uuid
language sql
stable
rows 3
set search_path = ''
begin atomic
  select e.packet_id from public.fact_evidence e where e.fact_id = packets_of_fact.fact_id order by e.packet_id desc limit 20;
end;

comment on function graph.packets_of_fact(uuid) is 'The memories that state a fact, as far as the caller sees them: the 20 newest at most.';

grant execute on function
  graph.entities_of_facts(text[]), facts.facts_of(text[], integer), graph.packets_of_fact(uuid)
to l9_agent, l9_admin, l9_platform_admin;
