-- All names of an entity. Functions that find facts and relationships by name call names_of().
create function entities.max_aliases() returns integer language sql immutable parallel safe set search_path = '' return 100;
comment on function entities.max_aliases is 'The number of aliases of one entity that are resolved at most, the oldest first.';

create function entities.names_of(entity text) returns text[] language plpgsql stable set search_path = '' as $$
declare
  given_name constant text := entities.normalise_name(entity);
  -- Jobs belong to no tenant, so for them an entity has only the given name.
  tenant constant uuid := identity.current_tenant_id();
begin
  return array(
    with canonical as (
      select given_name as name
      union
      select a.entity_normalized from public.entity_aliases a
      where a.tenant_id = tenant and a.alias_normalized = given_name and (a.ttl is null or a.ttl > now())
        and entities.counts_for_caller(a)
    )
    select c.name from canonical c where c.name is not null
    union
    (select a.alias_normalized from public.entity_aliases a join canonical c on c.name = a.entity_normalized
     where a.tenant_id = tenant and (a.ttl is null or a.ttl > now()) and entities.counts_for_caller(a)
     order by a.is_from_admin desc, a.created_at limit entities.max_aliases()));
end $$;
comment on function entities.names_of is 'Returns all names of an entity, normalised: the given name, the entity that it is an '
  'alias of, and the aliases of both (at most 100), as far as they count for the caller.';
grant execute on function entities.max_aliases, entities.names_of to l9_agent, l9_admin, l9_platform_admin, l9_worker;
