-- Recognises the entities that a query names, by looking up every run of its words. The graph retriever of a search
-- and the choice of a route by memory_find call named_entities().
create function graph.max_query_words() returns integer language sql immutable parallel safe set search_path = '' return 48;
comment on function graph.max_query_words is 'The number of words, from the start of a query, in which names are recognised.';

create function graph.phrases_of(query text) returns table (phrase text, first integer, last integer)
language sql immutable parallel safe set search_path = ''
begin atomic
  with words as (
    select (regexp_split_to_array(entities.normalise_name(left(query, 8000)), ' '))[1:graph.max_query_words()] as list
  ), runs as (
    select s.start, s.start + n.size - 1 as stop, array_to_string(w.list[s.start : s.start + n.size - 1], ' ') as run
    from words w
    cross join lateral generate_series(1, cardinality(w.list)) as s (start)
    cross join lateral generate_series(1, least(6, cardinality(w.list) - s.start + 1)) as n (size)
  )
  -- Each run as written, without the punctuation around it, and without a genitive 's.
  select distinct v.phrase, r.start, r.stop
  from runs r
  cross join lateral (values (r.run), (regexp_replace(r.run, '[''’]s$', ''))) as g (run)
  cross join lateral (values (g.run),
    (regexp_replace(g.run, '^[[:punct:]“”„«»‘’¿¡]+|[[:punct:]“”„«»‘’…]+$', '', 'g'))) as v (phrase)
  where v.phrase <> '' and octet_length(v.phrase) <= entities.max_name_bytes();
end;
comment on function graph.phrases_of is 'All runs of one to six words of a text, normalised, with their first and last place.';

-- Looks up each phrase in the indexes of relationships, aliases and facts, and then takes the longest ones first; a
-- word belongs to one entity only.
create function graph.named_entities(query text, max_entities integer) returns text[]
language plpgsql stable set search_path = '' set max_parallel_workers_per_gather = 0 set enable_seqscan = off
  set enable_bitmapscan = off set jit = off as $$
declare
  me constant identity.identity := identity.require_identity();
  is_taken boolean[] := array_fill(false, array[graph.max_query_words()]);
  of_facts text[] := graph.entities_of_facts(array(select distinct p.phrase from graph.phrases_of(query) p));
  entity_names text[] := '{}';
  candidate record;
begin
  for candidate in
    select p.phrase, p.first, p.last
    from graph.phrases_of(query) p
    left join lateral (
      (select true as is_known from unnest(me.readable_scopes) as s (name), public.entity_relationships r
       where r.tenant_id = me.tenant_id and r.source_normalized = p.phrase and r.scope = s.name
         and (r.ttl is null or r.ttl > now())
       limit 1)
      union all (select true from unnest(me.readable_scopes) as s (name), public.entity_relationships r
       where r.tenant_id = me.tenant_id and r.target_normalized = p.phrase and r.scope = s.name
         and (r.ttl is null or r.ttl > now())
       limit 1)
      union all (select true from unnest(me.readable_scopes) as s (name), public.entity_aliases a
       where a.tenant_id = me.tenant_id and a.alias_normalized = p.phrase and a.scope = s.name
         and (a.ttl is null or a.ttl > now())
         and entities.counts_for_caller(a)
       limit 1)
      union all (select true from unnest(me.readable_scopes) as s (name), public.entity_aliases a
       where a.tenant_id = me.tenant_id and a.entity_normalized = p.phrase and a.scope = s.name
         and (a.ttl is null or a.ttl > now())
         and entities.counts_for_caller(a)
       limit 1)
      limit 1
    ) graph on true
    where graph.is_known or p.phrase = any (of_facts)
    -- The longest phrase wins: "billing api" rather than "api".
    order by p.last - p.first desc, p.first, p.phrase
  loop
    exit when cardinality(entity_names) >= max_entities;
    continue when true = any (is_taken[candidate.first : candidate.last]) or candidate.phrase = any (entity_names);
    entity_names := entity_names || candidate.phrase;
    for word in candidate.first .. candidate.last loop
      is_taken[word] := true;
    end loop;
  end loop;
  return entity_names;
end $$;
comment on function graph.named_entities is 'The entities in the graph and in facts that a text names, longest first.';
grant execute on function graph.max_query_words, graph.phrases_of, graph.named_entities to l9_agent, l9_admin, l9_platform_admin;
