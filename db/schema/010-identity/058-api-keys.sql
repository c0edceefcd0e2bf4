create table public.api_keys (
  key_id uuid primary key default uuidv7(),
  tenant_id uuid not null references public.tenants,
  name text not null,
  caller text not null,
  org_id uuid,
  user_id uuid,
  scopes text[],
  projects text[],
  created_at timestamptz not null default now(),
  created_by text not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  foreign key (tenant_id, caller) references public.actors (tenant_id, caller),
  constraint api_key_name_plain check (name ~ '^[^[:cntrl:][:space:]]([^[:cntrl:]]{0,98}[^[:cntrl:][:space:]])?$'),
  constraint api_key_limits_not_empty check (scopes <> '{}' and projects <> '{}')
);

create index api_keys_caller_idx on public.api_keys (tenant_id, caller);

comment on table public.api_keys is
  'MCP keys that are kept in the database: whose they are and what they are cut down to. The keys themselves are kept nowhere.';
comment on column public.api_keys.key_id is 'Id, for revoke_api_key().';
comment on column public.api_keys.tenant_id is 'The tenant of its caller.';
comment on column public.api_keys.name is 'What it is for.';
comment on column public.api_keys.caller is 'The actor that it stands for.';
comment on column public.api_keys.org_id is 'The org that it acts for, or null.';
comment on column public.api_keys.user_id is 'The user that it acts for, or null.';
comment on column public.api_keys.scopes is 'Only these of its caller''s scopes; null: all of them.';
comment on column public.api_keys.projects is 'Only these projects; null: all.';
comment on column public.api_keys.created_at is 'When it was made.';
comment on column public.api_keys.created_by is 'Who made it: a caller, or db:<role>.';
comment on column public.api_keys.expires_at is 'From then on it is refused; null: never.';
comment on column public.api_keys.revoked_at is 'When it was revoked; null: it was not.';

-- Apart from the rest, so that no grant on that, of today or tomorrow, shows a hash.
create table identity.api_key_hashes (
  key_id uuid primary key references public.api_keys,
  hash bytea not null,
  constraint api_key_hash_unique unique (hash),
  constraint api_key_hash_sha256 check (octet_length(hash) = 32)
);

comment on table identity.api_key_hashes is
  'SHA-256 of each API key. A key is 256 random bits, so that its hash can be neither guessed nor turned back.';
comment on column identity.api_key_hashes.hash is 'SHA-256 of the key as it was shown.';
