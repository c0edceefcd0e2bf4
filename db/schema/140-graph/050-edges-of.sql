create type graph.graph_edge as (
  place integer,
  is_outgoing boolean,
  relationship_id uuid,
  source_entity text,
  source_normalized text,
  relationship_type text,
  target_entity text,
  target_normalized text,
  confidence double precision
);

comment on type graph.graph_edge is 'A relation as it is met from the name at a place of a list.';

create function graph.edges_of_a_name()
returns integer
language sql
immutable
parallel safe
set search_path = ''
return 1000;

comment on function graph.edges_of_a_name() is 'How many relations of one name are followed at most, the surest.';

create function graph.edges_of(names text[], most integer)
returns setof graph.graph_edge
language plpgsql
stable
set search_path = ''
set max_parallel_workers_per_gather = 0
set enable_seqscan = off
-- Only along the index is a name's surest relation the first one met.
set enable_bitmapscan = off
set enable_nestloop = on
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
  me constant identity.identity := identity.require_identity();
  -- One more than is followed: so it shows where there are more.
  bound constant integer := graph.edges_of_a_name() + 1;
begin
  return query
  select n.place::integer, e.*
  from unnest(edges_of.names) with ordinality as n (name, place)
  cross join lateral (
    select *
    from (
      select true, r.relationship_id, r.source_entity, r.source_normalized, r.relationship_type, r.target_entity,
        r.target_normalized, r.confidence
      from unnest(me.readable_scopes) as s (name)
      cross join lateral (
        select * from public.entity_relationships r
        where r.tenant_id = me.tenant_id and r.source_normalized = n.name and r.scope = s.name and (r.ttl is null or r.ttl > now())
        order by r.confidence desc
        limit bound
      ) r
      union all
      select false, r.relationship_id, r.source_entity, r.source_normalized, r.relationship_type, r.target_entity,
        r.target_normalized, r.confidence
      from unnest(me.readable_scopes) as s (name)
      cross join lateral (
        select * from public.entity_relationships r
        where r.tenant_id = me.tenant_id and r.target_normalized = n.name and r.scope = s.name and (r.ttl is null or r.ttl > now())
        order by r.confidence desc
        limit bound
      ) r
    ) both_ways
    order by both_ways.confidence desc
    limit bound
  ) e
  limit edges_of.most;
end
$$;

comment on function graph.edges_of(text[], integer) is
  'The relations of these names that the caller sees, of the first name first, the surest first: at most one more than edges_of_a_name() of each name, and most in all.';

grant execute on function graph.edges_of_a_name(), graph.edges_of(text[], integer)
  to l9_agent, l9_admin, l9_platform_admin;
