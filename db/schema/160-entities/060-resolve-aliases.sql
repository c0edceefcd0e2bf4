-- Applies aliases. Walks through the graph call aliases_for() and aliases_of(); find_facts and explore_graph show
-- which aliases were applied.
create type entities.known_alias as (alias_normalized text, entity_normalized text, entity text);
comment on type entities.known_alias is 'An alias and the entity that it names.';

create function entities.aliases_for(names text[]) returns setof entities.known_alias
language plpgsql stable rows 10 set search_path = '' set enable_seqscan = off as $$
declare
  me constant identity.identity := identity.require_identity();
begin
  if names is null then
    return;
  end if;
  -- If two audiences give a name two meanings, a caller who can read both gets an administrator's, then the older one.
  return query
  select distinct on (a.alias_normalized) a.alias_normalized, a.entity_normalized, a.entity
  from public.entity_aliases a
  where a.tenant_id = me.tenant_id and a.alias_normalized = any (names) and a.scope = any (me.readable_scopes)
    and (a.ttl is null or a.ttl > now()) and entities.counts_for_caller(a)
  order by a.alias_normalized, a.is_from_admin desc, a.created_at, a.alias_id;
end $$;
comment on function entities.aliases_for is 'The names that are aliases counting for the caller, with entities.';

create function entities.aliases_of(entity_name text) returns setof text
language plpgsql stable rows 5 set search_path = '' set enable_seqscan = off as $$
declare
  me constant identity.identity := identity.require_identity();
begin
  return query
  select a.alias_normalized
  from public.entity_aliases a
  where a.tenant_id = me.tenant_id and a.entity_normalized = entity_name and a.scope = any (me.readable_scopes)
    and (a.ttl is null or a.ttl > now()) and entities.counts_for_caller(a)
  group by a.alias_normalized order by min(a.created_at), a.alias_normalized limit entities.max_aliases();
end $$;
comment on function entities.aliases_of is 'Returns the aliases of an entity that count for the caller: at most the 100 oldest.';
grant execute on function entities.aliases_for, entities.aliases_of to l9_agent, l9_admin, l9_platform_admin;

create type public.applied_alias as (alias text, entity text, creator text, confirmed_by text, alias_id uuid);
call identity.describe('public.applied_alias', 'An alias that was applied to find what is asked for.
  alias: The other name, as its memory spells it.
  entity: The entity that it names.
  creator: The creator name of whoever stated the alias.
  confirmed_by: The administrator that stated or confirmed it; null: nobody did.
  alias_id: The alias; confirm_alias() takes it.');

create function public.applied_aliases(name text) returns setof public.applied_alias
language plpgsql stable set search_path = '' rows 5 as $$
declare
  me constant identity.identity := identity.require_identity();
  names constant text[] := entities.names_of(name);
begin
  return query
  select a.alias, a.entity, a.creator, case when a.is_from_admin then a.agent end, a.alias_id
  from public.entity_aliases a
  where a.tenant_id = me.tenant_id and a.alias_normalized = any (names) and a.entity_normalized = any (names)
    and (a.ttl is null or a.ttl > now()) and entities.counts_for_caller(a)
  order by a.is_from_admin desc, a.created_at, a.alias_id limit entities.max_aliases();
end $$;
comment on function public.applied_aliases is 'The aliases that are applied where the caller asks for an entity by this name, '
  'and whose word they are. An agent''s alias counts for others only as long as nobody else states something of its names, or '
  'once an administrator has confirmed it. Errors: L9AUT.';
grant execute on function public.applied_aliases to l9_agent, l9_admin, l9_platform_admin;
