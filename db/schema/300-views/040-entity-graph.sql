-- An overview of the entity graph with sums: the view, and the function by which callers read it over GraphQL and psql.
create materialized view views.mv_entity_graph as
select e.relationship_id, e.confidence, e.mention_count, e.first_seen, e.last_seen, e.tenant_id, e.org_id, e.user_id,
  e.project_id, e.scope, e.ttl
from public.entity_relationships e where e.ttl is null or e.ttl > now();
create unique index mv_entity_graph_key on views.mv_entity_graph (relationship_id);
create index mv_entity_graph_readers_idx on views.mv_entity_graph (tenant_id, scope);
comment on materialized view views.mv_entity_graph is 'The relations that entity_graph() sums up: ids and numbers. The sums are '
  'made for each reader, because a stored sum would count what is hidden from it.';
revoke all on views.mv_entity_graph from public;

create type public.entity_graph_edge as (relationship public.entity_relationships, total_mentions bigint,
  max_confidence double precision, avg_confidence double precision, relationship_count integer, last_seen timestamptz,
  source_degree integer, target_degree integer);
call identity.describe('public.entity_graph_edge', 'A relation of two entities, summed up over the projects, scopes and owners
    whose relations the caller may read. Each project and scope has a relation of its own.
  relationship: The relation in its current state: of the summed-up ones, that of highest confidence.
  total_mentions: How often they had been stated at the last refresh.
  max_confidence: The highest confidence of them at the last refresh.
  avg_confidence: Their average confidence at the last refresh.
  relationship_count: Number of relations that are summed up.
  last_seen: When one of them was last stated, at the last refresh.
  source_degree: Number of different relations of the source, in both directions, that the caller may read; with project_id those
    of that project.
  target_degree: The same number for the target.');

-- Sums and degrees are computed over the relations that this caller may read, after the policies have been applied,
-- and only then is the list cut to k.
create function public.entity_graph(relationship_type text default null, min_confidence double precision default 0,
  project_id text default null, k integer default 100) returns setof public.entity_graph_edge
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  shown public.entity_graph_edge;
  ids uuid[] := '{}';
begin
  perform views.check_page(entity_graph.k);
  project_id := nullif(entity_graph.project_id, '');
  perform entities.check_confidence(entity_graph.min_confidence, 'min_confidence');
  for shown in
    with readable as materialized (
      select v.confidence, v.mention_count, v.last_seen, e.relationship_id, e.source_normalized, e.relationship_type,
        e.target_normalized
      from views.mv_entity_graph v
      -- The policies of this table apply to the caller.
      join public.entity_relationships e on e.relationship_id = v.relationship_id and (e.ttl is null or e.ttl > now())
      where v.tenant_id = me.tenant_id and v.scope = any (me.readable_scopes)
        and (entity_graph.project_id is null or e.project_id is null or e.project_id = entity_graph.project_id)
    ), summed as materialized (
      select r.source_normalized, r.relationship_type, r.target_normalized, sum(r.mention_count)::bigint as total_mentions,
        max(r.confidence) as max_confidence, avg(r.confidence) as avg_confidence, count(*)::integer as relationship_count,
        max(r.last_seen) as last_seen,
        (array_agg(r.relationship_id order by r.confidence desc, r.relationship_id desc))[1] as relationship_id
      from readable r group by r.source_normalized, r.relationship_type, r.target_normalized
    ), degrees as materialized (
      select n.name, count(*)::integer as degree
      from (select s.source_normalized as name from summed s union all select s.target_normalized from summed s) n group by n.name
    )
    select e, s.total_mentions, s.max_confidence, s.avg_confidence, s.relationship_count, s.last_seen, of_source.degree,
      of_target.degree
    from summed s
    join degrees of_source on of_source.name = s.source_normalized
    join degrees of_target on of_target.name = s.target_normalized
    join public.entity_relationships e on e.relationship_id = s.relationship_id
    where s.max_confidence >= entity_graph.min_confidence
      and (entity_graph.relationship_type is null or s.relationship_type = entity_graph.relationship_type)
    order by s.max_confidence desc, of_source.degree + of_target.degree desc, s.relationship_id desc limit entity_graph.k
  loop
    ids := ids || (shown.relationship).relationship_id;
    return next shown;
  end loop;
  perform views.audit_read_of_view('entity_graph', 'entity_relationships', entity_graph.project_id, cardinality(ids), ids);
end $$;
comment on function public.entity_graph is 'The relations that the caller may read, summed up across projects, scopes and owners '
  'as of the last refresh: highest confidence first, then those with the most connected ends. To start from one entity, call '
  'explore_graph(). k: from 1 to 500. Writes a READ audit row. Errors: L9VAL, L9LIM, L9AUT. Definer: reads a materialized view, '
  'which has no policies; those of entity_relationships apply.';
grant execute on function public.entity_graph to l9_agent, l9_admin;
