create type public.graph_step as (
  source_entity text,
  relationship_type text,
  target_entity text,
  direction text,
  confidence double precision,
  relationship_ids uuid[]
);

comment on type public.graph_step is 'A relation on a path.';
comment on column public.graph_step.source_entity is 'The entity that the relation goes out from.';
comment on column public.graph_step.relationship_type is 'What the relation is, such as depends_on.';
comment on column public.graph_step.target_entity is 'The entity that the relation goes to.';
comment on column public.graph_step.direction is 'outgoing: the path goes from source to target; incoming: the other way.';
comment on column public.graph_step.confidence is 'Of all relations together that say so and that the caller sees.';
comment on column public.graph_step.relationship_ids is 'The relations that say so: one for each place (scope, project, owner) and spelling that has it, the surest first.';

create type graph.graph_node as (
  name text,
  entity text,
  confidence double precision,
  depth integer,
  steps public.graph_step[],
  is_new boolean
);

comment on type graph.graph_node is 'An entity that was reached, and the best path to it.';

create type graph.graph_walk as (nodes graph.graph_node[], followed integer, is_truncated boolean);

comment on type graph.graph_walk is 'What was reached, starts first, then the best; how many relations were followed; whether there is more.';

create function graph.walk_graph(
  entities text[], depth integer, types text[], min_confidence double precision, most integer)
returns graph.graph_walk
language plpgsql
stable
set search_path = ''
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- What is joined here may be 20000 rows, which nobody can estimate.
set enable_nestloop = off
set jit = off
as $$
#variable_conflict use_variable
declare
  me constant identity.identity := identity.require_identity();
  budget constant integer := 20000;
  -- Where there are none, none are looked up.
  has_aliases constant boolean := exists (
    select from public.entity_aliases a where a.tenant_id = me.tenant_id and a.scope = any (me.readable_scopes));
  walk graph.graph_walk;
  names text[];
  places integer[];
  met record;
  starts integer;
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

  starts := cardinality(walk.nodes);

  for level in 1 .. depth loop
    select array_agg(n.name order by node.confidence desc, node.place, n.name),
      array_agg(node.place order by node.confidence desc, node.place, n.name)
    into names, places
    from unnest(walk.nodes) with ordinality as node (name, entity, confidence, depth, steps, is_new, place)
    cross join lateral (
      select node.name
      union
      select a.name from entities.aliases_of(node.name) as a (name) where has_aliases
    ) n
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
      -- Whoever sees several places sees together what they say.
      select r.place, r.node, r.relationship_type, r.is_outgoing,
        case when count(*) = 1 then max(r.confidence) else graph.noisy_or(array_agg(r.confidence)) end as confidence,
        (array_agg(r.node_entity order by r.confidence desc, r.relationship_id))[1] as entity,
        (array_agg(r.source_entity order by r.confidence desc, r.relationship_id))[1] as source_entity,
        (array_agg(r.target_entity order by r.confidence desc, r.relationship_id))[1] as target_entity,
        array_agg(r.relationship_id order by r.confidence desc, r.relationship_id) as relationship_ids
      from resolved r
      group by r.place, r.node, r.relationship_type, r.is_outgoing
    ), known as (
      select k.* from unnest(walk.nodes) with ordinality as k (name, entity, confidence, depth, steps, is_new, place)
    ), candidates as (
      select k.name, k.entity, k.confidence, k.depth, k.steps, false as is_new, null::integer as place, null as source_entity,
        null as relationship_type, null as target_entity, null::boolean as is_outgoing, null::double precision as step_confidence,
        null::uuid[] as relationship_ids
      from known k
      union all
      select c.node, c.entity, k.confidence * c.confidence, level, k.steps, true, c.place, c.source_entity,
        c.relationship_type, c.target_entity, c.is_outgoing, c.confidence, c.relationship_ids
      from combined c join known k on k.place = c.place
      where k.confidence * c.confidence > 0 and k.confidence * c.confidence >= min_confidence
    ), merged as (
      -- A path that comes back to where it was is worth less than it was there: no path has a cycle.
      select distinct on (c.name) c.* from candidates c
      order by c.name, c.confidence desc, c.is_new, c.relationship_type, c.is_outgoing desc, c.place
    ), best as (
      -- No path leads on from below the best to above them: what is left out here would be left out at the end.
      select m.* from merged m
      order by m.depth = 0 desc, m.confidence desc, m.depth, m.name
      limit most + starts
    )
    select array_agg(
        row(b.name, b.entity, b.confidence, b.depth,
          case when b.is_new then b.steps || row(
            b.source_entity, b.relationship_type, b.target_entity, case when b.is_outgoing then 'outgoing' else 'incoming' end,
            b.step_confidence, b.relationship_ids)::public.graph_step
          else b.steps end,
          b.is_new)::graph.graph_node
        order by b.depth = 0 desc, b.confidence desc, b.depth, b.name) as nodes,
      (select count(*)::integer from edges) as followed,
      (select count(*) from merged) > (select count(*) from best b)
        or exists (select from edges e group by e.place having count(*) > graph.edges_of_a_name()) as has_more
    into met
    from best b;

    walk.nodes := met.nodes;
    walk.followed := walk.followed + met.followed;
    walk.is_truncated := walk.is_truncated or met.has_more or walk.followed > budget;
  end loop;
  walk.followed := least(walk.followed, budget);
  return walk;
end
$$;

comment on function graph.walk_graph(text[], integer, text[], double precision, integer) is
  'Walks the graph from these entities, both ways, level by level, and keeps the most (limit) that are reached best. Follows 20000 relations at most, and 1000 of one name: is_truncated says where there were more.';

grant execute on function graph.walk_graph(text[], integer, text[], double precision, integer)
  to l9_agent, l9_admin, l9_platform_admin;
