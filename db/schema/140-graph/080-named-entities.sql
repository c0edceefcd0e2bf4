create function graph.phrases_of(query text)
returns table (phrase text, first integer, last integer)
language sql
immutable
parallel safe
set search_path = ''
begin atomic
  with words as (
    select (regexp_split_to_array(entities.normalise_name(left(query, 8000)), ' '))[1:48] as list
  ), runs as (
    select s.start, s.start + n.size - 1 as stop, array_to_string(w.list[s.start : s.start + n.size - 1], ' ') as run
    from words w
    cross join lateral generate_series(1, cardinality(w.list)) as s (start)
    cross join lateral generate_series(1, least(6, cardinality(w.list) - s.start + 1)) as n (size)
  )
  -- As written, without the signs around it, and without a genitive's s.
  select distinct v.phrase, r.start, r.stop
  from runs r
  cross join lateral (values (r.run), (regexp_replace(r.run, '[''’]s$', ''))) as g (run)
  cross join lateral (values (g.run), (regexp_replace(g.run, '^[[:punct:]“”„«»‘’¿¡]+|[[:punct:]“”„«»‘’…]+$', '', 'g'))) as v (phrase)
  where v.phrase <> '' and octet_length(v.phrase) <= 1000;
end;

comment on function graph.phrases_of(text) is 'Runs of one to six words among the first 48 of a text, normalised as names are; and where they are.';

create function graph.named_entities(query text, most integer)
returns text[]
language plpgsql
stable
set search_path = ''
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  me constant identity.identity := identity.require_identity();
  is_taken boolean[] := array_fill(false, array[48]);
  of_facts text[] := graph.entities_of_facts(array(select distinct p.phrase from graph.phrases_of(query) p));
  named text[] := '{}';
  found record;
begin
  for found in
    select p.phrase, p.first, p.last
    from graph.phrases_of(query) p
    left join lateral (
      (select true as is_known from unnest(me.readable_scopes) as s (name), public.entity_relationships r
       where r.tenant_id = me.tenant_id and r.source_normalized = p.phrase and r.scope = s.name and (r.ttl is null or r.ttl > now())
       limit 1)
      union all
      (select true from unnest(me.readable_scopes) as s (name), public.entity_relationships r
       where r.tenant_id = me.tenant_id and r.target_normalized = p.phrase and r.scope = s.name and (r.ttl is null or r.ttl > now())
       limit 1)
      union all
      (select true from unnest(me.readable_scopes) as s (name), public.entity_aliases a
       where a.tenant_id = me.tenant_id and a.alias_normalized = p.phrase and a.scope = s.name and (a.ttl is null or a.ttl > now())
       limit 1)
      union all
      (select true from unnest(me.readable_scopes) as s (name), public.entity_aliases a
       where a.tenant_id = me.tenant_id and a.entity_normalized = p.phrase and a.scope = s.name and (a.ttl is null or a.ttl > now())
       limit 1)
      limit 1
    ) graph on true
    where graph.is_known or p.phrase = any (of_facts)
    -- The longest first: of "billing api" and "api" it is the billing api that is meant.
    order by p.last - p.first desc, p.first, p.phrase
  loop
    exit when cardinality(named) >= most;
    continue when true = any (is_taken[found.first : found.last]) or found.phrase = any (named);
    named := named || found.phrase;
    for word in found.first .. found.last loop
      is_taken[word] := true;
    end loop;
  end loop;
  return named;
end
$$;

comment on function graph.named_entities(text, integer) is
  'The entities that a text names, normalised: names and aliases in the graph and in facts that the caller sees, the longest first.';

grant execute on function graph.phrases_of(text), graph.named_entities(text, integer)
  to l9_agent, l9_admin, l9_platform_admin;
