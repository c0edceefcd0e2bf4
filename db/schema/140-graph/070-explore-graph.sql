create type public.graph_path as (
  entity text,
  confidence double precision,
  depth integer,
  steps public.graph_step[]
);

comment on type public.graph_path is 'An entity that was reached, and the best path to it.';
comment on column public.graph_path.entity is 'The entity reached.';
comment on column public.graph_path.confidence is 'The product of the confidences of the steps.';
comment on column public.graph_path.depth is 'How many steps it took.';
comment on column public.graph_path.steps is 'The relations that lead there, in order.';

create type public.graph_exploration as (
  entity text,
  known_as text[],
  paths public.graph_path[],
  edges_followed integer,
  is_truncated boolean
);

comment on type public.graph_exploration is 'What is related to an entity, as far as the caller sees.';
comment on column public.graph_exploration.entity is 'Where it began: the entity that was named, or of which the name given is an alias.';
comment on column public.graph_exploration.known_as is 'All its names, normalised.';
comment on column public.graph_exploration.paths is 'The entities reached, each by its best path, the best first.';
comment on column public.graph_exploration.edges_followed is 'How many relations were looked at.';
comment on column public.graph_exploration.is_truncated is
  'Whether there is more: more entities than limit, or more relations than are followed (20000, and 1000 of one name, the surest).';

create function public.explore_graph(
  entity text,
  depth integer default 2,
  types text[] default null,
  min_confidence double precision default 0,
  "limit" integer default 50
)
returns public.graph_exploration
language plpgsql
stable
set search_path = ''
as $$
declare
  walk graph.graph_walk;
  answer public.graph_exploration;
begin
  perform identity.require_identity();
  perform entities.check_name(explore_graph.entity, 'entity');
  perform entities.check_confidence(explore_graph.min_confidence, 'min_confidence');
  if explore_graph.depth is null or explore_graph.depth not between 1 and 5 then
    perform identity.raise_error('L9VAL', 'depth: from 1 to 5', 'depth');
  elsif explore_graph."limit" is null or explore_graph."limit" not between 1 and 500 then
    perform identity.raise_error('L9VAL', 'limit: from 1 to 500', 'limit');
  elsif cardinality(explore_graph.types) > 64 then
    perform identity.raise_error('L9LIM', 'types: at most 64', 'types');
  end if;
  walk := graph.walk_graph(
    array[btrim(explore_graph.entity)], explore_graph.depth,
    case when explore_graph.types is not null then
      array(select graph.check_relationship_type(t.type, 'types') from unnest(explore_graph.types) as t (type)) end,
    explore_graph.min_confidence, explore_graph."limit");
  answer.entity := walk.nodes[1].entity;
  answer.known_as := entities.names_of(explore_graph.entity);
  answer.paths := array(
    select row(n.entity, n.confidence, n.depth, n.steps)::public.graph_path
    from unnest(walk.nodes) with ordinality as n (name, entity, confidence, depth, steps, is_new, place)
    where n.depth > 0
    order by n.place);
  answer.edges_followed := walk.followed;
  answer.is_truncated := walk.is_truncated;
  return answer;
end
$$;

comment on function public.explore_graph(text, integer, text[], double precision, integer) is
  'What an entity is related to, directly and by others: each entity reached with the best path to it, relations followed both ways, best first. depth: 1 to 5 steps. types: only relations of these types. min_confidence: of a path, the product of its steps. limit: 1 to 500 entities. Names and aliases alike. Errors: L9VAL, L9LIM, L9AUT.';

grant execute on function public.explore_graph(text, integer, text[], double precision, integer)
  to l9_agent, l9_admin, l9_platform_admin;
