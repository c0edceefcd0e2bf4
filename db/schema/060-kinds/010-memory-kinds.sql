-- The kinds of memories that have rules. register_memory_kind() writes a tenant's own; triggers and saves read the
-- rules with rules_of().
create table public.memory_kinds (
  kind_id uuid primary key default uuidv7(),
  tenant_id uuid references public.tenants,
  kind text not null,
  purpose text not null,
  title_field text,
  text_fields text[] not null default '{}',
  identity_fields text[] not null default '{}',
  identity_ends_when jsonb,
  locked_when jsonb,
  locked_fields text[],
  allowed_when_locked jsonb not null default '{}',
  when_locked text,
  archived_from text,
  archived_after interval,
  expires_from text,
  expires_after interval,
  part_of_kind text,
  part_of_field text,
  stands_beside boolean not null default false,
  rules jsonb not null default '{}',
  created_at timestamptz not null default now(), updated_at timestamptz not null default now(),
  constraint memory_kind_unique unique nulls not distinct (tenant_id, kind),
  constraint memory_kind_plain check (kind ~ '^[a-z][a-z0-9_]{0,62}$'),
  constraint memory_kind_conditions_objects check (
    jsonb_typeof(coalesce(identity_ends_when, '{}')) = 'object' and jsonb_typeof(coalesce(locked_when, '{}')) = 'object'
    and jsonb_typeof(allowed_when_locked) = 'object'),
  constraint memory_kind_archives_from_a_field check ((archived_from is null) = (archived_after is null)),
  constraint memory_kind_expires_from_a_field check ((expires_from is null) = (expires_after is null)),
  constraint memory_kind_part_of_a_field check ((part_of_kind is null) = (part_of_field is null))
);
call identity.describe('public.memory_kinds', 'The kinds of memories that have rules: the built-in ones (tenant_id is null) and
    those that administrators of a tenant registered with register_memory_kind(). A trigger on packet_store enforces the rules. A
    kind that is not listed is free: a label of a memory, without fields of its own.
  kind_id: Id of the kind.
  tenant_id: The tenant that registered the kind; null for a built-in one, which all tenants have.
  kind: The name, as memories have it: a lower-case word of at most 63 characters.
  purpose: What memories of this kind are for.
  title_field: The field that is the title of a memory of this kind; null if it has none.
  text_fields: The fields of which the content is made, in this order: what is indexed and embedded. Empty: the writer gives the
    content, by default the title.
  identity_fields: Two memories of one owner, scope, project and branch are the same if these fields are. a|b means: a, or b where
    a is not set; content means the text. Empty: if their texts are the same.
  identity_ends_when: A condition on the fields from which on a memory is no longer the same as any other, such as {"status":
    ["superseded"]}; null means never.
  locked_when: A condition on the fields from which on some of them must not change: for each field a list of values, or true for
    any value. {} means always, null never.
  locked_fields: The fields that are locked then, content among them; null means all, and the kind.
  allowed_when_locked: Changes that remain possible: for each field a list of values, or true for any value.
  when_locked: What a caller can do instead of changing a locked field. The error ends with it.
  archived_from: The field with the time from which archived_after counts; null if the kind is never archived. A memory that ends
    (identity_ends_when) gets the time by itself where it has none, and loses it where it is opened again.
  archived_after: How long after that time a memory leaves searches and lists. It stays readable by its id.
  expires_from: The field with the time from which expires_after counts; null if the kind does not expire.
  expires_after: How long after that time a memory expires, unless it was given a ttl of its own.
  part_of_kind: The kind of memory that one of this kind is a part of; null if it stands alone.
  part_of_field: The field with the id of the memory that it is part of. A part is locked, moved, expired and deleted with the
    whole.
  stands_beside: True: where a memory of the same identity is another writer''s, so that the caller may not change it, a save
    makes one of the caller''s own beside it. False: the save is refused (L9OWN).
  rules: All rules of the kind in one document, as the trigger reads them. Computed from the other columns and memory_kind_fields.
  created_at: Time when the kind was registered.
  updated_at: Time when the kind was last changed.');

call identity.protect_tenant_rows('public.memory_kinds', has_built_in => true,
  readers => 'Every caller may read the rules that its memories obey.',
  writers => 'The trigger on packet_store reads the rules; register_memory_kind() writes them.');

grant select on public.memory_kinds to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: register_memory_kind() checks the values, and a trigger audits them.

create trigger _500_audit after insert or update on public.memory_kinds
  for each row when (new.tenant_id is not null)
      execute function administration.tg__audit_identity('kind_id', 'kind', 'purpose', 'rules');
