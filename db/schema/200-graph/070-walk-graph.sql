-- Walks the graph from some entities, level by level. explore_graph() and the graph retriever of a search call walk_graph().
create type public.graph_step as (source_entity text, relationship_type text, target_entity text, direction text,
  confidence double precision, relationship_ids uuid[], creator text, source text);
call identity.describe('public.graph_step', 'One step of a path: a relationship and the direction in which it is followed.
  source_entity: The entity that the relationship starts from.
  relationship_type: The type of the relationship, such as depends_on.
  target_entity: The entity that the relationship leads to.
  direction: outgoing: the path leads from source to target; incoming: from target to source.
  confidence: The combined confidence of all relationships with this triple that the caller can read.
  relationship_ids: The relationships with this triple, most confident first: one for each scope, project, owner and spelling.
  creator: Who stated the most confident of them; of what a model extracted, job. Only explore_graph() fills it in.
  source: The source of who stated it; of what a model extracted, the source of the memory.');

create type graph.graph_node as (name text, entity text, confidence double precision, depth integer, steps public.graph_step[],
  is_new boolean);
comment on type graph.graph_node is 'An entity that a walk reached, and the best path to it.';

create type graph.graph_walk as (nodes graph.graph_node[], followed integer, is_truncated boolean);
comment on type graph.graph_walk is 'The result of a walk: entities reached, relationships followed, and whether more exist.';

create function graph.max_edges_followed() returns integer language sql immutable parallel safe set search_path = '' return 20000;
comment on function graph.max_edges_followed is 'The number of relationships that one walk follows at most.';

create function graph.combined_confidence(ids uuid[]) returns double precision
language sql stable set search_path = '' set enable_seqscan = off
begin atomic
  select entities.noisy_or(array_agg(v.confidence))
  from (
    select max(e.confidence) as confidence
    from (
      select e.agent, e.confidence, bool_or(e.is_from_admin) over () = e.is_from_admin as is_decisive
      from public.relationship_evidence e
      where e.relationship_id = any (ids) and (e.ttl is null or e.ttl > now())
    ) e
    where e.is_decisive group by e.agent
  ) v;
end;
comment on function graph.combined_confidence is 'What these relationships, as far as readable, state together: one voice an '
  'agent, an administrator''s word decides.';

-- Each round resolves aliases, reads the edges of the nodes that the last round improved, combines equal triples, and
-- keeps the best path to each node. The limits of edges and nodes bound every round.
create function graph.walk_graph(entities text[], depth integer, types text[], min_confidence double precision, max_nodes integer)
returns graph.graph_walk
language plpgsql stable set search_path = '' set max_parallel_workers_per_gather = 0 set enable_seqscan = off
-- The joins below may see 20000 rows, which the planner can't estimate; nested loops would be quadratic.
set enable_nestloop = off set jit = off as $$
declare
  me constant identity.identity := identity.require_identity();
  budget constant integer := graph.max_edges_followed();
  -- Without readable aliases, the alias lookups are skipped.
  has_aliases constant boolean := exists (
    select from public.entity_aliases a where a.tenant_id = me.tenant_id and a.scope = any (me.readable_scopes));
  walk graph.graph_walk;
  names text[];
  places integer[];
  level_result record;
  start_count integer;
begin
  walk.followed := 0;
  walk.is_truncated := false;
  select array_agg(row(s.name, s.entity, 1, 0, '{}', true)::graph.graph_node) into walk.nodes
  from (
    select distinct on (n.name) n.name, coalesce(n.alias_of, g.entity) as entity
    from unnest(entities) as g (entity)
    cross join lateral (
      select coalesce(a.entity_normalized, entities.normalise_name(g.entity)) as name, a.entity as alias_of
      from (select) one left join entities.aliases_for(array[entities.normalise_name(g.entity)]) a on has_aliases
    ) n
    order by n.name
  ) s;

  start_count := cardinality(walk.nodes);

  for level in 1 .. depth loop
    select array_agg(n.name order by node.confidence desc, node.place, n.name),
      array_agg(node.place order by node.confidence desc, node.place, n.name)
    into names, places
    from unnest(walk.nodes) with ordinality as node (name, entity, confidence, depth, steps, is_new, place)
    cross join lateral (select node.name union select a.name from entities.aliases_of(node.name) as a (name) where has_aliases) n
    where node.is_new;
    exit when names is null or walk.followed >= budget;

    with edges as materialized (
      select e.* from graph.edges_of(names, budget - walk.followed + 1) e
    ), wanted as materialized (
      select places[e.place] as place, e.is_outgoing, e.relationship_id, e.source_entity, e.relationship_type, e.target_entity,
        e.confidence,
        case when e.is_outgoing then e.target_normalized else e.source_normalized end as name,
        case when e.is_outgoing then e.target_entity else e.source_entity end as entity
      from edges e
      where types is null or e.relationship_type = any (types)
    ), resolved as (
      select w.*, coalesce(a.entity_normalized, w.name) as node, coalesce(a.entity, w.entity) as node_entity
      from wanted w
      left join entities.aliases_for(case when has_aliases then array(select distinct w.name from wanted w) end) a
        on a.alias_normalized = w.name
    ), combined as (
      -- A triple may have a row in several audiences; the caller gets the combined confidence of those it can read.
      select r.place, r.node, r.relationship_type, r.is_outgoing,
        case when count(*) = 1 then max(r.confidence)
          else graph.combined_confidence(array_agg(r.relationship_id)) end as confidence,
        (array_agg(r.node_entity order by r.confidence desc, r.relationship_id))[1] as entity,
        (array_agg(r.source_entity order by r.confidence desc, r.relationship_id))[1] as source_entity,
        (array_agg(r.target_entity order by r.confidence desc, r.relationship_id))[1] as target_entity,
        array_agg(r.relationship_id order by r.confidence desc, r.relationship_id) as relationship_ids
      from resolved r group by r.place, r.node, r.relationship_type, r.is_outgoing
    ), reached as (
      select k.* from unnest(walk.nodes) with ordinality as k (name, entity, confidence, depth, steps, is_new, place)
    ), candidates as (
      select k.name, k.entity, k.confidence, k.depth, k.steps, false as is_new, null::integer as place, null as source_entity,
        null as relationship_type, null as target_entity, null::boolean as is_outgoing, null::double precision as step_confidence,
        null::uuid[] as relationship_ids
      from reached k
      union all select c.node, c.entity, k.confidence * c.confidence, level, k.steps, true, c.place, c.source_entity,
        c.relationship_type, c.target_entity, c.is_outgoing, c.confidence, c.relationship_ids
      from combined c join reached k on k.place = c.place
      where k.confidence * c.confidence > 0 and k.confidence * c.confidence >= min_confidence
    ), merged as (
      -- A cycle can only lower the confidence, so the better path to a node never contains one.
      select distinct on (c.name) c.* from candidates c
      order by c.name, c.confidence desc, c.is_new, c.relationship_type, c.is_outgoing desc, c.place
    ), best as (
      -- Confidence never rises along a path, so a node that is dropped here could not lead to a kept one.
      select m.* from merged m
      order by m.depth = 0 desc, m.confidence desc, m.depth, m.name limit max_nodes + start_count
    )
    select array_agg(
        row(b.name, b.entity, b.confidence, b.depth,
          case when b.is_new then b.steps || row(
            b.source_entity, b.relationship_type, b.target_entity, case when b.is_outgoing then 'outgoing' else 'incoming' end,
            b.step_confidence, b.relationship_ids, null, null)::public.graph_step
          else b.steps end,
          b.is_new)::graph.graph_node
        order by b.depth = 0 desc, b.confidence desc, b.depth, b.name) as nodes,
      (select count(*)::integer from edges) as followed, (select count(*) from merged) > (select count(*) from best b)
        or exists (select from edges e group by e.place having count(*) > graph.max_edges_per_name()) as has_more
    into level_result
    from best b;

    walk.nodes := level_result.nodes;
    walk.followed := walk.followed + level_result.followed;
    walk.is_truncated := walk.is_truncated or level_result.has_more or walk.followed > budget;
  end loop;
  walk.followed := least(walk.followed, budget);
  return walk;
end $$;
comment on function graph.walk_graph is 'Walks the graph from these entities in both directions, level by level, and keeps the '
  'max_nodes entities with the best paths. Follows at most max_edges_followed() relationships, and max_edges_per_name() of one '
  'name; is_truncated is true if there were more.';
grant execute on function graph.combined_confidence, graph.max_edges_followed, graph.walk_graph to l9_agent, l9_admin,
  l9_platform_admin;
