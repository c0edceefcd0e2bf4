create type entities.known_alias as (alias_normalized text, entity_normalized text, entity text);

comment on type entities.known_alias is 'An alias and the entity that it names.';

create function entities.aliases_for(names text[])
returns setof entities.known_alias
language plpgsql
stable
rows 10
set search_path = ''
set enable_seqscan = off
as $$
declare
  me constant identity.identity := identity.require_identity();
begin
  if names is null then
    return;
  end if;
  -- If two audiences give a name two meanings, a caller who can read both gets the older one.
  return query
  select distinct on (a.alias_normalized) a.alias_normalized, a.entity_normalized, a.entity
  from public.entity_aliases a
  where a.tenant_id = me.tenant_id and a.alias_normalized = any (names) and a.scope = any (me.readable_scopes)
    and (a.ttl is null or a.ttl > now())
  order by a.alias_normalized, a.created_at, a.alias_id;
end
$$;

comment on function entities.aliases_for(text[]) is
  'Returns the names in the list that are aliases the caller can read, each with its entity.';

create function entities.aliases_of(entity_name text)
returns setof text
language plpgsql
stable
rows 5
set search_path = ''
set enable_seqscan = off
as $$
declare
  me constant identity.identity := identity.require_identity();
begin
  return query
  select a.alias_normalized
  from public.entity_aliases a
  where a.tenant_id = me.tenant_id and a.entity_normalized = entity_name and a.scope = any (me.readable_scopes)
    and (a.ttl is null or a.ttl > now())
  group by a.alias_normalized
  order by min(a.created_at), a.alias_normalized
  limit entities.max_aliases();
end
$$;

comment on function entities.aliases_of(text) is
  'Returns the aliases of an entity that the caller can read: at most the 100 oldest.';

grant execute on function entities.aliases_for(text[]), entities.aliases_of(text) to l9_agent, l9_admin, l9_platform_admin;
