-- Registers a kind of memories of a tenant, after a check of every rule. Admins call register_memory_kind() in psql or GraphQL.
create function kinds.check_new_parts(field text, type text, parts jsonb) returns void
language plpgsql immutable set search_path = '' as $$
begin
  if parts is null then
    return;
  elsif type not in ('object', 'object[]') or jsonb_typeof(parts) <> 'array'
      or jsonb_array_length(parts) not between 1 and kinds.max_fields()
    or exists (
      select from jsonb_array_elements(parts) as p
      where jsonb_typeof(p) <> 'object' or p - '{field,type,is_required}'::text[] <> '{}'
        or (p ->> 'field' ~ '^[a-z][a-z0-9_]{0,62}$') is not true
        or coalesce(p ->> 'type', 'text') <> all (kinds.part_types())
        or jsonb_typeof(coalesce(p -> 'is_required', 'false')) <> 'boolean')
    or (select count(*) <> count(distinct p ->> 'field') from jsonb_array_elements(parts) as p) then
    perform identity.raise_error('L9VAL', format(
      'fields: parts of %s must be a list of 1 to %s objects with field, type (one of %s) and is_required, each field once, '
      'and its own type object or object[]', field, kinds.max_fields(), array_to_string(kinds.part_types(), ', ')));
  end if;
end $$;
comment on function kinds.check_new_parts is 'Raises L9VAL unless these are parts that the objects in a field may have, or null.';

create function kinds.check_whole(kind text, part_of_kind text, part_of_field text, tenant_id uuid, ids text[]) returns void
language plpgsql stable set search_path = '' as $$
declare
  whole public.memory_kinds;
begin
  if (part_of_kind is null) <> (part_of_field is null) then
    perform identity.raise_error('L9VAL', 'part_of_field: a field of type uuid, given together with part_of_kind');
  elsif part_of_kind is null then
    return;
  elsif part_of_field <> all (ids) then
    perform identity.raise_error('L9VAL',
      format('part_of_field: %L is no field of this kind with the type uuid', left(part_of_field, 63)));
  end if;
  select k.* into whole from public.memory_kinds k
  where k.kind = check_whole.part_of_kind and (k.tenant_id is null or k.tenant_id = check_whole.tenant_id);
  -- One level: no kind can be a part of itself, and a part finds all that locks and moves it in one memory.
  if not found or whole.part_of_kind is not null or whole.kind = kind then
    perform identity.raise_error('L9VAL', 'part_of_kind: must be another kind with rules, which is itself no part of one');
  elsif exists (
      select from public.memory_kinds k where k.tenant_id = check_whole.tenant_id and k.part_of_kind = check_whole.kind) then
    perform identity.raise_error('L9VAL', 'part_of_kind: this kind has parts, so it can be none itself');
  end if;
end $$;
comment on function kinds.check_whole is 'Raises L9VAL unless one of these fields can name a whole of this kind.';

-- Checks one field after the other, so that the error names the one that is wrong.
create function kinds.check_new_fields(fields jsonb) returns text[] language plpgsql immutable set search_path = '' as $$
declare
  field jsonb;
  names text[] := '{}';
  name text;
