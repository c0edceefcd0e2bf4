-- Stands here because facts and relations ask for it; the table of aliases comes with the graph.

create function entities.names_of(entity text)
returns text[]
language plpgsql
stable
parallel safe
set search_path = ''
as $$
declare
  named constant text := entities.normalise_name(entity);
  -- Jobs see all tenants', and have none of their own: for them a name is its own only one.
  tenant constant uuid := identity.current_tenant_id();
begin
  return array(
    with known as (
      select named as name
      union
      select a.entity_normalized from public.entity_aliases a
      where a.tenant_id = tenant and a.alias_normalized = named and (a.ttl is null or a.ttl > now())
    )
    select k.name from known k where k.name is not null
    union
    (select a.alias_normalized from public.entity_aliases a join known k on k.name = a.entity_normalized
     where a.tenant_id = tenant and (a.ttl is null or a.ttl > now())
     order by a.created_at
     limit 100));
end
$$;

comment on function entities.names_of(text) is
  'All names of an entity, normalised: the one given, what it is an alias of, and the aliases of both (100 at most), as far as the caller sees them.';

grant execute on function entities.names_of(text) to l9_agent, l9_admin, l9_platform_admin, l9_worker;
