-- Checks and normalises the parts of a fact. assert_fact_from() calls key_of_fact(), and searches for facts compare
-- objects by object_text().
create function facts.object_text(object jsonb) returns text language sql immutable parallel safe set search_path = ''
return entities.normalise_name(object #>> '{}');
comment on function facts.object_text is 'How objects are compared: scalars like names, lists and objects by JSON.';

create function facts.check_object(object jsonb) returns text language plpgsql immutable parallel safe set search_path = '' as $$
declare
  normalised text := facts.object_text(object);
begin
  if coalesce(normalised, '') = '' then
    perform identity.raise_error('L9VAL', 'object: a value is required that is not blank');
  end if;
  perform identity.check_bytes(object::text, 8192, 'object'), identity.check_bytes(normalised, 8192, 'object');
  if jsonb_path_exists(object, '$.**{60}') then
    perform identity.raise_error('L9LIM', 'object: may be nested at most 60 levels deep');
  end if;
  perform identity.check_numbers(object, 'object');
  return normalised;
end $$;
comment on function facts.check_object is 'object_text() of an object. Raises L9VAL or L9LIM for one that is not valid.';

create function facts.key_of_fact(source public.packet_store, subject text, predicate text, object jsonb) returns facts.fact_key
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  key facts.fact_key;
begin
  key.tenant_id := source.tenant_id;
  key.audience_id := packets.audience_id(source.tenant_id, source.org_id, source.user_id, source.project_id, source.scope);
  key.subject_normalized := entities.check_name(subject, 'subject');
  key.predicate := entities.check_name(predicate, 'predicate');
  key.object_normalized := facts.check_object(object);
  return key;
end $$;
comment on function facts.key_of_fact is 'The key of a fact that a memory states. Raises L9VAL or L9LIM.';
grant execute on function facts.object_text, facts.check_object to l9_agent, l9_admin, l9_platform_admin;