begin
  if jsonb_typeof(fields) is distinct from 'array' or jsonb_array_length(fields) = 0 then
    perform identity.raise_error('L9VAL',
      'fields: a list of at least one object with field, type, is_required, choices, max_length, sha256_of, parts, meaning');
  elsif jsonb_array_length(fields) > kinds.max_fields() then
    perform identity.raise_error('L9LIM', format('fields: at most %s, got %s', kinds.max_fields(), jsonb_array_length(fields)));
  end if;
  for field in select jsonb_array_elements(fields) loop
    name := field ->> 'field';
    if jsonb_typeof(field) <> 'object' or name is null or name !~ '^[a-z][a-z0-9_]{0,62}$' or name = 'content' then
      perform identity.raise_error('L9VAL',
        'fields: each needs a field, a lower-case word of at most 63 characters other than content');
    elsif name = any (names) then
      perform identity.raise_error('L9VAL', format('fields: %s is there twice', name));
    elsif field - '{field,type,is_required,choices,max_length,sha256_of,parts,meaning}'::text[] <> '{}' then
      perform identity.raise_error('L9VAL',
        format('fields: %s may have type, is_required, choices, max_length, sha256_of, parts and meaning only', name));
    elsif coalesce(field ->> 'type', 'text') <> all (kinds.field_types()) then
      perform identity.raise_error('L9VAL',
        format('fields: the type of %s must be one of %s', name, array_to_string(kinds.field_types(), ', ')));
    elsif jsonb_typeof(coalesce(field -> 'is_required', 'false')) <> 'boolean' then
      perform identity.raise_error('L9VAL', format('fields: is_required of %s must be true or false', name));
    elsif jsonb_typeof(coalesce(field -> 'max_length', '1')) <> 'number'
        or not coalesce(
          (field ->> 'max_length')::numeric between 1 and 100000 and (field ->> 'max_length')::numeric % 1 = 0, true) then
      perform identity.raise_error('L9VAL', format('fields: max_length of %s must be a whole number from 1 to 100000', name));
    elsif field ? 'choices' and (coalesce(field ->> 'type', 'text') <> 'text' or jsonb_typeof(field -> 'choices') <> 'array'
        or jsonb_array_length(field -> 'choices') not between 1 and 100
        or jsonb_path_exists(field -> 'choices', 'strict $[*] ? (@.type() != "string")')) then
      perform identity.raise_error('L9VAL', format('fields: choices of %s must be 1 to 100 texts, and its type text', name));
    elsif jsonb_typeof(coalesce(field -> 'meaning', '""')) <> 'string' or octet_length(field ->> 'meaning') > 500 then
      perform identity.raise_error('L9VAL', format('fields: the meaning of %s must be a text of at most 500 bytes', name));
    end if;
    perform kinds.check_new_parts(name, coalesce(field ->> 'type', 'text'), nullif(field -> 'parts', 'null'));
    names := names || name;
  end loop;
  perform kinds.check_names(
    'fields', array(select f ->> 'sha256_of' from jsonb_array_elements(fields) as f where f ->> 'sha256_of' is not null), names);
  return names;
end $$;
comment on function kinds.check_new_fields is 'The names of new fields. Raises L9VAL or L9LIM for what a kind can''t have.';

-- Checks each rule against the names of the fields, writes the kind, and leaves fields and computed rules to define_fields().
create function public.register_memory_kind(
  kind text, purpose text, fields jsonb, title_field text default null, text_fields text[] default '{}',
  identity_fields text[] default '{}', identity_ends_when jsonb default null, locked_when jsonb default null,
  locked_fields text[] default null, allowed_when_locked jsonb default '{}', when_locked text default null,
  archived_from text default null, archived_after interval default null, expires_from text default null,
  expires_after interval default null, tenant_id uuid default null, part_of_kind text default null,
  part_of_field text default null) returns public.memory_kinds
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(register_memory_kind.tenant_id);
  names text[];
  times text[];
  saved public.memory_kinds;
