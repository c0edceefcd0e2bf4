create materialized view views.mv_entity_graph as
with edges as (
  select e.relationship_id, e.source_normalized, e.target_normalized, e.relationship_type, e.confidence, e.mention_count, e.first_seen, e.last_seen,
    e.tenant_id, e.org_id, e.user_id, e.project_id, e.scope, e.ttl,
    packets.audience_id(e.tenant_id, e.org_id, e.user_id, e.project_id, e.scope) as audience_id
  from public.entity_relationships e
  where e.ttl is null or e.ttl > now()
), degrees as (
  select n.audience_id, n.name, count(*)::integer as degree
  from (
    select e.audience_id, e.source_normalized as name from edges e
    union all
    select e.audience_id, e.target_normalized from edges e
  ) n
  group by n.audience_id, n.name
)
select e.relationship_id, e.confidence, e.mention_count, e.first_seen, e.last_seen, s.degree as source_degree, t.degree as target_degree,
  e.tenant_id, e.org_id, e.user_id, e.project_id, e.scope, e.ttl
from edges e
join degrees s on s.audience_id = e.audience_id and s.name = e.source_normalized
join degrees t on t.audience_id = e.audience_id and t.name = e.target_normalized;

create unique index mv_entity_graph_key on views.mv_entity_graph (relationship_id);
create index mv_entity_graph_readers_idx on views.mv_entity_graph (tenant_id, scope, confidence desc);
comment on materialized view views.mv_entity_graph is
  'The relations of the entity graph, with the number of relations of their ends in the same tenant, org, user, project and scope: ids and numbers. entity_graph() reads it.';
comment on column views.mv_entity_graph.relationship_id is 'The relation.';
comment on column views.mv_entity_graph.confidence is 'Confidence at the last refresh, from 0 to 1.';
comment on column views.mv_entity_graph.mention_count is 'Number of times that the relation was stated.';
comment on column views.mv_entity_graph.first_seen is 'Time when it was first stated.';
comment on column views.mv_entity_graph.last_seen is 'Time when it was last stated.';
comment on column views.mv_entity_graph.source_degree is 'Number of relations of its source with the same tenant, org, user, project and scope.';
comment on column views.mv_entity_graph.target_degree is 'Number of relations of its target with the same tenant, org, user, project and scope.';
comment on column views.mv_entity_graph.tenant_id is 'Tenant of the row.';
comment on column views.mv_entity_graph.org_id is 'Org of the row; null if it belongs to the whole tenant.';
comment on column views.mv_entity_graph.user_id is 'User of the row; null if it belongs to the whole org.';
comment on column views.mv_entity_graph.project_id is 'Project of the row at the last refresh.';
comment on column views.mv_entity_graph.scope is 'Scope of the row at the last refresh. Its current scope decides which callers see it.';
comment on column views.mv_entity_graph.ttl is 'Expiry of the row at the last refresh. Its current expiry decides until when it is shown.';
revoke all on views.mv_entity_graph from public;

create type public.entity_graph_edge as (relationship public.entity_relationships, source_degree integer, target_degree integer);
comment on type public.entity_graph_edge is 'A relation, and the number of relations of its ends.';
comment on column public.entity_graph_edge.relationship is 'The relation in its current state.';
comment on column public.entity_graph_edge.source_degree is 'Number of relations of its source at the last refresh, in the same scope and project.';
comment on column public.entity_graph_edge.target_degree is 'Number of relations of its target at the last refresh, in the same scope and project.';

create function public.entity_graph(
  relationship_type text default null, min_confidence double precision default 0, project_id text default null, k integer default 100)
returns setof public.entity_graph_edge
language plpgsql
stable
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
begin
  perform views.check_page(entity_graph.k);
  perform entities.check_confidence(entity_graph.min_confidence, 'min_confidence');
  return query
  select e, v.source_degree, v.target_degree
  from views.mv_entity_graph v
  -- The policies of this table apply to the caller.
  join public.entity_relationships e on e.relationship_id = v.relationship_id and (e.ttl is null or e.ttl > now())
  where v.tenant_id = me.tenant_id and v.scope = any (me.readable_scopes) and e.confidence >= entity_graph.min_confidence
    and (entity_graph.relationship_type is null or e.relationship_type = entity_graph.relationship_type)
    and (entity_graph.project_id is null or e.project_id is null or e.project_id = entity_graph.project_id)
  order by v.confidence desc, v.source_degree + v.target_degree desc, v.relationship_id desc
  limit entity_graph.k;
end
$$;

comment on function public.entity_graph(text, double precision, text, integer) is
  'The relations that the caller may read, ranked at the last refresh: those of highest confidence, then those with the most connected ends, first. To start from one entity, call explore_graph(). k: from 1 to 500. Errors: L9VAL, L9LIM, L9AUT. Definer: reads a materialized view, which has no policies; those of entity_relationships apply.';

grant execute on function public.entity_graph(text, double precision, text, integer) to l9_agent, l9_admin;
