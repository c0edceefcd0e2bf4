-- The fields by which somebody vouches for a memory. They belong to the text that they were given for, and name nobody but the
-- writer. The triggers of packet_store call these functions for the envelope and the metadata.
create function packets.attesting_fields() returns text[] language sql immutable parallel safe
return array['approved_at', 'approved_by', 'last_verified_at', 'owner', 'reviewed_at', 'reviewed_by', 'verified_at',
  'verified_by'];
comment on function packets.attesting_fields is 'The fields that vouch for a memory''s text: who approved, verified, keeps it.';

create function packets.naming_fields() returns text[] language sql immutable parallel safe
return array['approved_by', 'owner', 'reviewed_by', 'verified_by'];
comment on function packets.naming_fields is 'Those of attesting_fields() that name somebody.';

create function packets.check_named(field text, value jsonb, me identity.identity) returns void
language plpgsql stable set search_path = '' as $$
begin
  if exists (
    select from jsonb_path_query(value, 'strict $.** ? (@.type() == "string")') as v
    where identity.names_other_actor(v #>> '{}', me)) then
    perform identity.raise_error('L9OWN', format(
      '%s: names another agent or administrator, and only that one can say so; leave it out, or name a person', field));
  end if;
end $$;
comment on function packets.check_named is 'Raises L9OWN if a field that vouches for a memory names another actor.';

create function packets.keep_attestations(given jsonb, former jsonb, is_other_text boolean, me identity.identity) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  field text;
  kept jsonb := given;
begin
  foreach field in array packets.attesting_fields() loop
    continue when not given ? field;
    if given -> field is distinct from former -> field then
      -- Administrators may say who answers for something; agents speak for themselves.
      if (me).role = 'l9_agent' and field = any (packets.naming_fields()) then
        perform packets.check_named(field, given -> field, me);
      end if;
    elsif is_other_text then
      kept := kept - field;
    end if;
  end loop;
  return kept;
end $$;
comment on function packets.keep_attestations is 'The envelope or metadata of a memory without the attestations that its text '
  'has lost: where somebody else changes the text, those that stand there already fall, and those that come with it stay. Raises '
  'L9OWN if an agent names another actor.';
grant execute on function packets.attesting_fields, packets.naming_fields, packets.check_named, packets.keep_attestations to
  l9_agent, l9_admin;
