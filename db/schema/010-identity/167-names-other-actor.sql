-- Tells whether a text names another actor of the caller's tenant. A memory may not claim the word of one.
create function identity.names_other_actor(name text, me identity.identity) returns boolean
language sql stable parallel safe security definer set search_path = ''
return exists (
  select from public.actors a
  where a.tenant_id = (me).tenant_id and a.caller <> (me).caller
    and lower(btrim(normalize(names_other_actor.name, nfkc), e' \t\r\n"''@'))
      in (lower(a.caller), lower(a.creator), lower(a.source), lower(a.agent)));
comment on function identity.names_other_actor is 'True if the text is the caller, creator, source or agent name of an actor of '
  'the tenant other than this one, in any case of letters. Definer: agents read no row of actors but their own.';
grant execute on function identity.names_other_actor to l9_agent, l9_admin;
