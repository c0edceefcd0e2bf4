create function entities.add_alias_from(packet_id uuid, alias text, entity text)
returns public.entity_aliases
language plpgsql
volatile
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  alias_name constant text := entities.check_name(add_alias_from.alias, 'alias');
  entity_name constant text := entities.check_name(add_alias_from.entity, 'entity');
  memory public.packet_store;
  known public.entity_aliases;
  saved public.entity_aliases;
begin
  if alias_name = entity_name then
    perform identity.raise_error('L9VAL', 'alias: another name than the entity''s', 'alias');
  end if;
  memory := derived.lock_source_memory(add_alias_from.packet_id);
  -- The rule spans rows: one alias at a time, where it is.
  perform pg_advisory_xact_lock(hashtextextended(format('l9-memory aliases %s',
    packets.audience_id(memory.tenant_id, memory.org_id, memory.user_id, memory.project_id, memory.scope)), 0));
  for known in
    select a.* from public.entity_aliases a
    where a.tenant_id = memory.tenant_id and a.scope = memory.scope
      and a.project_id is not distinct from memory.project_id
      and a.org_id is not distinct from memory.org_id
      and a.user_id is not distinct from memory.user_id
      and (a.ttl is null or a.ttl > now())
      and (a.alias_normalized in (alias_name, entity_name) or a.entity_normalized = alias_name)
      and (a.alias_normalized, a.entity_normalized) <> (alias_name, entity_name)
    order by a.created_at
    limit 1
  loop
    -- One step, always: an alias of an alias would be found from one end only.
    if known.alias_normalized = alias_name then
      perform identity.raise_error('L9VAL', format('alias: already a name of %s here', known.entity), 'alias');
    elsif known.alias_normalized = entity_name then
      perform identity.raise_error('L9VAL', format('entity: an alias itself; name the entity, %s', known.entity), 'entity');
    else
      perform identity.raise_error('L9VAL', format('alias: has aliases itself, such as %s; make it the entity', known.alias), 'alias');
    end if;
  end loop;

  insert into public.entity_aliases (alias, entity, alias_normalized, entity_normalized, source_packet)
  values (btrim(add_alias_from.alias), btrim(add_alias_from.entity), alias_name, entity_name, add_alias_from.packet_id)
  on conflict (source_packet, alias_normalized) do nothing
  returning * into saved;
  if not found then
    select a.* into saved from public.entity_aliases a
    where a.source_packet = add_alias_from.packet_id and a.alias_normalized = alias_name;
  end if;
  return saved;
end
$$;

comment on function entities.add_alias_from(uuid, text, text) is
  'Gives an entity another name, from a memory, for a caller who sees it and may write where it is, or for a job. Errors: L9OWN, L9SCP, L9VAL, L9LIM. Definer: callers can''t write the table.';

create function public.add_alias(
  alias text,
  entity text,
  source_packet uuid default null,
  scope text default 'developer',
  project_id text default null
)
returns public.entity_aliases
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  packet_id uuid := add_alias.source_packet;
begin
  perform identity.require_identity();
  perform entities.check_name(add_alias.alias, 'alias'), entities.check_name(add_alias.entity, 'entity');
  if packet_id is null then
    packet_id := ((public.save_memory(
      format('%s is another name of %s', btrim(add_alias.alias), btrim(add_alias.entity)),
      add_alias.scope, add_alias.project_id, kind => 'fact')).memory).packet_id;
  end if;
  return entities.add_alias_from(packet_id, add_alias.alias, add_alias.entity);
end
$$;

comment on function public.add_alias(text, text, uuid, text, text) is
  'Says that alias is another name of entity: facts and relations of either are found by both. A name is an alias of one entity, and an alias has none itself. source_packet: the memory that says so, and where it belongs; without one it is saved as a memory of its own, kind fact, in scope and project_id. Errors: L9VAL, L9LIM, L9SCP, L9OWN, L9AUT.';

grant execute on function entities.add_alias_from(uuid, text, text) to l9_agent, l9_admin, l9_worker;
grant execute on function public.add_alias(text, text, uuid, text, text) to l9_agent, l9_admin;