begin
  if register_memory_kind.kind ~ '^[a-z][a-z0-9_]{0,62}$' is not true then
    perform identity.raise_error('L9VAL', 'kind: must be a lower-case word of letters, digits and _, at most 63 characters');
  elsif exists (select from public.memory_kinds k where k.tenant_id is null and k.kind = register_memory_kind.kind)
      or register_memory_kind.kind = any (kinds.reserved()) then
    perform identity.raise_error('L9VAL', 'kind: is that of a built-in kind');
  elsif coalesce(octet_length(register_memory_kind.purpose), 0) not between 1 and 500 then
    perform identity.raise_error('L9VAL', 'purpose: 1 to 500 bytes');
  elsif octet_length(register_memory_kind.when_locked) > 500 then
    perform identity.raise_error('L9LIM', 'when_locked: at most 500 bytes');
  elsif (select count(*) from public.memory_kinds k where k.tenant_id = admin.target_tenant_id
      and k.kind <> register_memory_kind.kind) >= kinds.max_kinds() then
    perform identity.raise_error('L9LIM', format('kind: a tenant may have at most %s kinds of its own', kinds.max_kinds()));
  end if;
  names := kinds.check_new_fields(register_memory_kind.fields);
  times := array(
    select f ->> 'field' from jsonb_array_elements(register_memory_kind.fields) as f where f ->> 'type' in ('date', 'timestamp'));
  perform
    kinds.check_names('title_field', array_remove(array[register_memory_kind.title_field], null), names),
    kinds.check_names('text_fields', register_memory_kind.text_fields, names),
    kinds.check_names('identity_fields', array(
      select a from unnest(register_memory_kind.identity_fields) as i cross join string_to_table(i, '|') as a
      where a <> 'content'), names),
    kinds.check_names('locked_fields', register_memory_kind.locked_fields, names || 'content'::text),
    kinds.check_condition('identity_ends_when', register_memory_kind.identity_ends_when, names),
    kinds.check_condition('locked_when', register_memory_kind.locked_when, names),
    kinds.check_condition('allowed_when_locked', register_memory_kind.allowed_when_locked, names),
    kinds.check_names('archived_from', array_remove(array[register_memory_kind.archived_from], null), times),
    kinds.check_names('expires_from', array_remove(array[register_memory_kind.expires_from], null), times),
    kinds.check_whole(
      register_memory_kind.kind, register_memory_kind.part_of_kind, register_memory_kind.part_of_field, admin.target_tenant_id,
      array(select f ->> 'field' from jsonb_array_elements(register_memory_kind.fields) as f where f ->> 'type' = 'uuid'));
  if (register_memory_kind.archived_from is null) <> (register_memory_kind.archived_after is null)
      or register_memory_kind.archived_after < interval '0' then
    perform identity.raise_error('L9VAL', 'archived_after: a time span, given together with archived_from');
  elsif (register_memory_kind.expires_from is null) <> (register_memory_kind.expires_after is null)
      or register_memory_kind.expires_after < interval '0' then
    perform identity.raise_error('L9VAL', 'expires_after: a time span, given together with expires_from');
  end if;
  insert into public.memory_kinds as k (
    tenant_id, kind, purpose, title_field, text_fields, identity_fields, identity_ends_when, locked_when, locked_fields,
    allowed_when_locked, when_locked, archived_from, archived_after, expires_from, expires_after, part_of_kind, part_of_field)
  values (
    admin.target_tenant_id, register_memory_kind.kind, register_memory_kind.purpose, register_memory_kind.title_field,
    coalesce(register_memory_kind.text_fields, '{}'), coalesce(register_memory_kind.identity_fields, '{}'),
    register_memory_kind.identity_ends_when, register_memory_kind.locked_when, register_memory_kind.locked_fields,
    coalesce(register_memory_kind.allowed_when_locked, '{}'), register_memory_kind.when_locked,
    register_memory_kind.archived_from,
    register_memory_kind.archived_after, register_memory_kind.expires_from, register_memory_kind.expires_after,
    register_memory_kind.part_of_kind, register_memory_kind.part_of_field)
  on conflict on constraint memory_kind_unique do update set
    purpose = excluded.purpose, title_field = excluded.title_field, text_fields = excluded.text_fields,
    identity_fields = excluded.identity_fields, identity_ends_when = excluded.identity_ends_when,
    locked_when = excluded.locked_when, locked_fields = excluded.locked_fields,
    allowed_when_locked = excluded.allowed_when_locked, when_locked = excluded.when_locked,
    archived_from = excluded.archived_from, archived_after = excluded.archived_after, expires_from = excluded.expires_from,
    expires_after = excluded.expires_after, part_of_kind = excluded.part_of_kind, part_of_field = excluded.part_of_field,
    updated_at = clock_timestamp()
  returning k.* into saved;
  perform kinds.define_fields(saved.kind_id, saved.tenant_id, register_memory_kind.fields);
  select k.* into saved from public.memory_kinds k where k.kind_id = saved.kind_id;
  return saved;
end $$;
comment on function public.register_memory_kind is 'Registers a kind of a tenant (by default the caller''s own), or changes it: '
  'rules (the columns of memory_kinds), and fields, a list of {field, type, is_required, choices, max_length, sha256_of, parts, '
  'meaning}. Memories keep what they have until their next change. For admins with an unlimited token. Audited. Errors: L9VAL, '
  'L9LIM, L9SCP, L9AUT. Definer: this function is the only way to write kinds.';
grant execute on function public.register_memory_kind to l9_admin, l9_platform_admin;
