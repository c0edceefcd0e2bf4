-- States that one name is another name of an entity. Callers use add_alias(); it calls add_alias_from(), which may
-- write the table. A lock on the audience makes those that state aliases take turns.

create function entities.add_alias_from(packet_id uuid, alias text, entity text) returns public.entity_aliases
language plpgsql volatile security definer set search_path = '' as $$
declare
  alias_name constant text := entities.check_name(add_alias_from.alias, 'alias');
  entity_name constant text := entities.check_name(add_alias_from.entity, 'entity');
  memory public.packet_store;
  conflicting public.entity_aliases;
  saved public.entity_aliases;
  is_from_admin boolean;
begin
  if alias_name = entity_name then
    perform identity.raise_error('L9VAL', 'alias: must differ from the entity''s own name', 'alias');
  end if;
  memory := derived.lock_source_memory(add_alias_from.packet_id, kind => 'fact');
  is_from_admin := derived.is_from_admin(memory);
  -- The rule below spans rows, so writers of one audience take turns.
  perform pg_advisory_xact_lock(hashtextextended(format('l9-memory aliases %s',
    packets.audience_id(memory.tenant_id, memory.org_id, memory.user_id, memory.project_id, memory.scope)), 0));
  if is_from_admin then
    -- An administrator's word replaces what agents state against it.
    delete from public.entity_aliases a
    where a.tenant_id = memory.tenant_id and a.scope = memory.scope and a.project_id is not distinct from memory.project_id
      and a.org_id is not distinct from memory.org_id and a.user_id is not distinct from memory.user_id
      and not a.is_from_admin and (a.alias_normalized in (alias_name, entity_name) or a.entity_normalized = alias_name)
      and (a.alias_normalized, a.entity_normalized) <> (alias_name, entity_name);
  end if;
  for conflicting in
    select a.* from public.entity_aliases a
    where a.tenant_id = memory.tenant_id and a.scope = memory.scope
      and a.project_id is not distinct from memory.project_id
      and a.org_id is not distinct from memory.org_id
      and a.user_id is not distinct from memory.user_id
      and (a.ttl is null or a.ttl > now())
      and (a.alias_normalized in (alias_name, entity_name) or a.entity_normalized = alias_name)
      and (a.alias_normalized, a.entity_normalized) <> (alias_name, entity_name)
    order by a.created_at limit 1
  loop
    -- Readers resolve one step only, so an alias of an alias would be found from one end only.
    if conflicting.alias_normalized = alias_name then
      perform identity.raise_error('L9VAL', format('alias: is already a name of %s', conflicting.entity), 'alias');
    elsif conflicting.alias_normalized = entity_name then
      perform identity.raise_error('L9VAL',
        format('entity: is itself an alias; use the entity %s', conflicting.entity), 'entity');
    else
      perform identity.raise_error('L9VAL',
        format('alias: has aliases of its own, such as %s; use it as the entity', conflicting.alias), 'alias');
    end if;
  end loop;

  insert into public.entity_aliases (alias, entity, alias_normalized, entity_normalized, source_packet)
  values (btrim(add_alias_from.alias), btrim(add_alias_from.entity), alias_name, entity_name, add_alias_from.packet_id)
  on conflict (source_packet, alias_normalized) do update
  set agent = excluded.agent, is_from_admin = true, updated_at = clock_timestamp()
  where excluded.is_from_admin and not entity_aliases.is_from_admin returning * into saved;
  if not found then
    select a.* into saved from public.entity_aliases a
    where a.source_packet = add_alias_from.packet_id and a.alias_normalized = alias_name;
  end if;
  return saved;
end $$;
comment on function entities.add_alias_from is 'Stores an alias that a memory states, for a caller who can read the memory and '
  'write in its scope, or for a job. Errors: L9OWN, L9SCP, L9VAL, L9LIM. Definer: callers can''t write the table.';

create function public.add_alias(
  alias text, entity text, source_packet uuid default null, scope text default 'developer', project_id text default null)
returns public.entity_aliases
language plpgsql volatile set search_path = '' as $$
declare
  packet_id uuid := add_alias.source_packet;
  saved public.save_result;
begin
  perform identity.require_identity();
  perform entities.check_name(add_alias.alias, 'alias'), entities.check_name(add_alias.entity, 'entity');
  if packet_id is null then
    saved := public.save_memory(
      format('%s is another name of %s', btrim(add_alias.alias), btrim(add_alias.entity)),
      add_alias.scope, add_alias.project_id, branch => '*', kind => 'fact');
    perform derived.refuse_withheld(saved.memory);
    packet_id := (saved.memory).packet_id;
    perform derived.keep_alive(packet_id);
  else
    perform derived.refuse_withheld_source(packet_id);
  end if;
  return entities.add_alias_from(packet_id, add_alias.alias, add_alias.entity);
end $$;
comment on function public.add_alias is 'States that alias is another name of entity: what is stated of either is found by both. '
  'An agent''s alias counts for others only while nobody else states something of the names, or once confirmed (confirm_alias). '
  'A name is an alias of one entity and has no aliases then. source_packet: the memory that says so; left out, one is saved in '
  'scope and project_id. Errors: L9VAL, L9LIM, L9SCP, L9OWN, L9AUT.';
grant execute on function entities.add_alias_from to l9_agent, l9_admin, l9_worker;
grant execute on function public.add_alias to l9_agent, l9_admin;
