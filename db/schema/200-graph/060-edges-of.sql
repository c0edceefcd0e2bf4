-- One level of a walk: the relationships of a list of names, in both directions. walk_graph() calls it for each
-- level, and the graph retriever of a search for the last one.
create type graph.graph_edge as (place integer, is_outgoing boolean, relationship_id uuid, source_entity text,
  source_normalized text, relationship_type text, target_entity text, target_normalized text, confidence double precision);
comment on type graph.graph_edge is 'A relationship as seen from one of its two entities, the name at position place of a list.';

create function graph.max_edges_per_name() returns integer language sql immutable parallel safe set search_path = '' return 1000;
comment on function graph.max_edges_per_name is 'The most relationships of one name that a walk follows.';

-- Asks each name and readable scope by itself, so that each question is one range of an index that is already in the
-- order of confidence, and stops at its limit.
create function graph.edges_of(names text[], max_edges integer) returns setof graph.graph_edge
language plpgsql stable set search_path = '' set max_parallel_workers_per_gather = 0 set enable_seqscan = off
-- Only an index scan returns the most confident relationship of a name first, so other plans are ruled out.
set enable_bitmapscan = off set enable_nestloop = on set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  me constant identity.identity := identity.require_identity();
  -- Fetches one more than a walk follows, so that the caller can tell whether there are more.
  bound constant integer := graph.max_edges_per_name() + 1;
begin
  return query
  select n.place::integer, e.*
  from unnest(edges_of.names) with ordinality as n (name, place)
  cross join lateral (
    select r.is_outgoing, r.relationship_id, r.source_entity, r.source_normalized, r.relationship_type, r.target_entity,
      r.target_normalized, r.confidence
    from unnest(me.readable_scopes) as s (name)
    cross join lateral (
      (select true as is_outgoing, o.* from public.entity_relationships o
      where o.tenant_id = me.tenant_id and o.source_normalized = n.name and o.scope = s.name and (o.ttl is null or o.ttl > now())
      order by o.confidence desc limit bound)
      union all
      (select false, i.* from public.entity_relationships i
      where i.tenant_id = me.tenant_id and i.target_normalized = n.name and i.scope = s.name and (i.ttl is null or i.ttl > now())
      order by i.confidence desc limit bound)
    ) r
    order by r.confidence desc limit bound
  ) e
  limit edges_of.max_edges;
end $$;
comment on function graph.edges_of is 'Returns the relationships of these names that the caller can read: names in the order of '
  'the list, relationships of each name most confident first. At most max_edges_per_name() + 1 for each name, and max_edges in '
  'total.';
grant execute on function graph.max_edges_per_name, graph.edges_of to l9_agent, l9_admin, l9_platform_admin;
