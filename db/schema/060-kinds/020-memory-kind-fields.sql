-- The fields of each kind with rules. define_fields() writes them and computes from them the rules that triggers read.
create function kinds.field_types() returns text[] language sql immutable parallel safe
return array['text', 'number', 'boolean', 'date', 'timestamp', 'uuid', 'text[]', 'object', 'object[]'];
comment on function kinds.field_types is 'The types that a field of a kind can have.';

create function kinds.part_types() returns text[] language sql immutable parallel safe
return array['text', 'number', 'boolean', 'date', 'timestamp', 'uuid'];
comment on function kinds.part_types is 'The types that a part of an object in a field can have.';

create table public.memory_kind_fields (
  kind_id uuid not null references public.memory_kinds on delete cascade,
  field text not null,
  place integer not null,
  type text not null,
  is_required boolean not null default false,
  choices text[],
  max_length integer not null,
  sha256_of text,
  parts jsonb,
  meaning text not null,
  tenant_id uuid references public.tenants,
  primary key (kind_id, field),
  constraint memory_kind_field_place_unique unique (kind_id, place),
  constraint memory_kind_field_plain check (field ~ '^[a-z][a-z0-9_]{0,62}$' and field <> 'content'),
  constraint memory_kind_field_type_known check (type = any (kinds.field_types())),
  constraint memory_kind_field_length_positive check (max_length > 0),
  constraint memory_kind_field_parts_of_objects check (
    parts is null or type in ('object', 'object[]') and jsonb_typeof(parts) = 'array')
);
call identity.describe('public.memory_kind_fields', 'The fields of the kinds in memory_kinds. They stand at the top level of the
    envelope, beside the content. In a kind with the fields status, supersedes and superseded_by, saving a memory with supersedes
    sets the status of that one to superseded and its superseded_by, in the same transaction.
  kind_id: The kind.
  field: The name of the field: a lower-case word of at most 63 characters.
  place: The order of the fields, from 1.
  type: text, number, boolean, date (2026-12-31), timestamp (2026-12-31T23:59:59Z; UTC if no zone is given), uuid, text[], object
    or object[].
  is_required: True if a memory of this kind must have the field, and a text must not be blank.
  choices: The values that a text may have; null if any.
  max_length: The longest text in characters, or the most items of an array, of which each has at most 10,000 characters.
  sha256_of: The field of whose text this one must be the SHA-256, in hexadecimal digits; null if it is no checksum.
  parts: What each object in the field has, in order: a list of {field, type, is_required}; type is text where none is given. Null
    if an object may have anything.
  meaning: What the field means.
  tenant_id: The tenant of the kind; null for a built-in one.');

call identity.protect_tenant_rows('public.memory_kind_fields', has_built_in => true,
  readers => 'Every caller may read the rules that its memories obey.',
  writers => 'register_memory_kind() writes the fields.');

grant select on public.memory_kind_fields to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: register_memory_kind() writes them, and the audit of the kind holds all
-- its rules.
