-- Clients that are known by the name that they give themselves. The gateway calls register_client() as the caller whose key a
-- client has. Such a name proves nothing, so it gives names to what the client writes, and no right.
create function administration.client_name(name text) returns text language sql immutable parallel safe set search_path = ''
return (
  select n.plain
  from (select btrim(regexp_replace(lower(normalize(client_name.name, nfkc)), '[^a-z0-9._]+', '-', 'g'), '._-')) as n (plain)
  where identity.is_display_name(client_name.name, 100) and identity.is_caller_name(n.plain)
    -- Names under which the product itself writes, or that a reader would take for an authority.
    and n.plain !~ '^l9'
    and n.plain <> all (array['job', 'me', 'person', 'user', 'system', 'admin', 'administrator', 'operator']));
comment on function administration.client_name is 'The name of a caller made from the name of a client: lower-case letters, '
  'digits, ., _ and -. Null if it can make none, or only one that no client may have.';

create function administration.letters_of(name text) returns text language sql immutable parallel safe set search_path = ''
return regexp_replace(lower(letters_of.name), '[^a-z0-9]', '', 'g');
comment on function administration.letters_of is 'The letters and digits of a name. Names of which these are the same look '
  'alike.';

create function administration.max_clients() returns integer language sql immutable parallel safe return 100;
comment on function administration.max_clients is 'How many clients that are known by their name alone a tenant may have.';

-- Without a row that counts already, the client is registered if the tenant allows it and the name is like that of no actor.
create function administration.register_client(name text) returns text
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  client_name text := administration.client_name(register_client.name);
  known_by text;
begin
  if me.role <> 'l9_agent' or client_name is null then
    return null;
  end if;
  select a.registered_by into known_by from public.actors a where a.tenant_id = me.tenant_id and a.caller = client_name;
  if not found then
    -- Two clients that are first seen at once must not exceed the limit, or take names that are alike.
    perform t.tenant_id from public.tenants t where t.tenant_id = me.tenant_id and t.register_unknown_clients for no key update;
    if not found or exists (
        select from public.actors a, unnest(array[a.caller, a.creator, a.source, a.agent]) as n (name)
        where a.tenant_id = me.tenant_id and administration.letters_of(n.name) = administration.letters_of(client_name))
      or (select count(*) from public.actors a where a.tenant_id = me.tenant_id and a.registered_by is not null)
        >= administration.max_clients() then
      return null;
    end if;
    insert into public.actors (tenant_id, caller, creator, source, agent, role, readable_scopes, writable_scopes, can_clean_up,
      reads_per_minute, writes_per_minute, max_importance, max_confidence, max_lesson_confidence, max_priority, registered_by)
    select a.tenant_id, client_name, client_name, client_name, client_name, a.role, a.readable_scopes, a.writable_scopes,
      a.can_clean_up, a.reads_per_minute, a.writes_per_minute, a.max_importance, a.max_confidence, a.max_lesson_confidence,
      a.max_priority, a.caller
    from public.actors a where a.tenant_id = me.tenant_id and a.caller = me.caller and a.registered_by is null
    on conflict do nothing returning actors.registered_by into known_by;
  end if;
  return case when known_by = me.caller then client_name end;
end $$;
comment on function administration.register_client is 'The caller that a client of this name is, which calls with the key of the '
  'current caller: registered now if it is unknown and the tenant allows that (set_register_unknown_clients()), with the same '
  'rights. Null: the name gives it none, so it is the current caller itself. For agents. Audited. Definer: identity tables '
  'change through functions only.';
grant execute on function administration.register_client to l9_agent;

-- The rights of such a client are those of its caller at every time, not only when it was first seen.
create function administration.tg_actors__give_rights_to_clients() returns trigger
language plpgsql set search_path = '' as $$
begin
  update public.actors a
  set readable_scopes = new.readable_scopes, writable_scopes = new.writable_scopes, can_clean_up = new.can_clean_up,
    reads_per_minute = new.reads_per_minute, writes_per_minute = new.writes_per_minute, max_importance = new.max_importance,
    max_confidence = new.max_confidence, max_lesson_confidence = new.max_lesson_confidence, max_priority = new.max_priority
  where a.tenant_id = new.tenant_id and a.registered_by = new.caller;
  return null;
end $$;
comment on function administration.tg_actors__give_rights_to_clients is 'Gives the rights of a caller to the clients that are '
  'known by their name alone and call with its key.';
create trigger _610_clients after update on public.actors
  for each row when (new.registered_by is null) execute function administration.tg_actors__give_rights_to_clients();
