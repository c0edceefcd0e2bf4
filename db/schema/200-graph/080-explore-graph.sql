-- The operation explore_graph: what an entity is related to, with the best path to each, as a type that GraphQL shows.
create type public.graph_path as (entity text, confidence double precision, depth integer, steps public.graph_step[]);
call identity.describe('public.graph_path', 'An entity that was reached, and the best path to it.
  entity: The entity that was reached.
  confidence: The product of the confidences of the steps.
  depth: The number of steps.
  steps: The relationships of the path, in order.');

create type public.graph_exploration as (entity text, known_as text[], paths public.graph_path[], edges_followed integer,
  is_truncated boolean, aliases public.applied_alias[]);
call identity.describe('public.graph_exploration', 'The entities that are related to an entity, as far as the caller can read.
  entity: The start entity: the given name, or the entity that the given alias names.
  known_as: All names of the start entity, normalised.
  paths: The entities that were reached, each with its best path, most confident first.
  edges_followed: The number of relationships that were followed.
  is_truncated: True if there is more: more entities than limit, or more relationships than a call follows (20000 in total, and
    the 1000 most confident of one name).
  aliases: The aliases by which the start entity was found, and whose word they are.');

create function graph.with_creators(steps public.graph_step[]) returns public.graph_step[]
language sql stable set search_path = '' set enable_seqscan = off
return array(
  select row(
    s.source_entity, s.relationship_type, s.target_entity, s.direction, s.confidence, s.relationship_ids, r.creator,
    r.source)::public.graph_step
  from rows from (pg_catalog.unnest(steps)) with ordinality as s (
    source_entity, relationship_type, target_entity, direction, confidence, relationship_ids, creator, source, place)
  join public.entity_relationships r on r.relationship_id = s.relationship_ids[1]
  order by s.place);
comment on function graph.with_creators is 'The steps of a path, each with who stated it.';
grant execute on function graph.with_creators to l9_agent, l9_admin, l9_platform_admin;

-- Checks the arguments, lets walk_graph() do the walk, and adds who stated each step only to the paths that are returned.
create function public.explore_graph(entity text, depth integer default 2, types text[] default null,
  min_confidence double precision default 0, "limit" integer default 50) returns public.graph_exploration
language plpgsql volatile set search_path = '' as $$
declare
  walk graph.graph_walk;
  exploration public.graph_exploration;
  shown_ids uuid[];
  read_id uuid;
begin
  types := identity.given_list(types);
  perform identity.require_identity();
  perform entities.check_name(explore_graph.entity, 'entity');
  perform entities.check_confidence(explore_graph.min_confidence, 'min_confidence');
  if explore_graph.depth is null or explore_graph.depth not between 1 and 5 then
    perform identity.raise_error('L9VAL', 'depth: must be from 1 to 5');
  elsif explore_graph."limit" is null or explore_graph."limit" not between 1 and 500 then
    perform identity.raise_error('L9VAL', 'limit: must be from 1 to 500');
  elsif cardinality(explore_graph.types) > 64 then
    perform identity.raise_error('L9LIM', 'types: at most 64');
  end if;
  walk := graph.walk_graph(
    array[btrim(explore_graph.entity)], explore_graph.depth,
    case when explore_graph.types is not null then
      array(select graph.check_relationship_type(t.type, 'types') from unnest(explore_graph.types) as t (type)) end,
    explore_graph.min_confidence, explore_graph."limit");
  exploration.entity := walk.nodes[1].entity;
  exploration.known_as := entities.names_of(explore_graph.entity);
  exploration.aliases := array(select a from public.applied_aliases(explore_graph.entity) a);
  exploration.paths := array(
    select row(n.entity, n.confidence, n.depth, graph.with_creators(n.steps))::public.graph_path
    from unnest(walk.nodes) with ordinality as n (name, entity, confidence, depth, steps, is_new, place)
    where n.depth > 0 order by n.place);
  exploration.edges_followed := walk.followed;
  exploration.is_truncated := walk.is_truncated;
  shown_ids := array(
    select distinct i.id from unnest(exploration.paths) p cross join lateral unnest(p.steps) s
    cross join lateral unnest(s.relationship_ids) as i (id));
  read_id := audit.audit_read(
    'READ', jsonb_build_object(
      'function', 'explore_graph', 'entity', btrim(explore_graph.entity), 'edges_followed', exploration.edges_followed,
      'ids', shown_ids));
  perform importance.log_accesses('search', array_agg(r.relationship_id), array_agg(r.scope), array_agg(r.project_id),
    audit_id => read_id, target_type => 'relationship')
  from (
    select r.*, (row_number() over () - 1) / 100 as batch
    from public.entity_relationships r where r.relationship_id = any (shown_ids)) r group by r.batch;
  return exploration;
end $$;
comment on function public.explore_graph is 'Returns what an entity (a name or an alias) is related to, directly and through '
  'others: each entity with its best path, most confident first, in both directions. depth: 1 to 5 steps. types: only '
  'relationships of these types. min_confidence: the least confidence of a path, the product of its steps. limit: 1 to 500 '
  'entities. Writes a READ audit row. Errors: L9VAL, L9LIM, L9AUT.';
grant execute on function public.explore_graph to l9_agent, l9_admin, l9_platform_admin;
