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
  'MCP keys that are stored in the database: the actor that each key stands for, and the limits of the key. The keys themselves are not stored.';
comment on column public.api_keys.key_id is 'Id, the argument of revoke_api_key().';
comment on column public.api_keys.tenant_id is 'Tenant of the key''s caller.';
comment on column public.api_keys.name is 'Purpose of the key, for people.';
comment on column public.api_keys.caller is 'Actor that the key stands for.';
comment on column public.api_keys.org_id is 'Org that the key acts for, or null.';
comment on column public.api_keys.user_id is 'User that the key acts for, or null.';
comment on column public.api_keys.scopes is 'Limits the key to these scopes of its caller. Null: all of them.';
comment on column public.api_keys.projects is 'Limits the key to these projects. Null: all projects.';
comment on column public.api_keys.created_at is 'When the key was created.';
comment on column public.api_keys.created_by is 'Caller that created the key, or db:<role>.';
comment on column public.api_keys.expires_at is 'The key is refused from this time on. Null: it does not expire.';
comment on column public.api_keys.revoked_at is 'When the key was revoked. Null: it is not revoked.';

-- The hashes have their own table, so that no present or future grant on api_keys reveals one.
create table identity.api_key_hashes (
  key_id uuid primary key references public.api_keys,
  hash bytea not null,
  constraint api_key_hash_unique unique (hash),
  constraint api_key_hash_sha256 check (octet_length(hash) = 32)
);

comment on table identity.api_key_hashes is
  'SHA-256 of each API key. A key holds 256 random bits, so its hash can be neither guessed nor reversed.';
comment on column identity.api_key_hashes.hash is 'SHA-256 of the key as it was shown on creation.';
