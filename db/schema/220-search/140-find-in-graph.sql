-- The retriever over the entity graph. search_memory() calls it for mode graph, and memory_find for its routes graph and deep.
create type search.graph_matches as (memories search.ranked_memories, entities text[], paths jsonb, is_truncated boolean);
comment on type search.graph_matches is 'The answer of the graph retriever. memories: best first; entities: those that the query '
  'names; paths: maps each memory to its path, with explain; is_truncated: true if not all relations were followed.';

-- Finds the entities of the query, walks one step, takes all relationships and facts of the nodes, and ranks the
-- memories that state them by the confidence of the path.
create function search.find_in_graph(request search.search_request) returns search.graph_matches
language plpgsql stable set search_path = '' set max_parallel_workers_per_gather = 0 set enable_seqscan = off
  set jit = off as $$
declare
  walk graph.graph_walk;
  names text[];
  places integer[];
  memories search.ranked_memories;
  answer search.graph_matches;
begin
  answer.entities := graph.named_entities(request.query, 8);
  if answer.entities = '{}' then
    return answer;
  end if;
  -- One step, and then every relation of the nodes: that makes two steps, and includes relations beside the best paths.
  walk := graph.walk_graph(answer.entities, 1, null, 0, 100);
  answer.is_truncated := walk.is_truncated;
  select array_agg(n.name order by node.place, n.name), array_agg(node.place order by node.place, n.name)
  into names, places
  from unnest(walk.nodes) with ordinality as node (name, entity, confidence, depth, steps, is_new, place)
  cross join lateral (select node.name union select a.name from entities.aliases_of(node.name) as a (name)) n;

  execute format($sql$
    with nodes as materialized (
      select * from unnest($1) with ordinality as n (name, entity, confidence, depth, steps, is_new, place)
    ), related as materialized (
      select distinct on (e.relationship_id) n.place, n.confidence * e.confidence as score, e.relationship_id,
        null::uuid as fact_id,
        row(e.source_entity, e.relationship_type, e.target_entity, case when e.is_outgoing then 'outgoing' else 'incoming' end,
          e.confidence, array[e.relationship_id], null, null)::public.graph_step as step
      from graph.edges_of($2, 10000) e join nodes n on n.place = ($3)[e.place]
      order by e.relationship_id, n.confidence * e.confidence desc
    ), stated as materialized (
      select distinct on (f.fact_id) n.place, n.confidence * f.confidence as score, null::uuid as relationship_id, f.fact_id,
        row(f.subject, f.predicate, f.object, 'outgoing', f.confidence, '{}', null, null)::public.graph_step as step
      from graph.facts_about($2, 2000) f join nodes n on n.place = ($3)[f.place]
      order by f.fact_id, n.confidence * f.confidence desc
    ), statements as materialized (
      select * from related union all select * from stated order by score desc limit 5000
    ), evidence as materialized (
      select s.place, s.score, s.step, m.packet_id
      from statements s
      cross join lateral (
        (select distinct e.packet_id from public.relationship_evidence e
         where e.relationship_id = s.relationship_id and (e.ttl is null or e.ttl > now()) order by e.packet_id desc limit 20)
        union all select f.packet_id from graph.packets_of_fact(s.fact_id) as f (packet_id) where s.fact_id is not null
      ) m
      limit %s
    ), best as (
      select distinct on (v.packet_id) v.* from evidence v order by v.packet_id, v.score desc, v.place
    ), kept as materialized (
      select b.*, row_number() over (order by b.score desc, b.packet_id desc) as rank
      from best b join public.packet_store p on p.packet_id = b.packet_id
      where b.score > 0 and %s order by b.score desc, b.packet_id desc limit %s
    )
    select array_agg(k.packet_id order by k.rank), array_agg(k.score::real order by k.rank),
      case when $4 then jsonb_object_agg(k.packet_id, jsonb_build_object(
        'entity', case (n.steps[1]).direction
          when 'outgoing' then (n.steps[1]).source_entity when 'incoming' then (n.steps[1]).target_entity else n.entity end,
        'path', (
          select jsonb_agg(jsonb_build_object(
            'source_entity', s.source_entity, 'relationship_type', s.relationship_type, 'target_entity', s.target_entity,
            'direction', s.direction, 'confidence', s.confidence) order by s.place)
          from unnest(n.steps || k.step) with ordinality as s (
            source_entity, relationship_type, target_entity, direction, confidence, relationship_ids, creator, source, place))))
              end
    from kept k join nodes n on n.place = k.place$sql$,
    search.max_scanned_rows(), request.current_or_past_condition, request.candidates)
  into memories.ids, memories.scores, answer.paths
  using walk.nodes, names, places, request.is_explained;
  answer.memories := memories;
  return answer;
end $$;
comment on function search.find_in_graph is 'Retriever over the entity graph: memories that state the relations and facts within '
  'two steps of the entities that the query names. The score of a memory is the confidence of the best path to a relation or '
  'fact that it states. At most the 5000 relations and facts of highest confidence are used, with 20 memories for each.';
grant execute on function search.find_in_graph to l9_agent, l9_admin, l9_platform_admin;
