-- An administrator makes an agent's alias count for everyone who can read it.
create function public.confirm_alias(alias_id uuid) returns public.entity_aliases
language plpgsql volatile security definer set search_path = '' as $$
declare
  me constant identity.identity := identity.require_identity();
  confirmed public.entity_aliases;
begin
  if me.role <> 'l9_admin' then
    perform identity.raise_error('L9SCP', 'alias_id: only administrators confirm aliases');
  end if;
  -- The policies of the owner return only aliases that the caller can read.
  select a.* into confirmed from public.entity_aliases a
  where a.alias_id = confirm_alias.alias_id and (a.ttl is null or a.ttl > now()) for update;
  if not found then
    perform identity.raise_error('L9OWN', format('alias_id: alias %s does not exist, or is not yours', confirm_alias.alias_id));
  end if;
  perform packets.check_scope(confirmed.scope, confirmed.project_id);
  if not confirmed.is_from_admin then
    update public.entity_aliases a set agent = me.creator, is_from_admin = true, updated_at = clock_timestamp()
    where a.alias_id = confirmed.alias_id returning a.* into confirmed;
    -- Else the agent could take the alias away again.
    perform packets.claim_text(confirmed.source_packet);
  end if;
  return confirmed;
end $$;
comment on function public.confirm_alias is 'Confirms an alias that an agent stated: from now on it counts for everyone who can '
  'read it, and the agent can''t take away the memory that states it. For admins. Errors: L9SCP, L9OWN, L9AUT. Definer: callers '
  'can''t write the table; the caller must be able to read the alias and to write in its scope.';
grant execute on function public.confirm_alias to l9_admin;
